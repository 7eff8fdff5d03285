# SPDX-License-Identifier: Apache-2.0
"""The fake API server's switches: watch-list, forms, discovery, RVs of the future, bad days."""
import gzip
import http.client
import json
import os
import shutil
import ssl
import subprocess

import pytest
from control import PATIENCE
from fakeapi import FakeApi, Gate, custom_object, service

AGGREGATED = ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
              "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
              "application/json")
STREAM = ("watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
          "&allowWatchBookmarks=true")
PARTIAL = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1"
SERVICES = "/api/v1/services"
WIDGETS = "/apis/example.com/v1/widgets"


@pytest.fixture
def served(authority):
    with FakeApi(tls=authority.server(), watch_list=True) as api:
        yield api
        assert not api.errors


@pytest.fixture
def widgets(served):
    served.define("widgets.v1.example.com", kind="Widget", short_names=["wd"])
    served.apply(custom_object("Widget", "ns/a", spec={"z": 1, "a": 2}))
    served.apply(custom_object("Widget", "ns/b"))
    return served


@pytest.fixture
def begin(served, authority):
    """begin(path, accept=...): the response, its head read, on a connection of its own."""
    context = ssl.create_default_context(cafile=str(authority.file))
    conns = []

    def start(path, accept="application/json"):
        conns.append(http.client.HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE,
                                                 context=context))
        conns[-1].request("GET", path, headers={"Accept": accept})
        return conns[-1].getresponse()
    yield start
    for conn in conns:
        conn.close()


@pytest.fixture
def ask(begin):
    def start(path, accept="application/json"):
        response = begin(path, accept)
        return response.status, json.loads(response.read())
    return start


def events(response, count):
    return [json.loads(response.readline()) for _ in range(count)]


def rv_of(event):
    return int(event["object"]["metadata"]["resourceVersion"])


def types(rows):
    return [row["type"] for row in rows]


def test_a_stream_sends_initial_events_then_their_end_then_goes_on(served, begin):
    served.apply(service("ns/a"), service("ns/b", labels={"x": "1"}), service("ns/c"))
    response = begin(f"{SERVICES}?{STREAM}&labelSelector=!x")
    first = events(response, 3)
    assert types(first) == ["ADDED", "ADDED", "BOOKMARK"] and rv_of(first[2]) == served.rv
    marks = first[2]["object"]["metadata"]["annotations"]
    assert marks["k8s.io/initial-events-end"] == "true" and len(marks) == 2
    served.wait_watching("services")
    served.apply(service("ns/d"))
    served.end_watches()
    assert types(events(response, 1)) == ["ADDED"] and response.read() == b""
    begin(f"{SERVICES}?{STREAM}&resourceVersion=2")
    begin(f"{SERVICES}?watch=1&resourceVersion=4")
    assert served.sequence("services") == ["S(-)", "S(2)", "W(4)"]


