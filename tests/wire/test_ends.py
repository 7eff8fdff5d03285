# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 15, 41-54, 56: how streams end, and how long informerd waits then."""
import datetime
import email.utils
import time

import pytest
from control import at_least, wait_until
from fakeapi import (END, RST, STALL, Gate, Pause, bookmark, custom_object, error_event, ev,
                     service)
from harness import hook_settings


def backoff(initial, maximum, factor=2.0, jitter=0.0, **more):
    return {"backoff": {"initial": f"{initial}ms", "max": f"{maximum}ms", "factor": factor,
                        "jitter": jitter, **more}}


def waits(d, count):
    """[(milliseconds that the daemon meant to wait, seconds from that log line to the next one)] of
    its first `count` waits after failures, from the log."""
    def told():
        lines = [e for e in d.log(msg="watch failed") if "retry_in_ms" in e]
        return lines if len(lines) > count else None
    lines = wait_until(told, what=f"{count} waits that are over")
    at = [datetime.datetime.fromisoformat(e["time"].replace("Z", "+00:00")) for e in lines]
    return [(e["retry_in_ms"], (b - a).total_seconds())
            for e, a, b in zip(lines, at, at[1:])][:count]


@pytest.mark.parametrize("phase", ["list", "list body", "watch", "backoff", "refused", "handshake"])
def test_s15_term_ends_the_daemon_in_time_without_further_requests(api, daemon, hook, phase):
    gate = Gate()
    if phase == "list":
        api.on_list("services").hold(gate)
    elif phase == "list body":
        api.on_list("services").reply(body=b'{"kind":"ServiceList"' + b" " * 100, chunks=(),
                                      only=220, end="stall")
    elif phase == "backoff":
        api.on_list("services", times=None).fail(500)
    elif phase == "refused":
        api.stop_listening()
    elif phase == "handshake":
        api.stall_handshake = True
    d = daemon(api, hooks={"h": hook}, limits={"stop_timeout": "1h"}, tuning={
        **dict.fromkeys(["tls_timeout", "response_timeout", "list_idle_timeout"], "1h"),
        "backoff": {"initial": "1h", "max": "1h"}})
    if phase in ("backoff", "refused"):
        d.control.wait_watch("services", state="backoff")
    elif phase == "handshake":
        api.wait(lambda: api.accepted)
    elif phase == "watch":
        api.wait_watching("services")
    else:
        api.wait_for_request(lambda r: r.kind == "L")
    asked = len(api.requests)
    assert d.stop()[0] == 0
    assert len(api.requests) == asked
    api.wait(lambda: not api.open_conns())


def test_s15_a_second_term_is_harmless(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, limits={"stop_timeout": "300ms"})
    hook.wait(1)
    d.signal(15)
    d.signal(15)
    assert d.wait_exit() == 0


def climbs(api, rv, pauses):
    """Checks that each watch that ends at once is followed by a pause and a list, and that the
    pauses grow. On a slow machine a watch may last for a second: such a watch is reopened without a
    list (or probed, the second time)."""
    def found():
        asked = api.of("services")
        return [b.time - a.time for a, b in zip(asked, asked[1:])
                if (a.kind, b.kind, b.rv) == ("W", "L", str(rv))]
    api.wait(lambda: len(found()) >= len(pauses))
    asked = list(api.sequence("services"))
    assert asked[:2] == ["L(0)", f"W({rv})"]
    assert set(asked[2:]) <= {f"W({rv})", f"L({rv})", "L(-)"}, asked
    assert all(map(at_least, pauses, found())), found()


def test_s41_a_watch_that_closes_at_once_leads_to_a_pause_and_a_list(api, daemon):
    api.on_watch("services", times=None).stream(END)
    daemon(api, tuning=backoff(50, 200))
    climbs(api, 1, (0.05, 0.1, 0.2, 0.2))


def test_s43_a_stale_rv_answered_with_an_empty_200_for_ever_is_listed_ever_slower(api, daemon):
    api.rv = 900
    api.on_list("services", times=None).list([], rv=100)
    api.on_watch("services", times=None, where=lambda r: r.rv == "100").reply(body=b"")
    d = daemon(api, tuning=backoff(25, 400))
    climbs(api, 100, (0.025, 0.05, 0.1, 0.2, 0.4))
    assert d.control.watch("services")["relists_by"]["empty"] >= 5


