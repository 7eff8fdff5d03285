# SPDX-License-Identifier: Apache-2.0
"""--check, --print-config, command line, exit codes, include files."""
import os
import pwd
import re
import shutil
import subprocess

import confwriter
import pytest
from control import PATIENCE
from fakeapi import service
from harness import INFORMERCTL, INFORMERD, ROOT, check_config, hook_settings


def run(*args):
    return subprocess.run([INFORMERD, *args], text=True, capture_output=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL)


def lines_of(path, text):
    """The numbers of the lines that contain this text, and of the lines before and after them."""
    found = [number for number, line in enumerate(path.read_text().splitlines(), 1)
             if text in line]
    return {near for number in found for near in (number - 1, number, number + 1)}


def test_check_passes_a_good_config_and_connects_to_no_server(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False)
    done = check_config(d.config)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not api.accepted


PROBLEMS = {
    "unknown setting": ({"hooks": {"h": {"no_such_setting": 1}}}, "no_such_setting"),
    "setting of a later release": ({"limits": {"cpu": "2"}}, "cpu"),
    "unknown group": ({"colours": {"a": {"b": 1}}}, "colours"),
    "wrong type": ({"hooks": {"h": {"concurrency": "three"}}}, "concurrency"),
    "bad unit": ({"hooks": {"h": {"timeout": "5 parsecs"}}}, "timeout"),
    "number for a duration": ({"hooks": {"h": {"timeout": 5}}}, "timeout"),
    "bad size": ({"limits": {"object_size": "16MeB"}}, "object_size"),
    "unknown source": ({"hooks": {"h": {"sources": ["nowhere"]}}}, "nowhere"),
    "unknown cluster": ({"watches": {"services": {"cluster": "mars"}}}, "mars"),
    "unknown mode": ({"hooks": {"h": {"mode": "telepathy"}}}, "telepathy"),
    "unknown event": ({"hooks": {"h": {"events": ["added", "born"]}}}, "born"),
    "impossible resource": ({"watches": {"services": {"resource": "fro bs"}}}, "fro bs"),
    "namespaces of what has none": ({"watches": {"nodes": {
        "resource": "nodes", "namespaces": ["a"]}}}, "nodes"),
    "keep": ({"watches": {"services": {"keep": ["spec", "spec..x["]}}}, "keep"),
    "drop": ({"watches": {"services": {"drop": ["spec.x["]}}}, "drop"),
    "match": ({"watches": {"services": {"match": ["a=b", "=${node_name}"]}}}, "match"),
    "guard": ({"watches": {"services": {"guard": {"relist_deletes": "200%"}}}}, "200%"),
    "audit": ({"watches": {"services": {"audit": "0s"}}}, "audit"),
    "persist": ({"watches": {"services": {"persist": "all"}}}, "persist"),
    "effect": ({"hooks": {"h": {"effect": "day"}}}, "effect"),
    "files": ({"hooks": {"h": {"files": ["a.jq"]}}}, "a.jq"),
    "state_dir": ({"state_dir": "state"}, "state_dir"),
    "start_stale": ({"start_stale": {"max_age": "1s"}}, "max_age"),
    "watch_list": ({"clusters": {"prod": {"tuning": {"watch_list": "maybe"}}}}, "maybe"),
    "stale_after": ({"clusters": {"prod": {"stale_after": "off"}}}, "stale_after"),
    "namespaces missing": ({"watches": {"services": {"namespaces": None}}}, "namespaces"),
    "bad label selector": ({"watches": {"services": {"label_selector": "a in (b"}}},
                           "label_selector"),
    "bad field selector": ({"watches": {"services": {"field_selector": "a"}}}, "field_selector"),
    "bad path": ({"hooks": {"h": {"changes_in": ["spec..x["]}}}, "changes_in"),
    "bad field": ({"hooks": {"h": {"fields": {"A": "spec", "PORT": "spec.ports["}}}}, "PORT"),
    "name of a field": ({"hooks": {"h": {"fields": {"MY-PORT": "spec"}}}}, "MY-PORT"),
    "fields of many objects": ({"hooks": {"h": {"mode": "batch", "fields": {"A": "spec"}}}},
                               "fields"),
    "concurrency of a batch": ({"hooks": {"h": {"mode": "batch", "concurrency": 2}}},
                               "concurrency"),
    "require": ({"hooks": {"h": {"require": "most"}}}, "most"),
    "when_stale": ({"hooks": {"h": {"when_stale": "maybe"}}}, "maybe"),
    "stale that waits": ({"hooks": {"h": {"when_stale": "wait", "events": ["stale"]}}},
                         "when_stale"),
    "after an unknown hook": ({"hooks": {"h": {"after": ["nobody"]}}}, "nobody"),
    "after itself": ({"hooks": {"h": {"after": ["h"]}}}, "after"),
    "min_interval": ({"hooks": {"h": {"min_interval": "off"}}}, "min_interval"),
    "splay": ({"hooks": {"h": {"splay": 5}}}, "splay"),
    "rerun_every": ({"hooks": {"h": {"rerun_every": "0s"}}}, "rerun_every"),
    "attempts": ({"hooks": {"h": {"retry": {"attempts": 0}}}}, "attempts"),
    "park_exit": ({"hooks": {"h": {"park_exit": [1, 256]}}}, "park_exit"),
    "include_old": ({"hooks": {"h": {"include_old": 1}}}, "include_old"),
    "log_limit": ({"hooks": {"h": {"log_limit": "none"}}}, "log_limit"),
    "input_version": ({"hooks": {"h": {"input_version": 2}}}, "input_version"),
    "pending": ({"limits": {"pending": "0s"}}, "pending"),
    "output": ({"hooks": {"h": {"output": "/x/${uid}"}}}, "output"),
    "output without a name": ({"hooks": {"h": {"output": "/x/y"}}}, "${name}"),
    "output_mode": ({"hooks": {"h": {"output": "/x/${name}", "output_mode": "u=rw"}}},
                    "output_mode"),
    "output_owner": ({"hooks": {"h": {"output": "/x/${name}", "output_owner": "no-such-owner"}}},
                     "no-such-owner"),
    "group of output_owner": ({"hooks": {"h": {"output": "/x/${name}",
                                               "output_owner": ":no-such-group"}}},
                              "no-such-group"),
    "check of nothing": ({"hooks": {"h": {"check": ["/bin/true"]}}}, "check"),
    "apply that is no path": ({"hooks": {"h": {"output": "/x/${name}", "apply": ["reload"]}}},
                              "apply"),
    "output that no disk takes": ({"hooks": {"h": {"output": f"/x/{'y' * 255}${{name}}"}}},
                                   "at most 255 bytes"),
    "bad umask": ({"hooks": {"h": {"umask": "0999"}}}, "umask"),
    "bad signal": ({"hooks": {"h": {"kill_signal": "EXPLODE"}}}, "kill_signal"),
    "unknown user": ({"hooks": {"h": {"user": "no-such-user-here"}}},
                     "no-such-user-here" if os.geteuid() == 0 else "user"),
    "level": ({"log": {"level": "loud"}}, "loud"),
    "control.group": ({"control": {"group": "no-such-group"}}, "no-such-group"),
    "command and shell": ({"hooks": {"h": {"shell": "true"}}}, "shell"),
    "no command": ({"hooks": {"h": {"command": None}}}, "command"),
    "backoff factor": ({"clusters": {"prod": {"tuning": {"backoff": {"factor": 0.5}}}}}, "factor"),
    "zero where not allowed": ({"clusters": {"prod": {"tuning": {"page_size": 0}}}}, "page_size"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_problem_is_told_with_file_and_line(api, daemon, hook, name):
    extra, word = PROBLEMS[name]
    d = daemon(api, hooks={"h": hook_settings(hook)}, start=False)
    d.settings = confwriter.merge(d.settings, extra)
    d.write_config()
    done = check_config(d.config)
    told = done.stdout + done.stderr
    assert done.returncode == 78, told
    lines = [line for line in told.splitlines() if line.startswith(f"{d.config}:")]
    assert any(word in line for line in lines), told
    numbers = {int(line.split(":")[1]) for line in lines if word in line}
    assert all(1 <= n <= len(d.config.read_text().splitlines()) for n in numbers)
    if word in d.config.read_text():
        assert numbers & lines_of(d.config, word), told


def test_all_problems_are_told_in_one_go_and_nothing_starts(api, daemon, hook):
    d = daemon(api, start=False, hooks={"h": hook_settings(
        hook, timeout="x", concurrency=-1, mode="none", nonsense=1)}, log={"level": "loud"})
    done = check_config(d.config)
    told = done.stdout + done.stderr
    for word in ("timeout", "concurrency", "mode", "nonsense", "level"):
        assert word in told
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 78 and "nonsense" in d.stderr()
    assert not api.accepted


BAD_PATHS = """
hooks : { h : { sources = [ "services" ]; shell = "true";
  changes_in = [ "spec.ports[*].port",
                 "spec.ports[x]" ];
  fields : {
    PORT = "spec.ports[0].port";
    BAD = "metadata..name";
  };
}; };
"""


def test_s40_a_wrong_path_is_refused_with_its_line(api, daemon):
    d = daemon(api, start=False)
    before = d.config.read_text()
    d.config.write_text(before + BAD_PATHS)
    first = before.count("\n") + 1
    told = check_config(d.config).stderr.splitlines()
    assert [line.partition(": ")[0] for line in told] == \
        [f"{d.config}:{first + 3}", f"{d.config}:{first + 6}"], told
    assert "hooks.h.changes_in[1]" in told[0] and "[x]" in told[0]
    assert "hooks.h.fields.BAD" in told[1] and "metadata..name" in told[1]
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 78 and "changes_in[1]" in d.stderr()
    assert not api.accepted


def test_hooks_that_wait_for_each_other_are_named(api, daemon, hook):
    d = daemon(api, start=False, hooks={
        "one": hook_settings(hook, after=["two"]), "two": hook_settings(hook, after=["three"]),
        "three": hook_settings(hook, after=["one"]), "four": hook_settings(hook, after=["one"])})
    done = check_config(d.config)
    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert "hooks.three.after[0]" in line and "three before two before one before three" in line
    assert int(line.split(":")[1]) in lines_of(d.config, '"one"')


def test_files_of_a_hook_that_do_not_exist_are_named(api, daemon, hook, tmp_path):
    (tmp_path / "a.jq").write_text(".")
    files = [tmp_path / "a.jq", tmp_path / "gone.jq", tmp_path]
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, files=files)})
    done = check_config(d.config)
    assert done.returncode == 0
    gone, folder = done.stderr.splitlines()
    assert f"warning: hook h: files: {tmp_path}/gone.jq: No such file or directory" in gone
    assert f"warning: hook h: files: {tmp_path} is no file" in folder
    assert {int(line.split(":")[1]) for line in (gone, folder)} <= lines_of(d.config, "files")
    d.start()   # the file may be created while informerd runs
    assert "gone.jq" in d.wait_problem("a hook cannot run now")["problem"]


