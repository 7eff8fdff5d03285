# SPDX-License-Identifier: Apache-2.0
"""The listener of metrics.listen: /livez, /readyz and /healthz over TCP, and nothing else."""
import http.client
import os
import pathlib
import re
import signal
import socket
import time

import campaign
import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from fakeapi.server import take_port
from harness import NOBODY, ONCE, check_config, hook_settings
from probes import ANY_PORT, Probes, addresses, ask

LISTEN = {"listen": [ANY_PORT]}


@pytest.fixture
def probed(api, daemon):
    """probed(...): (daemon, its probes), with the metrics on a free port."""
    def make(metrics=None, **more):
        d = daemon(api, metrics={**LISTEN, **(metrics or {})}, **more)
        return d, Probes(d)
    return make


def test_a_daemon_that_is_well_says_so(api, probed, hook):
    d, probes = probed(hooks={"h": hook})
    d.settled(api)
    for target in ("/livez", "/readyz", "/healthz"):
        assert probes.ask(target)[::2] == (200, "ok\n")
        status, headers, body = probes.ask(target, "HEAD")
        assert (status, headers["Content-Length"], body) == (200, "3", "")
    assert probes.reasons() == [] == probes.reasons("/readyz")


def test_nothing_can_be_done_or_seen_through_it(api, probed, hook):
    api.apply(service("n/a"))
    d, probes = probed(hooks={"h": hook})
    hook.wait(1)
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        for target in ("/v1/status", "/v1/hooks/h/run/n%2Fa", "/v1/pause", "/v1/reload",
                       "/v1/sources/services/objects", "/v1/events/follow", "/v1/watches"):
            assert probes.ask(target, method)[0] == 404, f"{method} {target}"
        if method not in ("GET", "HEAD"):
            assert probes.ask("/livez", method)[0] == 405
    assert len(hook.runs()) == 1 and not d.control.hook("h")["paused"]


def test_s75_ready_comes_when_every_first_object_was_handled(api, probed, hook):
    api.apply(service("n/a"), service("n/b"))
    hook.block()
    _d, probes = probed(hooks={"h": hook})
    hook.wait(1)
    assert probes.ask("/readyz")[::2] == (503, "not ready\nhook h: its first run has not ended\n")
    assert probes.reasons("/readyz") == ["first_run"]
    assert probes.status("/livez") == 200
    api.delete("services", "n/b")       # it does not block readiness, handled or not
    hook.release_all()
    wait_until(lambda: probes.status("/readyz") == 200, what="ready")


def test_s59_health_is_red_while_a_watch_is_stale_and_green_again_by_itself(api, probed, factory,
                                                                             hook):
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    d, probes = probed(hooks={"h": hook}, clusters={"prod": cluster})
    d.settled(api)
    wait_until(lambda: probes.reasons() == [], what="healthy")
    api.stop_listening()
    api.drop("rst")
    wait_until(lambda: probes.reasons() == ["stale"], what="red")
    status, _headers, body = probes.ask("/healthz")
    assert status == 503 and body.startswith("not healthy\nwatch services: stale")
    wait_until(lambda: d.control.ask("/healthz")[2].decode().splitlines()[1:] == d.control.status()["degraded"],
               what="both say the same: the error of a try may change between the two")
    assert probes.status("/livez") == probes.status("/readyz") == 200    # nothing is restarted
    api.listen()
    wait_until(lambda: (api.bookmark(), probes.reasons() == [])[1], what="green")


def test_s59_an_outage_restarts_nothing_and_runs_nothing_twice(api, probed, hook):
    """An outage of ten minutes in the long form. The liveness probe stays green, and the hook gets the
    changes of that time once."""
    api.apply(service("n/a"))
    d, probes = probed(hooks={"h": hook})
    d.settled(api)
    before = d.pid, d.helper, d.control.status()["started"]
    api.kill()
    end = time.monotonic() + campaign.size(1, 600)
    while time.monotonic() < end:
        assert probes.status("/livez") == probes.status("/readyz") == 200
        time.sleep(0.2)
    api.apply(service("n/b"))
    api.listen()
    hook.wait_what("ADDED", "n/b")
    wait_until(lambda: probes.reasons() == [], what="green")
    assert (d.pid, d.helper, d.control.status()["started"]) == before
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert len(api.of("services", "L")) == 1