def test_a_stream_without_bookmarks_gets_no_end_of_the_initial_events(served, begin):
    served.apply(service("ns/a"))
    response = begin(f"{SERVICES}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
    served.wait_watching("services")
    served.bookmark()
    served.end_watches()
    assert types(map(json.loads, response.read().splitlines())) == ["ADDED"]


@pytest.mark.parametrize("query,code,text", [
    ("watch=1&sendInitialEvents=true", 422, "sendInitialEvents requires setting"),
    ("watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=2", 422, "forbidden for watch"),
    ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", 422, "Unsupported value"),
    ("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list"),
    ("resourceVersionMatch=NotOlderThan", 422, "unless resourceVersion is provided"),
    ("resourceVersionMatch=Exact&resourceVersion=0", 422, 'forbidden for resourceVersion "0"'),
    ("resourceVersion=2&continue=x", 400, "not allowed when using continue"),
    ("resourceVersion=abc", 500, "Invalid value"), ("watch=1&resourceVersion=abc", 500, "Invalid"),
    ("continue=x", 410, "too old"),
    ("resourceVersion=2&resourceVersionMatch=NotOlderThan", 200, "")])
def test_parameters_that_no_server_accepts_are_refused(served, ask, query, code, text):
    served.apply(service("ns/a"))
    status, doc = ask(f"{SERVICES}?{query}")
    assert (status, doc.get("code", 200)) == (code, code) and text in doc.get("message", "")


def test_a_server_without_watch_list_refuses_a_stream(served, ask):
    served.watch_list = False
    status, doc = ask(f"{SERVICES}?{STREAM}")
    assert (status, doc["reason"]) == (422, "Invalid")
    assert doc["details"]["causes"][0]["message"] == (
        "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
        "enabled")


def test_an_rv_of_the_future(served, ask, begin):
    served.apply(service("ns/a"))
    response = begin(f"{SERVICES}?resourceVersion={served.rv + 1}")
    doc = json.loads(response.read())
    assert (response.status, response.headers["Retry-After"]) == (504, "1")
    assert doc["reason"] == "Timeout"
    assert doc["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert doc["details"]["retryAfterSeconds"] == 1
    status, doc = ask(f"{SERVICES}?{STREAM}&resourceVersion={served.rv + 1}")
    assert (status, doc["type"], doc["object"]["code"]) == (200, "ERROR", 504)
    response = begin(f"{SERVICES}?watch=1&resourceVersion={served.rv + 2}&allowWatchBookmarks=1")
    served.wait_watching("services")
    served.apply(service("ns/lost"))
    served.bookmark()
    served.apply(service("ns/lost-too"))
    served.apply(service("ns/seen"))
    assert events(response, 1)[0]["object"]["metadata"]["name"] == "seen"
    served.bookmark()
    assert types(events(response, 1)) == ["BOOKMARK"]


def test_a_list_waits_for_its_rv_when_told(served, ask):
    served.too_large_wait = 3600
    served.on_list("configmaps").run(lambda exchange: exchange.answer(body=served.apply(
        service("ns/a"))))
    wanted = served.rv + 1
    conn = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE,
                                       context=ssl._create_unverified_context())
    conn.request("GET", f"{SERVICES}?resourceVersion={wanted}")
    served.wait(lambda: served.of("services"))
    assert ask("/api/v1/configmaps")[0] == 200
    assert conn.getresponse().status == 200


def test_a_restore_takes_objects_rv_and_watches_back(served, ask, begin):
    served.apply(service("ns/kept"), service("ns/changed", labels={"x": "1"}))
    backup, rv = served.snapshot(), served.rv
    watch = begin(f"{SERVICES}?watch=1&resourceVersion={rv}")
    served.wait_watching("services")

    def spoil():
        served.apply(service("ns/changed"), service("ns/new"))
        served.apply(service("ns/hidden"), silent=True)
        served.delete("services", "ns/kept")
    for point in (backup, rv):
        spoil()
        served.restore(point)
        doc = ask(SERVICES)[1]
        assert doc["metadata"]["resourceVersion"] == str(rv)
        assert [(i["metadata"]["name"], i["metadata"].get("labels")) for i in doc["items"]] == [
            ("changed", {"x": "1"}), ("kept", None)]
    assert types(map(json.loads, watch.read().splitlines())) == ["MODIFIED", "ADDED", "DELETED"]
    assert ask(f"{SERVICES}?watch=1&resourceVersion={rv - 1}")[1]["object"]["code"] == 410
    assert ask(f"{SERVICES}?resourceVersion={rv + 4}")[0] == 504
    response = begin(f"{SERVICES}?watch=1&resourceVersion={rv}")
    served.apply(service("ns/after"))
    assert rv_of(events(response, 1)[0]) == rv + 1


@pytest.mark.parametrize("how", ["rst", "eof"])
def test_a_restart_cuts_connections_and_empties_the_watch_cache(served, ask, begin, how):
    served.apply(service("ns/a"))
    old = served.rv
    served.apply(service("ns/b"))
    begin(f"{SERVICES}?watch=1&resourceVersion={old}")
    seen = []
    served.restart(how, before=lambda: seen.append(served.open_conns()))
    assert seen == [0]
    served.wait(lambda: not served.watching("services"), what="no watch")
    assert ask(f"{SERVICES}?watch=1&resourceVersion={old}")[1]["object"]["reason"] == "Expired"
    assert ask(f"{SERVICES}?resourceVersion={old}")[0] == 200
    begin(f"{SERVICES}?watch=1&resourceVersion={served.rv}")
    served.wait_watching("services")


def test_a_watch_is_over_when_its_connection_is_lost_with_an_event(served, begin):
    begin(SERVICES + "?watch=true&resourceVersion=0&allowWatchBookmarks=true")
    served.wait_watching("services")

    def lose():
        for watcher in served.watchers:
            watcher.exchange.conn.abort()
            watcher.wake()
    served.call(lose)
    served.wait(lambda: not served.watchers, what="no watch")


def test_a_crd_comes_and_goes(widgets, ask, begin):
    response = begin(WIDGETS)
    body = response.read()
    assert body.startswith(b'{"apiVersion":"example.com/v1","items":[{"apiVersion"')
    stream = begin(f"{WIDGETS}?{STREAM}")
    assert stream.readline().startswith(b'{"type":"ADDED","object":{"apiVersion"')
    stream.readline()
    assert json.loads(stream.readline())["object"]["metadata"].keys() == {"annotations",
                                                                        "resourceVersion"}
    assert body.index(b'"metadata":{"continue"') > body.index(b'"items"')
    status, doc = ask("/apis/example.com/v1/namespaces/ns/widgets/a")
    assert (status, doc["kind"], doc["spec"]) == (200, "Widget", {"a": 2, "z": 1})
    status, doc = ask("/apis/example.com/v1/namespaces/ns/widgets/none")
    assert (status, doc["message"]) == (404, 'widgets.example.com "none" not found')
    assert ask(f"{WIDGETS}?fieldSelector=spec.a%3D2")[0] == 400
    watch = begin(f"{WIDGETS}?watch=1&resourceVersion={widgets.rv}")
    widgets.wait_watching("widgets")
    widgets.undefine("widgets.example.com")
    assert types(map(json.loads, watch.read().splitlines())) == ["DELETED", "DELETED"]
    for path in (WIDGETS, "/apis/example.com/v1"):
        response = begin(path)
        assert (response.status, response.read()) == (404, b"404 page not found\n")
    assert "example.com" not in [g["name"] for g in ask("/apis")[1]["groups"]]


def test_metadata_only_by_accept(widgets, ask, begin):
    whole = custom_object("Widget", "ns/c", labels={"x": "1"}, spec={})
    for path, kind in ((WIDGETS, "WidgetList"), (SERVICES, "ServiceList")):
        status, doc = ask(path, PARTIAL % "List" + ",application/json")
        assert (status, doc["kind"]) == (200, "PartialObjectMetadataList")
        assert all(i.keys() <= {"kind", "apiVersion", "metadata"} for i in doc["items"])
        assert ask(path, PARTIAL % "")[0] == 406
        assert begin(f"{path}?watch=1", PARTIAL % "List").read() == b""
        assert ask(path, "application/json;as=Table;v=v1;g=meta.k8s.io,*/*")[1]["kind"] == kind
    doc = ask("/apis/example.com/v1/namespaces/ns/widgets/a", PARTIAL % "")[1]
    assert doc.keys() == {"kind", "apiVersion", "metadata"}
    response = begin(f"{WIDGETS}?{STREAM}", PARTIAL % "")
    widgets.wait_watching("widgets")
    widgets.apply(whole)
    widgets.bookmark(rv=7)
    rows = events(response, 5)
    assert types(rows) == ["ADDED", "ADDED", "BOOKMARK", "ADDED", "BOOKMARK"]
    assert rv_of(rows[4]) == 7 and rows[3]["object"]["metadata"]["labels"] == {"x": "1"}
    assert {(r["object"]["kind"], r["object"]["apiVersion"]) for r in rows} == {
        ("PartialObjectMetadata", "meta.k8s.io/v1")}
    widgets.partial_metadata = False
    assert ask(WIDGETS, PARTIAL % "List" + ",application/json")[1]["kind"] == "WidgetList"
    assert ask(WIDGETS, PARTIAL % "List")[0] == 406


def test_discovery_in_both_forms(widgets, ask):
    core, groups = ask("/api", AGGREGATED)[1], ask("/apis", AGGREGATED)[1]
    assert core["items"][0]["versions"][0]["version"] == "v1"
    assert groups["apiVersion"] == "apidiscovery.k8s.io/v2"
    found = {g["metadata"]["name"]: g["versions"][0] for g in groups["items"]}
    row = found["example.com"]["resources"][0]
    assert (row["resource"], row["singularResource"], row["scope"], row["shortNames"]) == (
        "widgets", "widget", "Namespaced", ["wd"])
    assert row["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    older = AGGREGATED.split(",", 1)[1]
    assert ask("/apis", older)[1]["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    widgets.aggregated_discovery = False
    assert ask("/apis", AGGREGATED)[1]["kind"] == "APIGroupList"
    assert ask("/api", AGGREGATED)[1]["versions"] == ["v1"]
    rows = ask("/apis/example.com/v1")[1]["resources"]
    assert [r["name"] for r in rows] == ["widgets", "widgets/status"]
    assert ask("/version")[1]["minor"] == "33"


@pytest.mark.parametrize("keep", [False, True])
def test_a_broken_group_is_stale_and_503(widgets, ask, begin, keep):
    widgets.break_group("example.com", keep=keep)
    widgets.break_group("metrics.example.org", "v1beta1")
    rows = {g["metadata"]["name"]: g["versions"] for g in ask("/apis", AGGREGATED)[1]["items"]}
    assert [v["freshness"] for v in rows["metrics.example.org"]] == ["Stale"]
    assert rows["example.com"][0]["freshness"] == "Stale"
    assert ("resources" in rows["example.com"][0]) == keep
    assert rows["apps"][0]["freshness"] == "Current"
    for path in (WIDGETS, "/apis/example.com/v1", "/apis/metrics.example.org/v1beta1"):
        response = begin(path)
        assert (response.status, response.read()) == (503, b"service unavailable\n")
    widgets.mend_group("example.com")
    assert ask(WIDGETS)[0] == 200


def test_streams_have_bookmarks_and_end_in_time(served, begin):
    served.bookmark_period = 0.05
    watch = f"{SERVICES}?watch=1&resourceVersion=1&allowWatchBookmarks=1"
    response = begin(f"{watch}&timeoutSeconds=3600")
    served.wait_watching("services")
    served.apply(service("ns/a"))
    assert types(events(response, 2)) == ["ADDED", "BOOKMARK"]
    begin(f"{watch}&timeoutSeconds=1").read()     # there is an end
    request = served.of("services")[1]
    assert (request.kind, request.rv, request.limit, request.timeout_seconds, request.token) == (
        "W", "1", None, 1, None)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl")
@pytest.mark.parametrize("aggregated", [True, False])
def test_kubectl_knows_a_custom_resource(widgets, authority, tmp_path, aggregated):
    widgets.aggregated_discovery = aggregated
    config = widgets.kubeconfig(tmp_path / "kubeconfig", ca=authority, client=authority.client())
    env = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path), "NO_PROXY": "*"}

    def kubectl(*args):
        return subprocess.check_output(["kubectl", *args], env=env, text=True)
    doc = json.loads(kubectl("get", "wd", "-A", "-o", "json"))
    assert [i["metadata"]["name"] for i in doc["items"]] == ["a", "b"]
    assert kubectl("get", "widgets.v1.example.com", "a", "-n", "ns", "-o", "name").strip() == (
        "widget.example.com/a")
    assert "widgets" in kubectl("api-resources", "--api-group=example.com", "--no-headers")


# ---- Which cluster it is

KUBE_SYSTEM = "/api/v1/namespaces?fieldSelector=metadata.name%3Dkube-system"


def test_requests_for_the_identity_are_apart_from_the_others(served, ask):
    status, first = ask(KUBE_SYSTEM)
    assert status == 200 and first["items"][0]["metadata"]["uid"] == served.identity
    served.identity = "another"
    assert ask(KUBE_SYSTEM)[1]["items"][0]["metadata"]["uid"] == "another"
    for code in (403, 404, 500):
        served.identity = code
        assert ask(KUBE_SYSTEM)[0] == code
    assert len(served.identity_requests) == 5 and not served.requests


def test_reviews_of_an_access(served, authority):
    context = ssl.create_default_context(cafile=str(authority.file))

    def ask(spec, code=201, kind="application/json"):
        conn = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE,
                                           context=context)
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                "spec": spec}
        conn.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                     json.dumps(body), headers={"Content-Type": kind})
        response = conn.getresponse()
        assert response.status == code
        answer = json.loads(response.read())
        conn.close()
        return answer.get("status")
    of_pods = {"verb": "list", "resource": "pods"}
    select = {"fieldSelector": {"rawSelector": "a=b,spec.nodeName=n"}}
    assert ask({"resourceAttributes": of_pods}) == {"allowed": True}
    served.access = lambda review: (review.field("spec.nodeName") == "n", "by node")
    assert ask({"resourceAttributes": of_pods}) == {"allowed": False, "reason": "by node"}
    assert ask({"resourceAttributes": {**of_pods, **select}})["allowed"] is True
    served.selectors = False
    assert ask({"resourceAttributes": {**of_pods, **select}})["allowed"] is False
    ask({}, code=422)
    ask({"resourceAttributes": {**of_pods, "fieldSelector": {}}}, code=422)
    ask({"resourceAttributes": of_pods}, code=415, kind="text/plain")
    served.access = 404
    ask({"resourceAttributes": of_pods}, code=404)


def test_the_answer_with_the_identity_can_be_held_and_cut(served, begin):
    served.identity = "rst"
    with pytest.raises(ConnectionError):
        begin(KUBE_SYSTEM)
    served.identity_gate, served.tokens = Gate(), set()
    served.identity_gate.open()
    assert begin(KUBE_SYSTEM).status == 401


def test_a_large_list_is_compressed_for_those_who_ask(served, authority):
    served.apply(*(service(f"n/s{number}", annotations={"x": "y" * 1000}) for number in range(200)))
    served.gzip_members = 3
    context = ssl.create_default_context(cafile=str(authority.file))

    def get(path, **headers):
        conn = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE,
                                           context=context)
        conn.request("GET", path, headers=headers)
        response = conn.getresponse()
        body = response.read()
        conn.close()
        return response.getheader("Content-Encoding"), body
    coding, plain = get(SERVICES)
    assert coding is None and len(json.loads(plain)["items"]) == 200
    coding, packed = get(SERVICES, **{"Accept-Encoding": "gzip"})
    assert coding == "gzip" and len(packed) < len(plain) / 5 and gzip.decompress(packed) == plain
    assert get(f"{SERVICES}?limit=2", **{"Accept-Encoding": "gzip"})[0] is None
