# SPDX-License-Identifier: Apache-2.0
"""The state, and its use at a restart: persist, edited watches, age, versions of the file, and
other processes that use the folder."""
import base64
import stat

import pytest
from confwriter import merge
from control import wait_until
from fakeapi import Gate, service, simple
from harness import ONCE, hook_settings
from hostile import of_state
from statefile import NAME, StateFile, everything, untouched

DAY = 86400
READABLE_BY_1, FOR_2_ONLY = 1 << 16 | 2, 2 << 16 | 2     # user_version, see state/schema.h


def every(resource="services", **more):
    return {"services": {"resource": resource, "namespaces": ["*"], **more}}


def edit_watch(d, **settings):
    d.settings = merge(d.settings, {"watches": {"services": settings}})
    d.write_config()


def abd():
    return service("n/a", ports=[81]), service("n/b"), service("n/d")


def change(api):
    api.delete("services", "n/a")
    api.apply(service("n/b", ports=[82]), service("n/c"))
    return [("ADDED", "n/c"), ("DELETED", "n/a"), ("MODIFIED", "n/b")]


# ---- The folder

def test_the_state_is_private(left):
    d = left(service("n/a"))
    assert stat.S_IMODE(d.state.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in d.state.iterdir()} == {0o600}
    assert (d.state / NAME).exists()


@pytest.mark.parametrize("what", ["file", "below nothing", "somebody else's"])
def test_a_state_dir_that_cannot_be_used_is_a_bad_configuration(api, daemon, tmp_path, what):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "precious").touch()
    path = {"file": tmp_path / "file", "below nothing": tmp_path / "no" / "state",
            "somebody else's": tmp_path / "theirs"}[what]
    if what == "somebody else's":
        path.chmod(0o755)
    d = daemon(api, state_dir=path, start=False)
    d.start(wait=False)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 78 and str(path) in d.stderr()
    assert (tmp_path / "file").read_text() == "precious" and not api.accepted


def test_without_a_state_dir_hooks_run_again_for_all_objects(api, left, hook):
    d = left(service("n/a"), daemon={"state_dir": "none"})
    api.delete("services", "n/a")
    api.apply(service("n/b"))
    d.again(api)
    assert hook.what() == [("ADDED", "n/b")] and hook.runs()[0].reason == "existing"
    assert api.sequence("services") == ["L(0)", f"W({api.rv})"]
    assert not d.state.exists()
    assert not of_state(d.problems())


# ---- persist

def test_persist_digest_lists_and_tells_changes_without_the_last_state(api, left, hook):
    d = left(*abd(), daemon={"watches": every(persist="digest")})
    wanted = change(api)
    d.again(api)
    assert sorted(hook.what()) == wanted
    assert [r.kind for r in api.of("services")] == ["L", "W"]
    events = {run.key: run.event for run in hook.runs()}
    gone = events["n/a"]
    assert gone["object"] is None and gone["final_state_unknown"] and gone["cause"] == "restart"
    assert gone["uid"] and gone["name"] == "a"
    assert events["n/b"]["changed"] == ["*"] and events["n/b"]["object"]["spec"]


@pytest.mark.parametrize("mode", ["object", "batch", "snapshot"])
def test_persist_digest_starts_no_run_for_unchanged_objects(api, left, hook, mode):
    d = left(*abd(), mode=mode, settle=["0s", "0s"], daemon={"watches": every(persist="digest")})
    d.again(api)
    assert not hook.runs()


def test_persist_none_knows_nothing_of_objects(api, left, hook):
    d = left(*abd(), daemon={"watches": every(persist="none")})
    with StateFile(d) as state:
        assert state.keys("object") == [] and state.facts("version") == []
    change(api)
    d.again(api)
    assert sorted(hook.what()) == [("ADDED", "n/b"), ("ADDED", "n/c"), ("ADDED", "n/d")]
    assert [r.kind for r in api.of("services")] == ["L", "W"]


@pytest.mark.parametrize("persist", ["full", "digest"])
def test_deleted_objects_are_removed_from_the_state(api, left, hook, persist):
    d = left(*abd(), daemon={"watches": every(persist=persist)})
    with StateFile(d) as state:
        assert state.keys("object") == state.keys("mark") == ["n/a", "n/b", "n/d"]
    change(api)
    d.again(api).stop()
    with StateFile(d) as state:
        assert state.keys("object") == state.keys("mark") == ["n/b", "n/c", "n/d"]


