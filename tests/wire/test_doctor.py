# SPDX-License-Identifier: Apache-2.0
"""informerctl doctor: situations of docs/doctor.md, made for real, are found and explained; of a
daemon that is well it says nothing."""
import datetime
import json
import os
import pathlib
import resource
import shutil
import tempfile
import time

import pytest
from control import wait_until
from fakeapi import Gate, service, simple
from harness import NEVER, TUNING, check_config, hook_settings
from mounts import start_with_mounts
from outputs import each
from proxies import ReverseProxy

DAY = datetime.timedelta(days=1)
MINUTE = datetime.timedelta(minutes=1)
SECRETS = {"secrets": {"resource": "secrets", "namespaces": ["*"]}}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(autouse=True)
def on_disk():
    """A folder for the state that is not in memory, wherever the other files of the tests are. It is
    made before the daemon and removed after it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-state-", dir="/var/tmp"))
    yield folder / "state"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def patient(daemon, on_disk):
    """daemon(), with a state that survives a boot."""
    def make(*args, **settings):
        return daemon(*args, **{"state_dir": on_disk, **settings})
    return make


def findings(d):
    """[(id, where, text), ...]; the exit code and the lines for people say the same."""
    done = d.ctl("doctor", "-o", "json")
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if found else 0)
    assert all(f["advice"] for f in found)
    return [(f["id"], f["where"], f["text"]) for f in found]


def the_only(d, name, where, *words):
    """Waits until exactly this is found; returns its text."""
    wait_until(lambda: [f[:2] for f in findings(d)] == [(name, where)],
               what=lambda: f"{name} is found: {findings(d)}")
    text = findings(d)[0][2]
    assert all(word in text for word in words), text
    return text


def test_a_healthy_system_gets_one_quiet_line(api, patient, hook):
    api.apply(service("n/a"))
    d = patient(api, hooks={"h": hook})
    hook.wait(1)
    d.settled(api)
    done = d.ctl("doctor")
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing was found\n", "")
    assert findings(d) == []


def test_nothing_is_found_before_the_first_list_is_complete(api, patient):
    gate = Gate()
    api.on_stream("services", times=None).hold(gate)
    api.on_list("services", times=None).hold(gate)
    d = patient(api)
    assert d.control.watch("services")["synced"] is False and findings(d) == []
    gate.open()


def test_a_watch_that_the_server_forbids(api, patient):
    for rule in (api.on_list, api.on_stream, api.on_watch):
        rule("configmaps", times=None).fail(403, "Forbidden", "configmaps is forbidden")
    d = patient(api, watches={"ok": {"resource": "services", "namespaces": ["*"]},
                              "maps": {"resource": "configmaps", "namespaces": ["*"]}})
    the_only(d, "forbidden", "watch maps", "forbidden")
    done = d.ctl("doctor")
    assert done.returncode == 1 and done.stdout.count("\n") == 1
    assert done.stdout.startswith("watch maps: forbidden")
    assert done.stdout.endswith(" -> informerd --check-access\n")


@pytest.mark.parametrize("name, begin, end", [("expires", -300 * DAY, DAY // 4),
                                              ("clock", 2 * DAY, 300 * DAY)])
def test_credentials_that_end_soon_or_are_from_the_future(api, authority, patient, name, begin, end):
    client = authority.leaf("system:node:node-1", client=True, begin=begin, end=end)
    d = patient(api, credentials={"client": client}).synced()
    the_only(d, name, "cluster prod", "client certificate")


@pytest.mark.parametrize("ahead, word", [(2 * MINUTE, "ahead of"), (-2 * MINUTE, "behind")])
def test_a_server_with_another_clock(api, patient, ahead, word):
    api.clock_ahead = 0 * MINUTE
    d = patient(api).settled(api)
    assert findings(d) == []
    api.clock_ahead = ahead
    assert d.ctl("relist", "services").returncode == 0
    the_only(d, "clock_skew", "cluster prod", word, str(api.port))
    api.clock_ahead = 0 * MINUTE
    assert d.ctl("relist", "services").returncode == 0
    wait_until(lambda: findings(d) == [], what="the clock is right again")


NODES = {"nodes": {"resource": "nodes"}}
ITS_PODS = {"pods": {"resource": "pods", "namespaces": ["*"],
                     "field_selector": "spec.nodeName=${node_name}"}}
ITS_NODE = {"node": {"resource": "nodes", "field_selector": "metadata.name=${node_name}"}}


@pytest.mark.parametrize("watches, where", [({**NODES, **ITS_PODS}, "nodes"), (ITS_NODE, "node")])
def test_a_node_name_that_no_node_has(api, patient, watches, where):
    api.apply(simple("Node", "n-1"))
    d = patient(api, watches=watches, node_name="n-2").settled(api)
    the_only(d, "node_name", f"watch {where}", '"n-2"')
    api.apply(simple("Node", "n-2"))
    wait_until(lambda: findings(d) == [], what="the Node is there")


@pytest.mark.parametrize("watches", [NODES, ITS_PODS])
def test_neither_a_machine_that_is_no_node_nor_a_node_without_pods_is_found(api, patient, watches):
    api.apply(simple("Node", "n-1"))
    d = patient(api, watches=watches, node_name="n-2").settled(api)
    assert findings(d) == []


def test_another_daemon_with_the_same_configuration(api, patient, daemon):
    """The second daemon has a socket and a state of its own, as if the file had been changed since the
    first one started: with the same ones it would not start."""
    d = patient(api).settled(api)
    other = daemon(api, state_dir="none", start=False)
    other.config = d.config
    other.write_config()
    other.start(flags=["--dry-run"])
    assert findings(d) == []
    other.stop()
    other.start()
    the_only(d, "two_daemons", "informerd", f"pid {other.pid},", str(d.config))
    other.stop()
    assert findings(d) == []


def test_a_silent_watch(api, factory, on_disk):
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    d = factory.daemon(api, clusters={"prod": cluster}, state_dir=on_disk).synced()
    api.stop_listening()
    api.drop("rst")
    the_only(d, "stale", "watch services", "stale")


@pytest.fixture
def behind(api, server_leaf, authority, patient):
    """behind(holds, **tuning): a daemon that reaches the server through a proxy which holds this
    back; returns (daemon, proxy)."""
    with ReverseProxy(api, server_leaf) as proxy:
        def make(holds, **tuning):
            proxy.holds = holds
            cluster = {"servers": [proxy.url()], "ca_file": authority.file, "stale_after": NEVER,
                       "tuning": {**TUNING, **tuning}}
            return patient(api, clusters={"prod": cluster}).synced(), proxy
        yield make


def test_a_proxy_that_holds_events_back_until_the_watch_ends(api, behind):
    """Watches of less than 5 s show nothing."""
    d, proxy = behind("body", watch_timeout=["6s", "6s"])

    def found(*wanted):
        api.apply(service("n/a", ports=[1000 + int(api.rv)]))
        return [f[:2] for f in findings(d)] == list(wanted)
    wait_until(lambda: found(("buffers", "watch services")), what="buffers is found")
    assert "all at once" in findings(d)[0][2]
    proxy.holds = None
    wait_until(found, what="the proxy passes events on")


def test_a_proxy_that_holds_heads_of_watches_back(behind):
    d, proxy = behind("all", response_timeout="1s")
    the_only(d, "buffers", "watch services", "got no response")
    proxy.holds = None
    wait_until(lambda: findings(d) == [], what="the proxy passes heads on")


@pytest.mark.parametrize("brings", ["one bookmark", "nothing"])
def test_a_quiet_watch_is_healthy(api, behind, brings):
    """The bookmark comes some time before the end, as from a server."""
    d, _proxy = behind(None)
    for turn in range(1, 4):
        api.wait_watching("services")
        begin = time.monotonic()
        if brings == "one bookmark":
            d.hear_newer_bookmark(api)
        wait_until(lambda: time.monotonic() - begin > 5
                   and d.control.watch("services")["contact_age_s"] >= 2, what="time passes")
        api.end_watches("services")
        api.wait(lambda: len(api.of("services", "W")) > turn, what="the next watch")
        assert findings(d) == []


def test_a_list_that_the_guard_holds(api, patient):
    api.apply(*(service(f"n/s{i}") for i in range(30)))
    d = patient(api, watches={"services": {
        "resource": "services", "namespaces": ["*"], "guard": {"hold": "1h"}}}).settled(api)
    for i in range(30):
        api.delete("services", f"n/s{i}", silent=True)
    assert d.ctl("relist", "services").returncode == 0
    the_only(d, "held", "watch services", "30 of 30")


def script(tmp_path, text, mode=0o755):
    path = tmp_path / "program"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("text, mode, word", [
    ("#!/bin/sh\n", 0o644, "not an executable file"),
    ("#!/no/such/interpreter -x\n", 0o755, "interpreter /no/such/interpreter is missing"),
    ("#!/bin/sh\r\n", 0o755, "line ends of DOS"),
])
def test_a_program_that_cannot_be_started(api, patient, tmp_path, text, mode, word):
    program = script(tmp_path, text, mode)
    d = patient(api, hooks={"h": {"sources": ["services"], "command": [program]}}).settled(api)
    the_only(d, "program", "hook h", word, str(program))
    assert word in check_config(d.config).stdout + check_config(d.config).stderr
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert findings(d) == []


def test_a_key_that_is_parked(api, patient, hook):
    api.apply(service("n/a"))
    hook.exit_with(3)
    d = patient(api, hooks={"h": hook_settings(hook, park_exit=[3])})
    the_only(d, "parked", "hook h", "1 parked", "exit status 3")


def test_files_of_a_hook_that_is_gone(api, patient, place):
    api.apply(service("n/a", ports=[81]))
    d = patient(api, hooks={"h": each(place)}).settled(api)
    d.stop()
    del d.settings["hooks"]["h"]
    d.write_config()
    d.again(api)
    the_only(d, "left_files", "hook h", "1 output file of it stays")
    assert d.ctl("forget", "h", "--files").returncode == 0
    assert findings(d) == []


def test_a_finding_says_what_where_and_what_to_type_and_the_table_says_the_same(api, patient, hook):
    api.apply(service("n/a"))
    hook.exit_with(3)
    d = patient(api, hooks={"h": hook_settings(hook, park_exit=[3])})
    the_only(d, "parked", "hook h")
    answer = json.loads(d.ctl("doctor", "-o", "json").stdout)
    assert list(answer) == ["findings"]
    [finding] = answer["findings"]
    assert sorted(finding) == ["advice", "id", "text", "where"]
    assert (finding["id"], finding["where"]) == ("parked", "hook h")
    assert "exit status 3" in finding["text"] and "informerctl run" in finding["advice"]
    table = " ".join(d.ctl("doctor").stdout.split())
    assert all(" ".join(finding[name].split()) in table for name in ("id", "where", "advice"))


def test_a_hook_that_changes_what_it_watches(api, patient, hook):
    """The server changes the object after each run, as a hook with kubectl annotate would. A loop is one
    although the hook settles, so with a long settle it does not count how fast this machine is."""
    d = patient(api, hooks={"h": hook_settings(hook)}).settled(api)

    def turn(number):
        api.apply(service("n/a", ports=[1000 + number]))
        hook.wait(number)
        d.control.wait_idle()

    def found_with(settle):
        d.settings["hooks"]["h"]["settle"] = [settle, settle]
        d.write_config()
        assert d.ctl("reload").returncode == 0
        return findings(d)

    for number in range(1, 10):
        turn(number)
    assert found_with("1h") == []
    found_with("0s")
    turn(10)
    [(word, where, text)] = found_with("1h")
    assert (word, where) == ("loop", "hook h") and "n/a" in text


def test_a_reload_that_has_failed(api, patient):
    d = patient(api).settled(api)
    good = d.config.read_text()
    d.config.write_text(good + "nonsense = 1;\n")
    assert d.ctl("reload").returncode == 78
    the_only(d, "reload", "reload", "nonsense", str(d.config))
    d.config.write_text(good)
    assert d.ctl("reload").returncode == 0
    assert findings(d) == []


def test_a_state_in_memory(api, daemon):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-state-", dir="/dev/shm"))
    try:
        d = daemon(api, state_dir=folder / "state").settled(api)
        the_only(d, "state_in_ram", "state", str(folder / "state"))
    finally:
        shutil.rmtree(folder)


def test_a_descriptor_limit_that_is_reached(api, patient):
    d = patient(api).settled(api)
    was = resource.prlimit(d.pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{d.pid}/fd"))
    resource.prlimit(d.pid, resource.RLIMIT_NOFILE, (used + 2, was[1]))
    the_only(d, "descriptors", "informerd", f"of {used + 2} file descriptors")
    resource.prlimit(d.pid, resource.RLIMIT_NOFILE, was)
    assert findings(d) == []


@as_root
def test_an_apply_that_waits_for_a_unit_after_informerd(api, patient, tmp_path, hook):
    units = tmp_path / "units"
    units.mkdir()
    (units / "web.service").write_text("[Unit]\nAfter=network.target informerd.service\n")
    systemctl = script(tmp_path, "#!/bin/sh\n").rename(tmp_path / "systemctl")
    waits = {"sources": ["services"], "command": [systemctl, "reload", "web"]}
    does_not = {"sources": ["services"], "command": [systemctl, "try-reload-or-restart", "web"]}
    d = patient(api, hooks={"h": waits, "t": does_not}, start=False)
    os.makedirs("/etc/systemd/system", exist_ok=True)
    start_with_mounts(d.start, ["--bind", units, "/etc/systemd/system"])
    the_only(d, "unit_order", "hook h", "web", "after informerd")
    assert "try-reload-or-restart" in d.ctl("doctor").stdout
    (units / "web.service").write_text("[Unit]\nAfter=network.target\n")
    assert findings(d) == []


def test_a_field_with_data_of_a_secret(api, patient, hook):
    settings = hook_settings(hook, sources=["secrets"], fields={"KEY": "data.key"})
    d = patient(api, watches=SECRETS, hooks={"h": settings}).synced("secrets")
    the_only(d, "secret_field", "hook h", "KEY", "/proc/PID/environ")
    checked = check_config(d.config)
    assert checked.returncode == 0 and "/proc/PID/environ" in checked.stdout + checked.stderr
