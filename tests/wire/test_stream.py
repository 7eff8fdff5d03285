# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 64-73: streaming lists (WatchList), and when informerd asks for them."""
import re

import pytest
from control import at_least, wait_until
from fakeapi import END, EOF, RST, STALL, Gate, bookmark, error_event, ev, service
from harness import hook_settings

ON = {"watch_list": "on"}
AT_ONCE = {"mode": "snapshot", "settle": ["0s", "0s"]}
NO_PAUSE = {"backoff": {"initial": "1h", "max": "1h"}}     # a request that comes came without pause
VERSIONS = {"v1.34": {"major": "1", "minor": "34", "gitVersion": "v1.34.2"},
            "v1.33": {"major": "1", "minor": "33", "gitVersion": "v1.33.5"},
            "a vendor's v1.34+": {"major": "1", "minor": "34+", "gitVersion": "v1.34.1-gke.1"},
            "v2.0": {"major": "2", "minor": "0", "gitVersion": "v2.0.0"}}


def end(rv):
    """The bookmark after the initial events."""
    return bookmark(rv, initial_end=True)


def added(key, rv, **more):
    return ev("ADDED", service(key, **more), rv=rv)


@pytest.fixture
def streams(api):
    """The fake server, which supports streaming lists here."""
    api.watch_list = True
    return api


def is_stream_request(request):
    query = request.query
    return (query["watch"], query["sendInitialEvents"], query["resourceVersionMatch"],
            query["allowWatchBookmarks"]) == ("true", "true", "NotOlderThan", "true")


# ---- 64, 65, 67: when a streaming list is complete

def test_s64_without_the_bookmark_nothing_is_synced(streams, daemon, hook):
    """test_s58_a_silent_stream_is_left_after_the_hard_deadline() in test_liveness.py shows that a
    pause is logged."""
    api = streams
    gate = Gate()
    api.on_stream("services").stream(added("n/a", 5), added("n/b", 6), gate, end(7), STALL)
    d = daemon(api, hooks={"h": hook}, tuning=ON)
    gate.wait_reached()
    wait_until(lambda: d.control.watch("services")["contact_age_s"] is not None)
    watch = d.control.watch("services")
    assert (watch["synced"], watch["objects"], watch["state"]) == (False, 0, "listing")
    assert not hook.runs() and api.sequence("services") == ["S(-)"]
    gate.open()
    hook.wait(2)
    d.control.wait_watch("services", state="watching", synced=True, resource_version="7")
    assert api.sequence("services") == ["S(-)"]


@pytest.mark.parametrize("mark", ["false", "True", "", None])
def test_s64_a_bookmark_that_is_not_the_end_does_not_sync(streams, daemon, hook, mark):
    api = streams
    other = bookmark(6)
    if mark is not None:
        other["object"]["metadata"]["annotations"] = {"k8s.io/initial-events-end": mark}
    gate = Gate()
    api.on_stream("services").stream(added("n/a", 5), other, gate, added("n/b", 7), end(8), STALL)
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)}, tuning=ON)
    gate.wait_reached()
    wait_until(lambda: d.control.watch("services")["contact_age_s"] is not None)
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    gate.open()
    first = hook.wait(1)[0]
    assert [o["metadata"]["name"] for o in first.snapshot["services"]] == ["a", "b"]


def test_s65_the_bookmark_syncs_and_the_same_stream_goes_on(streams, daemon, hook):
    api = streams
    gate = Gate()
    api.on_stream("services").stream(added("n/a", 1), added("n/b", 2), end(2), gate,
                                     added("n/c", 3), ev("DELETED", service("n/b"), rv=4), STALL)
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)}, tuning=ON)
    first = hook.wait(1)[0]
    assert [o["metadata"]["name"] for o in first.snapshot["services"]] == ["a", "b"]
    assert first.input["reason"] == "existing" and len(first.input["changes"]) == 2
    d.control.wait_watch("services", state="watching", synced=True, resource_version="2")
    gate.open()
    d.control.wait_watch("services", resource_version="4", objects=2)
    hook.wait_for(lambda r: [o["metadata"]["name"] for o in r.snapshot["services"]] == ["a", "c"])
    d.control.wait_idle()
    assert api.sequence("services") == ["S(-)"]
    assert is_stream_request(api.of("services")[0])
    assert d.control.watch("services")["relists"] == 0


def test_s65_a_streaming_list_without_objects_is_an_empty_cache_in_sync(streams, daemon, hook):
    d = daemon(streams, hooks={"h": hook_settings(hook, **AT_ONCE)}, tuning=ON)
    assert hook.wait(1)[0].snapshot["services"] == []
    streams.wait_watching("services")
    streams.apply(service("n/a"))
    hook.wait(2)
    d.caught_up(streams)
    assert streams.sequence("services") == ["S(-)"]


