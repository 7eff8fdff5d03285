# SPDX-License-Identifier: Apache-2.0
"""Resource names as kubectl takes them, found by discovery; CRDs that come and go
(docs/design.md "Resource names")."""
import pytest
from control import at_least, wait_until
from fakeapi import custom_object, service, simple
from harness import hook_settings

WIDGETS = "widgets.v1.example.com"


def watching(resource, namespaces=("*",), **more):
    settings = {"resource": resource, **more}
    if namespaces is not None:
        settings["namespaces"] = list(namespaces)
    return {"w": settings}


def on(hook):
    return {"h": hook_settings(hook, sources=["w"])}


def widget(key, version="v1", **spec):
    return custom_object("Widget", key, version=version, spec=spec)


def define(api, name=WIDGETS, **more):
    return api.define(name, kind="Widget", short_names=["wd", "wdg"], singular="widget", **more)


def discovery_requests(api):
    return [r.path for r in api.requests if r.kind == "-" and r.path.startswith("/api")]


# ---- Names

NAMES = ["wd", "wdg", "widgets", "widget", "Widget", "WIDGETS", "widgets.example.com",
         "widget.example.com", "wd.example.com", "Widget.example.com", "widgets.v1.example.com",
         "Widget.v1.example.com", "widgets.example"]


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "plain"])
@pytest.mark.parametrize("name", NAMES)
def test_a_custom_resource_by_any_of_its_names(api, daemon, hook, name, aggregated):
    define(api)
    api.aggregated_discovery = aggregated
    api.apply(widget("n/a", size=3))
    d = daemon(api, watches=watching(name), hooks=on(hook))
    event = hook.wait(1)[0].event
    assert (event["api_version"], event["kind"], event["name"]) == ("example.com/v1", "Widget", "a")
    assert event["object"]["spec"] == {"size": 3}
    assert d.control.watch("w")["resource"] == "widgets.example.com"
    assert {r.path for r in api.of("widgets")} == {"/apis/example.com/v1/widgets"}
    api.wait_watching("widgets")
    api.apply(widget("n/b", size=4))
    assert hook.wait(2)[1].what == ("ADDED", "n/b")
    asked = discovery_requests(api)
    assert asked[:2] == ["/api", "/apis"]
    if aggregated:
        assert len(asked) == 2
    else:
        assert "/apis/example.com/v1" in asked and len(asked) == len(set(asked))


def test_discovery_asks_for_the_aggregated_form_and_takes_the_plain_one(api, daemon):
    define(api)
    daemon(api, watches=watching("wd")).synced()
    root = [r for r in api.requests if r.path in ("/api", "/apis")]
    for request in root:
        offers = request.accept.split(",")
        assert offers[0] == ("application/json;g=apidiscovery.k8s.io;v=v2;"
                             "as=APIGroupDiscoveryList")
        assert offers[-1].strip() == "application/json"


BUILT_IN = {
    "services": "/api/v1/services", "svc": "/api/v1/services", "Service": "/api/v1/services",
    "services.v1.": "/api/v1/services",
    "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices",
    "endpointslices.discovery.k8s.io": "/apis/discovery.k8s.io/v1/endpointslices",
    "deployments.v1.apps": "/apis/apps/v1/deployments", "deploy": "/apis/apps/v1/deployments",
    "deployments.apps": "/apis/apps/v1/deployments", "cm": "/api/v1/configmaps",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_names_of_built_in_resources_need_no_discovery(api, daemon, name):
    d = daemon(api, watches=watching(name)).synced()
    assert api.requests[0].path == BUILT_IN[name] and not discovery_requests(api)
    assert d.control.watch("w")["state"] in ("listing", "watching")


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "plain"])
@pytest.mark.parametrize("name", ["things", "th", "things.v1."])
def test_a_resource_of_the_core_group_that_is_not_in_the_table(api, daemon, hook, name, aggregated):
    api.define("things.v1", kind="Thing", short_names=["th"], custom=False)
    api.aggregated_discovery = aggregated
    api.apply(simple("Thing", "n/a"))
    daemon(api, watches=watching(name), hooks=on(hook))
    event = hook.wait(1)[0].event
    assert (event["kind"], event["api_version"]) == ("Thing", "v1")
    assert api.of("things")[0].path == "/api/v1/things"


