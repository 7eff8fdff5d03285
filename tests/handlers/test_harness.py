# SPDX-License-Identifier: Apache-2.0
"""The harness of the other tests: networks of their own, servers, programs that are dead at the
end."""
import http_end
import network
import proctree
import pytest
import programs
from control import wait_until


def test_each_test_has_a_network_of_its_own_with_lo(net, park):
    assert [line.split()[1] for line in net.ip("-o", "link").splitlines()][0] == "lo:"
    assert "10.1.0.5" not in net.ip("addr")
    park.start("10.1.0.5", 80)
    assert http_end.get("10.1.0.5", 80) == (200, "10.1.0.5")
    with network.Namespace() as other:
        assert "10.1.0.5" not in other.ip("addr")
    assert "10.1.0.5" in net.ip("addr")


def test_a_server_counts_and_can_be_killed(park):
    one, six = park.start("10.1.0.5"), park.start("fd00::6")
    began = programs.now()
    with http_end.Client("fd00::6", 8080, keep_alive=True) as client:
        wait_until(lambda: six.count() >= 20)
        six.kill()
        wait_until(client.bad)
    assert six.count(since=began) >= 20 and six.count(since=programs.now()) == 0
    assert one.count() == 0
    with pytest.raises(OSError):
        http_end.get("fd00::6", 8080)


def test_a_program_and_what_it_started_is_dead_after_kill(real):
    real.start("sh", "-c", "sleep 1000 & sleep 1000 & wait")
    shell = real.made[0]
    shell.wait(lambda: len(shell.family()) == 3)
    family = shell.family()
    shell.kill()
    assert not [pid for pid in family if proctree.exists(pid)]


def test_two_networks_and_a_cable(net, second_net):
    net.cable(second_net)
    net.address("192.0.2.1/24", device="cable")
    with second_net.inside():
        second_net.address("192.0.2.2/24", device="cable")
        neighbour = http_end.Park(second_net)
    try:
        neighbour.start("198.51.100.9", 81)
        with pytest.raises(OSError):
            http_end.get("198.51.100.9", 81)
        net.ip("route", "add", "198.51.100.9/32", "via", "192.0.2.2")
        assert http_end.get("198.51.100.9", 81) == (200, "198.51.100.9")
    finally:
        neighbour.finish()


def test_a_stand_in_notes_its_calls(systemctl):
    systemctl.does("false")
    programs.run(systemctl.path, "reload", "haproxy", code=1)
    systemctl.does("true")
    programs.run(systemctl.path, "is-active", "haproxy")
    assert [what for _when, what in systemctl.calls()] == ["reload haproxy", "is-active haproxy"]
