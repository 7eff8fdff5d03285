# SPDX-License-Identifier: Apache-2.0
"""Features that other runners of scripts lack, by their numbers in SCENARIOS.md: freshness, bounds,
isolation, identity, holds, barriers."""
import json
import time

import pytest
from control import at_least, wait_until
from fakeapi import STALL, Gate, endpointslice, error_event, ev, service, simple
from harness import MODES, NOW, RETRY, TWO, hook_settings, is_sanitized
from hooks import port_of
from proctree import exists, kill, memory_kb

ALL = ["added", "modified", "deleted", "left", "stale", "fresh"]


# ---- 5: contact lost, contact back

def fresh_again(d, api):
    """Waits until an outage has no more effects; on a slow machine hooks may be told of it
    twice."""
    d.caught_up(api)
    d.control.wait_watch("services", stale=False)
    d.control.wait_idle()


@pytest.mark.parametrize("mode", MODES)
def test_peers_05_a_hook_is_told_when_contact_is_lost_and_when_it_is_back(api, factory, hook, mode):
    api.apply(service("n/a"))
    cluster = {**factory.cluster(api), "stale_after": "300ms"}
    d = factory.daemon(clusters={"prod": cluster}, hooks={"h": hook_settings(
        hook, mode=mode, events=ALL, **NOW)})
    hook.wait(1)
    api.wait_watching("services")
    fresh_again(d, api)
    hook.forget()
    api.stop_listening()
    api.drop("rst")
    stale = hook.wait(1)[0]
    assert stale.told == [("STALE", "services")]
    source = stale.input["sources"]["services"]
    assert source["stale"] is True and source["synced"] is True and at_least(0.3, source["age_s"])
    api.listen()
    fresh = hook.wait(2)[1]
    assert fresh.told == [("FRESH", "services")]
    assert fresh.input["sources"]["services"]["stale"] is False
    fresh_again(d, api)
    both = [[("STALE", "services")], [("FRESH", "services")]]
    assert hook.told() == both * (len(hook.runs()) // 2)


# ---- 7: memory is bounded by keys

@pytest.mark.parametrize("mode", MODES)
def test_peers_07_a_blocked_hook_costs_memory_by_keys_and_not_by_changes(api, daemon, hook, mode):
    keys, changes = 20, 20000
    template = json.dumps(ev("MODIFIED", service("n/sKEY", ports=[99999], uid="u-KEY"), rv=77777))

    def frames(first, count):
        return "".join(template.replace("KEY", str(i % keys)).replace("99999", str(i % 60000 + 1))
                       .replace("77777", str(100 + i)) + "\n"
                       for i in range(first, first + count)).encode()
    gates = Gate(), Gate()
    parts = [frames(i, 1000) for i in range(0, changes, 1000)]
    api.on_watch("services").stream(gates[0], *parts[:10], gates[1], *parts[10:], STALL)
    hook.block()
    api.apply(service("n/busy"))
    d = daemon(api, log={"level": "info"}, state_dir="none",
               hooks={"h": hook_settings(hook, mode=mode, **NOW)})
    hook.wait(1)
    gates[0].open()
    d.control.wait_watch("services", resource_version=str(100 + changes // 2 - 1), objects=keys + 1)
    before = memory_kb(d.pid, "VmRSS")
    gates[1].open()
    d.control.wait_watch("services", resource_version=str(100 + changes - 1))
    if not is_sanitized():
        assert memory_kb(d.pid, "VmRSS") - before < 1024
    hook.release()
    d.control.wait_idle()
    later = [event for run in hook.runs()[1:] for event in run.events]
    assert sorted(e["name"] for e in later) == sorted(f"s{i}" for i in range(keys))
    assert {e["resource_version"] for e in later} == {
        str(100 + i) for i in range(changes - keys, changes)}
    assert len(hook.runs()) == (1 + keys if mode == "object" else 2)


# ---- 9: one at a time per object, many objects, one global limit

def test_peers_09_objects_run_in_parallel_each_once_under_one_limit(api, daemon, new_hook):
    wide, other = new_hook(), new_hook()
    d = daemon(api, limits={"hook_concurrency": 3}, hooks={
        "wide": hook_settings(wide, concurrency=8), "other": other}).synced()
    api.wait_watching("services")
    for hook in (wide, other):
        hook.block()
    for port in range(1, 4):
        for key in range(10):
            api.apply(service(f"n/s{key}", ports=[port]))
        d.seen(api)
        wide.wait(4)
        other.wait(1)
        running = [d.control.hook(name)["running"] for name in ("wide", "other")]
        assert running == [4, 1], "a slot for each hook, and three"
    for hook in (wide, other):
        hook.release()
    d.caught_up(api)
    assert wide.most_at_once() == (4, False), "its own slot and three"
    assert other.most_at_once() == (1, False)
    for hook in (wide, other):
        assert {hook.of(f"n/s{key}")[-1].port for key in range(10)} == {3}


# ---- 10: a failing key

def test_peers_10_a_failing_key_has_its_own_backoff_the_newest_state_and_an_end(api, started, hook):
    d = started(concurrency=2,
                retry={"initial": "50ms", "factor": 2.0, "max": "1s", "attempts": 4})
    hook.block("bad")
    hook.exit_with(1, "bad")
    hook.exit_with(1, "worse")
    api.apply(service("n/bad", ports=[1]), service("n/worse", ports=[1]))
    hook.wait(2)
    for number in range(5):
        api.apply(service(f"n/s{number}"))
    api.apply(service("n/bad", ports=[2]))
    d.seen(api)
    hook.release("bad")
    wait_until(lambda: d.control.hook("h")["parked"] == 2, what="both keys are parked")
    for key in ("n/bad", "n/worse"):
        tries = hook.of(key)
        assert [run.attempt for run in tries] == [1, 2, 3, 4]
        if key == "n/worse":
            found = [b.began - a.ended for a, b in zip(tries, tries[1:])]
            assert all(map(at_least, (0.05, 0.1, 0.2), found)), found
    assert [run.port for run in hook.of("n/bad")][1:] == [2, 2, 2], "the newest state"
    assert all(len(hook.of(f"n/s{i}")) == 1 for i in range(5)), "the others went on"
    hook.exit_with(0, "bad")
    api.apply(service("n/bad", ports=[3]))
    hook.wait_for(lambda run: run.key == "n/bad" and run.port == 3)
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    assert len(hook.of("n/worse")) == 4


# ---- 11: timeout, TERM, KILL, for all processes of a run

def test_peers_11_a_timeout_ends_the_group_and_processes_that_escaped_it(api, daemon, new_program):
    """A run is tried again if its timeout passes before its program has begun, or if it is killed
    before it can record that TERM came."""
    program = new_program("""
d="$d/try$INFORMERD_ATTEMPT"; mkdir "$d"
trap 'echo term >"$d/term"' TERM; echo $$ >"$d/pids"
sleep 1000 & echo $! >>"$d/pids"
setsid sh -c 'trap "" TERM; sleep 1000 & echo $! >>"$0/pids"; echo $$ >>"$0/pids"; wait' "$d" &
while [ "$(wc -l <"$d/pids")" -lt 4 ]; do sleep 0.01; done
echo all >"$d/all"
while :; do wait; done
""")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": {
        "sources": ["services"], "command": [program.path], "retry": RETRY, "timeout": "500ms",
        "kill_grace": "300ms"}})

    def whole():
        return [path for path in program.folder.glob("try*") if (path / "all").exists()
                and (path / "term").exists()]
    try:
        run = wait_until(whole, what="TERM comes first")[0]
        pids = [int(pid) for pid in (run / "pids").read_text().split()]
        wait_until(lambda: not any(map(exists, pids)), what="nothing lives on")
        line = d.wait_problem("timeout", hook="h", key="n/a", attempt=int(run.name[3:]))
        assert "500 ms" in line["result"]
        took = [row["took_s"] for row in d.ctl_json("runs", "h")
                if row["attempt"] == int(run.name[3:])]
        assert at_least(0.8, took[0]), "the timeout and the grace"
    finally:
        d.stop()
        kill([int(pid) for path in program.folder.glob("try*/pids")
              for pid in path.read_text().split()])