def test_s43_watches_that_are_cut_before_their_head_never_loop(api, daemon):
    api.on_watch("services", times=None).drop("eof")
    daemon(api, tuning=backoff(20, 160))
    api.wait_for_request(lambda r: r.kind == "W", count=8)
    asked = api.of("services")
    fresh = [(a, b) for a, b in zip(asked, asked[1:]) if a.kind == "W" and a.index == 1]
    assert len(fresh) >= 3 and all(at_least(0.02, b.time - a.time) for a, b in fresh)


@pytest.mark.parametrize("event", ["event", "bookmark"])
def test_s42_after_one_event_the_watch_is_reopened_at_once(api, daemon, event):
    frame = bookmark(7) if event == "bookmark" else ev("ADDED", service("n/a"), rv=7)
    api.on_watch("services").stream(frame, END)
    api.on_watch("services").stream(STALL)
    daemon(api, tuning={"backoff": {"initial": "1h", "max": "1h"}})
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(7)"]


def test_s42_a_quiet_watch_that_lasted_a_second_is_reopened_at_once(api, daemon):
    api.on_watch("services").stream(Pause(1), END)
    api.on_watch("services").stream(STALL)
    daemon(api, tuning={"backoff": {"initial": "1h", "max": "1h"}})
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(1)"]


def test_s42_the_connection_is_used_again_after_a_clean_end(api, daemon):
    api.on_watch("services").stream(bookmark(7), END)
    daemon(api)
    first, second = (api.wait_for_request(lambda r: r.kind == "W", count=n) for n in (1, 2))
    assert first.conn_id == second.conn_id


def test_s45_429_by_http_and_in_the_stream_share_one_backoff_without_a_list(api, daemon):
    api.on_watch("services").fail(429)
    api.on_watch("services").stream(error_event(429), END)
    api.on_watch("services").stream(bookmark(6), error_event(429), END)
    api.on_watch("services").fail(429)
    d = daemon(api, tuning=backoff(50, 2000))
    asked = [api.wait_for_request(lambda r: r.kind == "W", count=n) for n in range(1, 6)]
    pauses = [b.time - a.time for a, b in zip(asked, asked[1:])]
    assert all(map(at_least, (0.05, 0.1, 0.2, 0.4), pauses))
    assert [ms for ms, _ in waits(d, 3)] == [50, 100, 200]
    assert api.sequence("services") == ["L(0)", "W(1)", "W(1)", "W(1)", "W(6)", "W(6)"]


PLAIN_429 = {"body": b"Too many requests, please try again later.\n",
             "type": "text/plain; charset=utf-8", "headers": {"Retry-After": 1}}
DETAILS = {"retryAfterSeconds": 1}
# The place of the Retry-After: the scripted answer, and the requests that must follow.
RETRY_AFTER = {
    "in the head to a list": (lambda on: on("L").fail(429, retry_after=1),
                              ["L(0)", "L(0)", "W(1)"]),
    "in the head to a watch": (lambda on: on("W").fail(429, retry_after=1),
                               ["L(0)", "W(1)", "W(1)"]),
    "in the Status of a 429": (lambda on: on("W").fail(429, details=DETAILS),
                               ["L(0)", "W(1)", "W(1)"]),
    "in the Status of a 503": (lambda on: on("W").fail(503, details=DETAILS),
                               ["L(0)", "W(1)", "W(1)"]),
    "in the stream": (lambda on: on("W").stream(bookmark(6),
                                                error_event(429, details=DETAILS), END),
                      ["L(0)", "W(1)", "W(6)"]),
    "beside the plain text of the inflight filter": (lambda on: on("W").reply(429, **PLAIN_429),
                                                     ["L(0)", "W(1)", "W(1)"]),
}


