# SPDX-License-Identifier: Apache-2.0
"""Restarts of watches that select, cut or confirm, of servers that stream their lists, and of those
that do not let informerd in."""
import pytest
from fakeapi import custom_object, service
from harness import hook_settings

both = pytest.mark.parametrize("listed", [False, True], ids=["watched", "listed"])
X, Y = {"tier": "x"}, {"tier": "y"}


def every(**more):
    return {"watches": {"services": {"resource": "services", "namespaces": ["*"], **more}}}


def again(d, api, listed):
    if listed:
        api.compact()
    d.again(api)
    assert [r.kind for r in api.of("services")] == (["W", "L", "W"] if listed else ["W"])


# ---- Objects that leave while informerd is down

@both
def test_an_object_that_no_longer_matches_has_left(api, left, hook, listed):
    d = left(service("n/a", labels=X), service("n/b", labels=X),
             daemon=every(match=["metadata.labels.tier=x"]))
    api.apply(service("n/a", ports=[81], labels=Y))
    again(d, api, listed)
    (run,) = hook.runs()
    assert run.what == ("LEFT", "n/a") and run.port == 80, "the last state that was selected"
    assert run.event["cause"] == ("restart" if listed else "watch")
    assert run.event["final_state_unknown"] is False


@both
def test_an_object_that_the_server_no_longer_selects_is_told_as_deleted(api, left, hook, listed):
    d = left(service("n/a", labels=X), service("n/b", labels=X),
             daemon=every(label_selector="tier=x"))
    api.apply(service("n/a", labels=Y))
    again(d, api, listed)
    assert hook.what() == [("DELETED", "n/a")]
    assert hook.runs()[0].event["final_state_unknown"] is listed


@both
@pytest.mark.parametrize("gone", [False, True], ids=["there", "gone"])
def test_confirm_deletes_finds_out_which_objects_only_left(api, left, hook, listed, gone):
    d = left(service("n/a", labels=X), service("n/b", labels=X),
             daemon=every(label_selector="tier=x", confirm_deletes=True))
    if gone:
        api.delete("services", "n/a")
    else:
        api.apply(service("n/a", labels=Y))
    if listed:
        api.compact()
    d.again(api)
    hook.wait(1)    # a delete that is being confirmed does not count as pending yet
    d.control.wait_idle()
    assert hook.what() == [("DELETED" if gone else "LEFT", "n/a")]
    assert [r.kind for r in api.of("services") if r.kind == "G"] == ["G"]


def test_an_edited_watch_of_digests_tells_left_without_the_object(api, left, hook):
    d = left(service("n/a", labels=X), service("n/b", labels=Y), daemon=every(persist="digest"))
    d.settings["watches"]["services"] = {**d.settings["watches"]["services"],
                                         "label_selector": "tier=y"}
    d.write_config()
    d.again(api)
    (run,) = hook.runs()
    assert run.what == ("LEFT", "n/a") and run.event["object"] is None
    assert run.event["cause"] == "config"


# ---- Changes that do not count

@both
def test_a_change_of_other_paths_starts_no_run(api, left, hook, listed):
    d = left(service("n/a"), service("n/b"), changes_in=["spec.ports"])
    api.apply(service("n/a", labels=X))
    again(d, api, listed)
    assert not hook.runs()
    assert d.control.objects("services", "n/a")["metadata"]["labels"] == X


@both
def test_a_change_of_a_dropped_path_starts_no_run(api, left, hook, listed):
    d = left(service("n/a", labels=X), daemon=every(drop=["metadata.labels"]))
    api.apply(service("n/a", labels=Y))
    again(d, api, listed)
    assert not hook.runs()