def test_health_says_what_the_status_says(api, probed, hook):
    hook.exit_with(3)
    api.apply(service("n/a"))
    d, probes = probed(hooks={"h": hook_settings(hook, retry=ONCE)}, limits={"pending": "100ms"})
    wait_until(lambda: probes.reasons() == ["pending"], what="red")
    good = d.config.read_text()
    d.config.write_text(good + "nonsense = 1;\n")
    assert d.ctl("reload").returncode == 78
    assert probes.reasons() == ["reload", "pending"]
    assert "nonsense" in d.control.ask("/healthz")[2].decode()
    assert "nonsense" not in probes.ask("/healthz")[2]      # a problem may name objects: page_keys
    d.config.write_text(good)
    assert d.ctl("reload").returncode == 0
    assert probes.reasons() == ["pending"]


def test_objects_are_named_only_if_the_setting_allows_it(api, probed):
    api.apply(service("n/a" + "x" * 300))
    d, probes = probed()
    wait_until(lambda: probes.reasons() == ["skipped"], what="an object is skipped")
    assert "xxx" not in probes.ask("/healthz")[2]
    assert "xxx" in d.control.ask("/healthz")[2].decode()
    d.settings["metrics"]["page_keys"] = True
    d.write_config()
    assert d.ctl("reload").returncode == 0
    assert "xxx" in probes.ask("/healthz")[2]


def test_a_connection_carries_many_requests(probed):
    d, _probes = probed()
    conn = http.client.HTTPConnection(*addresses(d)[0], timeout=PATIENCE)
    for _ in range(3):
        conn.request("GET", "/livez")
        assert conn.getresponse().read() == b"ok\n"
        sock = conn.sock
    assert sock is conn.sock
    conn.close()


def test_several_addresses_answer(api, daemon):
    d = daemon(api, metrics={"listen": [ANY_PORT, "[::1]:0"]})
    found = addresses(d)
    assert [host for host, _port in found] == ["127.0.0.1", "::1"]
    assert [ask(address, "/livez")[0] for address in found] == [200, 200]


def test_an_empty_list_listens_nowhere(api, daemon):
    d = daemon(api, metrics={"listen": []})
    assert addresses(d) == []
    assert d.control.ask("/healthz")[0] in (200, 503)


def test_a_start_without_the_address_fails_and_the_next_one_does_not(api, daemon):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        d = daemon(api, metrics={"listen": [address]}, start=False)
        assert d.to_the_end() == 1
        assert d.problems(msg="cannot start") and address in d.stderr()
    d.expected_exit = 0
    d.start()
    assert ask(addresses(d)[-1], "/livez")[0] == 200


def takes(sock, address):
    """Whether the socket listens at this address from now on; False: somebody else does."""
    try:
        sock.bind(address)
        sock.listen()
    except OSError:
        return False
    return True


def test_the_default_address_does_not_keep_informerd_from_starting(api, daemon):
    """If somebody else has the address, that is as well, unless it is given up before the start. Then
    there is another start."""
    def said():
        return d.log(msg="metrics are served on the control socket only")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        d = daemon(api, start=False)
        del d.settings["metrics"]
        d.write_config()
        is_ours = takes(taken, ("127.0.0.1", 9916))
        d.start()
        while not said() and not is_ours:
            d.stop()
            is_ours = takes(taken, ("127.0.0.1", 9916))
            d.start()
        assert said()
        assert d.problems() == []
        assert d.control.ask("/livez")[0] == 200


@pytest.mark.parametrize("address, reason", [
    ("localhost:9916", "must be an IP address and a port"),
    ("127.0.0.1", "must be an IP address and a port"),
    ("::1:9916", "must be an IP address and a port"),
    ("127.0.0.1:70000", "must be an IP address and a port")])
def test_what_is_no_address_is_refused(api, daemon, address, reason):
    d = daemon(api, metrics={"listen": [address]}, start=False)
    done = check_config(d.config)
    assert done.returncode == 78 and f'"{address}" {reason}' in done.stderr


def reload(d, *listen):
    d.settings["metrics"]["listen"] = list(listen)
    d.write_config()
    return d.ctl("reload")


