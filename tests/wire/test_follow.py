# SPDX-License-Identifier: Apache-2.0
"""informerctl events [-f] and stream: NDJSON that goes on, and readers that do not."""
import os
import signal
import socket
import time

import campaign
import pytest
from control import PATIENCE, wait_until
from fakeapi import Gate, error_event, service, simple
from harness import hook_settings, is_sanitized
from proctree import fds, memory_kb


@pytest.fixture
def running(api, daemon, hook):
    api.apply(service("n/b"), service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    api.wait_watching("services")
    d.caught_up(api)
    return d


# ---- stream

def test_a_stream_is_every_object_a_sync_line_and_then_the_changes(running, api):
    with running.follow("stream", "services") as f:
        first, second, sync = f.wait(3)[:3]
        assert [(line["type"], line["name"]) for line in (first, second)] == [
            ("ADDED", "a"), ("ADDED", "b")]
        assert first["object"]["spec"] == api.get("services", "n/a")["spec"]
        assert (first["object"]["kind"], first["object"]["apiVersion"]) == ("Service", "v1")
        assert (first["cluster"], first["source"]) == ("prod", "services")
        assert sync == {"type": "SYNCED", "cluster": "prod", "source": "services", "objects": 2,
                        "stale": False}
        api.apply(service("n/c"), service("n/a", ports=[81]))
        api.delete("services", "n/b")
        changes = f.wait(6)[3:6]
    assert [(line["type"], line["name"]) for line in changes] == [
        ("ADDED", "c"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert changes[1]["object"]["spec"]["ports"][0]["port"] == 81
    assert changes[2]["object"]["metadata"]["name"] == "b"
    assert all(line["cause"] == "watch" and line["received"] for line in changes)


def test_a_stream_does_not_run_and_does_not_wait_for_hooks(running, api, hook):
    hook.block()
    with running.follow("stream", "services") as f:
        f.wait(3)
        for number in range(50):
            api.apply(service(f"n/s{number}"))
        f.wait(53)
    assert len(hook.wait(3)) == 3 and hook.ended() == 2
    hook.release()


def test_a_stream_of_a_watch_that_is_not_synced_begins_once_it_is(api, daemon):
    gate = Gate()
    api.on_list("services").hold(gate)
    api.apply(service("n/a"))
    d = daemon(api)
    gate.wait_reached()
    with d.follow("stream", "services") as f:
        wait_until(lambda: len(fds(f.process.pid)) >= 4, what="it is connected")
        assert not f.lines
        gate.open()
        assert [line["type"] for line in f.wait(2)] == ["ADDED", "SYNCED"]


def test_a_stream_shows_the_differences_of_a_relist_and_outages(api, factory):
    api.apply(service("n/a"), service("n/b"))
    cluster = {**factory.cluster(api), "stale_after": "200ms"}
    d = factory.daemon(clusters={"prod": cluster})
    d.synced()
    api.wait_watching("services")
    with d.follow("stream", "services") as f:
        f.wait(3)
        api.delete("services", "n/a", silent=True)
        api.end_watches(how=error_event(500))
        gone = f.wait_for(lambda line: line["type"] == "DELETED")
        assert (gone["name"], gone["cause"], gone["final_state_unknown"]) == ("a", "relist", True)
        api.wait_watching("services")
        d.control.wait_watch("services", stale=False)    # a slow relist counts as an outage
        before = len(f.lines)
        api.stop_listening()
        api.drop("rst")

        def later(kind):
            return [line["type"] for line in f.lines[before:]].count(kind)
        wait_until(lambda: later("STALE"), what="it is told that contact is lost")
        api.listen()
        wait_until(lambda: later("FRESH") >= later("STALE"), what="and that it is back")
        assert {line["source"] for line in f.lines} == {"services"}


def test_a_reader_that_does_not_read_is_cut_off_and_stops_nothing_else(running, api, hook):
    """There are more lines than the daemon keeps for a reader; in a campaign, more bytes."""
    lines, size = campaign.size((11000, 10), (300, 60000))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        began = time.monotonic()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(str(running.control.path))
        sock.sendall(b"GET /v1/sources/services/stream HTTP/1.1\r\nHost: x\r\n\r\n")
        assert sock.recv(100).startswith(b"HTTP/1.1 200")
        before = memory_kb(running.pid, "VmRSS")
        for number in range(lines):
            api.apply(service("n/big", annotations={"x": f"{number:06}" * size}))
        running.seen(api)
        api.apply(service("n/small"))
        hook.wait_what("ADDED", "n/small")
        if not is_sanitized():
            assert memory_kb(running.pid, "VmRSS") - before < 96 * 1024, "and not 108 MB"
        read = b""
        while data := sock.recv(1 << 20):
            read = read[-1000:] + data
        stood = time.monotonic() - began
    # A reader that reads nothing for 30 s gets no reason: this test may have been so slow itself.
    assert b"too slow" in read[-300:] or stood > 25, "its last line says why"
    assert b"n/small" not in read and running.control.status()["ready"]


def test_many_readers_come_and_go_and_nothing_leaks(running, api):
    before = len(fds(running.pid))
    for _ in range(5):
        followers = [running.follow("stream", "services") for _ in range(8)]
        for f in followers:
            f.wait(3)
            f.__exit__()
    wait_until(lambda: len(fds(running.pid)) <= before + 1, what="their connections are closed")
    api.apply(service("n/c"))
    with running.follow("stream", "services") as f:
        f.wait(4)


def test_a_stream_ends_with_the_daemon_and_says_so(running):
    with running.follow("stream", "services") as f:
        f.wait(3)
        running.signal(signal.SIGTERM)
        assert running.wait_exit() == 0
        code, text = f.wait_end()
        assert code == 2 and text


def test_a_stream_into_a_closed_pipe_ends_quietly(running, api):
    with running.follow("stream", "services") as f:
        f.wait(3)
        os.close(os.dup(f.process.stdout.fileno()))
    assert running.control.status()["ready"]


def test_the_stream_of_one_big_source_comes_through_whole(api, daemon):
    for number in range(3000):
        api.apply(simple("ConfigMap", f"n/c{number:05}", data={"v": "x" * 500}))
    d = daemon(api, watches={"maps": {"resource": "configmaps", "namespaces": ["*"]}})
    with d.follow("stream", "maps") as f:
        lines = f.wait(3001)
        assert lines[3000]["type"] == "SYNCED" and lines[3000]["objects"] == 3000
        assert [line["name"] for line in lines[:3000]] == [f"c{i:05}" for i in range(3000)]


# ---- events

def test_events_tell_what_happened_to_watches_objects_and_hooks(running, api, hook):
    hook.exits(1)
    api.apply(service("n/c"))
    hook.wait(4)
    running.caught_up(api)
    assert running.ctl("pause", "h").returncode == 0
    assert running.ctl("resume", "h").returncode == 0
    with running.follow("events", "-f", "-o", "json") as f:
        f.wait_for(lambda line: line.get("state") == "resumed")
        lines = list(f.lines)
    assert [line["seq"] for line in lines] == sorted(line["seq"] for line in lines)
    assert any(line["what"] == "watch" and line["state"] == "synced" for line in lines)
    change = [line for line in lines if line["what"] == "change" and line["key"] == "n/c"][0]
    assert (change["type"], change["watch"], change["cluster"]) == ("ADDED", "services", "prod")
    runs = [line for line in lines if line["what"] == "run" and line["key"] == "n/c"]
    assert [(line["attempt"], line["ok"], line["reason"]) for line in runs] == [
        (1, False, "change"), (2, True, "retry")]
    assert "exit status 1" in runs[0]["result"]
    assert [line["state"] for line in lines if line["what"] == "hook"] == ["paused", "resumed"]
    shown = running.ctl("events")
    assert shown.returncode == 0 and "n/c" in shown.stdout and "exit status 1" in shown.stdout


def test_events_go_on(running, api, hook):
    with running.follow("events", "-f", "-o", "json") as f:
        wait_until(lambda: f.lines)
        api.apply(service("n/new"))
        f.wait_for(lambda line: line["what"] == "change" and line["key"] == "n/new")
        f.wait_for(lambda line: line["what"] == "run" and line.get("key") == "n/new")


def test_events_tell_of_parked_keys_and_held_lists(api, daemon, hook):
    api.apply(*[service(f"n/s{i:02}") for i in range(12)])
    hook.exit_with(7, "s03")
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"],
                                          "guard": {"hold": "1h"}}},
               hooks={"h": hook_settings(hook, park_exit=[7])})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    api.wait_watching("services")
    api.on_list("services", times=None).list([], rv=api.rv + 10)
    assert d.ctl("relist", "services").returncode == 0
    d.control.wait_watch("services", held=True)
    with d.follow("events", "-f", "-o", "json") as f:
        parked = f.wait_for(lambda line: line.get("state") == "parked")
        assert (parked["what"], parked["hook"], parked["key"]) == ("hook", "h", "n/s03")
        held = f.wait_for(lambda line: line.get("state") == "held")
        assert (held["what"], held["watch"], held["cluster"]) == ("watch", "services", "prod")


def test_events_are_bounded_and_hold_no_object(running, api):
    for number in range(2500):
        api.apply(service("n/a", ports=[number + 1], annotations={"secret": "do-not-show"}))
    running.seen(api)
    shown = running.ctl("events", "-o", "json")
    assert shown.returncode == 0 and "do-not-show" not in shown.stdout
    assert 500 <= len(shown.stdout.splitlines()) <= 1100
