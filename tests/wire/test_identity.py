# SPDX-License-Identifier: Apache-2.0
"""Which cluster is behind the address: asked once at a start, kept, and compared
(docs/design.md "Cluster identity")."""
import time

import pytest
from control import at_least, wait_until
from fakeapi import Authority, Gate, service
from harness import hook_settings
from hostile import of_state, sweep
from outputs import each, port
from statefile import wait_noted

OTHER = "00000000-1111-4222-8333-444444444444"
NEVER = {"services": {"resource": "services", "namespaces": ["*"], "guard": {"hold": "1h"}}}


def services(*names):
    return [service(f"n/{name}") for name in names]


def other_cluster(api, uid=OTHER):
    """Another cluster takes the address: its versions begin anew, and it has objects of its own,
    one of them with a known name."""
    api.restore((1, {}))
    api.identity = uid
    api.apply(service("n/a", ports=[99]), service("n/z"))


def test_the_identity_is_requested_once_at_each_start(api, daemon, hook):
    api.apply(*services("a"))
    d = daemon(api, hooks={"h": hook}).settled(api)
    assert len(api.identity_requests) == 1
    d.stop()
    api.forget()
    d.again(api)
    api.apply(service("n/b"))
    api.end_watches()
    hook.wait(2)
    d.caught_up(api)
    (request,) = api.identity_requests
    assert request.accept.startswith("application/json;as=PartialObjectMetadataList;")


@pytest.mark.parametrize("said", [403, 404])
def test_without_the_right_to_read_the_uid_the_ca_identifies_the_cluster(api, left, hook, said):
    api.identity = said
    d = left(*services("a", "b"))
    api.delete("services", "n/a")
    known = api.rv - 1
    d.again(api)
    assert hook.what() == [("DELETED", "n/a")]
    assert api.sequence("services") == [f"W({known})"] and not of_state(d.problems())


@pytest.mark.parametrize("before, now", [(200, 403), (403, 200)])
def test_a_cluster_is_the_same_when_the_right_to_read_its_uid_changes(api, left, hook, before, now):
    uid = api.identity
    api.identity = before if before != 200 else uid
    d = left(*services("a"))
    api.identity = now if now != 200 else uid
    known = api.rv
    d.again(api)
    assert not hook.runs() and api.sequence("services") == [f"W({known})"]


@pytest.mark.parametrize("mode", ["object", "batch", "snapshot"])
def test_another_cluster_behind_the_address_deletes_nothing(api, left, hook, mode):
    """Its objects are told as new. No hook is told of the first cluster's objects, or of their
    end."""
    d = left(*services("a", "b", "c"), mode=mode, settle=["0s", "0s"], daemon={"watches": NEVER})
    other_cluster(api)
    d.again(api)
    told = sorted(what for run in hook.told() for what in run)
    assert told == [("ADDED", "n/a"), ("ADDED", "n/z")]
    assert d.control.keys("services") == ["n/a", "n/z"]
    assert api.sequence("services")[:1] == ["L(0)"]
    assert len([entry for entry in d.problems() if "another cluster" in str(entry)]) == 1
    d.stop()
    hook.forget()
    api.forget()
    d.again(api)
    assert not hook.runs() and not api.of("services", "L"), "the new cluster is known now"


def test_a_hook_that_was_not_configured_meanwhile_gets_no_deletes(api, left, hook):
    """The hook was told of the first cluster's objects; meanwhile another hook has followed the
    second cluster."""
    d = left(*services("a", "b"))
    was = d.settings
    d.settings = {**was, "hooks": {"other": was["hooks"]["h"]}}
    d.write_config()
    other_cluster(api)
    d.again(api).stop()
    hook.forget()
    d.settings = was
    d.write_config()
    d.again(api)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/z")]


def test_a_file_of_the_first_cluster_goes_to_the_key_that_has_its_path_now(api, daemon, place):
    api.apply(*services("a"))
    d = daemon(api, hooks={"h": each(place, output=place / "${name}.conf")}).settled(api)
    d.stop()
    other_cluster(api)
    api.delete("services", "n/a")
    api.apply(service("m/a", ports=[82]))
    d.again(api)
    assert place.files()["a.conf"] == port(82) and d.control.hook("h")["parked"] == 0


def test_fresh_is_told_when_another_cluster_answers_after_stale(api, stopped_stale, hook):
    d = stopped_stale(*services("a"))
    other_cluster(api)
    api.listen()
    d.again(api)
    assert hook.what() == [("STALE", "services"), ("FRESH", "services")]


def another_authority(api, d, folder):
    """Gives the servers certificates of another CA, which the kubeconfig names."""
    folder.mkdir()
    made = Authority(folder)
    api.set_tls(made.server())
    api.kubeconfig(d.settings["clusters"]["prod"]["kubeconfig"], ca=made)


