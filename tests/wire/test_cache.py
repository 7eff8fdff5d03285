# SPDX-License-Identifier: Apache-2.0
"""SCENARIO 85, audits, confirmed deletes: the cache holds what the server has, or says so."""
import pytest
from control import at_least, wait_until
from fakeapi import STALL, Gate, error_event, service, simple

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


@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("watch_list", ["off", "on"])
def test_s85_label_selectors_select_as_the_server_does(api, daemon, hook, selector, watch_list):
    api.watch_list = True
    api.apply(*[simple("ConfigMap", f"n/{name}", labels=labels) for name, labels in LABELS.items()])
    d = daemon(api, hooks={"h": hook}, tuning={"watch_list": watch_list}, watches={
        "services": {"resource": "configmaps", "namespaces": ["*"], "label_selector": selector}})
    wanted = [f"n/{name}" for name in SELECTORS[selector]]
    hook.wait(len(wanted))
    d.caught_up(api)
    assert d.control.keys("services") == wanted
    for name in LABELS:
        api.apply(simple("ConfigMap", f"m/{name}", labels=LABELS[name]))
    d.caught_up(api)
    assert d.control.keys("services") == [key.replace("n/", "m/") for key in wanted] + wanted
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", relists=1)
    d.caught_up(api)
    assert {r.query.get("labelSelector", "") for r in api.of("configmaps")} == {selector}
    assert {r.kind for r in api.of("configmaps")} == ({"S"} if watch_list == "on" else {"L", "W"})
    assert len(hook.runs()) == 2 * len(wanted)


@pytest.mark.parametrize("selector,wanted", [
    ("metadata.name=a", "a"), ("metadata.name!=a,spec.type=NodePort", "b"),
    ("spec.type==ClusterIP", "ac"), ("metadata.namespace=n,spec.type!=NodePort", "ac")])
def test_s85_field_selectors_are_handed_on_as_written(api, daemon, selector, wanted):
    for name in "abc":
        api.apply(service(f"n/{name}", type="NodePort" if name == "b" else "ClusterIP"))
    d = daemon(api, watches=watch(field_selector=selector)).caught_up(api)
    assert d.control.keys("services") == [f"n/{name}" for name in wanted]
    assert {r.query["fieldSelector"] for r in api.of("services")} == {selector}


def test_s85_what_must_be_escaped_reaches_the_server_whole(api, daemon):
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


def test_s85_names_are_one_stream_each_beside_the_other_selectors(api, daemon):
    api.apply(*[service(f"n/{name}", labels={"app": "x"}) for name in "abc"])
    d = daemon(api, watches=watch(names=["a", "c"], label_selector="app=x",
                                  field_selector="spec.type=ClusterIP"))
    api.wait_watching("services", 2)
    d.synced()
    assert d.control.keys("services") == ["n/a", "n/c"]
    assert {r.query["fieldSelector"] for r in api.of("services")} == {
        f"metadata.name={name},spec.type=ClusterIP" for name in "ac"}


# ---- audit

@pytest.mark.slow
def test_an_audit_repairs_what_no_watch_ever_told(api, daemon, hook):
    api.apply(*[service(f"n/{name}") for name in "abcd"])
    d = daemon(api, hooks={"h": hook}, watches=watch(audit="1s"))
    hook.wait(4)
    d.caught_up(api)
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[443]), service("n/e"), silent=True)
    hook.wait(7)
    d.control.wait_idle()
    assert hook.what()[4:] == [("DELETED", "n/a"), ("MODIFIED", "n/b"), ("ADDED", "n/e")]
    assert {run.event["cause"] for run in hook.runs()[4:]} == {"audit"}
    assert hook.runs()[4].event["final_state_unknown"] is True
    line = d.wait_problem("audit found differences", watch="services")
    assert (line["differences"], line["compared"]) == (3, 5)
    shown = d.control.watch("services")
    assert shown["relists_by"] == {"audit": 1} and shown["audit"]["differences"] in (3, 0)
    lists = api.of("services", "L")[1:]
    assert len(lists) >= 2 and all(r.rv is None for r in lists)
    assert at_least(5, lists[1].time - lists[0].time), "what is under way gets its time"


@pytest.mark.slow
def test_an_audit_of_a_true_cache_that_changes_all_the_time_finds_nothing(api, daemon, hook):
    api.apply(*[service(f"n/s{i}") for i in range(20)])
    d = daemon(api, hooks={"h": hook}, watches=watch(audit="1s"), log={"level": "info"})
    hook.wait(20)
    count = iter(range(10 ** 6))

    def audited():
        number = next(count)
        api.apply(service(f"n/s{number % 10}", ports=[1 + number % 60000]))
        if number % 7 == 0:
            api.apply(service("n/comes-and-goes"))
            api.delete("services", "n/comes-and-goes")
        return d.control.watch("services")["audit"]["runs"] >= 2
    wait_until(audited, interval=0.02)
    d.caught_up(api)
    shown = d.control.watch("services")
    assert shown["relists"] == 0 and shown["audit"]["differences"] == 0 and not d.problems()


