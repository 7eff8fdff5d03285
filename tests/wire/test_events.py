# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 20, 21, 23-27: frames of a watch, good and bad."""
import json

import campaign
import pytest
from control import at_least, wait_until
from fakeapi import END, EOF, RST, STALL, Gate, bookmark, error_event, ev, service, simple
from harness import is_sanitized
from proctree import memory_kb

MIB = 1 << 20
SLOW = {"backoff": {"initial": "100ms", "max": "100ms", "jitter": 0.0}}


def frame(event):
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def started(api, daemon, hook, keys=("n/foo", "n/bar"), rv=10, **more):
    """A daemon that has listed these Services at rv."""
    api.apply(*[service(key) for key in keys])
    api.rv = rv
    return daemon(api, hooks={"h": hook}, **more)


@pytest.mark.parametrize("wrong_last", [False, True])
def test_s20_wrong_kind_is_skipped_and_last_rv_counts(api, daemon, hook, wrong_last):
    wrong = ev("ADDED", simple("Pod", "n/intruder"), rv=60)
    steps = [ev("DELETED", service("n/foo"), rv=50), ev("MODIFIED", service("n/bar", [99]), rv=55),
             ev("ADDED", service("n/baz"), rv=32)]
    gate = Gate()
    steps = [*steps, wrong] if wrong_last else [wrong, *steps]
    api.on_watch("services").stream(*steps, gate, END)
    api.on_watch("services").stream(STALL)
    d = started(api, daemon, hook)
    d.control.wait_watch("services", resource_version="32", objects=2)
    hook.wait_what("ADDED", "n/baz")
    hook.wait_for(lambda r: r.key == "n/bar"
                  and r.event["object"]["spec"]["ports"][0]["port"] == 99)
    d.wait_problem("services", "prod", "kind")
    gate.open()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(10)", "W(32)"]
    assert sorted(d.control.keys("services")) == ["n/bar", "n/baz"]
    assert not [run for run in hook.runs() if run.key == "n/intruder"]


def test_s20_an_object_without_a_name_is_skipped(api, daemon, hook):
    broken = ev("ADDED", service("n/x"), rv=20)
    del broken["object"]["metadata"]["name"]
    api.on_watch("services").stream(broken, ev("ADDED", service("n/y"), rv=21), STALL)
    d = started(api, daemon, hook)
    hook.wait_what("ADDED", "n/y")
    assert d.control.watch("services")["resource_version"] == "21"
    assert d.control.watch("services")["state"] == "watching"


EVENTS_21 = [ev("ADDED", service("n/a"), rv=11), ev("MODIFIED", service("n/a", [81]), rv=20),
             bookmark(30), ev("DELETED", service("n/a"), rv=40)]


@pytest.mark.parametrize("count,rv", [(1, 11), (2, 20), (3, 30), (4, 40)])
def test_s21_the_next_watch_starts_at_the_last_rv(api, daemon, hook, count, rv):
    api.on_watch("services").stream(*EVENTS_21[:count], END)
    api.on_watch("services").stream(STALL)
    started(api, daemon, hook)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(10)", f"W({rv})"]