@pytest.mark.parametrize("name,version", [
    ("widgets", "v1"), ("widgets.example.com", "v1"), ("widgets.v1beta1.example.com", "v1beta1"),
    ("wd.v1.example.com", "v1")])
def test_the_preferred_version_counts_unless_one_is_named(api, daemon, hook, name, version):
    define(api)
    define(api, "widgets.v1beta1.example.com")
    api.apply(widget("n/a", version=version))
    daemon(api, watches=watching(name), hooks=on(hook))
    assert hook.wait(1)[0].event["api_version"] == f"example.com/{version}"


def test_a_plural_goes_before_a_short_name_and_kubernetes_before_others(api, daemon):
    api.define("pos.v1.example.com", kind="Purchase", short_names=["po", "ws"])
    api.define("ws.v1.example.com", kind="Workspace")
    d = daemon(api, watches={"a": {"resource": "ws", "namespaces": ["*"]},
                             "b": {"resource": "po", "namespaces": ["*"]},
                             "c": {"resource": "po.example.com", "namespaces": ["*"]}}).synced()
    watches = d.control.status()["watches"]
    assert [watches[name]["resource"] for name in "abc"] == ["ws.example.com", "pods",
                                                             "pos.example.com"]


def test_watches_that_begin_together_share_one_discovery(api, daemon):
    define(api)
    api.define("gadgets.v1.example.com", kind="Gadget", scope="Cluster")
    daemon(api, watches={"w": {"resource": "wd", "namespaces": ["*"]},
                         "g": {"resource": "gadgets"}, "p": {"resource": "pods",
                                                             "namespaces": ["*"]}}).synced()
    assert discovery_requests(api) == ["/api", "/apis"]


@pytest.mark.parametrize("resource", ["widgets.v1.example.com", "wd"])
def test_items_before_metadata_in_pages_and_relists(api, daemon, hook, resource):
    define(api)
    api.apply(*[widget(f"n/w{i}", n=i) for i in range(7)])
    api.watch_cache = False
    d = daemon(api, watches=watching(resource), hooks=on(hook), tuning={"page_size": 3})
    hook.wait(7)
    api.wait_watching("widgets")
    assert len(api.of("widgets", "L")) == 3
    first = d.control.objects("w")
    api.end_watches(how={"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1",
                                                     "code": 500, "reason": "InternalError"}})
    d.control.wait_watch("w", relists=1, state="watching")
    d.control.wait_idle()
    assert len(hook.runs()) == 7 and d.control.objects("w") == first
    assert all(obj["kind"] == "Widget" for obj in first)


def test_namespaces_of_a_custom_resource_are_one_stream_each(api, daemon, hook):
    define(api)
    api.apply(widget("a/w"), widget("b/w"), widget("c/w"))
    daemon(api, watches=watching("wd", ["a", "b"]), hooks=on(hook))
    hook.wait(2)
    api.wait_watching("widgets", 2)
    assert {r.path for r in api.of("widgets")} == {
        f"/apis/example.com/v1/namespaces/{space}/widgets" for space in "ab"}


# ---- Resources that come and go

