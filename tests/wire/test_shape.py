# SPDX-License-Identifier: Apache-2.0
"""keep, drop and match (docs/design.md "Selection and pruning"): the bytes a hook gets, LEFT,
PartialObjectMetadata."""
import json
import re

import pytest
from fakeapi import STALL, custom_object, error_event, ev, service, simple
from harness import hook_settings

PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"
IDENTITY = ["name", "namespace", "uid", "resourceVersion"]


def shaped(resource="services", **more):
    return {"services": {"resource": resource, "namespaces": ["*"], **more}}


def object_bytes(run):
    """The bytes of event.object as the hook got them."""
    start = run.raw.index(b'"object":') + len(b'"object":')
    text = run.raw[start:].decode()
    _value, end = json.JSONDecoder().raw_decode(text)
    return text[:end]


def rich(key, **spec):
    return service(key, ports=[80, 443], labels={"app": "x", "tier": "front"},
                   annotations={"example.com/a": "1", "example.com/b": "2"}, **spec)


# ---- The bytes

KEPT = {
    "one path in lists": (["spec.ports[*].port"], [],
                          '"spec":{"ports":[{"port":80},{"port":443}]}'),
    "a member and a list": (["spec.type", "spec.ports[*].port"], [], None),
    "nothing there": (["spec.nonsense"], [], None),
    "one annotation": (["metadata.annotations['example.com/a']"], [], None),
    "keep less drop": (["spec"], ["spec.ports[*].name", "spec.ports[*].protocol"], None),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_hook_gets_exactly_the_kept_paths_from_list_and_watch(api, daemon, hook, name):
    keep, drop, wanted = KEPT[name]
    api.apply(rich("n/a"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(keep=keep, drop=drop))
    listed = object_bytes(hook.wait(1)[0])
    api.wait_watching("services")
    api.apply(rich("n/b"))
    watched = object_bytes(hook.wait(2)[1])
    own = re.compile(r'"(uid|resourceVersion|name|app)":"[^"]*"')
    assert own.sub("", listed) == own.sub("", watched)
    value = json.loads(listed)
    meta = value["metadata"]
    assert (value["kind"], value["apiVersion"]) == ("Service", "v1")
    assert set(IDENTITY) <= set(meta) and "managedFields" not in meta
    assert meta["resourceVersion"] == "2" and d.control.objects("services", "n/a") == value
    if wanted:
        assert listed.endswith(wanted + "}")
    assert value.get("spec", {}) == expected_spec(name)
    assert meta.get("annotations", {}) == (
        {"example.com/a": "1"} if name == "one annotation" else {})


def expected_spec(name):
    ports = [{"port": 80}, {"port": 443}]
    whole = service("n/a", ports=[80, 443])["spec"]
    for port in whole["ports"]:
        port.pop("name", None)
        port.pop("protocol", None)
    return {"one path in lists": {"ports": ports}, "nothing there": {}, "one annotation": {},
            "a member and a list": {"type": "ClusterIP", "ports": ports},
            "keep less drop": whole}[name]


def test_without_keep_and_drop_the_bytes_are_the_servers(api, daemon, hook):
    raw = ('{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u1",'
           '"resourceVersion":"7","managedFields":[{"manager":"m"}]},"spec":{"x": 1.50 , '
           '"y":"\\u00e9"},"status":{}}')
    api.on_watch("services").stream(f'{{"type":"ADDED","object":{raw}}}\n'.encode(), STALL)
    daemon(api, hooks={"h": hook}, watches=shaped())
    assert object_bytes(hook.wait(1)[0]) == raw.replace(
        ',"managedFields":[{"manager":"m"}]', "")


def test_drop_leaves_all_other_bytes_alone(api, daemon, hook):
    raw = ('{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u1",'
           '"resourceVersion":"7","annotations":{"k":"v"},"managedFields":[]},"spec":{"a":1,'
           '"l":[{"p":1,"q":2},{"q":3},{"p":4}],"z":{"deep":[1,2]}},"status":{"s":1}}')
    api.on_watch("services").stream(f'{{"type":"ADDED","object":{raw}}}\n'.encode(), STALL)
    daemon(api, hooks={"h": hook}, watches=shaped(drop=[
        "status", "metadata.annotations", "spec.l[*].p", "spec.z.deep", "spec.absent"]))
    assert object_bytes(hook.wait(1)[0]) == (
        '{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u1",'
        '"resourceVersion":"7"},"spec":{"a":1,"l":[{"q":2},{"q":3},{}],"z":{}}}')


@pytest.mark.parametrize("setting", [{"keep": ["metadata.managedFields", "spec.type"]},
                                     {"keep": ["metadata"]}, {"drop": ["metadata.uid", "spec"]},
                                     {"drop": ["metadata"]}, {"drop": ["kind", "apiVersion"]}],
                         ids=str)
def test_identity_always_stays_and_managed_fields_never_do(api, daemon, hook, setting):
    stored = api.apply(rich("n/a"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(**setting))
    run = hook.wait(1)[0]
    value = run.event["object"]
    assert "managedFields" not in value["metadata"]
    assert {name: value["metadata"][name] for name in IDENTITY} == {
        name: stored["metadata"][name] for name in IDENTITY}
    assert (value["kind"], value["apiVersion"]) == ("Service", "v1")
    assert b"managedFields" not in run.raw and d.control.keys("services") == ["n/a"]


@pytest.mark.parametrize("setting", [
    {"keep": ["spec.type"]}, {"keep": ["metadata.annotations"]}, {"drop": ["metadata.labels"]},
    {"drop": ["metadata"]}, {"drop": ["metadata.labels['app']", "metadata.labels.tier"]}], ids=str)
def test_labels_that_the_selector_needs_stay(api, daemon, hook, setting):
    api.apply(rich("n/a"))
    daemon(api, hooks={"h": hook},
           watches=shaped(label_selector="app in (x, y), !example.com/gone", **setting))
    run = hook.wait(1)[0]
    assert run.event["object"]["metadata"]["labels"] == {"app": "x"}
    assert api.of("services")[0].accept.startswith("application/json")


def test_a_change_of_a_path_that_is_not_kept_only_moves_the_rv(api, daemon, hook):
    api.apply(rich("n/a"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(keep=["spec.ports[*].port"]))
    hook.wait(1)
    api.wait_watching("services")
    api.apply(rich("n/a", externalTrafficPolicy="Local"))
    d.caught_up(api)
    assert len(hook.runs()) == 1
    assert d.control.objects("services", "n/a")["metadata"]["resourceVersion"] == str(api.rv)
    api.apply(service("n/a", ports=[80, 444], labels={"new": "1"}))
    assert hook.wait(2)[1].event["object"]["spec"] == {"ports": [{"port": 80}, {"port": 444}]}


def test_a_relist_of_pruned_objects_changes_nothing(api, daemon, hook):
    api.apply(*[rich(f"n/s{i}") for i in range(5)])
    d = daemon(api, hooks={"h": hook}, watches=shaped(keep=["spec.type"], drop=["spec.ports"]))
    hook.wait(5)
    d.caught_up(api)
    api.apply(rich("n/s3", externalTrafficPolicy="Local"), silent=True)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    d.caught_up(api)
    assert len(hook.runs()) == 5 and d.control.watch("services")["relists"] == 1


# ---- match

LOCAL = {"match": ["spec.externalTrafficPolicy=Local"]}


def local(key, **more):
    return service(key, externalTrafficPolicy="Local", **more)


def test_objects_that_leave_match_are_left_with_their_last_selected_state(api, daemon, hook):
    api.apply(local("n/a", ports=[80]), service("n/other"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(**LOCAL))
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/other", ports=[81]))
    api.apply(service("n/a", ports=[81], externalTrafficPolicy="Cluster"))
    left = hook.wait(2)[1].event
    assert (left["type"], left["cause"], left["name"]) == ("LEFT", "watch", "a")
    assert left["object"]["spec"]["ports"][0]["port"] == 80
    d.caught_up(api)
    assert d.control.keys("services") == []
    api.apply(service("n/a", ports=[82], externalTrafficPolicy="Cluster"))
    api.delete("services", "n/other")
    api.apply(local("n/a", ports=[83]))
    assert hook.wait(3)[2].what == ("ADDED", "n/a")
    api.delete("services", "n/a")
    assert hook.wait(4)[3].what == ("DELETED", "n/a")
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a"), ("LEFT", "n/a"), ("ADDED", "n/a"), ("DELETED", "n/a")]


def test_a_relist_tells_objects_that_left_from_deleted_ones(api, daemon, hook):
    api.apply(local("n/left"), local("n/gone"), local("n/stays"), service("n/other"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(**LOCAL))
    hook.wait(3)
    d.caught_up(api)
    api.apply(service("n/left", externalTrafficPolicy="Cluster"), local("n/other"), silent=True)
    api.delete("services", "n/gone", silent=True)
    api.end_watches(how=error_event(500))
    hook.wait(6)
    d.caught_up(api)
    assert sorted(hook.what()[3:]) == [("ADDED", "n/other"), ("DELETED", "n/gone"),
                                       ("LEFT", "n/left")]
    assert {run.event["cause"] for run in hook.runs()[3:]} == {"relist"}
    assert sorted(d.control.keys("services")) == ["n/other", "n/stays"]
    assert hook.wait_what("LEFT", "n/left").event["object"]["spec"][
        "externalTrafficPolicy"] == "Local"


def test_an_object_that_came_anew_and_does_not_match_is_deleted_not_left(api, daemon, hook):
    api.apply(local("n/a"))
    d = daemon(api, hooks={"h": hook}, watches=shaped(**LOCAL))
    hook.wait(1)
    d.caught_up(api)
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/a", externalTrafficPolicy="Cluster"), silent=True)
    api.end_watches(how=error_event(500))
    assert hook.wait(2)[1].what == ("DELETED", "n/a")


def test_hooks_that_do_not_take_left_do_not_hear_of_it(api, daemon, hook):
    api.apply(local("n/a"))
    d = daemon(api, watches=shaped(**LOCAL), hooks={"h": hook_settings(
        hook, events=["added", "modified", "deleted"])})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/a", externalTrafficPolicy="Cluster"))
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]


def test_match_on_the_name_of_the_node(api, daemon, hook):
    def pod(key, node):
        return simple("Pod", key, spec={"nodeName": node, "containers": []})
    api.apply(pod("n/mine", "node-7"), pod("n/theirs", "node-70"),
              simple("Pod", "n/nowhere", spec={}))
    d = daemon(api, node_name="node-7", hooks={"h": hook},
               watches=shaped("pods", match=["spec.nodeName=${node_name}"]))
    hook.wait(1)
    api.wait_watching("pods")
    assert "fieldSelector" not in api.of("pods")[0].query
    api.apply(pod("n/nowhere", "node-7"))
    hook.wait(2)
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/mine"), ("ADDED", "n/nowhere")]


MATCHES = {
    "metadata.annotations['a/b']": {"annotated"},
    "!metadata.annotations['a/b']": {"plain", "null"},
    "spec.type!=ClusterIP": {"null", "annotated"},
    "spec.ports[*].port=80": {"plain", "annotated"},
    "spec.type='ClusterIP'": {"plain"},
    "metadata.name=plain": {"plain"},
}


@pytest.mark.parametrize("entry", MATCHES)
def test_the_forms_of_match(api, daemon, hook, entry):
    api.apply(service("n/plain", type="ClusterIP"),
              service("n/annotated", annotations={"a/b": "x"}, type="NodePort"),
              service("n/null", annotations={"a/b": None}, ports=[81], type=None))
    d = daemon(api, hooks={"h": hook}, watches=shaped(match=[entry]))
    d.synced()
    d.caught_up(api)
    assert {key for _type, key in hook.what()} == {f"n/{name}" for name in MATCHES[entry]}


def test_all_entries_of_match_must_hold_and_see_paths_that_are_not_kept(api, daemon, hook):
    api.apply(local("n/a", labels={"app": "x"}), local("n/b"), service("n/c", labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches=shaped(
        match=["spec.externalTrafficPolicy=Local", "metadata.labels.app"],
        keep=["spec.ports[*].port"], drop=["metadata.labels"]))
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    assert hook.runs()[0].event["object"]["spec"] == {"ports": [{"port": 80}]}


# ---- PartialObjectMetadata

METADATA = ["metadata.labels", "metadata.annotations['example.com/a']"]


def story(api, daemon, hook, make, plural, **tuning):
    """Plays the same changes of two objects; returns the daemon and the input of all runs, without
    the parts that always differ."""
    api.apply(make("n/a", {"app": "x"}), make("n/b", {"app": "y"}))
    d = daemon(api, hooks={"h": hook}, tuning=tuning, watches=shaped(
        plural, keep=METADATA, match=["metadata.labels.app"]))
    hook.wait(2)
    api.wait_watching(plural.split(".")[0])
    api.apply(make("n/a", {"app": "z"}))
    hook.wait(3)
    api.apply(make("n/b", {}))
    hook.wait(4)
    api.delete(plural.split(".")[0], "n/a")
    hook.wait(5)
    d.caught_up(api)
    runs = []
    for run in hook.runs():
        text = re.sub(r'"run":"[^"]*"|"received":"[^"]*"|"age_s":[0-9.]+', "", run.raw.decode())
        runs.append(text)
    return d, runs


def makers(kind):
    def make(key, labels):
        more = {"labels": labels, "uid": "uid-of-" + key.replace("/", "-")}
        if kind == "widgets":
            return custom_object("Widget", key, spec={"size": 3}, status={"x": 1}, **more)
        return service(key, annotations={"example.com/a": "1", "example.com/b": "2"}, **more)
    return make


STREAM, LIST = {"S": PARTIAL.format("")}, {"L": PARTIAL.format("List"), "W": PARTIAL.format("")}


@pytest.mark.parametrize("watch_list,accept", [("on", STREAM), ("off", LIST)])
def test_the_server_prunes_or_we_do_and_hooks_get_the_same_bytes(
        new_api, factory, watch_list, accept):
    inputs = []
    for partial in (True, False):
        api = new_api(watch_list=True)
        api.partial_metadata = partial
        hook = factory.hook()
        d, runs = story(api, factory.daemon, hook, makers("services"), "services",
                        watch_list=watch_list)
        inputs.append(runs)
        assert {r.kind: r.accept for r in api.of("services")} == accept
        assert d.control.keys("services") == []
    assert inputs[0] == inputs[1]
    assert list(map(event_type, inputs[0])) == ["ADDED", "ADDED", "MODIFIED", "LEFT", "DELETED"]
    for text in inputs[0]:
        assert "PartialObjectMetadata" not in text and "spec" not in text
        assert '"kind":"Service"' in text and "example.com/b" not in text


def event_type(text):
    return re.search(r'"type":"([A-Z]+)"', text)[1]


@pytest.mark.parametrize("partial", [True, False])
def test_custom_resources_by_metadata_alone_keep_their_own_kind(api, daemon, hook, partial):
    api.define("widgets.v1.example.com", kind="Widget")
    api.partial_metadata = partial
    _d, runs = story(api, daemon, hook, makers("widgets"), "widgets.example.com")
    assert list(map(event_type, runs)) == ["ADDED", "ADDED", "MODIFIED", "LEFT", "DELETED"]
    for run in hook.runs():
        value = run.event["object"]
        assert (value["kind"], value["apiVersion"]) == ("Widget", "example.com/v1")
        assert set(value) == {"kind", "apiVersion", "metadata"}
        assert "managedFields" not in value["metadata"]
    assert api.of("widgets", "L")[0].accept == PARTIAL.format("List")


@pytest.mark.parametrize("setting", [
    {"keep": ["metadata.labels", "spec.type"]}, {"drop": ["spec"]}, {},
    {"keep": ["metadata.labels"], "match": ["spec.type=ClusterIP"]}], ids=str)
def test_settings_that_need_more_than_metadata_ask_for_whole_objects(api, daemon, hook, setting):
    api.apply(service("n/a", labels={"app": "x"}, type="ClusterIP"))
    daemon(api, hooks={"h": hook}, watches=shaped(**setting))
    hook.wait(1)
    api.wait_watching("services")
    assert {r.accept for r in api.of("services")} == {"application/json"}


def test_wrong_kinds_among_partial_metadata_are_skipped(api, daemon, hook):
    api.on_watch("services").stream(
        ev("ADDED", simple("Pod", "n/intruder"), rv=20),
        ev("ADDED", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                     "metadata": service("n/a")["metadata"]}, rv=21), STALL)
    d = daemon(api, hooks={"h": hook}, watches=shaped(keep=["metadata.name"]))
    hook.wait(1)
    d.control.wait_watch("services", resource_version="21", objects=1)
    assert hook.what() == [("ADDED", "n/a")]
    assert hook.runs()[0].event["kind"] == "Service"
    d.wait_problem("n/intruder", watch="services")
