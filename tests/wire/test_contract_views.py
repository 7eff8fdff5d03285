# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "Views", word for word: the object of service_endpoints, the values that a server may put
into it, and how the sources of a view change it."""
import ipaddress
import json
import random

import campaign
import pytest
from control import wait_until
from fakeapi import service, simple
from harness import hook_settings

WATCHES = {"services": {"resource": "services", "namespaces": ["*"]},
           "slices": {"resource": "endpointslices", "namespaces": ["*"]}}
VIEWS = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}
OBJECT = ["cluster", "namespace", "name", "uid", "service", "ready", "local_ready", "held", "ports"]
PORT = ["name", "protocol", "port", "node_port", "app_protocol", "use"]
USE = ["address", "family", "port", "node", "zone", "pod", "hints", "state"]


def endpoint(address, ready=True, serving=None, terminating=None, **more):
    """An endpoint of a slice. more: its fields, such as nodeName; None removes a field."""
    conditions = {"ready": ready, "serving": serving, "terminating": terminating}
    whole = {"addresses": [address], "nodeName": "node-1", **more,
             "conditions": {key: value for key, value in conditions.items() if value is not None}}
    return {key: value for key, value in whole.items() if value is not None}


def slice_of(key, name, endpoints, ports=(("p80", 8080),), family="IPv4"):
    rows = [{"name": port, "protocol": "TCP", "port": number} for port, number in ports]
    return simple("EndpointSlice", key, "discovery.k8s.io/v1", addressType=family, ports=rows,
                  labels={"kubernetes.io/service-name": name}, endpoints=list(endpoints))


def uses(obj, port=0):
    """[(address, port, state), ...] of one port."""
    return [(use["address"], use["port"], use["state"]) for use in obj["ports"][port]["use"]]


@pytest.fixture
def viewed(api, daemon, hook):
    """A synced daemon on node-1 whose hook "h" looks at the view."""
    def make(watches=None, **more):
        settings = hook_settings(hook, sources=["backends"], **more)
        return daemon(api, watches=watches or WATCHES, views=VIEWS, node_name="node-1",
                      hooks={"h": settings}).synced().caught_up(api)
    return make


def test_the_object_has_these_keys_in_this_order(api, viewed, hook):
    ports = [{"name": "p80", "port": 80, "nodePort": 30080, "appProtocol": "kubernetes.io/h2c",
              "protocol": "TCP"}, {"name": "p81", "port": 81, "protocol": "TCP"}]
    api.apply(service("n/a", annotations={"k": "v"}, type="NodePort"))
    full = api.get("services", "n/a")
    api.apply({**full, "spec": {**full["spec"], "ports": ports}})
    api.apply(slice_of("n/a-1", "a", [
        endpoint("10.0.0.10", zone="z1", hints={"forZones": [{"name": "z2"}, {"name": "z1"}]},
                 targetRef={"kind": "Pod", "namespace": "n", "name": "a-0"}),
        endpoint("10.0.0.9", nodeName=None, targetRef={"kind": "Node", "name": "x"})]))
    viewed()
    event = hook.wait(1)[0].event
    obj = event["object"]
    assert [list(obj), list(obj["ports"][0]), list(obj["ports"][0]["use"][0])] == [
        OBJECT, PORT, USE]
    kept = json.loads(json.dumps(api.get("services", "n/a")))
    del kept["metadata"]["managedFields"]
    assert obj["service"] == kept and obj["uid"] == event["uid"] == kept["metadata"]["uid"]
    assert [obj[key] for key in OBJECT[:3]] == ["prod", "n", "a"]
    assert [obj[key] for key in OBJECT[5:8]] == [2, 1, False]
    assert [list(port.values())[:5] for port in obj["ports"]] == [
        ["p80", "TCP", 80, 30080, "kubernetes.io/h2c"], ["p81", "TCP", 81, None, None]]
    assert [list(use.values()) for use in obj["ports"][0]["use"]] == [
        ["10.0.0.9", "IPv4", 8080, None, None, None, [], "ready"],
        ["10.0.0.10", "IPv4", 8080, "node-1", "z1", "a-0", ["z1", "z2"], "ready"]]
    assert obj["ports"][1]["use"] == []


ADDRESSES = ["10.0.0.1\nbind :1", "10.0.0.1 ", "", "10.0.0", "0x0a000001", "10.0.0.256", None, 5,
             "fe80::1%eth0", {"a": 1}, "10.0.0.1/24", "a" * 300, "www.example.com", "10.0.0.1\0"]
PORTS = [0, -1, 65536, "80", 80.5, None, 99999999999999999999, True, [80]]
SLICES = [{"endpoints": None}, {"endpoints": "x"}, {"endpoints": [None, 5, "x", [], {}]},
          {"ports": None}, {"ports": [None, 5, {}]}, {"addressType": "FQDN"}]


def test_nothing_but_addresses_and_ports_gets_out_of_a_slice(api, viewed):
    """Hooks write these values into files: HAProxy would obey a line after a newline in a value."""
    bad = [slice_of("n/addresses", "a", [endpoint(address) for address in ADDRESSES])]
    bad += [slice_of(f"n/port-{i}", "a", [endpoint(f"10.0.1.{i + 1}")], ports=[("p80", port)])
            for i, port in enumerate(PORTS)]
    bad += [{**slice_of(f"n/slice-{i}", "a", [endpoint(f"10.0.2.{i + 1}")]), **patch}
            for i, patch in enumerate(SLICES)]
    api.apply(service("n/a"), *bad, slice_of("n/good", "a", [endpoint("10.0.0.7")]))
    d = viewed()
    assert uses(d.control.objects("backends", "n/a")) == [("10.0.0.7", 8080, "ready")]


@pytest.mark.parametrize("spec", [{}, {"ports": None}, {"ports": "x"}, {"ports": [None, 5]},
                                  {"ports": [{"name": "p80"}]},
                                  {"ports": [{"name": "p80", "port": "80"}]}])
def test_an_impossible_service_harms_no_other(api, viewed, spec):
    api.apply({**service("n/a"), "spec": spec}, service("n/b"),
              slice_of("n/b-1", "b", [endpoint("10.0.0.1")]))
    d = viewed()
    assert d.control.objects("backends", "n/a")["name"] == "a"
    assert uses(d.control.objects("backends", "n/b")) == [("10.0.0.1", 8080, "ready")]


def test_a_service_leaves_the_view_as_it_leaves_its_watch(api, viewed, hook):
    watches = {**WATCHES, "services": {**WATCHES["services"], "match": ["spec.type!=NodePort"]}}
    api.apply(service("n/a"), slice_of("n/a-1", "a", [endpoint("10.0.0.1")]))
    d = viewed(watches=watches)
    hook.wait(1)
    for spec in ({"type": "NodePort"}, {}, {"type": "ExternalName", "externalName": "x.org"}, {}):
        api.apply(service("n/a", **spec))
        d.caught_up(api)
    assert hook.what() == [(kind, "n/a") for kind in ("ADDED", "LEFT", "ADDED", "LEFT", "ADDED")]
    assert uses(hook.runs()[3].event["object"]) == [("10.0.0.1", 8080, "ready")]


def test_a_service_with_another_uid_is_another_object(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", [endpoint("10.0.0.1")]))
    d = viewed()
    hook.wait(1)
    api.delete("services", "n/a")
    api.apply(service("n/a"))
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a"), ("DELETED", "n/a"), ("ADDED", "n/a")]
    first, gone, second = [run.event for run in hook.runs()]
    assert first["uid"] == gone["uid"] != second["uid"] == second["object"]["uid"]
    assert uses(gone["object"]) == uses(second["object"]) == [("10.0.0.1", 8080, "ready")]


def test_a_relist_says_that_the_last_state_is_unknown(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", [endpoint("10.0.0.1")]))
    viewed()
    hook.wait(1)
    api.delete("services", "n/a", silent=True)
    api.compact()
    api.end_watches()
    event = hook.wait(2)[1].event
    assert (event["type"], event["cause"], event["final_state_unknown"]) == (
        "DELETED", "relist", True)
    assert uses(event["object"]) == [("10.0.0.1", 8080, "ready")]


def test_objects_held_by_the_guard_stay_in_the_view(api, viewed, hook):
    """A list without the slices does not empty the load balancer (docs/design.md "Guard")."""
    for i in range(12):
        api.apply(service(f"n/s{i}"),
                  slice_of(f"n/s{i}-1", f"s{i}", [endpoint(f"10.0.0.{i + 1}")]))
    guarded = {name: {**watch, "guard": {"hold": "1h"}} for name, watch in WATCHES.items()}
    d = viewed(watches=guarded)
    hook.wait(12)
    for i in range(12):
        api.delete("endpointslices", f"n/s{i}-1", silent=True)
    api.compact()
    api.end_watches("endpointslices")
    d.control.wait_watch("slices", held=True)
    api.apply(service("n/new"))
    run = hook.wait(13)[12]
    assert run.key == "n/new" and run.input["sources"]["backends"]["held"] is True
    assert uses(d.control.objects("backends", "n/s3")) == [("10.0.0.4", 8080, "ready")]
    assert d.ctl("guard", "accept", "slices").returncode == 0
    runs = hook.wait(13 + 12)[13:]
    assert all(uses(run.event["object"]) == [] for run in runs)
    d.caught_up(api)
    assert len(hook.runs()) == 13 + 12
    assert not runs[-1].input["sources"]["backends"]["held"]


def test_fields_and_changes_in_are_paths_of_the_view(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", [endpoint("10.0.0.1"), endpoint("10.0.0.2")]))
    d = viewed(changes_in=["ready"], fields={"TO": "ports[*].use[*].address", "N": "ready",
                                             "TYPE": "service.spec.type", "HELD": "held"})
    env = hook.wait(1)[0].env
    assert [env[f"INFORMERD_FIELD_{name}"] for name in ("TO", "N", "TYPE", "HELD")] == [
        "10.0.0.1 10.0.0.2", "2", "ClusterIP", "false"]
    api.apply(slice_of("n/a-1", "a", [endpoint("10.0.0.1"), endpoint("10.0.0.3")]))
    d.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(slice_of("n/a-1", "a", [endpoint("10.0.0.3")]))
    assert hook.wait(2)[1].env["INFORMERD_FIELD_TO"] == "10.0.0.3"


def test_each_cluster_has_a_view_of_its_own(api, new_api, factory, hook):
    apis = {"east": api, "west": new_api()}
    watches, views = {}, {}
    for number, (name, one) in enumerate(apis.items()):
        one.apply(service("n/a"), slice_of("n/a-1", "a", [endpoint(f"10.{number}.0.1")]))
        watches |= {f"{watch}-{name}": {**entry, "cluster": name}
                    for watch, entry in WATCHES.items()}
        views[name] = {"type": "service_endpoints", "services": f"services-{name}",
                       "slices": f"slices-{name}"}
    clusters = {name: factory.cluster(one) for name, one in apis.items()}
    factory.daemon(clusters=clusters, watches=watches, views=views,
                   hooks={"h": hook_settings(hook, sources=list(views))})
    runs = sorted(hook.wait(2), key=lambda run: run.env["INFORMERD_CLUSTER"])
    assert [(run.event["source"], run.event["cluster"], run.event["object"]["cluster"],
             uses(run.event["object"])) for run in runs] == [
        (name, name, name, [(f"10.{number}.0.1", 8080, "ready")])
        for number, name in enumerate(apis)]


def usable(ep):
    """"ready", "draining" or None, by the conditions (kube-proxy, pkg/proxy/topology.go)."""
    conditions = ep["conditions"]
    if conditions.get("ready", True):
        return "ready"
    gone = conditions.get("terminating", False) and conditions.get("serving", True)
    return "draining" if gone else None


def naive(api, name, port):
    """The endpoints that the port of a Service should use, computed in the simplest way."""
    found = {"ready": set(), "draining": set(), None: set()}
    for entry in api.store.table("endpointslices").objects.values():
        if entry["metadata"]["labels"]["kubernetes.io/service-name"] == name:
            for number in [row["port"] for row in entry["ports"] if row["name"] == port]:
                for ep in entry["endpoints"]:
                    found[usable(ep)].add((ep["addresses"][0], number))
    state = "ready" if found["ready"] else "draining"
    ip = ipaddress.ip_address
    return [(address, number, state) for address, number in sorted(
        found[state], key=lambda at: (ip(at[0]).version, ip(at[0]).packed, at[1]))]


def any_slice(rnd):
    family = rnd.choice(["IPv4", "IPv4", "IPv6"])
    stem = {"IPv4": "10.0.0.", "IPv6": "fd00::"}[family]
    endpoints = [endpoint(f"{stem}{rnd.randrange(1, 20)}", *(rnd.choice([True, False, None])
                                                            for _ in range(3)))
                 for _ in range(rnd.randrange(5))]
    ports = rnd.choice([[("p80", 8080)], [("p80", 8080), ("p81", 1)], [("p81", 2)], []])
    return slice_of(f"n/x{rnd.randrange(4)}", rnd.choice("abc"), endpoints, ports, family)


def mutate(api, rnd):
    """Makes one change. One change in four is not sent to the watches: a relist finds it."""
    silent = rnd.random() < .25
    kind, key = rnd.choice([("services", f"n/{rnd.choice('abc')}"),
                            ("endpointslices", f"n/x{rnd.randrange(4)}")])
    if rnd.random() < .2 and key in api.store.table(kind).objects:
        api.delete(kind, key, silent=silent)
    elif kind == "services":
        api.apply(service(key, ports=rnd.choice([(80,), (80, 81), (81,)])), silent=silent)
    else:
        api.apply(any_slice(rnd), silent=silent)


def relist(api, d):
    """Makes both watches list anew: the server no longer has the history since their RV."""
    before = d.control.status()["watches"]
    api.apply(simple("ConfigMap", "n/newer"))
    api.compact()
    api.end_watches()
    wait_until(lambda: all(watch["relists"] > before[name]["relists"]
                           for name, watch in d.control.status()["watches"].items()))
    d.caught_up(api)


@pytest.mark.parametrize("seed", range(3))
def test_after_any_changes_and_relists_the_view_fits_the_server(api, viewed, seed):
    rnd = random.Random(seed)
    api.apply(*[service(f"n/{name}") for name in "abc"])
    d = viewed()
    for _ in range(campaign.size(4, 12)):
        for _ in range(15):
            mutate(api, rnd)
        relist(api, d)
        shown = d.control.objects("backends")
        assert [obj["name"] for obj in shown] == sorted(
            key[2:] for key in api.store.table("services").objects)
        for obj in shown:
            for port, entry in enumerate(obj["ports"]):
                assert uses(obj, port) == naive(api, obj["name"], entry["name"])


def test_a_service_with_a_new_version_only_starts_no_run(api, viewed, hook):
    api.apply(service("n/a"))
    d = viewed()
    hook.wait(1)
    api.apply(api.get("services", "n/a"))
    d.caught_up(api)
    assert len(hook.runs()) == 1