@pytest.mark.parametrize("name", ["wd", "widgets.example.com", "widgets.v1.example.com"])
def test_a_crd_that_appears_later_is_found_without_a_restart(api, daemon, hook, name):
    api.apply(service("n/a"))
    d = daemon(api, watches={**watching(name), "s": {"resource": "services", "namespaces": ["*"]}},
               hooks=on(hook))
    watch = d.control.wait_watch("w", state="waiting")
    wait_until(lambda: d.control.watch("w")["last_error"])
    error = d.control.watch("w")["last_error"]
    assert name in error and "kubectl api-resources" in error
    assert not watch["synced"] and not hook.runs()
    d.control.wait_watch("s", synced=True, state="watching")
    assert not d.control.watch("w")["synced"]
    define(api)
    api.apply(widget("n/late"))
    assert hook.wait(1)[0].what == ("ADDED", "n/late")
    watch = d.control.wait_watch("w", state="watching", synced=True, last_error=None)
    assert d.settled(api).control.status()["degraded"] == []
    told = [line for line in d.problems(watch="w")]
    assert len(told) == 1 and name in str(told[0])


def test_the_search_for_a_missing_resource_backs_off(api, daemon):
    daemon(api, watches=watching("wd"), tuning={
        "backoff": {"initial": "50ms", "max": "400ms", "factor": 2.0, "jitter": 0.0}})
    api.wait(lambda: discovery_requests(api).count("/apis") >= 4)
    times = [r.time for r in api.requests if r.path == "/apis"]
    pauses = [b - a for a, b in zip(times, times[1:])]
    assert all(map(at_least, (0.05, 0.1, 0.2), pauses))


def test_a_crd_that_goes_and_comes_again_is_followed(api, daemon, hook):
    define(api)
    api.apply(widget("n/a"), widget("n/b"))
    d = daemon(api, watches=watching("wd"), hooks=on(hook))
    hook.wait(2)
    api.wait_watching("widgets")
    api.undefine(WIDGETS)
    hook.wait(4)
    assert sorted(hook.what()[2:]) == [("DELETED", "n/a"), ("DELETED", "n/b")]
    d.wait_problem("404", watch="w")
    define(api)
    api.apply(widget("n/again"))
    hook.wait_what("ADDED", "n/again")
    d.control.wait_watch("w", state="watching", objects=1, last_error=None)
    assert len(hook.runs()) == 5


@pytest.mark.parametrize("name", ["wd", "widgets.example.com"])
def test_a_crd_that_comes_again_in_another_version_is_found_again(api, daemon, hook, name):
    define(api, "widgets.v1beta1.example.com")
    api.apply(widget("n/a", version="v1beta1"))
    d = daemon(api, watches=watching(name), hooks=on(hook))
    hook.wait(1)
    api.wait_watching("widgets")
    api.undefine("widgets.v1beta1.example.com")
    hook.wait(2)
    d.wait_problem("404", watch="w")
    define(api)
    api.apply(widget("n/again"))
    assert hook.wait_what("ADDED", "n/again").event["api_version"] == "example.com/v1"
    d.control.wait_watch("w", state="watching", objects=1)


def replace_crd(api, old, **new):
    """The CRD changes under the watch: its streams end, and the old path does not exist any
    more."""
    table = api.store.remove_resource(old)
    api.call(lambda: [w.finish("END") for w in list(api.watchers) if w.table is table])
    define(api, **new)


def test_objects_that_live_on_in_another_version_are_modified_not_deleted(api, daemon, hook):
    define(api, "widgets.v1beta1.example.com")
    api.apply(custom_object("Widget", "n/a", version="v1beta1", uid="uid-of-a"),
              custom_object("Widget", "n/b", version="v1beta1", uid="uid-of-b"))
    d = daemon(api, watches=watching("widgets"), hooks=on(hook))
    hook.wait(2)
    api.wait_watching("widgets")
    replace_crd(api, "widgets.v1beta1.example.com")
    api.apply(custom_object("Widget", "n/a", uid="uid-of-a"),
              custom_object("Widget", "n/b", uid="uid-of-b"))
    hook.wait(4)
    d.caught_up(api)
    assert sorted(hook.what()[2:]) == [("MODIFIED", "n/a"), ("MODIFIED", "n/b")]
    assert {run.event["api_version"] for run in hook.runs()[2:]} == {"example.com/v1"}
    assert d.control.watch("w")["synced"] and d.control.watch("w")["last_error"] is None


