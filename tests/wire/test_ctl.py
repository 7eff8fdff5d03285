# SPDX-License-Identifier: Apache-2.0
"""The control socket and informerctl: their answers, as tables and as JSON."""
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from control import PATIENCE, wait_until
from fakeapi import Gate, service
from harness import NOBODY, hook_settings

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
MEMBERS = {"held_reason", "held_deletes", "last_event_age_s", "last_bookmark_age_s", "relists_by",
           "events", "audit"}


@pytest.fixture
def began():
    """The time at which the test began: no event that it sees is older."""
    return time.monotonic()


@pytest.fixture
def running(began, api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    return d.settled(api)


def age_of(began):
    """The largest age in seconds that an event of this test can have, with room for rounding."""
    return time.monotonic() - began + 1


def test_status_has_everything(running, api, began):
    status = running.control.status()
    assert status["pid"] == running.pid and status["ready"] is True
    assert status["version"] and status["started"] and status["degraded"] == []
    cluster = status["clusters"]["prod"]
    assert cluster["server"] == api.url and 0 <= cluster["contact_age_s"] < age_of(began)
    watch = status["watches"]["services"]
    assert watch["cluster"] == "prod" and watch["resource"] == "services"
    assert watch["state"] == "watching" and watch["synced"] is True
    assert watch["stale"] is False
    assert watch["objects"] == 2 and watch["bytes"] > 200
    assert str(watch["resource_version"]) == str(api.rv)
    assert watch["relists"] == 0 and not watch["last_error"]
    assert watch["held"] is False and MEMBERS <= set(watch)
    assert watch["held_reason"] is None and watch["relists_by"] == {}
    assert watch["audit"] == {"state": "idle", "runs": 0, "differences": None}
    hook = status["hooks"]["h"]
    assert (hook["pending"], hook["running"]) == (0, 0)
    assert hook["last_success"] and not hook["last_error"]


def test_watches_and_hooks_have_the_same_members_as_in_status(running):
    assert set(running.control.get("/v1/watches")) == {"watches", "views"}
    assert set(running.control.get("/v1/watches")["watches"]["services"]) == set(
        running.control.watch("services"))
    assert set(running.control.get("/v1/hooks")["hooks"]["h"]) == set(running.control.hook("h"))


def test_objects_are_an_array_or_a_single_object(running, api):
    objects = running.control.objects("services")
    assert [o["metadata"]["name"] for o in objects] == ["a", "b"]
    assert all((o["kind"], o["apiVersion"]) == ("Service", "v1") for o in objects)
    one = running.control.objects("services", "n/a")
    assert one == objects[0]
    assert one["spec"] == api.get("services", "n/a")["spec"]
    assert running.control.objects("services", "n/none") is None


@pytest.mark.parametrize("target,code", [
    ("/v1/nothing", 404), ("/nothing", 404), ("/v1/sources/none/objects", 404),
    ("/v1/sources/services/objects/n/none", 404), ("/v1/../v1/status", 404)])
def test_a_missing_resource_is_404_with_a_json_error(running, target, code):
    status, headers, body = running.control.ask(target)
    assert status == code and headers["Content-Type"].startswith("application/json")
    json.loads(body)


def raw(path, data, wait=True):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        sock.connect(str(path))
        sock.sendall(data)
        return sock.recv(65536) if wait else b""


def test_bad_requests_do_no_harm(running):
    path = running.control.path
    assert b" 405 " in raw(path, b"DELETE /v1/status HTTP/1.1\r\nHost: x\r\n\r\n").split(b"\r\n")[0]
    assert raw(path, b"\0\1\2 nonsense\r\n\r\n").split(b"\r\n")[0][9:12] in (b"400", b"")
    raw(path, b"GET /v1/status HTT", wait=False)
    big = b"GET /v1/status HTTP/1.1\r\n" + b"X: " + b"y" * 200000
    try:
        raw(path, big)
    except OSError:
        pass
    assert running.control.status()["ready"]


def ask_twice_on_one_connection(d, request, status):
    """Sends the request twice at once, and waits for both answers."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        sock.connect(str(d.control.path))
        sock.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 2)
        seen = b""
        while seen.count(b"HTTP/1.1 %d" % status) < 2:
            data = sock.recv(65536)
            assert data, seen
            seen += data


def test_keep_alive_and_pipelines_on_the_control_socket(running):
    ask_twice_on_one_connection(running, "GET /v1/hooks", 200)


def test_slow_and_idle_clients_do_not_stop_others(running):
    idle = []
    try:
        for _ in range(20):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(running.control.path))
            sock.sendall(b"GET /v1/")
            idle.append(sock)
        assert running.control.status()["ready"]
    finally:
        for sock in idle:
            sock.close()
    wait_until(lambda: running.control.alive())


def test_ctl_status_as_table_and_json(running):
    done = running.ctl("status")
    assert done.returncode == 0, done.stderr
    for word in ("prod", "services", "watching", "h"):
        assert word in done.stdout
    done = running.ctl("status", "-o", "json")
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == set(running.control.status())


def test_ctl_watches_and_hooks(running):
    done = running.ctl("watches")
    assert done.returncode == 0 and "services" in done.stdout and "watching" in done.stdout
    assert json.loads(running.ctl("watches", "-o", "json").stdout)["watches"]["services"]
    done = running.ctl("hooks")
    assert done.returncode == 0 and "h" in done.stdout.split()
    assert "h" in json.loads(running.ctl("hooks", "-o", "json").stdout)["hooks"]


def test_ctl_get(running):
    done = running.ctl("get", "services")
    assert done.returncode == 0 and "a" in done.stdout.split() and "b" in done.stdout.split()
    objects = json.loads(running.ctl("get", "services", "-o", "json").stdout)
    assert objects == running.control.objects("services")
    one = json.loads(running.ctl("get", "services", "n/b", "-o", "json").stdout)
    assert one == objects[1]
    assert running.ctl("get", "services", "-o", "name").stdout.split() == ["n/a", "n/b"]


def test_ctl_exit_codes(running, tmp_path):
    assert running.ctl("get", "nowhere").returncode == 1
    assert running.ctl("get", "services", "n/none").returncode == 1
    assert running.ctl("get").returncode == 64
    assert running.ctl("status", "-o", "yaml").returncode == 64
    running.stop()
    done = running.ctl("status")
    assert done.returncode == 2 and str(running.control.path) in done.stderr


def test_ctl_does_not_let_objects_write_escape_codes_to_the_terminal(api, daemon):
    api.apply(service("n/a", annotations={"x": "\x1b[31mred\x07"}))
    d = daemon(api).synced()
    for args in (["get", "services"], ["get", "services", "-o", "json"], ["status"]):
        assert "\x1b" not in d.ctl(*args).stdout


def test_degraded_gives_the_reason_and_ctl_status_fails(api, daemon, hook):
    api.on_list("services", times=None).fail(403)
    d = daemon(api, hooks={"h": hook}, tuning={"backoff": {"initial": "1h", "max": "1h"}})
    d.control.wait_watch("services", state="forbidden")
    done = d.ctl("status")
    assert "forbidden" in done.stdout
    assert d.control.status()["ready"] is False


def test_a_failing_and_a_pending_hook_show(api, daemon, new_hook):
    bad, slow = new_hook(), new_hook()
    bad.exit_with(9)
    slow.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"bad": hook_settings(bad, retry={"initial": "1h", "max": "1h"}),
                           "slow": slow})
    bad.wait(2)
    slow.wait(1)
    wait_until(lambda: "9" in str(d.control.hook("bad")["last_error"]))
    now = d.control.hook("slow")
    assert now["running"] == 1 and now["pending"] >= 1 and now["oldest_pending_s"] >= 0
    wait_until(lambda: d.control.hook("bad")["pending"] == 2)
    slow.release()


def test_thousand_objects_come_through_whole(api, daemon):
    for number in range(1000):
        api.apply(service(f"n/s{number:04}"))
    d = daemon(api).synced()
    assert len(d.control.objects("services")) == 1000
    assert len(d.ctl("get", "services", "-o", "name").stdout.split()) == 1000


def test_the_log_is_json_or_text_as_asked(api, daemon):
    api.stop_listening()
    d = daemon(api, log={"format": "text"})
    wait_until(lambda: "watch failed" in d.stderr())
    line = next(line for line in d.stderr().splitlines() if "watch failed" in line)
    assert 'watch="services"' in line and 'cluster="prod"' in line and "refused" in line


# ---- The reports of a watch about itself

def test_a_watch_tells_when_events_and_bookmarks_came(running, api, began):
    assert running.control.watch("services")["last_event_age_s"] is None
    api.apply(service("n/a", ports=[443]))
    wait_until(lambda: running.control.watch("services")["events"] == 1)
    running.caught_up(api)
    api.apply(service("n/b", ports=[443]), silent=True)
    api.bookmark()
    running.seen(api)   # by this bookmark: others may have come before the event
    now = running.control.watch("services")
    assert 0 <= now["last_bookmark_age_s"] <= now["last_event_age_s"] < age_of(began)
    assert now["events"] == 1


def test_ctl_watches_wide_shows_ages_and_relists_by_reason(running, api):
    running.control.post("/v1/watches/services/relist")
    running.control.wait_watch("services", relists=1, state="watching")
    head, row = running.ctl("watches", "-o", "wide").stdout.splitlines()
    for heading in ("HELD", "EVENT", "BOOKMARK", "RELISTS", "REASONS", "VERSION"):
        assert heading in head.split()
    assert "manual=1" in row.split() and str(api.rv) in row.split()
    assert "REASONS" not in running.ctl("watches").stdout


def test_equal_watches_show_under_each_of_their_names(api, daemon):
    api.apply(service("n/a"))
    watch = {"resource": "services", "namespaces": ["*"]}
    d = daemon(api, watches={"one": watch, "two": watch}).synced()
    assert set(d.control.status()["watches"]) == {"one", "two"}
    assert d.ctl("get", "one", "-o", "name").stdout == d.ctl("get", "two", "-o", "name").stdout
    assert d.ctl("relist", "two").returncode == 0
    d.control.wait_watch("one", relists_by={"manual": 1})


def test_a_watch_of_an_unknown_resource_waits_and_says_so(api, daemon):
    d = daemon(api, watches={"w": {"resource": "widgets.example.com", "namespaces": ["*"]}})
    watch = d.control.wait_watch("w", state="waiting")
    assert watch["resource"] == "widgets.example.com" and watch["synced"] is False
    done = wait_until(lambda: [r for r in d.control.status()["degraded"] if "widgets" in r])
    assert done[0].startswith("watch w: waiting: ") and d.ctl("status").returncode == 1
    for command in (["relist", "w"], ["verify", "w"], ["guard", "accept", "w"]):
        refused = d.ctl(*command)
        assert refused.returncode == 1 and "what the resource" in refused.stderr


# ---- relist

def test_relist_finds_changes_that_the_watch_missed(running, api, hook):
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/c"), silent=True)
    done = running.ctl("relist", "services")
    assert done.returncode == 0 and "services" in done.stdout, done.stderr
    hook.wait(4)
    running.caught_up(api)
    assert sorted(hook.what()[2:]) == [("ADDED", "n/c"), ("DELETED", "n/a")]
    watch = running.control.watch("services")
    assert watch["relists"] == 1 and watch["relists_by"] == {"manual": 1}
    assert running.control.keys("services") == ["n/b", "n/c"]


def test_relist_without_differences_runs_no_hook(running, api, hook):
    assert json.loads(running.ctl("relist", "services", "-o", "json").stdout) == {"started": True}
    running.control.wait_watch("services", relists=1, state="watching")
    running.caught_up(api)
    assert len(hook.runs()) == 2


def test_relist_ends_a_wait_for_the_backoff(api, daemon):
    rule = api.on_list("services", times=None).fail(500)
    d = daemon(api, tuning={"backoff": {"initial": "1h", "max": "1h"}})
    d.control.wait_watch("services", state="backoff")
    rule.cancel()
    assert d.ctl("relist", "services").returncode == 0
    d.synced()


# ---- guard

def list_body(api, *keys):
    """A list with these Services of the server."""
    return {"kind": "ServiceList", "apiVersion": "v1", "metadata": {"resourceVersion": str(api.rv)},
            "items": [api.get("services", key) for key in keys]}


@pytest.fixture
def twenty(api, daemon, hook):
    """A daemon that has 20 objects. Its guard holds a list that would delete more than half of
    them."""
    api.apply(*[service(f"n/s{i:02}") for i in range(20)])
    d = daemon(api, hooks={"h": hook}, watches={"services": {
        "resource": "services", "namespaces": ["*"], "guard": {"hold": "1h"}}})
    hook.wait(20)
    return d.settled(api)


@pytest.fixture
def held(twenty, api):
    """The daemon of `twenty` after 12 deletes that no watch has seen: its guard holds the list."""
    for i in range(12):
        api.delete("services", f"n/s{i:02}", silent=True)
    assert twenty.ctl("relist", "services").returncode == 0
    twenty.control.wait_watch("services", held=True)
    return twenty


def test_a_held_list_shows_and_changes_nothing(held, hook):
    watch = held.control.watch("services")
    assert (watch["held_reason"], watch["held_deletes"], watch["objects"]) == ("deletes", 12, 20)
    assert held.control.status()["degraded"][0] == (
        "watch services: a list that would delete 12 of 20 objects is held: "
        "informerctl guard accept services or informerctl guard reject services")
    done = held.ctl("status")
    assert done.returncode == 1 and "is held" in done.stdout and "deletes" in done.stdout.split()
    assert len(hook.runs()) == 20


def test_guard_accept_applies_the_list_at_once(held, api, hook):
    assert held.ctl("guard", "accept", "services").returncode == 0
    held.control.wait_watch("services", held=False, objects=8, state="watching")
    hook.wait(32)
    held.caught_up(api)
    assert sorted(hook.what()[20:]) == [("DELETED", f"n/s{i:02}") for i in range(12)]
    done = held.ctl("guard", "accept", "services")
    assert done.returncode == 1 and "holds no list" in done.stderr


def test_guard_reject_keeps_the_cache_until_a_list_looks_well_again(twenty, api, hook):
    wrong = list_body(api, *[f"n/s{i:02}" for i in range(8)])
    gate = Gate()
    api.on_list("services").reply(body=wrong)
    api.on_list("services").reply(body=wrong, hold=gate)
    twenty.ctl("relist", "services")
    twenty.control.wait_watch("services", held=True, held_deletes=12)
    assert twenty.ctl("guard", "reject", "services").returncode == 0
    twenty.ctl("relist", "services")
    gate.wait_reached()
    gate.open()
    twenty.control.wait_watch("services", held=True, objects=20, state="waiting")
    twenty.ctl("relist", "services")
    twenty.control.wait_watch("services", held=False, objects=20, state="watching")
    twenty.caught_up(api)
    assert len(hook.runs()) == 20


def test_guard_has_nothing_to_decide_when_nothing_is_held(running):
    for word in ("accept", "reject"):
        done = running.ctl("guard", word, "services")
        assert done.returncode == 1 and "holds no list" in done.stderr


# ---- Who may do it, and how?

CROWD = """
import socket, sys
clients = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[2]))]
for client in clients:
    client.connect(sys.argv[1])
    client.sendall(sys.argv[3].encode())