def test_s46_retry_after_is_a_lower_bound_in_every_place(api, factory):
    """All cases run at once, each with a cluster of its own; its label selector marks its
    requests."""
    clusters, watches = {}, {}

    def is_of(number):
        return lambda r: r.query.get("labelSelector") == f"case={number}"
    for number, (play, _wanted) in enumerate(RETRY_AFTER.values()):
        play(lambda kind, n=number: api.on(kind=kind, resource="services", where=is_of(n)))
        clusters[f"c{number}"] = factory.cluster(api)
        watches[f"w{number}"] = {"resource": "services", "namespaces": ["*"],
                                 "cluster": f"c{number}", "label_selector": f"case={number}"}
    factory.daemon(clusters=clusters, watches=watches, state_dir="none")
    for number, (where, (_play, wanted)) in enumerate(RETRY_AFTER.items()):
        of = is_of(number)
        api.wait_for_request(of, count=3)
        asked = [r for r in api.of("services") if of(r)][:3]
        assert [f"{r.kind}({r.rv})" for r in asked] == wanted, where
        first, second = asked[:2] if wanted[1] == "L(0)" else asked[1:]
        assert at_least(1, second.time - first.time), where


def test_s46_a_retry_after_of_a_day_is_capped(api, daemon):
    api.on_list("services").fail(429, retry_after=86400)
    d = daemon(api)
    line = d.wait_problem("services", msg="watch failed")
    assert line["retry_in_ms"] == 300000


def test_s47_refused_connections_back_off_and_the_watch_keeps_its_rv(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, tuning=backoff(20, 160, jitter=1.0))
    d.caught_up(api)
    d.hear_newer_bookmark(api)
    rv = api.rv
    api.stop_listening()
    api.drop("rst")
    seen = waits(d, 6)
    for base, (meant, slept) in zip((20, 40, 80, 160, 160, 160), seen):
        assert base <= meant < 2 * base and at_least(meant / 1000, slept), seen
    assert len({ms / base for base, (ms, _) in zip((1, 2, 4, 8, 8, 8), seen)}) > 1, "no jitter"
    api.apply(service("n/a"))
    api.listen()
    hook.wait_what("ADDED", "n/a")
    assert api.sequence("services") == ["L(0)", "W(1)", f"W({rv})"]


@pytest.mark.parametrize("initial,maximum,factor,wanted", [
    (10, 100, 3.0, [10, 30, 90, 100, 100]), (50, 50, 2.0, [50, 50, 50]),
    (30, 1000, 1.0, [30, 30, 30, 30]), (40, 500, 1.5, [40, 60, 90])])
def test_s48_initial_max_and_factor_are_those_of_the_config(api, daemon, initial, maximum, factor,
                                                            wanted):
    api.on_list("services", times=None).fail(500)
    d = daemon(api, tuning=backoff(initial, maximum, factor))
    seen = waits(d, len(wanted))
    assert [meant for meant, _ in seen] == wanted
    assert all(at_least(meant / 1000, slept) for meant, slept in seen)


@pytest.mark.parametrize("reset_after,wanted", [("100ms", 50), ("1h", 400)],
                         ids=["healthy", "not for long"])
def test_s49_only_a_healthy_stream_resets_the_backoff(api, daemon, reset_after, wanted):
    gate = Gate()
    api.on_list("services", times=3).fail(500)
    api.rv = 6
    api.on_watch("services").stream(bookmark(6), gate, bookmark(6), error_event(500))
    api.on_watch("services").stream(error_event(500))
    d = daemon(api, tuning=backoff(50, 5000, reset_after=reset_after))
    d.control.wait_watch("services", state="watching")
    time.sleep(0.15)    # the stream lasts for longer than 100 ms
    gate.open()
    assert [meant for meant, _ in waits(d, 4)] == [50, 100, 200, wanted]


def test_s50_an_error_500_in_the_stream_is_a_pause_and_a_list(api, daemon):
    api.on_watch("services").stream(bookmark(6), error_event(500), END)
    api.rv = 6
    daemon(api, tuning=backoff(100, 100))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    asked = api.of("services")
    assert api.sequence("services") == ["L(0)", "W(6)", "L(6)", "W(6)"]
    assert at_least(0.1, asked[2].time - asked[1].time)


def test_s46_retry_after_as_a_date_or_nonsense_means_normal_backoff(api, daemon):
    values = (email.utils.formatdate(time.time() + 60, usegmt=True), "soon", "-5", "")
    for value in values:
        api.on_list("services").fail(429, retry_after=value)
    d = daemon(api, tuning=backoff(20, 40)).synced()
    assert api.sequence("services")[:5] == ["L(0)"] * 5
    assert [e["retry_in_ms"] for e in d.log(msg="watch failed")][:4] == [20, 40, 40, 40]


