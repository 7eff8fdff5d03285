# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 87-90: changes that gather while a hook is busy, in all modes; mode batch."""
import pytest
from fakeapi import endpointslice, error_event, service
from harness import MODES, NOW, TWO, hook_settings
from hooks import port_of


@pytest.fixture
def busy(api, handled, hook):
    """busy(mode, ...): a daemon whose hook has handled n/a (port 80) and is held up by n/busy."""
    def make(mode, **more):
        d = handled(**{"mode": mode, **NOW, **more})
        hook.block()
        api.apply(service("n/busy"))
        hook.wait(2)
        return d
    return make


def rest(hook, d, api):
    """Lets the busy hook go on; returns all events of its later runs."""
    d.seen(api)
    hook.release()
    d.caught_up(api)
    return [event for run in hook.runs()[2:] for event in run.events]


# ---- 87: everything at the start

@pytest.mark.parametrize("mode,member", [("batch", "events"), ("snapshot", "changes")])
def test_s87_the_first_run_carries_everything(api, daemon, hook, mode, member):
    api.apply(*[service(f"n/s{i}") for i in range(5)])
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode)})
    first = hook.wait(1)[0]
    d.caught_up(api)
    assert len(hook.runs()) == 1 and first.reason == "existing" and first.attempt == 1
    assert sorted(first.told) == [("ADDED", f"n/s{i}") for i in range(5)]
    assert member in first.input and "event" not in first.input
    assert ("snapshot" in first.input) == (mode == "snapshot")
    assert "INFORMERD_EVENT" not in first.env and "INFORMERD_NAME" not in first.env


@pytest.mark.parametrize("mode", MODES)
def test_s87_existing_skip_starts_no_run_and_the_first_event_has_the_whole_snapshot(api, daemon,
                                                                                    hook, mode):
    api.apply(*[service(f"n/s{i}") for i in range(5)])
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, existing="skip", **NOW)})
    d.synced()
    api.wait_watching("services")
    d.caught_up(api)
    assert not hook.runs()
    api.apply(service("n/s3", ports=[81]))
    run = hook.wait(1)[0]
    assert run.told == [("MODIFIED", "n/s3")] and run.reason == "change"
    assert "spec.ports[0].port" in run.events[0]["changed"]
    if mode == "snapshot":
        assert len(run.snapshot["services"]) == 5
    d.caught_up(api)
    assert len(hook.runs()) == 1


# ---- 88, 89: one later run

@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s88_changes_during_a_run_are_one_later_run(api, hook, busy, mode):
    d = busy(mode)
    api.apply(service("n/x"))
    api.delete("services", "n/a")
    api.apply(service("n/busy", ports=[81]))
    rest(hook, d, api)
    assert len(hook.runs()) == 3
    last = hook.runs()[2]
    assert sorted(last.told) == [("ADDED", "n/x"), ("DELETED", "n/a"), ("MODIFIED", "n/busy")]
    if mode == "snapshot":
        assert [o["metadata"]["name"] for o in last.snapshot["services"]] == ["busy", "x"]
        assert all("object" not in change for change in last.input["changes"])
    else:
        objects = {e["name"]: e["object"] for e in last.events}
        assert objects["busy"]["spec"]["ports"][0]["port"] == 81
        assert objects["a"]["spec"]["ports"][0]["port"] == 80, "the last known state"


