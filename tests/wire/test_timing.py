# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS 80, 81, 95, 97: settle, min_interval, splay, rerun_every; times are the daemon's."""
import functools
import itertools
import time
from datetime import datetime

import pytest
from control import at_least, wait_until
from fakeapi import endpointslice, service
from harness import hook_settings

NOW = {"settle": ["0s", "0s"]}
MODES = ["object", "batch", "snapshot"]
SLACK = 0.03
LATE_S = 10   # of a machine that has much else to do
QUIET_S = 1
TWO = {"services": {"resource": "services", "namespaces": ["*"]},
       "slices": {"resource": "endpointslices.v1.discovery.k8s.io", "namespaces": ["*"]}}


def received(event):
    """When the daemon heard of it, in seconds since 1970."""
    text = event["received"]
    return datetime.fromisoformat(f"{text[:26]}+00:00").timestamp()


def began(d, hook="h"):
    return [when for when, _key in d.starts(hook)]


def pauses(times):
    return [b - a for a, b in zip(times, times[1:])]


@pytest.fixture
def settled(handled):
    """settled(mode=..., ...): a daemon that is through with n/first, so that settle counts."""
    return functools.partial(handled, service("n/first"))


# ---- 95: settle

def steady(api, keys, until):
    """Changes these objects in turn, one each 100 ms, until until(): (seconds since 1970 of the
    first change, the largest pause between two)."""
    first, last, largest, ports = time.time(), time.monotonic(), 0.0, itertools.count(1)
    key = itertools.cycle(keys)

    def change():
        nonlocal last, largest
        now = time.monotonic()
        last, largest = now, max(largest, now - last)
        if until():
            return True
        api.apply(service(next(key), ports=[next(ports)]))
        return False
    wait_until(change, what="a run", interval=0.1)
    return first, largest


def steadily(d, api, hook, until, keys=1):
    """steady(), once more when this machine was too slow for it: (the same first change, the run
    that came of it, when that was started). until(runs, first): when to end."""
    for attempt in range(10):
        count, began_at = len(hook.runs()), time.time()
        first, largest = steady(api, [f"n/steady{attempt}-{number}" for number in range(keys)],
                                lambda n=count, at=began_at: until(hook.runs()[n:], at))
        d.caught_up(api)
        if largest < QUIET_S - 0.2:
            return first, hook.runs()[count], began(d)[count]
    raise AssertionError(f"this machine cannot change an object each {QUIET_S} s")


def longer_than_quiet(_runs, first):
    return time.time() > first + 1.5 * QUIET_S


@pytest.mark.parametrize("mode", MODES)
def test_s95_steady_changes_run_at_the_longest_wait(api, hook, settled, mode):
    d = settled(mode=mode, settle=[f"{QUIET_S}s", f"{2 * QUIET_S}s"])
    first, run, start = steadily(d, api, hook, lambda runs, _first: runs)
    assert at_least(2 * QUIET_S - SLACK, start - first) and start - first < 2 * QUIET_S + LATE_S
    assert start - received(run.events[0]) < QUIET_S, "they had not become quiet"


@pytest.mark.parametrize("mode", MODES)
def test_s95_a_single_change_runs_after_the_quiet_time(api, hook, settled, mode):
    d = settled(mode=mode, settle=["200ms", "1h"])
    api.apply(service("n/a"))
    run = hook.wait(2)[1]
    assert at_least(0.2 - SLACK, began(d)[1] - received(run.events[0]))
    assert began(d)[1] - received(run.events[0]) < 0.2 + LATE_S


@pytest.mark.parametrize("mode", MODES)
def test_s95_the_quiet_time_starts_anew_with_each_change(api, hook, settled, mode):
    d = settled(mode=mode, settle=[f"{QUIET_S}s", "1h"])
    _first, run, start = steadily(d, api, hook, longer_than_quiet)
    assert run.events[0]["resource_version"] == str(api.rv)
    assert at_least(QUIET_S - SLACK, start - received(run.events[0]))


def test_s95_in_mode_object_each_key_settles_for_itself(api, hook, settled):
    d = settled(settle=["400ms", "1h"], concurrency=4)
    api.apply(service("n/quiet"))
    port = iter(range(1, 1000))

    def change_the_other():
        api.apply(service("n/restless", ports=[next(port)]))
        return hook.of("n/quiet")
    wait_until(change_the_other, interval=0.05)
    d.caught_up(api)
    assert began(d)[1] < received(hook.of("n/restless")[-1].event)