def test_s65_the_stream_is_resumed_by_a_plain_watch(streams, daemon, hook):
    api = streams
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, tuning=ON)
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait(2)
    api.end_watches(how="rst")
    api.wait_for_request(lambda r: r.kind == "W")
    api.apply(service("n/c"))
    hook.wait(3)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "W(3)"]
    assert hook.what() == [("ADDED", f"n/{name}") for name in "abc"]


def test_s67_only_the_final_set_of_the_initial_events_counts(streams, daemon, hook):
    api = streams
    one, two = service("n/a"), service("n/b")
    changed = {**one, "spec": {**one["spec"], "clusterIP": "10.9.9.9"}}
    api.on_stream("services").stream(
        ev("ADDED", one, rv=5), ev("ADDED", two, rv=6), ev("MODIFIED", changed, rv=7),
        ev("DELETED", two, rv=8), ev("DELETED", service("n/never"), rv=9),
        ev("MODIFIED", service("n/c"), rv=10), end(11), STALL)
    d = daemon(api, hooks={"h": hook}, tuning=ON)
    hook.wait(2)
    d.control.wait_idle()
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/c")]
    assert hook.wait_what("ADDED", "n/a").event["object"]["spec"]["clusterIP"] == "10.9.9.9"
    assert d.control.keys("services") == ["n/a", "n/c"]
    assert d.control.watch("services")["resource_version"] == "11"


def test_s67_a_later_stream_finds_deletes_and_tells_only_differences(streams, daemon, hook):
    api = streams
    api.apply(*[service(f"n/{name}") for name in "abcd"])
    d = daemon(api, hooks={"h": hook}, tuning=ON)
    hook.wait(4)
    api.wait_watching("services")
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[81]), service("n/e"), silent=True)
    api.end_watches(how=error_event(500))
    hook.wait(7)
    d.caught_up(api)
    assert hook.what()[4:] == [("DELETED", "n/a"), ("MODIFIED", "n/b"), ("ADDED", "n/e")]
    assert {run.event["cause"] for run in hook.runs()[4:]} == {"relist"}
    assert hook.runs()[4].event["final_state_unknown"] is True
    assert api.sequence("services") == ["S(-)", "S(5)"]


# ---- 68-70: refused, busy, broken off

REFUSALS = {
    "422 of the server": None,
    "400": {"code": 400}, "403": {"code": 403}, "404": {"code": 404}, "500": {"code": 500},
    "ERROR 500": [error_event(500)], "broken JSON": [b'{"type":}'], "ERROR 403": [error_event(403)],
    "an unknown type": [{"type": "FOO", "object": {}}],
}


@pytest.mark.parametrize("how", REFUSALS)
def test_s68_after_a_refused_stream_a_list_follows_in_the_same_cycle(api, daemon, hook, how):
    api.apply(service("n/a"))
    api.watch_list = how != "422 of the server"
    answer = REFUSALS[how]
    if isinstance(answer, dict):
        api.on_stream("services", times=None).fail(**answer)
    elif answer:
        api.on_stream("services", times=None).stream(added("n/x", 9), *answer, END)
    d = daemon(api, hooks={"h": hook}, tuning={**ON, **NO_PAUSE})
    hook.wait(1)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "L(0)", "W(2)"]
    assert hook.what() == [("ADDED", "n/a")], "nothing of the refused stream stays"


def test_s68_the_next_cycle_tries_the_stream_again_and_falls_back_again(api, daemon):
    daemon(api, tuning=ON).caught_up(api)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["S(-)", "L(0)", "W(1)", "S(1)", "L(1)", "W(1)"]


@pytest.mark.parametrize("how", ["http", "in-stream"])
def test_s69_too_many_requests_lead_to_pauses_of_one_backoff_and_no_list(streams, daemon, hook,
                                                                         how):
    api = streams
    api.apply(service("n/a"))
    for _ in range(3):
        if how == "http":
            api.on_stream("services").fail(429)
        else:
            api.on_stream("services").stream(added("n/x", 9), error_event(429), END)
    d = daemon(api, hooks={"h": hook}, tuning={
        **ON, "backoff": {"initial": "100ms", "max": "2s", "jitter": 0.0}})
    hook.wait(1)
    d.caught_up(api)
    asked = api.of("services")
    assert api.sequence("services") == ["S(-)"] * 4
    assert all(map(at_least, (0.1, 0.2, 0.4),
                   (b.time - a.time for a, b in zip(asked, asked[1:]))))
    assert hook.what() == [("ADDED", "n/a")]


