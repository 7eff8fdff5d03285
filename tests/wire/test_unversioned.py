# SPDX-License-Identifier: Apache-2.0
"""Servers whose lists have no version, such as some aggregated ones: a watch without a version
sends all objects that exist, and a LIST beside the watch shows which ones are gone. And APIs that
cannot be watched at all."""
import pytest
from control import wait_until
from fakeapi import STALL, Gate, Pause, ev, service
from harness import hook_settings

NONE = {"absent": None, "empty": "", "zero": "0"}


@pytest.fixture(params=NONE.values(), ids=NONE)
def bare(api, request):
    api.unversioned["services"] = request.param
    return api


@pytest.fixture
def zero(api):
    api.unversioned["services"] = "0"
    return api


def compared(api, watches=1):
    """Waits until there were so many watches, each with its list beside it."""
    api.wait(lambda: len(api.of("services", "W")) >= watches and
             len(api.of("services", "L")) >= watches + 1, what="a list beside the watch")


def end(api, watches=2):
    """Ends the watch, and waits for another one with its list beside it."""
    api.end_watches("services")
    compared(api, watches)


def followed(d):
    d.control.wait_watch("services", state="watching", synced=True, stale=False, last_error=None)


def test_a_list_without_a_version_is_a_sync_and_its_watch_goes_on(bare, daemon, hook):
    bare.apply(service("n/a"), service("n/b"))
    d = daemon(bare, hooks={"h": hook})
    hook.wait(2)
    compared(bare)
    followed(d)
    bare.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    bare.delete("services", "n/a")
    hook.wait_what("DELETED", "n/a")
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b"), ("ADDED", "n/c"),
                                   ("DELETED", "n/a")]
    assert bare.sequence("services") == ["L(0)", "W(-)", "L(-)"]
    assert d.control.watch("services")["resource_version"] is None
    assert not d.problems()


def test_a_delete_between_two_streams_is_told(zero, daemon, hook):
    zero.apply(*[service(f"n/s{i}") for i in range(4)])
    d = daemon(zero, hooks={"h": hook})
    hook.wait(4)
    compared(zero)
    zero.delete("services", "n/s1", silent=True)
    zero.apply(service("n/s9"), silent=True)
    end(zero)
    hook.wait_what("DELETED", "n/s1")
    hook.wait_what("ADDED", "n/s9")
    event = hook.of("n/s1")[-1].event
    assert event["cause"] == "relist" and event["final_state_unknown"]
    followed(d)
    assert len(hook.runs()) == 6
    assert zero.sequence("services") == ["L(0)", "W(-)", "L(-)", "W(-)", "L(-)"]
    assert d.control.watch("services")["relists"] == 1


def test_a_delete_between_the_list_and_the_first_watch_is_told(zero, daemon, hook):
    gate = Gate()
    zero.apply(service("n/a"), service("n/b"))
    zero.on_watch("services").run(opens_behind(gate))
    daemon(zero, hooks={"h": hook})
    hook.wait(2)
    zero.delete("services", "n/b")
    gate.open()
    hook.wait_what("DELETED", "n/b")


def opens_behind(gate):
    """The handler of a watch whose answer waits for the gate."""
    async def answer(exchange):
        await gate.pass_by()
        await exchange.start_stream()
        await exchange.api.follow(exchange, None)
    return answer


def test_a_delete_in_the_watch_is_not_undone_by_the_list_beside_it(zero, daemon, hook):
    gate = Gate()
    zero.apply(service("n/a"), service("n/b"))
    old = [zero.get("services", "n/a"), zero.get("services", "n/b")]
    d = daemon(zero, hooks={"h": hook}, start=False)
    zero.on_list("services", where=lambda r: r.rv is None).list(old, rv=0, hold=gate)
    d.start()
    gate.wait_reached()
    zero.delete("services", "n/b")
    hook.wait_what("DELETED", "n/b")
    zero.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    gate.open()
    followed(d)
    assert sorted(d.control.keys("services")) == ["n/a", "n/c"]
    assert len(hook.runs()) == 4


def chatter(obj):
    """The handler of a watch that is never silent: the list beside it waits for a silence."""
    async def answer(exchange):
        await exchange.start_stream()
        while True:
            await exchange.event(ev("ADDED", obj))
            await Pause(0.1).pass_by()
    return answer