def test_a_crd_that_comes_again_with_another_scope_is_a_clear_error(api, daemon, hook):
    define(api)
    api.apply(widget("n/a"))
    d = daemon(api, watches=watching("wd", ["n"]), hooks=on(hook))
    hook.wait(1)
    api.wait_watching("widgets")
    replace_crd(api, WIDGETS, scope="Cluster")
    api.apply(widget("whole"))
    d.wait_problem("cluster-scoped", watch="w")
    assert d.control.watch("w")["last_error"]
    assert [r for r in d.control.status()["degraded"] if r.startswith("watch w: ")] or (
        d.control.watch("w")["state"] != "watching")
    assert hook.what() == [("ADDED", "n/a")], "nothing says that it was deleted"
    replace_crd(api, WIDGETS)
    api.apply(widget("n/b"))
    hook.wait_what("ADDED", "n/b")
    d.control.wait_watch("w", state="watching", last_error=None)


# ---- Scope

def test_namespaces_on_a_cluster_scoped_custom_resource_are_a_clear_error(api, daemon, hook):
    define(api, scope="Cluster")
    api.apply(widget("a"), service("n/s"))
    d = daemon(api, watches={**watching("wd", ["n"]), "s": {"resource": "services",
                                                           "namespaces": ["*"]}}, hooks=on(hook))
    wait_until(lambda: d.control.watch("w")["last_error"])
    watch = d.control.watch("w")
    assert "cluster-scoped" in watch["last_error"] and "namespaces" in watch["last_error"]
    assert watch["state"] == "waiting" and not watch["synced"]
    d.synced("s")
    lines = d.problems(watch="w")
    assert len(lines) == 1 and "cluster-scoped" in str(lines[0])
    assert not api.of("widgets") and not hook.runs()
    assert any("cluster-scoped" in reason for reason in d.control.status()["degraded"])
    assert d.ctl("status").returncode == 1


def test_no_namespaces_on_a_namespaced_custom_resource_are_a_clear_error(api, daemon, hook):
    define(api)
    api.apply(widget("n/a"))
    d = daemon(api, watches=watching("wd", None), hooks=on(hook))
    wait_until(lambda: d.control.watch("w")["last_error"])
    watch = d.control.watch("w")
    assert "namespaced" in watch["last_error"] and '"*"' in watch["last_error"]
    assert watch["state"] == "waiting" and not api.of("widgets") and not hook.runs()
    assert len(d.problems(watch="w")) == 1


@pytest.mark.parametrize("namespaces", [None, ["*"]])
def test_a_cluster_scoped_custom_resource_needs_no_namespaces(api, daemon, hook, namespaces):
    define(api, scope="Cluster")
    api.apply(widget("a"))
    daemon(api, watches=watching("wd", namespaces), hooks=on(hook))
    run = hook.wait(1)[0]
    assert run.key == "a" and {r.path for r in api.of("widgets")} == {
        "/apis/example.com/v1/widgets"}


# ---- Discovery in trouble

def forbid_discovery(api, code=403):
    return [api.on("GET", path, times=None).fail(code, message="discovery is forbidden")
            for path in (r"/api", r"/apis", r"/apis/[^/]+/[^/]+", r"/api/v1")]


@pytest.mark.parametrize("code", [403, 404])
def test_without_discovery_the_full_name_is_taken_as_it_is(api, daemon, hook, code):
    define(api)
    forbid_discovery(api, code)
    api.apply(widget("n/a", size=1))
    d = daemon(api, watches=watching("widgets.v1.example.com"), hooks=on(hook))
    event = hook.wait(1)[0].event
    assert (event["kind"], event["api_version"]) == ("Widget", "example.com/v1")
    api.wait_watching("widgets")
    api.apply(widget("n/b", size=1))
    hook.wait(2)
    d.control.wait_watch("w", state="watching", last_error=None)


