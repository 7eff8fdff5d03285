# SPDX-License-Identifier: Apache-2.0
"""Several streams in one cache, one stream for equal watches, and when requests are made."""
import asyncio

import campaign
import pytest
from control import at_least, wait_until
from fakeapi import Gate, error_event, service
from harness import hook_settings

EVERY = {"resource": "services", "namespaces": ["*"]}


def spaces(*names, **more):
    return {"services": {"resource": "services", "namespaces": list(names), **more}}


# ---- Several namespaces, one cache

def test_deltas_of_all_namespaces_come_from_one_source(api, daemon, hook):
    api.apply(service("a/s"), service("b/s"))
    d = daemon(api, hooks={"h": hook}, watches=spaces("a", "b"))
    hook.wait(2)
    api.wait_watching("services", 2)
    api.apply(service("b/t"))
    hook.wait(3)
    api.apply(service("a/s", ports=[81]))
    hook.wait(4)
    api.delete("services", "b/s")
    hook.wait(5)
    assert hook.what()[2:] == [("ADDED", "b/t"), ("MODIFIED", "a/s"), ("DELETED", "b/s")]
    assert {run.event["source"] for run in hook.runs()} == {"services"}
    assert sorted(d.control.keys("services")) == ["a/s", "b/t"]


def test_the_same_name_in_two_namespaces_is_two_objects(api, daemon, hook):
    api.apply(service("a/s"), service("b/s"))
    d = daemon(api, hooks={"h": hook}, watches=spaces("a", "b"))
    hook.wait(2)
    api.wait_watching("services", 2)
    api.delete("services", "a/s")
    hook.wait(3)
    d.control.wait_idle()
    assert hook.what()[2:] == [("DELETED", "a/s")] and d.control.keys("services") == ["b/s"]


def test_a_broken_stream_leaves_the_objects_of_the_others_alone(api, daemon, hook):
    api.apply(service("a/s"), service("b/s"), service("b/t"))
    d = daemon(api, hooks={"h": hook}, watches=spaces("a", "b"))
    hook.wait(3)
    api.wait_watching("services", 2)
    broken = api.on(resource="services", times=None,
                    where=lambda r: r.namespace == "a").fail(500, message="a is broken")
    api.end_watches(how=error_event(500))
    d.wait_problem("a is broken", watch="services", scope="a")
    api.wait(lambda: [r for r in api.of("services", "W") if r.namespace == "b"][1:])
    api.wait_watching("services")
    assert d.control.watch("services")["state"] in ("backoff", "listing")
    api.delete("services", "b/s")
    hook.wait_what("DELETED", "b/s")
    api.apply(service("b/u"), service("a/t", ports=[1]))
    hook.wait_what("ADDED", "b/u")
    assert sorted(d.control.keys("services")) == ["a/s", "b/t", "b/u"]
    broken.cancel()
    hook.wait_what("ADDED", "a/t")
    d.control.wait_watch("services", state="watching", objects=4, last_error=None)
    assert [what for what in hook.what() if what[0] == "DELETED"] == [("DELETED", "b/s")]
    assert {r.kind for r in api.of("services") if r.namespace == "b"} == {"L", "W"}


def test_a_namespace_that_is_forbidden_does_not_stop_the_others_but_the_first_run_waits(
        api, daemon, hook):
    api.apply(service("a/s"), service("b/s"))
    rule = api.on_list("services", where=lambda r: r.namespace == "a", times=None).fail(403)
    d = daemon(api, hooks={"h": hook}, watches=spaces("a", "b"))
    api.wait_watching("services")
    watch = d.control.wait_watch("services", state="forbidden", objects=1)
    assert not watch["synced"] and not hook.runs()
    rule.cancel()
    hook.wait(2)
    d.control.wait_watch("services", synced=True, state="watching")


# ---- Equal watches

