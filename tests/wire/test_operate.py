# SPDX-License-Identifier: Apache-2.0
"""informerctl for hooks: runs, why, input, run, pause, resume."""
import json
import os
import signal
import subprocess

import pytest
from control import PATIENCE, at_least, wait_until
from fakeapi import Gate, endpointslice, service, simple
from harness import INFORMERCTL, MODES, NOW, ONCE, hook_settings

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def why(d, *args):
    """(reason, until or None, the unit) of the only unit in the answer of informerctl why."""
    [unit] = d.ctl_json("why", *args)["units"]
    return unit["reason"], unit["until"], unit


# ---- runs

def test_runs_tell_exactly_how_each_run_ended(api, daemon, new_program):
    program = new_program('case $INFORMERD_NAME in bad) echo why >&2; exit 3;;\n'
                          'killed) kill -KILL $$;; slow) sleep 1000;; esac; echo fine')
    plain = {"command": [program.path], "retry": ONCE, "kill_grace": "100ms"}
    watches = {name: {"resource": "services", "namespaces": ["*"],
                      "match": [f"metadata.name{match}slow"]}
               for name, match in (("services", "!="), ("others", "="))}
    d = daemon(api, watches=watches, hooks={
        "h": {"sources": ["services"], "timeout": "1h", **plain},
        "late": {"sources": ["others"], "timeout": "300ms", **plain}})
    d.settled(api)
    for name in ("good", "bad", "killed"):
        api.apply(service(f"n/{name}"))
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 2)
    api.apply(service("n/slow"))
    wait_until(lambda: d.control.hook("late")["runs_failed"] == 1)
    d.control.wait_watch("services", objects=3)
    runs = d.ctl_json("runs")
    assert [run["key"] for run in runs] == ["n/good", "n/bad", "n/killed", "n/slow"]
    for run, words in zip(runs, ("exit status 0", "exit status 3", "signal 9", "timeout")):
        assert words in run["result"]
        assert (run["attempt"], run["reason"], run["event"]) == (1, "change", "ADDED")
        assert (run["hook"], run["source"]) == (
            ("late", "others") if words == "timeout" else ("h", "services"))
        assert run["run"] and run["ended"].endswith("Z")
    assert [run["outcome"] for run in runs] == ["ok", "failed", "failed", "failed"]
    assert runs[0]["stdout"] == "fine\n" and runs[1]["stderr"] == "why\n"
    assert runs[1]["last_line"] == "why"
    assert at_least(0.3, runs[3]["took_s"]) and len({run["run"] for run in runs}) == 4
    assert d.ctl_json("runs", "h") == runs[:3]
    table = d.ctl("runs", "h")
    assert table.returncode == 0
    for word in ("n/bad", "exit status 3", "why", "ADDED"):
        assert word in table.stdout


def test_only_the_last_runs_are_remembered(api, handled, hook):
    d = handled()
    for number in range(60):
        api.apply(service(f"n/s{number}"))
    d.caught_up(api)
    runs = d.ctl_json("runs", "h")
    assert 20 <= len(runs) < 61
    assert [run["key"] for run in runs] == [f"n/s{i}" for i in range(60 - len(runs), 60)]


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_runs_of_many_objects_have_no_key(handled, mode):
    [run] = handled(mode=mode, **NOW).ctl_json("runs", "h")
    assert not run["key"] and run["events"] == 1 and run["event"] is None
    assert run["outcome"] == "ok" and run["reason"] == "existing"


def test_runs_shows_parked_runs_and_retries(api, handled, hook):
    d = handled(park_exit=[7])
    hook.exits(1, 7)
    api.apply(service("n/b"))
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    runs = d.ctl_json("runs", "h")[1:]
    assert [(r["attempt"], r["reason"], r["outcome"]) for r in runs] == [
        (1, "change", "failed"), (2, "retry", "parked")]


# ---- why