print("here", flush=True)
sys.stdin.read()
"""


@as_root
@pytest.mark.parametrize("said", ["", "GET /v1/st", "GET /v1/events/follow HTTP/1.1\r\n\r\n"])
def test_clients_of_the_group_do_not_keep_root_out(api, daemon, said):
    """The clients send no request, half a request, or a request whose answer never ends."""
    api.apply(service("n/a"))
    d = daemon(api).synced()
    d.admit_nobodys_group()
    with subprocess.Popen([sys.executable, "-c", CROWD, d.control.path, "100", said],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                          user=NOBODY, group=NOBODY, extra_groups=[]) as crowd:
        assert crowd.stdout.readline() == "here\n"
        for _ in range(3):
            assert d.ctl("get", "services", "-o", "name").stdout == "n/a\n"
        assert not d.log(msg="client dropped: it was silent for too long")
        crowd.stdin.close()


@as_root
def test_others_may_look_but_not_act(api, daemon):
    """A member of the socket's group that is neither root nor who started the daemon."""
    api.apply(service("n/a"))
    d = daemon(api).synced()
    assert d.ctl_of_nobody("get", "services", "-o", "name").stdout == "n/a\n"
    for command in (["relist", "services"], ["verify", "services"],
                    ["guard", "accept", "services"], ["guard", "reject", "services"]):
        done = d.ctl_of_nobody(*command)
        assert done.returncode == 77 and "only root" in done.stderr, (command, done)
    watch = d.control.watch("services")
    assert watch["relists"] == 0 and watch["audit"]["runs"] == 0