def test_without_discovery_the_full_name_works_for_a_cluster_scoped_one(api, daemon, hook):
    define(api, scope="Cluster")
    forbid_discovery(api)
    api.apply(widget("a"))
    daemon(api, watches=watching("widgets.v1.example.com", None), hooks=on(hook))
    assert hook.wait(1)[0].key == "a"


def test_without_discovery_other_names_say_what_would_help_and_are_found_once_allowed(
        api, daemon, hook):
    define(api)
    rules = forbid_discovery(api)
    api.apply(widget("n/a"))
    d = daemon(api, watches=watching("wd"), hooks=on(hook))
    watch = d.control.wait_watch("w", state="forbidden")
    assert "discovery is forbidden" in watch["last_error"] and "wd" in watch["last_error"]
    assert not hook.runs() and len(d.problems(watch="w")) == 1
    for rule in rules:
        rule.cancel()
    hook.wait(1)
    d.control.wait_watch("w", state="watching", last_error=None)


@pytest.mark.parametrize("how", ["503", "reset", "html"])
def test_discovery_that_fails_is_tried_again(api, daemon, hook, how):
    define(api)
    api.apply(widget("n/a"))
    rule = api.on("GET", "/apis", times=3)
    if how == "503":
        rule.fail(503)
    elif how == "reset":
        rule.drop("rst")
    else:
        rule.reply(body=b"<html>", type="text/html")
    daemon(api, watches=watching("wd"), hooks=on(hook))
    hook.wait(1)
    assert discovery_requests(api).count("/apis") == 4


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "plain"])
@pytest.mark.parametrize("name", ["wd", "widgets.example.com", "widgets.v1.example.com"])
def test_a_broken_group_does_not_hurt_the_others(api, daemon, hook, name, aggregated):
    define(api)
    api.aggregated_discovery = aggregated
    api.break_group("metrics.k8s.io", "v1beta1")
    api.apply(widget("n/a"))
    d = daemon(api, watches=watching(name), hooks=on(hook))
    hook.wait(1)
    d.control.wait_watch("w", state="watching", last_error=None)
    assert not d.problems()


@pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "plain"])
def test_a_name_that_may_be_in_a_broken_group_waits_for_it(api, daemon, hook, aggregated):
    define(api)
    api.aggregated_discovery = aggregated
    api.break_group("example.com", "v1")
    d = daemon(api, watches=watching("wd"), hooks=on(hook))
    wait_until(lambda: d.control.watch("w")["last_error"])
    assert "example.com" in d.control.watch("w")["last_error"]
    api.mend_group("example.com")
    api.apply(widget("n/a"))
    hook.wait(1)
    d.control.wait_watch("w", state="watching", last_error=None)


def test_a_resource_that_cannot_be_watched_is_reported(api, daemon):
    d = daemon(api, watches=watching("bindings.v1."))
    wait_until(lambda: d.control.watch("w")["last_error"])
    assert "cannot be listed and watched" in d.control.watch("w")["last_error"]


def test_other_groups_are_not_asked_one_by_one(api, daemon):
    for group in ("a", "b", "c"):
        api.define(f"things.v1.{group}.example.org", kind="Thing")
    define(api)
    api.aggregated_discovery = False
    daemon(api, watches=watching("widgets.example.com")).synced()
    assert discovery_requests(api) == ["/api", "/apis", "/apis/example.com/v1"]


def test_a_kind_is_matched_by_group_too(api, daemon, hook):
    define(api)
    api.define("widgets.v1.other.org", kind="Widget")
    api.apply(custom_object("Widget", "n/theirs", group="other.org"), widget("n/mine"),
              simple("ConfigMap", "n/c"))
    daemon(api, watches=watching("widgets.other.org"), hooks=on(hook))
    assert hook.wait(1)[0].key == "n/theirs"
