# SPDX-License-Identifier: Apache-2.0
"""The members of each answer that informerctl(1) lists under JSON are there, with their types."""
import json

import pytest
from control import wait_until
from fakeapi import endpointslice, service
from harness import TWO, hook_settings
from outputs import whole
from statefile import wait_noted

TEXT, NUMBER, FLAG, GROUP, ARRAY = str, (int, float), bool, dict, list
VIEW = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}
ONCE = {"initial": "1h", "max": "1h"}


class Null:
    """A type, or null."""

    def __init__(self, kind):
        self.kind = kind


def expect(answer, **members):
    """The answer has these members, each of its type."""
    for name, kind in members.items():
        assert name in answer, f"{name} is not in {sorted(answer)}"
        value = answer[name]
        if isinstance(kind, Null):
            assert value is None or isinstance(value, kind.kind), (name, value)
        else:
            assert isinstance(value, kind), (name, value)
            assert kind is FLAG or not isinstance(value, FLAG), (name, value)


@pytest.fixture
def busy(api, daemon, place, applier, new_hook):
    """A daemon with a view, a hook that has failed for n/a and is handled for no key, one with an output
    file that was applied, and one whose key is parked."""
    api.apply(service("n/a"), endpointslice("n/a-1", "a", ["10.0.0.1"]))
    fails, parks = new_hook(), new_hook()
    fails.exit_with(1)
    parks.exit_with(7)
    d = daemon(api, watches=TWO, views=VIEW, hooks={
        "fails": hook_settings(fails, retry=ONCE),
        "parks": hook_settings(parks, park_exit=[7], retry=ONCE),
        "file": whole(place, apply=[applier.path])})
    wait_until(lambda: d.control.hook("fails")["runs_failed"] and d.control.hook("parks")["parked"]
               and d.control.hook("file")["applies_ok"])
    d.control.wait_synced("services", "slices")
    api.wait_watching("services")       # else there is nothing to verify
    return d


def test_the_members_of_status(busy, api):
    status = busy.ctl_json("status")
    expect(status, version=TEXT, pid=NUMBER, started=TEXT, ready=FLAG, degraded=ARRAY, state=GROUP,
           memory=GROUP, clusters=GROUP, watches=GROUP, views=GROUP, hooks=GROUP, left_files=ARRAY)
    expect(status["state"], dir=Null(TEXT), kept=FLAG, writable=FLAG, reason=Null(TEXT), since=Null(TEXT),
           waiting=NUMBER, commits=NUMBER)
    expect(status["memory"], bytes=NUMBER, limit=Null(NUMBER))
    cluster = status["clusters"]["prod"]
    expect(cluster, server=TEXT, contact_age_s=NUMBER, trouble=Null(TEXT), credential_expires=Null(TEXT),
           servers=ARRAY)
    [server] = cluster["servers"]
    expect(server, url=TEXT, in_use=FLAG, tier=NUMBER, state=TEXT, state_age_s=Null(NUMBER),
           failed_age_s=Null(NUMBER), error=Null(TEXT))
    assert server["url"] == cluster["server"] == api.url and server["in_use"] is True
    assert server["tier"] == 1 and server["error"] is None and server["failed_age_s"] is None


def test_the_members_of_reload_in_the_status(busy):
    expect(busy.ctl_json("status")["reload"], running=FLAG, result=Null(TEXT), ended=Null(TEXT),
           problems=ARRAY, failing_since=Null(TEXT))
    busy.config.write_text(busy.config.read_text() + "nonsense = 1;\n")
    assert busy.ctl("reload").returncode == 78
    reload = json.loads(busy.ctl("status", "-o", "json").stdout)["reload"]
    expect(reload, running=FLAG, result=TEXT, ended=TEXT, problems=ARRAY, failing_since=TEXT)
    assert (reload["running"], reload["result"]) == (False, "invalid")
    assert len(reload["problems"]) == 1 and "nonsense" in reload["problems"][0]


