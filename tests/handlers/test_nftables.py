# SPDX-License-Identifier: Apache-2.0
"""config/hooks/nftables with the real nft: sets that follow the addresses of the nodes."""
import json
import pathlib
import shutil
import socket
import tempfile

import pytest
import programs
from control import PATIENCE, wait_until
from fakeapi import simple

FIREWALL = """
table inet informerd {{
  set nodes4 {{ type ipv4_addr; }}
  set nodes6 {{ type ipv6_addr; }}
  chain input {{
    type filter hook input priority filter;
    tcp dport {port} ip saddr != @nodes4 counter reject with tcp reset
    tcp dport {port} ip6 saddr != @nodes6 counter reject with tcp reset
  }}
}}
"""


def node(name, *addresses, beat=0, kind="InternalIP"):
    """A Node as a kubelet writes it; `beat` is in the conditions that every heartbeat changes."""
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": f"beat {beat}"}]
    listed = [{"type": kind, "address": address} for address in addresses]
    listed.append({"type": "Hostname", "address": name})
    return simple("Node", name, spec={"podCIDR": "10.244.0.0/24"},
                  status={"addresses": listed, "conditions": conditions})


def members(name):
    """The elements of this set; None = there is no such set."""
    done = programs.run("nft", "-j", "list", "set", "inet", "informerd", name, code=None)
    if done.returncode != 0:
        return None
    listed = [entry["set"] for entry in json.loads(done.stdout)["nftables"] if "set" in entry]
    return sorted(listed[0].get("elem", []))


def wait_members(name, *addresses):
    wait_until(lambda: members(name) == sorted(addresses),
               what=lambda: f"{name} has {members(name)}, wanted {addresses}")


def run_count(d):
    return len(d.starts("nftables"))


@pytest.fixture
def unprivileged(example):
    """unprivileged({text: text}): a daemon with the example, whose hook runs as an ordinary user."""
    programs.find("nft")
    programs.find("jq")
    place = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    place.chmod(0o755)
    example.hooks = place / "hooks"
    ordinary = {"no_new_privileges = true;": 'no_new_privileges = true; user = "nobody";'}
    yield lambda replace=None: example("nftables", {**ordinary, **(replace or {})})
    shutil.rmtree(place)


@pytest.fixture
def start(api, unprivileged):
    """start(node, ...): a daemon with the example, once the sets are filled."""
    def make(*nodes, replace=None):
        api.apply(*nodes)
        d = unprivileged(replace)
        wait_until(lambda: members("nodes4") is not None, what="the sets are made")
        api.wait_watching("nodes")
        return d.caught_up(api)
    return make


def test_without_its_capability_the_hook_changes_nothing(api, unprivileged):
    api.apply(node("a", "10.0.0.1"))
    d = unprivileged({'capabilities = [ "CAP_NET_ADMIN" ];': 'capabilities = [ "CAP_NET_RAW" ];'})
    d.wait_problem("hook failed", hook="nftables")
    assert "not permitted" in d.ctl_json("runs", "nftables")[0]["stderr"]
    assert members("nodes4") is None


def test_the_sets_follow_the_nodes(api, start):
    d = start(node("a", "10.0.0.1", "fd00::1"), node("b", "10.0.0.2"))
    assert members("nodes4") == ["10.0.0.1", "10.0.0.2"]
    assert members("nodes6") == ["fd00::1"]
    api.apply(node("c", "10.0.0.3"))
    wait_members("nodes4", "10.0.0.1", "10.0.0.2", "10.0.0.3")
    api.apply(node("a", "10.0.0.9", "fd00::9"))
    wait_members("nodes4", "10.0.0.2", "10.0.0.3", "10.0.0.9")
    wait_members("nodes6", "fd00::9")
    for name in "abc":
        api.delete("nodes", name)
    wait_members("nodes4")
    wait_members("nodes6")
    d.caught_up(api)
    assert not d.problems()


def test_a_heartbeat_starts_no_run(api, start):
    d = start(node("a", "10.0.0.1"))
    assert run_count(d) == 1
    for beat in range(1, 20):
        api.apply(node("a", "10.0.0.1", beat=beat))
    d.caught_up(api)
    assert run_count(d) == 1
    assert "conditions" not in d.control.objects("nftables_nodes", "a")["status"]


def test_only_internal_addresses_count(api, start):
    d = start(node("a", "10.0.0.1"), node("out", "192.0.2.1", kind="ExternalIP"))
    assert members("nodes4") == ["10.0.0.1"]
    assert d.control.keys("nftables_nodes") == ["a"]
    api.apply(node("late"))
    d.caught_up(api)
    assert run_count(d) == 1
    api.apply(node("late", "10.0.0.2"))
    wait_members("nodes4", "10.0.0.1", "10.0.0.2")


def test_an_address_that_two_nodes_share_stays_with_the_other(api, start):
    start(node("a", "10.0.0.1"), node("b", "10.0.0.1", "10.0.0.2"))
    api.delete("nodes", "b")
    wait_members("nodes4", "10.0.0.1")


