# SPDX-License-Identifier: Apache-2.0
"""Servers and hooks that misbehave: informerd logs one clear line, retries with backoff, and
nothing else is affected. test_hostile_server.py has servers that do so on purpose."""
import json
import pathlib

import pytest
from control import wait_until
from fakeapi import END, EOF, Authority, service
from proctree import fds, kill
from two_clusters import BACKOFF, one_line

def test_an_unreachable_server(scene, api):
    api.stop_listening()
    d = scene.start()
    d.control.wait_watch("wombat", state="backoff")
    scene.others_work()
    one_line(d, "refused", str(api.port))
    assert not scene.hook.runs()
    api.listen()
    scene.heals()


def test_a_server_that_swallows_connections(scene, api):
    api.stall_handshake = True
    d = scene.start(scene.factory.cluster(api, {**BACKOFF, "tls_timeout": "300ms"}))
    api.wait(lambda: api.accepted >= 3)
    scene.others_work()
    one_line(d, "tls")
    api.stall_handshake = False
    scene.heals()
    assert len([t for t in fds(d.pid).values() if t.startswith("socket:")]) < 16


CERTIFICATES = {
    "wrong CA": (lambda a, other: other().server(), ("ca",)),
    "expired": (lambda a, other: a.expired(), ("expired",)),
    "wrong host": (lambda a, other: a.server(dns=["elsewhere.example"], ips=["127.0.0.1"]),
                   ("localhost", "elsewhere.example")),
    "wrong IP": (lambda a, other: a.server(dns=["localhost"], ips=["10.9.9.9"]),
                 ("127.0.0.1", "10.9.9.9")),
    "no IP": (lambda a, other: a.server(dns=["127.0.0.1"], ips=[]), ("127.0.0.1",)),
    "client certificate": (lambda a, other: a.client(), ()),
}


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates_that_must_not_be_trusted(scene, api, authority, tmp_path, name, version):
    make, words = CERTIFICATES[name]
    api.set_tls(make(authority, lambda: Authority(tmp_path / "other", "other-ca")), low="TLSv1_2",
                high=version)
    host = "localhost" if name == "wrong host" else "127.0.0.1"
    d = scene.start(scene.factory.cluster(api, BACKOFF, server=f"https://{host}:{api.port}"))
    api.wait(lambda: api.accepted >= 4)
    scene.others_work()
    line = one_line(d, "certificate", *words)
    assert line["kind"] == "tls"
    assert not api.requests, "nothing is sent to a server that is not trusted"
    assert not scene.hook.runs()
    api.set_tls(authority.server())
    scene.heals()


def test_plain_http_on_the_tls_port(scene, new_api, authority):
    plain = scene.api = new_api(tls=None)
    url = f"https://127.0.0.1:{plain.port}"
    d = scene.start(scene.factory.cluster(plain, BACKOFF, server=url))
    plain.wait(lambda: plain.accepted >= 4)
    one_line(d, "http")
    scene.others_work()