def test_the_members_of_left_files_and_forget(busy, place):
    wait_noted(busy)
    busy.stop()
    busy.settings["hooks"].pop("file")
    busy.write_config()
    busy.start().synced("services", "slices")
    [entry] = busy.ctl_json("status")["left_files"]
    expect(entry, hook=TEXT, file=TEXT, because=TEXT)
    assert (entry["hook"], entry["file"]) == ("file", str(place / "all.cfg"))
    answer = busy.ctl_json("forget", "file", "--files")
    expect(answer, hook=TEXT, removing=NUMBER, removed=NUMBER, left=ARRAY)
    assert (answer["hook"], answer["removing"], answer["removed"], answer["left"]) == ("file", 0, 1, [])


def test_the_members_of_watches(busy):
    answer = busy.ctl_json("watches")
    expect(answer, watches=GROUP, views=GROUP)
    expect(answer["watches"]["services"], cluster=TEXT, resource=TEXT, state=TEXT, synced=FLAG, stale=FLAG,
           incomplete=FLAG, held=FLAG, contact_age_s=Null(NUMBER), objects=NUMBER, bytes=NUMBER, skipped=NUMBER,
           resource_version=Null(TEXT), relists=NUMBER, last_error=Null(TEXT), skipped_objects=ARRAY,
           resumed=Null(TEXT), past=FLAG)
    expect(answer["views"]["backends"], objects=NUMBER, synced=FLAG, stale=FLAG,
           incomplete=FLAG)
    assert answer["watches"]["services"]["past"] is False


def test_the_members_of_skipped_objects_in_watches(api, daemon):
    api.apply(service("n/a"), service("n/big", annotations={"x": "y" * 4000}))
    d = daemon(api, limits={"object_size": "2KiB"}).synced()
    watch = d.ctl_json("watches")["watches"]["services"]
    [entry] = watch["skipped_objects"]
    expect(entry, key=Null(TEXT), why=TEXT, objects=NUMBER)
    assert entry["key"] == "n/big" and watch["skipped"] == 1


def test_the_members_of_hooks(busy):
    answer = busy.ctl_json("hooks")
    expect(answer, hooks=GROUP)
    for hook in answer["hooks"].values():
        expect(hook, pending=NUMBER, running=NUMBER, parked=NUMBER, forgotten=NUMBER, paused=FLAG,
               oldest_pending_s=Null(NUMBER), last_success=Null(TEXT), last_error=Null(TEXT), runs_ok=NUMBER,
               runs_failed=NUMBER, handled=NUMBER, latency_p50_s=Null(NUMBER), latency_p99_s=Null(NUMBER))
    file = answer["hooks"]["file"]
    expect(file, apply=TEXT, applies_ok=NUMBER, applies_failed=NUMBER, last_success=TEXT, latency_p50_s=NUMBER,
           latency_p99_s=NUMBER)
    assert file["apply"] == "handled" and file["applies_ok"] == 1 and file["handled"] >= 1
    assert answer["hooks"]["fails"]["oldest_pending_s"] > 0


def test_the_members_of_runs(busy):
    runs = busy.ctl_json("runs")
    for run in runs:
        expect(run, run=TEXT, hook=TEXT, program=TEXT, ended=TEXT, took_s=NUMBER, events=NUMBER, reason=TEXT,
               attempt=NUMBER, outcome=TEXT, result=TEXT, file=Null(TEXT), became=Null(TEXT), cpu_s=NUMBER,
               memory_peak_bytes=Null(NUMBER), dropped_bytes=NUMBER, last_line=Null(TEXT), stdout=TEXT, stderr=TEXT)
    failed = next(run for run in runs if run["hook"] == "fails")
    expect(failed, source=TEXT, key=TEXT, event=TEXT)
    assert (failed["source"], failed["key"], failed["event"], failed["outcome"]) == (
        "services", "n/a", "ADDED", "failed")
    assert {run["outcome"] for run in runs} == {"ok", "failed", "parked"}
    assert {run["program"] for run in runs} == {"command", "apply"}
    assert "written" in {run["became"] for run in runs}


