# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests; see README.md for how to run them."""
import os
import pathlib
import shutil
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "wire")]

from fakeapi import Authority, FakeApi  # noqa: E402


def pytest_collection_modifyitems(items):
    """Without being asked for by name and with rights, none runs."""
    why = None
    if os.environ.get("INFORMERD_SYSTEM_TESTS") != "1":
        why = "INFORMERD_SYSTEM_TESTS=1 is not set"
    elif os.geteuid() != 0:
        why = "needs root"
    elif shutil.which("systemd-nspawn") is None or shutil.which("debootstrap") is None:
        why = "needs the packages systemd-container and debootstrap"
    for item in items if why else []:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A booted Debian with informerd installed and its user made."""
    import machine as code
    code.make_base()
    code.install()
    made = code.Machine(tmp_path_factory.mktemp("machine") / "console.log")
    try:
        made.check("systemctl", "daemon-reload")
        made.check("systemd-sysusers")
        for name in ("worker", "stranger", "member"):
            made.check("useradd", "--system", "--user-group", name)
        made.check("groupadd", "--system", "extra")
        made.check("usermod", "-aG", "extra", "worker")
        made.check("usermod", "-aG", "extra", "informerd")
        made.check("usermod", "-aG", "informerd", "member")
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def server_leaf(authority):
    return authority.server()


@pytest.fixture
def api(server_leaf):
    made = FakeApi(tls=server_leaf).start()
    yield made
    made.stop()
    assert not made.errors, made.errors


@pytest.fixture
def node(machine, api, authority):
    """A machine with an empty configuration folder; its services are stopped at the end."""
    import node as code
    made = code.Node(machine, api, authority)
    yield made
    made.finish()