def test_s69_a_server_that_refuses_connections_is_not_asked_for_lists(streams, daemon):
    api = streams
    api.on_stream("services", times=3).drop("rst")
    daemon(api, tuning=ON).synced()
    assert api.sequence("services") == ["S(-)"] * 4


@pytest.mark.parametrize("how", [END, EOF, RST])
def test_s70_a_stream_that_closes_before_the_bookmark_is_asked_for_anew_at_once(
        streams, daemon, hook, how):
    api = streams
    api.apply(service("n/a"))
    api.on_stream("services").stream(added("n/x", 9), added("n/y", 10), how)
    d = daemon(api, hooks={"h": hook}, tuning={**ON, **NO_PAUSE})
    hook.wait(1)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "S(-)"]
    assert hook.what() == [("ADDED", "n/a")] and d.control.keys("services") == ["n/a"]


def test_s70_a_stream_that_always_closes_early_is_listed_in_the_end(streams, daemon, hook):
    api = streams
    api.apply(service("n/a"))
    api.on_stream("services", times=None).stream(added("n/x", 9), END)
    d = daemon(api, hooks={"h": hook}, tuning={**ON, **NO_PAUSE})
    hook.wait(1)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)"] * 3 + ["L(0)", "W(2)"]
    assert hook.what() == [("ADDED", "n/a")]


def test_s70_after_a_stream_that_closes_at_once_a_list_follows(streams, daemon):
    """On a slow machine a stream may last for a second, and is asked for again. Then the test plays
    another round."""
    api = streams
    api.on_stream("services", times=None).stream(END)
    d = daemon(api, tuning=ON)
    for _ in range(20):
        d.caught_up(api)
        asked = "".join(what[0] for what in api.sequence("services"))
        if re.search("(^|W)SLW", asked):
            break
        api.end_watches(how=error_event(500))
    assert re.fullmatch("(S{0,3}SLW)+", asked) and re.search("(^|W)SLW", asked), asked


def test_s70_initial_events_that_stop_for_good_are_given_up(streams, daemon):
    api = streams
    api.on_stream("services").stream(added("n/x", 9), STALL)
    d = daemon(api, tuning={**ON, "list_idle_timeout": "500ms"})
    d.synced()
    first, second = api.of("services")[:2]
    assert at_least(0.5, second.time - first.time)
    assert api.sequence("services")[:2] == ["S(-)", "L(0)"] and d.control.keys("services") == []


# ---- 72: the version in the request

def test_s72_the_version_is_absent_then_the_last_then_absent_when_it_has_expired(streams, daemon,
                                                                                 hook):
    api = streams
    api.apply(service("n/a"))
    api.rv = 10
    d = daemon(api, hooks={"h": hook}, tuning=ON)
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait(2)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "S", count=2)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "S(11)"]
    api.on_stream("services", where=lambda r: r.rv == "11").stream(error_event(410), END)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "S", count=4)
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "S(11)", "S(11)", "S(-)"]
    api.apply(service("n/c"))
    hook.wait(3)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "S", count=5)
    d.caught_up(api)
    assert api.sequence("services")[4:] == ["S(12)"]
    assert all(is_stream_request(r) for r in api.of("services"))


