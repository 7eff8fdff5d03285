# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 1-3, 12-14: the first list, its pages, and the events that a hook gets from them."""
import json
import re

import campaign
import pytest
from control import at_least, wait_until
from fakeapi import (
    END, LIVE, STALL, Gate, bookmark, custom_object, error_event, ev, service, simple)
from harness import hook_settings

WIDGETS = {"services": {"resource": "widgets.v1.example.com", "namespaces": ["*"]}}


def test_s1_one_list_then_one_watch_and_events_in_order(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    first = api.rv
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    api.wait_watching("services")
    api.apply(service("n/c"))
    hook.wait(3)
    api.apply(service("n/a", ports=[81]))
    hook.wait(4)
    api.delete("services", "n/b")
    hook.wait(5)
    d.caught_up(api)
    assert sorted(hook.what()[:2]) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert hook.what()[2:] == [("ADDED", "n/c"), ("MODIFIED", "n/a"), ("DELETED", "n/b")]
    assert [r.input["reason"] for r in hook.runs()] == ["existing"] * 2 + ["change"] * 3
    assert api.sequence("services") == ["L(0)", f"W({first})"]
    listed, watched = api.of("services")
    assert listed.query["limit"] == "500" and "watch" not in listed.query
    assert "resourceVersionMatch" not in listed.query and "timeoutSeconds" not in listed.query
    assert watched.query["allowWatchBookmarks"] == "true" and watched.query["watch"] == "true"
    assert 300 <= int(watched.query["timeoutSeconds"]) <= 600
    assert not {"limit", "continue", "resourceVersionMatch"} & set(watched.query)


def test_s1_requests_carry_the_headers_of_a_node_agent(api, daemon):
    daemon(api, credentials={"token": "s3cret-token"}, node_name="worker-5").synced()
    api.wait_watching("services")
    for request in api.of("services"):
        assert request.header("accept").startswith("application/json")
        assert re.fullmatch(r"informerd/\S+ \(linux\) node/worker-5", request.header("user-agent"))
        assert request.header("host") == f"127.0.0.1:{api.port}"
        assert request.header("authorization") == "Bearer s3cret-token"
        assert request.header("accept-encoding") in ("", "identity")


def test_a_warning_of_the_server_is_logged_once(api, daemon):
    """Although it comes with each answer, and with those of two watches."""
    text = 'v1 "Service" is deprecated'
    header = r'299 - "v1 \"Service\" is deprecated", 110 - "Response is Stale"'
    api.on_list("services", times=None).list([], rv=api.rv, headers={"Warning": header})
    api.on_watch("services", times=None).stream(LIVE(), headers={"Warning": header})
    d = daemon(api, watches={name: {"resource": "services", "namespaces": [name]}
                             for name in ("a", "b")}).synced("a", "b")
    api.wait_watching("services", 2)
    api.apply(service("a/x"))
    wait_until(lambda: d.control.keys("a") == ["a/x"])
    told = d.log(level="warn", msg="API server warns")
    assert [(line["cluster"], line["warning"]) for line in told] == [("prod", text)]
    assert not d.control.status()["degraded"]


LIST_FAILURES = {
    "500": lambda rule: rule.fail(500), "503": lambda rule: rule.fail(503),
    "429": lambda rule: rule.fail(429), "reset": lambda rule: rule.drop("rst"),
    "eof": lambda rule: rule.drop("eof"),
    "half": lambda rule: rule.reply(body=b'{"kind":"ServiceList","apiVersion":"v1","metadata":{"re',
                                    chunks=(), end="eof", only=250),
}


@pytest.mark.parametrize("name", LIST_FAILURES)
def test_s2_a_failed_list_is_tried_again(api, daemon, hook, name):
    api.apply(service("n/a"))
    LIST_FAILURES[name](api.on_list("services", times=3))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)"] * 4 + ["W(2)"]
    assert hook.what() == [("ADDED", "n/a")]


WATCH_FAILURES = {
    "500": lambda rule: rule.fail(500), "404": lambda rule: rule.fail(404),
    "410": lambda rule: rule.fail(410), "reset": lambda rule: rule.drop("rst"),
    "empty": lambda rule: rule.stream(END),
}


