# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 59: the network drops all packets to a server, or its machine loses power. The
kernel's probes alone find it; tests/soak/blackhole.py measures how long that takes."""
import contextlib
import ctypes
import json
import os
import socket
import tempfile

import campaign
import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from netns import CLIENT_IP, SERVER_IP, Cable, missing
from proctree import open_files

FOUND_WITHIN_S = 45
PIDFD_GETFD = 438
# The socket options of a connection: seconds of silence before the first probe, seconds between two
# probes, the number of probes, and the milliseconds after which the kernel gives up.
IDLE, INTERVAL, COUNT, GIVEN_UP = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT,
                                   socket.TCP_USER_TIMEOUT)
QUICK = {IDLE: 1, INTERVAL: 1, COUNT: 1, GIVEN_UP: 2000}


@pytest.fixture
def cable():
    reason = missing()
    if reason:
        pytest.skip(reason)
    with Cable() as laid:
        yield laid


def metrics(d):
    return d.control.ask("/metrics")[2].decode()


def page_row(d):
    """The row of the watch on the status page."""
    [row] = json.loads(d.control.ask("/page.json")[2])["watches"]
    return row


def reasons(d):
    """(status, the words of the reasons) of /healthz."""
    status, _headers, body = d.control.ask("/healthz?format=json")
    return status, [reason["reason"] for reason in json.loads(body)["reasons"]]


def attempts(d):
    return len(d.log(msg="connection", state="connecting"))


def copy_of(pid, number):
    """A descriptor in this process for a socket of another process: options that are set here apply
    there."""
    pidfd = os.pidfd_open(pid)
    try:
        got = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, number, 0)
        if got < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return got
    finally:
        os.close(pidfd)


@contextlib.contextmanager
def connections_to(pid, address):
    """The sockets of another process that are connected to this address."""
    with contextlib.ExitStack() as stack:
        found = []
        for number, target in open_files(pid).items():
            if target.startswith("socket:"):
                with contextlib.suppress(OSError):      # the socket is closed or not connected
                    sock = stack.enter_context(socket.socket(fileno=copy_of(pid, number)))
                    if sock.getpeername() == address:
                        found.append(sock)
        yield found


def check_probes(sock):
    """Checks that with these options the kernel finds a black hole within the promised time."""
    told = {name: sock.getsockopt(socket.IPPROTO_TCP, name) for name in QUICK}
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert told == {IDLE: 25, INTERVAL: 5, COUNT: 3, GIVEN_UP: 40000}
    assert told[IDLE] + told[COUNT] * told[INTERVAL] <= FOUND_WITHIN_S
    assert told[GIVEN_UP] <= FOUND_WITHIN_S * 1000


@pytest.fixture
def systemd():
    """The socket to which informerd tells how it is. In a folder: names without a file are of one network
    namespace."""
    with tempfile.TemporaryDirectory(prefix="ifn-") as folder, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"{folder}/n")
        sock.settimeout(PATIENCE)
        yield sock


def wait_status(sock, text):
    """Waits until systemctl status would show this text."""
    while f"STATUS={text}".encode() not in sock.recv(4096):
        pass


@pytest.fixture
def far(request, cable, authority, new_api, factory, hook, systemd):
    """(server, daemon): each on its side of the cable; the hook has handled n/a and n/b. A parameter has
    settings of the cluster."""
    with cable.inside(cable.server):
        api = new_api(tls=authority.server(ips=(SERVER_IP,)), host=SERVER_IP)
    api.apply(service("n/a"))
    with cable.inside(cable.client):
        cluster = factory.cluster(api, {
            "connect_timeout": "1s", "backoff": {"initial": "200ms", "max": "200ms"}})
        d = factory.daemon(api, hooks={"h": hook},
            clusters={"prod": {**cluster, **getattr(request, "param", {})}},
            environ={"NOTIFY_SOCKET": systemd.getsockname()})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait(2)
    d.caught_up(api)
    assert api.of("services")[0].conn.transport.get_extra_info("peername")[0] == CLIENT_IP
    return api, d