# ---- 13: several clusters

@pytest.mark.parametrize("mode", MODES)
def test_peers_13_two_clusters_in_one_process_and_the_input_names_them(factory, new_api, hook,
                                                                      mode):
    north, south = new_api(), new_api()
    north.tokens, south.tokens = {"token-of-north"}, {"token-of-south"}
    old = north.apply(service("n/same", ports=[1])), south.apply(service("n/same", ports=[2]))
    watches = {name: {"cluster": name, "resource": "services", "namespaces": ["*"]}
               for name in ("north", "south")}
    d = factory.daemon(
        clusters={"north": factory.cluster(north, token="token-of-north"),
                  "south": factory.cluster(south, token="token-of-south")},
        watches=watches, hooks={"h": hook_settings(hook, mode=mode, sources=["north", "south"],
                                                   **NOW)})
    hook.wait(2 if mode == "object" else 1)
    north.wait_watching("services")
    south.wait_watching("services")
    d.control.wait_idle()
    events = {event["source"]: event for run in hook.runs() for event in run.events}
    for name, obj in zip(("north", "south"), old):
        assert events[name]["cluster"] == name and events[name]["name"] == "same"
        assert events[name]["uid"] == obj["metadata"]["uid"]
    run = hook.runs()[-1]
    assert {n: s["cluster"] for n, s in run.input["sources"].items()} == {
        "north": "north", "south": "south"}
    if mode == "object":
        assert {(r.env["INFORMERD_CLUSTER"], r.env["INFORMERD_SOURCE"], r.port)
                for r in hook.runs()} == {("north", "north", 1), ("south", "south", 2)}
    hook.forget()
    south.delete("services", "n/same")
    gone = hook.wait(1)[0].events
    assert [(e["type"], e["cluster"], e["name"]) for e in gone] == [("DELETED", "south", "same")]
    assert d.control.keys("north") == ["n/same"] and d.control.keys("south") == []


