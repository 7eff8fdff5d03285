# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 85, audits, confirmed deletes: the cache has the server's objects, or reports that
it does not."""
import itertools

import pytest
from control import at_least, wait_until
from fakeapi import STALL, Gate, error_event, service, simple
from harness import hook_settings

EVERYTHING = {"resource": "services", "namespaces": ["*"]}


def watch(**more):
    return {"services": {**EVERYTHING, **more}}


# ---- 85: selectors

LABELS = {"a": {"app": "web", "tier": "front"}, "b": {"app": "web", "tier": "back"},
          "c": {"app": "db"}, "d": {"example.com/x": "", "tier": "front"}, "e": {}}
SELECTORS = {
    "app=web": "ab", "app==web": "ab", "app!=web": "cde", "app in (web,db)": "abc",
    "app in (web, db), tier in (back)": "b", "app notin (web)": "cde", "app": "abc", "!app": "de",
    "tier=front,app": "a", "tier=front,!app": "d", "example.com/x=": "d", "example.com/x": "d",
    "app notin (web,db),tier!=back,!nothing": "de", "app=none": "", "": "abcde",
}


@pytest.mark.parametrize("watch_list", ["off", "on"])
def test_s85_label_selectors_select_as_the_server_does(api, daemon, hook, watch_list):
    """A watch for each selector, and one hook for all of them."""
    api.watch_list = True
    wanted = {f"w{number}": (selector, names)
              for number, (selector, names) in enumerate(SELECTORS.items())}
    count = sum(len(names) for _selector, names in wanted.values())
    api.apply(*[simple("ConfigMap", f"n/{name}", labels=labels) for name, labels in LABELS.items()])
    d = daemon(api, hooks={"h": hook_settings(hook, sources=list(wanted))},
               tuning={"watch_list": watch_list}, watches={
                   name: {"resource": "configmaps", "namespaces": ["*"], "label_selector": selector}
                   for name, (selector, _names) in wanted.items()})

    def check(*namespaces):
        d.caught_up(api)
        for name, (selector, names) in wanted.items():
            keys = [f"{namespace}/{key}" for namespace in namespaces for key in names]
            assert d.control.keys(name) == keys, selector
        assert len(hook.wait(len(namespaces) * count)) == len(namespaces) * count
    hook.wait(count)
    check("n")
    api.apply(*[simple("ConfigMap", f"m/{name}", labels=labels) for name, labels in LABELS.items()])
    check("m", "n")
    api.end_watches(how=error_event(500))
    for name in wanted:
        d.control.wait_watch(name, relists=1)
    check("m", "n")
    kinds = {"S"} if watch_list == "on" else {"L", "W"}
    for selector in SELECTORS:
        asked = {r.kind for r in api.of("configmaps")
                 if r.query.get("labelSelector", "") == selector}
        assert asked == kinds, selector


@pytest.mark.parametrize("selector,wanted", [
    ("metadata.name=a", "a"), ("metadata.name!=a,spec.type=NodePort", "b"),
    ("spec.type==ClusterIP", "ac"), ("metadata.namespace=n,spec.type!=NodePort", "ac")])
def test_s85_field_selectors_are_handed_on_as_written(api, daemon, selector, wanted):
    for name in "abc":
        api.apply(service(f"n/{name}", type="NodePort" if name == "b" else "ClusterIP"))
    d = daemon(api, watches=watch(field_selector=selector)).caught_up(api)
    assert d.control.keys("services") == [f"n/{name}" for name in wanted]
    assert {r.query["fieldSelector"] for r in api.of("services")} == {selector}


def test_s85_characters_that_must_be_escaped_reach_the_server(api, daemon):
    labels, fields = "x in (a,b.c),!y/z_1", "metadata.name=ü&x+2%20#?,spec.type!=a\\=b\\,c d"
    api.on_list("services", times=None).list([], rv=5)
    api.on_watch("services").stream(STALL)
    daemon(api, watches=watch(label_selector=labels, field_selector=fields)).synced()
    api.wait_for_request(lambda r: r.kind == "W")
    for request in api.of("services"):
        assert request.query["labelSelector"] == labels
        assert request.query["fieldSelector"] == fields


def test_s85_the_name_of_the_node_stands_in_selectors(api, daemon):
    api.apply(simple("Pod", "n/mine", labels={"node": "node-7", "x": "node-7"}),
              simple("Pod", "n/other", labels={"node": "node-8"}))
    d = daemon(api, node_name="node-7", watches={"pods": {
        "resource": "pods", "namespaces": ["*"],
        "label_selector": "node=${node_name},x=${node_name}",
        "field_selector": "metadata.name!=${node_name}"}})
    d.caught_up(api)
    assert d.control.keys("pods") == ["n/mine"]
    for request in api.of("pods"):
        assert request.query["labelSelector"] == "node=node-7,x=node-7"
        assert request.query["fieldSelector"] == "metadata.name!=node-7"


def test_s85_each_name_is_a_stream_with_the_other_selectors(api, daemon):
    api.apply(*[service(f"n/{name}", labels={"app": "x"}) for name in "abc"])
    d = daemon(api, watches=watch(names=["a", "c"], label_selector="app=x",
                                  field_selector="spec.type=ClusterIP"))
    api.wait_watching("services", 2)
    d.synced()
    assert d.control.keys("services") == ["n/a", "n/c"]
    assert {r.query["fieldSelector"] for r in api.of("services")} == {
        f"metadata.name={name},spec.type=ClusterIP" for name in "ac"}


# ---- audit

def test_audits_repair_missed_changes_and_nothing_else(api, daemon, new_hook):
    """Three watches at a time, as each comparison waits 5 s for changes that are under way. The
    first watch has missed changes; the second one changes all the time and is true; the third one
    would become empty, so the guard holds it."""
    hooks = {name: new_hook() for name in ("services", "restless", "emptied")}
    api.apply(*[service(f"n/{name}") for name in "abcd"])
    api.apply(*[simple("ConfigMap", f"n/s{i}", data={"v": "0"}) for i in range(20)])
    api.apply(*[simple("Pod", f"n/s{i:02}") for i in range(12)])
    gates = {name: Gate() for name in ("services", "configmaps", "pods")}
    for name, gate in gates.items():
        api.on_list(name, times=None, where=lambda r: r.rv is None).hold(gate)
    d = daemon(api, log={"level": "info"}, watches={
        "services": {**EVERYTHING, "audit": "1s"},
        "restless": {"resource": "configmaps", "namespaces": ["*"], "audit": "1s"},
        "emptied": {"resource": "pods", "namespaces": ["*"], "audit": "1s",
                    "guard": {"hold": "1h"}},
    }, hooks={name: hook_settings(hook, sources=[name]) for name, hook in hooks.items()})
    for hook, count in zip(hooks.values(), (4, 20, 12)):
        hook.wait(count)
    d.caught_up(api)
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[443]), service("n/e"), silent=True)
    for number in range(12):
        api.delete("pods", f"n/s{number:02}", silent=True)
    gates["services"].open()
    gates["pods"].open()
    changes_while_it_is_compared(d, api, gates["configmaps"])
    check_repaired(d, api, hooks["services"])
    held = d.control.wait_watch("emptied", held=True)
    assert (held["held_reason"], held["held_deletes"], held["objects"]) == ("deletes", 12, 12)
    assert len(hooks["emptied"].runs()) == 12
    assert d.ctl("guard", "accept", "emptied").returncode == 0
    hooks["emptied"].wait(24)
    d.control.wait_watch("emptied", held=False, objects=0)


def changes_while_it_is_compared(d, api, gate):
    """Changes the objects before and after the list of an audit, but not while the list is made: a
    change that needs more than 5 s to arrive would count as a difference."""
    numbers = itertools.count()

    def change(times=10):
        for number in itertools.islice(numbers, times):
            api.apply(simple("ConfigMap", f"n/s{number % 10}", data={"v": str(number)}))
        api.apply(simple("ConfigMap", "n/comes-and-goes"))
        api.delete("configmaps", "n/comes-and-goes")
    gate.wait_reached()
    change()
    d.seen(api, "restless")
    gate.open()
    api.wait(lambda: [r for r in api.of("configmaps", "L")[1:] if r.status], what="the list")
    api.apply(simple("ConfigMap", "n/new"))

    def audited():
        change(1)
        return d.control.watch("restless")["audit"]["runs"]
    wait_until(audited)
    shown = d.control.watch("restless")
    assert shown["relists"] == 0 and shown["audit"]["differences"] == 0
    assert not d.problems(watch="restless")


def check_repaired(d, api, hook):
    hook.wait(7)
    assert hook.what()[4:7] == [("DELETED", "n/a"), ("MODIFIED", "n/b"), ("ADDED", "n/e")]
    assert {run.event["cause"] for run in hook.runs()[4:]} == {"audit"}
    assert hook.runs()[4].event["final_state_unknown"] is True and len(hook.runs()) == 7
    line = d.wait_problem("audit found differences", watch="services")
    assert (line["differences"], line["compared"]) == (3, 5)
    shown = d.control.watch("services")
    assert shown["relists_by"] == {"audit": 1} and shown["audit"]["differences"] in (3, 0)
    lists = api.of("services", "L")[1:]
    assert len(lists) >= 2 and all(r.rv is None for r in lists)
    assert at_least(5, lists[1].time - lists[0].time), "changes under way get their time"


# ---- confirm_deletes

CHOSEN = {"label_selector": "app=x", "confirm_deletes": True}


@pytest.fixture
def confirming(api, daemon, hook):
    """A daemon that has n/a and n/b, which its selector chooses by their label, and that confirms
    deletes."""
    api.apply(service("n/a", labels={"app": "x"}), service("n/b", labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches=watch(**CHOSEN))
    hook.wait(2)
    d.caught_up(api)
    return d


def gets(api):
    return [r.path for r in api.of("services", "G")]


@pytest.mark.parametrize("how", ["watch", "relist"])
def test_an_object_that_exists_but_is_not_selected_has_left(api, hook, confirming, how):
    before = api.get("services", "n/a")
    api.apply(service("n/a", labels={"app": "y"}), silent=how == "relist")
    if how == "relist":
        api.end_watches(how=error_event(500))
    left = hook.wait(3)[2].event
    confirming.caught_up(api)
    assert (left["type"], left["name"], left["cause"]) == ("LEFT", "a", how)
    assert left["uid"] == before["metadata"]["uid"] and left["final_state_unknown"] is False
    assert left["object"]["metadata"]["labels"] == {"app": "x"}
    assert gets(api) == ["/api/v1/namespaces/n/services/a"] and len(hook.runs()) == 3
    assert confirming.control.keys("services") == ["n/b"]


@pytest.mark.parametrize("how", ["watch", "relist"])
def test_an_object_that_is_gone_is_deleted(api, hook, confirming, how):
    api.delete("services", "n/a", silent=how == "relist")
    if how == "relist":
        api.end_watches(how=error_event(500))
    gone = hook.wait(3)[2].event
    confirming.caught_up(api)
    assert (gone["type"], gone["cause"]) == ("DELETED", how)
    assert gone["final_state_unknown"] is (how == "relist")
    assert gets(api) == ["/api/v1/namespaces/n/services/a"] and len(hook.runs()) == 3


def test_an_object_of_the_same_name_with_another_uid_confirms_the_delete(api, hook, confirming):
    api.delete("services", "n/a")
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("DELETED", "n/a")
    confirming.caught_up(api)
    assert len(gets(api)) == 1 and len(hook.runs()) == 3


def test_a_failed_get_is_repeated(api, hook, confirming):
    api.on_get("services", times=2).fail(500)
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("LEFT", "n/a")
    confirming.caught_up(api)
    assert len(gets(api)) == 3 and len(hook.runs()) == 3
    lines = [e for e in confirming.problems() if e["msg"] == "delete not confirmed"]
    assert len(lines) == 1 and "500" in lines[0]["err"], "one line, not two"


def test_other_events_go_on_while_a_delete_waits_to_be_confirmed(api, hook, confirming):
    gate = Gate()
    api.on_get("services", where=lambda r: r.name == "a").hold(gate)
    api.delete("services", "n/a")
    gate.wait_reached()
    api.apply(service("n/c", labels={"app": "x"}))
    hook.wait_what("ADDED", "n/c")
    api.apply(service("n/a", labels={"app": "x"}))
    hook.wait_what("ADDED", "n/a")
    gate.open()
    confirming.caught_up(api)
    assert [what for what in hook.what()[2:] if what[1] == "n/a"] == [("DELETED", "n/a"),
                                                                     ("ADDED", "n/a")]


def test_without_confirm_deletes_no_get_is_sent(api, daemon, hook):
    api.apply(service("n/a", labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches=watch(label_selector="app=x"))
    hook.wait(1)
    d.caught_up(api)
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("DELETED", "n/a")
    d.caught_up(api)
    assert not gets(api)


# ---- Log lines about trouble

def told(d, *msgs):
    """The log lines with these messages, in their order."""
    return [e["msg"] for e in d.log(level=("info", "warn", "error")) if e["msg"] in msgs]


@pytest.mark.parametrize("code", [403, 500])
def test_trouble_that_lasts_is_one_line_per_transition(api, factory, code):
    """On a machine that pauses, a watch may become stale more often; each time is logged once."""
    trouble, stale = ("watch failed", "watch recovered"), ("watch is stale", "watch is fresh again")
    api.apply(service("n/a"))
    backoff = {"initial": "10ms", "max": "40ms"}
    cluster = {**factory.cluster(api, {"backoff": backoff}), "stale_after": "200ms"}
    d = factory.daemon(api, clusters={"prod": cluster}).caught_up(api)
    d.hear_newer_bookmark(api)
    for outage in (1, 2):
        rules = [api.on_watch("services", times=None).fail(code, message="no"),
                 api.on_list("services", times=None).fail(code, message="no")]
        api.end_watches(how="rst")
        d.control.wait_watch("services", stale=True)
        wait_until(lambda: told(d, *stale)[-1:] == [stale[0]], what="it is told that it is stale")
        wait_until(lambda: told(d, *trouble)[-1:] == [trouble[0]], what="and that it failed")
        shown = d.control.watch("services")
        before, asked = told(d, *trouble, *stale), len(api.of("services"))
        api.wait(lambda n=asked: len(api.of("services")) >= n + 8)
        assert told(d, *trouble, *stale) == before
        assert told(d, *trouble) == [*trouble * (outage - 1), trouble[0]]
        assert shown["synced"] and shown["objects"] == 1 and shown["last_error"]
        states, word = (["forbidden"], "forbidden") if code == 403 else (
            ["backoff", "listing"], "stale")
        for _ in range(20):
            now = d.control.status()
            assert now["watches"]["services"]["state"] in states, "a try is no success"
            assert any(f"services: {word}" in why for why in now["degraded"])
        for rule in rules:
            rule.cancel()
        d.control.wait_watch("services", stale=False, state="watching", last_error=None)
        d.caught_up(api)
        d.hear_newer_bookmark(api)
        wait_until(lambda n=outage: told(d, *trouble) == [*trouble * n])
        wait_until(lambda: told(d, *stale)[-1] == stale[1])
        wait_until(lambda: d.control.status()["degraded"] == [])
    lines = told(d, *stale)
    assert lines == [*stale * (len(lines) // 2)], "each transition is told once"
