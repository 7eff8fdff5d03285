# SPDX-License-Identifier: Apache-2.0
"""How fresh a watch is: STALE and FRESH for hooks, status, degraded, the sources in the input of
runs. tests/unit/test_watch_stale.c proves in virtual time when a watch becomes stale. Here it does,
and the tests look at who is told."""
import itertools
import time

import pytest
from control import at_least, wait_until
from fakeapi import END, STALL, error_event, service
from harness import hook_settings

ALL = ["added", "modified", "deleted", "left", "stale", "fresh"]
AT_ONCE = {"mode": "snapshot", "settle": ["0s", "0s"]}
EVERY = {"resource": "services", "namespaces": ["*"]}


@pytest.fixture
def aging(api, factory):
    """aging(hooks, stale_after=...): a daemon whose watch becomes stale after a short time."""
    def make(hooks, stale_after="100ms", tuning=None, **more):
        cluster = {**factory.cluster(api, tuning), "stale_after": stale_after}
        return factory.daemon(api, clusters={"prod": cluster}, hooks=hooks, **more)
    return make


def all_fresh(d):
    """Whether all watches are fresh, and their hooks have been told so. The status says that a watch is
    fresh up to 20 ms before its hooks get FRESH, which the log shows."""
    return (not any(w["stale"] for w in d.control.status()["watches"].values())
            and len(d.log(msg="watch is stale")) == len(d.log(msg="watch is fresh again")))


def begun(d, api, *hooks):
    """Waits until the daemon's watches are open. That may have taken so long that they were stale,
    so only later runs of these hooks count."""
    def heard():
        api.bookmark()
        watches = d.control.status()["watches"].values()
        return all(w["last_bookmark_age_s"] is not None for w in watches) and all_fresh(d)
    d.settled(api)
    wait_until(heard, what="bookmarks come")
    d.control.wait_idle()
    for hook in hooks:
        hook.forget()
    return d


def away(api):
    api.stop_listening()
    api.drop("rst")


def of_source(hook):
    """The event types of the runs that were for the source, not for an object."""
    return [run.event["type"] for run in hook.runs() if run.event["name"] is None]


def test_a_lost_server_makes_a_watch_stale_and_its_return_fresh(api, aging, hook):
    api.apply(service("n/a"))
    d = aging({"h": hook_settings(hook, events=ALL)})
    hook.wait(1)
    begun(d, api, hook)
    away(api)
    stale = hook.wait(1)[0]
    event = stale.event
    assert (event["type"], event["source"], event["cluster"]) == ("STALE", "services", "prod")
    for name in ("api_version", "kind", "namespace", "name", "uid", "resource_version", "object"):
        assert event[name] is None
    assert event["received"].endswith("Z") and event["final_state_unknown"] is False
    assert stale.env["INFORMERD_EVENT"] == "STALE"
    assert stale.env["INFORMERD_SOURCE"] == "services"
    assert not stale.env.get("INFORMERD_NAME") and not stale.env.get("INFORMERD_UID")
    source = stale.input["sources"]["services"]
    assert source["stale"] is True and source["synced"] is True and source["age_s"] >= 0.09
    watch = d.control.watch("services")
    assert watch["stale"] is True and watch["synced"] is True and watch["last_error"]
    assert watch["objects"] == 1 and watch["contact_age_s"] >= 0.09
    assert any(r.startswith("watch services: stale") for r in d.control.status()["degraded"])
    assert d.ctl("status").returncode == 1
    api.listen()
    fresh = hook.wait(2)[1]
    assert (fresh.event["type"], fresh.event["source"]) == ("FRESH", "services")
    assert fresh.input["sources"]["services"]["stale"] is False
    d.control.wait_watch("services", stale=False, state="watching", last_error=None)
    assert d.control.status()["degraded"] == [] and d.ctl("status").returncode == 0
    d.caught_up(api)
    assert of_source(hook) == ["STALE", "FRESH"]


def test_stale_comes_after_stale_after_and_not_before(api, aging, hook):
    d = aging({"h": hook_settings(hook, events=["stale", "fresh"])}, stale_after="300ms")
    begun(d, api, hook)
    away(api)
    stale = hook.wait(1)[0]
    assert at_least(0.3, stale.input["sources"]["services"]["age_s"] + 0.02)


