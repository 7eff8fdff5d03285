# SPDX-License-Identifier: Apache-2.0
"""Another cluster takes the address while informerd runs: nothing is taken from it
(docs/design.md "Cluster identity")."""
import pytest
from control import wait_until
from fakeapi import service, simple
from harness import hook_settings

OTHER = "00000000-1111-4222-8333-444444444444"


def services(*names):
    return [service(f"n/{name}") for name in names]


def foreign():
    return [service("n/a", ports=[99]), service("n/z")]


@pytest.fixture
def known(api, daemon, hook):
    """known(count, **more): a daemon that knows so many Services of the first cluster."""
    def make(count, **more):
        api.apply(*services(*(f"s{i}" for i in range(count))))
        d = daemon(api, hooks={"h": hook_settings(hook, **more.pop("hook", {}))}, **more)
        d.settled(api)
        hook.forget()
        api.forget()
        return d
    return make


def versions(api):
    """Versions for the other cluster: lower than the known one, equal, higher."""
    return {"lower": 1, "equal": api.rv - 2, "higher": api.rv + 1000}


def is_held(d, name="services"):
    return d.control.watch(name)["held"]


@pytest.mark.parametrize("state_dir", ["kept", "none"])
@pytest.mark.parametrize("count", [5, 12])
@pytest.mark.parametrize("version", ["lower", "equal", "higher"])
def test_another_cluster_is_held_and_hooks_hear_nothing(api, known, hook, version, count, state_dir):
    more = {"state_dir": "none"} if state_dir == "none" else {}
    d = known(count, watches={"services": {"resource": "services", "namespaces": ["*"],
                                           "guard": {"hold": "0s"}}}, **more)
    was = api.identity
    api.replace(OTHER, *foreign(), rv=versions(api)[version])
    d.control.wait_watch("services", held=True)
    asked = len(api.identity_requests)
    api.wait(lambda: len(api.identity_requests) >= asked + 2)
    status = d.control.status()
    assert d.control.watch("services")["held_reason"] == "identity"
    assert any(OTHER in line and was in line for line in status["degraded"]), status["degraded"]
    assert d.control.watch("services")["objects"] == count
    assert not hook.runs() and d.ctl("status").returncode == 1
    assert not api.of("services"), "the other cluster gets no requests"


def test_the_first_cluster_comes_back_and_the_watch_goes_on(api, known, hook):
    d = known(5)
    was, backup = api.identity, api.snapshot()
    api.replace(OTHER, *foreign(), rv=1)
    d.control.wait_watch("services", held=True)
    api.forget()
    api.replace(was, backup=backup)
    d.control.wait_watch("services", held=False)
    d.caught_up(api)
    assert api.sequence("services")[:1] == [f"W({backup[0]})"] and not hook.runs()
    api.delete("services", "n/s0")
    assert hook.wait(1)[0].what == ("DELETED", "n/s0")


@pytest.mark.parametrize("mode", ["object", "batch", "snapshot"])
@pytest.mark.parametrize("state_dir", ["kept", "none"])
def test_guard_accept_learns_another_cluster_as_at_a_first_start(api, known, hook, mode, state_dir):
    more = {"state_dir": "none"} if state_dir == "none" else {}
    d = known(12, hook={"mode": mode, "settle": ["0s", "0s"]}, **more)
    api.replace(OTHER, *foreign(), rv=1)
    d.control.wait_watch("services", held=True)
    assert d.ctl("guard", "accept", "services").returncode == 0
    d.control.wait_watch("services", held=False, objects=2)
    d.caught_up(api)
    told = sorted(what for run in hook.told() for what in run)
    assert told == [("ADDED", "n/a"), ("ADDED", "n/z")]
    assert d.control.keys("services") == ["n/a", "n/z"] and not d.control.status()["degraded"]
    api.delete("services", "n/a")
    wait_until(lambda: ("DELETED", "n/a") in [what for run in hook.told() for what in run])
    if state_dir == "kept":
        hook.forget()
        d.stop()
        api.forget()
        d.again(api)
        assert not hook.runs() and not api.of("services", "L"), "the new cluster is known now"