def test_s45_429_in_the_stream_keeps_the_rv_and_pauses(api, daemon):
    api.on_watch("services").stream(bookmark(6), error_event(429), END)
    daemon(api, tuning={"backoff": {"initial": "200ms", "max": "200ms", "jitter": 0.0}})
    first, second = (api.wait_for_request(lambda r: r.kind == "W", count=n) for n in (1, 2))
    assert at_least(0.2, second.time - first.time)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(6)"]


def expired(api, daemon, hook, how):
    """The server has forgotten the version of a watch; how(rule, gate) makes it say so. Checks that
    a pause, a list and a new watch follow."""
    api.apply(service("n/a"), service("n/b"))
    api.rv = 10
    gate = Gate()
    how(api.on_watch("services"), gate)
    d = daemon(api, hooks={"h": hook}, tuning=backoff(200, 1000))
    hook.wait(2)
    watch = api.wait_for_request(lambda r: r.kind == "W")
    api.delete("services", "n/b", silent=True)
    opened = time.monotonic()
    gate.open()
    again = api.wait_for_request(lambda r: r.kind == "L", count=2)
    assert at_least(0.2, again.time - opened) and again.time > watch.time
    assert again.query["resourceVersion"] == "10" and "limit" not in again.query
    hook.wait_what("DELETED", "n/b")
    d.caught_up(api)
    assert len(hook.runs()) == 3
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "W(11)"]
    assert d.control.watch("services")["relists_by"] == {"expired": 1}


def test_s51_expired_in_the_stream_is_a_pause_and_a_list_at_the_last_rv_without_limit(
        api, daemon, hook):
    expired(api, daemon, hook,
            lambda rule, gate: rule.stream(gate, error_event(410, "Expired"), END))


@pytest.mark.parametrize("reason", ["Expired", "Gone", ""])
def test_s52_expired_as_http_status_is_the_same(api, daemon, hook, reason):
    expired(api, daemon, hook, lambda rule, gate: rule.fail(410, reason, hold=gate))


def test_s51_a_list_at_the_last_rv_that_is_expired_too_is_asked_without_rv_at_once(api, daemon):
    api.rv = 10
    api.on_watch("services").stream(error_event(410, "Expired"), END)
    api.on_list("services", where=lambda r: r.query.get("resourceVersion") == "10").fail(410)
    d = daemon(api, tuning=backoff(100, 1000))
    api.wait_for_request(lambda r: r.kind == "L", count=3)
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "L(-)", "W(10)"]
    pauses = [e["retry_in_ms"] for e in d.log(msg="watch failed")]
    assert pauses == [100], "the one behind the ERROR 410"


def test_s54_forbidden_is_shown_logged_once_and_healed_without_restart(api, daemon, new_hook):
    api.apply(service("n/a"))
    hook = new_hook()
    message = ('services is forbidden: User "system:node:x" cannot list resource "services" in API '
               'group "" at the cluster scope')
    rule = api.on_list("services", times=None).fail(403, message=message)
    d = daemon(api, hooks={"h": hook})
    api.wait_for_request(lambda r: r.kind == "L", count=5)
    shown = d.control.wait_watch("services", state="forbidden")
    assert "forbidden" in str(shown["last_error"]).lower() and not shown["synced"]
    lines = [e for e in d.problems(watch="services", msg="watch failed")
             if "forbidden" in str(e).lower()]
    assert len(lines) == 1, lines
    assert not hook.runs()
    rule.cancel()
    hook.wait(1)
    d.control.wait_watch("services", state="watching", synced=True)


def test_s54_forbidden_at_the_watch_keeps_the_rv_and_does_not_list(api, daemon):
    api.on_watch("services", times=4).fail(403)
    d = daemon(api)
    api.wait_for_request(lambda r: r.kind == "W", count=5)
    assert api.sequence("services") == ["L(0)"] + ["W(1)"] * 5
    d.control.wait_watch("services", state="watching")


