# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS 18, 57-63 and PROTOCOL 1.23, 2.8: no watch is silently dead, or in the past."""
import collections

import pytest
from control import at_least
from fakeapi import END, EOF, RST, STALL, Gate, bookmark, error_event, ev, service, simple
from harness import is_sanitized
from proctree import memory_kb

AT_ONCE = {"backoff": {"initial": "1h", "max": "1h"}}
SHORT = {"watch_timeout": ["1s", "1s"]}
HOLD_S = 1
SLACK_S = 10    # of a machine that has much else to do


def guarded(**guard):
    return {"services": {"resource": "services", "namespaces": ["*"],
                         "guard": {"hold": f"{HOLD_S}s", **guard}}}


def probes(api):
    """The lists of which only the version counts."""
    return [r for r in api.of("services", "L") if r.query.get("limit") == "1"]


def marked(d, api):
    """A bookmark has come that is newer than all that came before."""
    seen = api.rv
    api.rv = seen + 1
    api.bookmark()
    d.control.wait_watch("services", resource_version=str(seen + 1))


# ---- How streams break

BREAKS = {
    "RST": [RST], "EOF": [EOF], "a clean end": [END],
    "RST inside a frame": [b'{"type":"ADDED","object":{"kind":"Service","apiV', RST],
    "EOF inside a frame": [b'{"type":"ADDED","object":{"kind":"Service","apiV', EOF],
    "a clean end inside a frame": [b'{"type":"ADDED","object":{"kind":"Service","apiV', END],
}


@pytest.mark.parametrize("how", BREAKS)
def test_s57_a_broken_stream_goes_on_at_once_behind_its_last_event(api, daemon, hook, how):
    one, two = service("n/a"), service("n/b")
    api.on_watch("services").stream(ev("ADDED", one, rv=10), *BREAKS[how])
    api.on_watch("services").stream(ev("ADDED", two, rv=31), STALL)
    d = daemon(api, hooks={"h": hook}, tuning=AT_ONCE)
    hook.wait(2)
    d.control.wait_idle()
    assert api.sequence("services") == ["L(0)", "W(1)", "W(10)"]
    assert hook.what() == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert d.control.watch("services")["relists"] == 0


RELISTED = {
    "an ERROR 500": error_event(500), "an ERROR 504": error_event(504),
    "an ERROR of an unknown code": error_event(555, "Teapot"),
    "an ERROR that is no Status": {"type": "ERROR", "object": {"kind": "Pod", "code": "x"}},
    "an ERROR without an object": {"type": "ERROR"},
    "an unknown type": {"type": "FOO", "object": {}},
    "no type": {"object": {}},
    "broken JSON": b'{"type":"ADDED","object":}',
    "text": b"<html>503</html>\n",
}


@pytest.mark.parametrize("how", RELISTED)
def test_s57_an_error_in_the_stream_is_a_pause_and_a_list_at_the_last_rv(api, daemon, hook, how):
    api.apply(service("n/a"))
    api.rv = 31
    api.on_list("services").list([], rv=5)
    api.on_watch("services").stream(ev("ADDED", api.get("services", "n/a"), rv=10),
                                    RELISTED[how], END)
    d = daemon(api, hooks={"h": hook},
               tuning={"backoff": {"initial": "300ms", "max": "300ms", "jitter": 0.0}})
    d.caught_up(api)
    asked = api.of("services")
    assert api.sequence("services") == ["L(0)", "W(5)", "L(10)", "W(31)"]
    assert at_least(0.3, asked[2].time - asked[1].time)
    assert hook.what() == [("ADDED", "n/a")]
    assert d.control.watch("services")["relists_by"] == {"error": 1}