def test_s89_each_hook_has_a_queue_of_its_own_and_keys_keep_their_order(api, daemon, new_hook):
    a, b = new_hook(), new_hook()
    api.apply(service("n/first"), endpointslice("n/first", "first", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={
        "a": hook_settings(a, mode="batch", **NOW),
        "b": hook_settings(b, mode="batch", sources=["slices"], **NOW)})
    a.wait(1)
    b.wait(1)
    d.caught_up(api)
    a.block()
    api.apply(service("n/busy"))
    a.wait(2)
    api.apply(service("n/a1"), service("n/a2"))
    api.apply(endpointslice("n/b1", "b1", ["10.0.0.1"]))
    assert b.wait(2)[1].told == [("ADDED", "n/b1")], "hook a is busy, hook b is not"
    api.apply(service("n/a3"), service("n/a1", ports=[81]))
    d.seen(api)
    a.release()
    d.caught_up(api)
    assert a.told()[2:] == [[("ADDED", "n/a1"), ("ADDED", "n/a2"), ("ADDED", "n/a3")]]
    assert len(b.runs()) == 2


def test_s89_in_mode_object_keys_run_in_the_order_in_which_they_changed(api, hook, busy):
    d = busy("object")
    for name in ("z", "y", "x", "z", "w", "y"):
        api.apply(service(f"n/{name}", ports=[api.rv]))
    rest(hook, d, api)
    assert [key for _type, key in hook.what()[2:]] == ["n/z", "n/y", "n/x", "n/w"]


# ---- 90: states in between

OPS = {
    "M": lambda api, key, port: api.apply(service(key, ports=[port])),
    "C": lambda api, key, port: api.apply(service(key, ports=[port])),
    "D": lambda api, key, port: api.delete("services", key),
    "=": lambda api, key, port: api.apply(service(key, ports=[80])),
}
KNOWN = {"M": "M", "MMM": "M", "D": "D", "MD": "D", "DC": "DA", "DCM": "DA", "DCD": "D",
         "DCDC": "DA", "MDCMM": "DA", "M=": ""}
NEW = {"C": "A", "CMM": "A", "CD": "", "CDC": "A", "CDCD": ""}
TYPES = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED"}


def play(api, key, ops):
    """Makes these changes to the object; returns its newest state."""
    for port, op in enumerate(ops, 1000):
        OPS[op](api, key, port)
    try:
        return api.get("services", key)
    except KeyError:
        return None


def check(events, key, wanted, newest, first_uid):
    assert [(e["type"], f"{e['namespace']}/{e['name']}") for e in events] == [
        (TYPES[letter], key) for letter in wanted]
    for event in events:
        if event["type"] == "DELETED":
            assert event["uid"] == first_uid, "the incarnation that was delivered"
        else:
            assert event["uid"] == newest["metadata"]["uid"]
            assert event["resource_version"] == newest["metadata"]["resourceVersion"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ops", KNOWN)
def test_s90_of_a_handled_object_the_newest_state_and_its_delete_survive(api, hook, busy, mode,
                                                                        ops):
    d = busy(mode)
    uid = api.get("services", "n/a")["metadata"]["uid"]
    newest = play(api, "n/a", ops)
    events = rest(hook, d, api)
    check(events, "n/a", KNOWN[ops], newest, uid)
    if mode != "object":
        assert len(hook.runs()) == 2 + bool(KNOWN[ops])
    if mode != "snapshot" and KNOWN[ops].endswith(("A", "M")):
        assert port_of(events[-1]) == newest["spec"]["ports"][0]["port"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ops", NEW)
def test_s90_of_an_undelivered_object_only_the_newest_state_counts(api, hook, busy, mode, ops):
    d = busy(mode)
    newest = play(api, "n/new", ops)
    check(rest(hook, d, api), "n/new", NEW[ops], newest, None)


# ---- Mode batch

def test_a_batch_has_whole_events_of_all_its_sources(api, daemon, hook):
    stored = api.apply(service("n/a"))
    api.apply(endpointslice("n/a", "a", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={
        "h": hook_settings(hook, mode="batch", sources=["services", "slices"], **NOW)})
    first = hook.wait(1)[0]
    d.caught_up(api)
    assert len(hook.runs()) == 1
    by_source = {event["source"]: event for event in first.events}
    assert len(first.events) == 2 and set(by_source) == {"services", "slices"}
    event = by_source["services"]
    assert (event["type"], event["cluster"], event["api_version"], event["kind"]) == (
        "ADDED", "prod", "v1", "Service")
    assert event["uid"] == stored["metadata"]["uid"] and event["received"].endswith("Z")
    assert event["object"]["spec"] == stored["spec"] and event["changed"] == []
    assert (by_source["slices"]["api_version"], by_source["slices"]["kind"]) == (
        "discovery.k8s.io/v1", "EndpointSlice")
    assert {name: s["synced"] for name, s in first.input["sources"].items()} == {
        "services": True, "slices": True}


def test_a_burst_is_one_batch(api, daemon, hook):
    """If the machine paused within the burst, the test makes another burst."""
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode="batch", settle=["150ms", "1h"])})
    hook.wait(1)
    api.wait_watching("services")
    for burst in range(1, 51):
        d.caught_up(api)
        hook.forget()
        api.apply(*[service(f"n/b{burst}-{number}") for number in range(100)])
        d.caught_up(api)
        told = [event for run in hook.runs() for event in run.told]
        assert sorted(told) == sorted(("ADDED", f"n/b{burst}-{i}") for i in range(100))
        if len(hook.runs()) == 1:
            break
    assert len(hook.runs()) == 1


def test_after_a_failure_a_batch_is_everything_since_the_last_handled_one(api, handled, hook):
    d = handled(service("n/a"), service("n/b"), mode="batch",
                retry={"initial": "300ms", "max": "300ms"}, **NOW)
    hook.exits(1)
    hook.block()
    api.apply(service("n/a", ports=[81]))
    failed = hook.wait(2)[1]
    assert failed.told == [("MODIFIED", "n/a")] and failed.attempt == 1
    api.apply(service("n/a", ports=[82]), service("n/c"))
    api.delete("services", "n/b")
    d.seen(api)
    hook.release()
    d.caught_up(api)
    assert len(hook.runs()) == 3
    union = hook.runs()[2]
    assert sorted(union.told) == [("ADDED", "n/c"), ("DELETED", "n/b"), ("MODIFIED", "n/a")]
    assert union.attempt == 2
    assert [port_of(e) for e in union.events if e["name"] == "a"] == [82]


@pytest.mark.parametrize("mode", MODES)
def test_an_object_of_a_failed_run_is_told_as_deleted_when_it_goes(api, handled, hook, mode):
    d = handled(mode=mode, **NOW)
    hook.block()
    hook.exits(1)
    new = api.apply(service("n/new"))
    assert hook.wait(2)[1].told == [("ADDED", "n/new")]
    api.delete("services", "n/new")
    d.seen(api)
    hook.release()
    d.caught_up(api)
    last = hook.runs()[-1]
    assert hook.told()[2:] == [[("DELETED", "n/new")]]
    assert last.events[0]["uid"] == new["metadata"]["uid"]
    assert last.attempt == (1 if mode == "object" else 2), "a DELETED starts a new backoff"


@pytest.mark.parametrize("mode", MODES)
def test_a_change_back_runs_if_a_run_was_told_of_the_change(api, handled, hook, mode):
    """A (handled) -> B (fails) -> A runs again: the failed run may have had effects."""
    d = handled(service("n/a", ports=[80]), mode=mode, **NOW)
    hook.block()
    hook.exits(1)
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    api.apply(service("n/a", ports=[80]))
    d.seen(api)
    hook.release()
    d.caught_up(api)
    assert hook.told()[1:] == [[("MODIFIED", "n/a")]] * 2
    again = hook.runs()[2]
    assert "spec.ports[0].port" in again.events[0]["changed"], "the failed run was told of it"
    state = again.snapshot["services"][0] if mode == "snapshot" else again.events[0]["object"]
    assert state["spec"]["ports"][0]["port"] == 80


def test_the_differences_of_a_relist_are_one_batch(api, handled, hook):
    d = handled(*[service(f"n/s{i}") for i in range(4)], mode="batch")
    api.delete("services", "n/s0", silent=True)
    api.apply(service("n/s1", ports=[81]), service("n/new"), silent=True)
    api.end_watches(how=error_event(500))
    run = hook.wait(2)[1]
    d.caught_up(api)
    assert sorted(run.told) == [("ADDED", "n/new"), ("DELETED", "n/s0"), ("MODIFIED", "n/s1")]
    assert {event["cause"] for event in run.events} == {"relist"}
    gone = next(event for event in run.events if event["type"] == "DELETED")
    assert gone["final_state_unknown"] is True and gone["object"]["metadata"]["name"] == "s0"
    assert len(hook.runs()) == 2