@pytest.mark.parametrize("how", ["HTTP 410", "ERROR 410", "too large"])
def test_s72_a_version_that_the_server_lacks_is_left_out_at_once(streams, daemon, how):
    api = streams
    api.rv = 10
    d = daemon(api, tuning=ON).caught_up(api)
    if how == "HTTP 410":
        api.on_stream("services").fail(410)
    elif how == "ERROR 410":
        api.on_stream("services").stream(error_event(410), END)
    else:
        api.on_stream("services").stream(error_event(504, "Timeout", "Too large", {
            "causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}), END)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "S", count=3)
    assert api.sequence("services") == ["S(-)", "S(10)", "S(-)"]
    pauses = d.log(msg="watch failed", watch="services")
    assert len(pauses) == 1, "the one behind the ERROR 500, and none before the last stream"


def test_s72_without_streams_the_version_is_zero_then_the_last_then_absent(api, daemon):
    api.rv = 10
    d = daemon(api, tuning={"watch_list": "off"}).caught_up(api)
    api.on_list("services", where=lambda r: r.rv == "10").fail(410)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    d.caught_up(api)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=3)
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "L(-)", "W(10)", "L(10)", "W(10)"]


def test_s72_a_stream_that_shows_the_past_is_held_by_the_guard(streams, daemon, hook):
    api = streams
    api.apply(service("n/a"))
    backup = api.snapshot()
    api.apply(service("n/b"))
    api.rv = 40
    d = daemon(api, hooks={"h": hook}, tuning=ON, watches={
        "services": {"resource": "services", "namespaces": ["*"], "guard": {"hold": "300ms"}}})
    hook.wait(2)
    d.caught_up(api)
    suspect, confirming = Gate(), Gate()
    for gate in (suspect, confirming):
        api.on_stream("services", where=lambda r: r.rv is None).hold(gate)
    suspect.open()
    api.restore(backup, how=error_event(500))
    confirming.wait_reached()
    held = d.control.watch("services")
    assert (held["held"], held["held_reason"]) == (True, "backwards") and len(hook.runs()) == 2
    confirming.open()
    d.control.wait_watch("services", held=False, state="watching", resource_version="2")
    hook.wait_what("DELETED", "n/b")
    d.caught_up(api)
    assert api.sequence("services") == ["S(-)", "S(40)", "S(-)", "S(-)"] and len(hook.runs()) == 3


# ---- 73 and auto: which servers are asked for streaming lists

@pytest.mark.parametrize("mode", ["on", "off", "auto"])
def test_s73_plain_watches_never_carry_the_parameters_of_streams(streams, daemon, mode):
    api = streams
    api.version = VERSIONS["v1.34"]
    d = daemon(api, tuning={"watch_list": mode}).caught_up(api)
    api.apply(service("n/a"))
    d.control.wait_watch("services", objects=1)
    api.end_watches(how="rst")
    api.wait_for_request(lambda r: r.kind == "W" and r.rv == "2")
    resumed = api.of("services", "W")[-1]
    for name in ("sendInitialEvents", "resourceVersionMatch", "limit", "continue"):
        assert name not in resumed.query
    assert bool(api.of("services", "S")) == (mode == "on")
    for request in api.of("services", "L"):
        assert "resourceVersionMatch" not in request.query
        assert "sendInitialEvents" not in request.query and "timeoutSeconds" not in request.query


def asked_for_version(api):
    return [r for r in api.requests if r.path == "/version"]


def relisted(api, d, count):
    """Sends the count-th ERROR, and waits until the cache is in sync again."""
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", relists=count, state="watching")
    d.caught_up(api)


AUTO = {"watch_list": "auto", "backoff": {"reset_after": "50ms"}}


@pytest.mark.parametrize("version,streams", [
    ("v1.34", True), ("v1.33", False), ("a vendor's v1.34+", True), ("v2.0", True)])
def test_s73_auto_lists_first_and_streams_later_if_the_server_version_allows(api, daemon, hook,
                                                                             version, streams):
    api.version, api.watch_list = VERSIONS[version], True
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, tuning=AUTO)
    api.wait(lambda: asked_for_version(api) and asked_for_version(api)[0].status)
    assert api.requests.index(asked_for_version(api)[0]) > api.requests.index(
        api.of("services", "L")[0]), "no start pays for it"
    d.caught_up(api)
    relisted(api, d, 1)
    relisted(api, d, 2)
    again = ["S(2)", "S(2)"] if streams else ["L(2)", "W(2)", "L(2)", "W(2)"]
    assert api.sequence("services") == ["L(0)", "W(2)", *again]
    assert len(asked_for_version(api)) == 1 and len(hook.runs()) == 1


def test_s73_auto_remembers_a_refusal(api, daemon):
    api.version = VERSIONS["v1.34"]
    d = daemon(api, tuning=AUTO)
    api.wait(lambda: asked_for_version(api) and asked_for_version(api)[0].status)
    d.caught_up(api)
    for count in (1, 2, 3):
        relisted(api, d, count)
    assert api.sequence("services") == ["L(0)", "W(1)", "S(1)", "L(1)", "W(1)",
                                        "L(1)", "W(1)", "L(1)", "W(1)"]


@pytest.mark.parametrize("how", [
    {"status": 403}, {"body": b"<html>"}, {"body": {"major": "x"}}, {"body": {"minor": "34"}}],
    ids=str)
def test_s73_auto_without_a_version_lists(streams, daemon, how):
    api = streams
    rule = api.on("GET", "/version", times=None).reply(**how)
    d = daemon(api, tuning=AUTO)
    api.wait(lambda: rule.served)
    d.caught_up(api)
    relisted(api, d, 1)
    assert api.sequence("services") == ["L(0)", "W(1)", "L(1)", "W(1)"]


@pytest.mark.parametrize("mode", ["on", "off"])
def test_s73_the_version_is_asked_for_by_auto_alone(streams, daemon, mode):
    d = daemon(streams, tuning={**AUTO, "watch_list": mode}).caught_up(streams)
    relisted(streams, d, 1)
    assert not asked_for_version(streams)
    kinds = {r.kind for r in streams.of("services")}
    assert kinds == ({"S"} if mode == "on" else {"L", "W"})