def test_a_reload_changes_the_addresses(probed):
    d, probes = probed()
    [first] = addresses(d)
    kept = http.client.HTTPConnection(*first, timeout=PATIENCE)
    kept.request("GET", "/livez")
    assert kept.getresponse().read() == b"ok\n"
    assert reload(d, ANY_PORT, "[::1]:0").returncode == 0
    _first, second = addresses(d)
    kept.request("GET", "/livez")       # the address stays, and with it its clients
    assert kept.getresponse().read() == b"ok\n"
    kept.close()
    assert ask(second, "/livez")[0] == 200
    assert reload(d, "[::1]:0").returncode == 0
    with pytest.raises(ConnectionError):
        ask(first, "/livez")
    assert ask(second, "/livez")[0] == 200
    assert reload(d).returncode == 0
    with pytest.raises(ConnectionError):
        ask(second, "/livez")
    assert reload(d, ANY_PORT).returncode == 0
    assert probes.status("/livez") == 200


def test_a_reload_widens_and_narrows_an_address(probed):
    """0.0.0.0 and 127.0.0.1 with one port are never bound at the same time."""
    d, _probes = probed()
    with take_port("127.0.0.1") as taken:
        port = taken.getsockname()[1]
        for host in ("127.0.0.1", "0.0.0.0", "127.0.0.1"):
            done = reload(d, f"{host}:{port}")
            assert done.returncode == 0, done.stderr
            assert addresses(d)[-1] == (host, port)
            assert ask(("127.0.0.1", port), "/livez")[0] == 200


def test_a_reload_to_an_address_that_is_taken_changes_nothing(api, probed, hook):
    hook.block()
    api.apply(service("n/a"))
    d, _probes = probed(hooks={"h": hook})
    hook.wait(1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        d.settings["limits"]["pending"] = "1ms"     # the run above would be a fault
        done = reload(d, "[::1]:0", address)
        assert done.returncode == 1 and address in done.stderr
        status, _headers, body = ask(addresses(d)[0], "/healthz")
        assert status == 503 and "the last reload failed" in body and address not in body
        with pytest.raises(ConnectionError):
            ask(addresses(d)[-1], "/livez")     # it was bound, and given up with the reload
        assert d.control.status()["reload"]["result"] == "failed"
        assert d.control.hook("h")["oldest_pending_s"] > 0.001
        assert len(d.control.status()["degraded"]) == 1, "limits.pending is as it was"
    assert reload(d, ANY_PORT).returncode == 0
    [text] = d.control.status()["degraded"]
    assert text.startswith("hook h: a key is pending")      # now the setting is in use


def test_a_stop_while_a_reload_waits_closes_the_new_address(api, probed, hook):
    """Nobody would answer there until the run has ended."""
    api.apply(service("n/a"))
    d, _probes = probed(hooks={"h": hook_settings(hook)})
    hook.wait(1)
    hook.block()
    api.apply(service("n/b"))
    hook.wait(2)
    d.settings["hooks"]["h"]["environment"] = {"X": "1"}
    d.settings["metrics"]["listen"] = [ANY_PORT, "[::1]:0"]
    d.write_config()
    d.signal(signal.SIGHUP)
    wait_until(lambda: d.log(msg="reload waits for runs of hooks that it changes"), what="it waits")
    d.signal(signal.SIGTERM)
    wait_until(lambda: d.log(msg="stopping"), what="it stops")
    with pytest.raises(ConnectionError):
        ask(addresses(d)[-1], "/livez")
    hook.release()
    assert d.wait_exit() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_port_of_root_is_bound_by_a_start_but_not_by_a_reload(api, daemon, authority):
    port = next((p for p in range(1023, 900, -1) if not in_use(p)), None)
    d = daemon(api, metrics={"listen": [f"127.0.0.1:{port}"]}, user="nobody", state_dir="none",
               start=False)
    d.folder.chmod(0o755)
    d.start()
    assert ask(("127.0.0.1", port), "/livez")[0] == 200
    status = pathlib.Path(f"/proc/{d.pid}/status").read_text()
    uids = re.search(r"^Uid:\s+(.*)$", status, re.MULTILINE).group(1).split()
    assert uids == [str(NOBODY)] * 4, "the daemon has left root for good: real, effective, saved, file system"
    done = reload(d, f"127.0.0.1:{port - 1}")
    assert done.returncode == 78 and "only root may use a port below 1024" in done.stderr
    assert ask(("127.0.0.1", port), "/livez")[0] == 200


def in_use(port):
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", port))
            return False
        except OSError:
            return True
