# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be used: each is skipped alone, stays as it was, and is shown."""
import json

import pytest
from control import wait_until
from fakeapi import STALL, Gate, error_event, ev, service
from harness import hook_settings


def deep(levels):
    """So many lists within each other."""
    value = {}
    for _ in range(levels - 1):
        value = [value]
    return value


def renamed(obj, name):
    meta = {k: v for k, v in obj["metadata"].items() if k != "name"}
    if name is not None:
        meta["name"] = name
    return {**obj, "metadata": meta}


# name: (a function that makes a Service unusable, the name by which informerd reports it)
ODD = {
    "deep": (lambda o: {**o, "spec": {**o["spec"], "x": deep(600)}}, "n/odd"),
    "number": (lambda o: {**o, "spec": {**o["spec"], "x": int("7" * 2000)}}, "n/odd"),
    "large": (lambda o: {**o, "x": "y" * 400000}, "n/odd"),
    "kind": (lambda o: {**o, "kind": "Secret"}, "n/odd"),
    "long name": (lambda o: renamed(o, "z" * 300), "z" * 300),
    "slash": (lambda o: renamed(o, "z/y"), "n/z/y"),
}

SMALL = {"object_size": "256KiB"}


def list_with(api, *items):
    """The next LIST has these items besides the real ones."""
    async def handler(exchange):
        table = api.store.table("services")
        there = [{k: v for k, v in o.items()} for o in table.objects.values()]
        body = {"kind": "ServiceList", "apiVersion": "v1",
                "metadata": {"resourceVersion": str(api.rv)}, "items": there + list(items)}
        await exchange.answer(body=json.dumps(body).encode())
    return api.on_list("services").run(handler)


def degraded(d):
    return [text for text in d.control.status()["degraded"] if "skipped" in text]


@pytest.mark.parametrize("name", ODD)
def test_an_item_that_cannot_be_used_is_skipped_alone(api, daemon, hook, name):
    make, shown = ODD[name]
    api.apply(service("n/a"), service("n/b"))
    list_with(api, make(service("n/odd")))
    d = daemon(api, hooks={"h": hook}, limits=SMALL)
    hook.wait(2)
    api.wait_watching("services")
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert [shown in text for text in degraded(d)] == [True]
    watch = d.control.watch("services")
    assert watch["synced"] and watch["skipped"] == 1
    assert shown in watch["skipped_objects"][0]["key"]
    d.wait_problem(msg="object skipped: its old state stays")
    said = d.ctl("status")
    assert said.returncode == 1 and shown in said.stdout


@pytest.mark.parametrize("name", ["deep", "number", "large", "kind"])
def test_a_change_that_cannot_be_used_keeps_the_old_state_and_lists_nothing(api, daemon, hook,
                                                                            name):
    make, _ = ODD[name]
    api.apply(service("n/odd"), service("n/b"))
    odd = make(api.store.table("services").objects["n/odd"])
    gate = Gate()
    api.on_watch("services").stream(
        gate, *[ev("MODIFIED", odd, rv=10 + i) for i in range(8)],
        ev("MODIFIED", {**api.store.table("services").objects["n/b"], "x": 1}, rv=30), STALL)
    d = daemon(api, hooks={"h": hook}, limits=SMALL)
    hook.wait(2)
    gate.open()
    hook.wait_what("MODIFIED", "n/b")
    d.control.wait_watch("services", resource_version="30", skipped=1)
    assert len(degraded(d)) == 1
    assert sorted(d.control.keys("services")) == ["n/b", "n/odd"]
    assert [r.kind for r in api.of("services")] == ["L", "W"]


@pytest.mark.parametrize("name", ["deep", "number", "large"])
def test_a_delete_is_never_skipped(api, daemon, hook, name):
    make, _ = ODD[name]
    api.apply(service("n/odd"), service("n/b"))
    odd = make(api.store.table("services").objects["n/odd"])
    gate = Gate()
    api.on_watch("services").stream(gate, ev("MODIFIED", odd, rv=10), ev("DELETED", odd, rv=11),
                                    STALL)
    d = daemon(api, hooks={"h": hook}, limits=SMALL)
    hook.wait(2)
    gate.open()
    hook.wait_what("DELETED", "n/odd")
    d.control.wait_watch("services", resource_version="11", skipped=0)
    assert degraded(d) == []
    assert d.control.keys("services") == ["n/b"]
    assert [r.kind for r in api.of("services")] == ["L", "W"]


def test_a_usable_state_ends_the_skip(api, daemon, hook):
    make, _ = ODD["deep"]
    api.apply(service("n/odd"))
    odd = make(api.store.table("services").objects["n/odd"])
    gate = Gate()
    api.on_watch("services").stream(
        gate, ev("MODIFIED", odd, rv=10),
        ev("MODIFIED", {**api.store.table("services").objects["n/odd"], "x": 1}, rv=11), STALL)
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    gate.open()
    hook.wait_what("MODIFIED", "n/odd")
    d.control.wait_watch("services", skipped=0)
    assert degraded(d) == []
    assert d.log(msg="object no longer skipped")


def test_a_list_with_an_item_without_a_name_deletes_nothing(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    api.wait_watching("services")
    api.delete("services", "n/b", silent=True)
    api.apply(service("n/c"), silent=True)
    list_with(api, renamed(service("n/x"), None))
    api.end_watches(how=error_event(500))
    hook.wait_what("ADDED", "n/c")
    d.caught_up(api)
    assert sorted(d.control.keys("services")) == ["n/a", "n/b", "n/c"]
    assert "n/b" in degraded(d)[0] and "name cannot be read" in degraded(d)[0]
    d.ctl("relist", "services")  # a list without the unusable item
    hook.wait_what("DELETED", "n/b")
    d.control.wait_watch("services", skipped=0)


def test_a_skipped_object_is_known_after_a_restart(api, daemon, hook):
    make, _ = ODD["deep"]
    api.apply(service("n/odd"), service("n/b"))
    odd = make(api.store.table("services").objects["n/odd"])
    api.on_watch("services").stream(ev("MODIFIED", odd, rv=10), STALL)
    api.rv = 10
    d = daemon(api, hooks={"h": hook_settings(hook)})
    hook.wait(2)
    d.control.wait_watch("services", skipped=1)
    wait_until(lambda: d.log(msg="cluster identity known"))
    d.stop()
    d.start()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert [r.kind for r in api.of("services")] == ["L", "W", "W"]
    d.control.wait_watch("services", skipped=1, synced=True)
    assert "n/odd" in degraded(d)[0]


def test_deep_values_that_are_not_kept_do_no_harm(api, daemon, hook):
    make, _ = ODD["deep"]
    list_with(api, make(service("n/odd")))
    d = daemon(api, hooks={"h": hook}, watches={
        "services": {"resource": "services", "namespaces": ["*"], "drop": ["spec.x"]}})
    hook.wait_what("ADDED", "n/odd")
    assert degraded(d) == [] and d.control.watch("services")["skipped"] == 0


def test_an_audit_finds_no_difference_in_a_skipped_object(api, daemon, hook):
    make, _ = ODD["deep"]
    api.apply(service("n/odd"))
    odd = make(api.store.table("services").objects["n/odd"])
    api.on_watch("services").stream(ev("MODIFIED", odd, rv=10), STALL)
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", skipped=1)
    rule = list_with(api, renamed(service("n/y"), "y/y"))
    with api.store.lock:
        api.store.table("services").objects["n/odd"] = odd
    said = d.ctl("verify", "services")
    assert said.returncode == 0, said.stdout + said.stderr
    assert rule
    wait_until(lambda: len(api.of("services", "L")) == 2)
