# SPDX-License-Identifier: Apache-2.0
"""The helper has only the capabilities in effect that the configuration needs, after each start and
reload, and everything works with them."""
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

import capability
import confwriter
from control import wait_until
from fakeapi import service
from harness import INFORMERD, NOBODY, SERVICES
from proctree import exists

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="without root there are no capabilities to give up")
USER = pwd.getpwuid(NOBODY).pw_name
MINE = capability.of("self")["CapPrm"]
CREDENTIALS = {"DAC_READ_SEARCH"}
PROGRAMS = CREDENTIALS | {"KILL", "SYS_PTRACE", "SETUID", "SETGID", "FOWNER"}
FILES = CREDENTIALS | {"DAC_OVERRIDE", "FOWNER"}


def program(**more):
    return {"sources": ["services"], "user": USER, "shell": "true", **more}


def effective(d):
    return capability.names(capability.of(d.helper)["CapEff"])


def wait_effective(d, *wanted):
    """The helper answers a reload before it lowers its rights, so this waits."""
    wanted = set().union(*wanted) & capability.names(MINE)
    wait_until(lambda: effective(d) == wanted, what=lambda: f"{wanted}, has {effective(d)}")


def reload(d, hooks):
    d.settings["hooks"] = hooks
    d.write_config()
    done = d.ctl("reload")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def theirs():
    """A folder that only user nobody may enter."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    made.chmod(0o700)
    os.chown(made, NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def start(api, daemon, factory, tmp_path):
    """start(hooks): a daemon with a token in a file, and one object."""
    def make(hooks=None, **settings):
        (tmp_path / "token").write_text("token\n")
        api.tokens = {"token"}
        api.apply(service("n/a"))
        cluster = factory.cluster(api, token_file=tmp_path / "token")
        return daemon(clusters={"prod": cluster}, hooks=hooks, **settings).synced()
    return make


def test_each_start_and_reload_leaves_what_is_needed(start, theirs):
    d = start()
    wait_effective(d, CREDENTIALS)
    with_file = program(output=theirs / "f", mode="snapshot")
    for hooks, wanted in [
            ({"h": program()}, [PROGRAMS]),
            ({"h": program(capabilities=["CAP_NET_ADMIN"], no_new_privileges=True)}, [PROGRAMS]),
            ({"h": program(), "f": with_file}, [PROGRAMS, FILES]),
            ({"f": {**with_file, "output_owner": USER}}, [PROGRAMS, FILES, {"CHOWN"}]),
            ({"h": program(rlimits={"nofile": "99"})}, [PROGRAMS, {"SYS_RESOURCE"}]),
            ({"h": program()}, [PROGRAMS])]:
        reload(d, hooks)
        wait_effective(d, *wanted)
        assert capability.of(d.helper)["CapPrm"] == MINE, "a later reload may need them"
    d.stop()
    d.start()
    wait_effective(d, PROGRAMS)


def test_a_reload_that_is_refused_changes_nothing(start):
    d = start({"h": program()})
    wait_effective(d, PROGRAMS)
    d.settings["hooks"] = {"h": program(capabilities=["CAP_NONE"])}
    d.write_config()
    assert d.ctl("reload").returncode == 78
    assert effective(d) == PROGRAMS & capability.names(MINE)


def test_main_has_none(start):
    d = start({"h": program()}, user=USER)
    sets = capability.of(d.pid)
    assert [sets[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0, 0, 0, 0]


def test_a_hook_of_root_that_a_reload_adds_has_all(start):
    d = start({"h": program()})
    wait_effective(d, PROGRAMS)
    reload(d, {"r": program(user="root", shell="grep CapEff /proc/self/status")})
    run = wait_until(lambda: d.ctl_json("runs", "r"), what="a run")[0]
    assert capability.parse(run["stdout"])["CapEff"] == MINE


def test_a_run_of_another_user_is_killed_with_all_that_it_left(start, theirs):
    shell = f"trap '' TERM; setsid sleep 9999 & echo $$ $! >{theirs}/pids; wait"
    d = start({"h": program(shell=shell, timeout="300ms", kill_grace="100ms", retry={"attempts": 1})})
    pids = wait_until(lambda: (theirs / "pids").exists() and (theirs / "pids").read_text().split())
    wait_until(lambda: not any(exists(int(pid)) for pid in pids), what="all are dead")
    wait_effective(d, PROGRAMS)


def test_files_of_another_user_are_written_removed_and_forgotten(api, start, theirs):
    d = start({"f": program(shell="echo x", output=theirs / "${name}/f", output_mode="0600", output_owner=USER)})
    made = theirs / "a/f"
    wait_until(made.exists)
    assert (made.stat().st_uid, made.stat().st_mode & 0o777) == (NOBODY, 0o600)
    api.apply(service("n/b"))
    wait_until((theirs / "b/f").exists)
    api.delete("services", "n/b")
    wait_until(lambda: not (theirs / "b").exists())
    reload(d, {})
    wait_effective(d, CREDENTIALS)
    done = d.ctl("forget", "f", "--files")
    assert done.returncode == 0, done.stderr
    assert not made.exists(), done.stdout


def test_a_reload_reads_files_for_which_the_helper_had_no_need(api, daemon, factory, tmp_path, theirs):
    """With plain settings and no hooks there is nothing to read; then comes a token of another user."""
    api.apply(service("n/a"))
    d = daemon(api).synced()
    token = theirs / "token"
    token.write_text("tok\n")
    token.chmod(0o600)
    os.chown(token, NOBODY, NOBODY)
    api.tokens = {"tok"}
    d.settings["clusters"] = {"prod": {**factory.cluster(api, token_file=token), "credential_owner": USER}}
    d.write_config()
    done = d.ctl("reload")
    assert done.returncode == 0, done.stderr
    wait_effective(d, CREDENTIALS)
    d.synced()


def test_a_unit_with_fewer_capabilities_leaves_the_helper_those(api, daemon):
    """strict.conf: reading is left to DAC_OVERRIDE."""
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": program()}, start=False)
    d.launcher = ["setpriv", "--bounding-set", "-all,+kill,+setuid,+setgid,+dac_override,+fowner,+setpcap"]
    d.start().synced()
    wait_until(lambda: d.ctl_json("runs", "h"), what="a run")
    wanted = {"KILL", "SETUID", "SETGID", "DAC_OVERRIDE", "FOWNER"}
    wait_until(lambda: effective(d) == wanted, what=lambda: effective(d))


def test_started_as_another_user_main_gives_up_what_its_unit_gave(api, factory, theirs):
    """User= with AmbientCapabilities=. The hook looks at itself, at the helper, and at main."""
    cluster = factory.cluster(api)
    shutil.copy(cluster["kubeconfig"], theirs / "kubeconfig")
    (theirs / "kubeconfig").chmod(0o644)
    api.apply(service("n/a"))
    show = (f"cat /proc/self/status >{theirs}/$INFORMERD_HOOK.hook; cat /proc/$PPID/status >{theirs}/helper; "
            f"cat /proc/$(sed -n 's/^PPid:.//p' /proc/$PPID/status)/status >{theirs}/main")
    hooks = {"all": {"sources": ["services"], "shell": show},
             "one": {"sources": ["services"], "shell": show, "capabilities": ["CAP_NET_ADMIN"], "after": ["all"]}}
    config = theirs / "informerd.conf"
    cluster["kubeconfig"] = theirs / "kubeconfig"
    config.write_text(confwriter.text({"clusters": {"prod": cluster}, "watches": SERVICES, "hooks": hooks,
                                       "state_dir": "none", "metrics": {"listen": []},
                                       "control": {"socket": theirs / "socket"}}))
    config.chmod(0o644)
    given = "+net_admin,+kill,+net_bind_service"
    done = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                           "--inh-caps", given, "--ambient-caps", given,
                           INFORMERD, "-c", config, "--once", "--timeout", "1min"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "warn" not in done.stderr, done.stderr
    sets = {name: capability.parse((theirs / name).read_text()) for name in ("all.hook", "one.hook", "helper", "main")}
    found = {name: (capability.names(one["CapPrm"]), capability.names(one["CapEff"])) for name, one in sets.items()}
    every = {"NET_ADMIN", "KILL", "NET_BIND_SERVICE"}
    assert found == {"all.hook": (every, every), "one.hook": ({"NET_ADMIN"}, {"NET_ADMIN"}),
                     "helper": (every, {"KILL"}), "main": ({"NET_BIND_SERVICE"}, {"NET_BIND_SERVICE"})}
    assert sets["main"]["CapAmb"] == 0