def secret(key, text):
    return simple("Secret", key, data={"password": base64.b64encode(text.encode()).decode()},
                  type="Opaque")


def words(*texts):
    """The forms in which these texts may occur in a file."""
    return [form for text in texts for form in (text.encode(), base64.b64encode(text.encode()))]


def test_only_digests_of_secrets_are_written(api, daemon, hook):
    """While the daemon runs and after its end; of existing Secrets, and of one whose DELETED is
    still pending."""
    texts = [f"the password number {n} is long" for n in range(3)]
    api.apply(secret("n/a", texts[0]), secret("n/b", texts[1]))
    api.apply(simple("ConfigMap", "n/c", data={"k": "to be found in the state"}))
    watches = {"secrets": {"resource": "secrets", "namespaces": ["*"]},
               "maps": {"resource": "configmaps", "namespaces": ["*"]}}
    d = daemon(api, watches=watches, hooks={"h": hook_settings(
        hook, sources=["secrets", "maps"], retry=ONCE)}).settled(api)
    assert texts[0].encode() in base64.b64decode(
        hook.of("n/a")[0].event["object"]["data"]["password"])
    hook.exit_with(1)
    api.apply(secret("n/b", texts[2]))
    api.delete("secrets", "n/a")
    hook.wait_what("DELETED", "n/a")
    hook.wait_what("MODIFIED", "n/b")
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 2)
    for running in (True, False):
        if not running:
            d.stop()
        kept = everything(d)
        assert b"to be found in the state" in kept
        assert not [word for word in words(*texts) if word in kept], running
    hook.exit_with(0)
    hook.forget()
    d.again(api)
    assert sorted(hook.what()) == [("DELETED", "n/a"), ("MODIFIED", "n/b")]
    assert hook.of("n/a")[0].event["object"] is None


# ---- Edited watches

TIERS = (service("n/a", ports=[81], labels={"tier": "x"}), service("n/b", labels={"tier": "y"}))


@pytest.mark.parametrize("setting", [{"label_selector": "tier=y"}, {"match": [
    "metadata.labels.tier=y"]}, {"namespaces": ["n"], "names": ["b"]}], ids=str)
def test_an_object_that_an_edited_watch_does_not_select_has_left(api, left, hook, setting):
    d = left(*TIERS)
    edit_watch(d, **setting)
    d.again(api)
    (run,) = hook.runs()
    event = run.event
    assert run.what == ("LEFT", "n/a") and event["cause"] == "config" and run.port == 81
    assert event["final_state_unknown"] is False
    assert d.control.keys("services") == ["n/b"]
    d.stop()
    hook.forget()
    api.forget()
    d.again(api)
    assert not hook.runs() and not api.of("services", "L")


def test_objects_of_a_namespace_that_is_no_longer_watched_have_left(api, left, hook):
    d = left(service("n/a"), service("m/b"), daemon={"watches": {"services": {
        "resource": "services", "namespaces": ["n", "m"]}}})
    edit_watch(d, namespaces=["n"])
    d.again(api)
    assert hook.what() == [("LEFT", "m/b")] and hook.runs()[0].event["cause"] == "config"


def test_an_object_that_only_an_edited_watch_selects_is_added(api, left, hook):
    d = left(*TIERS, daemon={"watches": every(label_selector="tier=y")})
    edit_watch(d, label_selector="")
    d.again(api)
    assert hook.what() == [("ADDED", "n/a")] and hook.runs()[0].event["cause"] == "config"


def test_another_shape_of_the_objects_is_a_change(api, left, hook):
    d = left(*abd())
    edit_watch(d, keep=["spec.ports"])
    d.again(api)
    assert sorted(hook.what()) == [("MODIFIED", f"n/{name}") for name in "abd"]
    assert {run.event["cause"] for run in hook.runs()} == {"config"}


SHAPES = {"keep": ({}, {"keep": ["spec.ports"]}), "drop": ({}, {"drop": ["spec.selector"]}),
          "size": ({"limits": {"object_size": "1MiB"}}, {})}


@pytest.mark.parametrize("how", SHAPES)
def test_an_object_that_is_gone_when_its_shape_was_edited_is_deleted(api, left, hook, how):
    """The selection has not changed, so an object that a list lacks cannot exist unselected."""
    settings, watch = SHAPES[how]
    d = left(*abd())
    d.settings.update(settings)
    edit_watch(d, **watch)
    api.delete("services", "n/a")
    d.again(api)
    assert [what for what in hook.what() if what[0] != "MODIFIED"] == [("DELETED", "n/a")]
    event = hook.of("n/a")[0].event
    assert event["final_state_unknown"] is True and hook.of("n/a")[0].port == 81