@pytest.mark.parametrize("method,target,code", [
    ("GET", "relist", 405), ("GET", "guard/accept", 405), ("GET", "guard/reject", 405),
    ("GET", "objects", 404), ("DELETE", "verify", 405), ("PUT", "relist", 405),
    ("POST", "guard", 404), ("POST", "guard/hold", 404), ("POST", "relists", 404)])
def test_paths_have_their_methods(running, method, target, code):
    status, _headers, body = running.control.ask(f"/v1/watches/services/{target}", method)
    assert status == code and json.loads(body)["error"]
    assert running.control.watch("services")["relists"] == 0


@pytest.mark.parametrize("target", ["objects", "objects/n/a", "stream"])
def test_sources_are_only_read(running, target):
    assert running.control.ask(f"/v1/sources/services/{target}", "POST")[0] == 405


@pytest.mark.parametrize("length", [0, 1, 60000])
def test_the_body_of_a_post_is_ignored(running, length):
    path = "/v1/watches/services/relist"
    assert running.control.ask(path, "POST", body=b"x" * length)[0] == 202
    running.control.wait_watch("services", relists=1)


def test_posts_without_a_length_on_one_connection(running):
    ask_twice_on_one_connection(running, "POST /v1/watches/services/guard/reject", 409)


def test_ctl_act_without_a_daemon_or_a_watch(running):
    for command in (["relist", "none"], ["verify", "none"], ["guard", "accept", "none"]):
        done = running.ctl(*command)
        assert done.returncode == 1 and "no watch of this name" in done.stderr
    assert running.ctl("guard", "maybe", "services").returncode == 64
    assert running.ctl("verify", "services", "--timeout", "soon").returncode == 64
    assert running.ctl("verify", "none", "--timeout", "1d").returncode == 1, "as in the configuration"
    running.stop()
    for command in (["relist", "services"], ["verify", "services"],
                    ["guard", "accept", "services"]):
        assert running.ctl(*command).returncode == 2