# ---- 16: another uid is another object

@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seen", [True, False], ids=["watched", "found by a relist"])
def test_peers_16_delete_and_create_is_deleted_then_added(api, started, hook, mode, seen):
    old = service("n/a")
    d = started(old, mode=mode, **NOW)
    hook.block()
    api.apply(service("n/busy"))
    hook.wait(1)
    api.delete("services", "n/a", silent=not seen)
    new = api.apply(service("n/a"), silent=not seen)
    if not seen:
        api.compact()
        api.end_watches(how=error_event(410))
    d.seen(api)
    hook.release()
    d.caught_up(api)
    events = [event for run in hook.runs()[1:] for event in run.events]
    assert [(e["type"], e["uid"]) for e in events] == [
        ("DELETED", old["metadata"]["uid"]), ("ADDED", new["metadata"]["uid"])]
    assert events[0]["final_state_unknown"] is not seen


# ---- 17: the changed paths and the old object

@pytest.mark.parametrize("mode", ["object", "batch"])
def test_peers_17_a_change_comes_with_the_old_object_and_the_changed_paths(api, started, hook,
                                                                           mode):
    d = started(service("n/a"), mode=mode, include_old=True, **NOW)
    changed = service("n/a", externalTrafficPolicy="Local")
    api.apply(changed)
    event = hook.wait(1)[0].events[0]
    assert event["changed"] == ["spec.externalTrafficPolicy"]
    assert "externalTrafficPolicy" not in event["old_object"]["spec"]
    assert event["object"]["spec"]["externalTrafficPolicy"] == "Local"
    d.caught_up(api)
    api.apply(service("n/a", ports=[81], externalTrafficPolicy="Local"))
    event = hook.wait(2)[1].events[0]
    assert port_of({"object": event["old_object"]}) == 80 and port_of(event) == 81
    assert set(event["changed"]) == {"spec.ports[0].name", "spec.ports[0].port",
                                     "spec.ports[0].targetPort"}


# ---- 20: up at once, down late

@pytest.fixture
def up_and_down(api, daemon, new_hook):
    """up_and_down(hold): (daemon, up, down): a daemon with two hooks on one source, whose objects
    have role=x. There is n/a. The hook `down` waits for so long before it hears of removals."""
    def make(hold):
        up, down = new_hook(), new_hook()
        api.apply(service("n/a", labels={"role": "x"}))
        d = daemon(api, watches={"services": {
            "resource": "services", "namespaces": ["*"],
            "match": ["metadata.labels.role=x"]}}, hooks={
            "up": hook_settings(up, events=["added", "modified"], **NOW),
            "down": hook_settings(down, events=["deleted", "left"], settle=[hold, "1h"])})
        up.wait(1)
        api.wait_watching("services")
        d.caught_up(api)
        up.forget()
        return d, up, down
    return make


def test_peers_20_an_object_that_comes_back_within_the_hold_has_not_left(api, up_and_down):
    d, up, down = up_and_down("1h")
    api.apply(service("n/a", labels={"role": "y"}))
    d.seen(api, objects=0)
    assert d.control.hook("down")["pending"] == 1
    api.apply(service("n/a", ports=[81], labels={"role": "x"}))
    assert up.wait(1)[0].port == 81, "adds are heard at once"
    d.caught_up(api)
    assert not down.runs() and len(up.runs()) == 1


def test_peers_20_an_object_that_leaves_for_good_has_left_after_the_hold(api, up_and_down):
    d, up, down = up_and_down("200ms")
    before = time.time()
    api.apply(service("n/a", ports=[82], labels={"role": "y"}))
    left = down.wait(1)[0]
    assert left.what == ("LEFT", "n/a") and left.port == 80, "the last state that was selected"
    assert at_least(0.2, d.starts("down")[0][0] - before)
    d.caught_up(api)
    assert len(down.runs()) == 1 and not up.runs()


