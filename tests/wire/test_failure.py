# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 91, 92, 96: failed runs, their backoff and parking, which delay no other runs."""
import pytest
from control import at_least, wait_until
from fakeapi import service
from harness import MODES, NOW, ONCE, hook_settings

AT_DELETE = ('[ "$INFORMERD_EVENT" = DELETED ] && {{ : >"$f.end"; '
             'echo "end ${{f##*/}} {code}" >>"$d/order"; exit {code}; }}')


def delete_fails(new_hook, code):
    return new_hook(extra=AT_DELETE.format(code=code))


def parked(d, count, hook="h"):
    wait_until(lambda: d.control.hook(hook)["parked"] == count, what=f"{count} keys are parked")


# ---- 91: the backoff

def test_s91_each_pause_is_factor_times_the_one_before_up_to_max(api, started, hook):
    d = started(retry={"initial": "50ms", "factor": 3.0, "max": "200ms"})
    hook.exits(1, 1, 1, 1)
    api.apply(service("n/a"))
    runs = hook.wait(5)
    d.caught_up(api)
    found = [b.began - a.ended for a, b in zip(runs, runs[1:])]
    assert all(map(at_least, (0.05, 0.15, 0.2, 0.2), found)), found
    meant = [line["retry_in_ms"] for line in d.problems(msg="hook failed", hook="h")]
    assert meant == [50, 150, 200, 200]
    assert [run.attempt for run in runs] == [1, 2, 3, 4, 5]
    assert [run.env["INFORMERD_ATTEMPT"] for run in runs] == list("12345")


@pytest.mark.parametrize("mode", MODES)
def test_s91_success_resets_the_backoff(api, started, hook, mode):
    d = started(mode=mode, **NOW)
    hook.exits(1, 1, 0, 1)
    api.apply(service("n/a"))
    hook.wait(3)
    d.caught_up(api)
    api.apply(service("n/a", ports=[81]))
    hook.wait(5)
    d.caught_up(api)
    assert [run.attempt for run in hook.runs()] == [1, 2, 3, 1, 2]
    assert [run.reason for run in hook.runs()] == ["change", "retry", "retry", "change", "retry"]


@pytest.mark.parametrize("mode", MODES)
def test_s91_a_failing_first_run_is_retried(api, daemon, hook, mode):
    hook.exits(7)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, **NOW)})
    first, second = hook.wait(2)
    d.caught_up(api)
    assert (first.reason, second.reason) == ("existing", "retry")
    assert first.told == second.told == [("ADDED", "n/a")]
    assert len(hook.runs()) == 2 and d.control.hook("h")["last_error"] is None


# ---- 92: the newest state, the next try

@pytest.mark.parametrize("mode", MODES)
def test_s92_a_change_brings_the_next_attempt_forward_without_resetting_the_backoff(api, started,
                                                                                    hook, mode):
    """Without the change, the third pause would be half an hour."""
    d = started(mode=mode, retry={"initial": "200ms", "factor": 100.0, "max": "1h"}, **NOW)
    hook.exits(1, 1, 1)
    api.apply(service("n/a", ports=[1]))
    for number in (2, 3):
        hook.wait(number)
        wait_until(lambda n=number: hook.ended() >= n and d.control.hook("h")["running"] == 0)
        api.apply(service("n/a", ports=[number]))
    runs = hook.wait(4)
    for before, run in zip(runs, runs[1:]):
        assert at_least(0.2, run.began - before.ended)
    assert [run.attempt for run in runs] == [1, 2, 3, 4]
    meant = [line["retry_in_ms"] for line in d.problems(msg="hook failed", hook="h")]
    assert meant == [200, 20_000, 2_000_000]
    assert runs[3].told == [("ADDED", "n/a")]
    assert runs[3].events[0]["resource_version"] == str(api.rv)


