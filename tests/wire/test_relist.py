# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 4-9, 11, 17, 32, 34-37: later lists, their parameters, and the events for hooks."""
import pytest
from fakeapi import STALL, bookmark, error_event, ev, service


def listed_at(api, rv, *keys):
    """Creates Services on a server, and sets its version to rv."""
    for key in keys:
        api.apply(service(key))
    api.rv = rv


def break_watch(api, watches=2):
    """Makes the open watch fail, and waits for the watch that follows in the end."""
    api.wait_watching("services")
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W" and r.resource == "services", count=watches)


def waits(d):
    """The reasons, in words, why the daemon has waited before a request. test_reflector.c and
    test_reflector_doubt.c prove in virtual time that there are no other waits."""
    return [line["err"] for line in d.log(watch="services") if "retry_in_ms" in line]


def only_for_the_error(d):
    (why,) = waits(d)
    return "server says 500" in why


def test_s4_a_list_from_a_known_rv_does_not_page(api, daemon):
    listed_at(api, 10, "n/a")
    daemon(api)
    break_watch(api)
    first, again = api.of("services", "L")
    assert (first.rv, first.query["limit"]) == ("0", "500")
    assert again.rv == "10" and "limit" not in again.query
    assert "resourceVersionMatch" not in again.query


def test_s5_a_server_that_pages_the_first_list_is_asked_for_pages_later(api, daemon, hook):
    listed_at(api, 10, "n/a", "n/b")
    one, two = api.get("services", "n/a"), api.get("services", "n/b")
    api.on_list("services").list([one], rv=10, token="C1")
    api.on_list("services").list([two], rv=10)
    d = daemon(api, hooks={"h": hook})
    break_watch(api)
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)", "C(C1)", "W(10)", "L(10)", "W(10)"]
    assert [r.query.get("limit") for r in api.of("services", "L")] == ["500"] * 3
    assert len(hook.runs()) == 2


RELIST_CAUSES = {
    "ERROR 500": lambda api: None,
    "HTTP 500": lambda api: api.on_watch("services").fail(500),
    "HTTP 404": lambda api: api.on_watch("services").fail(404),
}


@pytest.mark.parametrize("name", RELIST_CAUSES)
def test_s6_the_list_after_an_error_is_not_older_than_the_last_seen_rv(api, daemon, hook, name):
    listed_at(api, 10, "n/a")
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    RELIST_CAUSES[name](api)
    api.end_watches(how=error_event(500) if name == "ERROR 500" else "END")
    api.wait(lambda: len(api.of("services", "L")) >= 2)
    d.caught_up(api)
    assert {r.rv for r in api.of("services", "L")[1:]} == {"10"}
    assert hook.what() == [("ADDED", "n/a")]


def test_s7_an_expired_rv_is_left_out_at_once_and_is_no_error(api, daemon, hook):
    listed_at(api, 10, "n/a")
    api.on_list("services", where=lambda r: r.rv == "10").fail(
        410, "Expired", "too old resource version: 10 (100)")
    d = daemon(api, hooks={"h": hook})
    break_watch(api)
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "L(-)", "W(10)"]
    assert only_for_the_error(d), waits(d)
    watch = d.control.watch("services")
    assert watch["last_error"] is None and watch["relists"] == 1
    assert hook.what() == [("ADDED", "n/a")]


@pytest.mark.parametrize("again", [False, True], ids=["expired", "expired again"])
def test_s8_an_expired_token_leads_to_one_list_without_pages(api, daemon, hook, again):
    listed_at(api, 10, *[f"n/s{i}" for i in range(8)])
    d = daemon(api, hooks={"h": hook}, tuning={"page_size": 4})
    hook.wait(8)
    api.delete("services", "n/s0", silent=True)
    api.apply(service("n/s8"), silent=True)
    page = [api.get("services", f"n/s{i}") for i in range(1, 5)]
    api.on_list("services", where=lambda r: r.rv == "10").list(page, rv=12, token="C1")
    api.on_list("services", where=lambda r: r.token).fail(410, "Expired", token_is_old())
    if again:
        api.on_list("services", where=lambda r: r.rv == "10").fail(410, "Expired")
    break_watch(api)
    d.caught_up(api)
    whole = ["L(10)", "L(-)"] if again else ["L(10)"]
    asked = api.of("services")[2:]
    assert api.sequence("services")[2:4 + len(whole)] == ["L(10)", "C(C1)", *whole]
    assert [r.query.get("limit") for r in asked[:3]] == ["4", "4", None]
    assert "resourceVersion" not in asked[1].query and "continue" not in asked[2].query
    assert only_for_the_error(d), waits(d)
    assert sorted(d.control.keys("services")) == [f"n/s{i}" for i in range(1, 9)]
    assert sorted(hook.what()[8:]) == [("ADDED", "n/s8"), ("DELETED", "n/s0")]


