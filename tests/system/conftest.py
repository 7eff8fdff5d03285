# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests; see README.md for how to run them."""
import os
import pathlib
import shutil
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire"), str(TESTS / "handlers")]

from shared_fixtures import api, authority, new_api, server_leaf, skip_all  # noqa: E402, F401


def pytest_collection_modifyitems(items):
    """Skips all tests unless they are asked for, by a variable, and can run."""
    why = None
    if os.environ.get("INFORMERD_SYSTEM_TESTS") != "1":
        why = "INFORMERD_SYSTEM_TESTS=1 is not set"
    elif os.geteuid() != 0:
        why = "needs root"
    elif shutil.which("systemd-nspawn") is None or shutil.which("mmdebstrap") is None:
        why = "needs the packages systemd-container and mmdebstrap"
    skip_all(items, why)


@pytest.fixture(scope="session")
def package():
    """The path of the package that is tested."""
    import machine as code
    return code.package()


@pytest.fixture(scope="session")
def base(package):
    """The Debian root below all machines."""
    import machine as code
    return code.make_base(package)


@pytest.fixture(scope="session", autouse=True)
def own_network(base):
    """The namespace of the tests, of their API servers and of the machines, with nothing but lo: every
    port is free, and rules of the kernel that a hook loads concern nobody else. The root, which comes by
    the network of the host, is there by then."""
    import network
    with network.Namespace() as made:
        yield made


@pytest.fixture(scope="session")
def new_machine(base, own_network, tmp_path_factory):
    """Boots a Debian without informerd: new_machine()."""
    import machine as code
    made = []

    def new():
        made.append(code.Machine(base, tmp_path_factory.mktemp("machine")))
        return made[-1]
    yield new
    for one in made:
        one.stop()


@pytest.fixture(scope="session")
def machine(new_machine, package):
    """A booted Debian in which the package is installed."""
    made = new_machine()
    made.install(package)
    for name in ("worker", "stranger", "member"):
        made.check("useradd", "--system", "--user-group", name)
    made.check("groupadd", "--system", "extra")
    made.check("usermod", "-aG", "extra", "worker")
    made.check("usermod", "-aG", "extra", "informerd")
    made.check("usermod", "-aG", "informerd", "member")
    return made


@pytest.fixture
def node(machine, api, authority):
    """A machine with an empty configuration folder; its services are stopped at the end."""
    import node as code
    made = code.Node(machine, api, authority)
    yield made
    made.finish()