def test_s92_attempts_of_a_failing_key_grow_apart_while_others_run(api, started, hook):
    d = started(retry={"initial": "40ms", "factor": 2.0, "max": "10s"})
    hook.exit_with(1, "bad")
    api.apply(service("n/bad"))
    for number in range(12):
        api.apply(service(f"n/s{number}"))
    wait_until(lambda: len(hook.of("n/bad")) >= 4)
    for number in range(12):
        hook.wait_what("ADDED", f"n/s{number}")
    assert all(len(hook.of(f"n/s{i}")) == 1 for i in range(12))
    hook.exit_with(0, "bad")
    d.caught_up(api)
    found = [b.began - a.ended for a, b in zip(hook.of("n/bad"), hook.of("n/bad")[1:])]
    assert all(map(at_least, (0.04, 0.08, 0.16), found)), found


def test_s92_another_uid_starts_a_new_backoff_at_once(api, started, hook):
    d = started(retry=ONCE, events=["added", "modified"])
    hook.exits(1)
    api.apply(service("n/a"))
    hook.wait(1)
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    api.delete("services", "n/a")
    second = api.apply(service("n/a"))
    run = hook.wait(2)[1]
    assert run.what == ("ADDED", "n/a") and run.event["uid"] == second["metadata"]["uid"]
    assert run.attempt == 1


def test_s92_a_delete_starts_a_new_backoff_at_once(api, started, hook):
    d = started(retry=ONCE)
    hook.exits(1)
    api.apply(service("n/a"))
    hook.wait(1)
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    api.delete("services", "n/a")
    assert hook.wait(2)[1].what == ("DELETED", "n/a")
    assert hook.runs()[1].attempt == 1
    d.caught_up(api)


# ---- 96: a key in backoff delays no other

def test_s96_a_key_in_backoff_does_not_delay_the_others(api, started, hook):
    d = started(retry=ONCE)
    hook.exit_with(1, "bad")
    api.apply(service("n/bad"))
    hook.wait(1)
    for number in range(5):
        api.apply(service(f"n/s{number}"))
        hook.wait_what("ADDED", f"n/s{number}")
    status = d.control.hook("h")
    assert len(hook.of("n/bad")) == 1 and status["pending"] == 1 and status["parked"] == 0


def test_s96_a_hook_in_backoff_does_not_delay_the_others(api, daemon, new_hook):
    bad, fine = new_hook(), new_hook()
    bad.exit_with(1)
    daemon(api, hooks={
        "bad": hook_settings(bad, mode="snapshot", retry=ONCE, **NOW),
        "fine": hook_settings(fine, mode="snapshot", **NOW)}).synced()
    api.wait_watching("services")
    for number in range(1, 6):
        api.apply(service(f"n/s{number}"))
        fine.wait_for(lambda run, n=number: len(run.snapshot["services"]) == n)
    assert len(bad.runs()) <= 2


# ---- Parking

@pytest.mark.parametrize("mode", MODES)
def test_a_code_of_park_exit_is_not_retried_until_something_changes(api, started, hook, mode):
    d = started(mode=mode, park_exit=[64, 3], **NOW)
    hook.exits(3)
    api.apply(service("n/a", ports=[80]))
    hook.wait(1)
    parked(d, 1)
    assert "3" in d.control.hook("h")["last_error"]
    d.wait_problem("park", hook="h")
    api.apply(service("n/a", ports=[81]))
    again = hook.wait(2)[1]
    d.caught_up(api)
    parked(d, 0)
    assert len(hook.runs()) == 2 and again.attempt == 2, "there was no try in between"
    assert again.told == [("ADDED", "n/a")]
    assert again.events[0]["resource_version"] == str(api.rv)