@both
def test_a_change_of_a_kept_path_starts_a_run(api, left, hook, listed):
    d = left(service("n/a", ports=[80]), daemon=every(keep=["spec.ports"]), include_old=True)
    api.apply(service("n/a", ports=[81]))
    again(d, api, listed)
    (run,) = hook.runs()
    assert run.what == ("MODIFIED", "n/a") and run.event["changed"] == ["spec.ports[0].name",
                                                                       "spec.ports[0].port",
                                                                       "spec.ports[0].targetPort"]
    assert list(run.event["old_object"]["spec"]) == ["ports"]


# ---- Servers

def test_a_server_that_streams_its_lists_is_asked_for_a_stream(api, left, hook):
    api.watch_list = True
    d = left(service("n/a"), service("n/b"), service("n/c"),
             daemon={"tuning": {"watch_list": "on"}})
    known = api.rv
    d.again(api).stop()
    assert api.sequence("services") == [f"W({known})"] and not hook.runs()
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[81]))
    api.compact()
    api.forget()
    d.again(api)
    assert sorted(hook.what()) == [("DELETED", "n/a"), ("MODIFIED", "n/b")]
    assert [r.kind for r in api.of("services")] == ["W", "S"]
    assert hook.of("n/a")[0].event["cause"] == "restart"


def test_a_server_that_was_restarted_meanwhile_and_knows_no_history_is_listed_once(api, left, hook):
    d = left(service("n/a"), service("n/b"))
    api.apply(service("n/c"))
    api.restart()
    d.again(api)
    assert hook.what() == [("ADDED", "n/c")]
    assert [r.kind for r in api.of("services")] == ["W", "L", "W"]


def test_a_server_that_was_restarted_meanwhile_without_a_change_is_not_listed(api, left, hook):
    d = left(service("n/a"), service("n/b"))
    api.restart()
    known = api.rv
    d.again(api)
    assert not hook.runs() and api.sequence("services") == [f"W({known})"]


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_a_watch_that_is_refused_at_first_loses_nothing(api, left, hook, status):
    d = left(service("n/a"), service("n/b"), daemon={"start_stale": {"after": "off"}})
    api.delete("services", "n/a")
    refused = api.on(resource="services", times=None).fail(status)
    d.start()
    api.wait_for_request(lambda r: r.resource == "services", count=3)
    assert d.control.watch("services")["synced"] is False and not hook.runs()
    refused.cancel()
    d.settled(api)
    assert hook.what() == [("DELETED", "n/a")]


@pytest.fixture
def widgets(api, daemon, hook):
    """A daemon that was stopped after its hook had handled two objects of a CRD."""
    api.define("widgets.v1.example.com", kind="Widget")
    api.apply(custom_object("Widget", "n/a", spec={"z": 1}), custom_object("Widget", "n/b"))
    d = daemon(api, watches={"w": {"resource": "widgets.v1.example.com", "namespaces": ["*"]}},
               hooks={"h": hook_settings(hook, sources=["w"])}).settled(api)
    d.stop()
    hook.forget()
    api.forget()
    return d


def test_objects_of_a_crd_are_known_again(api, widgets, hook):
    api.delete("widgets", "n/a")
    widgets.again(api)
    (run,) = hook.runs()
    assert run.what == ("DELETED", "n/a") and run.event["object"]["spec"] == {"z": 1}
    assert [r.kind for r in api.of("widgets")] == ["W"]


def test_a_crd_that_is_gone_deletes_nothing_by_being_unknown(api, widgets, hook):
    api.undefine("widgets.example.com")
    widgets.start()
    api.wait_for_request(lambda r: r.path == "/apis", count=2)
    widgets.control.wait_idle()
    assert widgets.control.watch("w")["synced"] is False and not hook.runs()
    with api.store.lock:            # no watch begins between the two
        api.define("widgets.v1.example.com", kind="Widget")
        api.compact("widgets")      # the watch cache of a new CRD begins now
    api.apply(custom_object("Widget", "n/b"))
    hook.wait(3)
    widgets.settled(api)
    assert sorted(hook.what()) == [("ADDED", "n/b"), ("DELETED", "n/a"), ("DELETED", "n/b")]
