# SPDX-License-Identifier: Apache-2.0
"""The control socket and informerctl: what they show, as tables and as JSON."""
import json
import socket

import pytest
from control import wait_until
from fakeapi import service
from harness import hook_settings


@pytest.fixture
def running(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    d.caught_up(api)
    return d


def test_status_has_everything(running, api):
    status = running.control.status()
    assert status["pid"] == running.pid and status["ready"] is True
    assert status["version"] and status["started"] and status["degraded"] == []
    cluster = status["clusters"]["prod"]
    assert cluster["server"] == api.url and 0 <= cluster["contact_age_s"] < 60
    watch = status["watches"]["services"]
    assert watch["cluster"] == "prod" and watch["resource"] == "services"
    assert watch["state"] == "watching" and watch["synced"] is True
    assert watch["stale"] is False
    assert watch["objects"] == 2 and watch["bytes"] > 200
    assert str(watch["resource_version"]) == str(api.rv)
    assert watch["relists"] == 0 and not watch["last_error"]
    hook = status["hooks"]["h"]
    assert (hook["pending"], hook["running"]) == (0, 0)
    assert hook["last_success"] and not hook["last_error"]


def test_the_parts_are_those_of_the_status(running):
    assert set(running.control.get("/v1/watches")) == {"watches"}
    assert set(running.control.get("/v1/watches")["watches"]["services"]) == set(
        running.control.watch("services"))
    assert set(running.control.get("/v1/hooks")["hooks"]["h"]) == set(running.control.hook("h"))


def test_objects_are_an_array_or_one(running, api):
    objects = running.control.objects("services")
    assert [o["metadata"]["name"] for o in objects] == ["a", "b"]
    assert all((o["kind"], o["apiVersion"]) == ("Service", "v1") for o in objects)
    one = running.control.objects("services", "n/a")
    assert one == objects[0]
    assert one["spec"] == api.get("services", "n/a")["spec"]
    assert running.control.objects("services", "n/none") is None


@pytest.mark.parametrize("target,code", [
    ("/v1/nothing", 404), ("/", 404), ("/v1/watches/none/objects", 404),
    ("/v1/watches/services/objects/n/none", 404), ("/v1/../v1/status", 404)])
def test_what_is_not_there_is_404_with_a_json_error(running, target, code):
    status, headers, body = running.control.ask(target)
    assert status == code and headers["Content-Type"].startswith("application/json")
    json.loads(body)


def raw(path, data, wait=True):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
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


def test_keep_alive_and_pipelines_on_the_control_socket(running):
    two = b"GET /v1/hooks HTTP/1.1\r\nHost: x\r\n\r\n" * 2
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(running.control.path))
        sock.sendall(two)
        seen = b""
        while seen.count(b"HTTP/1.1 200") < 2:
            data = sock.recv(65536)
            assert data, seen
            seen += data


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


def test_degraded_tells_why_and_ctl_status_says_no(api, daemon, hook):
    api.on_list("services", times=None).fail(403)
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", state="forbidden")
    done = d.ctl("status")
    assert "forbidden" in done.stdout
    assert d.control.status()["ready"] is False


def test_a_failing_and_a_pending_hook_show(api, daemon, new_hook):
    bad, slow = new_hook(), new_hook()
    bad.exit_with(9)
    slow.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"bad": hook_settings(bad, retry={"initial": "20s", "max": "30s"}),
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
    wait_until(lambda: "refused" in d.stderr())
    line = next(line for line in d.stderr().splitlines() if "refused" in line)
    assert 'watch="services"' in line and 'cluster="prod"' in line
