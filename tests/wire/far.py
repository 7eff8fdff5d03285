# SPDX-License-Identifier: Apache-2.0
"""A server and a daemon in network namespaces of their own; the fixture `far` has both, and `cable`
breaks the network between them."""
import contextlib
import ctypes
import json
import os
import socket
import tempfile

import campaign
import confwriter
import pytest
from control import PATIENCE
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


def attempts(d):
    return len(d.log(msg="connection", state="connecting"))


def page_row(d):
    """The row of the watch on the status page."""
    [row] = json.loads(d.control.ask("/page.json")[2])["watches"]
    return row


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
            clusters={"prod": confwriter.merge(cluster, getattr(request, "param", {}))},
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