def test_an_authority_that_was_renewed_is_no_other_cluster(api, left, hook, tmp_path):
    d = left(*services("a", "b"))
    another_authority(api, d, tmp_path / "renewed")
    known = api.rv
    api.delete("services", "n/a")
    d.again(api)
    assert hook.what() == [("DELETED", "n/a")] and api.sequence("services") == [f"W({known})"]
    api.identity = 403
    d.stop()
    hook.forget()
    d.again(api)
    assert not hook.runs() and not of_state(d.problems()), "the new authority was noted"


def test_without_a_uid_another_authority_is_another_cluster(api, left, hook, tmp_path):
    api.identity = 403
    d = left(*services("a", "b", "c"))
    another_authority(api, d, tmp_path / "other")
    other_cluster(api, uid=403)
    d.again(api)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/z")]
    d.wait_problem("another cluster")


def test_of_two_clusters_only_the_replaced_one_is_forgotten(new_api, daemon, factory, hook):
    east, west = new_api(), new_api()
    east.apply(*services("a", "b"))
    west.apply(*services("c", "d"))
    west.identity = OTHER
    watches = {name: {"resource": "services", "namespaces": ["*"], "cluster": name}
               for name in ("east", "west")}
    d = daemon(clusters={"east": factory.cluster(east), "west": factory.cluster(west)},
               watches=watches, hooks={"h": hook_settings(hook, sources=["east", "west"])})
    for api, name in ((east, "east"), (west, "west")):
        d.caught_up(api, name)
    wait_noted(d, clusters=2)
    d.stop()
    hook.forget()
    east.delete("services", "n/a")
    other_cluster(west, uid="another-one")
    d.start().caught_up(east, "east").caught_up(west, "west")
    wait_until(lambda: d.control.status()["ready"])
    d.control.wait_idle()
    assert sorted((run.event["cluster"], *run.what) for run in hook.runs()) == [
        ("east", "DELETED", "n/a"), ("west", "ADDED", "n/a"), ("west", "ADDED", "n/z")]


# ---- Until the cluster's identity is known

def test_watches_with_objects_wait_for_the_answer_and_new_ones_do_not(api, left, hook, new_hook):
    d = left(*services("a", "b"))
    d.settings["watches"]["maps"] = {"resource": "configmaps", "namespaces": ["*"]}
    d.write_config()
    api.identity_gate = Gate()
    api.delete("services", "n/a")
    d.start()
    api.identity_gate.wait_reached()
    d.control.wait_watch("maps", synced=True)
    assert not api.of("services") and not hook.runs()
    assert d.control.watch("services")["synced"] is False
    api.identity_gate.open()
    d.settled(api)
    assert hook.what() == [("DELETED", "n/a")]


def gave_up(d):
    """The log lines in which the daemon gives up the question. It does so after five seconds, which
    any test may take on a machine that pauses."""
    return [line for line in d.log("warn") if "LIST of namespace kube-system fails" in line["msg"]]


@pytest.mark.parametrize("said", sweep([500, 503, 429, "rst", "eof"], [500, 429, "rst"]))
def test_the_identity_is_requested_until_it_is_answered(api, left, hook, said):
    d = left(*services("a", "b"))
    uid, api.identity = api.identity, said
    api.delete("services", "n/a")
    d.start()
    api.wait(lambda: len(api.identity_requests) >= 3)
    early = list(api.of("services")) or hook.runs()
    assert not early or gave_up(d)
    api.identity = uid
    d.settled(api)
    assert hook.what() == [("DELETED", "n/a")]


@pytest.mark.parametrize("said", sweep([500, "rst", "eof"], [500]))
def test_a_server_that_never_answers_is_known_by_its_authority(api, left, hook, said):
    """tests/unit/test_cluster_identity_driver.c shows which responses count as no answer, and for how
    long."""
    d = left(*services("a", "b"))
    api.identity = said
    api.delete("services", "n/a")
    known = api.rv - 1
    d.start()
    assert hook.wait(1)[0].what == ("DELETED", "n/a")
    assert api.sequence("services") == [f"W({known})"]
    (warning,) = gave_up(d)
    assert "identified by its CA" in warning["msg"]


def test_the_state_of_a_server_that_never_answers_is_used(api, daemon, hook):
    """Such a cluster is known by its CA, as a cluster that does not tell its uid."""
    api.identity = 500
    api.apply(*services("a", "b"))
    d = daemon(api, hooks={"h": hook}).settled(api)
    d.stop()
    hook.forget()
    api.forget()
    known = api.rv
    api.delete("services", "n/a")
    api.identity = 403
    d.start()
    assert hook.wait(1)[0].what == ("DELETED", "n/a")
    assert api.sequence("services") == [f"W({known})"]


def test_a_start_without_state_lists_first_and_runs_wait_for_a_second_at_most(api, daemon, hook):
    api.identity_gate = Gate()
    api.apply(*services("a"))
    started = time.time()
    d = daemon(api, hooks={"h": hook})
    assert hook.wait(1)[0].what == ("ADDED", "n/a")
    assert at_least(1, hook.runs()[0].began - started)
    (cluster,) = d.control.status()["clusters"].values()
    assert "not answered yet" in str(cluster)
    api.identity_gate.open()
    wait_until(lambda: "not answered yet" not in str(d.control.status()["clusters"]))
    d.stop()