def test_a_value_that_is_not_an_address_never_reaches_nft(api, start):
    bad = ["10.0.0.5 }; flush ruleset; #", "10.0.0.5\n", "10.0.0.0/8", "0.0.0.0-255.255.255.255",
           "localhost", "10.0.0.256", "1:2:3", "fe80::1%eth0", "", "$(reboot)", "{ 10.0.0.5 }"]
    programs.run("nft", "add table inet of_another")
    d = start(node("evil", *bad), node("a", "10.0.0.1", "fd00::1"))
    assert members("nodes4") == ["10.0.0.1"] and members("nodes6") == ["fd00::1"]
    assert programs.run("nft", "list", "tables").stdout.count("table") == 2
    lines = [entry["line"] for entry in d.log(msg="hook output", stream="stderr")]
    assert all(any(json.dumps(f"not an address: {text}") in line for line in lines) for text in bad)
    assert not d.problems()


def test_a_list_that_lacks_the_nodes_is_held_and_the_set_stays(api, start):
    d = start(node("a", "10.0.0.1"), node("b", "10.0.0.2"))
    for name in "ab":
        api.delete("nodes", name, silent=True)
    assert d.ctl("relist", "nftables_nodes").returncode == 0
    d.control.wait_watch("nftables_nodes", held=True, objects=2)
    assert members("nodes4") == ["10.0.0.1", "10.0.0.2"] and run_count(d) == 1
    assert d.ctl("guard", "accept", "nftables_nodes").returncode == 0
    wait_members("nodes4")


def test_a_flushed_ruleset_is_mended(api, start):
    d = start(node("a", "10.0.0.1"), replace={'rerun_every = "10min"': 'rerun_every = "200ms"'})
    programs.run("nft", "flush", "ruleset")
    wait_members("nodes4", "10.0.0.1")
    assert run_count(d) >= 2
    programs.run("nft", "flush", "set", "inet", "informerd", "nodes4")
    assert d.ctl("run", "nftables", "--wait").returncode == 0
    assert members("nodes4") == ["10.0.0.1"]


def test_a_transaction_that_is_refused_leaves_the_sets_and_is_tried_again(api, start):
    d = start(node("a", "10.0.0.1"))
    programs.run("nft", "delete table inet informerd")
    programs.run("nft", "add table inet informerd; add chain inet informerd nodes4; "
                        "add set inet informerd nodes6 { type ipv4_addr; }")
    api.apply(node("b", "10.0.0.2"))
    d.wait_problem("hook failed", hook="nftables")
    assert members("nodes4") is None, "half a transaction"
    programs.run("nft", "delete table inet informerd")
    wait_members("nodes4", "10.0.0.1", "10.0.0.2")


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def can_connect(source, target):
    with socket.socket(family_of(source), socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE)
        client.bind((source, 0))
        try:
            client.connect(target)
            return True
        except ConnectionRefusedError:
            return False


@pytest.fixture
def firewall(net, tmp_path):
    """firewall(address): a server behind the rules of the example; its address and port."""
    listeners = []

    def make(address):
        net.address(address)
        listeners.append(socket.create_server((address, 0), family=family_of(address)))
        rules = tmp_path / "nftables.conf"
        target = listeners[0].getsockname()[:2]
        rules.write_text(FIREWALL.format(port=target[1]))
        programs.run("nft", "-f", rules)
        return target
    yield make
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("inside, outside, server", [
    ("10.0.0.1", "10.0.0.2", "10.9.9.9"), ("fd00::1", "fd00::2", "fd00::99")])
def test_a_firewall_lets_nodes_in_and_nobody_else(api, start, firewall, net, inside, outside,
                                                  server):
    net.address(inside, outside)
    target = firewall(server)
    which = "nodes6" if ":" in server else "nodes4"
    assert not can_connect(inside, target), "an empty set lets nobody in"
    start(node("a", inside))
    wait_members(which, inside)
    assert can_connect(inside, target) and not can_connect(outside, target)
    api.apply(node("b", outside))
    wait_members(which, inside, outside)
    assert can_connect(inside, target) and can_connect(outside, target)
    api.delete("nodes", "a")
    wait_members(which, outside)
    assert not can_connect(inside, target) and can_connect(outside, target)


def test_the_sets_change_in_one_transaction(api, start, real):
    d = start(node("a", "10.0.0.1", "fd00::1"))
    monitor = real.start("nft", "monitor")

    def generations():
        """The changes of each transaction of table inet informerd."""
        return [text for text in monitor.log().split("# new generation")[:-1]
                if "inet informerd" in text]

    def listens():
        programs.run("nft", "add table inet ping; delete table inet ping")
        return "ping" in monitor.log()
    monitor.wait(listens)
    for number in range(2, 6):
        api.apply(node("a", f"10.0.0.{number}", f"fd00::{number}"))
        wait_members("nodes4", f"10.0.0.{number}")
        d.caught_up(api)
    monitor.wait(lambda: len(generations()) >= run_count(d) - 1)
    assert run_count(d) == 5 and len(generations()) == 4
    for number, text in enumerate(generations(), 1):
        assert f"delete element inet informerd nodes4 {{ 10.0.0.{number} }}" in text
        assert f"add element inet informerd nodes4 {{ 10.0.0.{number + 1} }}" in text
        assert f"add element inet informerd nodes6 {{ fd00::{number + 1} }}" in text