def test_s57_many_streams_of_sparse_versions_lose_and_repeat_nothing(api, daemon, hook):
    rvs = [7, 8, 100, 101, 5000, 5001, 99999, 100000]
    for number, rv in enumerate(rvs):
        api.on_watch("services").stream(ev("ADDED", service(f"n/s{number}"), rv=rv),
                                        (END, EOF, RST)[number % 3])
    api.on_watch("services").stream(STALL)
    d = daemon(api, hooks={"h": hook})
    hook.wait(len(rvs))
    api.wait_for_request(lambda r: r.kind == "W", count=len(rvs) + 1)
    d.control.wait_idle()
    assert api.sequence("services") == ["L(0)", "W(1)"] + [f"W({rv})" for rv in rvs]
    assert sorted(hook.what()) == [("ADDED", f"n/s{n}") for n in range(len(rvs))]


def test_s57_handshakes_that_are_cut_do_not_list_again(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    d.caught_up(api)
    marked(d, api)
    rv = api.rv
    api.stall_handshake = True
    before = api.accepted
    api.drop("rst")
    for count in range(1, 4):
        api.wait(lambda n=count: api.accepted >= before + n and api.open_conns())
        api.drop("rst")
    api.stall_handshake = False
    api.apply(service("n/a"))
    hook.wait_what("ADDED", "n/a")
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)", "W(1)", f"W({rv})"]
    assert len(hook.runs()) == 1


@pytest.mark.parametrize("watch_list", ["off", "on"])
def test_a_server_that_restarts_with_an_empty_watch_cache_costs_one_list(api, daemon, hook,
                                                                        watch_list):
    api.watch_list = True
    api.apply(*[service(f"n/{name}") for name in "abc"])
    d = daemon(api, hooks={"h": hook}, tuning={"watch_list": watch_list})
    hook.wait(3)
    api.wait_watching("services")
    marked(d, api)
    seen = api.rv

    def meanwhile():
        api.apply(service("n/a", ports=[443]), service("n/d"))
        api.delete("services", "n/b")
    api.restart("eof", before=meanwhile)
    hook.wait(6)
    d.caught_up(api)
    assert hook.what()[3:] == [("DELETED", "n/b"), ("MODIFIED", "n/a"), ("ADDED", "n/d")]
    again = [f"L({seen})", f"W({api.rv})"] if watch_list == "off" else [f"S({seen})"]
    first = ["L(0)", "W(4)"] if watch_list == "off" else ["S(-)"]
    assert api.sequence("services") == [*first, f"W({seen})", *again]
    assert d.control.watch("services")["relists_by"] == {"expired": 1}


# ---- Deadlines

@pytest.mark.slow
def test_s58_a_silent_server_is_left_after_the_promised_time(api, daemon):
    api.on_watch("services").stream(bookmark(5), STALL)
    daemon(api, tuning=SHORT)
    first = api.wait_for_request(lambda r: r.kind == "W")
    assert first.query["timeoutSeconds"] == "1"
    second = api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert 1 + 5 <= second.time - first.time <= 1 + 15 + SLACK_S
    assert second.query["resourceVersion"] == "5" and len(api.of("services", "L")) == 1


def test_s60_headers_that_a_proxy_holds_back_are_waited_for(api, daemon, hook):
    gate = Gate()

    async def held(exchange):
        await gate.pass_by()
        await exchange.start_stream()
        await exchange.event(ev("ADDED", service("n/a"), rv=9))
        await exchange.conn.gone()
    api.on_watch("services").run(held)
    d = daemon(api, hooks={"h": hook},
               tuning={"response_timeout": "1h", "bookmark_timeout": "100ms"})
    gate.wait_reached()
    with pytest.raises(AssertionError):
        api.wait_for_request(lambda r: r.kind == "W", count=2, timeout=1.5)
    assert d.control.watch("services")["synced"]
    gate.open()
    hook.wait_what("ADDED", "n/a")
    d.control.wait_watch("services", resource_version="9", state="watching")
    assert api.sequence("services") == ["L(0)", "W(1)"]


def test_s60_headers_that_never_come_cost_a_new_watch_and_no_list(api, daemon):
    api.on_watch("services").reply(hold=Gate())
    d = daemon(api, tuning={"response_timeout": "400ms"})
    first, second = (api.wait_for_request(lambda r: r.kind == "W", count=n) for n in (1, 2))
    assert at_least(0.4, second.time - first.time)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(1)"]
    d.control.wait_watch("services", state="watching", last_error=None)


