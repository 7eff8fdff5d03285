# SPDX-License-Identifier: Apache-2.0
"""`informerctl get` shows exactly the objects that the server has, each object once, without
managedFields."""
import json

from control import wait_until
from fakeapi import error_event, service, simple
from harness import is_sanitized
from proctree import memory_kb


def dump(d, source, *key):
    done = d.ctl("get", source, *key, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def keys(objects):
    return [(o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects]


def test_s76_after_a_relist_the_dump_is_exactly_what_the_server_has(api, daemon, hook):
    api.apply(*(service(f"n/s{n}") for n in range(5)))
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    api.delete("services", "n/s0", silent=True)
    api.apply(service("n/s1", ports=[99]), service("n/new"), silent=True)
    api.end_watches(how=error_event(500))
    d.control.wait_watch("services", relists=1)     # before a bookmark could come on the watch that ends
    d.caught_up(api)
    assert d.control.watch("services")["relists"] == 1
    assert keys(dump(d, "services")) == [("n", "new")] + [("n", f"s{n}") for n in range(1, 5)]
    assert dump(d, "services", "n/s1")["spec"] == api.get("services", "n/s1")["spec"]


def test_s77_equal_names_with_and_without_namespace_do_not_meet(api, daemon):
    api.apply(simple("Node", "web"), service("a/web"), service("b/web"))
    d = daemon(api, watches={"services": {"resource": "services", "namespaces": ["*"]},
                             "nodes": {"resource": "nodes"}}).synced("services", "nodes")
    assert keys(dump(d, "services")) == [("a", "web"), ("b", "web")]
    assert keys(dump(d, "nodes")) == [("", "web")]
    assert dump(d, "services", "b/web")["metadata"]["namespace"] == "b"
    assert dump(d, "nodes", "web")["kind"] == "Node"
    assert d.ctl("get", "services", "web").returncode == 1
    assert d.ctl("get", "nodes", "a/web").returncode == 1


def with_managed_fields(number, size):
    pod = simple("Pod", f"n/p{number:04}", spec={"nodeName": "n-1"})
    pod["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": {"k" * size: {}}}
    return pod


def test_s79_managed_fields_are_neither_in_the_dump_nor_in_memory(api, daemon):
    """The managedFields of 5000 pods are 30 MB, in the list and again in the relist. informerd never has
    so much memory in use."""
    api.apply(*(with_managed_fields(number, 6000) for number in range(5000)))
    d = daemon(api, watches={"pods": {"resource": "pods", "namespaces": ["*"]}}).synced("pods")
    assert d.ctl("relist", "pods").returncode == 0
    wait_until(lambda: d.control.watch("pods")["relists"] == 1, what="the relist has ended")
    if not is_sanitized():
        assert memory_kb(d.pid, "VmHWM") < 30 * 1024
    pods = dump(d, "pods")
    assert len(pods) == 5000
    assert not any("managedFields" in pod["metadata"] for pod in pods)
    assert "managedFields" not in dump(d, "pods", "n/p0042")["metadata"]