def test_why_names_one_reason_for_each_state_of_a_key(api, handled, hook):
    d = handled(park_exit=[7], retry={"initial": "30min", "max": "1h"})
    assert why(d, "h", "n/a")[:2] == ("handled", None)
    hook.block("busy")
    api.apply(service("n/busy"))
    hook.wait(2)
    api.apply(service("n/waits"))
    d.seen(api)
    assert why(d, "h", "n/busy")[0] == "running"
    reason, _until, unit = why(d, "h", "n/waits")
    assert reason == "slot" and unit["event"]["type"] == "ADDED" and unit["last_run"] is None
    hook.exit_with(1, "waits")
    hook.exit_with(7, "parks")
    hook.release("busy")
    hook.wait(3)
    api.apply(service("n/parks"))
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    reason, until, unit = why(d, "h", "n/waits")
    assert reason == "backoff" and until.endswith("Z") and unit["failures"] == 1
    assert unit["last_run"]["result"].startswith("exit status 1")
    assert why(d, "h", "n/parks")[:2] == ("parked", None)
    text = d.ctl("why", "h", "n/waits")
    assert text.returncode == 0 and "backoff" in text.stdout and "exit status 1" in text.stdout
    assert d.ctl("pause", "h").returncode == 0
    api.apply(service("n/new"))
    d.seen(api)
    assert why(d, "h", "n/new")[0] == "paused"
    units = d.ctl_json("why", "h")["units"]
    assert {unit["key"] for unit in units} >= {"n/waits", "n/new"}
    assert d.ctl("resume", "h").returncode == 0


@pytest.mark.parametrize("mode", MODES)
def test_why_tells_of_settle_and_min_interval(api, handled, mode):
    key = ["n/b"] if mode == "object" else []
    d = handled(mode=mode, settle=["1h", "1h"])
    api.apply(service("n/b"))
    d.seen(api)
    reason, until, unit = why(d, "h", *key)
    assert reason == "settling" and until.endswith("Z") and "settling" in unit["text"]


def test_why_tells_of_min_interval(api, handled, hook):
    d = handled(min_interval="1h")
    api.apply(service("n/b"))
    d.seen(api)
    assert why(d, "h", "n/b")[0] == "min_interval" and len(hook.runs()) == 1


def test_why_names_the_source_or_the_hook_that_is_waited_for(api, daemon, new_hook):
    gate = Gate()
    api.on_list("pods").hold(gate)
    first, second = new_hook(), new_hook()
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"]},
                             "pods": {"resource": "pods", "namespaces": ["*"]}}, hooks={
        "first": hook_settings(first, sources=["services", "pods"]),
        "second": hook_settings(second, after=["first"])})
    gate.wait_reached()
    d.synced("services")
    reason, _until, unit = why(d, "first")
    assert (reason, unit["of"]) == ("not_synced", "pods") and "pods" in d.ctl("why", "first").stdout
    reason, _until, unit = why(d, "second")
    assert (reason, unit["of"]) == ("after", "first")
    gate.open()


def test_why_tells_of_a_guard(api, daemon, hook):
    api.apply(*[service(f"n/s{i:02}") for i in range(12)])
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"],
                                          "guard": {"hold": "1h"}}}, hooks={"h": hook})
    hook.wait(12)
    api.wait_watching("services")
    d.control.wait_idle()
    api.on_list("services", times=None).list([], rv=api.rv + 10)
    assert d.ctl("relist", "services").returncode == 0
    d.control.wait_watch("services", held=True)
    reason, _until, unit = why(d, "h", "n/s03")
    assert (reason, unit["of"]) == ("guard", "services")


# ---- input

@pytest.mark.parametrize("mode", MODES)
def test_input_is_what_the_next_run_gets(api, handled, hook, mode):
    d = handled(mode=mode, **NOW)
    hook.block()
    api.apply(service("n/busy"))
    hook.wait(2)
    api.apply(service("n/a", ports=[81]))
    d.seen(api)
    shown = json.loads(d.ctl("input", "h", *(["n/a"] if mode == "object" else [])).stdout)
    assert len(hook.runs()) == 2, "looking is not running"
    hook.release()
    d.caught_up(api)
    told = [run for run in hook.runs()[2:] if ("MODIFIED", "n/a") in run.told][0].input
    for doc in (shown, told):
        doc.pop("run")
        for source in doc["sources"].values():
            source.pop("age_s")
    assert shown["version"] == 1 and shown["hook"] == "h" and set(shown) == set(told)
    if mode == "object":
        assert shown == told
    else:
        member = "events" if mode == "batch" else "changes"
        assert [e for e in shown[member] if e["name"] == "a"] == [
            e for e in told[member] if e["name"] == "a"]
        assert shown.get("snapshot") == told.get("snapshot")


def test_input_of_a_handled_key_is_what_a_manual_run_would_get(api, handled, hook):
    d = handled()
    shown = json.loads(d.ctl("input", "h", "n/a").stdout)
    assert shown["event"]["name"] == "a" and shown["event"]["object"]["kind"] == "Service"
    assert shown["reason"] == "manual" and len(hook.runs()) == 1
    assert d.ctl("input", "h", "n/nobody").returncode == 1


# ---- run

