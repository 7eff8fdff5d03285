# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS 1-3, 12, 17: lists, pages, relists and what a hook sees of them."""
import json

import pytest
from control import wait_until
from fakeapi import (END, STALL, Gate, bookmark, custom_object, error_event, ev, service, simple)
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
    daemon(api, credentials={"token": "s3cret-token"}).synced()
    api.wait_watching("services")
    for request in api.of("services"):
        assert request.header("accept").startswith("application/json")
        assert request.header("user-agent").startswith("informerd/")
        assert request.header("host") == f"127.0.0.1:{api.port}"
        assert request.header("authorization") == "Bearer s3cret-token"
        assert request.header("accept-encoding") in ("", "identity")


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
def test_s2_a_watch_that_does_not_start_ends_in_the_servers_content(api, daemon, hook, name):
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


def test_s3_an_expired_page_token_leads_to_a_complete_list(api, daemon, hook):
    for number in range(8):
        api.apply(service(f"n/s{number}"))
    api.watch_cache = False
    api.on_list("services", where=lambda r: "continue" in r.query).fail(410, "Expired")
    d = daemon(api, tuning={"page_size": 4}, hooks={"h": hook})
    hook.wait(8)
    d.caught_up(api)
    assert len(d.control.keys("services")) == 8
    last = api.of("services", "L")[-1]
    assert "continue" not in last.query


def small_list(number, rv):
    """A list of three small objects as bytes; number stands in each."""
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
    body = small_list(1, 5)
    served = [0]

    async def cut_list(exchange):
        at = served[0]
        served[0] += 1
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
    wait_until(lambda: served[0] > rounds, 60)
    rule.cancel()
    broken.cancel()
    api.on_list("configmaps", times=1).reply(body=small_list(2, 6), cut="every")
    api.on_watch("configmaps").stream(bookmark(9, "ConfigMap"), STALL)
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


def test_s17_a_relist_finds_the_delete_that_nobody_announced(api, daemon, hook):
    api.apply(service("n/a", ports=[80]), service("n/b"), service("n/c"))
    last = api.rv
    d = daemon(api, hooks={"h": hook})
    hook.wait(3)
    api.wait_watching("services")
    kept = api.get("services", "n/a")
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[443]), silent=True)
    api.apply(service("n/d"), silent=True)
    api.end_watches(how=error_event(500))
    hook.wait(6)
    d.caught_up(api)
    assert api.sequence("services")[:3] == ["L(0)", f"W({last})", f"L({last})"]
    assert sorted(hook.what()[3:]) == [("ADDED", "n/d"), ("DELETED", "n/a"), ("MODIFIED", "n/b")]
    gone = hook.wait_what("DELETED", "n/a").event
    assert gone["final_state_unknown"] is True and gone["cause"] == "relist"
    assert gone["object"]["spec"] == kept["spec"] and gone["uid"] == kept["metadata"]["uid"]
    assert "managedFields" not in gone["object"]["metadata"]
    changed = hook.wait_what("MODIFIED", "n/b").event
    assert changed["final_state_unknown"] is False and changed["cause"] == "relist"


def test_s17_a_delete_that_the_watch_announced_is_final_and_fires_once(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    api.delete("services", "n/a")
    hook.wait(3)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    d.caught_up(api)
    assert len(hook.runs()) == 3
    gone = hook.runs()[2].event
    assert gone["final_state_unknown"] is False and gone["cause"] == "watch"


def test_a_relist_without_changes_fires_nothing(api, daemon, hook):
    api.apply(*[service(f"n/s{i}") for i in range(20)])
    d = daemon(api, hooks={"h": hook})
    hook.wait(20)
    api.wait_watching("services")
    for count in range(1, 4):
        api.end_watches(how=error_event(500))
        api.wait_for_request(lambda r: r.kind == "W", count=count + 1)
        api.wait_watching("services")
    d.caught_up(api)
    assert len(hook.runs()) == 20
    assert d.control.watch("services")["relists"] >= 3


def test_an_empty_list_counts_as_synced(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, mode="snapshot", settle=["0s", "0s"])})
    d.synced()
    assert d.control.objects("services") == []
