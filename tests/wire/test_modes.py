# SPDX-License-Identifier: Apache-2.0
"""The changes that start a hook, and its input: modes, filters, selectors, several namespaces."""
import json

import pytest
from control import wait_until
from fakeapi import (STALL, Gate, custom_object, endpointslice, error_event, ev, service,
                     simple)
from harness import hook_settings

AT_ONCE = {"mode": "snapshot", "settle": ["0s", "0s"]}


def test_the_input_of_mode_object(api, daemon, hook):
    stored = api.apply(service("n/a", labels={"app": "a"}, annotations={"q": "\"\\ü\n"}))
    daemon(api, hooks={"h": hook}, node_name="node-7")
    run = hook.wait(1)[0]
    meta = stored["metadata"]
    assert run.input["version"] == 1 and run.input["hook"] == "h" and run.input["attempt"] == 1
    assert run.input["reason"] == "existing" and run.input["run"] == run.env["INFORMERD_RUN"]
    source = run.input["sources"]["services"]
    assert (source["cluster"], source["synced"], source["stale"]) == ("prod", True, False)
    event = run.event
    assert event["type"] == "ADDED" and event["cluster"] == "prod"
    assert event["source"] == "services"
    assert (event["api_version"], event["kind"]) == ("v1", "Service")
    assert (event["namespace"], event["name"]) == ("n", "a")
    assert event["uid"] == meta["uid"] and event["resource_version"] == meta["resourceVersion"]
    assert event["final_state_unknown"] is False and event["received"].endswith("Z")
    wanted = json.loads(json.dumps(stored))
    del wanted["metadata"]["managedFields"]
    assert event["object"] == wanted
    for name, value in {"HOOK": "h", "ATTEMPT": "1", "REASON": "existing", "NODE": "node-7",
                        "EVENT": "ADDED", "CLUSTER": "prod", "SOURCE": "services",
                        "NAMESPACE": "n", "NAME": "a", "UID": meta["uid"],
                        "RESOURCE_VERSION": meta["resourceVersion"]}.items():
        assert run.env[f"INFORMERD_{name}"] == value


def test_a_listed_and_a_watched_object_are_the_same_bytes(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    listed = hook.wait(1)[0].event["object"]
    assert (listed["kind"], listed["apiVersion"]) == ("Service", "v1")
    assert list(listed)[:2] in (["kind", "apiVersion"], ["apiVersion", "kind"])
    api.wait_watching("services")
    api.apply(api.get("services", "n/a"))
    d.caught_up(api)
    assert len(hook.runs()) == 1, "only resourceVersion changed"


def test_custom_resources_are_found_by_resource_version_group(api, daemon, hook):
    api.add_resource("widgets", "Widget", "example.com", "v1beta1")
    api.apply(custom_object("Widget", "n/w", version="v1beta1", spec={"size": 3}))
    daemon(api, watches={"w": {"resource": "widgets.v1beta1.example.com", "namespaces": ["*"]}},
           hooks={"h": hook_settings(hook, sources=["w"])})
    event = hook.wait(1)[0].event
    assert (event["api_version"], event["kind"]) == ("example.com/v1beta1", "Widget")
    assert event["object"]["spec"] == {"size": 3}
    assert api.of("widgets")[0].path == "/apis/example.com/v1beta1/widgets"


def test_cluster_scoped_objects_have_no_namespace(api, daemon, hook):
    api.apply(simple("Node", "node-1", labels={"zone": "a"}))
    d = daemon(api, watches={"nodes": {"resource": "nodes"}},
               hooks={"h": hook_settings(hook, sources=["nodes"])})
    run = hook.wait(1)[0]
    assert run.key == "node-1" and not run.env.get("INFORMERD_NAMESPACE")
    assert api.requests[0].path == "/api/v1/nodes"
    assert d.control.objects("nodes", "node-1")["metadata"]["name"] == "node-1"


def test_a_snapshot_is_everything_sorted_by_key_with_the_changes(api, daemon, hook):
    for key in ("b/x", "a/z", "a/a", "b/a"):
        api.apply(service(key))
    api.apply(endpointslice("a/a-1", "a", ["10.0.0.1"]))
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"]},
                             "slices": {"resource": "endpointslices", "namespaces": ["*"]}},
               hooks={"h": hook_settings(hook, sources=["services", "slices"], **AT_ONCE)})
    first = hook.wait(1)[0]
    assert [f"{o['metadata']['namespace']}/{o['metadata']['name']}"
            for o in first.snapshot["services"]] == ["a/a", "a/z", "b/a", "b/x"]
    assert first.snapshot["slices"][0]["endpoints"][0]["addresses"] == ["10.0.0.1"]
    assert {(o["kind"], o["apiVersion"]) for o in first.snapshot["services"]} == {("Service", "v1")}
    assert len(first.input["changes"]) == 5
    assert all("object" not in change for change in first.input["changes"])
    assert "event" not in first.input and "INFORMERD_EVENT" not in first.env
    api.wait_watching("services")
    api.delete("services", "a/z")
    second = hook.wait(2)[1]
    change = second.input["changes"][0]
    assert len(second.input["changes"]) == 1 and change["type"] == "DELETED"
    assert (change["source"], change["namespace"], change["name"]) == ("services", "a", "z")
    assert [o["metadata"]["name"] for o in second.snapshot["services"]] == ["a", "a", "x"]
    d.control.wait_idle()