def test_all_watches_of_the_cluster_are_held_and_one_answer_serves_them(api, known, hook):
    names = [f"w{i}" for i in range(8)]
    d = known(5, watches={"services": {"resource": "services", "namespaces": ["*"]},
                          **{name: {"resource": "configmaps", "namespaces": [name]}
                             for name in names}})
    for name in names:
        d.control.wait_watch(name, synced=True)
    api.replace(OTHER, simple("ConfigMap", "w3/x"), rv=1000)
    for name in ("services", *names):
        d.control.wait_watch(name, held=True)
    assert d.ctl("guard", "reject", "services").returncode == 0
    assert is_held(d)
    assert d.ctl("guard", "accept", "w5").returncode == 0
    for name in ("services", *names):
        d.control.wait_watch(name, held=False, synced=True)
    d.control.wait_watch("w3", objects=1)
    wait_until(lambda: d.control.watch("services")["objects"] == 0)
    d.control.wait_idle()
    assert not hook.runs()


def test_each_server_process_is_asked_once_for_any_number_of_streams(api, known):
    """TLS shows which connections lead to the same process."""
    names = [f"w{i}" for i in range(12)]
    d = known(2, watches={"services": {"resource": "services", "namespaces": ["*"]},
                          **{name: {"resource": "configmaps", "namespaces": [name]}
                             for name in names}})
    api.wait_watching("configmaps", 12)
    api.forget()
    api.drop("rst")
    api.wait(lambda: len(api.of("configmaps", "W")) == 12 and api.of("services", "W"))
    assert not api.identity_requests, "the same process"
    api.replace(api.identity, backup=api.snapshot())
    api.wait(lambda: len(api.of("configmaps", "W")) == 24 and len(api.of("services", "W")) == 2)
    for name in ("services", *names):
        d.control.wait_watch(name, held=False, state="watching")
    assert len(api.identity_requests) == 1


def test_a_relist_with_changes_asks_for_the_identity_on_the_same_connection(api, known, hook):
    d = known(5)
    api.delete("services", "n/s1", silent=True)
    assert d.ctl("relist", "services").returncode == 0
    assert hook.wait(1)[0].what == ("DELETED", "n/s1")
    (listed,) = [r for r in api.of("services", "L")]
    assert [r.conn for r in api.identity_requests] == [listed.conn]


def test_a_list_of_another_cluster_on_a_connection_that_stays_is_held(api, known, hook):
    """A proxy keeps its connections to the client, and sends the requests to another cluster."""
    d = known(5)
    api.store.restore((api.rv + 1000, {}))
    api.identity = OTHER
    assert d.ctl("relist", "services").returncode == 0
    held = d.control.wait_watch("services", held=True)
    assert held["held_reason"] == "identity" and held["objects"] == 5
    assert not hook.runs()


def test_a_list_of_another_cluster_that_changes_nothing_does_not_move_the_watch(api, known, hook):
    """The watch would go on from the version of the list, and miss the changes before it."""
    d = known(5)
    of_the_first, rv, objects = api.identity, *api.store.snapshot()
    api.store.restore((rv + 1000, objects))
    api.identity = OTHER
    assert d.ctl("relist", "services").returncode == 0
    assert d.control.wait_watch("services", held=True)["held_reason"] == "identity"
    api.store.restore((rv, objects))
    api.identity = of_the_first
    api.apply(service("n/meanwhile"))
    assert hook.wait(1)[0].what == ("ADDED", "n/meanwhile")
    d.control.wait_watch("services", held=False, objects=6)


def test_a_stream_that_ends_well_does_not_ask_for_the_identity(api, known, hook):
    d = known(3)
    for _ in range(3):
        before = len(api.of("services", "W"))
        api.apply(service("n/s0", ports=[before + 7000]))
        api.end_watches("services")
        api.wait(lambda: len(api.of("services", "W")) > before)
        d.caught_up(api)
    assert not api.identity_requests


def test_a_server_restored_from_a_backup_is_found_at_the_reconnect(api, known, hook):
    """Its etcd has an older revision. The watch does not wait in silence for a version of the
    future."""
    d = known(5)
    backup = api.snapshot()
    api.apply(*services(*(f"later{i}" for i in range(6))))
    assert len(hook.wait(6)) == 6
    d.caught_up(api)
    hook.forget()
    api.bookmark()
    wait_until(lambda: d.control.watch("services")["last_bookmark_age_s"] is not None)
    api.replace(api.identity, backup=backup)
    held = d.control.wait_watch("services", held=True)
    assert held["held_reason"] == "backwards" and not hook.runs()