def test_the_members_of_why(busy):
    answer = busy.ctl_json("why", "fails", "n/a")
    expect(answer, hook=TEXT, left_out=NUMBER, units=ARRAY)
    [unit] = answer["units"]
    expect(unit, program=TEXT, source=TEXT, key=TEXT, reason=TEXT, of=Null(TEXT), text=TEXT, advice=Null(TEXT),
           before_restart=Null(TEXT), until=TEXT, failures=NUMBER, event=GROUP, digest=Null(TEXT), last_run=GROUP)
    assert (unit["reason"], unit["failures"], unit["source"], unit["key"]) == ("backoff", 1, "services", "n/a")
    expect(unit["event"], type=TEXT, cause=TEXT, received=TEXT)
    assert (unit["event"]["type"], unit["event"]["cause"]) == ("ADDED", "relist")
    expect(unit["last_run"], run=TEXT, ended=TEXT, result=TEXT, outcome=TEXT)


def test_the_members_of_run(busy):
    answer = busy.ctl_json("run", "file")
    expect(answer, order=NUMBER, units=NUMBER)
    answer = busy.ctl_json("run", "fails", "n/a", "--wait", code=1)
    expect(answer, order=NUMBER, units=NUMBER, left=NUMBER, failed=NUMBER)
    assert (answer["units"], answer["left"], answer["failed"]) == (1, 0, 1)


def test_the_members_of_pause_and_resume(busy):
    for verb in ("pause", "resume"):
        answer = busy.ctl_json(verb, "file")
        expect(answer, hooks=GROUP, kept=FLAG)
        expect(answer["hooks"]["file"], paused=FLAG, changed=FLAG, running=NUMBER)
        assert answer["hooks"]["file"]["paused"] is (verb == "pause")
        assert answer["hooks"]["file"]["changed"] is True and answer["kept"] is True


def test_the_members_of_log_level(busy):
    assert busy.ctl("log-level", "debug", "--watch", "services").returncode == 0
    answer = busy.ctl_json("log-level", "trace", "--hook", "file")
    expect(answer, level=TEXT, configured=TEXT, watches=GROUP, hooks=GROUP)
    assert answer["watches"] == {"services": "debug"} and answer["hooks"] == {"file": "trace"}


def test_the_members_of_wait(busy):
    answer = busy.ctl_json("wait", "--for", "synced")
    expect(answer, done=FLAG, waits_for=ARRAY)
    assert (answer["for"], answer["done"], answer["waits_for"]) == ("synced", True, [])
    answer = busy.ctl_json("wait", "--for", "idle", "--timeout", "10ms", code=1)
    expect(answer, done=FLAG, waits_for=ARRAY)
    assert answer["done"] is False and "fails" in str(answer["waits_for"])


def test_the_members_of_verify(busy, api):
    answer = busy.ctl_json("verify", "services")
    expect(answer, compared=NUMBER, not_compared=NUMBER, differences=NUMBER, keys=ARRAY, error=Null(TEXT))
    assert (answer["compared"], answer["differences"], answer["keys"]) == (1, 0, [])
    api.apply(service("n/hidden"), silent=True)
    answer = busy.ctl_json("verify", "services", code=1)
    [entry] = answer["keys"]
    expect(entry, key=TEXT, what=TEXT)
    assert (entry["key"], entry["what"], answer["differences"]) == ("n/hidden", "missing", 1)


def test_the_members_of_events(busy):
    events = [json.loads(line) for line in busy.ctl("events", "-o", "json").stdout.splitlines()]
    for event in events:
        expect(event, time=TEXT, seq=NUMBER, what=TEXT)
    assert {"change", "watch", "run"} <= {event["what"] for event in events}