ANSWERS = {
    "401": (lambda r: r.fail(401), ("401", "credential"), "unauthorized"),
    "403": (lambda r: r.fail(403, message="services is forbidden"), ("403", "rbac"), "forbidden"),
    "404": (lambda r: r.reply(404, body=b"404 page not found\n", type="text/plain"), ("404",),
            "not_found"),
    "500": (lambda r: r.fail(500, message="etcd cluster is unavailable"),
            ("500", "etcd cluster is unavailable"), "server"),
    "503 text": (lambda r: r.reply(503, body=b"no upstream", type="text/plain"), ("503",), None),
    "HTML": (lambda r: r.reply(body=b"<html><body>It works!</body></html>", type="text/html"),
             ("json",), "protocol"),
    "HTML 502": (lambda r: r.reply(502, body=b"<html>Bad gateway</html>", type="text/html"),
                 ("502",), None),
    "another document": (lambda r: r.reply(body={"paths": ["/api"]}), (), None),
    "a Table": (lambda r: r.reply(body={"kind": "Table", "apiVersion": "meta.k8s.io/v1",
                                        "metadata": {"resourceVersion": "5"}, "rows": []}),
                ("table",), None),
    "empty": (lambda r: r.reply(body=b""), (), None),
    "half": (lambda r: r.reply(body=b'{"kind":"ServiceList","items":[{"metadata"'), (), None),
    "cut": (lambda r: r.reply(body=b'{"kind":"ServiceList","items":[]}', chunks=(), only=153,
                              end="eof"), (), None),
    "no items": (lambda r: r.reply(body={"kind": "ServiceList", "apiVersion": "v1",
                                         "metadata": {}}), ("items",), None),
    "silence": (lambda r: r.drop("stall"), ("timeout",), None),
    "huge header": (lambda r: r.reply(body=b"{}", headers={"X": "y" * 300000}), (), None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_not_a_list(scene, api, name):
    script, words, kind = ANSWERS[name]
    rule = script(api.on_list("services", times=None))
    more = {"response_timeout": "300ms"} if name == "silence" else {}
    d = scene.start(scene.factory.cluster(api, {**BACKOFF, **more}))
    api.wait_for_request(lambda r: r.kind == "L", count=3)
    scene.others_work()
    line = one_line(d, *words)
    if kind:
        assert line["kind"] == kind
    assert not scene.hook.runs() and not d.control.watch("wombat")["synced"]
    assert d.control.watch("wombat")["last_error"]
    rule.cancel()
    scene.heals()
    assert scene.hook.what() == [("ADDED", "n/healed")]


FRAMES = {
    "half a frame": (b'{"type":"MODIFIED","object":{"kind":"Service","apiVersion":"v1",', EOF),
    "HTML": (b"<html>gateway timeout</html>", END),
    "binary": (bytes(range(256)) * 40, END),
}


@pytest.mark.parametrize("name", FRAMES)
def test_bytes_that_are_not_watch_events(scene, api, name):
    data, end = FRAMES[name]
    api.apply(service("n/a"))
    api.on_watch("services", times=3).stream(data, end)
    d = scene.start()
    api.wait_for_request(lambda r: r.kind == "W", count=4)
    scene.others_work()
    assert d.control.keys("wombat") == ["n/a"]
    scene.heals()
    assert scene.hook.what() == [("ADDED", "n/a"), ("ADDED", "n/healed")]


def wait_hook_problem(scene, *words):
    line = scene.daemon.wait_problem("hydra", *words)
    scene.others_work()
    return line


def hydra(command, **more):
    return {"hydra": {"sources": ["wombat"], "retry": {"initial": "100ms", "max": "200ms"},
                      "command": command, **more}}


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("spoil, words", [
    (pathlib.Path.unlink, "no such file"),
    (lambda program: program.chmod(0o644), "permission")], ids=["missing", "not executable"])
def test_a_hook_that_cannot_be_started_runs_once_it_can(scene, api, tmp_path, spoil, words):
    api.apply(service("n/a"))
    program = write_program(tmp_path / "later", "#!/bin/sh\n")
    d = scene.start(hooks=hydra([program]), start=False)
    spoil(program)
    d.start()
    wait_hook_problem(scene, str(program), words)
    wait_until(lambda: d.control.hook("hydra")["last_error"])
    write_program(program, f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    wait_until((tmp_path / "ran").exists)


def test_a_hook_without_an_interpreter(scene, api, tmp_path):
    api.apply(service("n/a"))
    program = write_program(tmp_path / "strange", "#!/no/such/interpreter\n")
    scene.start(hooks=hydra([program]))
    wait_hook_problem(scene, str(program))


def test_a_hook_that_fails_says_why_in_the_log(scene, api):
    api.apply(service("n/a"))
    scene.start(hooks=hydra(["/bin/sh", "-c", "echo 'backend down' >&2; exit 42"]))
    wait_hook_problem(scene, "42")
    wait_until(lambda: [e for e in scene.daemon.log(hook="hydra") if "backend down" in str(e)])


def test_a_hook_that_dies_by_a_signal(scene, api):
    api.apply(service("n/a"))
    scene.start(hooks=hydra(["/bin/sh", "-c", "kill -SEGV $$"]))
    wait_hook_problem(scene, "signal")


def test_a_hook_that_hangs(scene, api):
    api.apply(service("n/a"))
    scene.start(hooks=hydra(["/bin/sleep", "1000"], timeout="200ms", kill_grace="100ms"))
    wait_hook_problem(scene, "timeout")


@pytest.mark.parametrize("what", ["lines", "one line", "stderr"])
def test_a_hook_that_floods(scene, api, tmp_path, what):
    api.apply(service("n/a"))
    line = {"lines": "yes informerd-flood | head -c 30000000",
            "one line": "head -c 30000000 /dev/zero | tr '\\0' x",
            "stderr": "yes informerd-flood | head -c 30000000 >&2"}[what]
    d = scene.start(hooks=hydra(["/bin/sh", "-c", f"{line}; touch {tmp_path}/done"]))
    wait_until((tmp_path / "done").exists)
    d.control.wait_idle()
    scene.others_work()
    assert d.stderr_file.stat().st_size < 3_000_000


def test_binary_output_is_escaped(scene, api):
    api.apply(service("n/a"))
    scene.start(hooks=hydra(["/bin/sh", "-c", "printf 'a\\033[31m\\000\\377\\nb\\n'"]))
    wait_until(lambda: [e for e in scene.daemon.log(hook="hydra") if "[31m" in str(e)])
    raw = scene.daemon.stderr_file.read_bytes()
    assert b"\x1b" not in raw and b"\0" not in raw


def test_a_hook_that_forks(scene, api, tmp_path):
    api.apply(service("n/a"))
    pids = tmp_path / "pids"
    d = scene.start(hooks=hydra(
        ["/bin/sh", "-c", f"for i in 1 2 3 4 5; do sleep 1000 & echo $! >>{pids}; done; "
                          f"setsid sleep 1001 >/dev/null 2>&1 & echo $! >>{pids}; exit 0"]))
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 6)
    try:
        d.control.wait_idle()
        assert d.control.hook("hydra")["last_success"]
        scene.others_work()
    finally:
        kill([int(pid) for pid in pids.read_text().split()])


def test_a_hook_that_does_not_read_its_input(scene, api):
    api.apply(service("n/a", annotations={"x": "y" * 900000}))
    d = scene.start(hooks=hydra(["/bin/true"]))
    wait_until(lambda: d.control.hook("hydra")["last_success"])
    scene.others_work()


def test_no_secret_is_ever_logged_or_shown(scene, api, authority, tmp_path):
    token = "tok-4f5e6d7c-very-secret"
    api.tokens = {"another"}
    d = scene.start(scene.factory.cluster(api, BACKOFF, token=token), log={"level": "trace"})
    api.wait_for_request(lambda r: r.kind == "L", count=4)
    assert api.requests[0].header("authorization") == f"Bearer {token}"
    shown = json.dumps(d.control.status())
    assert token not in d.stderr() and token not in shown
    api.tokens = {token}
    scene.heals()
    for path in pathlib.Path(f"/proc/{d.pid}/task").glob("*/comm"):
        assert token not in path.read_text()


def test_trouble_of_one_watch_does_not_slow_the_others(scene, api):
    api.stall_handshake = True
    d = scene.start(scene.factory.cluster(api, {"tls_timeout": "1h"}))
    api.wait(lambda: api.accepted)
    scene.good.wait_watching("configmaps")
    for _ in range(5):
        scene.others_work()
    assert d.control.watch("wombat")["synced"] is False
