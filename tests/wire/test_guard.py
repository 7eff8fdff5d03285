# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 18 and 19: lists that go backwards or would empty the cache are held
(docs/design.md "Guard")."""
import itertools

import pytest
from control import at_least, wait_until
from fakeapi import Gate, error_event, service
from harness import hook_settings

AT_ONCE = {"mode": "snapshot", "settle": ["0s", "0s"]}
HUNDRED = [f"n/s{i:03}" for i in range(100)]


def guarded(namespaces=("*",), **guard):
    return {"services": {"resource": "services", "namespaces": list(namespaces), "guard": guard}}


def changes(hook):
    """[(type, key), ...] of all snapshot runs but the first."""
    return [(c["type"], f"{c['namespace']}/{c['name']}")
            for run in hook.runs()[1:] for c in run.input["changes"]]


def second_list(api):
    """A gate before the answer to the list that confirms a held one."""
    gate, newest = Gate(), itertools.count()
    api.on_list("services", where=lambda r: r.rv is None and next(newest) == 1).hold(gate)
    return gate


def confirming_list(api):
    """As second_list(), for a held list whose request had a version."""
    gate = Gate()
    api.on_list("services", where=lambda r: r.rv is None).hold(gate)
    return gate


# ---- 18: backwards

@pytest.fixture
def restored(api, daemon, hook):
    """restored(hold): a daemon that has seen RV 110 of a server, which is then restored to RV
    100."""
    def make(hold):
        api.apply(service("n/a"), service("n/b"), service("n/c"))
        api.rv = 100
        backup = api.snapshot()
        d = daemon(api, hooks={"h": hook}, watches=guarded(hold=hold))
        hook.wait(3)
        api.wait_watching("services")
        api.apply(service("n/b", ports=[81]), service("n/d"))
        api.delete("services", "n/c")
        api.rv = 110
        d.settled(api)
        assert len(hook.runs()) == 6
        api.restore(backup, how=error_event(500))
        return d
    return make


def test_s18_a_list_that_went_backwards_is_held_and_applied_when_a_second_agrees(
        api, hook, restored):
    gate = second_list(api)
    d = restored("300ms")
    held = d.control.wait_watch("services", held=True)
    assert (held["held_reason"], held["objects"]) == ("backwards", 3)
    assert not held["stale"] and len(hook.runs()) == 6
    assert "went backwards" in d.control.status()["degraded"][0]
    d.wait_problem("list held back", "backwards", watch="services")
    gate.open()
    d.control.wait_watch("services", held=False, state="watching", resource_version="100")
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(100)", "L(110)", "L(-)", "L(-)", "W(100)"]
    first, second = api.of("services", "L")[2:]
    assert at_least(0.3, second.time - first.time)
    hook.wait(9)
    d.caught_up(api)
    assert sorted(hook.what()[6:]) == [("ADDED", "n/c"), ("DELETED", "n/d"), ("MODIFIED", "n/b")]
    d.wait_problem("resourceVersion went backwards", watch="services")
    api.apply(service("n/e"))
    hook.wait_what("ADDED", "n/e")
    wait_until(lambda: d.control.status()["degraded"] == [])


def test_s18_a_second_list_that_is_good_again_changes_nothing(api, hook, restored):
    gate = second_list(api)
    d = restored("50ms")
    d.control.wait_watch("services", held=True)
    before = d.control.objects("services")
    api.restore((110, content_of(api, d)))
    gate.open()
    d.control.wait_watch("services", held=False, state="watching", resource_version="110")
    d.control.wait_idle()
    assert d.control.objects("services") == before
    assert len(hook.runs()) == 6


def content_of(api, d):
    """A backup of the server with the Services that the daemon has in its cache."""
    _rv, tables = api.snapshot()
    table = next(key for key in tables if key[2] == "services")
    tables[table] = {f"{o['metadata']['namespace']}/{o['metadata']['name']}": o
                     for o in d.control.objects("services")}
    return tables


def test_s18_a_bookmark_that_goes_backwards_ends_the_stream_and_the_list_is_held(
        api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    api.rv = 100
    d = daemon(api, hooks={"h": hook}, watches=guarded(hold="1h"))
    hook.wait(2)
    api.wait_watching("services")
    api.delete("services", "n/b", silent=True)
    api.rv = 50
    api.bookmark(rv=50)
    d.control.wait_watch("services", held=True, held_reason="backwards", objects=2)
    assert api.sequence("services") == ["L(0)", "W(100)", "L(-)"]
    assert d.ctl("guard", "accept", "services").returncode == 0
    d.control.wait_watch("services", held=False, objects=1, resource_version="50")
    hook.wait_what("DELETED", "n/b")


def test_s18_an_event_with_a_smaller_rv_is_no_step_backwards(api, daemon, hook):
    api.rv = 100
    d = daemon(api, hooks={"h": hook}, watches=guarded(hold="1h"))
    api.wait_watching("services")
    api.apply(service("n/a"), rv=40)
    hook.wait(1)
    assert d.control.watch("services")["resource_version"] == "40"
    api.rv = 100
    api.bookmark(rv=100)
    d.control.wait_watch("services", resource_version="100", held=False, relists=0)


# ---- 19: emptied

@pytest.fixture
def emptied(api, daemon, hook):
    """emptied(**guard): a daemon with 100 objects whose server then lists none."""
    def make(**guard):
        api.apply(*[service(key) for key in HUNDRED])
        d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)}, watches=guarded(**guard))
        hook.wait(1)
        d.caught_up(api)
        d.everything = api.snapshot()
        for key in HUNDRED:
            api.delete("services", key, silent=True)
        api.end_watches(how=error_event(500))
        return d
    return make


def test_s19_an_empty_list_is_held_and_applied_when_a_second_agrees(api, hook, emptied):
    gate = confirming_list(api)
    d = emptied(hold="300ms")
    held = d.control.wait_watch("services", held=True)
    assert (held["held_reason"], held["held_deletes"], held["objects"]) == ("deletes", 100, 100)
    assert len(hook.runs()) == 1
    gate.open()
    d.control.wait_watch("services", held=False, objects=0, state="watching")
    api.wait_watching("services")
    assert api.sequence("services")[:2] == ["L(0)", "W(101)"]
    assert api.sequence("services")[2:] == ["L(101)", "L(-)", f"W({api.rv})"]
    first, second = api.of("services", "L")[1:]
    assert at_least(0.3, second.time - first.time)
    wait_until(lambda: len(changes(hook)) == 100)
    assert sorted(changes(hook)) == [("DELETED", key) for key in HUNDRED]
    d.caught_up(api)
    assert len(changes(hook)) == 100
    events = [c for run in hook.runs()[1:] for c in run.input["changes"]]
    assert all(c["final_state_unknown"] and c["cause"] == "relist" for c in events)


def test_s19_a_second_list_that_has_everything_changes_nothing(api, hook, emptied):
    gate = confirming_list(api)
    d = emptied(hold="50ms")
    d.control.wait_watch("services", held=True)
    api.restore((api.rv + 1, d.everything[1]))
    gate.open()
    d.control.wait_watch("services", held=False, objects=100, state="watching")
    d.control.wait_idle()
    assert len(hook.runs()) == 1


def test_s19_without_a_confirmation_the_list_stays_held(api, hook, emptied):
    d = emptied(hold="1h")
    d.control.wait_watch("services", held=True)
    asked = len(api.requests)
    d.control.wait_idle()
    for _ in range(20):
        assert d.control.watch("services")["objects"] == 100
    assert len(api.requests) == asked and len(hook.runs()) == 1
    assert d.ctl("guard", "accept", "services").returncode == 0
    d.control.wait_watch("services", held=False, objects=0, state="watching")
    wait_until(lambda: len(changes(hook)) == 100)


def test_s19_the_list_after_a_rejected_list_does_not_apply_it(api, hook, emptied):
    gate = confirming_list(api)
    d = emptied(hold="50ms", at_least=100)
    d.control.wait_watch("services", held=True)
    assert d.ctl("guard", "reject", "services").returncode == 0
    gate.open()
    lists = len(api.of("services", "L"))
    api.wait(lambda: len(api.of("services", "L")) >= lists + 3)
    watch = d.control.watch("services")
    assert watch["held"] and watch["objects"] == 100 and len(hook.runs()) == 1
    api.restore((api.rv + 1, d.everything[1]))
    d.control.wait_watch("services", held=False, objects=100, state="watching")
    d.control.wait_idle()
    assert len(hook.runs()) == 1


def test_s19_other_runs_of_a_hook_are_told_that_its_source_is_held(api, daemon, hook):
    api.apply(*[service(key) for key in HUNDRED[:20]])
    watches = {**guarded(hold="1h"), "slices": {"resource": "configmaps", "namespaces": ["*"]}}
    d = daemon(api, watches=watches, hooks={"h": hook_settings(
        hook, sources=["services", "slices"], **AT_ONCE)})
    first = hook.wait(1)[0]
    d.caught_up(api)
    for key in HUNDRED[:20]:
        api.delete("services", key, silent=True)
    api.end_watches("services", how=error_event(500))
    d.control.wait_watch("services", held=True)
    api.apply({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
        "name": "c", "namespace": "n", "uid": "u-c"}})
    later = hook.wait(2)[1]
    assert first.input["sources"]["services"]["held"] is False
    assert later.input["sources"]["services"]["held"] is True
    assert later.input["sources"]["slices"]["held"] is False
    assert len(later.snapshot["services"]) == 20


@pytest.mark.parametrize("guard", [{"relist_deletes": "off"}, {"at_least": 101},
                                   {"relist_deletes": "100%"}], ids=str)
def test_s19_deletes_that_the_settings_allow_are_applied_at_once(api, hook, emptied, guard):
    d = emptied(hold="1h", **guard)
    d.control.wait_watch("services", held=False, objects=0, state="watching")
    wait_until(lambda: len(changes(hook)) == 100)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services")[2:] == ["L(101)", f"W({api.rv})"]


@pytest.mark.parametrize("gone,held", [(50, False), (51, True)])
def test_s19_more_than_the_share_is_held_and_the_share_itself_is_not(api, daemon, gone, held):
    api.apply(*[service(key) for key in HUNDRED])
    d = daemon(api, watches=guarded(hold="1h")).caught_up(api)
    for key in HUNDRED[:gone]:
        api.delete("services", key, silent=True)
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", held=held, objects=100 if held else 100 - gone, relists=1)


def test_s19_deletes_that_the_watch_sends_are_never_held(api, daemon, hook):
    api.apply(*[service(key) for key in HUNDRED])
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)}, watches=guarded(hold="1h"))
    hook.wait(1)
    api.wait_watching("services")
    for key in HUNDRED:
        api.delete("services", key)
    d.caught_up(api)
    assert d.control.watch("services")["objects"] == 0
    assert sorted(changes(hook)) == [("DELETED", key) for key in HUNDRED]


def test_s19_streams_that_are_emptied_one_after_the_other_add_up(api, daemon, hook):
    spaces = ["a", "b", "c", "d"]
    api.apply(*[service(f"{space}/s{i}") for space in spaces for i in range(10)])
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)},
               watches=guarded(namespaces=spaces, hold="1h"))
    hook.wait(1)
    api.wait_watching("services", 4)
    for space in spaces:
        for number in range(10):
            api.delete("services", f"{space}/s{number}", silent=True)
    api.end_watches(how=error_event(500))
    watch = d.control.wait_watch("services", held=True, held_deletes=20, objects=20)
    assert watch["held_reason"] == "deletes"
    assert d.ctl("guard", "accept", "services").returncode == 0
    d.control.wait_watch("services", held=False, objects=0)
    wait_until(lambda: len(changes(hook)) == 40)


def test_s19_the_first_list_is_never_held(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)}, watches=guarded(hold="1h"))
    d.synced()
    assert not d.control.watch("services")["held"]


def test_s19_a_bookmark_of_the_lists_rv_is_not_backwards(api, daemon):
    api.apply(service("n/a"))
    api.rv = 10
    d = daemon(api, watches=guarded(hold="1h"))
    api.wait_watching("services")
    api.bookmark(rv=10)
    wait_until(lambda: d.control.watch("services")["last_bookmark_age_s"] is not None)
    assert api.sequence("services") == ["L(0)", "W(10)"]
    assert d.control.watch("services")["relists"] == 0


def test_s19_a_held_namespace_does_not_hold_up_the_others(api, daemon, hook):
    api.apply(*[service(f"{space}/s{i}") for space in "ab" for i in range(10)])
    d = daemon(api, hooks={"h": hook}, watches=guarded(
        namespaces=["a", "b"], hold="1h", relist_deletes="10%"))
    hook.wait(20)
    api.wait_watching("services", 2)
    for number in range(10):
        api.delete("services", f"a/s{number}", silent=True)
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", held=True, held_deletes=10)
    api.wait_watching("services")
    api.delete("services", "b/s0")
    api.apply(service("b/new"))
    hook.wait(22)
    d.control.wait_idle()
    assert sorted(hook.what()[20:]) == [("ADDED", "b/new"), ("DELETED", "b/s0")]
    assert d.control.watch("services")["objects"] == 20


# ---- Corner cases

def test_s19_hold_0s_asks_a_second_list_at_once_and_applies_it(api, hook, emptied):
    d = emptied(hold="0s")
    d.control.wait_watch("services", objects=0, held=False, state="watching")
    wait_until(lambda: len(changes(hook)) == 100)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services")[2:] == ["L(101)", "L(-)", f"W({api.rv})"]
    d.wait_problem("list held back", "100", watch="services")
    d.wait_problem("held list released", watch="services")


def test_s19_hold_0s_and_lists_that_never_agree_are_no_hot_loop(api, daemon):
    """Each list is wrong in another way than the one before: backwards, then short, then
    backwards."""
    api.apply(*[service(key) for key in HUNDRED])
    d = daemon(api, watches=guarded(hold="0s"), tuning={
        "backoff": {"initial": "50ms", "max": "10s", "jitter": 0.0}}).caught_up(api)
    everything = [api.get("services", key) for key in HUNDRED]
    short, past = (everything[:10], 5000), (everything, 50)
    for items, rv in (short, past) * 3:
        api.on_list("services").list(items, rv=rv)
    api.end_watches(how=error_event(500))
    d.wait_problem("list held back", watch="services")
    api.wait(lambda: len(api.of("services", "L")) >= 6)
    lists = api.of("services", "L")[2:]
    pauses = [b.time - a.time for a, b in zip(lists, lists[1:])]
    assert all(map(at_least, (0.05, 0.1, 0.2), pauses)), pauses
    assert d.control.watch("services")["objects"] == 100


@pytest.mark.parametrize("objects,held", [(9, False), (10, True)])
def test_s19_small_caches_are_not_guarded(api, daemon, objects, held):
    api.apply(*[service(key) for key in HUNDRED[:objects]])
    d = daemon(api, watches=guarded(hold="1h")).caught_up(api)
    for key in HUNDRED[:objects]:
        api.delete("services", key, silent=True)
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", held=held, objects=objects if held else 0, relists=1)


def test_s19_a_held_list_survives_failures_on_the_way_to_its_confirmation(api, hook, emptied):
    api.on_list("services", where=lambda r: r.rv is None, times=2).fail(500)
    d = emptied(hold="50ms")
    d.wait_problem("list held back", watch="services")
    d.control.wait_watch("services", held=False, objects=0, state="watching")
    lists = api.of("services", "L")[1:]
    assert [r.rv for r in lists] == ["101", None, None, None]
    wait_until(lambda: len(changes(hook)) == 100)