ACCEPTED = {
    "program": ({"command": ["/no/such/program"]}, "/no/such/program: No such file"),
    "program that is none": ({"command": ["/etc/passwd"]}, "/etc/passwd is not an executable"),
    "program of check": ({"output": "/tmp/${name}", "check": ["/no/such/check"]}, "/no/such/check"),
    "program of apply": ({"output": "/tmp/${name}", "apply": ["/no/such/apply"]}, "/no/such/apply"),
    "folder of output": ({"output": "/no/such/folder/${name}"}, "folder /no/such/folder"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_start_and_check_accept_the_same_with_the_same_warnings(api, daemon, hook, name):
    settings, words = ACCEPTED[name]
    d = daemon(api, hooks={"h": {**hook_settings(hook), **settings}}, start=False)
    done = check_config(d.config)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    place, _, text = line.partition(": warning: ")
    file, _, number = place.rpartition(":")
    assert file == str(d.config) and int(number) in lines_of(d.config, next(iter(settings)))
    assert words in text
    d.start().synced()
    assert d.wait_problem("a hook cannot run now")["problem"] == f"{place}: {text}"


def test_a_start_and_check_refuse_a_node_name_that_makes_a_wrong_path(api, daemon, hook):
    d = daemon(api, start=False, node_name="a/../b", hooks={
        "h": hook_settings(hook, output="/tmp/${node_name}/${name}")})
    done = check_config(d.config)
    assert done.returncode == 78 == d.to_the_end()
    (line,) = done.stderr.splitlines()
    assert int(line.split(":")[1]) in lines_of(d.config, "output :")
    assert '"/tmp/a/../b/${name}"' in line and line in d.stderr()


def test_errors_and_warnings_are_told_in_one_go(api, daemon, hook):
    d = daemon(api, start=False, hooks={"h": {**hook_settings(hook), "command": ["/no/such"],
                                              "changes_in": ["spec["]}})
    done = check_config(d.config)
    assert done.returncode == 78
    error, warning = done.stderr.splitlines()
    assert "changes_in" in error and ": warning: " not in error
    assert ": warning: hook h: /no/such: " in warning
    assert d.to_the_end() == 78 and "changes_in" in d.stderr()


def test_check_warns_of_clusters_as_a_start_does(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False, clusters={"prod": {
        "servers": ["https://127.0.0.1:1", "http://127.0.0.1:2"], "token_file": "/etc/hostname",
        "insecure_skip_tls_verify": True}})
    done = check_config(d.config)
    assert done.returncode == 0, done.stderr
    insecure, plain = sorted(done.stderr.splitlines(), key=lambda line: "http://" in line)
    assert ": warning: clusters.prod: server is not verified: " in insecure
    assert insecure.endswith("(server https://127.0.0.1:1)")
    assert ": warning: clusters.prod: credentials are not sent to a server without TLS" in plain
    assert plain.endswith("(server http://127.0.0.1:2)")
    for line in (insecure, plain):
        assert int(line.split(":")[1]) in lines_of(d.config, "prod :")


# ---- Before it is installed: --with, --no-files

def parts(d, **files):
    """Writes conf.d/NAME.conf of a daemon."""
    (d.folder / "conf.d").mkdir(exist_ok=True)
    for name, settings in files.items():
        (d.folder / f"conf.d/{name}.conf").write_text(confwriter.text(settings))
    return d


def test_with_checks_a_file_in_the_place_of_the_installed_one(api, daemon, hook, tmp_path):
    """The installed file is wrong: only the new one counts. Both would be one name too many."""
    d = parts(daemon(api, start=False),
              hooks={"hooks": {"h": {**hook_settings(hook), "timeout": "soon"}}})
    assert check_config(d.config).returncode == 78
    new = tmp_path / "new" / "hooks.conf"
    new.parent.mkdir()
    new.write_text(confwriter.text({"hooks": {"h": hook_settings(hook)}}))
    done = check_config(d.config, "--with", new)
    assert done.returncode == 0, done.stderr
    new.write_text(confwriter.text({"hooks": {"h": {**hook_settings(hook), "timeout": "later"}}}))
    done = check_config(d.config, "--with", new)
    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{new}:") and "later" in line


def test_ansible_validates_a_temporary_file_before_it_is_put_there(api, daemon, hook, tmp_path):
    """Its name says nothing, so the task names the file that it is for."""
    d = parts(daemon(api, start=False), hooks={"hooks": {"h": hook_settings(hook)}})
    folder = d.folder / "conf.d"
    for source in (tmp_path / "source", folder / ".ansible_tmp_x_hooks.conf"):
        source.write_text(confwriter.text({"hooks": {"h": hook_settings(hook)}}))
        for name in ("hooks.conf", folder / "hooks.conf"):
            assert check_config(d.config, "--with", f"{name}={source}").returncode == 0
        done = check_config(d.config, "--with", f"more.conf={source}")
        assert done.returncode == 78
        assert f"{folder}/more.conf:2: hooks.h is there already: {folder}/hooks.conf:2" in done.stderr
        done = check_config(d.config, "--with", source)
        assert done.returncode == 78 and f"none is called {source.name}" in done.stderr
        source.unlink()


def test_with_checks_the_main_file_with_its_includes(api, daemon, hook, tmp_path):
    d = parts(daemon(api, start=False), hooks={"hooks": {"h": hook_settings(hook)}})
    source = tmp_path / "source"
    source.write_text(d.config.read_text() + "nonsense = 1;\n")
    done = check_config(d.config, "--with", f"{d.config.name}={source}")
    assert done.returncode == 78
    assert f"{d.config}:" in done.stderr and "nonsense" in done.stderr
    source.write_text(confwriter.text({"node_name": "n"}))
    done = check_config(d.config, "--with", f"{d.config.name}={source}")
    assert done.returncode == 78 and f"{d.folder}/conf.d/hooks.conf:" in done.stderr


def test_the_commands_of_the_page_validate_a_temporary_file(api, daemon, hook, tmp_path):
    d = parts(daemon(api, start=False))
    page = (ROOT / "docs/config-management.md").read_text()
    commands = re.findall(r"informerd --check --with ([\w.-]+)=(%s|%|/tmp/\w+)[\n'`]", page)
    assert {place for _, place in commands} == {"%s", "%", "/tmp/x7Qz"}
    for name, _ in commands:
        source = tmp_path / "source"
        source.write_text(d.config.read_text() if name == d.config.name else
                          confwriter.text({"hooks": {"h": hook_settings(hook)}}))
        done = check_config(d.config, "--with", f"{name}={source}")
        assert (done.returncode, done.stderr) == (0, "")
        source.write_text("nonsense = 1;\n")
        done = check_config(d.config, "--with", f"{name}={source}")
        assert done.returncode == 78 and f"/{name}:1: unknown setting nonsense" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root trusts no other owner")
def test_with_does_not_ask_who_owns_the_file_or_the_one_that_it_replaces(api, daemon, hook, tmp_path):
    d = parts(daemon(api, start=False), hooks={"hooks": {"h": hook_settings(hook)}})
    installed, new = d.folder / "conf.d/hooks.conf", tmp_path / "hooks.conf"
    shutil.copy(installed, new)
    for path in (installed, new):
        os.chown(path, 4242, 4242)
    assert f"{installed} belongs to uid 4242" in check_config(d.config).stderr
    for text in (new, f"hooks.conf={new}"):
        done = check_config(d.config, "--with", text)
        assert done.returncode == 0, done.stderr


ELSEWHERE = """
user = "no-such-user";
state_dir = "/no/such/folder/state";
include = [ "parts/*.conf" ];
clusters : {
  kubeconfig : { kubeconfig = "/no/such/kubeconfig"; };
  pod : { in_cluster = true; };
  plain : { servers = [ "https://a:6443" ]; ca_file = "/no/such/ca";
            client_cert_file = "/no/such/cert"; client_key_file = "/no/such/key";
            credential_owner = "no-such-owner"; };
};
watches : { services : { resource = "services"; namespaces = [ "*" ]; cluster = "pod"; }; };
"""
ELSEWHERES_HOOK = """
hooks : { h : { sources = [ "services" ]; command = [ "/no/such/program" ]; user = "no-such-user";
                group = "no-such-group"; files = [ "/no/such/file" ];
                output = "/no/such/folder/${name}"; output_owner = "nobody-here";
                check = [ "/no/such/check", "${file}" ]; apply = [ "/no/such/apply" ]; }; };
"""


def test_no_files_checks_a_configuration_of_another_machine(tmp_path):
    config = tmp_path / "informerd.conf"
    config.write_text(ELSEWHERE)
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts/hooks.conf"
    part.write_text(ELSEWHERES_HOOK)
    done = check_config(config, "--no-files")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert check_config(config).returncode == 78


NO_FILES_FINDS = {
    "syntax": ('command = [ "/no/such/program" ]', 'command = [ "/no/such/program" ; ]', "syntax"),
    "reference": ('[ "services" ]', '[ "pods" ]', "pods"),
    "path": ('group =', 'changes_in = [ "spec[x" ]; group =', "changes_in"),
    "selector": ('cluster = "pod"', 'cluster = "pod"; label_selector = "a in (b"',
                 "label_selector"),
    "match": ('cluster = "pod"', 'cluster = "pod"; match = [ "=x" ]', "match"),
    "address": ('"https://a:6443"', '"ftp://a"', "ftp"),
    "proxy": ('"https://a:6443" ];', '"https://a" ]; proxy_url = "socks5://x";', "SOCKS"),
}


@pytest.mark.parametrize("name", NO_FILES_FINDS)
def test_no_files_finds_what_is_wrong_by_itself(tmp_path, name):
    old, new, word = NO_FILES_FINDS[name]
    config, part = tmp_path / "informerd.conf", tmp_path / "parts/hooks.conf"
    part.parent.mkdir()
    for path, text in ((config, ELSEWHERE), (part, ELSEWHERES_HOOK)):
        path.write_text(text.replace(old, new))
    done = check_config(config, "--no-files")
    assert done.returncode == 78
    (line,) = done.stderr.splitlines()
    assert word in line and line.startswith(str(tmp_path))


def test_the_settings_of_conf_d_count(api, daemon, hook):
    d = parts(daemon(api, hooks={"h": hook}, start=False),
              one={"start_stale": {"after": "7s"}, "limits": {"object_size": "1MiB"}},
              two={"limits": {"pending": "90s"}})
    text = print_config(d.config).stdout
    assert 'after = "7s";' in text and 'pending = "90s";' in text
    assert 'object_size = "1MiB";' in text


@pytest.mark.parametrize("resource, kept", [
    ("secrets", "digest"), ("Secret", "digest"), ("secret.v1.", "digest"), ("configmaps", "full")])
def test_the_default_of_persist_is_digest_for_secrets(api, daemon, resource, kept):
    watch = {"resource": resource, "namespaces": ["*"]}
    d = daemon(api, start=False, watches={"w": watch})
    assert f'    persist = "{kept}";\n' in print_config(d.config).stdout
    d = daemon(api, start=False, watches={"w": {**watch, "persist": "full"}})
    assert '    persist = "full";\n' in print_config(d.config).stdout


def test_mode_batch_is_accepted(api, daemon, hook):
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, mode="batch", include_old=True)})
    done = check_config(d.config)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'settle = [ "200ms", "2s" ];' in print_config(d.config).stdout