def test_equal_watches_share_one_stream_and_hooks_see_their_own_name(api, daemon, new_hook):
    one, two = new_hook(), new_hook()
    api.apply(service("n/a"))
    d = daemon(api, watches={"one": EVERY, "two": EVERY}, hooks={
        "h1": hook_settings(one, sources=["one"]), "h2": hook_settings(two, sources=["two"])})
    one.wait(1)
    two.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    for hook, name in ((one, "one"), (two, "two")):
        run = hook.wait(2)[1]
        assert run.event["source"] == run.env["INFORMERD_SOURCE"] == name
        assert list(run.input["sources"]) == [name]
    d.caught_up(api, "one")
    assert api.sequence() == ["L(0)", "W(2)"] and api.watching("services") == 1
    status = d.control.status()["watches"]
    assert set(status) == {"one", "two"} and status["one"] == status["two"]
    assert d.control.keys("one") == d.control.keys("two") == ["n/a", "n/b"]


def test_a_hook_on_both_names_of_a_watch_hears_each(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, watches={"one": EVERY, "two": EVERY},
               hooks={"h": hook_settings(hook, sources=["one", "two"])})
    hook.wait(2)
    d.caught_up(api, "one")
    assert sorted((r.event["source"], r.key) for r in hook.runs()) == [("one", "n/a"),
                                                                      ("two", "n/a")]
    assert api.sequence() == ["L(0)", "W(2)"]


