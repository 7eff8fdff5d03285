# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 86, 93, 94: the conditions of a first run (after, require, when_stale), and how many
runs there are at a time."""
import pytest
from control import wait_until
from fakeapi import Gate, endpointslice, service
from harness import MODES, NOW, TWO, hook_settings

BOTH = ["services", "slices"]


# ---- 86: after

@pytest.mark.parametrize("mode", MODES)
def test_s86_first_runs_go_one_after_the_other(api, daemon, new_hook, mode):
    one, two, three, free = (new_hook() for _ in range(4))
    one.block()
    two.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={
        "three": hook_settings(three, mode=mode, after=["two", "one"], **NOW),
        "two": hook_settings(two, mode=mode, after=["one"], **NOW),
        "one": hook_settings(one, mode=mode, **NOW),
        "free": hook_settings(free, mode=mode, **NOW)})
    one.wait(1)
    free.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    free.wait(2)
    assert not two.runs() and not three.runs()
    one.release()
    two.wait(1)
    assert not three.runs()
    two.release()
    three.wait(1)
    d.caught_up(api)
    assert one.runs()[0].ended <= two.runs()[0].began
    assert two.runs()[0].ended <= three.runs()[0].began
    assert {event for run in three.told() for event in run} == {("ADDED", "n/a"), ("ADDED", "n/b")}


def test_s86_all_existing_objects_count_as_the_first_run(api, daemon, new_hook):
    """In mode object, the runs for all existing objects count as the first run; later runs wait for
    no other hook."""
    first, second = new_hook(), new_hook()
    api.apply(*[service(f"n/s{i}") for i in range(4)])
    first.block("s3")
    d = daemon(api, hooks={"first": first, "second": hook_settings(second, after=["first"])})
    wait_until(lambda: len(first.runs()) == 4 and first.ended() == 3)
    assert not second.runs()
    first.release("s3")
    second.wait(4)
    d.caught_up(api)
    assert max(run.ended for run in first.runs()) <= min(run.began for run in second.runs())
    first.block()
    api.wait_watching("services")
    api.apply(service("n/new"))
    first.wait(5)
    second.wait_what("ADDED", "n/new")
    first.release()


def test_s86_a_first_run_that_fails_does_not_hold_up_the_next_hook(api, daemon, new_hook):
    first, second = new_hook(), new_hook()
    first.exit_with(1)
    api.apply(service("n/a"))
    d = daemon(api, hooks={
        "first": hook_settings(first, retry={"initial": "1h", "max": "1h"}),
        "second": hook_settings(second, after=["first"])})
    second.wait(1)
    assert first.ended() == 1 and d.control.hook("first")["last_error"]


def test_s86_a_hook_with_nothing_to_do_counts_as_done(api, daemon, new_hook):
    first, second = new_hook(), new_hook()
    api.apply(service("n/a"))
    daemon(api, hooks={"first": hook_settings(first, existing="skip"),
                       "second": hook_settings(second, after=["first"])})
    second.wait(1)
    assert not first.runs()


def test_s86_existing_objects_are_told_before_later_ones(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    hook.block()
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/later"))
    d.seen(api)
    hook.release()
    d.caught_up(api)
    assert [key for _type, key in hook.what()] == ["n/a", "n/b", "n/later"]
    assert [run.reason for run in hook.runs()] == ["existing", "existing", "change"]


# ---- require

@pytest.mark.parametrize("mode", MODES)
def test_require_any_runs_with_the_first_source_and_takes_the_others_in_later(api, daemon, hook,
                                                                              mode):
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    api.apply(service("n/a"), endpointslice("n/b", "b", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(
        hook, mode=mode, sources=BOTH, require="any", **NOW)})
    first = hook.wait(1)[0]
    assert first.told == [("ADDED", "n/a")] and first.reason == "existing"
    assert {n: s["synced"] for n, s in first.input["sources"].items()} == {
        "services": True, "slices": False}
    if mode == "snapshot":
        assert set(first.snapshot) == {"services"}, "absent, never []"
    gate.open()
    second = hook.wait(2)[1]
    d.caught_up(api)
    assert second.told == [("ADDED", "n/b")] and len(hook.runs()) == 2
    assert all(s["synced"] for s in second.input["sources"].values())
    if mode == "snapshot":
        assert set(second.snapshot) == {"services", "slices"}


def test_require_any_with_existing_skip_skips_each_source_as_it_comes(api, daemon, hook):
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    api.apply(service("n/a"), endpointslice("n/b", "b", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(
        hook, sources=BOTH, require="any", existing="skip")}, state_dir="none")
    api.wait_watching("services")
    wait_until(lambda: d.ctl_json("why", "h", "n/a")["units"][0]["reason"] == "handled",
               what="the hook has begun, and has skipped what there was")
    api.apply(service("n/c"))
    hook.wait(1)
    gate.open()
    api.wait_watching("endpointslices")
    d.synced()
    api.apply(endpointslice("n/d", "d", ["10.0.0.2"]))
    hook.wait(2)
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/c"), ("ADDED", "n/d")]


@pytest.mark.parametrize("mode", MODES)
def test_s94_require_all_waits_for_both_while_another_hook_runs(api, daemon, new_hook, mode):
    every, some = new_hook(), new_hook()
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    api.apply(service("n/a"), endpointslice("n/b", "b", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={
        "every": hook_settings(every, mode=mode, sources=BOTH, require="all", **NOW),
        "some": hook_settings(some, mode=mode, sources=BOTH, require="any", **NOW)})
    some.wait(1)
    api.wait_watching("services")
    api.apply(service("n/c"))
    some.wait(2)
    assert not every.runs()
    gate.open()
    every.wait(1)
    d.caught_up(api)
    assert sorted(event for told in every.told() for event in told) == [
        ("ADDED", "n/a"), ("ADDED", "n/b"), ("ADDED", "n/c")]


# ---- when_stale

@pytest.fixture
def half_stale(api, factory, new_hook):
    """half_stale(**settings): (d, hook, other) with source services stale and slices fine; the runs
    of `other` show that changes of slices arrive. half_stale.heal() brings services back."""
    def make(**more):
        hook, other = new_hook(), new_hook()
        api.apply(service("n/a"), endpointslice("n/b", "b", ["10.0.0.1"]))
        cluster = {**factory.cluster(api), "stale_after": "200ms"}
        d = factory.daemon(clusters={"prod": cluster}, watches=TWO, hooks={
            "h": hook_settings(hook, sources=BOTH, **{**NOW, **more}),
            "other": hook_settings(other, sources=["slices"])})
        hook.wait(1)
        other.wait(1)
        api.wait_watching("services")
        api.wait_watching("endpointslices")
        d.control.wait_idle()
        hook.forget()
        rule = api.on(resource="services", times=None).fail(500)
        api.end_watches("services", how="rst")
        make.heal = rule.cancel
        d.control.wait_watch("services", stale=True)
        wait_until(lambda: d.log(msg="watch is stale"))
        return d, hook, other
    return make


def change_slices(api, other, number):
    api.apply(endpointslice(f"n/c{number}", "c", ["10.0.0.9"]))
    other.wait_what("ADDED", f"n/c{number}")


@pytest.mark.parametrize("mode", MODES)
def test_when_stale_wait_starts_nothing_until_the_source_is_fresh(api, half_stale, mode):
    d, hook, other = half_stale(mode=mode, when_stale="wait")
    for number in range(3):
        change_slices(api, other, number)
    assert not hook.runs() and d.control.hook("h")["pending"] == 3
    half_stale.heal()
    hook.wait(1)
    d.caught_up(api)
    told = [event for run in hook.told() for event in run]
    assert sorted(told) == [("ADDED", f"n/c{i}") for i in range(3)]
    assert all(not s["stale"] for run in hook.runs() for s in run.input["sources"].values())


@pytest.mark.parametrize("settings", [{}, {"when_stale": "run"},
                                      {"when_stale": "wait", "require": "any"}],
                         ids=["default", "run", "wait, but any source will do"])
def test_a_stale_source_does_not_delay_hooks_that_allow_it(api, half_stale, settings):
    d, hook, other = half_stale(**settings)
    change_slices(api, other, 1)
    run = hook.wait(1)[0]
    assert run.what == ("ADDED", "n/c1")
    assert {n: s["stale"] for n, s in run.input["sources"].items()} == {
        "services": True, "slices": False}
    half_stale.heal()
    d.control.wait_watch("services", stale=False)


# ---- 93: how many at a time

def test_s93_each_hook_has_a_slot_and_the_shared_ones_go_beyond(api, daemon, new_hook):
    hooks = {name: new_hook() for name in ("a", "b", "c")}
    for hook in hooks.values():
        hook.block()
    api.apply(*[service(f"n/s{i}") for i in range(6)])
    d = daemon(api, limits={"hook_concurrency": 2}, hooks={
        name: hook_settings(hook, concurrency=4) for name, hook in hooks.items()})

    def running():
        return [d.control.hook(name)["running"] for name in hooks]
    wait_until(lambda: sum(running()) == 5, what="3 slots of their own and 2 shared ones")
    wait_until(lambda: sum(len(hook.runs()) for hook in hooks.values()) == 5)
    api.wait_watching("services")
    api.apply(service("n/more"))
    d.seen(api)
    assert sum(running()) == 5 and min(running()) >= 1
    for hook in hooks.values():
        hook.release()
    d.caught_up(api)
    for hook in hooks.values():
        most, twice = hook.most_at_once()
        assert most <= 4 and not twice and len(hook.runs()) == 7


def test_s93_two_runs_of_a_key_never_overlap_while_it_changes(api, daemon, new_hook):
    hook = new_hook(extra="sleep 0.03")
    d = daemon(api, hooks={"h": hook_settings(hook, concurrency=4)}).synced()
    api.wait_watching("services")
    hook.block()
    api.apply(service("n/a"), service("n/b"))
    hook.wait(2)
    hook.release()
    for port in range(1, 31):
        for key in ("n/a", "n/b"):
            api.apply(service(key, ports=[port]))
        wait_until(lambda count=port: len(hook.runs()) >= min(count, 5))
    d.caught_up(api)
    most, twice = hook.most_at_once()
    assert most == 2 and not twice
    assert [hook.of(key)[-1].port for key in ("n/a", "n/b")] == [30, 30]


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s93_batches_and_snapshots_of_a_hook_never_overlap(api, daemon, new_hook, mode):
    hook = new_hook(extra="sleep 0.03")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, **NOW)})
    hook.wait(1)
    api.wait_watching("services")
    for number in range(40):
        api.apply(service(f"n/s{number}"))
        wait_until(lambda count=1 + number // 10: len(hook.runs()) >= count)
    d.caught_up(api)
    assert [step[0] for step in hook.order()] == ["start", "end"] * len(hook.runs())
    assert len(hook.runs()) >= 3


# ---- 94: before the sources are synced

@pytest.mark.parametrize("mode", MODES)
def test_s94_a_hundred_events_before_the_barrier_opens_are_one_run(api, daemon, hook, mode):
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(hook, mode=mode, sources=BOTH, **NOW)})
    d.synced("services")
    api.wait_watching("services")
    for port in range(1, 101):
        api.apply(service("n/a", ports=[port]))
    d.seen(api)
    assert not hook.runs()
    gate.open()
    hook.wait(1)
    d.caught_up(api)
    assert hook.told() == [[("ADDED", "n/a")]]
    assert hook.runs()[0].events[0]["resource_version"] == str(api.rv)
