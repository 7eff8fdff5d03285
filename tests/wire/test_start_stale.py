# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 110: no server answers at the start; hooks run from the state, told that it is
stale."""
import time

import pytest
from control import at_least, wait_until
from fakeapi import endpointslice, service
from harness import TWO, hook_settings
from mounts import boot
from statefile import StateFile, wait_noted

SOON = {"after": "100ms"}
ALL = ["added", "modified", "deleted", "left", "stale", "fresh"]
OTHER = "00000000-1111-4222-8333-444444444444"
EVERY = {"services": {"resource": "services", "namespaces": ["*"], "guard": {"hold": "1h"}}}
VIEW = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}
HOUR = 3600


@pytest.fixture
def alone(api, left):
    """alone(obj, ..., start_stale={...}, **settings): a daemon that was stopped after its hook had
    handled these objects; then its server went away. The hook has effect = "process", so that it
    has to run again at each start."""
    def make(*objects, start_stale=SOON, effect="process", daemon=None, **settings):
        more = {"watches": EVERY, "start_stale": start_stale, **(daemon or {})}
        d = left(*objects, effect=effect, daemon=more, **settings)
        api.stop_listening()
        return d
    return make


def started(d):
    """Starts the daemon; returns once its sources have the objects of the state, and are stale."""
    d.start()
    d.control.wait_watch("services", synced=True, stale=True)
    return d


def of_objects(hook):
    return sorted(run.what for run in hook.runs() if run.event["name"] is not None)


def test_s110_hooks_run_from_the_state_and_are_told_that_it_is_stale(api, alone, hook):
    d = alone(service("n/a", ports=[81]), service("n/b"))
    d.start()
    runs = hook.wait(2)
    assert of_objects(hook) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    for run in runs:
        source = run.input["sources"]["services"]
        assert source["stale"] is True and source["synced"] is True and source["age_s"] > 0
        assert run.reason == "renew" and run.event["object"]["spec"]
    watch = d.control.watch("services")
    assert watch["stale"] is True and watch["synced"] is True and watch["objects"] == 2
    assert any("stale" in reason for reason in d.control.status()["degraded"])
    wait_until(lambda: d.control.status()["ready"])


def test_s110_a_stale_start_is_not_synced_for_informerctl_wait(api, alone, hook):
    d = started(alone(service("n/a")))
    assert d.ctl_json("wait", "--for", "synced", "--timeout", "1ms", code=1)["waits_for"]
    api.listen()
    assert d.ctl("wait", "--for", "synced").stdout == "synced\n"


def test_s110_when_contact_is_back_only_differences_are_told(api, alone, hook):
    d = alone(service("n/a"), service("n/b"), service("n/c"))
    known = api.rv
    d.start()
    hook.wait(3)
    d.control.wait_idle()
    hook.forget()
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[81]))
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("DELETED", "n/a"), ("MODIFIED", "n/b")]
    assert api.sequence("services") == [f"W({known})"]
    d.control.wait_watch("services", stale=False)
    wait_until(lambda: d.control.status()["degraded"] == [])


def test_s110_when_contact_is_back_and_the_version_is_too_old_only_differences_are_told(
        api, alone, hook):
    d = alone(service("n/a"), service("n/b"), service("n/c"))
    d.start()
    hook.wait(3)
    d.control.wait_idle()
    hook.forget()
    api.delete("services", "n/a")
    api.compact()
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("DELETED", "n/a")]
    assert hook.runs()[0].event["cause"] == "restart"


def test_s110_handled_objects_do_not_run_again(api, alone, hook):
    d = started(alone(service("n/a"), effect="disk"))
    wait_until(lambda: d.control.status()["ready"])
    d.control.wait_idle()
    assert not hook.runs()


def test_s110_a_pending_delete_is_told(api, left, hook):
    d = left(service("n/a", ports=[81]), retry={"initial": "1h", "max": "1h"},
             daemon={"start_stale": SOON})
    d.again(api)
    hook.exit_with(1)
    api.delete("services", "n/a")
    hook.wait(1)
    d.seen(api)
    d.stop()
    api.stop_listening()
    hook.exit_with(0)
    d.start()
    assert hook.wait(2)[1].what == ("DELETED", "n/a") and hook.runs()[1].port == 81


def test_s110_stale_and_fresh_are_told_to_hooks_that_take_them(api, alone, hook):
    d = alone(service("n/a"), effect="disk", events=ALL)
    d.start()
    assert hook.wait(1)[0].what == ("STALE", "services")
    api.listen()
    assert hook.wait(2)[1].what == ("FRESH", "services")
    d.settled(api)
    assert len(hook.runs()) == 2


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_s110_other_modes_run_too(api, alone, hook, mode):
    d = alone(service("n/a"), service("n/b"), mode=mode, settle=["0s", "0s"])
    d.start()
    run = hook.wait(1)[0]
    assert run.input["sources"]["services"]["stale"] is True
    if mode == "snapshot":
        assert [obj["metadata"]["name"] for obj in run.snapshot["services"]] == ["a", "b"]
    hook.forget()
    api.listen()
    d.settled(api)
    assert not hook.runs()


def test_s110_a_view_is_made_from_the_state(api, alone, hook):
    part = endpointslice("n/a-1", "a", ["10.0.0.1"])
    part["ports"][0]["name"] = "p80"
    d = alone(service("n/a"), part, sources=["backends"],
              daemon={"watches": TWO, "views": VIEW})
    d.start()
    run = hook.wait(1)[0]
    assert run.what == ("ADDED", "n/a") and run.event["object"]["ready"] == 1
    assert run.input["sources"]["backends"]["stale"] is True


# ---- When it does not start stale

def test_s110_a_server_is_waited_for_first(api, alone, hook):
    d = alone(service("n/a"), start_stale={"after": "300ms"})
    begin = time.time()
    d.start()
    assert hook.wait(1)[0].what == ("ADDED", "n/a")
    assert at_least(0.3, d.starts("h")[-1][0] - begin)


def test_s110_a_hook_that_wants_fresh_sources_waits(api, alone, hook):
    d = started(alone(service("n/a"), when_stale="wait"))
    d.control.wait_idle()
    assert not hook.runs()
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("ADDED", "n/a")]
    assert hook.runs()[0].input["sources"]["services"]["stale"] is False


def test_s110_a_state_that_is_too_old_is_not_trusted(api, alone, hook):
    d = alone(service("n/a"), start_stale={"after": "100ms", "max_age": "1h"})
    with StateFile(d) as state:
        state.last_contact(2 * HOUR)
    d.start()
    d.wait_problem("max_age")
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    api.delete("services", "n/a")
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("DELETED", "n/a")], "the state still shows the difference"


def test_s110_a_state_that_is_younger_than_max_age_is_trusted(api, alone, hook):
    d = alone(service("n/a"), start_stale={"after": "100ms", "max_age": "3h"})
    then = time.time() - 2 * HOUR
    with StateFile(d) as state:
        state.last_contact(2 * HOUR)
    d.start()
    age = hook.wait(1)[0].input["sources"]["services"]["age_s"]
    assert 2 * HOUR <= age <= time.time() - then


def test_s110_a_clock_that_went_back_does_not_make_the_state_young(api, alone, hook):
    """Only the wall clock of the last contact is known, and that time is in the future."""
    d = alone(service("n/a"))
    with StateFile(d) as state:
        state.last_contact(-HOUR)
    d.start()
    d.wait_problem("clock", "max_age", watch="services")
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    api.delete("services", "n/a")
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("DELETED", "n/a")], "the state still shows the difference"


def set_back(value):
    """The time of the contact as noted before the clock was set back by an hour."""
    wall, rest = value.split(b" ", 1)
    return b"%d %s" % (int(wall) + HOUR * 10**9, rest)


def test_s110_in_the_same_boot_a_clock_that_went_back_does_not_matter(api, alone, hook):
    d = alone(service("n/a"), start_stale={"after": "100ms", "max_age": "30min"})
    with StateFile(d) as state:
        state.change_fact("contact", set_back)
    d.start()
    assert hook.wait(1)[0].input["sources"]["services"]["age_s"] < HOUR


def test_s110_after_a_boot_a_clock_that_went_back_does_not_make_the_state_young(api, alone, hook):
    d = alone(service("n/a"))
    with StateFile(d) as state:
        state.change_fact("contact", set_back)
    boot(d, OTHER)
    d.wait_problem("clock", "max_age", watch="services")
    assert d.control.watch("services")["synced"] is False and not hook.runs()


def test_s110_off_waits_for_the_server(api, alone, hook):
    d = alone(service("n/a"), start_stale={"after": "off"})
    d.start()
    d.control.wait_watch("services", state="waiting")
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("ADDED", "n/a")]
    assert hook.runs()[0].input["sources"]["services"]["stale"] is False


def test_s110_without_state_hooks_wait_for_the_server(api, daemon, hook):
    api.apply(service("n/a"))
    api.stop_listening()
    d = daemon(api, hooks={"h": hook}, start_stale=SOON)
    d.control.wait_watch("services", state="backoff")
    assert d.control.watch("services")["synced"] is False
    api.listen()
    d.settled(api)
    assert hook.what() == [("ADDED", "n/a")]
    assert hook.runs()[0].input["sources"]["services"]["stale"] is False


def test_s110_a_watch_without_kept_objects_waits_for_the_server(api, alone, hook):
    d = alone(service("n/a"), daemon={"watches": {"services": {
        "resource": "services", "namespaces": ["*"], "persist": "digest"}}})
    d.start()
    d.control.wait_watch("services", state="waiting")
    api.listen()
    d.settled(api)
    assert of_objects(hook) == [("ADDED", "n/a")]
    assert hook.runs()[0].input["sources"]["services"]["stale"] is False


# ---- Another cluster, found after a stale start

def test_s110_another_cluster_that_answers_later_is_held(api, alone, hook):
    d = alone(service("n/a"), service("n/b"))
    d.start()
    hook.wait(2)
    d.control.wait_idle()
    hook.forget()
    api.restore((1, {}))
    api.identity = OTHER
    api.apply(service("n/z"))
    api.listen()
    d.wait_problem("another cluster")
    wait_until(lambda: any("another cluster" in reason
                           for reason in d.control.status()["degraded"]))
    d.control.wait_idle()
    assert not hook.runs() and d.control.keys("services") == ["n/a", "n/b"]
    d.stop()
    d.settings["start_stale"] = {"after": "off"}
    d.write_config()
    d.again(api)
    assert of_objects(hook) == [("ADDED", "n/z")], "found at the start, it is set aside"


@pytest.mark.parametrize("known", [True, False])
def test_s110_a_moved_watch_does_not_begin_with_the_objects_of_another_cluster(new_api, factory,
                                                                               daemon, hook, known):
    """Either another watch knows the cluster that it was moved to, or that cluster was never
    seen."""
    east, west = new_api(), new_api()
    west.identity = OTHER
    east.apply(service("n/a"), service("n/b"))
    west.apply(service("n/b", ports=[82]))
    watches = {"services": {"resource": "services", "namespaces": ["*"], "cluster": "east"}}
    if known:
        watches["maps"] = {"resource": "configmaps", "namespaces": ["*"], "cluster": "west"}
    clusters = {"east": factory.cluster(east), "west": factory.cluster(west)}
    d = daemon(clusters=clusters, watches=watches, start_stale=SOON,
               hooks={"h": hook_settings(hook, effect="process")})
    hook.wait(2)
    d.caught_up(east, "services")
    wait_noted(d, clusters=2 if known else 1)
    d.stop()
    hook.forget()
    d.settings["watches"]["services"]["cluster"] = "west"
    d.write_config()
    west.stop_listening()
    d.start()
    d.wait_problem("another name", watch="services")
    d.control.wait_idle()
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    west.listen()
    d.settled(west)
    assert of_objects(hook) == [("ADDED", "n/b")]


# ---- Which answers come from a server, and count as contact

@pytest.mark.parametrize("how", [503, "rst", "stall"])
def test_s110_a_server_without_a_usable_answer_counts_as_away(api, alone, hook, how):
    """A load balancer without a server behind it answers 503."""
    d = alone(service("n/a"))
    api.identity = how
    broken = api.on(resource="services", times=None)
    broken.fail(503) if how == 503 else broken.drop()
    api.listen()
    d.start()
    run = hook.wait(1)[0]
    assert run.what == ("ADDED", "n/a") and run.input["sources"]["services"]["stale"] is True


def test_s110_a_stale_start_is_no_contact(api, alone, hook):
    """max_age counts from the last answer of a server, however often informerd was started
    since."""
    d = alone(service("n/a"))
    with StateFile(d) as state:
        state.last_contact(HOUR)
        before = state.facts("contact")
    d.start()
    hook.wait(1)
    d.control.wait_idle()
    d.stop()
    with StateFile(d) as state:
        assert state.facts("contact") == before
    hook.forget()
    api.delete("services", "n/a")
    api.listen()
    d.again(api)
    assert ("DELETED", "n/a") in of_objects(hook)


def test_s110_a_stop_before_the_contact_loses_nothing(api, alone, hook):
    d = alone(service("n/a"), service("n/b"), effect="disk")
    known = api.rv
    for how in (d.stop, d.kill, d.stop):
        started(d)
        how()
    api.delete("services", "n/a")
    api.listen()
    d.again(api)
    assert of_objects(hook) == [("DELETED", "n/a")]
    assert api.sequence("services") == [f"W({known})"]


def test_s110_a_cluster_that_answers_is_not_stale_because_another_does_not(new_api, factory, daemon,
                                                                          hook):
    east, west = new_api(), new_api()
    west.identity = OTHER
    east.apply(service("n/east"))
    west.apply(service("n/west"))
    watches = {name: {"resource": "services", "namespaces": ["*"], "cluster": name}
               for name in ("east", "west")}
    d = daemon(clusters={"east": factory.cluster(east), "west": factory.cluster(west)},
               watches=watches, start_stale=SOON, hooks={"h": hook_settings(
                   hook, sources=["east", "west"], effect="process")})
    d.caught_up(east, "east").caught_up(west, "west")
    wait_noted(d, clusters=2)
    d.stop()
    hook.forget()
    west.stop_listening()
    d.start()
    runs = {run.key: run for run in hook.wait(2)}
    assert sorted(runs) == ["n/east", "n/west"]
    d.control.wait_watch("east", synced=True, stale=False)
    d.control.wait_watch("west", synced=True, stale=True)
    assert runs["n/west"].input["sources"]["west"]["stale"] is True
    west.listen()
    d.control.wait_watch("west", stale=False)
    d.caught_up(west, "west")
    assert len(hook.runs()) == 2
