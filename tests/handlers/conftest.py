# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of ready-made handlers; see README.md."""
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire")]

import reaper  # noqa: E402

reaper.stand_guard()

import examples  # noqa: E402
import harness  # noqa: E402
import http_end  # noqa: E402
import network  # noqa: E402
import patience  # noqa: E402
import proctree  # noqa: E402
import programs  # noqa: E402
from fakeapi import Authority, servers  # noqa: E402

proctree.become_subreaper()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    patience.limit_tests(config)


@pytest.fixture(scope="session")
def _can_have_networks():
    return network.missing()


@pytest.fixture(autouse=True)
def net(_can_have_networks):
    """The namespace that everything in the test lives in, this thread too: it is empty but for
    127.0.0.1 and ::1, and every port is free."""
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
    """Starts real programs: real.start("haproxy", "-W", ...); each is dead at the end."""
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


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """The CA that signs the fake servers' certificates."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def server_leaf(authority):
    return authority.server()


@pytest.fixture
def new_api(net, server_leaf):
    """Makes fake API servers, for tests with two clusters."""
    with servers(server_leaf) as make:
        yield make


@pytest.fixture
def api(new_api):
    """A fake API server on 127.0.0.1 with TLS, empty."""
    return new_api()


@pytest.fixture
def factory(api, tmp_path, authority, real, park):
    """Makes daemons, and checks at the end that they ended well and left nothing."""
    if not harness.INFORMERD.exists():
        pytest.fail(f"{harness.INFORMERD} is not built (INFORMERD_BUILD names a build folder)")
    made = harness.Factory(tmp_path, authority)
    yield made
    made.known_children |= real.pids()
    made.finish()


@pytest.fixture
def example(api, factory, tmp_path, systemctl):
    """example("haproxy", {...}): informerd with config/conf.d/haproxy.conf.example; examples.py."""
    return examples.Starter(api, factory, tmp_path, systemctl)