@pytest.mark.parametrize("mode", MODES)
def test_run_runs_again_and_waits_for_the_end(api, handled, hook, mode):
    d = handled(mode=mode, settle=["1h", "1h"])
    key = ["n/a"] if mode == "object" else []
    done = d.ctl("run", "h", *key, "--wait")
    assert done.returncode == 0, done
    assert hook.ended() == 2
    run = hook.runs()[1]
    assert (run.reason, run.attempt) == ("manual", 1)
    assert run.env["INFORMERD_REASON"] == "manual"
    if mode == "object":
        assert run.what == ("MODIFIED", "n/a") and run.event["changed"] == []
    elif mode == "snapshot":
        assert len(run.snapshot["services"]) == 1
    hook.exits(9)
    assert d.ctl("run", "h", *key, "--wait").returncode == 1


def test_run_without_a_key_runs_all_keys(api, handled, hook):
    d = handled()
    api.apply(service("n/b"), service("n/c"))
    d.caught_up(api)
    hook.forget()
    assert d.ctl("run", "h", "--wait").returncode == 0
    assert sorted(run.key for run in hook.runs()) == ["n/a", "n/b", "n/c"]
    assert {run.reason for run in hook.runs()} == {"manual"}


def test_run_ignores_backoff_and_parking(api, handled, hook):
    d = handled(park_exit=[7], retry=ONCE)
    hook.exit_with(7, "parked")
    hook.exit_with(1, "failing")
    api.apply(service("n/parked"), service("n/failing"))
    hook.wait(3)
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    for name in ("parked", "failing"):
        hook.exit_with(0, name)
        assert d.ctl("run", "h", f"n/{name}", "--wait").returncode == 0
        assert hook.of(f"n/{name}")[-1].reason == "manual"
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0 and len(hook.runs()) == 5


