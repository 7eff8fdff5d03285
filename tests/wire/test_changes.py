# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 16, 28-31, 39: from events of a watch to runs, while hooks are busy or not."""
import json

import campaign
import pytest
from control import wait_until
from fakeapi import END, STALL, Gate, bookmark, ev, service
from harness import hook_settings, is_sanitized
from proctree import memory_kb

AT_ONCE = {"mode": "snapshot", "settle": ["0s", "0s"]}


def names(run):
    return [obj["metadata"]["name"] for obj in run.snapshot["services"]]


def test_s16_events_during_the_first_snapshot_run_come_after_it(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook_settings(hook, **AT_ONCE)})
    hook.wait(1)
    api.wait_watching("services")
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[81]), service("n/c"))
    d.control.wait_watch("services", resource_version=str(api.rv), objects=2)
    assert len(hook.runs()) == 1 and hook.ended() == 0
    hook.release()
    first, second = hook.wait(2)
    d.caught_up(api)
    assert (names(first), names(second)) == (["a", "b"], ["b", "c"])
    assert first.input["reason"] == "existing" and second.input["reason"] == "change"
    assert sorted((c["type"], c["name"]) for c in second.input["changes"]) == [
        ("ADDED", "c"), ("DELETED", "a"), ("MODIFIED", "b")]
    assert [entry[0] for entry in hook.order()] == ["start", "end"] * 2


def test_s16_events_during_the_first_object_runs_lose_nothing_and_keep_their_order(
        api, daemon, hook):
    hook.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[81]), service("n/c"))
    d.control.wait_watch("services", resource_version=str(api.rv))
    hook.release()
    d.caught_up(api)
    happened = hook.what()
    assert happened[0] == ("ADDED", "n/a")
    assert sorted(happened) == [("ADDED", "n/a"), ("ADDED", "n/b"), ("ADDED", "n/c"),
                                ("MODIFIED", "n/a")]
    newest = hook.wait_what("ADDED", "n/b").event["object"]
    assert newest["spec"]["ports"][0]["port"] == 81
    assert happened.index(("ADDED", "n/b")) < happened.index(("ADDED", "n/c"))


def test_s16_events_that_come_while_the_list_is_read_wait_for_its_end(api, daemon, hook):
    gate = Gate()
    api.apply(service("n/a"))
    body = api.get("services", "n/a")

    async def slow(exchange):
        api.apply(service("n/b"))
        await gate.pass_by()
        del body["kind"], body["apiVersion"]
        await exchange.answer(body={"kind": "ServiceList", "apiVersion": "v1",
                                    "metadata": {"resourceVersion": "2"}, "items": [body]})
    api.on_list("services").run(slow)
    d = daemon(api, hooks={"h": hook})
    gate.wait_reached()
    assert not hook.runs()
    gate.open()
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert api.sequence("services") == ["L(0)", "W(2)"]


def test_s28_an_object_that_leaves_the_selector_is_deleted_with_the_newer_rv(api, daemon, hook):
    api.apply(service("n/a", ports=[80], labels={"app": "x"}))
    d = daemon(api, hooks={"h": hook}, watches={"services": {
        "resource": "services", "namespaces": ["*"], "label_selector": "app=x"}})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/a", ports=[81], labels={"app": "y"}))
    gone = hook.wait(2)[1].event
    assert (gone["type"], gone["cause"], gone["name"]) == ("DELETED", "watch", "a")
    assert gone["final_state_unknown"] is False and gone["resource_version"] == str(api.rv)
    assert gone["object"]["spec"]["ports"][0]["port"] == 80, "the state that was selected"
    d.control.wait_watch("services", resource_version=str(api.rv), objects=0)
    api.end_watches()
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services")[-1] == f"W({api.rv})"
    api.apply(service("n/a", labels={"app": "x"}))
    assert hook.wait(3)[2].what == ("ADDED", "n/a")


def test_s29_the_delete_of_an_unknown_object_only_moves_the_rv(api, daemon, hook):
    api.on_watch("services").stream(ev("DELETED", service("n/nobody"), rv=7), END)
    api.on_watch("services").stream(STALL)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert api.sequence("services") == ["L(0)", "W(2)", "W(7)"]
    d.control.wait_idle()
    assert hook.what() == [("ADDED", "n/a")] and not d.problems()


