# SPDX-License-Identifier: Apache-2.0
"""effect = "boot" of config/conf.d/nftables with the real nft: after a boot, the hook fills the
sets again, which the boot has emptied."""
import pytest
from mounts import boot
from test_nftables import members, node, run_count, start, unprivileged, wait_members  # noqa: F401
import programs

ONE, TWO = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa"


@pytest.fixture
def rested(api, start):     # noqa: F811
    """A daemon that has filled the sets and was stopped."""
    d = start(node("a", "10.0.0.1", "fd00::1"), node("b", "10.0.0.2"))
    assert members("nodes4") == ["10.0.0.1", "10.0.0.2"]
    d.stop()
    return d


def test_after_a_boot_the_sets_are_filled_again(api, rested):
    programs.run("nft", "flush", "ruleset")
    assert members("nodes4") is None
    boot(rested, ONE)
    wait_members("nodes4", "10.0.0.1", "10.0.0.2")
    wait_members("nodes6", "fd00::1")
    rested.settled(api)
    assert run_count(rested) == 2 and not rested.problems()


def test_after_a_boot_the_sets_are_filled_with_the_present_nodes(api, rested):
    programs.run("nft", "flush", "ruleset")
    api.delete("nodes", "a")
    api.apply(node("c", "10.0.0.3"))
    boot(rested, ONE)
    wait_members("nodes4", "10.0.0.2", "10.0.0.3")
    rested.settled(api)
    assert members("nodes6") == []


def test_without_a_boot_nothing_runs(api, rested):
    rested.again(api)
    assert run_count(rested) == 1
    rested.stop()
    boot(rested, ONE).settled(api).stop()
    boot(rested, ONE).settled(api)
    assert run_count(rested) == 2
    rested.stop()
    boot(rested, TWO).settled(api)
    assert run_count(rested) == 3


def test_without_a_server_the_sets_are_filled_from_the_state(api, rested):
    """The node boots while the control plane is away; its firewall gets its addresses all the
    same."""
    programs.run("nft", "flush", "ruleset")
    api.stop_listening()
    rested.settings["start_stale"] = {"after": "100ms"}
    rested.write_config()
    boot(rested, ONE)
    wait_members("nodes4", "10.0.0.1", "10.0.0.2")
    api.listen()
    rested.settled(api)
    assert members("nodes4") == ["10.0.0.1", "10.0.0.2"] and run_count(rested) == 2