def test_streams_that_end_and_are_resumed_are_never_stale(api, aging, hook):
    """The outages last for longer than stale_after in all. The watch may become stale only if this
    machine takes so long for a single one."""
    stale_after = 0.6
    d = aging({"h": hook_settings(hook, events=ALL)}, stale_after="600ms")
    begun(d, api, hook)
    begin, longest = time.monotonic(), 0
    for number, how in enumerate(itertools.cycle(["END", "rst", "eof"])):
        lost = time.monotonic()
        if number > 6 and lost > begin + 1.5 * stale_after:
            break
        api.end_watches(how=how)
        api.wait_for_request(lambda r: r.kind == "W", count=number + 2)
        api.apply(service(f"n/s{number}"))
        hook.wait_what("ADDED", f"n/s{number}")
        longest = max(longest, time.monotonic() - lost)
    d.caught_up(api)
    assert of_source(hook) == [] or longest >= stale_after


def test_a_silent_stream_is_not_stale(api, aging, hook):
    api.on_watch("services").stream(STALL)
    api.apply(service("n/a"))
    d = aging({"h": hook_settings(hook, events=ALL)}, stale_after="50ms")
    hook.wait(1)
    d.control.wait_watch("services", state="watching", stale=False)
    wait_until(lambda: all_fresh(d), what="it is fresh")
    d.control.wait_idle()
    hook.forget()
    end = d.control.watch("services")["contact_age_s"] + 0.2
    wait_until(lambda: d.control.watch("services")["contact_age_s"] >= end)
    assert not d.control.watch("services")["stale"] and of_source(hook) == []


def test_a_server_that_answers_only_errors_makes_the_watch_stale(api, aging, hook):
    api.apply(service("n/a"))
    d = aging({"h": hook_settings(hook, events=["stale", "fresh"])})
    begun(d, api, hook)
    rule = api.on(resource="services", times=None).fail(500, message="etcd is gone")
    api.end_watches(how=error_event(500))
    assert hook.wait(1)[0].event["type"] == "STALE"
    wait_until(lambda: "etcd is gone" in str(d.control.status()["degraded"]))
    rule.cancel()
    assert hook.wait(2)[1].event["type"] == "FRESH"


def test_a_hook_that_takes_no_stale_does_not_run_for_it(api, aging, new_hook):
    told, plain = new_hook(), new_hook()
    api.apply(service("n/a"))
    d = aging({"told": hook_settings(told, events=ALL), "plain": plain})
    plain.wait(1)
    begun(d, api, told)
    away(api)
    told.wait_for(lambda r: r.event["type"] == "STALE")
    api.listen()
    told.wait_for(lambda r: r.event["type"] == "FRESH")
    d.caught_up(api)
    assert plain.what() == [("ADDED", "n/a")]


def test_an_outage_that_ends_before_the_hook_is_free_is_not_told(api, aging, hook):
    hook.block("busy")
    api.apply(service("n/busy"))
    d = aging({"h": hook_settings(hook, events=ALL)})
    hook.wait(1)
    api.wait_watching("services")
    d.control.wait_watch("services", state="watching", stale=False)
    before = len(d.log(msg="watch is stale"))
    away(api)
    wait_until(lambda: len(d.log(msg="watch is stale")) > before)
    api.listen()
    wait_until(lambda: len(d.log(msg="watch is fresh again")) > before)
    hook.release("busy")
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/busy")]


def test_each_outage_is_told(api, aging, hook):
    d = begun(aging({"h": hook_settings(hook, events=["stale", "fresh"])}), api, hook)
    for count in (1, 2):
        api.wait_watching("services")
        d.control.wait_watch("services", state="watching", stale=False)
        away(api)
        hook.wait(2 * count - 1)
        api.listen()
        hook.wait(2 * count)
    assert of_source(hook) == ["STALE", "FRESH"] * 2


def test_a_snapshot_hook_hears_of_the_outage_among_its_changes(api, aging, hook):
    api.apply(service("n/a"))
    d = aging({"h": hook_settings(hook, events=ALL, **AT_ONCE)})
    hook.wait(1)
    begun(d, api, hook)
    away(api)
    stale = hook.wait(1)[0]
    assert [(c["type"], c["source"], c["name"]) for c in stale.input["changes"]] == [
        ("STALE", "services", None)]
    assert stale.input["sources"]["services"]["stale"] is True
    assert len(stale.snapshot["services"]) == 1, "the last known content stays"
    api.listen()
    fresh = hook.wait(2)[1]
    assert [c["type"] for c in fresh.input["changes"]] == ["FRESH"]
    d.caught_up(api)
    assert len(hook.runs()) == 2