def test_a_burst_is_one_snapshot_run(api, daemon, hook):
    """If the machine paused within the burst, the test makes another burst."""
    d = daemon(api, hooks={"h": hook_settings(hook, mode="snapshot", settle=["150ms", "1h"])})
    api.wait_watching("services")
    for burst in range(1, 51):
        d.caught_up(api)
        hook.forget()
        api.apply(*[service(f"n/s{number}", ports=[burst]) for number in range(100)])
        d.caught_up(api)
        if len(hook.runs()) == 1:
            break
    run, = hook.runs()
    assert len(run.snapshot["services"]) == len(run.told) == 100
    assert run.snapshot["services"][0]["metadata"]["name"] == "s0"


def test_changes_in_decides_which_modifications_count(api, daemon, hook):
    api.apply(service("n/a", labels={"v": "1"}))
    d = daemon(api, hooks={"h": hook_settings(
        hook, changes_in=["spec.ports[*].port", "metadata.annotations['example.com/x']"])})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/a", labels={"v": "2"}, externalTrafficPolicy="Local"))
    d.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(service("n/a", labels={"v": "2"}, annotations={"example.com/x": "on"}))
    hook.wait(2)
    api.apply(service("n/a", ports=[80, 443], annotations={"example.com/x": "on"}))
    hook.wait(3)
    d.caught_up(api)
    assert [t for t, _ in hook.what()] == ["ADDED", "MODIFIED", "MODIFIED"]


def test_status_and_managed_fields_alone_never_count(api, daemon, hook):
    first = service("n/a")
    first["metadata"]["generation"] = 1
    obj = api.apply(first)
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    for number in range(2, 12):
        changed = json.loads(json.dumps(obj))
        changed["metadata"]["managedFields"][0]["manager"] = f"m{number}"
        changed["metadata"]["generation"] = number
        api.apply(changed)
    d.caught_up(api)
    assert len(hook.runs()) == 1
    stored = d.control.objects("services", "n/a")
    assert "managedFields" not in stored["metadata"]
    assert stored["metadata"]["resourceVersion"] == str(api.rv)


def test_existing_skip_leaves_out_existing_objects_but_not_their_changes(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook_settings(hook, existing="skip")})
    d.synced()
    api.wait_watching("services")
    d.caught_up(api)
    assert not hook.runs()
    api.apply(service("n/c"))
    hook.wait(1)
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    api.delete("services", "n/b")
    hook.wait(3)
    assert hook.what() == [("ADDED", "n/c"), ("MODIFIED", "n/a"), ("DELETED", "n/b")]


@pytest.mark.parametrize("taken", [["added"], ["deleted"], ["modified"], ["added", "deleted"]])
def test_events_filters_and_existing_objects_count_as_delivered(api, daemon, hook, taken):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, events=taken)})
    d.synced()
    api.wait_watching("services")
    d.caught_up(api)
    api.apply(service("n/b"))
    d.caught_up(api)
    api.apply(service("n/a", ports=[81]))
    d.caught_up(api)
    api.delete("services", "n/a")
    d.caught_up(api)
    happened = [("ADDED", "n/a"), ("ADDED", "n/b"), ("MODIFIED", "n/a"), ("DELETED", "n/a")]
    assert hook.what() == [(t, k) for t, k in happened if t.lower() in taken]


def test_two_hooks_share_one_watch(api, daemon, new_hook):
    one, two = new_hook(), new_hook()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"one": one, "two": hook_settings(two, **AT_ONCE)})
    one.wait(1)
    two.wait(1)
    d.caught_up(api)
    assert api.sequence() == ["L(0)", "W(2)"]


def test_several_namespaces_are_one_cache_with_a_stream_each(api, daemon, hook):
    for namespace in ("a", "b", "c"):
        api.apply(service(f"{namespace}/s"))
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["a", "b"]}},
               hooks={"h": hook})
    hook.wait(2)
    api.wait_watching("services", 2)
    assert {r.path for r in api.of("services")} == {"/api/v1/namespaces/a/services",
                                                    "/api/v1/namespaces/b/services"}
    assert sorted(d.control.keys("services")) == ["a/s", "b/s"]
    assert d.control.watch("services")["objects"] == 2
    api.apply(service("c/t"), service("b/t"))
    hook.wait_what("ADDED", "b/t")
    api.delete("services", "a/s", silent=True)
    api.end_watches(how=error_event(500))
    hook.wait_what("DELETED", "a/s")
    assert sorted(d.control.keys("services")) == ["b/s", "b/t"]
    assert len(hook.runs()) == 4


