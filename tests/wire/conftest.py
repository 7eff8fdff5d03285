# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the wire tests; see README.md for how to run them."""
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import reaper  # noqa: E402

reaper.stand_guard()

import harness  # noqa: E402
import outputs  # noqa: E402
import patience  # noqa: E402
import proctree  # noqa: E402
from fakeapi import Authority, servers, service  # noqa: E402

proctree.become_subreaper()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    patience.limit_tests(config)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Notes in the item whether a part of its test has failed."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed


@pytest.fixture
def tmp_path(request, tmp_path):
    """pytest's own, but the files of tests that passed are deleted at once: they lie in memory."""
    yield tmp_path
    if not getattr(request.node, "has_failed", False):
        shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """The CA that signs the fake servers' certificates."""
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def server_leaf(authority):
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


@pytest.fixture
def factory(api, tmp_path, authority):
    """Makes daemons and hooks, and checks at the end that they ended well and left nothing."""
    if not harness.INFORMERD.exists():
        pytest.fail(f"{harness.INFORMERD} is not built (INFORMERD_BUILD names a build folder)")
    made = harness.Factory(tmp_path, authority)
    yield made
    made.finish()


@pytest.fixture
def daemon(factory):
    return factory.daemon


@pytest.fixture
def new_hook(factory):
    return factory.hook


@pytest.fixture
def new_program(factory):
    return factory.program


@pytest.fixture
def hook(factory):
    """One recording hook."""
    return factory.hook()


@pytest.fixture
def place(tmp_path):
    """The folder of output files."""
    return outputs.Place(tmp_path / "place")


@pytest.fixture
def applier(new_hook):
    """The program that is told of new files; it records as hooks do."""
    return new_hook()


@pytest.fixture
def handled(api, daemon, hook):
    """handled(obj, **settings): a daemon whose hook "h" is through with this one object."""
    def make(obj=None, **settings):
        api.apply(obj or service("n/a"))
        d = daemon(api, hooks={"h": harness.hook_settings(hook, **settings)})
        hook.wait(1)
        api.wait_watching("services")
        d.caught_up(api)
        return d
    return make


@pytest.fixture
def left(api, daemon, hook):
    """left(obj, ..., daemon={...}, **settings): a daemon whose hook "h" was through with these when
    it was stopped. Of the hook's runs and of what the server was asked only what is new counts."""
    def make(*objects, **settings):
        more = settings.pop("daemon", {})
        api.apply(*objects)
        d = daemon(api, hooks={"h": harness.hook_settings(hook, **settings)}, **more)
        d.settled(api).stop()
        hook.forget()
        api.forget()
        return d
    return make