def test_a_failed_stale_run_is_retried_until_it_is_fresh(api, aging, hook):
    d = aging({"h": hook_settings(hook, events=["stale", "fresh"])})
    begun(d, api, hook)
    good = d.control.hook("h")["runs_ok"]
    hook.exit_with(1)
    away(api)
    runs = hook.wait(2)
    assert [(r.event["type"], r.input["attempt"]) for r in runs[:2]] == [("STALE", 1), ("STALE", 2)]
    hook.exit_with(0)
    wait_until(lambda: d.control.hook("h")["runs_ok"] == good + 1)
    api.listen()
    hook.wait_for(lambda r: r.event["type"] == "FRESH")


def test_only_the_watch_that_lost_its_stream_is_stale(api, aging, hook):
    api.apply(service("n/a"))
    watches = {"services": EVERY, "pods": {"resource": "pods", "namespaces": ["*"]}}
    d = aging({"h": hook_settings(hook, sources=["services", "pods"], events=ALL)}, watches=watches)
    hook.wait(1)
    begun(d, api, hook)
    rule = api.on(resource="services", times=None).drop("rst")
    api.end_watches("services", how="rst")
    stale = hook.wait(1)[0]
    assert stale.event["source"] == "services"
    assert stale.input["sources"]["pods"]["stale"] is False
    assert d.control.watch("pods")["stale"] is False
    rule.cancel()
    assert hook.wait(2)[1].event["source"] == "services"


def test_one_of_several_namespaces_makes_the_whole_watch_stale(api, aging, hook):
    d = aging({"h": hook_settings(hook, events=["stale", "fresh"])},
              watches={"services": {"resource": "services", "namespaces": ["a", "b"]}})
    api.wait_watching("services", 2)
    begun(d, api, hook)
    rule = api.on(resource="services", where=lambda r: r.namespace == "b", times=None).fail(500)
    api.end_watches()

    def told_last(kind):
        return [run.event["type"] for run in hook.runs()][-1:] == [kind]
    # The stream of the other namespace may have been late: then there was a STALE and FRESH before.
    wait_until(lambda: told_last("STALE") and d.control.watch("services")["stale"], what="STALE")
    rule.cancel()
    wait_until(lambda: told_last("FRESH"), what="FRESH")


def test_hooks_see_their_own_name_of_a_shared_watch_that_is_stale(api, aging, new_hook):
    one, two = new_hook(), new_hook()
    d = aging({"h1": hook_settings(one, sources=["one"], events=["stale"]),
               "h2": hook_settings(two, sources=["two"], events=["stale"])},
              watches={"one": EVERY, "two": EVERY})
    d.caught_up(api, "one")
    wait_until(lambda: d.log(msg="cluster identity known"))  # runs wait for the identity
    away(api)
    assert one.wait(1)[0].event["source"] == "one"
    assert two.wait(1)[0].event["source"] == "two"


def test_before_the_first_sync_a_watch_is_not_stale_but_degraded(api, aging, hook):
    api.on_list("services", times=None).fail(500, message="no etcd yet")
    d = aging({"h": hook_settings(hook, events=ALL)}, stale_after="50ms")
    api.wait_for_request(lambda r: r.kind == "L", count=4)
    watch = d.control.watch("services")
    assert not watch["stale"] and not watch["synced"]
    assert any("not synced" in reason for reason in d.control.status()["degraded"])
    assert not hook.runs()


def test_streams_that_end_at_once_for_ever_become_stale_or_are_listed(api, aging, hook):
    d = aging({"h": hook_settings(hook, events=ALL)})
    begun(d, api)
    rule = api.on_watch("services", times=None).stream(END)
    api.end_watches()
    api.wait_for_request(lambda r: r.kind == "W", count=5)
    api.apply(service("n/a"))
    hook.wait_what("ADDED", "n/a")
    rule.cancel()
    d.control.wait_watch("services", state="watching", stale=False)