def test_several_namespaces_are_synced_only_together(api, daemon, hook):
    gate = Gate()
    api.apply(service("a/s"), service("b/s"))
    api.on_list("services", where=lambda r: r.namespace == "b").hold(gate)
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["a", "b"]}},
               hooks={"h": hook})
    gate.wait_reached()
    api.wait_for_request(lambda r: r.kind == "W" and r.namespace == "a")
    assert not d.control.watch("services")["synced"] and not hook.runs()
    gate.open()
    hook.wait(2)


def test_selectors_go_to_the_server_and_leaving_them_is_an_event(api, daemon, hook):
    api.apply(service("n/a", labels={"app": "x"}), service("n/b", labels={"app": "y"}))
    d = daemon(api, watches={"services": {
        "resource": "services", "namespaces": ["n"], "label_selector": "app in (x, z),!gone",
        "field_selector": "metadata.namespace=n"}}, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    for request in api.of("services"):
        assert request.query["fieldSelector"] == "metadata.namespace=n"
        assert request.query["labelSelector"].replace(" ", "") == "appin(x,z),!gone"
        assert "+" not in request.raw_query
    api.apply(service("n/a", labels={"app": "y"}))
    run = hook.wait(2)[1]
    assert run.what in (("DELETED", "n/a"), ("LEFT", "n/a"))
    api.apply(service("n/b", labels={"app": "z"}))
    assert hook.wait(3)[2].what == ("ADDED", "n/b")
    assert d.control.keys("services") == ["n/b"]


def test_names_narrow_the_watch_to_these_objects(api, daemon, hook):
    api.apply(*[service(f"n/{name}") for name in ("a", "b", "c")])
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["n"],
                                          "names": ["a", "b"]}}, hooks={"h": hook})
    hook.wait(2)
    d.synced()
    assert sorted(d.control.keys("services")) == ["n/a", "n/b"]
    for request in api.of("services"):
        assert "metadata.name=" in request.query.get("fieldSelector", "")
    api.wait_watching("services", 2)
    api.apply(service("n/c", ports=[81]), service("n/b", ports=[81]))
    hook.wait_what("MODIFIED", "n/b")
    assert len(hook.runs()) == 3


def test_the_environment_of_the_config_reaches_the_hook(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, node_name="node-7", hooks={"h": hook_settings(
        hook, environment={"MODE": "fast track", "WHERE": "on ${node_name}"})})
    env = hook.wait(1)[0].env
    assert env["MODE"] == "fast track" and env["WHERE"] == "on node-7"


def test_a_shell_line_is_a_hook_too(api, daemon, tmp_path):
    api.apply(service("n/a"))
    out = tmp_path / "out"
    d = daemon(api, hooks={"h": {
        "sources": ["services"],
        "shell": f'echo "$INFORMERD_EVENT $INFORMERD_NAME" > {out}.new && mv {out}.new {out}'}})
    d.synced()
    d.control.wait_idle()
    wait_until(out.exists)
    assert out.read_text() == "ADDED a\n"


def test_numbers_and_odd_strings_come_through_unchanged(api, daemon, hook):
    raw = ('{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":{"name":"a",'
           '"namespace":"n","uid":"u","resourceVersion":"7","annotations":{"\\u0041":"\\/",'
           '"e":"\\ud83d\\ude00"}},"spec":{"big":12345678901234567890,"f":1.0E+2,"z":-0.0,'
           '"ports":[]}}}\n')
    api.on_watch("services").stream(raw.encode(), STALL)
    daemon(api, hooks={"h": hook})
    text = hook.wait(1)[0].raw.decode()
    for part in ('"big":12345678901234567890', '"f":1.0E+2', '"z":-0.0', '"\\u0041":"\\/"',
                 '"\\ud83d\\ude00"'):
        assert part in text


def test_an_object_that_changes_back_before_its_run_does_not_run(api, handled, hook):
    d = handled(service("n/a", ports=[80]))
    hook.block("busy")
    api.apply(service("n/busy"))
    hook.wait(2)
    api.apply(service("n/a", ports=[81]))
    api.apply(service("n/a", ports=[80]))
    d.control.wait_watch("services", resource_version=str(api.rv))
    hook.release("busy")
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a"), ("ADDED", "n/busy")]


def test_events_of_a_scripted_stream_with_the_same_state_fire_once(api, daemon, hook):
    obj = service("n/a", uid="11111111-1111-1111-1111-111111111111")
    api.on_watch("services").stream(*[ev("MODIFIED", obj, rv=10 + i) for i in range(5)], STALL)
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", resource_version="14")
    d.control.wait_idle()
    assert hook.what() == [("ADDED", "n/a")]