@contextlib.contextmanager
def shortened(api, d):
    """Cuts the server off in the block: the options of the connections are checked before, and
    shortened after that, unless this is a campaign."""
    with connections_to(d.pid, (SERVER_IP, api.port)) as found:
        assert found
        for sock in found:
            check_probes(sock)
        yield
        for sock in found:
            for name, value in campaign.size(QUICK, {}).items():
                sock.setsockopt(socket.IPPROTO_TCP, name, value)


def check_went_on(api, hook, rv):
    """The watch went on where it was, and brought the missed changes."""
    hook.wait_what("ADDED", "n/c")
    sequence = api.sequence("services")
    assert sequence[:2] == ["L(0)", "W(2)"] and set(sequence[2:]) == {f"W({rv})"}
    assert len(hook.runs()) == 3


def test_s59_a_black_hole_is_found_and_the_watch_goes_on_without_a_list(far, cable, hook, systemd):
    """No stream ends, no bookmark is due, and neither side sends anything: only keepalive can find
    it. It takes 40 s by the socket's options. Then status, log, metrics, page and systemctl status say so."""
    api, d = far
    rv, before = api.rv, attempts(d)
    with shortened(api, d):
        cable.cut()
    api.apply(service("n/c"))
    wait_until(lambda: attempts(d) > before, what="another connection is tried")
    lost = d.control.wait_watch("services", state="backoff")
    assert lost["synced"] and "no answer" in lost["last_error"] and len(hook.runs()) == 2
    d.wait_problem("no answer", SERVER_IP, watch="services")
    wait_status(systemd, "no contact: watch services: ")
    wait_until(lambda: 'informerd_watch_state{cluster="prod",watch="services"} 3' in metrics(d))
    assert 'informerd_watch_errors_total{cluster="prod",watch="services",reason="timeout"}' in metrics(d)
    row = page_row(d)
    assert row["word"] == "backoff" and row["level"] == "look" and row["error"].startswith("no contact: ")
    cable.mend()
    check_went_on(api, hook, rv)
    wait_status(systemd, "1 of 1 watches synced, 1 hook")
    d.control.wait_watch("services", state="watching", last_error=None)


@pytest.mark.parametrize("far", [{"stale_after": "1s"}], indirect=True)
def test_s59_a_black_hole_makes_healthz_503_after_stale_after(far, cable, hook):
    """The page then shows the watch as a fault; both are well again when the network is."""
    api, d = far
    rv = api.rv
    with shortened(api, d):
        cable.cut()
    api.apply(service("n/c"))
    wait_until(lambda: reasons(d) == (503, ["stale"]), what="not healthy")
    wait_until(lambda: (page_row(d)["error"] or "").startswith("no contact: "), what="the page says why")
    row = page_row(d)
    assert row["word"] == "stale" and row["level"] == "bad"
    cable.mend()
    check_went_on(api, hook, rv)
    wait_until(lambda: (api.bookmark(), reasons(d) == (200, []))[1], what="healthy")
    row = page_row(d)
    assert row["word"] == "watching" and row["level"] == "good" and not row["error"]


def test_s59_a_machine_that_lost_power_is_found_when_it_is_back(far, cable, hook):
    """It knows nothing of the earlier connections, and says so when a probe comes."""
    api, d = far
    rv, before = api.rv, attempts(d)
    with shortened(api, d):
        cable.remove_address(cable.server, f"{SERVER_IP}/24")
        api.drop("rst")     # nobody hears that
        api.wait(lambda: not api.conns, what="no connections")
        cable.add_address(cable.server, f"{SERVER_IP}/24")
    api.apply(service("n/c"))
    check_went_on(api, hook, rv)
    assert attempts(d) > before