def test_s95_in_mode_batch_a_change_of_any_key_starts_the_quiet_time_anew(api, hook, settled):
    d = settled(mode="batch", settle=[f"{QUIET_S}s", "1h"])
    _first, run, start = steadily(d, api, hook, longer_than_quiet, keys=3)
    assert len(run.events) == 3
    assert str(api.rv) in [event["resource_version"] for event in run.events]
    assert at_least(QUIET_S - SLACK, start - max(map(received, run.events)))


@pytest.mark.parametrize("mode", MODES)
def test_the_first_run_does_not_settle(api, daemon, hook, mode):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, settle=["1h", "2h"])})
    hook.wait(1)
    d.caught_up(api)
    assert hook.told() == [[("ADDED", "n/a")]]


def test_a_manual_run_and_a_retry_do_not_settle(api, hook, settled):
    d = settled(settle=["1h", "2h"])
    hook.exits(1)
    api.apply(service("n/a"))
    d.seen(api)
    assert d.control.hook("h")["pending"] == 1 and len(hook.runs()) == 1
    assert d.ctl("run", "h", "n/a").returncode == 0
    failed, again = hook.wait(3)[1:]
    assert (failed.reason, failed.attempt) == ("manual", 1)
    assert (again.reason, again.attempt) == ("retry", 2)


# ---- 97: min_interval

def test_s97_runs_of_a_hook_start_no_closer_than_min_interval(api, daemon, hook):
    api.apply(*[service(f"n/s{i}") for i in range(5)])
    d = daemon(api, hooks={"h": hook_settings(hook, min_interval="300ms", concurrency=4)})
    hook.wait(5)
    d.caught_up(api)
    assert len(began(d)) == 5
    assert all(at_least(0.3 - SLACK, pause) for pause in pauses(began(d))), pauses(began(d))


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s97_what_comes_within_the_interval_is_one_run_at_its_end(api, hook, settled, mode):
    d = settled(mode=mode, min_interval="700ms", **NOW)
    for number in range(20):
        api.apply(service(f"n/s{number}"))
    d.seen(api)
    d.caught_up(api)
    assert all(at_least(0.7 - SLACK, pause) for pause in pauses(began(d))), pauses(began(d))
    assert 2 <= len(hook.runs()) <= 4
    told = [event for run in hook.runs()[1:] for event in run.told]
    assert sorted(told) == sorted(("ADDED", f"n/s{i}") for i in range(20))


def test_s97_retries_keep_the_interval_and_other_hooks_do_not(api, daemon, new_hook):
    slow, fast = new_hook(), new_hook()
    slow.exits(1, 1)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"slow": hook_settings(slow, min_interval="400ms"), "fast": fast})
    slow.wait(3)
    d.caught_up(api)
    assert len(began(d, "slow")) == 3 and slow.runs()[2].attempt == 3
    assert all(at_least(0.4 - SLACK, pause) for pause in pauses(began(d, "slow")))
    assert began(d, "fast")[0] < began(d, "slow")[1]


# ---- splay

def test_splay_is_a_random_part_on_top_of_settle(api, hook, settled):
    d = settled(settle=["200ms", "1h"], splay="400ms", concurrency=12)
    api.apply(*[service(f"n/s{i}") for i in range(12)])
    d.caught_up(api)
    heard = {run.key: received(run.event) for run in hook.runs()}
    waits = [when - heard[key] for when, key in d.starts("h") if key != "n/first"]
    assert len(waits) == 12
    assert all(at_least(0.2 - SLACK, wait) and wait < 0.6 + LATE_S for wait in waits), waits
    assert max(waits) - min(waits) > 0.06, "twelve keys that were not spread"


def test_splay_delays_no_first_run_no_retry_and_no_manual_run(api, daemon, hook):
    hook.exits(1)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, splay="8000h")})
    assert [run.reason for run in hook.wait(2)] == ["existing", "retry"]
    api.wait_watching("services")
    api.apply(service("n/b"))
    d.seen(api)
    assert d.control.hook("h")["pending"] == 1 and len(hook.runs()) == 2
    assert d.ctl("run", "h", "n/b").returncode == 0
    assert hook.wait(3)[2].what == ("ADDED", "n/b")


# ---- 80, 81: rerun_every