@pytest.mark.parametrize("name", WATCH_FAILURES)
def test_s2_after_watches_that_do_not_start_the_cache_fits_the_server(api, daemon, hook, name):
    api.apply(service("n/a"), service("n/b"))
    WATCH_FAILURES[name](api.on_watch("services", times=2))
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    api.apply(service("n/c"))
    api.end_watches()
    api.wait_watching("services")
    d.caught_up(api)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b"), ("ADDED", "n/c")]
    assert sorted(d.control.keys("services")) == ["n/a", "n/b", "n/c"]


@pytest.mark.parametrize("custom", [False, True], ids=["metadata-first", "items-first"])
def test_s3_pages_are_one_synchronisation(api, daemon, new_hook, custom):
    plural = "services"
    if custom:
        plural = "widgets"
        api.add_resource("widgets", "Widget", "example.com")
    for number in range(10):
        key = f"n/s{number}"
        api.apply(custom_object("Widget", key, spec={"n": number}) if custom else service(key))
    api.watch_cache = False
    gate = Gate()
    api.on_list(plural, where=lambda r: len(api.of(plural)) == 3).hold(gate)
    single, whole = new_hook(), new_hook()
    d = daemon(api, watches=WIDGETS if custom else None, tuning={"page_size": 4}, hooks={
        "single": single,
        "whole": hook_settings(whole, mode="snapshot", settle=["0s", "0s"])})
    gate.wait_reached()
    assert not d.control.watch("services")["synced"]
    assert not single.runs() and not whole.runs()
    gate.open()
    single.wait(10)
    d.caught_up(api)
    pages = api.of(plural, "L")
    assert [p.query.get("limit") for p in pages] == ["4"] * 3
    assert [p.query.get("resourceVersion") for p in pages] == ["0", None, None]
    assert [bool(p.query.get("continue")) for p in pages] == [False, True, True]
    assert api.sequence(plural)[3:] == ["W(11)"]
    assert len(whole.runs()) == 1
    assert len(whole.runs()[0].snapshot["services"]) == 10
    assert sorted(single.what()) == [("ADDED", f"n/s{n}") for n in range(10)]


def test_s3_all_pages_go_over_one_connection(api, daemon):
    for number in range(10):
        api.apply(service(f"n/s{number}"))
    api.watch_cache = False
    daemon(api, tuning={"page_size": 2}).synced()
    pages = api.of("services", "L")
    assert len(pages) == 5 and len({p.conn_id for p in pages}) == 1


def small_list(number, rv):
    """A list of three small objects as bytes; each has this number as its resourceVersion."""
    items = [simple("ConfigMap", f"n/c{i}", uid=f"u{i}", data={"v": "äö\\u00e9\n\"" + str(i)})
             for i in range(3)]
    for item in items:
        item["metadata"] = {"name": item["metadata"]["name"], "namespace": "n",
                            "uid": item["metadata"]["uid"], "resourceVersion": str(number)}
        del item["kind"], item["apiVersion"]
    doc = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": str(rv)},
           "items": items}
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


CONFIGMAPS = {"services": {"resource": "configmaps", "namespaces": ["*"]}}