def test_a_watch_that_is_never_silent_is_compared_too(zero, daemon, hook):
    gate = Gate()
    zero.apply(service("n/a"), service("n/b"))
    told = zero.get("services", "n/a")
    zero.on_watch("services").stream(ev("ADDED", told), gate)
    zero.on_watch("services").run(chatter(told))
    d = daemon(zero, hooks={"h": hook})
    hook.wait(2)
    compared(zero)
    followed(d)
    zero.delete("services", "n/b")
    gate.open()
    hook.wait_what("DELETED", "n/b")
    followed(d)
    assert zero.sequence("services") == ["L(0)", "W(-)", "L(-)", "W(-)", "L(-)"]
    assert len(hook.runs()) == 3


def test_streams_that_end_before_their_list_lead_to_an_ordinary_list(zero, daemon, hook):
    gate = Gate()
    zero.apply(service("n/a"), service("n/b"))
    told = ev("ADDED", zero.get("services", "n/a"))
    zero.on_watch("services").stream(told, gate)
    for _ in range(3):
        zero.on_watch("services").stream(told)
    zero.on_watch("services").stream(told, STALL)
    daemon(zero, hooks={"h": hook})
    hook.wait(2)
    gate.wait_reached()
    zero.delete("services", "n/b")
    gate.open()
    hook.wait_what("DELETED", "n/b")
    assert len(hook.runs()) == 3


def test_a_bookmark_is_a_version_to_go_on_from(zero, daemon, hook):
    zero.apply(service("n/a"))
    d = daemon(zero, hooks={"h": hook})
    compared(zero)
    followed(d)
    zero.rv = 70
    zero.bookmark("services", rv=70)
    d.control.wait_watch("services", resource_version="70")
    zero.end_watches("services")
    zero.wait_for_request(lambda r: r.kind == "W" and r.rv == "70")
    zero.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    assert zero.sequence("services") == ["L(0)", "W(-)", "L(-)", "W(70)"]


def test_the_guard_holds_deletes_that_the_list_beside_the_watch_finds(zero, daemon, hook):
    zero.apply(*[service(f"n/s{i}") for i in range(12)])
    d = daemon(zero, hooks={"h": hook},
               watches={"services": {"resource": "services", "namespaces": ["*"],
                                     "guard": {"hold": "1h"}}})
    hook.wait(12)
    compared(zero)
    for i in range(12):
        zero.delete("services", f"n/s{i}", silent=True)
    end(zero)
    d.control.wait_watch("services", held=True)
    assert len(hook.runs()) == 12
    d.ctl("guard", "accept", "services")
    hook.wait(24)


def test_nothing_is_resumed_over_a_restart(zero, daemon, hook):
    zero.apply(service("n/a"), service("n/b"))
    d = daemon(zero, hooks={"h": hook})
    hook.wait(2)
    compared(zero)
    followed(d)
    d.stop()
    zero.forget()
    zero.delete("services", "n/b")
    d.start()
    hook.wait_what("DELETED", "n/b")
    compared(zero)
    assert zero.sequence("services") == ["L(-)", "W(-)", "L(-)"]
    assert len(hook.runs()) == 3


def test_an_audit_without_versions_compares_the_objects(zero, daemon):
    zero.apply(service("n/a"), service("n/b"))
    d = daemon(zero)
    compared(zero)
    followed(d)
    assert d.control.verify("services")["differences"] == 0
    changed = service("n/a", ports=(443,))
    changed["metadata"] = dict(zero.get("services", "n/a")["metadata"])
    zero.on_list("services").list([changed, zero.get("services", "n/b")], rv=0)
    result = d.control.verify("services")
    assert result["differences"] == 1


@pytest.mark.parametrize("asked", [True, False], ids=["discovery", "405"])
def test_an_api_that_cannot_be_watched_is_reported(api, daemon, hook, asked):
    api.define("pods.v1beta1.metrics.k8s.io", kind="PodMetrics", verbs=["get", "list"])
    if not asked:
        api.on(path="/apis?", times=None).fail(403)
        api.on(path="/api", times=None).fail(403)
    d = daemon(api, watches={"w": {"resource": "pods.v1beta1.metrics.k8s.io",
                                   "namespaces": ["*"]}}, hooks={"h": hook_settings(hook, sources=["w"])})
    said = "metrics.k8s.io/v1beta1 pods cannot be watched: the API has no watch verb"
    wait_until(lambda: d.control.watch("w")["last_error"] == said)
    assert d.control.watch("w")["state"] == "waiting"
    d.wait_problem(said, watch="w")