BAD_FRAMES = {
    "unknown type": frame({"type": "FOO", "object": service("n/z")}),
    "no JSON": b"<html>502 Bad Gateway</html>\n",
    "broken JSON": b'{"type":"ADDED","object":{"kind":"Service",}}\n',
    "no type": frame({"object": service("n/z")}),
    "no object": frame({"type": "ADDED"}),
    "a list": b'[{"type":"ADDED"}]\n',
    "ERROR without Status": frame({"type": "ERROR", "object": {"kind": "Nonsense"}}),
    "NUL bytes": b"\0\0\0\0\n",
    "deep": b'{"type":"ADDED","object":' + b"[" * 100000 + b"\n",
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_s23_a_bad_frame_drops_the_stream_and_relists_after_backoff(api, daemon, hook, name):
    api.on_watch("services").stream(ev("ADDED", service("n/a"), rv=12), BAD_FRAMES[name], STALL)
    d = started(api, daemon, hook, tuning=SLOW)
    bad = api.wait_for_request(lambda r: r.kind == "W")
    again = api.wait_for_request(lambda r: r.kind == "L", count=2)
    assert api.sequence("services")[:3] == ["L(0)", "W(10)", "L(12)"]
    assert at_least(0.1, again.time - bad.time)
    api.wait(lambda: not bad.conn.open)
    d.wait_problem("services", "prod")
    api.apply(service("n/later"))
    hook.wait_what("ADDED", "n/later")


def test_s23_all_good_types_are_understood(api, daemon, hook):
    api.on_watch("services").stream(*EVENTS_21[:2], *[ev("DELETED", service("n/foo"), rv=25)],
                                    bookmark(30), error_event(500), STALL)
    started(api, daemon, hook)
    api.wait_for_request(lambda r: r.kind == "L", count=2)
    assert api.sequence("services")[:3] == ["L(0)", "W(10)", "L(30)"]


@pytest.mark.parametrize("how", [END, EOF, RST])
def test_s24_half_a_frame_is_ignored_and_the_watch_reopened_at_once(api, daemon, hook, how):
    half = frame(ev("ADDED", service("n/half"), rv=99))
    gate = Gate()
    api.on_watch("services").stream(ev("ADDED", service("n/a"), rv=12), half[:len(half) // 2], gate,
                                    how)
    api.on_watch("services").stream(STALL)
    d = started(api, daemon, hook, tuning={"backoff": {"initial": "1h", "max": "1h"}})
    hook.wait_what("ADDED", "n/a")
    gate.open()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(10)", "W(12)"]
    assert sorted(d.control.keys("services")) == ["n/a", "n/bar", "n/foo"]


def test_s25_error_500_closes_waits_and_lists_at_the_last_rv(api, daemon, hook):
    gate = Gate()
    api.on_watch("services").stream(gate, ev("ADDED", service("n/a"), rv=12),
                                    error_event(500, message="etcd: hung"), STALL)
    d = started(api, daemon, hook, tuning=SLOW)
    watch = api.wait_for_request(lambda r: r.kind == "W")
    gate.wait_reached()
    begin = watch.time
    gate.open()
    api.wait(lambda: not watch.conn.open, what="the connection is closed")
    again = api.wait_for_request(lambda r: r.kind == "L", count=2)
    assert api.sequence("services")[:3] == ["L(0)", "W(10)", "L(12)"]
    assert at_least(0.1, again.time - begin)
    d.wait_problem("services", "etcd: hung")


def many_frames(count):
    return [ev("ADDED", service(f"n/s{i}"), rv=20 + i) for i in range(count)]


def in_pieces(data, count):
    step = len(data) // count + 1
    return [data[i:i + step] for i in range(0, len(data), step)]


CUTS = {
    "two frames in a chunk": lambda: [b"".join(frame(e) for e in many_frames(4))],
    "one frame in five chunks": lambda: [piece for e in many_frames(4)
                                         for piece in in_pieces(frame(e), 5)],
    "no newline": lambda: [frame(e).strip() for e in many_frames(4)],
    "no newline, one chunk": lambda: [b"".join(frame(e).strip() for e in many_frames(4))],
    "pretty": lambda: [json.dumps(e, indent=2).encode() + b"\n\n" for e in many_frames(4)],
    "pretty with CRLF": lambda: [json.dumps(e, indent="\t").replace("\n", "\r\n").encode()
                                 for e in many_frames(4)],
    "chunks across frames": lambda: in_pieces(b"".join(frame(e) for e in many_frames(4)), 7),
    "keys in the other order": lambda: [frame({"object": e["object"], "type": e["type"]})
                                        for e in many_frames(4)],
}


@pytest.mark.parametrize("name", CUTS)
def test_s26_frames_and_chunks_have_nothing_to_do_with_each_other(api, daemon, hook, name):
    api.on_watch("services").stream(*CUTS[name](), STALL)
    d = started(api, daemon, hook, keys=())
    hook.wait(4)
    d.control.wait_watch("services", resource_version="23", state="watching")
    assert sorted(hook.what()) == [("ADDED", f"n/s{i}") for i in range(4)]
    assert api.sequence("services") == ["L(0)", "W(10)"]


def test_s26_a_body_without_chunks_until_eof_is_read_too(api, daemon, hook):
    async def old_proxy(exchange):
        await exchange.conn.send(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
        for event in many_frames(3):
            await exchange.conn.send(frame(event))
        exchange.conn.close()
    api.on_watch("services").run(old_proxy)
    api.on_watch("services").stream(STALL)
    started(api, daemon, hook, keys=())
    hook.wait(3)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(10)", "W(22)"]


def big_event(size, rv, key="n/big"):
    return frame(ev("ADDED", service(key, annotations={"x": "y" * size}), rv=rv))


@pytest.mark.parametrize("mib", campaign.size([17], [17, 20]))
def test_s27_a_frame_over_the_limit_is_skipped_with_bounded_memory(api, daemon, hook, mib):
    big = big_event(mib * MIB, 12)
    times = campaign.size(2, 5)
    api.on_watch("services").stream(ev("MODIFIED", service("n/foo", [81]), rv=11), *[big] * times,
                                    ev("ADDED", service("n/later"), rv=13), STALL)
    d = started(api, daemon, hook, tuning=SLOW)
    before = memory_kb(d.pid)
    d.wait_problem("services", "object_size")
    hook.wait_what("ADDED", "n/later")
    assert api.sequence("services") == ["L(0)", "W(10)"]
    assert d.control.objects("services", "n/big") is None
    if not is_sanitized():
        assert memory_kb(d.pid) - before < 64 * 1024


def test_s27_object_size_is_the_limit_and_below_it_objects_pass(api, daemon, hook):
    gate = Gate()
    api.on_watch("services").stream(big_event(MIB // 2, 12), gate, big_event(20 * MIB, 13), STALL)
    d = started(api, daemon, hook, limits={"object_size": "1MiB"})
    before = memory_kb(d.pid)
    hook.wait_what("ADDED", "n/big")
    gate.open()
    d.control.wait_watch("services", resource_version="13", skipped=1)
    assert api.sequence("services") == ["L(0)", "W(10)"]
    if not is_sanitized():
        assert memory_kb(d.pid) - before < 12 * 1024


def test_an_object_over_the_limit_in_a_list_is_skipped_and_the_rest_counts(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook}, limits={"object_size": "256KiB"})
    hook.wait(2)
    api.wait_watching("services")
    api.apply(service("n/a", annotations={"x": "y" * 400000}), silent=True)
    api.apply(service("n/c"), silent=True)
    api.end_watches(how=error_event(500))
    hook.wait_what("ADDED", "n/c")
    d.caught_up(api)
    assert sorted(d.control.keys("services")) == ["n/a", "n/b", "n/c"]
    assert not [r for r in hook.runs() if r.event["type"] == "DELETED"]
    d.wait_problem("services", "n/a", "object_size")


def test_the_read_path_never_waits_for_hooks(api, daemon, hook):
    hook.block()
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    api.apply(service("n/slow"))
    hook.wait(1)
    for round_ in range(1, 200):
        for number in range(10):
            api.apply(service(f"n/s{number}", ports=[round_]))
    d.control.wait_watch("services", resource_version=str(api.rv))
    hook.release()
    d.caught_up(api)
    newest = {run.key: run.event["object"]["spec"]["ports"][0]["port"] for run in hook.runs()}
    assert {newest[f"n/s{n}"] for n in range(10)} == {199}
    wait_until(lambda: hook.ended() == len(hook.runs()))
    assert len(hook.runs()) == 11
