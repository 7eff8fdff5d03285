# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 86, 91, 98, and more about runs: order, retries, timeouts, slots."""
import pytest
from control import at_least, wait_until
from fakeapi import Gate, endpointslice, service
from harness import TWO, hook_settings
from proctree import exists, kill


@pytest.mark.parametrize("mode", ["object", "snapshot"])
@pytest.mark.parametrize("late", ["services", "endpointslices"])
def test_s86_no_run_before_all_sources_are_synced(api, daemon, new_hook, mode, late):
    api.apply(service("n/a"), endpointslice("n/a-1", "a", ["10.0.0.1"]))
    gate = Gate()
    api.on_list(late).hold(gate)
    both, first = new_hook(), new_hook()
    early = "slices" if late == "services" else "services"
    d = daemon(api, watches=TWO, hooks={
        "both": hook_settings(both, sources=["services", "slices"], mode=mode,
                              settle=["0s", "0s"]),
        "first": hook_settings(first, sources=[early])})
    gate.wait_reached()
    first.wait(1)
    d.synced(early)
    if early == "services":
        api.wait_watching("services")
        api.apply(service("n/b"))
        first.wait(2)
    assert not both.runs()
    gate.open()
    both.wait(2 if mode == "object" else 1)
    d.caught_up(api)
    for run in both.runs():
        assert {name: s["synced"] for name, s in run.input["sources"].items()} == {
            "services": True, "slices": True}
    if mode == "snapshot":
        assert len(both.runs()) == 1
        assert set(both.runs()[0].snapshot) == {"services", "slices"}


def test_s91_a_failed_run_is_retried_with_backoff_and_success_resets_it(api, daemon, hook):
    retry = {"initial": "50ms", "factor": 2.0, "max": "200ms"}
    hook.exit_with(1)
    d = daemon(api, hooks={"h": hook_settings(hook, retry=retry)})
    d.settled(api)
    api.apply(service("n/a"))
    hook.wait(4)
    hook.exit_with(0)
    d.control.wait_idle()
    runs = hook.runs()
    assert [r.env["INFORMERD_ATTEMPT"] for r in runs] == [str(i + 1) for i in range(len(runs))]
    assert [r.input["attempt"] for r in runs] == list(range(1, len(runs) + 1))
    assert [r.input["reason"] for r in runs] == ["change"] + ["retry"] * (len(runs) - 1)
    pauses = [b.began - a.ended for a, b in zip(runs, runs[1:])]
    assert all(map(at_least, (0.05, 0.1, 0.2), pauses)), pauses
    count = len(runs)
    hook.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    hook.wait(count + 2)
    hook.exit_with(0)
    d.control.wait_idle()
    again = hook.runs()[count:]
    assert [r.input["attempt"] for r in again] == list(range(1, len(again) + 1))
    assert d.control.hook("h")["last_success"]


def test_s92_a_failing_key_delays_no_other_and_is_retried_with_the_newest_state(api, daemon, hook):
    hook.exit_with(3, "bad")
    daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    api.apply(service("n/bad", ports=[1]))
    hook.wait(2)
    for number in range(10):
        api.apply(service(f"n/s{number}"))
        hook.wait_what("ADDED", f"n/s{number}")
    api.apply(service("n/bad", ports=[2]))
    run = hook.wait_for(lambda r: r.key == "n/bad"
                        and r.event["object"]["spec"]["ports"][0]["port"] == 2)
    assert run.event["type"] == "ADDED"
    hook.exit_with(0, "bad")


def test_s98_a_hook_that_ignores_term_is_killed_after_the_grace(api, daemon, new_hook):
    """A run whose timeout passes before its program has begun is tried again."""
    hook = new_hook(extra="trap '' TERM; sleep 1000 & echo $! >>\"$d/child\"; wait; wait")
    fine = new_hook()
    d = daemon(api, hooks={
        "stubborn": hook_settings(hook, timeout="500ms", kill_grace="200ms"),
        "fine": fine})
    api.wait_watching("services")
    api.apply(service("n/a"))
    hook.wait(1)
    fine.wait(1)
    child = int(wait_until(lambda: (hook.folder / "child").exists()
                           and (hook.folder / "child").read_text().split("\n")[:-1])[0])
    wait_until(lambda: d.control.hook("stubborn")["runs_failed"] > 0)
    wait_until(lambda: not exists(child), what="the grandchild is killed with its group")
    assert "timeout" in str(d.control.hook("stubborn")["last_error"]).lower()
    d.wait_problem("stubborn", "timeout")
    assert hook.ended() == 0


