# SPDX-License-Identifier: Apache-2.0
"""informerd --once and --dry-run."""
import signal

import pytest
from control import wait_until
from fakeapi import Gate, endpointslice, service
from harness import MODES, NOW, TWO, hook_settings
from outputs import ends_late


@pytest.mark.parametrize("mode", MODES)
def test_once_runs_every_due_hook_and_ends_well(api, daemon, new_hook, mode):
    first, second = new_hook(), new_hook()
    api.apply(service("n/a"), service("n/b"), endpointslice("n/a", "a", ["10.0.0.1"]))
    d = daemon(api, start=False, watches=TWO, hooks={
        "first": hook_settings(first, mode=mode),
        "second": hook_settings(second, mode=mode, sources=["slices"], after=["first"])})
    assert d.to_the_end("--once") == 0
    assert sorted(e for told in first.told() for e in told) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert second.told() == [[("ADDED", "n/a")]]
    assert max(r.ended for r in first.runs()) <= second.runs()[0].began
    assert first.ended() == len(first.runs()) and second.ended() == 1


def test_once_waits_for_retries(api, daemon, hook):
    hook.exits(1, 1)
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook)})
    assert d.to_the_end("--once") == 0
    assert [run.attempt for run in hook.runs()] == [1, 2, 3]


def test_once_counts_a_parked_run_as_done(api, daemon, hook):
    hook.exit_with(7)
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, park_exit=[7])})
    assert d.to_the_end("--once") == 0
    assert len(hook.runs()) == 1


def test_once_is_1_when_the_attempts_are_used_up(api, daemon, hook):
    hook.exit_with(1)
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(
        hook, retry={"initial": "10ms", "max": "20ms", "attempts": 3})})
    assert d.to_the_end("--once") == 1
    assert [run.attempt for run in hook.runs()] == [1, 2, 3]


def test_once_is_1_when_a_hook_still_fails_at_the_timeout(api, daemon, hook):
    hook.exit_with(1)
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook)}, state_dir="none")
    ends_late(d, 1, hook.runs, early=[69])
    stopping = d.log(msg="stopping")[-1]
    assert "timeout" in stopping["because"], "and not before"


def test_once_is_1_when_a_hook_still_runs_at_the_timeout(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, kill_grace="100ms")},
               limits={"stop_timeout": "100ms"}, state_dir="none")
    ends_late(d, 1, hook.runs, early=[69])
    assert hook.ended() == 0


@pytest.mark.parametrize("limit", ["flag", "ready_timeout"])
def test_once_is_69_when_a_source_does_not_sync(api, daemon, hook, limit):
    api.on_list("endpointslices", times=None).fail(503)
    api.apply(service("n/a"))
    d = daemon(api, start=False, watches=TWO, hooks={"h": hook},
               state_dir="none")
    if limit == "flag":
        ends_late(d, 69, lambda: hook.runs() and d.problems(watch="slices"))
    else:
        for timeout_ms in [250 * 4 ** n for n in range(8)]:
            d.settings["limits"]["ready_timeout"] = f"{timeout_ms}ms"
            d.write_config()
            assert d.to_the_end("--once") == 69
            if hook.runs() and d.problems(watch="slices"):
                break
    assert hook.what()[0] == ("ADDED", "n/a"), "what could run has run"


def test_once_is_69_without_a_server(api, daemon, hook):
    api.stop_listening()
    d = daemon(api, start=False, hooks={"h": hook})
    assert d.to_the_end("--once", "--timeout", "500ms") == 69
    assert not hook.runs()


ALONE = {"start_stale": {"after": "100ms"}}


def test_once_is_69_when_hooks_ran_from_the_state_and_no_server_answered(api, left, hook):
    d = left(service("n/a"), effect="process", daemon=ALONE)
    api.stop_listening()
    ends_late(d, 69, hook.runs)
    assert {run.reason for run in hook.runs()} == {"renew"}


def test_once_waits_for_a_server_when_hooks_ran_from_the_state(api, left, hook):
    d = left(service("n/a"), effect="process", daemon=ALONE)
    api.stop_listening()
    d.start(flags=["--once", "--timeout", "1h"])
    hook.wait(1)
    d.control.wait_idle()
    api.delete("services", "n/a")
    api.listen()
    assert d.wait_exit() == 0
    assert hook.what() == [("ADDED", "n/a"), ("DELETED", "n/a")]


def test_once_with_nothing_to_do_is_fine(api, daemon, hook):
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, existing="skip")})
    api.apply(service("n/a"))
    assert d.to_the_end("--once") == 0
    assert not hook.runs()


def test_once_asks_each_server_once(api, daemon, hook):
    api.apply(service("n/a"))
    hook.block()
    d = daemon(api, start=False, hooks={"h": hook_settings(hook)})
    d.start(wait=False, flags=["--once"])
    hook.wait(1)
    api.apply(service("n/late"))
    wait_until(lambda: not api.watching("services"), what="the watch is stopped")
    hook.release()
    assert d.wait_exit() == 0
    assert hook.what() == [("ADDED", "n/a")]
    assert [r.kind for r in api.of("services")].count("L") == 1


def test_once_stopped_by_a_signal_is_not_done(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook)}, limits={"stop_timeout": "100ms"})
    d.start(wait=False, flags=["--once"])
    hook.wait(1)
    d.signal(signal.SIGTERM)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 1


def test_once_follows_a_stale_source_until_it_is_fresh(api, factory, hook):
    api.apply(service("n/a"), endpointslice("n/a", "a", ["10.0.0.1"]))
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    outage = api.on_watch("services", times=None).fail(503)
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    d = factory.daemon(start=False, watches=TWO, clusters={"prod": cluster}, hooks={
        "h": hook_settings(hook, when_stale="wait", sources=["services", "slices"])})
    d.start(flags=["--once", "--timeout", "1h"])
    d.control.wait_watch("services", stale=True)
    gate.open()
    d.control.wait_watch("slices", synced=True)
    api.remove_rule(outage)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 0
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/a")]


@pytest.mark.parametrize("flags", [["--once", "--timeout", "soon"], ["--once", "--timeout"],
                                   ["--timeout", "5s"], ["--once", "--timeout", "0s"]])
def test_wrong_flags_are_64(api, daemon, hook, flags):
    d = daemon(api, start=False, hooks={"h": hook})
    assert d.to_the_end(*flags) == 64
    assert "--timeout" in d.stderr() and not api.requests


# ---- --dry-run

def test_a_dry_run_tells_what_would_run_and_starts_nothing(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook)})
    d.start(flags=["--dry-run"])
    api.wait_watching("services")
    wait_until(lambda: d.log(msg="would run hook", hook="h", key="n/a"))
    api.apply(service("n/b"))
    api.apply(service("n/a", ports=[81]))
    wait_until(lambda: d.log(msg="would run hook", hook="h", key="n/a", event="MODIFIED"))
    d.caught_up(api)
    told = [(e["event"], e["key"], e["reason"]) for e in d.log(msg="would run hook")]
    assert told == [("ADDED", "n/a", "existing"), ("ADDED", "n/b", "change"),
                    ("MODIFIED", "n/a", "change")]
    assert not hook.runs() and not d.problems()
    assert d.control.status()["ready"] is True


@pytest.mark.parametrize("mode", MODES)
def test_a_dry_run_once(api, daemon, hook, mode):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, start=False, hooks={"h": hook_settings(hook, mode=mode, **NOW)})
    assert d.to_the_end("--once", "--dry-run") == 0
    lines = d.log(level="info", msg="would run hook", hook="h")
    assert len(lines) == (2 if mode == "object" else 1)
    assert not hook.runs()