@pytest.mark.parametrize("more", [["n", "m"], ["*"]], ids=str)
def test_an_object_that_is_gone_when_namespaces_were_added_is_deleted(api, left, hook, more):
    d = left(service("n/a", ports=[81]), service("n/b"), service("m/c"),
             daemon={"watches": every(namespaces=["n"])})
    edit_watch(d, namespaces=more)
    api.delete("services", "n/a")
    d.start()
    hook.wait(2)
    d.control.wait_idle()
    assert sorted(hook.what()) == [("ADDED", "m/c"), ("DELETED", "n/a")]
    assert hook.of("n/a")[0].event["final_state_unknown"] is True and hook.of("n/a")[0].port == 81


def test_an_equal_watch_that_comes_before_it_changes_nothing(api, left, hook):
    d = left(*abd())
    was = d.settings["watches"]
    d.settings = {**d.settings, "watches": {"all": every()["services"], **was}}
    d.write_config()
    api.delete("services", "n/a")
    d.start()
    d.caught_up(api, "services")
    assert hook.what() == [("DELETED", "n/a")] and hook.runs()[0].event["object"]
    assert not api.of("services", "L")


def test_a_watch_with_other_tuning_is_the_same_watch(api, left, hook):
    d = left(*abd())
    edit_watch(d, guard={"hold": "5s"}, confirm_deletes=True)
    known = api.rv
    d.again(api)
    assert not hook.runs() and api.sequence("services") == [f"W({known})"]


def test_a_watch_that_was_not_configured_at_one_start_tells_all_changes(api, left, hook, new_hook):
    d = left(*abd())
    before = d.settings["watches"], d.settings["hooks"]
    d.settings["watches"] = {"maps": {"resource": "configmaps", "namespaces": ["*"]}}
    d.settings["hooks"] = {"other": hook_settings(new_hook(), sources=["maps"])}
    d.write_config()
    d.again(api).stop()
    wanted = change(api)
    d.settings["watches"], d.settings["hooks"] = before
    d.write_config()
    d.again(api)
    assert sorted(hook.what()) == wanted


# ---- Age and versions

def test_after_three_months_only_differences_are_told(api, left, hook):
    d = left(*abd())
    with StateFile(d) as state:
        state.last_contact(90 * DAY)
    wanted = change(api)
    api.compact()
    d.again(api)
    assert sorted(hook.what()) == wanted
    assert [r.kind for r in api.of("services")] == ["W", "L", "W"]
    assert not of_state(d.problems())


def test_a_readable_state_of_a_newer_release_is_used_and_kept_whole(api, left, hook):
    """A downgrade and an upgrade again: the additions of the newer release stay in the state."""
    d = left(*abd())
    with StateFile(d) as state:
        state.version = READABLE_BY_1
        state.rows("CREATE TABLE of_the_future(a)")
        state.rows("ALTER TABLE object ADD COLUMN of_the_future TEXT")
        state.rows("INSERT INTO of_the_future VALUES (1)")
    wanted = change(api)
    d.again(api).stop()
    assert sorted(hook.what()) == wanted and not of_state(d.problems())
    with StateFile(d) as state:
        assert state.version == READABLE_BY_1
        assert state.rows("SELECT a FROM of_the_future") == [(1,)]
        assert state.keys("object") == ["n/b", "n/c", "n/d"]
    hook.forget()
    d.again(api)
    assert not hook.runs()


def test_a_state_that_is_too_new_is_set_aside_whole(api, left, hook):
    d = left(*abd())
    with StateFile(d) as state:
        state.version = FOR_2_ONLY
    newer = (d.state / NAME).read_bytes()
    d.again(api)
    assert sorted(hook.what()) == [("ADDED", f"n/{name}") for name in "abd"]
    (told,) = of_state(d.problems())
    assert "newer release" in str(told), told
    aside = [path for path in d.state.iterdir() if path.read_bytes() == newer]
    assert len(aside) == 1 and str(aside[0]) in str(told)
    d.stop()
    hook.forget()
    d.again(api)
    assert not hook.runs(), "the new state is in use"


# ---- Other processes that use the folder