def test_run_without_wait_returns_at_once(handled, hook):
    d = handled()
    hook.block()
    assert d.ctl("run", "h", "n/a").returncode == 0
    hook.wait(2)
    waits = subprocess.Popen([INFORMERCTL, "--socket", d.control.path, "run", "h", "n/a", "--wait"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert waits.poll() is None
    hook.release()
    assert waits.wait(PATIENCE) == 0


def test_run_with_wait_and_a_timeout_that_passes_says_no(handled, hook):
    d = handled()
    hook.block()
    done = d.ctl("run", "h", "n/a", "--wait", "--timeout", "200ms")
    assert done.returncode == 1 and done.stderr
    hook.release()


def test_run_is_refused_where_nothing_may_run(api, handled, daemon, new_hook):
    d = handled()
    assert d.ctl("run", "h", "n/nobody").returncode == 1
    assert d.ctl("run", "nobody").returncode == 1
    assert d.ctl("pause", "h").returncode == 0
    done = d.ctl("run", "h", "n/a")
    assert done.returncode == 1 and "pause" in done.stderr
    gate = Gate()
    api.on_list("pods").hold(gate)
    late = daemon(api, watches={"pods": {"resource": "pods", "namespaces": ["*"]}},
                  hooks={"h": hook_settings(new_hook(), sources=["pods"])})
    gate.wait_reached()
    for command in ("run", "input"):
        done = late.ctl(command, "h")
        assert done.returncode == 1 and done.stderr
    gate.open()


# ---- pause, resume

@pytest.mark.parametrize("mode", MODES)
def test_a_paused_hook_starts_nothing_until_it_is_resumed(api, handled, hook, mode):
    d = handled(mode=mode, **NOW)
    hook.block()
    api.apply(service("n/b"))
    hook.wait(2)
    assert d.ctl("pause", "h").returncode == 0
    api.apply(service("n/a", ports=[81]))
    d.seen(api)
    hook.release()
    wait_until(lambda: d.control.hook("h")["running"] == 0 and d.control.hook("h")["runs_ok"] == 2)
    status = d.control.hook("h")
    assert status["paused"] is True and status["pending"] == 1
    api.apply(service("n/a", ports=[82]))
    d.seen(api)
    assert len(hook.runs()) == 2 and "paused" in d.ctl("why", "h").stdout
    assert d.ctl("resume", "h").returncode == 0
    assert hook.wait(3)[2].told == [("MODIFIED", "n/a")]
    d.caught_up(api)
    assert hook.runs()[2].events[0]["resource_version"] == str(api.rv)
    assert d.control.hook("h")["paused"] is False and len(hook.runs()) == 3


def test_pause_without_a_name_pauses_all_hooks(api, daemon, new_hook):
    one, two = new_hook(), new_hook()
    d = daemon(api, hooks={"one": one, "two": two}).synced()
    api.wait_watching("services")
    assert d.ctl("pause").returncode == 0
    assert [d.control.hook(name)["paused"] for name in ("one", "two")] == [True, True]
    assert d.ctl("resume", "two").returncode == 0
    api.apply(service("n/a"))
    two.wait(1)
    assert not one.runs()
    assert d.ctl("resume").returncode == 0
    one.wait(1)


def test_the_table_of_hooks_shows_what_is_parked_and_paused(api, handled, hook):
    d = handled(park_exit=[7])
    hook.exit_with(7, "b")
    hook.exit_with(7, "c")
    api.apply(service("n/b"), service("n/c"))
    wait_until(lambda: d.control.hook("h")["parked"] == 2)
    assert d.ctl("pause", "h").returncode == 0
    head, row = (line.split() for line in d.ctl("hooks").stdout.splitlines()[:2])
    shown = dict(zip(head, row))
    assert (shown["HOOK"], shown["PARKED"], shown["PAUSED"]) == ("h", "2", "yes")


def test_pausing_and_resuming_twice_is_no_harm(handled, hook):
    d = handled()
    for command in ("pause", "pause", "resume", "resume"):
        assert d.ctl(command, "h").returncode == 0
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0


# ---- Exit codes

COMMANDS = [["runs", "h"], ["why", "h"], ["why", "h", "n/a"], ["input", "h", "n/a"],
            ["run", "h", "n/a"], ["pause", "h"], ["resume", "h"], ["events"]]


def test_exit_codes(handled):
    d = handled()
    for command in COMMANDS:
        assert d.ctl(*command).returncode == 0, command
    for command in (["runs", "none"], ["why", "none"], ["why", "h", "n/none"], ["input", "none"],
                    ["run", "none"], ["pause", "none"], ["resume", "none"], ["stream", "none"]):
        done = d.ctl(*command)
        assert done.returncode == 1 and done.stderr, command
    for command in (["why"], ["input"], ["run"], ["runs", "h", "surplus"], ["pause", "h", "n/a"],
                    ["stream"], ["run", "h", "--wait", "--timeout", "soon"], ["why", "h", "-f"],
                    ["events", "surplus"], ["runs", "--wait"]):
        done = d.ctl(*command)
        assert done.returncode == 64 and done.stderr, command
    d.signal(signal.SIGTERM)
    d.wait_exit()
    for command in [*COMMANDS, ["stream", "services"], ["events", "-f"], ["run", "h", "--wait"]]:
        assert d.ctl(*command).returncode == 2, command


@as_root
def test_others_may_look_but_not_act_on_hooks(api, daemon, new_program):
    program = new_program("echo secret-output")
    api.apply(service("n/a"), simple("Secret", "n/s", data={"k": "djE="}))
    hook = {"command": [program.path]}
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"]},
                             "secrets": {"resource": "secrets", "namespaces": ["*"]}},
               hooks={"h": {"sources": ["services"], **hook},
                      "s": {"sources": ["secrets"], **hook}}).synced()
    d.control.wait_idle()
    run = d.ctl_of_nobody
    for command in (["runs"], ["why", "h"], ["input", "h", "n/a"], ["events"], ["why", "s"]):
        assert run(*command).returncode == 0, command
    assert "secret-output" in run("runs", "h", "-o", "json").stdout
    assert "secret-output" not in run("runs", "s", "-o", "json").stdout
    assert run("input", "s", "n/s").returncode == 77
    assert run("stream", "secrets").returncode == 77
    for command in (["run", "h"], ["pause", "h"], ["pause"], ["resume"], ["run", "h", "--wait"]):
        done = run(*command)
        assert done.returncode == 77 and done.stderr, command
    assert d.control.hook("h")["paused"] is False and d.control.hook("h")["runs_ok"] == 1


def test_one_key_of_two_sources_is_two_units(api, daemon, hook):
    api.apply(service("n/a"), endpointslice("n/a", "a", ["10.0.0.1"]))
    d = daemon(api, watches={
        "services": {"resource": "services", "namespaces": ["*"]},
        "slices": {"resource": "endpointslices", "namespaces": ["*"]}}, hooks={
        "h": hook_settings(hook, sources=["services", "slices"])})
    hook.wait(2)
    d.control.wait_idle()
    assert {u["source"] for u in d.ctl_json("why", "h", "n/a")["units"]} == {"services", "slices"}
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0
    assert sorted(run.event["source"] for run in hook.runs()[2:]) == ["services", "slices"]
