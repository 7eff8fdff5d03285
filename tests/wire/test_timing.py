# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 80, 81, 95, 97: settle, min_interval, splay, rerun_every.
tests/unit/test_scheduler.c, test_scheduler_waits.c and test_hook_rerun.c prove in virtual time that
no run comes too late. Here no run may come too early, counted from just before the test's own
action; and a run that must come at once comes although all waits are set to an hour."""
import functools
import itertools
import time
from datetime import datetime

import pytest
from control import at_least, wait_until
from fakeapi import endpointslice, service
from harness import MODES, NOW, TWO, hook_settings

SLACK = 0.03
QUIET_S = 0.3


def seconds(text):
    """A time of the daemon as seconds since 1970."""
    return datetime.fromisoformat(f"{text[:26].rstrip('Z')}+00:00").timestamp()


def ms(period):
    return f"{round(period * 1000)}ms"


def none_before(begin, period, runs):
    """(whether the runs began at least `period` apart, and the first one not before `begin`; their
    times)."""
    found = [run.began - begin for run in runs]
    return all(at_least(n * period - SLACK, when) for n, when in enumerate(found)), found


@pytest.fixture
def settled(handled):
    """settled(mode=..., ...): a daemon whose hook has handled n/first: settle applies to later runs
    only."""
    return functools.partial(handled, service("n/first"))


@pytest.fixture
def each_mode(api, daemon, new_hook):
    """each_mode(...): (daemon, {mode: hook}): as settled(), but with a hook of each mode."""
    def make(**more):
        hooks = {mode: new_hook() for mode in MODES}
        api.apply(service("n/first"))
        d = daemon(api, hooks={mode: hook_settings(hook, mode=mode, **more)
                               for mode, hook in hooks.items()})
        for hook in hooks.values():
            hook.wait(1)
        api.wait_watching("services")
        d.caught_up(api)
        for hook in hooks.values():
            hook.forget()
        return d, hooks
    return make


# ---- 95: settle

def newest(run, key):
    """The version of this object in the events of a run; None = it is not among them."""
    return next((event["resource_version"] for event in run.events
                 if f"{event['namespace']}/{event['name']}" == key), None)


def test_s95_steady_changes_run_at_the_longest_wait(api, each_mode):
    d, hooks = each_mode(settle=[ms(QUIET_S), ms(QUIET_S)])
    ports, first = itertools.count(1), time.time()

    def change():
        api.apply(service("n/a", ports=[next(ports)]))
        return all(hook.runs() for hook in hooks.values())
    wait_until(change, what="a run in each mode", interval=QUIET_S / 6)
    for mode, hook in hooks.items():
        assert at_least(QUIET_S - SLACK, hook.runs()[0].began - first), mode
    d.caught_up(api)


def test_s95_a_single_change_runs_after_the_quiet_time(api, each_mode):
    d, hooks = each_mode(settle=[ms(QUIET_S), "1h"])
    applied = time.time()
    api.apply(service("n/a"))
    d.caught_up(api)
    for mode, hook in hooks.items():
        run, = hook.wait(1)
        assert at_least(QUIET_S - SLACK, run.began - applied), mode


def test_s95_the_quiet_time_starts_anew_with_each_change(api, each_mode):
    """In modes batch and snapshot, it starts anew with each change of any key."""
    d, hooks = each_mode(settle=[ms(QUIET_S), "1h"])
    applied = {}
    for key in ["n/a"] * 5 + ["n/b"]:
        applied[key] = time.time()
        stored = api.apply(service(key, ports=[len(applied) + api.rv]))
        applied[f"{key} as"] = stored["metadata"]["resourceVersion"]
        time.sleep(QUIET_S * 0.4)
    d.caught_up(api)
    for mode, hook in hooks.items():
        for key in ("n/a", "n/b"):
            last = [run for run in hook.runs() if newest(run, key) == applied[f"{key} as"]]
            assert len(last) == 1, (mode, key)
            assert at_least(QUIET_S - SLACK, last[0].began - applied[key]), (mode, key)


def test_s95_in_mode_object_each_key_settles_for_itself(api, hook, settled):
    d = settled(settle=["200ms", "1h"], concurrency=4)
    api.apply(service("n/quiet"))
    port = iter(range(1, 100000))

    def change_the_other():
        api.apply(service("n/restless", ports=[next(port)]))
        return hook.of("n/quiet")
    wait_until(change_the_other, what="one is run while the other changes on", interval=0.03)
    d.caught_up(api)
    assert hook.of("n/restless")[-1].event["resource_version"] == str(api.rv)


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


def test_settle_runs_per_hook_over_its_sources_in_mode_snapshot(api, daemon, hook):
    """Two changes close to each other are one run. If the machine paused between the two, the test
    makes another two."""
    api.apply(service("n/a"), endpointslice("n/a", "a", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(
        hook, mode="snapshot", sources=["services", "slices"], settle=["500ms", "1h"])})
    hook.wait(1)
    api.wait_watching("services")
    api.wait_watching("endpointslices")
    d.caught_up(api)
    for attempt in range(50):
        hook.forget()
        api.apply(service("n/a", ports=[81 + attempt]))
        changed = time.time()
        api.apply(endpointslice("n/a", "a", [f"10.0.0.{2 + attempt}"]))
        d.seen(api, "slices")
        d.caught_up(api)
        if len(hook.runs()) == 1:
            break
    run, = hook.runs()
    assert sorted(run.told) == [("MODIFIED", "n/a")] * 2
    assert at_least(0.5 - SLACK, run.began - changed)


# ---- 97: min_interval

def test_s97_runs_of_a_hook_start_no_closer_than_min_interval(api, daemon, hook):
    api.apply(*[service(f"n/s{i}") for i in range(5)])
    begin = time.time()
    d = daemon(api, hooks={"h": hook_settings(hook, min_interval="150ms", concurrency=4)})
    hook.wait(5)
    d.caught_up(api)
    kept, found = none_before(begin, 0.15, hook.runs())
    assert len(found) == 5 and kept, found


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s97_changes_within_the_interval_are_one_run_at_its_end(api, daemon, hook, mode):
    begin = time.time()
    api.apply(service("n/first"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, min_interval="400ms", **NOW)})
    hook.wait(1)
    api.wait_watching("services")
    for number in range(20):
        api.apply(service(f"n/s{number}"))
    d.seen(api)
    d.caught_up(api)
    kept, found = none_before(begin, 0.4, hook.runs())
    assert len(found) >= 2 and kept, found
    told = [event for run in hook.runs()[1:] for event in run.told]
    assert sorted(told) == sorted(("ADDED", f"n/s{i}") for i in range(20))


def test_s97_retries_keep_the_interval_and_other_hooks_do_not(api, daemon, new_hook):
    slow, slowest, fast = (new_hook() for _ in range(3))
    slow.exits(1, 1)
    api.apply(service("n/a"), service("n/b"))
    begin = time.time()
    daemon(api, hooks={"slow": hook_settings(slow, min_interval="200ms"), "fast": fast,
                       "slowest": hook_settings(slowest, min_interval="1h")})
    slow.wait(4)
    fast.wait(2)
    kept, found = none_before(begin, 0.2, slow.runs())
    assert len(found) == 4 and kept, found
    assert sorted(run.attempt for run in slow.runs())[-1] >= 2
    assert len(slowest.runs()) == 1, "the others did not wait for its hour"


# ---- splay

def test_splay_is_a_random_part_on_top_of_settle(api, settled):
    d = settled(settle=["1h", "10h"], splay="1h")
    begin = time.time()
    api.apply(*[service(f"n/s{i}") for i in range(12)])
    d.seen(api)
    units = d.control.get("/v1/hooks/h/why")["units"]
    waits = [seconds(unit["until"]) - begin for unit in units]
    now = time.time() - begin
    assert len(waits) == 12
    assert all(at_least(3600 - SLACK, wait) and wait < 7200 + SLACK + now for wait in waits), waits
    assert max(waits) - min(waits) > 360, "twelve keys that were not spread"


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

def test_s80_each_hook_runs_again_at_its_own_rate_without_requests(api, daemon, new_hook):
    hooks = {0.1: new_hook(), 0.15: new_hook(), 3600: new_hook()}
    stored = api.apply(service("n/a"))
    begin = time.time()
    daemon(api, hooks={f"h{n}": hook_settings(hook, rerun_every=ms(period))
                       for n, (period, hook) in enumerate(hooks.items())})
    api.wait_watching("services")
    asked = len(api.requests)
    wait_until(lambda: [len(hook.runs()) >= count for hook, count in zip(hooks.values(), (5, 4, 1))]
               == [True] * 3, what="reruns of two hooks")
    assert len(api.requests) == asked
    for period, hook in hooks.items():
        kept, found = none_before(begin, period, hook.runs())
        assert kept, found
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
    daemon(api, hooks={"h": hook_settings(hook, mode=mode, rerun_every="100ms")})
    again = hook.wait(3)[2]
    assert (again.reason, again.attempt) == ("rerun", 1)
    if mode == "batch":
        assert sorted(again.told) == [("MODIFIED", "n/a"), ("MODIFIED", "n/b")]
        assert all(event["changed"] == [] and event["object"] for event in again.events)
    else:
        assert again.events == [] and len(again.snapshot["services"]) == 2


def stands_at_its_rerun(new_hook, name):
    """A hook whose reruns for this object do not end before the file `go` is there."""
    return new_hook(extra=f'while [ "$INFORMERD_NAME $INFORMERD_REASON" = "{name} rerun" ] '
                          '&& [ ! -e "$d/go" ]; do sleep 0.02; done')


def test_s81_a_change_during_a_run_is_one_run_with_the_newest_state(api, daemon, new_hook):
    hook = stands_at_its_rerun(new_hook, "a")
    api.apply(service("n/a", ports=[80]))
    d = daemon(api, hooks={"h": hook_settings(hook, rerun_every="200ms")})
    hook.wait(2)
    api.wait_watching("services")
    api.apply(service("n/a", ports=[81]))
    api.apply(service("n/a", ports=[82]))
    d.seen(api)
    time.sleep(0.3)     # by now the next rerun is due as well
    released = time.time()
    (hook.folder / "go").touch()
    held, change, rerun = hook.wait(4)[1:4]
    assert (held.reason, held.port) == ("rerun", 80)
    assert (change.reason, change.port) == ("change", 82)
    assert (rerun.reason, rerun.port) == ("rerun", 82)
    assert at_least(0.2 - SLACK, rerun.began - released), "the change took the place of a rerun"


def test_s81_a_deleted_object_is_not_run_again(api, daemon, new_hook):
    hook = stands_at_its_rerun(new_hook, "gone")
    api.apply(service("n/gone"), service("n/stays"))
    d = daemon(api, hooks={"h": hook_settings(hook, rerun_every="100ms")})
    hook.wait_for(lambda run: run.reason == "rerun" and run.key == "n/gone")
    api.wait_watching("services")
    api.delete("services", "n/gone")
    d.seen(api)
    (hook.folder / "go").touch()
    hook.wait_what("DELETED", "n/gone")
    stays = len(hook.of("n/stays"))
    wait_until(lambda: len(hook.of("n/stays")) >= stays + 4, what="reruns of the other")
    assert [run.what[0] for run in hook.of("n/gone")] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_rerun_that_fails_is_retried(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook_settings(hook, rerun_every="100ms")})
    hook.wait(1)
    hook.exits(0, 1)
    failed = hook.wait_for(lambda run: run.attempt == 2)
    assert failed.reason == "retry" and failed.what == ("MODIFIED", "n/a")
