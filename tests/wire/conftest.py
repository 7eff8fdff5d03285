# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the wire tests; see README.md for how to run them."""
import contextlib
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from guarded import pytest_configure  # noqa: E402, F401: before all that starts processes

import harness  # noqa: E402
import outputs  # noqa: E402
from control import wait_until  # noqa: E402
from far import cable, far, systemd  # noqa: E402, F401
from fakeapi import service  # noqa: E402
from proxies import Proxy  # noqa: E402
from shared_fixtures import (  # noqa: E402, F401
    api, authority, checked_factory, new_api, server_leaf)
from two_clusters import Scene  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Notes in the item whether the set-up, the call or the teardown of its test has failed."""
    report = (yield).get_result()
    item.has_failed = getattr(item, "has_failed", False) or report.failed


@pytest.fixture
def tmp_path(request, tmp_path):
    """pytest's tmp_path, but the files of tests that passed are deleted at once, since they are in
    memory."""
    yield tmp_path
    if not getattr(request.node, "has_failed", False):
        shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def factory(api, tmp_path, authority):
    """Makes daemons and hooks, and checks at the end that they ended well and left nothing
    behind."""
    with checked_factory(tmp_path, authority) as made:
        yield made


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
def scene(factory, new_api, api):
    """A daemon that is not started yet, with a cluster in trouble and a healthy one."""
    return Scene(factory, new_api, api)


@pytest.fixture
def new_proxy():
    with contextlib.ExitStack() as stack:
        yield lambda **how: stack.enter_context(Proxy(**how))


@pytest.fixture
def proxy(new_proxy):
    return new_proxy()


@pytest.fixture
def place(tmp_path):
    """The folder of output files."""
    return outputs.Place(tmp_path / "place")


@pytest.fixture
def applier(new_hook):
    """The program that applies new files; it records its runs as hooks do."""
    return new_hook()


@pytest.fixture
def handled(api, daemon, hook):
    """handled(obj, ..., daemon={...}, **settings): a daemon whose hook "h" has handled these
    objects (Service n/a unless others are given)."""
    def make(*objects, **settings):
        more = settings.pop("daemon", {})
        api.apply(*(objects or [service("n/a")]))
        d = daemon(api, hooks={"h": harness.hook_settings(hook, **settings)}, **more)
        hook.wait(1)
        api.wait_watching("services")
        d.caught_up(api)
        return d
    return make


@pytest.fixture
def started(handled, hook):
    """started(obj, ..., **settings): as handled(), with Service n/first unless other objects are
    given; only later runs of the hook count."""
    def make(*objects, **settings):
        d = handled(*(objects or [service("n/first")]), **settings)
        hook.forget()
        return d
    return make


@pytest.fixture
def stopped_stale(factory, api, hook):
    """stopped_stale(obj, ...): a daemon whose hook "h" takes stale and fresh alone. It was stopped
    while its server was away, and its one run told that source services is stale. From the next
    start on, the source becomes stale after an hour only, so that this is the one outage."""
    def make(*objects):
        cluster = {**factory.cluster(api), "stale_after": "100ms"}
        api.apply(*objects)
        d = factory.daemon(clusters={"prod": cluster}, hooks={
            "h": harness.hook_settings(hook, events=["stale", "fresh"])}).settled(api)

        def heard():
            api.bookmark()
            return d.control.watch("services")["last_bookmark_age_s"] is not None
        wait_until(heard, what="a bookmark comes")
        d.control.wait_watch("services", stale=False)
        d.control.wait_idle()
        hook.forget()   # on a slow machine the source may have been stale at first
        api.stop_listening()
        api.drop("rst")
        hook.wait_what("STALE", "services")
        d.control.wait_idle()
        d.stop()
        d.settings["clusters"]["prod"]["stale_after"] = "1h"
        d.write_config()
        return d
    return make


@pytest.fixture
def left(api, daemon, hook):
    """left(obj, ..., daemon={...}, **settings): a daemon that was stopped after its hook "h" had
    handled these objects. Only later runs and requests count."""
    def make(*objects, **settings):
        more = settings.pop("daemon", {})
        api.apply(*objects)
        d = daemon(api, hooks={"h": harness.hook_settings(hook, **settings)}, **more)
        d.settled(api).stop()
        hook.forget()
        api.forget()
        return d
    return make
