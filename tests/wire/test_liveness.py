# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 18, 57-63; docs/kubernetes-protocol.md "Versions of the future", "Dead connections":
no watch is silently dead, or in the past."""
import asyncio
import collections
import time

import campaign
import pytest
from control import at_least
from fakeapi import (END, EOF, RST, STALL, Gate, Pause, bookmark, error_event, ev, service,
                     simple)
from harness import SERVICES, is_sanitized
from proctree import memory_kb

AT_ONCE = {"backoff": {"initial": "1h", "max": "1h"}}
SHORT = {"watch_timeout": ["1s", "1s"]}
HOLD_S = 0.3


def guarded(**guard):
    return {"services": {"resource": "services", "namespaces": ["*"],
                         "guard": {"hold": f"{int(HOLD_S * 1000)}ms", **guard}}}


def probes(api):
    """The probes: lists of which only the resourceVersion counts."""
    return [r for r in api.of("services", "L") if r.query.get("limit") == "1"]


def watched(api, resource, count):
    """Waits for the count-th watch request for this resource, and returns it."""
    return api.wait_for_request(lambda r: (r.resource, r.kind) == (resource, "W"), count=count)


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


def test_s57_handshakes_that_are_cut_lead_to_no_list(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    d.caught_up(api)
    d.hear_newer_bookmark(api)
    rv = api.rv
    api.stall_handshake = True
    before = api.accepted
    api.drop("rst")
    for count in range(1, 4):
        api.wait(lambda n=count: api.accepted >= before + n and api.open_conns())
        api.stall_handshake = count < 3     # of connections that come after this one
        api.drop("rst")
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
    d.hear_newer_bookmark(api)
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

def test_s58_a_silent_stream_is_left_after_the_hard_deadline(api, factory):
    """The deadline is 10 s; that it is not more is proven by test_s58 of
    tests/unit/test_list_watch_silence.c. A stream without any bookmark before it became silent
    lives as long, since bookmarks of another stream do not count. A pause of 10 s among initial
    events is a warning."""
    api.watch_list = True
    api.on_watch("services").stream(bookmark(5), STALL)
    api.on_watch("configmaps").stream(bookmark(3, "ConfigMap"), END)
    api.on_watch("configmaps").stream(ev("ADDED", simple("ConfigMap", "n/a"), rv=9), STALL)
    api.on_stream("pods").stream(ev("ADDED", simple("Pod", "n/a"), rv=5), STALL)
    clusters = {"plain": factory.cluster(api, SHORT),
                "quick": factory.cluster(api, {"bookmark_timeout": "300ms", **SHORT}),
                "streams": factory.cluster(api, {"watch_list": "on"})}
    d = factory.daemon(clusters=clusters, watches={
        name: {"resource": resource, "namespaces": ["*"], "cluster": name}
        for name, resource in zip(clusters, ("services", "configmaps", "pods"))})
    first, second = (watched(api, "services", n) for n in (1, 2))
    assert first.query["timeoutSeconds"] == "1" and second.query["resourceVersion"] == "5"
    assert at_least(1 + 10, second.time - first.time)
    second, third = (watched(api, "configmaps", n) for n in (2, 3))
    assert at_least(1 + 10, third.time - second.time)
    assert api.sequence("services")[:3] == ["L(0)", "W(1)", "W(5)"]
    assert api.sequence("configmaps")[:4] == ["L(0)", "W(1)", "W(3)", "W(9)"]
    assert d.wait_problem("initial events", watch="streams")["silent_for_ms"] >= 10000
    shown = d.control.watch("streams")
    assert (shown["synced"], shown["objects"], shown["state"]) == (False, 0, "listing")
    assert api.sequence("pods") == ["S(-)"]


def test_s60_headers_that_a_proxy_holds_back_are_waited_for(api, daemon, hook):
    """The wait is longer than bookmark_timeout: meanwhile another watch is silent for so long three
    times."""
    gate = Gate()

    async def held(exchange):
        await gate.pass_by()
        await exchange.start_stream()
        await exchange.event(ev("ADDED", service("n/a"), rv=9))
        await exchange.conn.gone()
    api.on_watch("services").run(held)
    api.on_watch("configmaps", times=None).stream(bookmark(5, "ConfigMap"), STALL)
    d = daemon(api, hooks={"h": hook}, tuning={"bookmark_timeout": "100ms"},
               watches={**SERVICES, "maps": {"resource": "configmaps", "namespaces": ["*"]}})
    gate.wait_reached()
    watched(api, "configmaps", len(api.of("configmaps", "W")) + 3)
    assert d.control.watch("services")["synced"]
    assert api.sequence("services") == ["L(0)", "W(1)"]
    gate.open()
    hook.wait_what("ADDED", "n/a")


def test_s60_headers_that_never_come_cost_a_new_watch_and_no_list(api, daemon):
    api.on_watch("services").reply(hold=Gate())
    d = daemon(api, tuning={"response_timeout": "400ms"})
    second = watched(api, "services", 2)
    listed = [r for r in api.of("services", "L") if r.time < second.time]
    assert at_least(0.4, second.time - listed[-1].time)
    d.control.wait_watch("services", state="watching", last_error=None)
    sequence = list(api.sequence("services"))   # a slow machine may time out more than once
    assert set(sequence[sequence.index("W(1)"):]) == {"W(1)"}
    assert sequence[0] == "L(0)"


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


def test_s63_a_sleeping_hook_never_stops_the_daemon_from_reading(api, daemon, hook):
    keys, changes = 10, campaign.size(3000, 10000)
    padding = {"x": "y" * 4000}
    api.apply(*[simple("ConfigMap", f"n/c{i}", data={"v": "old"}) for i in range(keys)])
    hook.block()
    d = daemon(api, watches={"services": {"resource": "configmaps", "namespaces": ["*"]}},
               hooks={"h": hook}, log={"level": "warn"})
    hook.wait(1)
    d.control.wait_watch("services", state="watching", synced=True)
    api.wait_watching("configmaps")
    before = memory_kb(d.pid, "VmRSS")
    for number in range(changes):
        api.apply(simple("ConfigMap", f"n/c{number % keys}", data={"v": str(number)},
                         annotations=padding))
        if number % 1000 == 999:
            d.control.wait_watch("services", resource_version=str(api.rv))
    grown = memory_kb(d.pid, "VmRSS") - before
    assert len(hook.runs()) == 1, "the first run still sleeps"
    if not is_sanitized():
        assert grown < 4096, "12 MB of events came by, or 40"
    hook.release()
    for number in range(changes - keys, changes):
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
    assert not d.problems(watch="services"), "quiet streams are no trouble"


def test_every_byte_counts_against_silence(api, daemon):
    """However late a byte comes, the silence that ends the stream begins at the last byte."""
    sent = {}

    async def restless(exchange):
        await exchange.start_stream()
        for rv in range(10, 15):
            sent[str(rv)] = time.monotonic()
            await exchange.event(bookmark(rv))
            await asyncio.sleep(0.15)
        await exchange.conn.gone()
    api.on_watch("services").run(restless)
    daemon(api, tuning={"bookmark_timeout": "400ms"})
    second = watched(api, "services", 2)
    assert at_least(0.4, second.time - sent[second.rv])
    assert api.sequence("services")[:3] == ["L(0)", "W(1)", f"W({second.rv})"]


# ---- Versions of the future, and of the past

def silent(api, resource, times=2, rv=None):
    """The next watches (from rv) get no event, and last so long that no list follows at once."""
    api.on_watch(resource, times=times, where=lambda r: rv in (None, r.rv)).stream(Pause(1), END)


def test_a_server_restored_behind_the_back_of_a_watch_is_found_held_and_applied(api, daemon, hook):
    api.apply(service("n/a", ports=[80]), service("n/c"))
    backup = api.snapshot()
    api.apply(service("n/a", ports=[443]), service("n/b"))
    api.delete("services", "n/c")
    d = daemon(api, hooks={"h": hook}, watches=guarded())
    hook.wait(2)
    api.wait_watching("services")
    d.hear_newer_bookmark(api)
    future, past = api.rv, backup[0]
    silent(api, "services", rv=str(future))
    lists = [api.on_list("services", where=lambda r: r.query.get("limit") == "500")
             for _ in range(2)]
    gates = [rule.hold(gate) and gate for rule, gate in zip(lists, (Gate(), Gate()))]
    gates[0].open()
    api.restore(backup)
    gates[1].wait_reached()
    shown = d.control.watch("services")
    assert shown["held"] and shown["held_reason"] == "backwards" and shown["objects"] == 2
    assert len(hook.runs()) == 2
    gates[1].open()
    d.control.wait_watch("services", held=False, resource_version=str(past))
    hook.wait(5)
    d.control.wait_idle()
    api.wait_for_request(lambda r: r.kind == "W" and r.rv == str(past))
    assert sorted(hook.what()[2:]) == [("ADDED", "n/c"), ("DELETED", "n/b"), ("MODIFIED", "n/a")]
    assert {run.event["cause"] for run in hook.runs()[2:]} == {"relist"}
    gone = hook.wait_what("DELETED", "n/b").event
    assert gone["final_state_unknown"] is True and gone["object"]["metadata"]["name"] == "b"
    assert api.sequence("services")[2:] == [f"W({future})"] * 2 + ["L(-)"] * 3 + [f"W({past})"]
    probe, suspect, confirmed = api.of("services", "L")[1:]
    assert probe.query["limit"] == "1" and suspect.query["limit"] == "500"
    assert at_least(HOLD_S, confirmed.time - suspect.time)
    assert d.control.watch("services")["relists_by"] == {"future": 1}
    d.wait_problem("backwards")


def test_a_quiet_resource_is_probed_and_not_listed(api, daemon, hook):
    """It is not listed either when the first probe fails, as the probe of the other watch does."""
    api.apply(service("n/a"))
    silent(api, "services")
    silent(api, "configmaps", times=3)
    api.on_list("configmaps", where=lambda r: r.query.get("limit") == "1").fail(500)
    d = daemon(api, hooks={"h": hook},
               watches={**SERVICES, "maps": {"resource": "configmaps", "namespaces": ["*"]}})
    assert api.sequence("services") == ["L(0)", "W(2)", "W(2)", "L(-)", "W(2)"]
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    sequence = api.sequence("configmaps")
    rv = sequence[1]
    assert sequence[:6] == ["L(0)", rv, rv, "L(-)", "L(-)", rv]
    assert sequence[6:] in ([], [rv]), "the third silent watch may have ended meanwhile"
    d.control.wait_watch("maps", state="watching", last_error=None)
    d.caught_up(api)
    assert all(r.rv is None and r.query["limit"] == "1"
               for name in ("services", "configmaps") for r in api.of(name, "L")[1:])
    for name in ("services", "maps"):
        watch = d.control.watch(name)
        assert watch["relists"] == 0 and watch["synced"]
    assert not d.problems(watch="services")


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
        d.hear_newer_bookmark(api)
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


def test_s18_a_restore_to_before_the_last_event_is_applied_with_a_warning(api, daemon, hook):
    api.apply(service("n/a"))
    backup = api.snapshot()
    gate, future = Gate(), api.rv + 9
    api.on_watch("services").stream(ev("ADDED", service("n/b"), rv=future), gate, END)
    silent(api, "services", rv=str(future))
    d = daemon(api, hooks={"h": hook}, watches=guarded(hold="1h"))
    hook.wait_what("ADDED", "n/b")
    api.restore(backup)
    gate.open()
    hook.wait_what("DELETED", "n/b")
    d.caught_up(api)
    assert len(probes(api)) == 1 and d.control.watch("services")["relists_by"] == {"future": 1}
    d.wait_problem("went backwards", "applied")


# ---- Values that are not versions

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
def test_no_watch_starts_from_a_value_that_is_not_a_version(api, daemon, how):
    """A watch from 0 starts at any version, so earlier deletes would never be seen."""
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


def test_no_list_as_a_stream_of_version_0_is_applied(api, daemon, hook):
    api.apply(service("n/a"))
    api.watch_list = True
    api.on_stream("services").stream(ev("ADDED", service("n/x"), rv=5),
                                     bookmark(0, initial_end=True), END)
    d = daemon(api, hooks={"h": hook}, tuning={"watch_list": "on"})
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    d.wait_problem("resourceVersion is 0", watch="services")
