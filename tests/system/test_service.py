# SPDX-License-Identifier: Apache-2.0
"""informerd.service under a real systemd: readiness, users and rights, stops, crashes."""
import os
import re
import signal

import pytest

from control import wait_until
from fakeapi import service
from node import CONF, OUT
from proctree import children, descendants, exists, status

pytestmark = pytest.mark.long

CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapAmb")
BLOCK = f"while [ ! -e {OUT}/go ]; do sleep 0.05; done"


def test_systemd_understands_the_unit(node):
    done = node.machine.run("systemd-analyze", "verify", "--man=no", node.unit.name)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_main_is_in_its_sandbox(node):
    node.configure()
    assert node.unit.start().returncode == 0
    assert node.unit.main_filters() == 1


def test_ready_comes_after_the_first_runs_and_status_counts_the_watches(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h", BLOCK)})
    node.unit.start(wait=False)
    node.wait_out("h")
    assert node.unit.state() == ("activating", "start")
    node.touch("go")
    wait_until(lambda: node.unit.state() == ("active", "running"))
    wait_until(lambda: "1 of 1 watches synced, 1 hook" in node.unit.show("StatusText"))
    assert "1 of 1 watches synced" in node.machine.check("systemctl", "status", node.unit.name)


def test_status_shows_failing_watches_until_they_work_again(node, api):
    node.configure()
    assert node.unit.start().returncode == 0
    wait_until(lambda: node.unit.show("StatusText") == "1 of 1 watches synced, 0 hooks")
    api.stop_listening()
    api.drop("rst")
    wait_until(lambda: "no contact: watch services" in node.unit.show("StatusText"))
    api.listen()
    wait_until(lambda: node.unit.show("StatusText") == "1 of 1 watches synced, 0 hooks")


def test_reload_succeeds_with_a_good_file_and_fails_with_a_bad_one(node, api):
    node.configure(hooks={"h": node.hook("h")})
    assert node.unit.start().returncode == 0
    main = node.unit.show("MainPID")
    done = node.unit.reload()
    assert done.returncode == 0, done.stderr
    good = node.machine.read(CONF)
    node.machine.write(CONF, good + "nonsense = 1;\n", 0o600)
    assert node.unit.reload().returncode != 0
    node.unit.wait_message("nonsense")
    assert node.unit.state() == ("active", "running")
    wait_until(lambda: "the last reload was refused" in node.unit.show("StatusText"))
    node.machine.write(CONF, good, 0o600)
    assert node.unit.reload().returncode == 0
    assert node.unit.state() == ("active", "running")
    assert node.unit.show("MainPID") == main


def test_an_unreachable_server_delays_ready_until_ready_timeout(node, api):
    api.stop_listening()
    node.configure(hooks={"h": node.hook("h")}, limits={"ready_timeout": "1s"})
    assert node.unit.start().returncode == 0
    assert "watch services: not synced" in node.unit.show("StatusText")
    assert node.out("h") == []
    node.unit.wait_message("ready", "ready_timeout")


def test_main_runs_as_the_user_without_capabilities_and_the_helper_as_root(node, api):
    node.configure(hooks={"h": node.hook("h")})
    assert node.unit.start().returncode == 0
    main, helper = status(node.unit.main), status(node.unit.helper)
    uid = node.machine.id("-u", "informerd")
    assert main["Uid"].split() == [str(uid)] * 4
    assert main["Gid"].split() == [str(node.machine.id("-g", "informerd"))] * 4
    assert "0" not in main["Groups"].split()
    assert {cap: int(main[cap], 16) for cap in CAPABILITIES} == dict.fromkeys(CAPABILITIES, 0)
    assert helper["Uid"].split() == ["0"] * 4
    assert len(os.listdir(f"/proc/{node.unit.helper}/fd")) <= 6


def facts(text):
    """The record of a run as a dict: uid, gid, group names, umask, capabilities, environment."""
    who, umask = text.splitlines()[:2]
    return {"uid": re.search(r"uid=\d+\((\w+)\)", who)[1],
            "gid": re.search(r"gid=\d+\((\w+)\)", who)[1],
            "groups": set(re.findall(r"\d+\((\w+)\)", who.partition("groups=")[2])),
            "umask": umask, "cap": int(re.search(r"CapEff:\s+(\w+)", text)[1], 16), "text": text}


@pytest.mark.parametrize(("settings", "wanted"), [
    ({}, ("informerd", "informerd", {"informerd", "extra"}, "0022", False)),
    ({"user": "worker"}, ("worker", "worker", {"worker", "extra"}, "0022", False)),
    ({"user": "worker", "group": "informerd", "umask": "0077"},
     ("worker", "informerd", {"informerd", "extra"}, "0077", False)),
    ({"group": "extra"}, ("informerd", "extra", {"extra"}, "0022", False)),
    ({"user": "root"}, ("root", "root", {"root"}, "0022", True)),
], ids=["default", "user", "user-group-umask", "group", "root"])
def test_a_hook_runs_with_its_user_groups_umask_and_capabilities(node, api, settings, wanted):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h", **settings)})
    assert node.unit.start().returncode == 0
    got = facts(node.wait_out("h")[0])
    assert (got["uid"], got["gid"], got["groups"], got["umask"], got["cap"] != 0) == wanted
    for name in ("NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "HOME", "LISTEN_FDS"):
        assert f"\n{name}=" not in got["text"]


def test_the_journal_has_hook_lines_with_priorities(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"good": node.hook("good"), "bad": node.hook("bad", "exit 3")})
    node.unit.start(wait=False)
    out = node.unit.wait_message("to stdout of good")
    err = node.unit.wait_message("to stderr of good")
    failed = node.unit.wait_message("hook failed", "exit status 3")
    assert out["PRIORITY"] == err["PRIORITY"] == "6" and failed["PRIORITY"] == "4"
    for line in (out, err):
        assert 'hook="good"' in line["MESSAGE"] and 'key="n/a"' in line["MESSAGE"]
        assert not line["MESSAGE"].startswith("<") and "\x1b" not in line["MESSAGE"]
    assert 'stream="stderr"' in err["MESSAGE"]


def test_stop_lets_a_running_hook_end(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h", f"{BLOCK}; touch {OUT}/done")},
                   limits={"ready_timeout": "1s"})
    node.unit.start()
    node.wait_out("h")
    node.machine.run("systemctl", "stop", "--no-block", node.unit.name)
    node.unit.wait_message("stopping")
    assert node.unit.state() == ("deactivating", "stop-sigterm")
    node.touch("go")
    wait_until(lambda: node.unit.state() == ("inactive", "dead"))
    assert node.machine.path(f"{OUT}/done").exists()
    assert node.unit.show("Result") == "success" and node.unit.show("ExecMainStatus") == "0"
    assert not node.machine.path("/run/informerd").exists()


def test_stop_kills_a_hook_that_does_not_end(node, api):
    api.apply(service("n/a"))
    stubborn = node.hook("h", f"trap '' TERM; sleep 300 & echo $! >{OUT}/child; {BLOCK}")
    node.configure(hooks={"h": {**stubborn, "kill_grace": "300ms"}},
                   limits={"stop_timeout": "500ms", "ready_timeout": "1s"})
    node.unit.start()
    wait_until(node.machine.path(f"{OUT}/child").exists)
    below = node.family()
    assert len(below) >= 4
    assert node.unit.stop().returncode == 0
    node.wait_gone(below)
    assert node.unit.show("Result") == "success"
    node.unit.wait_message("stop_timeout has passed")


def test_a_bad_configuration_is_not_restarted(node):
    node.configure(nonsense=1)
    assert node.unit.start().returncode != 0
    node.unit.wait_message("nonsense")
    assert node.unit.show("ExecMainStatus") == "78"
    assert node.unit.state() == ("failed", "failed") and node.unit.show("NRestarts") == "0"


def test_a_missing_user_is_named_and_not_restarted(node):
    node.configure(user="nosuchuser")
    assert node.unit.start().returncode != 0
    node.unit.wait_message("nosuchuser")
    assert node.unit.show("ExecMainStatus") == "78" and node.unit.show("NRestarts") == "0"


@pytest.mark.parametrize("victim", ["main", "helper"])
def test_kill_9_leaves_no_orphan_and_systemd_starts_it_anew(node, api, victim):
    api.apply(service("n/a"))
    stubborn = node.hook("h", f"trap '' TERM; {BLOCK}")
    node.configure(hooks={"h": {**stubborn, "kill_grace": "200ms"}},
                   limits={"ready_timeout": "500ms"})
    node.unit.start()
    node.wait_out("h")
    before = node.family()
    os.kill(getattr(node.unit, victim), signal.SIGKILL)
    node.wait_gone(before)
    wait_until(lambda: node.unit.show("NRestarts") == "1")
    wait_until(lambda: node.unit.state() == ("active", "running"))
    node.wait_out("h", 2)
    assert not node.family() & before
    node.touch("go")
    wait_until(lambda: node.unit.control.hook("h")["pending"] == 0)
    if victim == "helper":
        assert [m for m in node.unit.messages() if "helper process has ended" in m]


def test_a_loop_that_stands_still_is_ended_by_the_watchdog_and_started_anew(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h")})
    drop_in = "/run/systemd/system/informerd.service.d"
    node.machine.write(f"{drop_in}/watchdog.conf", "[Service]\nWatchdogSec=3s\n")
    node.machine.check("systemctl", "daemon-reload")
    try:
        assert node.unit.start().returncode == 0
        before = node.family()
        os.kill(node.unit.main, signal.SIGSTOP)
        node.unit.wait_message("Watchdog timeout")
        node.wait_gone(before)
        wait_until(lambda: node.unit.state() == ("active", "running"))
        api.apply(service("n/b"))
        node.wait_out("h", 2)
        assert len(node.out("h")) == 2
    finally:
        node.machine.run("rm", "-rf", drop_in)
        node.machine.check("systemctl", "daemon-reload")


def test_hup_and_other_signals_do_not_end_the_service(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h")})
    node.unit.start()
    main = node.unit.main
    for number in (signal.SIGHUP, signal.SIGPIPE):
        os.kill(main, number)
    node.unit.wait_message("reloaded")
    api.apply(service("n/b"))
    node.wait_out("h", 2)
    assert node.unit.main == main and exists(main)


def test_the_control_socket_is_for_root_and_the_group(node, api):
    node.configure()
    assert node.unit.start().returncode == 0
    path = node.machine.path("/run/informerd/control.sock")
    facts_of = path.stat()
    assert facts_of.st_mode & 0o777 == 0o660
    assert facts_of.st_uid == 0 and facts_of.st_gid == node.machine.id("-g", "informerd")
    assert path.parent.stat().st_mode & 0o777 == 0o755
    ask = ("informerctl", "status")
    assert node.machine.run(*ask).returncode == 0
    assert node.machine.run(*ask, user="informerd").returncode == 0
    assert node.machine.run(*ask, user="member", groups=["informerd"]).returncode == 0
    foreign = node.machine.run(*ask, user="stranger")
    assert foreign.returncode == 77 and "control.sock" in foreign.stderr
    node.unit.stop()
    gone = node.machine.run(*ask)
    assert gone.returncode == 2 and gone.stderr.count("\n") <= 2


def test_bodies_of_secrets_are_for_root(node, api):
    api.add_resource("secrets", "Secret", custom=False)
    secret = service("n/a")
    secret["kind"], secret["data"] = "Secret", {"password": "aHVudGVyMg=="}
    api.apply(secret)
    node.configure(watches={"s": {"resource": "secrets", "namespaces": ["*"]}})
    assert node.unit.start().returncode == 0
    wait_until(lambda: node.unit.control.watch("s")["objects"] == 1)
    ask = ("informerctl", "get", "s", "n/a", "-o", "json")
    assert "aHVudGVyMg" in node.machine.check(*ask)
    member = node.machine.run(*ask, user="member", groups=["informerd"])
    assert "aHVudGVyMg" not in member.stdout + member.stderr and member.returncode == 77


def test_a_stale_socket_does_not_hinder_the_next_start(node, api):
    node.configure()
    node.unit.start()
    path = node.machine.path("/run/informerd/control.sock")
    first = path.stat().st_ino
    node.machine.check("systemctl", "set-property", "--runtime", node.unit.name,
                       "CPUWeight=100")  # so that systemd does not forget the unit
    before = node.unit.main
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: node.unit.show("NRestarts") == "1")
    wait_until(lambda: node.unit.state() == ("active", "running"))
    assert node.machine.run("informerctl", "status").returncode == 0
    assert path.stat().st_ino != first or node.unit.main != before


def test_check_as_root_and_as_an_ordinary_user(node):
    node.configure(hooks={"h": node.hook("h", user="worker")})
    assert node.check_config().returncode == 0
    refused = node.check_config(user="stranger")
    assert refused.returncode == 78 and "ermission denied" in refused.stderr
    node.machine.path("/etc/informerd/informerd.conf").chmod(0o644)
    node.machine.path("/etc/informerd/kubeconfig").chmod(0o644)
    refused = node.check_config(user="stranger")
    assert refused.returncode == 78 and "started as root" in refused.stderr


def test_an_ordinary_user_can_run_informerd(node, api):
    api.apply(service("n/a"))
    folder = "/var/tmp/own"
    node.machine.check("rm", "-rf", folder)
    node.machine.check("install", "-d", "-o", "stranger", folder)
    node.configure(hooks={"h": node.hook("h")}, control={"socket": f"{folder}/sock"},
                   state_dir=f"{folder}/state")
    for name in ("informerd.conf", "kubeconfig"):
        node.machine.path(f"/etc/informerd/{name}").chmod(0o644)
    node.machine.check("systemd-run", "--unit=own", "--uid=stranger", "--property=Type=notify",
                       "/usr/sbin/informerd")
    try:
        got = facts(node.wait_out("h")[0])
        assert got["uid"] == "stranger" and got["cap"] == 0
        ask = ("informerctl", "--socket", f"{folder}/sock", "status")
        assert node.machine.run(*ask, user="stranger").returncode == 0
        assert node.machine.run(*ask, user="member").returncode == 77
        state = node.machine.path(f"{folder}/state").stat()
        assert state.st_uid == node.machine.id("-u", "stranger") and state.st_mode & 0o777 == 0o700
    finally:
        node.machine.run("systemctl", "stop", "own")


def test_the_unit_starts_one_helper_and_the_hooks(node, api):
    api.apply(*(service(f"n/s{n}") for n in range(20)))
    node.configure(hooks={"h": node.hook("h", concurrency=4)})
    assert node.unit.start().returncode == 0
    node.wait_out("h", 20)
    main = node.unit.main
    assert len(children(main)) == 1
    wait_until(lambda: len(descendants(main)) == 1, what="hooks are reaped")