@pytest.mark.parametrize("how", ["records", "chunks", "segments"])
def test_s12_a_list_cut_at_every_byte_gives_the_same_objects(api, daemon, hook, how):
    """Only a campaign cuts at every byte, a short run at every third one. The unit tests of the
    parsers cut at every byte."""
    body, step = small_list(1, 5), campaign.size(3, 1)
    served = [0]

    async def cut_list(exchange):
        at = served[0]
        served[0] += step
        if how == "records":
            await exchange.answer(body=body, cut=[at] if at < len(body) + 250 else ())
        elif how == "chunks":
            await exchange.answer(body=body, chunks=[at] if 0 < at < len(body) else ())
        else:
            await exchange.answer(body=body, segment=at % 97 + 1)
    rounds = {"records": len(body) + 250, "chunks": len(body), "segments": 97}[how]
    rule = api.on_list("configmaps", times=None).run(cut_list)
    broken = api.on_watch("configmaps", times=None).stream(error_event(500), END)
    d = daemon(api, watches=CONFIGMAPS, hooks={"h": hook}, log={"level": "error"},
               tuning={"backoff": {"initial": "1ms", "factor": 1.0, "max": "1ms", "jitter": 0.0}})
    wait_until(lambda: served[0] > rounds)
    last = api.on_list("configmaps", times=None).reply(body=small_list(2, 6), cut="every")
    api.on_watch("configmaps").stream(bookmark(9, "ConfigMap"), STALL)
    rule.cancel()
    wait_until(lambda: last.served)     # no list and no watch comes between two rules
    broken.cancel()
    d.control.wait_watch("services", resource_version="9", objects=3)
    d.control.wait_idle()
    assert sorted(hook.what()) == [("ADDED", f"n/c{i}") for i in range(3)]
    assert [o["data"]["v"] for o in d.control.objects("services")] == [
        "äö\\u00e9\n\"" + str(i) for i in range(3)]


def test_s12_a_watch_cut_at_every_byte_gives_the_same_events(api, daemon, hook):
    events = b"".join(json.dumps(e).encode() + b"\n" for e in (
        ev("ADDED", service("n/a"), rv=3), ev("ADDED", service("n/b"), rv=4),
        ev("DELETED", service("n/a"), rv=5)))

    async def one_by_one(exchange):
        await exchange.start_stream()
        for index in range(len(events)):
            await exchange.conn.send(exchange.chunk(events[index:index + 1]))
        await exchange.step(STALL)
    api.on_watch("services").run(one_by_one)
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", resource_version="5")
    hook.wait_what("ADDED", "n/b")
    assert d.control.keys("services") == ["n/b"]


def test_an_empty_list_counts_as_synced(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, mode="snapshot", settle=["0s", "0s"])})
    d.synced()
    assert d.control.objects("services") == []


TABLES = {
    "Table": {"kind": "Table", "apiVersion": "meta.k8s.io/v1",
              "metadata": {"resourceVersion": "5"}, "columnDefinitions": [], "rows": []},
    "TableList": {"kind": "TableList", "apiVersion": "meta.k8s.io/v1beta1",
                  "metadata": {"resourceVersion": "5"}, "items": []},
}


@pytest.mark.parametrize("kind", TABLES)
def test_s13_a_table_is_an_error_that_starts_no_run(api, daemon, hook, kind):
    api.apply(service("n/a"))
    rule = api.on_list("services", times=None).reply(body=TABLES[kind])
    d = daemon(api, hooks={"h": hook}, tuning={
        "backoff": {"initial": "200ms", "max": "200ms", "jitter": 0.0}})
    d.wait_problem("unsupported Table" if kind == "Table" else "wrong kind Table", watch="services")
    first, second = api.wait(lambda: api.of("services", "L")[1:2] and api.of("services", "L"))[:2]
    assert at_least(0.2, second.time - first.time)
    watch = d.control.wait_watch("services", state="backoff")
    assert not watch["synced"] and watch["objects"] == 0 and "Table" in watch["last_error"]
    assert not hook.runs() and not api.of("services", "W")
    rule.cancel()
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]


def test_s14_an_empty_first_page_and_an_empty_last_one_are_fine(api, daemon, hook):
    only = api.apply(service("n/a"))
    api.rv = 10
    api.on_list("services").list([], rv=10, token="C1")
    api.on_list("services").list([only], rv=11, token="C2")
    api.on_list("services").list([], rv=12)
    d = daemon(api, hooks={"h": hook})
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    assert api.sequence("services") == ["L(0)", "C(C1)", "C(C2)", "W(10)"], "page 1 has the RV"


def test_s14_a_token_that_comes_again_is_no_loop(api, daemon, hook):
    only = api.apply(service("n/a"))
    api.on_list("services", times=2).list([only], rv=10, token="C1")
    d = daemon(api, hooks={"h": hook})
    d.wait_problem("services", "prod")
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    assert api.sequence("services") == ["L(0)", "C(C1)", "L(0)", "W(2)"]