def token_is_old():
    return ("The provided continue parameter is too old to display a consistent list result. You "
            "can start a new list without the continue parameter.")


def test_s8_a_first_list_whose_token_expires_comes_whole(api, daemon, hook):
    listed_at(api, 10, *[f"n/s{i}" for i in range(8)])
    api.watch_cache = False
    api.on_list("services", where=lambda r: r.token).fail(410, "Expired", token_is_old())
    d = daemon(api, tuning={"page_size": 4}, hooks={"h": hook})
    hook.wait(8)
    d.caught_up(api)
    last = api.of("services", "L")[-1]
    assert last.rv == "0" and "continue" not in last.query and "limit" not in last.query
    assert len(api.of("services", "L")) == 3 and len(hook.runs()) == 8


TOO_LARGE = "Too large resource version"
SPELLINGS = [
    {"details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": TOO_LARGE}],
                 "retryAfterSeconds": 3600}, "retry_after": 3600},
    {"details": {"causes": [{"message": TOO_LARGE}]}},
    {"details": {"retryAfterSeconds": 3600}, "message": f"Timeout: {TOO_LARGE}: 40, current: 30"},
]


def test_s9_too_large_in_three_spellings_is_a_list_without_rv(api, daemon, hook):
    items = [api.apply(service("n/a"))]
    api.rv = 40
    for step, spelling in enumerate(SPELLINGS):
        rv = 20 + 10 * step
        where = None if step else (lambda r: r.rv == "0")
        api.on_list("services", where=where).list(items, rv=rv)
        api.on_list("services", where=lambda r, rv=str(rv): r.rv == rv).fail(
            504, "Timeout", **spelling)
    api.on_list("services").list(items, rv=50)
    api.on_watch("services", times=3).stream(error_event(500))
    api.on_watch("services").stream(STALL)
    d = daemon(api, hooks={"h": hook})
    d.control.wait_watch("services", resource_version="50", state="watching")
    d.control.wait_idle()
    assert api.sequence("services") == ["L(0)", "W(20)", "L(20)", "L(-)", "W(30)", "L(30)", "L(-)",
                                        "W(40)", "L(40)", "L(-)", "W(50)"]
    assert hook.what() == [("ADDED", "n/a")]


def test_s11_too_large_with_retry_after_is_not_repeated(api, daemon, hook):
    listed_at(api, 10, "n/a")
    api.on_list("services", where=lambda r: r.rv == "10", times=None).fail(
        504, "Timeout", **SPELLINGS[0])
    d = daemon(api, hooks={"h": hook})
    break_watch(api)
    d.caught_up(api)
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "L(-)", "W(10)"]
    assert only_for_the_error(d), waits(d)


def test_s11_a_504_that_is_not_too_large_is_an_ordinary_failure(api, daemon):
    listed_at(api, 10, "n/a")
    api.on_list("services", where=lambda r: r.rv == "10").fail(
        504, "Timeout", message="Timeout: request did not complete within the allowed duration")
    d = daemon(api)
    break_watch(api)
    assert api.sequence("services") == ["L(0)", "W(10)", "L(10)", "L(10)", "W(10)"]
    assert len(waits(d)) == 2


def test_s17_a_relist_finds_the_delete_that_the_watch_missed(api, daemon, hook):
    api.apply(service("n/a", ports=[80]), service("n/b"), service("n/c"))
    last = api.rv
    d = daemon(api, hooks={"h": hook})
    hook.wait(3)
    api.wait_watching("services")
    kept = api.get("services", "n/a")
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[443]), silent=True)
    api.apply(service("n/d"), silent=True)
    api.end_watches(how=error_event(500))
    hook.wait(6)
    d.caught_up(api)
    assert api.sequence("services")[:3] == ["L(0)", f"W({last})", f"L({last})"]
    assert sorted(hook.what()[3:]) == [("ADDED", "n/d"), ("DELETED", "n/a"), ("MODIFIED", "n/b")]
    gone = hook.wait_what("DELETED", "n/a").event
    assert gone["final_state_unknown"] is True and gone["cause"] == "relist"
    assert gone["object"]["spec"] == kept["spec"] and gone["uid"] == kept["metadata"]["uid"]
    assert "managedFields" not in gone["object"]["metadata"]
    changed = hook.wait_what("MODIFIED", "n/b").event
    assert changed["final_state_unknown"] is False and changed["cause"] == "relist"