def test_s62_the_watch_timeout_is_drawn_anew_inside_the_interval(api, daemon):
    api.on_watch("services", times=200).stream(bookmark(5), END)
    daemon(api, tuning={"watch_timeout": ["5min", "10min"],
                        "backoff": {"initial": "1ms", "max": "1ms"}})
    api.wait_for_request(lambda r: r.kind == "W", count=200)
    seconds = [int(r.query["timeoutSeconds"]) for r in api.of("services", "W")[:200]]
    assert all(300 <= s <= 600 for s in seconds)
    assert min(seconds) < 330 and max(seconds) > 570 and len(set(seconds)) > 80
    fifths = collections.Counter((s - 300) * 5 // 301 for s in seconds)
    assert len(fifths) == 5 and min(fifths.values()) >= 15


def test_s63_a_hook_that_sleeps_never_stops_the_reading(api, daemon, hook):
    keys = 10
    padding = {"x": "y" * 4000}
    api.apply(*[simple("ConfigMap", f"n/c{i}", data={"v": "old"}) for i in range(keys)])
    hook.block()
    d = daemon(api, watches={"services": {"resource": "configmaps", "namespaces": ["*"]}},
               hooks={"h": hook}, log={"level": "warn"})
    hook.wait(1)
    d.control.wait_watch("services", state="watching", synced=True)
    api.wait_watching("configmaps")
    before = memory_kb(d.pid, "VmRSS")
    for number in range(10000):
        api.apply(simple("ConfigMap", f"n/c{number % keys}", data={"v": str(number)},
                         annotations=padding))
        if number % 1000 == 999:
            d.control.wait_watch("services", resource_version=str(api.rv))
    grown = memory_kb(d.pid, "VmRSS") - before
    assert len(hook.runs()) == 1, "the first run still sleeps"
    if not is_sanitized():
        assert grown < 4096, "40 MB of events came by"
    hook.release()
    for number in range(9990, 10000):
        hook.wait_for(lambda r, n=number: r.event["object"]["data"]["v"] == str(n))
    d.control.wait_idle()
    assert len(hook.runs()) <= 2 * keys


# ---- Silence by bookmarks

def test_a_stream_that_had_a_bookmark_and_went_silent_is_resumed_without_a_list(api, daemon, hook):
    api.on_watch("services").stream(ev("ADDED", service("n/a"), rv=9), bookmark(12), STALL)
    api.on_watch("services").stream(ev("ADDED", service("n/b"), rv=15), STALL)
    d = daemon(api, hooks={"h": hook}, tuning={"bookmark_timeout": "600ms", **AT_ONCE})
    first, second = (api.wait_for_request(lambda r: r.kind == "W", count=n)
                     for n in (1, 2))
    assert at_least(0.6, second.time - first.time)
    hook.wait_what("ADDED", "n/b")
    d.control.wait_idle()
    assert api.sequence("services") == ["L(0)", "W(1)", "W(12)"]
    assert len(hook.runs()) == 2 and first.conn_id != second.conn_id
    assert not d.problems(), "quiet streams are no trouble"


def test_every_byte_counts_against_silence(api, daemon):
    gates = [Gate() for _ in range(4)]
    steps = [step for n, gate in enumerate(gates) for step in (bookmark(10 + n), gate)]
    api.on_watch("services").stream(*steps, STALL)
    daemon(api, tuning={"bookmark_timeout": "2500ms"})
    first = api.wait_for_request(lambda r: r.kind == "W")
    for gate in gates:
        gate.wait_reached()
        with pytest.raises(AssertionError):
            api.wait_for_request(lambda r: r.kind == "W", count=2, timeout=0.8)
        gate.open()
    second = api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert at_least(3 * 0.8 + 2.5, second.time - first.time)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(13)"]


@pytest.mark.slow
def test_a_stream_that_never_had_a_bookmark_lives_until_its_hard_deadline(api, daemon):
    api.on_watch("services").stream(bookmark(3), END)
    api.on_watch("services").stream(ev("ADDED", service("n/a"), rv=9), STALL)
    daemon(api, tuning={"bookmark_timeout": "300ms", **SHORT})
    second, third = (api.wait_for_request(lambda r: r.kind == "W", count=n)
                     for n in (2, 3))
    assert third.time - second.time >= 1 + 5, "bookmarks on another stream do not count"
    assert api.sequence("services") == ["L(0)", "W(1)", "W(3)", "W(9)"]


# ---- Versions of the future, and of the past

def test_a_server_restored_behind_the_back_of_a_watch_is_found_held_and_applied(api, daemon, hook):
    api.apply(service("n/a", ports=[80]), service("n/c"))
    backup = api.snapshot()
    api.apply(service("n/a", ports=[443]), service("n/b"))
    api.delete("services", "n/c")
    d = daemon(api, hooks={"h": hook}, tuning=SHORT, watches=guarded())
    hook.wait(2)
    api.wait_watching("services")
    marked(d, api)
    future, past = api.rv, backup[0]
    api.restore(backup)
    shown = d.control.wait_watch("services", held=True)
    assert shown["held_reason"] == "backwards" and shown["objects"] == 2
    assert len(hook.runs()) == 2
    held_at = api.of("services", "L")[-1].time
    d.control.wait_watch("services", held=False, resource_version=str(past))
    hook.wait(5)
    d.control.wait_idle()
    api.wait_for_request(lambda r: r.kind == "W" and r.rv == str(past))
    assert sorted(hook.what()[2:]) == [("ADDED", "n/c"), ("DELETED", "n/b"), ("MODIFIED", "n/a")]
    assert {run.event["cause"] for run in hook.runs()[2:]} == {"relist"}
    gone = hook.wait_what("DELETED", "n/b").event
    assert gone["final_state_unknown"] is True and gone["object"]["metadata"]["name"] == "b"
    sequence = api.sequence("services")
    lists = [i for i, what in enumerate(sequence) if what == "L(-)"][:3]
    assert len(probes(api)) == 1 and lists == list(range(lists[0], lists[0] + 3))
    assert sequence[lists[0] - 2:lists[0]] == [f"W({future})"] * 2
    assert sequence[lists[2] + 1] == f"W({past})"
    probe, suspect, confirmed = (api.of("services")[i] for i in lists)
    assert probe.query["limit"] == "1" and suspect.query["limit"] == "500"
    assert suspect.time == held_at and at_least(HOLD_S, confirmed.time - suspect.time)
    assert d.control.watch("services")["relists_by"] == {"future": 1}
    d.wait_problem("backwards")


def test_a_quiet_resource_is_probed_and_not_listed(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, tuning=SHORT)
    for count in (1, 2):
        api.wait(lambda n=count: len(probes(api)) >= n)
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    d.caught_up(api)
    sequence = api.sequence("services")
    rv = sequence[1]
    assert sequence[:7] == ["L(0)", rv, rv, "L(-)", rv, rv, "L(-)"]
    assert all(r.rv is None and r.query["limit"] == "1" for r in probes(api))
    assert len(api.of("services", "L")) == 1 + len(probes(api))
    watch = d.control.watch("services")
    assert watch["relists"] == 0 and watch["synced"] and not d.problems()


def test_a_probe_that_fails_waits_and_lists_nothing(api, daemon):
    api.on_list("services", times=2, where=lambda r: r.query.get("limit") == "1").fail(500)
    d = daemon(api, tuning=SHORT)
    api.wait(lambda: len(probes(api)) >= 3)
    d.control.wait_watch("services", state="watching", last_error=None)
    assert len(api.of("services", "L")) == 4 and d.control.watch("services")["relists"] == 0


def test_streams_with_bookmarks_are_not_probed(api, daemon):
    for rv in range(5, 9):
        api.on_watch("services").stream(bookmark(rv), END)
    api.on_watch("services").stream(STALL)
    daemon(api)
    api.wait_for_request(lambda r: r.kind == "W", count=5)
    assert not probes(api) and len(api.of("services", "L")) == 1


@pytest.mark.parametrize("known", ["list", "bookmark"])
def test_a_bookmark_of_the_past_is_a_pause_and_a_list_without_rv(api, daemon, hook, known):
    api.apply(service("n/a"))
    api.rv = 40
    d = daemon(api, hooks={"h": hook}, watches=guarded(),
               tuning={"backoff": {"initial": "400ms", "max": "400ms", "jitter": 0.0}})
    d.caught_up(api)
    if known == "bookmark":
        marked(d, api)
    newest = api.rv
    watch = api.of("services", "W")[-1]
    api.bookmark(rv=39)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    asked = api.of("services")
    assert api.sequence("services") == ["L(0)", "W(40)", "L(-)", f"W({newest})"]
    assert at_least(0.4, asked[2].time - watch.time) and "limit" in asked[2].query
    d.caught_up(api)
    assert d.control.watch("services")["relists_by"] == {"backwards": 1}
    assert len(hook.runs()) == 1 and d.control.watch("services")["held"] is False


def test_an_event_of_the_past_is_no_reason_to_list(api, daemon, hook):
    """Some servers number objects and collections apart."""
    api.rv = 40
    api.on_watch("services").stream(ev("ADDED", service("n/a"), rv=7), bookmark(41), STALL)
    d = daemon(api, hooks={"h": hook})
    hook.wait_what("ADDED", "n/a")
    d.control.wait_watch("services", resource_version="41")
    assert api.sequence("services") == ["L(0)", "W(40)"]


def test_s18_a_restore_that_only_events_knew_better_than_is_applied_with_a_warning(
        api, daemon, hook):
    api.apply(service("n/a"))
    backup = api.snapshot()
    gate = Gate()
    api.on_watch("services").stream(ev("ADDED", service("n/b"), rv=api.rv + 9), gate, END)
    d = daemon(api, hooks={"h": hook}, tuning=SHORT, watches=guarded(hold="1h"))
    hook.wait_what("ADDED", "n/b")
    api.restore(backup)
    gate.open()
    hook.wait_what("DELETED", "n/b")
    d.caught_up(api)
    assert len(probes(api)) == 1 and d.control.watch("services")["relists_by"] == {"future": 1}
    d.wait_problem("went backwards", "applied")


# ---- Versions that are none

def without_rv(event):
    del event["object"]["metadata"]["resourceVersion"]
    return event


NO_VERSIONS = {
    "an event of version 0": lambda: ev("MODIFIED", service("n/a", ports=[443]), rv=0),
    "a delete of version 0": lambda: ev("DELETED", service("n/b"), rv=0),
    "a bookmark of version 0": lambda: bookmark(0),
    "a bookmark without one": lambda: without_rv(bookmark(7)),
    "a bookmark of an empty one": lambda: bookmark(""),
    "an event without one": lambda: without_rv(ev("ADDED", service("n/x"))),
}


@pytest.mark.parametrize("how", NO_VERSIONS)
def test_no_watch_starts_from_a_version_that_is_none(api, daemon, how):
    """A watch from 0 starts anywhere: what was deleted until there would never be heard of."""
    api.apply(service("n/a"), service("n/b"))
    api.rv = 40
    api.on_watch("services").stream(bookmark(41), NO_VERSIONS[how](), END)
    api.on_watch("services").stream(STALL)
    d = daemon(api)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(40)", "W(41)"]
    keys = ["n/a"] if "delete" in how else ["n/a", "n/b"]
    assert d.control.keys("services") == keys
    port = d.control.objects("services", "n/a")["spec"]["ports"][0]["port"]
    assert port == (443 if how == "an event of version 0" else 80)


@pytest.mark.parametrize("kind", ["list", "stream"])
def test_no_list_of_version_0_is_applied(api, daemon, hook, kind):
    api.apply(service("n/a"))
    api.watch_list = True
    if kind == "list":
        api.on_list("services").list([service("n/x")], rv=0)
    else:
        api.on_stream("services").stream(ev("ADDED", service("n/x"), rv=5),
                                         bookmark(0, initial_end=True), END)
    d = daemon(api, hooks={"h": hook}, tuning={"watch_list": "off" if kind == "list" else "on"})
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    d.wait_problem("resourceVersion is 0", watch="services")