@pytest.mark.parametrize("how", ["crd", "list"])
def test_s56_a_resource_that_does_not_exist_yet_is_waited_for(api, daemon, new_hook, how):
    """Its CRD does not exist yet; or the CRD exists and only the LIST is answered with 404."""
    fine, late = new_hook(), new_hook()
    rule = None
    if how == "list":
        api.define("widgets.v1.example.com", kind="Widget")
        rule = api.on_list("widgets", times=None).fail(404)
    d = daemon(api, hooks={"fine": fine, "late": hook_settings(late, sources=["widgets"])},
               watches={"services": {"resource": "services", "namespaces": ["*"]},
                        "widgets": {"resource": "widgets.example.com", "namespaces": ["*"]}})
    state = "backoff" if how == "list" else "waiting"
    missing = d.control.wait_watch("widgets", state=state, synced=False)
    api.apply(service("n/a"))
    fine.wait_what("ADDED", "n/a")
    wait_until(lambda: d.control.watch("widgets")["last_error"])
    assert not late.runs() and missing["stale"] is False
    if rule:
        rule.cancel()
    else:
        api.define("widgets.v1.example.com", kind="Widget")
    api.apply(custom_object("Widget", "n/w"))
    late.wait_what("ADDED", "n/w")
    d.control.wait_watch("widgets", state="watching", synced=True, last_error=None)
    lines = [e for e in d.problems(watch="widgets") if "stale" not in e["msg"]]
    assert len(lines) == 1, lines
    assert not d.problems(watch="services")


@pytest.mark.parametrize("how", ["rst", "eof", "close"])
def test_a_server_restart_on_its_port_resumes_at_the_rv_without_a_list(api, daemon, hook, how):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    first = api.rv
    d.hear_newer_bookmark(api)
    rv = api.rv
    api.stop_listening()
    api.drop(how)
    d.control.wait_watch("services", state="backoff")
    api.apply(service("n/b"))
    assert d.control.watch("services")["synced"]
    api.listen()
    hook.wait_what("ADDED", "n/b")
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)", f"W({first})", f"W({rv})"]
    assert len(hook.runs()) == 2


def test_a_refused_connection_is_retried_until_the_server_is_back(api, daemon, hook):
    api.stop_listening()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", state="backoff")
    api.listen()
    hook.wait(1)
    assert api.sequence("services")[0] == "L(0)"


def test_a_server_that_ends_the_watch_at_its_timeout_is_asked_again(api, daemon, hook):
    daemon(api, hooks={"h": hook}, tuning={"watch_timeout": ["1s", "1s"]})
    for count in (1, 2):
        api.wait_for_request(lambda r: r.kind == "W", count=count)
        api.wait_watching("services")
        api.apply(service(f"n/s{count}"))
        hook.wait_what("ADDED", f"n/s{count}")
    assert len([r for r in api.of("services", "L") if r.query["limit"] != "1"]) == 1, "but probes"


def test_a_stream_reset_in_the_middle_loses_and_repeats_nothing(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    for number in range(12):
        api.wait_watching("services")
        api.apply(service(f"n/s{number}"))
        if number % 3 == 0:
            hook.wait(number + 1)
            api.end_watches(how=("rst", "eof", "close", "END")[number // 3])
            wait_until(lambda: not api.watching("services") or
                       len(api.of("services", "W")) > number // 3 + 1)
    hook.wait(12)
    d.caught_up(api)
    assert hook.what() == [("ADDED", f"n/s{n}") for n in range(12)]
    assert len(api.of("services", "L")) == 1


@pytest.mark.parametrize("code", [301, 302, 307])
def test_a_redirect_is_an_error_and_not_followed(api, daemon, code):
    api.on_list("services", times=2).reply(code, headers={"Location": f"{api.url}/elsewhere"})
    daemon(api).synced()
    assert not [r for r in api.requests if r.path == "/elsewhere"]


def test_rst_while_the_handshake_runs_is_retried(api, daemon):
    api.stall_handshake = True
    d = daemon(api)
    api.wait(lambda: api.accepted)
    api.stall_handshake = False
    api.drop("rst")
    d.synced()


def test_events_before_a_reset_all_count(api, daemon, hook):
    gate = Gate()
    api.on_watch("services").stream(*[ev("ADDED", service(f"n/s{i}"), rv=10 + i)
                                      for i in range(50)], gate, RST)
    api.on_watch("services").stream(STALL)
    daemon(api, hooks={"h": hook})
    hook.wait(50)
    gate.open()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(1)", "W(59)"]
