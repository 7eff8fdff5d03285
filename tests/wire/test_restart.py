# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 106, 107 and 109: a daemon that is started again tells each change of the time between once,
and asks the server for no more than that."""
import pytest
from control import wait_until
from fakeapi import END, error_event, service
from harness import MODES, NOW, hook_settings
from hooks import port_of
from hostile import of_state
from statefile import wait_noted

TOO_LARGE = {"message": "Timeout: Too large resource version: 99, current: 9", "details": {
    "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}}


def by_key(hook):
    """{key: event} of all runs; each key may occur once only."""
    events = [event for run in hook.runs() for event in run.events]
    out = {f"{event['namespace']}/{event['name']}": event for event in events}
    assert len(out) == len(events), "told twice"
    return out


def told(hook):
    return sorted(what for run in hook.told() for what in run)


def change(api):
    """Deletes a, changes b, creates c, and leaves d alone; returns the events that hooks must
    get."""
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[82]), service("n/c"))
    return [("ADDED", "n/c"), ("DELETED", "n/a"), ("MODIFIED", "n/b")]


def abd():
    return service("n/a", ports=[81]), service("n/b"), service("n/d")


# ---- 106: stopped, changed, started

def test_s106_changes_meanwhile_are_told_once_and_need_no_list(api, left, hook):
    d = left(*abd(), include_old=True)
    known = api.rv
    wanted = change(api)
    d.again(api)
    assert told(hook) == wanted
    assert api.sequence("services") == [f"W({known})"]
    events = by_key(hook)
    assert {event["cause"] for event in events.values()} == {"watch"}
    assert not any(event["final_state_unknown"] for event in events.values())
    assert port_of(events["n/a"]) == 81, "the last known object"
    assert port_of(events["n/b"]) == 82
    assert events["n/b"]["old_object"]["spec"]["ports"][0]["port"] == 80
    assert "spec.ports[0].port" in events["n/b"]["changed"]
    assert {run.key: run.reason for run in hook.runs()} == {
        "n/a": "change", "n/b": "change", "n/c": "existing"}
    assert {run.attempt for run in hook.runs()} == {1}


@pytest.mark.parametrize("mode", MODES)
def test_s106_without_changes_no_hook_runs(api, left, hook, mode):
    d = left(*abd(), mode=mode, **NOW)
    known = api.rv
    for _ in range(2):
        d.again(api)
        assert d.control.keys("services") == ["n/a", "n/b", "n/d"]
        d.stop()
    assert not hook.runs()
    assert api.sequence("services") == [f"W({known})"] * 2
    assert not of_state(d.problems())


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s106_changes_meanwhile_are_one_run_of_a_batch_or_snapshot(api, left, hook, mode):
    """All changes have come when the hook goes on. test_scheduler.c shows how long a hook waits for
    more changes."""
    d = left(*abd(), mode=mode, **NOW).again(api)
    assert d.ctl("pause", "h").returncode == 0
    d.stop()
    wanted = change(api)
    d.start().seen(api)
    wait_until(lambda: d.control.hook("h")["pending"] > 0)
    assert d.ctl("resume", "h").returncode == 0
    d.caught_up(api)
    (run,) = hook.runs()
    assert sorted(run.told) == wanted and run.reason == "change"
    if mode == "snapshot":
        assert [obj["metadata"]["name"] for obj in run.snapshot["services"]] == ["b", "c", "d"]
    else:
        assert port_of(by_key(hook)["n/a"]) == 81


def test_s106_a_change_and_back_while_informerd_was_down_starts_no_run(api, left, hook):
    d = left(service("n/a"))
    api.apply(service("n/a", ports=[81]))
    api.apply(service("n/a"))
    d.again(api)
    assert not hook.runs()


@pytest.mark.parametrize("listed", [False, True])
def test_s106_a_successor_of_the_key_is_a_delete_and_a_new_object(api, left, hook, listed):
    d = left(service("n/a", ports=[81]))
    api.delete("services", "n/a")
    api.apply(service("n/a", ports=[82]))
    if listed:
        api.compact()
    d.again(api)
    assert hook.what() == [("DELETED", "n/a"), ("ADDED", "n/a")]
    first, second = hook.runs()
    assert (first.port, second.port) == (81, 82)
    assert first.event["uid"] != second.event["uid"]


def test_s106_a_second_restart_tells_nothing_again(api, left, hook):
    d = left(*abd())
    change(api)
    d.again(api).stop()
    hook.forget()
    d.again(api)
    assert not hook.runs()


def test_s106_changes_after_the_restart_are_told_as_usual(api, left, hook):
    d = left(*abd())
    d.again(api)
    wanted = change(api)
    d.caught_up(api)
    assert told(hook) == wanted


def test_s106_after_kill_9_handled_objects_do_not_run_again(api, daemon, hook):
    api.apply(*abd())
    d = daemon(api, hooks={"h": hook}).settled(api)
    d.kill()
    hook.forget()
    api.forget()
    wanted = change(api)
    d.again(api)
    assert told(hook) == wanted
    assert not api.of("services", "L")


def test_s106_an_object_that_failed_is_tried_again(api, daemon, hook):
    hook.exit_with(1, "bad")
    api.apply(service("n/bad"), service("n/good"))
    d = daemon(api, hooks={"h": hook_settings(hook, retry={"initial": "1h", "max": "1h"})})
    wait_until(lambda: d.control.hook("h")["runs_ok"] == d.control.hook("h")["runs_failed"] == 1)
    wait_noted(d)
    d.stop()
    hook.forget()
    hook.exit_with(0, "bad")
    d.again(api)
    assert hook.what() == [("ADDED", "n/bad")]


def test_s106_a_failed_delete_is_told_again_with_the_last_state(api, daemon, hook):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": hook_settings(hook, retry={"initial": "1h", "max": "1h"})})
    d.settled(api)
    hook.exit_with(1)
    api.delete("services", "n/a")
    hook.wait_what("DELETED", "n/a")
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
    hook.exit_with(0)
    d.stop()
    hook.forget()
    d.again(api)
    (run,) = hook.runs()
    assert run.what == ("DELETED", "n/a") and run.port == 81
    assert (run.event["cause"], run.event["final_state_unknown"]) == ("watch", False)
    d.stop()
    hook.forget()
    d.again(api)
    assert not hook.runs()


# ---- 107: kill -9 while a hook runs

@pytest.mark.parametrize("mode", MODES)
def test_s107_only_runs_that_a_kill_cut_off_run_again(api, daemon, hook, mode):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, **NOW)}).settled(api)
    before = len(hook.runs())
    hook.block()
    api.apply(service("n/c"))
    hook.wait(before + 1)
    d.kill()
    hook.release()
    hook.forget()
    d.again(api)
    assert hook.told() == [[("ADDED", "n/c")]]
    assert hook.runs()[0].attempt == 1


def test_s107_a_delete_whose_run_a_kill_cut_off_is_told_again(api, daemon, hook):
    api.apply(service("n/a", ports=[81]), service("n/b"))
    d = daemon(api, hooks={"h": hook}).settled(api)
    hook.block()
    api.delete("services", "n/a")
    hook.wait_what("DELETED", "n/a")
    d.kill()
    hook.release()
    hook.forget()
    d.again(api)
    assert hook.what() == [("DELETED", "n/a")] and hook.runs()[0].port == 81


def test_s107_the_first_run_of_all_is_repeated(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.kill()
    hook.release()
    hook.forget()
    d.again(api)
    assert hook.what() == [("ADDED", "n/a")]


def test_s107_a_change_whose_run_was_killed_and_that_is_undone_runs_again(api, daemon, hook):
    """A -> B (killed) -> A: the run for B may have had effects."""
    api.apply(service("n/a", ports=[80]), service("n/b"))
    d = daemon(api, hooks={"h": hook}).settled(api)
    hook.block()
    api.apply(service("n/a", ports=[81]))
    assert hook.wait(3)[2].port == 81
    d.kill()
    hook.release()
    hook.forget()
    api.apply(service("n/a", ports=[80]))
    d.again(api)
    assert hook.what() == [("MODIFIED", "n/a")] and hook.runs()[0].port == 80


def test_s107_a_change_whose_run_failed_and_that_is_undone_runs_again(api, daemon, hook):
    """As test_s107_a_change_whose_run_was_killed_and_that_is_undone_runs_again(), with an orderly
    stop."""
    api.apply(service("n/a", ports=[80]))
    d = daemon(api, hooks={"h": hook_settings(hook, retry={"initial": "1h", "max": "1h"})})
    d.settled(api)
    hook.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    d.seen(api)
    d.stop()
    hook.exit_with(0)
    hook.forget()
    api.apply(service("n/a", ports=[80]))
    d.again(api)
    assert hook.what() == [("MODIFIED", "n/a")] and hook.runs()[0].port == 80


# ---- 109: the known version cannot be used

GONE = {"stream": lambda api: None,
        "status": lambda api: api.on_watch("services").fail(410)}


@pytest.mark.parametrize("how", GONE)
def test_s109_a_version_that_is_too_old_is_listed_from_and_compared(api, left, hook, how):
    d = left(*abd())
    known = api.rv
    wanted = change(api)
    api.compact()
    GONE[how](api)
    d.again(api)
    assert told(hook) == wanted
    assert api.sequence("services") == [f"W({known})", f"L({known})", f"W({api.rv})"]
    events = by_key(hook)
    assert {event["cause"] for event in events.values()} == {"restart"}
    assert {key: event["final_state_unknown"] for key, event in events.items()} == {
        "n/a": True, "n/b": False, "n/c": False}
    assert port_of(events["n/a"]) == 81, "the last known object"
    assert "spec.ports[0].port" in events["n/b"]["changed"]


@pytest.mark.parametrize("how", ["stream", "status"])
def test_s109_a_version_that_is_too_large_is_left_out_at_once(api, left, hook, how):
    d = left(*abd())
    known = api.rv
    wanted = change(api)
    if how == "status":
        api.on_watch("services").fail(504, "Timeout", **TOO_LARGE)
    else:
        api.on_watch("services").stream(error_event(504, "Timeout", **TOO_LARGE), END)
    d.again(api)
    assert told(hook) == wanted
    assert api.sequence("services") == [f"W({known})", "L(-)", f"W({api.rv})"]
    assert by_key(hook)["n/a"]["final_state_unknown"]


@pytest.mark.parametrize("mode", MODES)
def test_s109_a_list_without_differences_starts_no_run(api, left, hook, mode):
    d = left(*abd(), mode=mode, **NOW)
    api.apply(service("n/x"))
    api.delete("services", "n/x")
    api.compact()
    d.again(api)
    assert len(api.of("services", "L")) == 1 and not hook.runs()


def test_s109_the_differences_of_a_list_are_not_told_again_at_the_next_restart(api, left, hook):
    d = left(*abd())
    change(api)
    api.compact()
    d.again(api).stop()
    hook.forget()
    api.forget()
    d.again(api)
    assert not hook.runs()
    assert api.sequence("services") == [f"W({api.rv})"]