def test_s80_each_hook_is_run_again_at_its_own_rate_and_nothing_is_asked(api, daemon, new_hook):
    fast, slow = new_hook(), new_hook()
    stored = api.apply(service("n/a"))
    d = daemon(api, hooks={"fast": hook_settings(fast, rerun_every="300ms"),
                           "slow": hook_settings(slow, rerun_every="450ms")})
    api.wait_watching("services")
    asked = len(api.requests)
    fast.wait(7)
    slow.wait(4)
    assert len(api.requests) == asked
    for hook, name, period in ((fast, "fast", 0.3), (slow, "slow", 0.45)):
        found = pauses(began(d, name))
        assert all(at_least(period - SLACK, pause) for pause in found), found
        assert sum(found) / len(found) < period * 2, found
        first, *again = hook.runs()
        assert first.reason == "existing" and first.event["type"] == "ADDED"
        for run in again:
            assert (run.reason, run.attempt, run.what) == ("rerun", 1, ("MODIFIED", "n/a"))
            assert run.event["changed"] == [] and run.env["INFORMERD_REASON"] == "rerun"
            assert run.event["object"]["spec"] == stored["spec"]


def test_s80_a_hook_without_modified_is_told_added_again(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook_settings(hook, rerun_every="100ms", events=["added"])})
    runs = hook.wait(3)
    assert [run.what for run in runs[:3]] == [("ADDED", "n/a")] * 3
    assert [run.reason for run in runs[:3]] == ["existing", "rerun", "rerun"]


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s80_a_batch_is_everything_again_and_a_snapshot_has_no_changes(api, daemon, hook, mode):
    api.apply(service("n/a"), service("n/b"))
    daemon(api, hooks={"h": hook_settings(hook, mode=mode, rerun_every="200ms")})
    again = hook.wait(3)[2]
    assert (again.reason, again.attempt) == ("rerun", 1)
    if mode == "batch":
        assert sorted(again.told) == [("MODIFIED", "n/a"), ("MODIFIED", "n/b")]
        assert all(event["changed"] == [] and event["object"] for event in again.events)
    else:
        assert again.events == [] and len(again.snapshot["services"]) == 2


def test_s81_a_change_during_a_run_is_one_run_with_the_newest_state(api, daemon, hook):
    api.apply(service("n/a", ports=[80]))
    d = daemon(api, hooks={"h": hook_settings(hook, rerun_every="400ms")})
    hook.wait_for(lambda run: run.reason == "rerun")
    hook.block()
    count = len(hook.runs()) + 1
    hook.wait(count)
    api.wait_watching("services")
    api.apply(service("n/a", ports=[81]))
    api.apply(service("n/a", ports=[82]))
    d.seen(api)
    held = began(d)[-1]
    wait_until(lambda: time.time() - held > 0.6, what="the next rerun is due too")
    hook.release()
    runs = hook.wait(count + 2)[count:]
    assert (runs[0].reason, runs[0].port) == ("change", 82)
    assert (runs[1].reason, runs[1].port) == ("rerun", 82)
    starts = began(d)[count:]
    assert at_least(0.4 - SLACK, starts[1] - starts[0]), "the change took the place of a rerun"


def test_s81_what_was_deleted_is_not_run_again(api, daemon, hook):
    api.apply(service("n/gone"), service("n/stays"))
    d = daemon(api, hooks={"h": hook_settings(hook, rerun_every="200ms")})
    hook.wait_for(lambda run: run.reason == "rerun" and run.key == "n/gone")
    api.wait_watching("services")
    hook.block("gone")
    count = len(hook.of("n/gone")) + 1
    wait_until(lambda: len(hook.of("n/gone")) >= count)
    api.delete("services", "n/gone")
    d.seen(api)
    hook.release("gone")
    hook.wait_what("DELETED", "n/gone")
    stays = len(hook.of("n/stays"))
    wait_until(lambda: len(hook.of("n/stays")) >= stays + 4)
    assert [run.what[0] for run in hook.of("n/gone")[count - 1:]] == ["MODIFIED", "DELETED"]


def test_a_rerun_that_fails_is_retried(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook_settings(hook, rerun_every="200ms")})
    hook.wait(1)
    hook.exits(0, 1)
    failed = hook.wait_for(lambda run: run.attempt == 2)
    assert failed.reason == "retry" and failed.what == ("MODIFIED", "n/a")


def test_settle_runs_per_hook_over_its_sources_in_mode_snapshot(api, daemon, hook):
    api.apply(service("n/a"), endpointslice("n/a", "a", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(
        hook, mode="snapshot", sources=["services", "slices"], settle=["2s", "1h"])})
    hook.wait(1)
    api.wait_watching("services")
    api.wait_watching("endpointslices")
    d.control.wait_idle()
    api.apply(service("n/a", ports=[81]))
    d.seen(api)
    api.apply(endpointslice("n/a", "a", ["10.0.0.2"]))
    d.seen(api, "slices")
    d.caught_up(api)
    assert len(hook.runs()) == 2
    assert sorted(hook.runs()[1].told) == [("MODIFIED", "n/a")] * 2
    assert at_least(2 - SLACK, began(d)[1] - max(map(received, hook.runs()[1].events)))