def test_s32_a_delete_that_the_watch_sent_is_final_and_told_once(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    api.delete("services", "n/a")
    hook.wait(3)
    api.end_watches(how=error_event(500))
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    d.caught_up(api)
    assert len(hook.runs()) == 3
    gone = hook.runs()[2].event
    assert gone["final_state_unknown"] is False and gone["cause"] == "watch"


def test_a_relist_without_changes_fires_nothing(api, daemon, hook):
    api.apply(*[service(f"n/s{i}") for i in range(5)])
    d = daemon(api, hooks={"h": hook})
    hook.wait(5)
    api.wait_watching("services")
    for count in range(1, 4):
        api.end_watches(how=error_event(500))
        api.wait_for_request(lambda r: r.kind == "W", count=count + 1)
        api.wait_watching("services")
    d.caught_up(api)
    assert len(hook.runs()) == 5
    assert d.control.watch("services")["relists"] >= 3


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_s32_a_relist_does_not_repeat_a_delete(api, daemon, hook, busy):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    d.caught_up(api)
    if busy:
        hook.block()
        api.apply(service("n/b", ports=[81]))
        hook.wait(3)
    api.delete("services", "n/a")
    d.control.wait_watch("services", resource_version=str(api.rv), objects=1)
    break_watch(api)
    d.control.wait_watch("services", relists=1, state="watching")
    if busy:
        hook.release()
    d.caught_up(api)
    assert [what for what in hook.what() if what[0] == "DELETED"] == [("DELETED", "n/a")]


def test_s34_a_relist_tells_deletes_first_then_changed_and_new_objects(api, daemon, hook):
    api.apply(service("n/b"), service("n/z"), service("n/y"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(3)
    d.caught_up(api)
    api.delete("services", "n/z", silent=True)
    api.apply(service("n/b", ports=[81]), service("n/c"), silent=True)
    break_watch(api)
    d.caught_up(api)
    assert hook.what()[3:] == [("DELETED", "n/z"), ("MODIFIED", "n/b"), ("ADDED", "n/c")]


def test_s35_changes_of_the_gap_come_as_changes_not_as_existing(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    api.apply(service("n/a", ports=[81]), service("n/b"), silent=True)
    break_watch(api)
    d.caught_up(api)
    later = hook.runs()[1:]
    assert [run.what for run in later] == [("MODIFIED", "n/a"), ("ADDED", "n/b")]
    assert [(run.input["reason"], run.event["cause"]) for run in later] == [
        ("change", "relist")] * 2
    assert hook.runs()[0].input["reason"] == "existing"


@pytest.mark.parametrize("how", ["rst", "error"])
def test_s36_a_disruption_brings_exactly_the_differences(api, daemon, hook, how):
    api.apply(*[service(f"n/{name}") for name in "abcd"])
    d = daemon(api, hooks={"h": hook})
    hook.wait(4)
    api.wait_watching("services")
    api.apply(service("n/d", ports=[443]))
    hook.wait(5)
    d.caught_up(api)
    api.stop_listening()
    api.drop("rst")
    api.delete("services", "n/a", silent=how == "error")
    api.apply(service("n/b", ports=[81]), service("n/e"), silent=how == "error")
    if how == "error":
        api.compact()
    api.listen()
    api.wait_watching("services")
    d.caught_up(api)
    assert sorted(hook.what()[5:]) == [("ADDED", "n/e"), ("DELETED", "n/a"), ("MODIFIED", "n/b")]
    assert len(api.of("services", "L")) == (2 if how == "error" else 1)


@pytest.mark.parametrize("how", ["relist", "watch"])
def test_s37_another_uid_is_a_delete_and_a_new_object(api, daemon, hook, how):
    old = api.apply(service("n/a", ports=[80]))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    if how == "relist":
        api.delete("services", "n/a", silent=True)
        new = api.apply(service("n/a", ports=[80]), silent=True)
        break_watch(api)
    else:
        new = service("n/a", ports=[80])
        api.on_watch("services").stream(ev("MODIFIED", new, rv=20), bookmark(21), STALL)
        api.end_watches(how="END")
        api.rv = 21
    hook.wait(3)
    d.control.wait_idle()
    assert hook.what() == [("ADDED", "n/a"), ("DELETED", "n/a"), ("ADDED", "n/a")]
    gone, came = (run.event for run in hook.runs()[1:])
    assert gone["uid"] == old["metadata"]["uid"] == gone["object"]["metadata"]["uid"]
    assert came["uid"] == new["metadata"]["uid"] == came["object"]["metadata"]["uid"]
    assert gone["final_state_unknown"] is True and came["final_state_unknown"] is False


def test_a_generation_that_jumps_in_a_relist_is_no_change(api, daemon, hook):
    obj = service("n/a")
    obj["metadata"]["generation"] = 1
    api.apply(obj)
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    obj["metadata"]["generation"] = 7
    api.apply(obj, silent=True)
    break_watch(api)
    d.caught_up(api)
    assert len(hook.runs()) == 1
    assert d.control.objects("services", "n/a")["metadata"]["generation"] == 7