def test_s98_a_grandchild_that_holds_stdout_does_not_hold_the_run(api, daemon, new_hook):
    hook = new_hook(extra='setsid sleep 1000 & echo $! >>"$d/child"')
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    try:
        api.apply(service("n/a"))
        hook.wait(1)
        d.control.wait_idle()
        api.apply(service("n/a", ports=[81]))
        hook.wait(2)
        d.control.wait_idle()
        assert d.control.hook("h")["last_success"]
    finally:
        kill([int(pid) for pid in (hook.folder / "child").read_text().split()])


def test_the_kill_signal_is_configurable_and_goes_to_the_group(api, daemon, new_hook):
    hook = new_hook(extra="trap 'echo usr1 >>\"$d/caught\"; exit 7' USR1; sleep 1000 & wait")
    d = daemon(api, hooks={"h": hook_settings(hook, timeout="300ms", kill_signal="USR1",
                                              kill_grace="1h")})
    api.wait_watching("services")
    api.apply(service("n/a"))
    wait_until(lambda: (hook.folder / "caught").exists())
    assert d.running()


def test_runs_of_one_key_never_overlap_and_concurrency_is_kept(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, concurrency=3)})
    api.wait_watching("services")
    hook.block()
    for number in range(8):
        api.apply(service(f"n/s{number}"))
    hook.wait(3)
    d.control.wait_watch("services", resource_version=str(api.rv))
    api.apply(service("n/s0", ports=[81]))
    d.control.wait_watch("services", resource_version=str(api.rv))
    assert d.control.hook("h")["running"] == 3 and len(hook.runs()) == 3
    hook.release()
    d.caught_up(api)
    keys = {run.name: run.key for run in hook.runs()}
    active = set()
    for step in hook.order():
        if step[0] == "start":
            assert keys[step[1]] not in active and len(active) < 3
            active.add(keys[step[1]])
        else:
            active.discard(keys[step[1]])


def test_a_hook_that_hangs_takes_only_its_own_slots(api, daemon, new_hook):
    stuck, fine = new_hook(), new_hook()
    stuck.block()
    daemon(api, hooks={"stuck": hook_settings(stuck, concurrency=8), "fine": fine},
           limits={"hook_concurrency": 2})
    api.wait_watching("services")
    for number in range(20):
        api.apply(service(f"n/s{number}"))
    stuck.wait(1)
    fine.wait(20)
    stuck.release()


def test_states_in_between_are_merged_and_an_undelivered_object_has_no_delete(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    hook.block()
    api.apply(service("n/busy"))
    hook.wait(1)
    for port in range(1, 6):
        api.apply(service("n/merged", ports=[port]))
    api.apply(service("n/gone"))
    api.delete("services", "n/gone")
    d.control.wait_watch("services", resource_version=str(api.rv))
    hook.release()
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/busy"), ("ADDED", "n/merged")]
    assert hook.runs()[1].event["object"]["spec"]["ports"][0]["port"] == 5


def test_delete_and_create_with_another_uid_is_deleted_then_added(api, daemon, hook):
    old = api.apply(service("n/a", ports=[80]))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    api.delete("services", "n/a")
    new = api.apply(service("n/a", ports=[80]))
    hook.wait(3)
    assert hook.what() == [("ADDED", "n/a"), ("DELETED", "n/a"), ("ADDED", "n/a")]
    uids = [r.event["uid"] for r in hook.runs()]
    assert uids == [old["metadata"]["uid"]] * 2 + [new["metadata"]["uid"]]
    api.end_watches(how="rst")
    d.caught_up(api)
    api.delete("services", "n/a", silent=True)
    third = api.apply(service("n/a", ports=[80]), silent=True)
    api.compact()
    api.end_watches(how="rst")
    hook.wait(5)
    assert hook.what()[3:] == [("DELETED", "n/a"), ("ADDED", "n/a")]
    assert hook.runs()[3].event["final_state_unknown"] is True
    assert hook.runs()[4].event["uid"] == third["metadata"]["uid"]