def end_before_it_is_known(api, d, how):
    if how == "once":
        assert d.to_the_end("--once") == 0
        return
    api.identity_gate = Gate()
    d.start()
    wait_until(lambda: d.control.status()["ready"])
    d.kill()
    api.identity_gate.open()


def later_cluster(api):
    """Another cluster, whose versions are higher than those that the daemon knows."""
    other_cluster(api)
    for port in range(30):
        api.apply(service("n/z", ports=[100 + port]))
    api.compact()


@pytest.mark.parametrize("other", [other_cluster, later_cluster])
@pytest.mark.parametrize("how", ["once", "kill"])
def test_another_cluster_after_a_start_that_ended_before_the_identity_was_known(api, daemon, hook,
                                                                                how, other):
    api.apply(*services("a", "b", "c"))
    d = daemon(api, start=False, hooks={"h": hook})
    end_before_it_is_known(api, d, how)
    hook.forget()
    other(api)
    d.expected_exit = 0
    d.start().settled(api)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/z")]
    assert d.control.keys("services") == ["n/a", "n/z"]


def test_the_service_knows_the_runs_of_once(api, daemon, hook):
    api.apply(*services("a", "b"))
    d = daemon(api, start=False, hooks={"h": hook})
    assert d.to_the_end("--once") == 0
    hook.forget()
    api.forget()
    known = api.rv
    api.delete("services", "n/a")
    d.expected_exit = 0
    d.start().settled(api)
    assert hook.what() == [("DELETED", "n/a")]
    assert api.sequence("services") == [f"W({known})"]


# ---- The same cluster, older

@pytest.fixture
def restored(api, daemon, hook):
    """A daemon that knew n/a to n/d when it was stopped. Then the server was restored to n/a
    alone."""
    api.apply(service("n/a"))
    backup = api.snapshot()
    d = daemon(api, hooks={"h": hook}, watches=NEVER)
    api.apply(*services("b", "c", "d"))
    d.settled(api).stop()
    hook.forget()
    api.restore(backup)
    return d


def test_a_cluster_that_came_back_from_a_backup_meanwhile_deletes_nothing_by_itself(
        api, restored, hook):
    restored.start()
    held = restored.control.wait_watch("services", held=True)
    assert held["held_reason"] == "backwards" and held["objects"] == 4
    restored.control.wait_idle()
    assert not hook.runs()
    assert restored.ctl("guard", "accept", "services").returncode == 0
    restored.control.wait_watch("services", held=False, objects=1)
    restored.control.wait_idle()
    assert sorted(hook.what()) == [("DELETED", f"n/{name}") for name in "bcd"]


def test_a_held_list_is_held_again_after_a_restart(api, restored, hook):
    d = restored.start()
    d.control.wait_watch("services", held=True)
    d.stop()
    d.start()
    held = d.control.wait_watch("services", held=True)
    assert held["objects"] == 4 and not hook.runs()
    assert d.ctl("guard", "accept", "services").returncode == 0
    d.control.wait_watch("services", held=False, objects=1)
    d.control.wait_idle()
    assert sorted(hook.what()) == [("DELETED", f"n/{name}") for name in "bcd"]


def test_a_list_after_a_restart_that_would_delete_too_much_is_held(api, left, hook):
    d = left(*services(*"abcdefghijkl"), daemon={"watches": NEVER})
    for name in "abcdefghijk":
        api.delete("services", f"n/{name}", silent=True)
    api.compact()
    d.start()
    held = d.control.wait_watch("services", held=True)
    assert held["held_reason"] == "deletes" and held["objects"] == 12
    d.kill()
    d.start()
    d.control.wait_watch("services", held=True, objects=12)
    assert not hook.runs()
    assert d.ctl("guard", "accept", "services").returncode == 0
    assert len(hook.wait(11)) == 11
    d.caught_up(api)
    assert sorted(hook.what()) == [("DELETED", f"n/{name}") for name in "abcdefghijk"]


def test_a_list_that_would_delete_too_much_is_held_though_keep_was_edited(api, left, hook):
    d = left(*services(*"abcdefghijkl"), daemon={"watches": NEVER})
    for name in "abcdefghijk":
        api.delete("services", f"n/{name}", silent=True)
    d.settings["watches"] = {"services": {**NEVER["services"], "keep": ["spec.ports"]}}
    d.write_config()
    d.start()
    held = d.control.wait_watch("services", held=True)
    assert held["held_reason"] == "deletes" and held["objects"] == 12
    assert not hook.runs()


def test_deletes_that_the_watch_sends_are_not_held(api, left, hook):
    d = left(*services(*"abcdefghijkl"), daemon={"watches": NEVER})
    for name in "abcdefghijkl":
        api.delete("services", f"n/{name}")
    d.again(api)
    assert len(hook.runs()) == 12 and {run.event["type"] for run in hook.runs()} == {"DELETED"}