def test_a_second_daemon_on_the_folder_is_refused_and_told_who_has_it(api, left, daemon, hook,
                                                                     new_hook):
    d = left(service("n/a")).again(api)
    other = new_hook()
    second = daemon(api, hooks={"h": other}, state_dir=d.state, start=False)
    second.start(wait=False)
    second.expected_exit = second.wait_exit()
    assert second.expected_exit == 1
    assert f"process {d.pid}" in second.stderr() and str(d.state) in second.stderr()
    assert not other.runs()
    api.apply(service("n/b"))
    assert hook.wait(1)[0].what == ("ADDED", "n/b")


def test_the_folder_is_free_as_soon_as_its_daemon_was_killed(api, left, daemon, new_hook):
    d = left(service("n/a")).again(api)
    d.kill()
    d.expected_exit = d.process.returncode
    second = daemon(api, hooks={"h": new_hook()}, state_dir=d.state)
    second.synced()


@pytest.mark.parametrize("flags", [["--once"], ["--once", "--dry-run"]], ids=" ".join)
def test_once_beside_the_service_goes_on_without_the_state(api, left, daemon, hook, new_hook,
                                                           flags):
    d = left(service("n/a")).again(api)
    other = new_hook()
    second = daemon(api, hooks={"h": other}, state_dir=d.state, start=False)
    assert second.to_the_end(*flags) == 0
    assert [run.what for run in other.runs()] == [("ADDED", "n/a")] * ("--dry-run" not in flags)
    assert not of_state(second.problems())
    d.stop()
    d.again(api)
    assert not hook.runs(), "nobody has changed the state"


def test_once_keeps_what_it_has_handled_for_the_next_one(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, start=False, hooks={"h": hook})
    assert d.to_the_end("--once") == 0
    hook.forget()
    api.delete("services", "n/a")
    api.apply(service("n/c"))
    assert d.to_the_end("--once") == 0
    assert sorted(hook.what()) == [("ADDED", "n/c"), ("DELETED", "n/a")]
    hook.forget()
    assert d.to_the_end("--once") == 0
    assert not hook.runs()


def test_a_dry_run_knows_the_state_and_changes_nothing(api, left, hook):
    d = left(*abd())
    wanted = change(api)
    with untouched(d):
        assert d.to_the_end("--once", "--dry-run") == 0
    lines = [(e["event"], e["key"]) for e in d.log(msg="would run hook")]
    assert sorted(lines) == wanted and not hook.runs()
    d.expected_exit = 0
    d.again(api)
    assert sorted(hook.what()) == wanted


# ---- Scopes and clusters of a watch

def test_of_two_namespaces_only_the_one_whose_version_is_lost_is_listed(api, left, hook):
    d = left(service("n/a"), service("m/b"), daemon={"watches": {"services": {
        "resource": "services", "namespaces": ["n", "m"]}}})
    api.delete("services", "n/a")
    api.delete("services", "m/b")
    api.on_watch("services", where=lambda r: r.namespace == "m").fail(410)
    d.again(api)
    assert [r.kind for r in api.of("services") if r.namespace == "n"] == ["W"]
    assert [r.kind for r in api.of("services") if r.namespace == "m"] == ["W", "L", "W"]
    assert {run.key: (run.event["type"], run.event["cause"]) for run in hook.runs()} == {
        "n/a": ("DELETED", "watch"), "m/b": ("DELETED", "restart")}


def test_a_watch_that_was_moved_to_another_cluster_deletes_nothing(new_api, factory, daemon, hook):
    east, west = new_api(), new_api()
    west.identity = "another-cluster"
    east.apply(service("n/a"), service("n/b"))
    west.apply(service("n/b", ports=[82]), service("n/c"))
    clusters = {"east": factory.cluster(east), "west": factory.cluster(west)}
    watches = {"services": {"resource": "services", "namespaces": ["*"], "cluster": "east"}}
    d = daemon(clusters=clusters, watches=watches, hooks={"h": hook}).settled(east)
    d.stop()
    hook.forget()
    d.settings = merge(d.settings, {"watches": {"services": {"cluster": "west"}}})
    d.write_config()
    d.again(west)
    assert sorted(hook.what()) == [("ADDED", "n/b"), ("ADDED", "n/c")]
    assert d.control.keys("services") == ["n/b", "n/c"]


def test_a_list_that_a_kill_cut_off_is_begun_anew(api, daemon, hook):
    api.apply(*abd())
    gate = Gate()
    rule = api.on_list("services", times=None).hold(gate)
    d = daemon(api, hooks={"h": hook})
    gate.wait_reached()
    d.kill()
    rule.cancel()
    gate.open()
    d.again(api)
    assert sorted(hook.what()) == [("ADDED", f"n/{name}") for name in "abd"]