UNEQUAL = {
    "a selector": {"label_selector": "app=x"}, "a namespace": {"namespaces": ["n"]},
    "names": {"names": ["a"]}, "keep": {"keep": ["spec"]}, "drop": {"drop": ["status"]},
    "match": {"match": ["spec"]}, "the guard": {"guard": {"hold": "1s"}},
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_watches_that_differ_do_not_share(api, daemon, name):
    api.apply(service("n/a", labels={"app": "x"}))
    d = daemon(api, watches={"one": EVERY, "two": {**EVERY, **UNEQUAL[name]}}).synced()
    api.wait_watching("services", 2)
    assert len(api.of("services", "L")) == 2
    assert d.ctl("relist", "two").returncode == 0
    d.control.wait_watch("two", relists=1)
    assert d.control.watch("one")["relists"] == 0


def test_an_equal_watch_of_another_cluster_does_not_share(new_api, factory):
    here, there = new_api(), new_api()
    here.apply(service("n/a"))
    there.apply(service("n/b"))
    d = factory.daemon(clusters={"here": factory.cluster(here), "there": factory.cluster(there)},
                       watches={"one": {**EVERY, "cluster": "here"},
                                "two": {**EVERY, "cluster": "there"}}).synced()
    assert (d.control.keys("one"), d.control.keys("two")) == (["n/a"], ["n/b"])


# ---- When requests are made

def many(count):
    return {f"w{i}": {"resource": "configmaps", "namespaces": [f"ns{i}"]} for i in range(count)}


# tests/unit/test_reflector_waits.c proves in virtual time how long each request waits.

@pytest.fixture
def jittered(new_api, factory):
    """jittered(**tuning): (slow, fast, daemon): two servers and a daemon, which has 24 watches with
    this tuning on the first server, and one watch without it on the second."""
    def make(**tuning):
        slow, fast = new_api(), new_api()
        backoff = {"initial": "50ms", "max": "50ms", "jitter": 0.0}
        clusters = {"slow": factory.cluster(slow, {"backoff": backoff, "list_concurrency": 100,
                                                   **tuning}),
                    "fast": factory.cluster(fast, {"backoff": backoff})}
        watches = {name: {**watch, "cluster": "slow"} for name, watch in many(24).items()}
        watches["fast"] = {**EVERY, "cluster": "fast"}
        return slow, fast, factory.daemon(clusters=clusters, watches=watches)
    return make


def test_start_jitter_spreads_the_first_lists(jittered):
    """They are spread over an hour, so hardly any list comes during the test."""
    slow, fast, d = jittered(start_jitter="1h")
    fast.wait_watching("services")
    assert len(slow.of("configmaps")) < 5
    waiting = [name for name, w in d.control.status()["watches"].items() if not w["synced"]]
    assert len(waiting) >= 20


def test_start_jitter_is_another_one_for_each_watch(api, daemon):
    """Lists come one after the other, and not in the order of the watches."""
    daemon(api, watches=many(12), tuning={"start_jitter": "300ms", "list_concurrency": 1}).synced()
    asked = [int(r.namespace[2:]) for r in api.of("configmaps", "L")]
    assert sorted(asked) == list(range(12)) and asked != sorted(asked)


def test_without_start_jitter_all_lists_begin_at_once(api, daemon):
    gate = Gate()
    api.on_list("configmaps", times=None).hold(gate)
    d = daemon(api, watches=many(24), tuning={"list_concurrency": 100, "relist_jitter": "1h"})
    api.wait(lambda: len(api.of("configmaps", "L")) == 24)
    gate.open()
    d.synced()


def test_without_start_jitter_lists_come_in_the_order_of_the_watches(api, daemon):
    daemon(api, watches=many(12), tuning={"list_concurrency": 1}).synced()
    assert [int(r.namespace[2:]) for r in api.of("configmaps", "L")] == list(range(12))


def test_relist_jitter_spreads_later_lists_above_the_backoff(jittered):
    """They are spread over an hour: when the watch without jitter is back, hardly any list has
    come."""
    slow, fast, d = jittered(relist_jitter="1h")
    d.synced()
    slow.wait_watching("configmaps", 24)
    fast.wait_watching("services")
    begin = max(r.time for r in fast.of("services", "W"))
    slow.end_watches(how=error_event(500))
    wait_until(lambda: sum(w["state"] == "backoff"
                           for w in d.control.status()["watches"].values()) >= 20)
    fast.end_watches(how=error_event(500))
    fast.wait_for_request(lambda r: r.kind == "W", count=2)
    assert at_least(0.05, fast.of("services", "L")[1].time - begin)
    assert len(slow.of("configmaps", "L")) < 24 + 5


def test_resuming_a_watch_is_not_jittered(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, tuning={"relist_jitter": "1h", "start_jitter": "0s"})
    api.wait_watching("services")
    api.apply(service("n/a"))
    hook.wait(1)
    api.end_watches()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    d.caught_up(api)
    assert len(api.of("services", "L")) == 1


@pytest.mark.parametrize("width", [1, 3])
def test_list_concurrency_bounds_the_lists_under_way(api, daemon, width):
    gates = [Gate() for _ in range(9)]
    for gate in gates:
        api.on_list("configmaps").hold(gate)
    d = daemon(api, watches=many(9), tuning={"list_concurrency": width})
    for number, gate in enumerate(gates):
        api.wait(lambda n=number: len(api.of("configmaps", "L")) >= min(n + width, 9))
        answered = sum(r.status is not None for r in api.of("configmaps", "L"))
        assert answered == number
        assert len(api.of("configmaps", "L")) <= number + width
        gate.open()
        api.wait(lambda n=number: sum(
            r.status is not None for r in api.of("configmaps", "L")) == n + 1)
    d.synced()
    api.wait_watching("configmaps", 9)


def test_list_concurrency_does_not_bound_watches(api, daemon):
    d = daemon(api, watches=many(6), tuning={"list_concurrency": 1}).synced()
    api.wait_watching("configmaps", 6)
    wait_until(lambda: all(w["state"] == "watching"
                           for w in d.control.status()["watches"].values()))


@pytest.mark.skipif(not campaign.LONG, reason="takes a minute; see unit/test_api_client_lists.c")
@pytest.mark.parametrize("watch_list", ["off", "on"])
def test_a_list_that_drips_gives_its_place_to_others(api, daemon, watch_list):
    async def drip(exchange):
        await exchange.start_stream()
        while True:
            await exchange.conn.send(exchange.chunk(b" "))
            await asyncio.sleep(1)
    api.apply(service("n/a"))
    api.on_list("services", times=None).run(drip)
    api.on_stream("services", times=None).run(drip)
    maps = {"resource": "configmaps", "namespaces": ["*"]}
    d = daemon(api, watches={"services": EVERY, "maps": maps},
               tuning={"list_concurrency": 1, "watch_list": watch_list})
    d.wait_problem("too slowly", "64 kib", watch="services", timeout=100)
    d.synced("maps", timeout=100)
    assert not d.control.watch("services")["synced"]