def busy_daemon(api, daemon, hook, **more):
    """A daemon whose hook is held up by n/busy."""
    hook.block("busy")
    api.apply(service("n/busy"))
    d = daemon(api, hooks={"h": hook_settings(hook, **more)})
    hook.wait(1)
    api.wait_watching("services")
    return d


def seen(d, api):
    d.control.wait_watch("services", resource_version=str(api.rv))


def test_s30_added_and_modified_before_the_run_are_one_added_with_the_newest_state(api, daemon,
                                                                                   hook):
    d = busy_daemon(api, daemon, hook)
    api.apply(service("n/a", ports=[80]))
    api.apply(service("n/a", ports=[81]))
    newest = api.apply(service("n/a", ports=[82]))
    seen(d, api)
    hook.release("busy")
    d.caught_up(api)
    assert hook.what()[1:] == [("ADDED", "n/a")]
    event = hook.runs()[1].event
    assert event["object"]["spec"]["ports"][0]["port"] == 82
    assert event["resource_version"] == newest["metadata"]["resourceVersion"]


def test_s31_added_and_deleted_while_the_hook_is_busy_starts_no_run(api, daemon, hook):
    d = busy_daemon(api, daemon, hook)
    api.apply(service("n/a"), service("n/b"))
    api.delete("services", "n/a")
    seen(d, api)
    hook.release("busy")
    d.caught_up(api)
    assert hook.what()[1:] == [("ADDED", "n/b")]


def test_s31_a_delivered_object_is_deleted_even_if_it_came_and_went_again(api, handled, hook):
    d = handled()
    hook.block("busy")
    api.apply(service("n/busy"))
    hook.wait(2)
    first = hook.runs()[0].event["uid"]
    api.delete("services", "n/a")
    api.apply(service("n/a"))
    api.delete("services", "n/a")
    seen(d, api)
    hook.release("busy")
    d.caught_up(api)
    assert hook.what()[2:] == [("DELETED", "n/a")]
    assert hook.runs()[2].event["uid"] == first


def churn(first, count):
    """Events that add and delete so many services, in chunks of 500."""
    rv = 100 + 2 * first
    template = json.dumps(service("n/NAME", uid="UID"), separators=(",", ":"))
    chunk = []
    for number in range(first, first + count):
        for kind in ("ADDED", "DELETED"):
            rv += 1
            body = template.replace("NAME", f"s{number}").replace("UID", f"u{number}")
            body = body.replace('"resourceVersion":"0"', f'"resourceVersion":"{rv}"')
            chunk.append(f'{{"type":"{kind}","object":{body}}}\n')
        if len(chunk) >= 1000:
            yield "".join(chunk).encode()
            chunk = []
    yield from ["".join(chunk).encode()] if chunk else []


@pytest.mark.parametrize("events", [["modified"], ["added", "modified", "deleted"]],
                         ids=["settled at once", "held up"])
def test_s39_the_memory_of_deleted_objects_is_freed(api, daemon, hook, events):
    warm, more, gate = 8000, campaign.size(24000, 100000), Gate()
    last = 100 + 2 * (warm + more)
    api.on_watch("services").stream(*churn(0, warm), bookmark(100 + 2 * warm), gate,
                                    *churn(warm, more), bookmark(last), STALL)
    hook.block("busy")
    api.apply(service("n/busy"))
    d = daemon(api, log={"level": "info"}, hooks={"h": hook_settings(hook, events=events)})
    d.control.wait_watch("services", resource_version=str(100 + 2 * warm))
    before = memory_kb(d.pid, "VmRSS")
    gate.open()
    d.control.wait_watch("services", resource_version=str(last), objects=1)
    assert d.control.watch("services")["events"] == 2 * (warm + more)
    if not is_sanitized():
        assert memory_kb(d.pid, "VmRSS") - before < 3072     # 200 bytes per object would be 4800
    hook.release("busy")
    d.control.wait_idle()
    wait_until(lambda: hook.ended() == len(hook.runs()))
    assert [what for what in hook.what() if what[1] != "n/busy"] == []