def test_a_syntax_error_has_its_line(api, daemon):
    d = daemon(api, start=False)
    d.config.write_text('user = "root";\nclusters : {\n  prod : { kubeconfig = ; };\n};\n')
    done = check_config(d.config)
    assert done.returncode == 78 and f"{d.config}:3" in done.stdout + done.stderr


@pytest.mark.parametrize("flags", [
    ["--no-such-flag"], ["-c"], ["surplus"], ["--with", "x"], ["--no-files"],
    ["--check", "--with"], ["--check", "--with", ""], ["--check", "--with", "=x"],
    ["--check", "--with", "x="], ["--check", "--with", "x", "--with", "y"],
    ["--print-config", "--no-files"]])
def test_a_wrong_command_line_is_64(flags):
    assert run(*flags).returncode == 64
    assert subprocess.run([INFORMERCTL, "no-such-command"], capture_output=True,
                          timeout=PATIENCE).returncode == 64


def test_help_and_version_go_to_stdout():
    for program in (INFORMERD, INFORMERCTL):
        for flag in ("-h", "--help"):
            done = subprocess.run([program, flag], text=True, capture_output=True, timeout=PATIENCE)
            assert done.returncode == 0 and "sage" in done.stdout and not done.stderr
    done = run("-V")
    assert done.returncode == 0 and done.stdout.startswith("informerd ")


