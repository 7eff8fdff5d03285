# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of ready-made handlers; see README.md."""
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire")]

from guarded import pytest_configure  # noqa: E402, F401: before all that starts processes

import examples  # noqa: E402
import http_end  # noqa: E402
import network  # noqa: E402
import programs  # noqa: E402
from shared_fixtures import (  # noqa: E402, F401
    api, authority, checked_factory, new_api, server_leaf)


@pytest.fixture(scope="session")
def _can_have_networks():
    return network.missing()


@pytest.fixture(autouse=True)
def net(_can_have_networks):
    """The namespace that everything in the test lives in, this thread too: it is empty but for
    127.0.0.1 and ::1, and every port is free. As it is autouse, pytest sets it up before all other
    fixtures of the test: so the servers of new_api are in it as well."""
    if _can_have_networks:
        programs.needed(_can_have_networks)
    with network.Namespace() as made:
        yield made


@pytest.fixture
def second_net(net):
    """Another namespace, for a neighbour: net.cable(second_net); with second_net.inside(): ..."""
    made = network.Namespace()
    yield made
    made.close()


@pytest.fixture
def real(net, tmp_path):
    """Starts real programs: real.start("haproxy", "-W", ...); at the end each one is dead."""
    made = programs.Programs(tmp_path)
    yield made
    made.finish()


@pytest.fixture
def park(net):
    """HTTP servers: park.start("10.1.0.5")."""
    made = http_end.Park(net)
    yield made
    made.finish()


@pytest.fixture
def systemctl(tmp_path):
    """Stands in for systemctl: systemctl.does("kill", "-USR2", pid), systemctl.calls()."""
    return programs.StandIn(tmp_path / "systemctl")


@pytest.fixture
def factory(api, tmp_path, authority, real, park):
    """Makes daemons, and checks at the end that they ended well and left nothing behind."""
    with checked_factory(tmp_path, authority) as made:
        yield made
        made.known_children |= real.pids()


@pytest.fixture
def example(api, factory, tmp_path, systemctl):
    """example("haproxy", {...}): informerd with config/conf.d/haproxy.conf.example; examples.py."""
    return examples.Starter(api, factory, tmp_path, systemctl)