def test_peers_20_removals_wait_while_additions_do_not(api, up_and_down):
    d, up, down = up_and_down("1h")
    api.delete("services", "n/a")
    api.apply(service("n/b", labels={"role": "x"}))
    up.wait_what("ADDED", "n/b")
    assert d.control.hook("down")["pending"] == 1 and not down.runs()


def test_peers_20_a_successor_does_not_take_back_the_delete(api, up_and_down):
    d, up, down = up_and_down("200ms")
    first, before = api.get("services", "n/a")["metadata"]["uid"], time.time()
    api.delete("services", "n/a")
    second = api.apply(service("n/a", ports=[81], labels={"role": "x"}))
    assert up.wait(1)[0].event["uid"] == second["metadata"]["uid"]
    gone = down.wait(1)[0]
    assert gone.what == ("DELETED", "n/a") and gone.event["uid"] == first
    assert at_least(0.2, d.starts("down")[0][0] - before)
    d.caught_up(api)
    assert len(down.runs()) == 1


# ---- 21: never a false empty set

def test_peers_21_no_snapshot_ever_shows_the_empty_list_of_a_broken_server(api, daemon, hook):
    keys = [f"n/s{i:02}" for i in range(12)]
    api.apply(*map(service, keys))
    d = daemon(api, watches={
        "services": {"resource": "services", "namespaces": ["*"], "guard": {"hold": "1h"}},
        "pods": {"resource": "pods", "namespaces": ["*"]}}, hooks={
        "h": hook_settings(hook, mode="snapshot", sources=["services", "pods"], **NOW)})
    hook.wait(1)
    api.wait_watching("services")
    api.wait_watching("pods")
    rule = api.on_list("services", times=None).list([], rv=api.rv + 10)
    api.end_watches("services", how=error_event(500))
    d.control.wait_watch("services", held=True, objects=12)
    api.apply(simple("Pod", "n/p"))
    run = hook.wait_for(lambda run: run.snapshot["pods"])
    assert len(run.snapshot["services"]) == 12 and run.input["sources"]["services"]["held"] is True
    assert run.told == [("ADDED", "n/p")]
    rule.cancel()
    d.control.wait_idle()
    assert {len(run.snapshot["services"]) for run in hook.runs()} == {12}


# ---- 22: no run before all sources are known

@pytest.mark.parametrize("late", ["services", "endpointslices"])
def test_peers_22_a_hook_over_two_sources_starts_when_both_are_known(api, daemon, hook, late):
    gate = Gate()
    api.on_list(late).hold(gate)
    api.apply(service("n/a"), endpointslice("n/a-1", "a", ["10.0.0.1"]))
    d = daemon(api, watches=TWO, hooks={"h": hook_settings(
        hook, mode="snapshot", sources=["services", "slices"], **NOW)})
    early = "slices" if late == "services" else "services"
    gate.wait_reached()
    d.synced(early)
    assert not hook.runs()
    assert {"services": "services", "endpointslices": "slices"}[late] in d.ctl("why", "h").stdout
    gate.open()
    run = hook.wait(1)[0]
    d.caught_up(api)
    assert [len(run.snapshot[name]) for name in ("services", "slices")] == [1, 1]
    assert sorted(e["source"] for e in run.events) == ["services", "slices"]
    assert len(hook.runs()) == 1


# ---- 27: the input that idempotent scripts need

@pytest.mark.parametrize("mode", MODES)
def test_peers_27_runs_have_unique_ids_attempts_reasons_and_versions(api, started, hook, mode):
    d = started(mode=mode, **NOW)
    hook.exits(1, 1)
    stored = api.apply(service("n/a"))
    hook.wait(3)
    d.caught_up(api)
    api.apply(service("n/a", ports=[81]))
    hook.wait(4)
    d.caught_up(api)
    assert d.ctl("run", "h", *(["n/a"] if mode == "object" else []), "--wait").returncode == 0
    runs = hook.runs()
    assert [run.attempt for run in runs] == [1, 2, 3, 1, 1]
    assert [run.reason for run in runs] == ["change", "retry", "retry", "change", "manual"]
    assert len({run.input["run"] for run in runs}) == 5
    for run in runs:
        assert run.env["INFORMERD_RUN"] == run.input["run"]
        assert run.env["INFORMERD_ATTEMPT"] == str(run.attempt)
        assert run.env["INFORMERD_REASON"] == run.reason
    for run in runs[:4]:
        assert run.events[0]["uid"] == stored["metadata"]["uid"]
    if mode == "object":
        assert runs[3].env["INFORMERD_RESOURCE_VERSION"] == str(api.rv)
        assert runs[3].env["INFORMERD_UID"] == stored["metadata"]["uid"]