def test_a_missing_config_is_78(tmp_path):
    done = run("-c", str(tmp_path / "none"), "--check")
    assert done.returncode == 78 and str(tmp_path / "none") in done.stdout + done.stderr


def test_included_files_unite_in_name_order(api, daemon, new_hook):
    one, two = new_hook(), new_hook()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"one": one}, include=["conf.d/*.conf", "nothing/*.conf"], start=False)
    folder = d.folder / "conf.d"
    folder.mkdir()
    (folder / "10.conf").write_text(confwriter.text({"hooks": {"two": hook_settings(two)}}))
    (folder / "20.conf").write_text(confwriter.text({"watches": {
        "more": {"resource": "endpoints", "namespaces": ["*"]}}}))
    d.start().synced()
    one.wait(1)
    two.wait(1)
    assert set(d.control.status()["watches"]) == {"services", "more"}


def test_one_name_in_two_files_is_an_error_that_names_both(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, include=["conf.d/*.conf"], start=False)
    folder = d.folder / "conf.d"
    folder.mkdir()
    (folder / "10.conf").write_text(confwriter.text({"hooks": {"h": hook_settings(hook)}}))
    (folder / "20.conf").write_text('include = [ ];\n')
    done = check_config(d.config)
    told = done.stdout + done.stderr
    assert done.returncode == 78
    assert str(folder / "10.conf") in told and str(d.config) in told
    assert f"{folder / '20.conf'}:1" in told, "include stands only in the main file"