@pytest.mark.slow
def test_an_audit_that_would_empty_the_cache_is_held(api, daemon, hook):
    api.apply(*[service(f"n/s{i:02}") for i in range(12)])
    d = daemon(api, hooks={"h": hook}, watches=watch(audit="1s", guard={"hold": "1h"}))
    hook.wait(12)
    d.caught_up(api)
    for number in range(12):
        api.delete("services", f"n/s{number:02}", silent=True)
    held = d.control.wait_watch("services", held=True)
    assert (held["held_reason"], held["held_deletes"], held["objects"]) == ("deletes", 12, 12)
    assert len(hook.runs()) == 12
    assert d.ctl("guard", "accept", "services").returncode == 0
    hook.wait(24)
    d.control.wait_watch("services", held=False, objects=0)


# ---- confirm_deletes

CHOSEN = {"label_selector": "app=x", "confirm_deletes": True}


@pytest.fixture
def confirming(api, daemon, hook):
    """A daemon that has n/a and n/b, chosen by their label, and confirms deletes."""
    api.apply(service("n/a", labels={"app": "x"}), service("n/b", labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches=watch(**CHOSEN))
    hook.wait(2)
    d.caught_up(api)
    return d


def gets(api):
    return [r.path for r in api.of("services", "G")]


@pytest.mark.parametrize("how", ["watch", "relist"])
def test_an_object_that_is_there_but_no_longer_selected_has_left(api, hook, confirming, how):
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


def test_an_object_of_the_same_name_and_another_uid_is_no_sign_of_life(api, hook, confirming):
    api.delete("services", "n/a")
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("DELETED", "n/a")
    confirming.caught_up(api)
    assert len(gets(api)) == 1 and len(hook.runs()) == 3


def test_an_answer_that_cannot_be_had_is_asked_for_again(api, hook, confirming):
    api.on_get("services", times=3).fail(500)
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("LEFT", "n/a")
    confirming.caught_up(api)
    assert len(gets(api)) == 4 and len(hook.runs()) == 3
    lines = [e for e in confirming.problems() if e["msg"] == "delete not confirmed"]
    assert len(lines) == 1 and "500" in lines[0]["err"], "one line, not three"


def test_while_one_delete_waits_for_its_answer_all_else_goes_on(api, hook, confirming):
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


def test_without_confirm_deletes_nobody_is_asked(api, daemon, hook):
    api.apply(service("n/a", labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches=watch(label_selector="app=x"))
    hook.wait(1)
    d.caught_up(api)
    api.apply(service("n/a", labels={"app": "y"}))
    hook.wait_what("DELETED", "n/a")
    d.caught_up(api)
    assert not gets(api)


# ---- What is told of trouble, and how often

def told(d, msg):
    return len(d.log(level=("info", "warn", "error"), msg=msg))


@pytest.mark.parametrize("code", [403, 500])
def test_trouble_that_lasts_is_one_line_per_transition(api, factory, code):
    api.apply(service("n/a"))
    cluster = {**factory.cluster(api), "stale_after": "300ms"}
    d = factory.daemon(api, clusters={"prod": cluster}).caught_up(api)
    lines = ("watch failed", "watch is stale", "watch recovered", "watch is fresh again")
    rules = [api.on_watch("services", times=None).fail(code, message="no"),
             api.on_list("services", times=None).fail(code, message="no")]
    api.rv += 1
    api.bookmark()
    d.control.wait_watch("services", resource_version=str(api.rv))
    for outage in (1, 2):
        api.end_watches(how="rst")
        shown = d.control.wait_watch("services", stale=True)
        asked = len(api.of("services"))
        api.wait(lambda n=asked: len(api.of("services")) >= n + 8)
        assert [told(d, msg) for msg in lines] == [outage, outage, outage - 1, outage - 1]
        assert shown["synced"] and shown["objects"] == 1 and shown["last_error"]
        states, word = (["forbidden"], "forbidden") if code == 403 else (
            ["backoff", "listing"], "stale")
        for _ in range(50):
            now = d.control.status()
            assert now["watches"]["services"]["state"] in states, "a try is no success"
            assert any(f"services: {word}" in why for why in now["degraded"])
        for rule in rules:
            rule.cancel()
        d.control.wait_watch("services", stale=False, state="watching", last_error=None)
        assert d.control.status()["degraded"] == []
        wait_until(lambda n=outage: [told(d, msg) for msg in lines] == [n] * 4)
        d.caught_up(api)
        api.rv += 1
        api.bookmark()
        d.control.wait_watch("services", resource_version=str(api.rv))
        rules = [api.on_watch("services", times=None).fail(code, message="no"),
                 api.on_list("services", times=None).fail(code, message="no")]
