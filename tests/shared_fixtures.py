# SPDX-License-Identifier: Apache-2.0
"""The set-up that several folders of tests have in common. Their conftest.py puts tests/ and
tests/wire/ on sys.path and imports what it needs: pytest takes a fixture that a conftest.py imports
for a fixture of that folder."""
import contextlib

import pytest

import harness
from fakeapi import Authority, servers


def skip_all(items, why):
    """Skips every test of the run with this reason; None = there is no reason."""
    for item in items if why else []:
        item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """The CA that signs the fake servers' certificates."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def server_leaf(authority):
    """The certificate of the fake servers."""
    return authority.server()


@pytest.fixture
def new_api(server_leaf):
    """Makes fake API servers: new_api(host="::1", tls=None, tls_options={...})."""
    with servers(server_leaf) as make:
        yield make


@pytest.fixture
def api(new_api):
    """A fake API server on 127.0.0.1 with TLS, empty."""
    return new_api()


@contextlib.contextmanager
def checked_factory(folder, authority):
    """A harness.Factory, which makes daemons and hooks in this folder. At the end it checks that
    they ended well and left nothing behind. authority: a CA, or None for a real API server."""
    if not harness.INFORMERD.exists():
        pytest.fail(f"{harness.INFORMERD} is not built (INFORMERD_BUILD names a build folder)")
    made = harness.Factory(folder, authority)
    yield made
    made.finish()
