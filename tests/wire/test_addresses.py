# SPDX-License-Identifier: Apache-2.0
"""Names of servers with several addresses, answers of the resolver that change or fail, and
SCENARIOS.md 125: servers that accept a connection and then never finish the TLS handshake."""
import os
import socket
import subprocess

import pytest
from control import wait_until
from fakeapi import service
from fakeapi.server import bind_socket
from mounts import start_with_mounts
from netns import SERVER_IP, Cable, missing
from proctree import open_files

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")
NAME = "api.cluster.test"
# Those of one line are equally near to the client's address, so the resolver keeps their order.
NEAR_IP = "192.0.2.3"
FAR_IP, NOBODY_IP = "192.0.2.5", "192.0.2.4"
CLIENT_V6, SERVER_V6 = "fd00::1", "fd00::2"


class Names:
    """/etc/hosts and /etc/resolv.conf as the daemons see them. The name servers are silent, and a
    lookup takes longer than any test waits."""

    def __init__(self, folder):
        self.hosts, self.resolv = folder / "hosts", folder / "resolv.conf"
        self.resolv.write_text("".join(f"nameserver {address}\n" for address in
                                       (SERVER_IP, NEAR_IP, FAR_IP))
                               + "options timeout:30 attempts:5\n")
        self.set()

    def refuse(self):
        """Lookups fail at once, as nobody listens there."""
        self.resolv.write_text("nameserver 127.0.0.1\n")

    def set(self, *addresses):
        """From now on NAME has these addresses. The file stays the same one, as it is mounted, and
        is never empty meanwhile: it is written over in one step, filled up with empty lines."""
        lines = ["127.0.0.1 localhost", *(f"{address} {NAME}" for address in addresses)]
        file = os.open(self.hosts, os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(file, "\n".join(lines).encode().ljust(1000, b"\n"))
        os.close(file)


@pytest.fixture
def names(tmp_path):
    return Names(tmp_path)


@pytest.fixture
def cable():
    with Cable() as laid:
        for address in (NEAR_IP, FAR_IP):
            laid.add_address(laid.server, f"{address}/24")
        try:
            laid.add_address(laid.client, f"{CLIENT_V6}/64", "nodad")
            laid.add_address(laid.server, f"{SERVER_V6}/64", "nodad")
        except subprocess.CalledProcessError as refused:
            pytest.skip(f"no IPv6 here: {refused.stderr.strip()}")
        with laid.inside(laid.server):
            silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            silent.bind(("0.0.0.0", 53))
        with silent:
            yield laid


@pytest.fixture
def leaf(authority):
    return authority.server(dns=[NAME], ips=[])


@pytest.fixture
def serve(cable, new_api, leaf):
    """serve(address): a fake API server there, at the other end of the cable."""
    def make(address="0.0.0.0", **more):
        with cable.inside(cable.server):
            return new_api(tls=leaf, host=address, **more)
    return make


@pytest.fixture
def follow(cable, factory, names):
    """follow(api, ...): a daemon at this end of the cable, which knows its server by NAME."""
    def make(api, **more):
        with cable.inside(cable.client):
            d = factory.daemon(api, credentials={"server": f"https://{NAME}:{api.port}"},
                               start=False, **more)
            start_with_mounts(d.start, ["--bind", names.hosts, "/etc/hosts"],
                              ["--bind", names.resolv, "/etc/resolv.conf"])
        return d
    return make


def used(api):
    """The server's addresses to which there are connections."""
    return {conn.transport.get_extra_info("sockname")[0] for conn in list(api.conns)}


def move(api):
    """Ends all connections: the daemon connects anew. To be called when it is settled: a connection that it
    has begun before counts as a new one."""
    before = api.accepted
    api.drop("rst")
    api.wait(lambda: api.accepted > before and api.watchers, what="new connections")


def attempts(d):
    return [entry["address"] for entry in d.log(msg="connection attempt")]


@pytest.mark.parametrize("first", [SERVER_V6, NOBODY_IP], ids=["IPv6", "IPv4"])
def test_an_address_that_never_answers_does_not_hold_the_others_up(
        serve, follow, names, hook, cable, first):
    """The timeout for connecting is an hour."""
    subprocess.run(["ip", "-n", cable.server, "-6", "route", "add", "blackhole", CLIENT_V6],
                   check=True)
    api = serve(FAR_IP)
    api.apply(service("n/a"))
    names.set(first, FAR_IP)
    d = follow(api, hooks={"h": hook})
    hook.wait(1)
    assert used(api) == {FAR_IP} and not d.problems(watch="services")
    assert attempts(d)[:2] == [first, FAR_IP]


def test_ipv6_is_tried_first(serve, follow, names):
    api = serve("::")
    names.set(SERVER_IP, SERVER_V6)
    follow(api).synced()
    assert used(api) == {SERVER_V6}


def test_a_refused_address_is_no_error_if_another_one_works(serve, follow, names):
    api = serve(NEAR_IP)
    names.set(SERVER_IP, NEAR_IP)
    d = follow(api).settled(api)
    assert used(api) == {NEAR_IP} and not d.problems(watch="services")
    assert attempts(d)[:2] == [SERVER_IP, NEAR_IP]
    count = len(attempts(d))
    move(api)
    assert SERVER_IP not in attempts(d)[count:count + 1], "an address that failed is tried last"


def test_if_all_addresses_fail_the_error_names_each_and_why(serve, follow, names):
    api = serve(FAR_IP)
    names.set(SERVER_V6, SERVER_IP, NOBODY_IP)
    d = follow(api, tuning={"connect_timeout": "1s"})
    said = d.wait_problem("connection refused", watch="services")["err"]
    assert said.startswith(f"{NAME}:{api.port}: connect: connection refused (")
    for address in (SERVER_IP, SERVER_V6):
        assert address in said.split(")")[0]
    assert said.split(")")[1] in (f", no answer within 1000 ms ({NOBODY_IP}",
                                  f", host is unreachable ({NOBODY_IP}")
    names.set(FAR_IP)
    d.synced()


def test_an_answer_that_changes_is_followed(serve, follow, names, hook):
    api = serve()
    names.set(SERVER_IP)
    d = follow(api, hooks={"h": hook}).settled(api)
    assert used(api) == {SERVER_IP}
    names.set(NEAR_IP)
    move(api)
    assert used(api) == {NEAR_IP}
    api.apply(service("n/a"))
    hook.wait(1)
    assert api.sequence("services").count("L(0)") == 1


def test_a_resolver_that_is_silent_holds_up_neither_connections_nor_the_state(
        serve, follow, names, hook):
    """The timeout for connecting is an hour. A run starts when its record is on disk, so the hook
    shows that the state is written. At the end the lookup does not hold up the stop."""
    api = serve(SERVER_IP)
    names.set(SERVER_IP)
    d = follow(api, hooks={"h": hook}).settled(api)
    names.set()
    move(api)
    assert d.log(msg="name lookup is slow: the last known addresses are tried", name=NAME)
    api.apply(service("n/a"))
    hook.wait(1)
    move(api)
    api.apply(service("n/b"))
    hook.wait(2)


def test_a_lookup_that_fails_leaves_the_last_known_addresses(serve, follow, names, hook):
    api = serve(SERVER_IP)
    names.set(SERVER_IP)
    names.refuse()
    d = follow(api, hooks={"h": hook}).settled(api)
    names.set()
    move(api)
    assert d.log(msg="name lookup failed: the last known addresses are tried", name=NAME)
    api.apply(service("n/a"))
    hook.wait(1)


def test_a_name_that_nobody_knows_is_an_error_until_somebody_does(serve, follow, names):
    api = serve(SERVER_IP)
    names.refuse()
    d = follow(api)
    d.wait_problem(f"{NAME}:{api.port}: name lookup: ", watch="services")
    names.set(SERVER_IP)
    d.synced()


def test_a_name_that_only_a_silent_resolver_knows_ends_with_the_connect_timeout(
        serve, follow, names):
    api = serve(SERVER_IP)
    d = follow(api, tuning={"connect_timeout": "200ms"})
    d.wait_problem(f"{NAME}:{api.port}: name lookup: no answer within 200 ms", watch="services")


NAMESPACES = [f"ns{i}" for i in range(50)]


def test_s125_a_server_that_never_finishes_a_handshake_is_left_for_another(serve, follow, names,
                                                                          cable):
    """Both are behind one name, and the silent one comes first."""
    good = serve(NEAR_IP)
    with cable.inside(cable.server):
        silent = bind_socket(SERVER_IP, good.port)
    with silent:
        silent.listen(128)      # the kernel accepts, and nobody ever reads
        names.set(SERVER_IP, NEAR_IP)
        d = follow(good, watches={"services": {"resource": "services", "namespaces": NAMESPACES}},
                   tuning={"tls_timeout": "200ms"})
        d.wait_problem(f"TLS handshake: no answer within 200 ms ({SERVER_IP})", watch="services")
        d.synced()
        good.wait_watching("services", len(NAMESPACES))
        assert attempts(d)[:1] == [SERVER_IP] and used(good) == {NEAR_IP}


def sockets(pid):
    return sum(target.startswith("socket:") for target in open_files(pid).values())


def test_s125_handshakes_that_never_end_are_given_up_and_leak_nothing(serve, follow, names):
    api = serve(SERVER_IP)
    names.set(SERVER_IP)
    api.stall_handshake = True
    d = follow(api, watches={"services": {"resource": "services", "namespaces": NAMESPACES}},
               tuning={"tls_timeout": "200ms"})
    d.wait_problem("TLS handshake: no answer within 200 ms", watch="services")
    api.wait(lambda: api.accepted >= 5, what="more tries")
    wait_until(lambda: sockets(d.pid) < 20, what="sockets are closed")
    api.stall_handshake = False
    d.synced()
    api.wait_watching("services", len(NAMESPACES))