def test_a_parked_key_does_not_hold_up_others_and_is_not_unparked_by_them(api, started, hook):
    d = started(park_exit=[3])
    hook.exit_with(3, "bad")
    api.apply(service("n/bad"))
    parked(d, 1)
    for number in range(5):
        api.apply(service(f"n/s{number}"))
        hook.wait_what("ADDED", f"n/s{number}")
    parked(d, 1)
    assert len(hook.of("n/bad")) == 1


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_any_change_unparks_a_batch_and_the_run_has_all_changes(api, started, hook, mode):
    d = started(mode=mode, park_exit=[3], **NOW)
    hook.exits(3)
    api.apply(service("n/a"))
    parked(d, 1)
    api.apply(service("n/b"))
    again = hook.wait(2)[1]
    assert sorted(again.told) == [("ADDED", "n/a"), ("ADDED", "n/b")]


def test_other_codes_are_retried(api, started, hook):
    d = started(park_exit=[3])
    hook.exits(4, 255)
    api.apply(service("n/a"))
    assert [run.attempt for run in hook.wait(3)] == [1, 2, 3]
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_key_is_parked_after_its_last_attempt(api, started, hook, mode):
    d = started(mode=mode, retry={"initial": "20ms", "max": "40ms", "attempts": 3}, **NOW)
    hook.exit_with(1)
    api.apply(service("n/a"))
    parked(d, 1)
    assert [run.attempt for run in hook.runs()] == [1, 2, 3]
    d.wait_problem("park", hook="h")
    hook.exit_with(0)
    api.apply(service("n/a", ports=[81]))
    assert hook.wait(4)[3].attempt == 4
    d.caught_up(api)
    parked(d, 0)


def test_a_parked_key_is_not_run_before_the_pause_is_over(api, started, hook):
    d = started(park_exit=[3], retry={"initial": "300ms", "max": "1s"})
    hook.exits(3)
    api.apply(service("n/a", ports=[80]))
    parked(d, 1)
    api.apply(service("n/a", ports=[81]))
    first, second = hook.wait(2)
    assert at_least(0.3, second.began - first.ended)


def test_a_delete_unparks_its_key(api, started, hook):
    d = started(park_exit=[3], retry=ONCE)
    hook.exits(3)
    api.apply(service("n/a"))
    parked(d, 1)
    api.delete("services", "n/a")
    assert hook.wait(2)[1].what == ("DELETED", "n/a")
    d.caught_up(api)
    parked(d, 0)


# ---- A DELETED that cannot be delivered

def test_a_delete_that_failed_five_times_is_superseded_by_the_successor(api, daemon, new_hook):
    hook = delete_fails(new_hook, 9)
    old = api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    hook.block("other")
    api.apply(service("n/other"))
    hook.wait(2)
    api.delete("services", "n/a")
    new = api.apply(service("n/a"))
    d.seen(api)
    hook.release("other")
    hook.wait(8)
    d.caught_up(api)
    runs = hook.of("n/a")
    assert [run.what[0] for run in runs] == ["ADDED"] + ["DELETED"] * 5 + ["ADDED"]
    assert [run.attempt for run in runs] == [1, 1, 2, 3, 4, 5, 1]
    assert [run.event["uid"] for run in runs] == (
        [old["metadata"]["uid"]] * 6 + [new["metadata"]["uid"]])


def test_a_parked_delete_is_superseded_by_the_successor(api, daemon, new_hook):
    hook = delete_fails(new_hook, 3)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, park_exit=[3], retry=ONCE)})
    hook.wait(1)
    api.wait_watching("services")
    api.delete("services", "n/a")
    hook.wait(2)
    parked(d, 1)
    api.apply(service("n/a"))
    hook.wait(3)
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a"), ("DELETED", "n/a"), ("ADDED", "n/a")]
    parked(d, 0)


def test_a_delete_without_a_successor_is_retried_without_end(api, daemon, new_hook):
    hook = delete_fails(new_hook, 9)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    api.delete("services", "n/a")
    hook.wait(8)
    assert [run.what[0] for run in hook.runs()[:8]] == ["ADDED"] + ["DELETED"] * 7
    now = d.control.hook("h")  # one answer: between two the run may end
    assert now["pending"] + now["running"] >= 1
