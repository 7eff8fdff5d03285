# SPDX-License-Identifier: Apache-2.0
"""Completion of informerctl in bash and zsh: the words that the shell offers."""
import pathlib
import shlex
import subprocess

import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from harness import INFORMERCTL

SCRIPTS = pathlib.Path(__file__).parents[2] / "packaging" / "completion"
BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(({count} - 1))
_informerctl {ctl} {last}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# The completion function is called as zsh calls it; the words that it gives to the line editor are printed.
ZSH = """
compadd() {{ print -rl -- "${{candidates[@]}}" }}
_files() {{ }}
words=({words})
CURRENT={count}
source {script}
"""


def complete(shell, socket, *words):
    """The sorted candidates for the last one of the words, as this shell gets them."""
    line = [str(INFORMERCTL), "--socket", str(socket), *words]
    text = (BASH if shell == "bash" else ZSH).format(
        script=shlex.quote(str(SCRIPTS / {"bash": "informerctl.bash", "zsh": "_informerctl"}[shell])),
        words=" ".join(map(shlex.quote, line)), count=len(line), ctl=shlex.quote(line[0]),
        last=shlex.quote(line[-1]))
    flags = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"]}[shell]
    done = subprocess.run([shell, *flags, "-c", text], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return sorted(line for line in done.stdout.splitlines() if line)


@pytest.fixture
def running(api, daemon, hook, new_hook):
    stuck = new_hook()
    stuck.block()
    api.apply(service("n/a"), service("n/b"), service("other/a"))
    d = daemon(api, hooks={"haproxy": hook, "stuck": stuck})
    hook.wait(3)
    stuck.wait(1)
    wait_until(lambda: not d.control.hook("haproxy")["running"], what="its keys are handled")
    yield d
    stuck.release()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_commands_options_and_names_of_the_daemon(running, shell):
    def offers(*words):
        return complete(shell, running.control.path, *words)

    assert {"status", "get", "top", "wait"} <= set(offers(""))
    assert offers("wat") == ["watches"]
    assert offers("get", "") == ["services"]
    assert offers("get", "services", "n/") == ["n/a", "n/b"]
    assert offers("get", "nothing", "") == []
    assert offers("hooks", "") == []
    assert offers("runs", "h") == ["haproxy"]
    assert offers("why", "") == ["haproxy", "stuck"]
    assert offers("why", "stuck", "n/") == ["n/a", "n/b"]   # keys that are not handled
    assert offers("why", "haproxy", "") == []
    assert offers("guard", "a") == ["accept"]
    assert offers("guard", "accept", "") == ["services"]
    assert offers("log-level", "d") == ["debug", "default"]
    assert offers("log-level", "debug", "--watch", "") == ["services"]
    assert offers("log-level", "debug", "--hook", "st") == ["stuck"]
    assert offers("wait", "--for", "") == ["idle", "ready", "synced"]
    assert offers("watches", "-o", "") == ["json", "name", "table", "wide"]
    assert offers("run", "haproxy", "--w") == ["--wait"]
    assert offers("relist", "services", "--t") == []
    assert offers("record", "services", "") == ["services"]
    assert "--follow" in offers("events", "--")


def test_a_value_behind_an_equals_sign(running):
    # bash makes three words of it, and replaces the last one only
    assert complete("bash", running.control.path, "wait", "--for", "=", "re") == ["ready"]
    assert complete("bash", running.control.path, "wait", "--for", "=") == ["idle", "ready", "synced"]
    assert complete("zsh", running.control.path, "wait", "--for=re") == ["--for=ready"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_without_a_daemon_it_is_silent(shell, tmp_path):
    assert complete(shell, tmp_path / "nothing", "get", "") == []
    assert complete(shell, tmp_path / "nothing", "stat") == ["status"]


def test_a_key_with_a_colon_in_bash(api, daemon):
    """bash makes three words of it, and replaces only the text behind the colon."""
    api.apply(service("n/system:node"), service("n/system:noise"), service("n/other"))
    d = daemon(api).synced()

    def offers(*words):
        return complete("bash", d.control.path, "get", "services", *words)

    assert offers("n/system", ":", "no") == ["node", "noise"]
    assert offers("n/system", ":") == ["node", "noise"]
    assert offers("n/") == ["n/other", "n/system:node", "n/system:noise"]


ODD = ["n/$(id>made)", "n/`id>made`", "n/a b", "n/a;id>made", "n/it's"]     # the server allows them for roles


@pytest.mark.parametrize("name", ODD)
def test_a_name_from_the_cluster_is_one_word_to_bash_and_executes_nothing(api, daemon, tmp_path, name):
    api.apply(service(name), service("n/plain"))
    d = daemon(api).synced()
    [typed] = [word for word in complete("bash", d.control.path, "get", "services", "n/") if word != "n/plain"]
    done = subprocess.run(["bash", "--norc", "--noprofile", "-c", f"printf '<%s>' {typed}"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == (f"<{name}>", "")
    assert not (tmp_path / "made").exists()


def test_zsh_gets_such_a_name_as_it_is_and_quotes_it_itself(api, daemon, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    api.apply(*map(service, ODD))
    d = daemon(api).synced()
    assert complete("zsh", d.control.path, "get", "services", "n/") == sorted(ODD)
    assert not (tmp_path / "made").exists()
    script = (SCRIPTS / "_informerctl").read_text()
    assert "compadd -a candidates\n" in script     # with -Q zsh would take the names as they are typed