def test_a_pipe_among_the_included_files_is_refused(api, daemon, hook, tmp_path):
    """Nobody writes to it: to read it would take for ever."""
    d = daemon(api, hooks={"h": hook}, include=["conf.d/*.conf"]).caught_up(api)
    (d.folder / "conf.d").mkdir()
    pipe = d.folder / "conf.d" / "x.conf"
    os.mkfifo(pipe)
    done = check_config(d.config)
    assert done.returncode == 78 and f"{pipe}: is no regular file" in done.stderr
    done = d.ctl("reload")
    assert done.returncode == 78 and f"{pipe}: is no regular file" in done.stderr
    pipe.unlink()
    assert d.ctl("reload").returncode == 0


def test_the_main_file_and_one_that_stands_in_may_be_pipes(api, daemon, hook, tmp_path):
    d = daemon(api, hooks={"h": hook}, start=False)
    text = d.config.read_text()
    done = subprocess.run([INFORMERD, "-c", "/dev/stdin", "--check"], input=text, text=True,
                          capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([INFORMERD, "-c", d.config, "--check", "--with",
                           f"{d.config.name}=/dev/stdin"], input=text, text=True,
                          capture_output=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


def test_libconfigs_own_include_is_refused(api, daemon, tmp_path):
    d = daemon(api, start=False)
    (tmp_path / "x.conf").write_text("")
    d.config.write_text(f'@include "{tmp_path}/x.conf"\n' + d.config.read_text())
    done = check_config(d.config)
    assert done.returncode == 78 and "include" in done.stdout + done.stderr


def test_a_trailing_comma_is_reported(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False)
    d.config.write_text(d.config.read_text().replace('[ "services" ]', '[ "services", ]'))
    done = check_config(d.config)
    assert done.returncode == 78
    told = done.stdout + done.stderr
    assert any(f"{d.config}:{n}:" in told for n in lines_of(d.config, '"services", ]')), told


LISTS = """
watches : { services : { resource = "services"; namespaces = [ "*" ];
  match = [ "a=b",
            "!spec.x",
            "=${node_name}" ];
  keep = [ "spec",
           "spec[" ];
  drop = [
    "metadata.labels",
    "metadata..x" ];
}; };
"""


def test_each_wrong_entry_of_a_list_has_its_own_line(api, daemon):
    d = daemon(api, watches={}, start=False)
    before = confwriter.text({key: value for key, value in d.settings.items() if key != "watches"})
    d.config.write_text(before + LISTS)
    done = check_config(d.config)
    assert done.returncode == 78
    told = done.stdout + done.stderr
    first = before.count("\n") + 1
    numbers = [int(line.split(":")[1]) - first for line in told.splitlines()]
    assert numbers == [4, 6, 9], told


def print_config(path):
    return subprocess.run([INFORMERD, "-c", path, "--print-config"], text=True, timeout=PATIENCE,
                          capture_output=True, stdin=subprocess.DEVNULL)


def expect_round_trip(path, folder):
    """Checks that the printed configuration passes --check and is printed again unchanged; returns
    it."""
    printed = print_config(path)
    assert printed.returncode == 0 and not printed.stderr
    copy = folder / "printed.conf"
    copy.write_text(printed.stdout)
    copy.chmod(0o600)
    done = check_config(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert print_config(copy).stdout == printed.stdout
    return printed.stdout


def test_printed_config_is_the_whole_config(api, daemon, hook, tmp_path):
    d = daemon(api, hooks={"h": hook}, include=["conf.d/*.conf"], start=False)
    (d.folder / "conf.d").mkdir()
    (d.folder / "conf.d/10.conf").write_text(confwriter.text({"watches": {
        "more": {"resource": "endpoints", "namespaces": ["a", "b"], "names": ["x", "y"],
                 "keep": ["metadata", "subsets[*].ports"], "match": ["a='\"\\'c'"]},
        "again": {"resource": "services", "namespaces": ["*"]}}}))
    text = expect_round_trip(d.config, tmp_path)
    for part in ("include = [ ];", 'audit = "off";', 'watch_list = "auto";', 'stale_after = "30s";',
                 'keep = [ "metadata", "subsets[*].ports" ];', r"""match = [ "a='\"\\'c'" ];""",
                 "one per scope: 5", "watches.again: shares those of watches.services"):
        assert part in text
    assert not api.accepted


EVERY_HOOK_SETTING = {
    "fields": {"PORT": "spec.ports[0].port", "note_1": "metadata.annotations['a/b']"},
    "effect": "process", "files": ["/etc/passwd"],
    "require": "any", "when_stale": "wait", "after": ["last"], "min_interval": "1500ms",
    "splay": "2min", "rerun_every": "6h", "park_exit": [2, 255], "include_old": True,
    "log_limit": "1MiB", "input_version": 1, "output": "/tmp/${node_name}/${namespace}-${name}",
    "output_mode": "0600", "check": ["/bin/true", "${file}"], "apply": ["/bin/true"],
}


def test_every_hook_setting_is_printed(api, daemon, hook, tmp_path):
    d = daemon(api, start=False, limits={"pending": "90s"}, hooks={
        "h": hook_settings(hook, retry={"attempts": 3}, **EVERY_HOOK_SETTING),
        "last": hook_settings(hook, mode="batch", retry={"attempts": "forever"})})
    text = expect_round_trip(d.config, tmp_path)
    for part in ('pending = "90s";', """note_1 = "metadata.annotations['a/b']"; };""",
                 'effect = "process";', 'files = [ "/etc/passwd" ];', 'require = "any";', 'when_stale = "wait";', 'after = [ "last" ];',
                 'min_interval = "1500ms";', 'splay = "2min";', 'rerun_every = "6h";',
                 "attempts = 3;", 'attempts = "forever";', "park_exit = [ 2, 255 ];",
                 "park_exit = [ ];", "include_old = true;", 'log_limit = "1MiB";',
                 'output = "/tmp/${node_name}/${namespace}-${name}";', 'output_mode = "0600";',
                 'check = [ "/bin/true", "${file}" ];', 'apply = [ "/bin/true" ];', 'output = "";',
                 "input_version = 1;", 'mode = "batch";', 'rerun_every = "off";'):
        assert part in text


def test_the_demo_config_can_be_printed(api, daemon, tmp_path):
    d = daemon(api, start=False)
    folder = shutil.copytree(ROOT / "tests/demo/config", tmp_path / "demo")
    for path in (*folder.glob("*.conf"), *folder.glob("conf.d/*.conf")):
        user = f'user = "{pwd.getpwuid(os.geteuid()).pw_name}";\n' * (path.parent == folder)
        path.write_text(user + path.read_text().replace("@DIR@", str(folder)))
    shutil.copy(d.settings["clusters"]["prod"]["kubeconfig"], folder / "kubeconfig")
    text = expect_round_trip(folder / "informerd.conf", tmp_path)
    assert "one per scope: 2" in text


def test_a_wrong_config_is_not_printed(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, timeout="x")}, start=False)
    done = print_config(d.config)
    assert done.returncode == 78 and not done.stdout
    assert "timeout" in done.stderr and f"{d.config}:" in done.stderr
