# SPDX-License-Identifier: Apache-2.0
"""The state of a hook over a restart: pauses, skipped and parked objects, files, pending deletes;
and hooks that are new or gone."""
import campaign
import outputs
import pytest
from control import wait_until
from fakeapi import endpointslice, service
from harness import NOW, ONCE, SERVICES, TWO, hook_settings
from outputs import port, starts
from statefile import wait_noted

VIEW = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}


def edit(d, **settings):
    """Changes the configuration for the next start; None removes a setting."""
    for name, value in settings.items():
        if value is None:
            del d.settings[name]
        else:
            d.settings[name] = value
    d.write_config()


# ---- pause

@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_pause_lasts_until_a_person_ends_it(api, daemon, hook, new_hook, how):
    other = new_hook()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook, "other": other}).settled(api)
    assert d.ctl("pause", "h").returncode == 0
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0)
    d.stop() if how == "stop" else d.kill()
    api.apply(service("n/a", ports=[81]))
    d.start()
    other.wait(2)
    assert d.control.hook("h")["paused"] is True
    assert d.control.hook("h")["pending"] == 1 and len(hook.runs()) == 1
    assert d.ctl("resume", "h").returncode == 0
    assert hook.wait(2)[1].what == ("MODIFIED", "n/a")
    d.stop()
    d.again(api)
    assert d.control.hook("h")["paused"] is False and len(hook.runs()) == 2


@pytest.fixture(params=["itself", "one before it"])
def paused(api, daemon, hook, new_hook, request):
    """A daemon that was stopped while a run of h was due; h is paused, or waits for a hook that is
    paused."""
    first = new_hook()
    api.apply(service("n/a"))
    after = {"after": ["first"]} if request.param == "one before it" else {}
    d = daemon(api, hooks={"first": first, "h": hook_settings(hook, **after)}).settled(api)
    assert d.ctl("pause", "first" if after else "h").returncode == 0
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0)
    d.stop()
    api.apply(service("n/a", ports=[81]))
    return d


def test_readiness_does_not_wait_for_a_paused_hook(paused, hook):
    d = paused.start()
    wait_until(lambda: d.control.status()["ready"])
    assert len(hook.runs()) == 1
    assert d.ctl("resume").returncode == 0
    assert hook.wait(2)[1].what == ("MODIFIED", "n/a")


def test_once_leaves_a_paused_hook_out_and_says_so(paused, hook):
    assert paused.to_the_end("--once") == 0
    assert len(hook.runs()) == 1 and "paused hook was not run" in paused.stderr()


# ---- existing = "skip"

@pytest.mark.parametrize("mode", ["object", "batch", "snapshot"])
@pytest.mark.parametrize("listed", [False, True])
def test_skipped_objects_stay_skipped_and_new_objects_run(api, left, hook, mode, listed):
    d = left(service("n/old"), service("n/changes"), service("n/goes"), mode=mode, existing="skip",
             **NOW)
    api.apply(service("n/changes", ports=[81]), service("n/new"))
    api.delete("services", "n/goes")
    if listed:
        api.compact()
    d.again(api)
    assert sorted(what for run in hook.told() for what in run) == [
        ("ADDED", "n/new"), ("DELETED", "n/goes"), ("MODIFIED", "n/changes")]
    d.stop()
    hook.forget()
    d.again(api)
    assert not hook.runs()


def test_skip_holds_for_a_source_that_is_seen_for_the_first_time(api, left, hook):
    d = left(service("n/a"), endpointslice("n/x", "a", ["10.0.0.1"]), existing="skip",
             daemon={"watches": TWO})
    edit(d, hooks={"h": hook_settings(hook, existing="skip", sources=["services", "slices"])})
    d.again(api)
    assert not hook.runs()
    api.apply(endpointslice("n/y", "a", ["10.0.0.2"]))
    assert hook.wait(1)[0].what == ("ADDED", "n/y")


# ---- parked

@pytest.fixture
def parked(api, daemon, hook):
    """A daemon that was stopped after its hook "h" had parked n/a. The hook goes on failing."""
    hook.exit_with(3)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, park_exit=[3])})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    wait_noted(d)
    d.stop()
    return d


def test_a_parked_key_stays_parked_until_its_object_changes(api, parked, hook):
    d = parked.start()
    wait_until(lambda: d.control.status()["ready"])
    d.control.wait_watch("services", synced=True)
    assert d.control.hook("h")["parked"] == 1 and len(hook.runs()) == 1
    hook.exit_with(0)
    api.apply(service("n/a", ports=[81]))
    assert hook.wait(2)[1].what == ("ADDED", "n/a")
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_a_parked_hook_stays_parked_until_anything_changes(api, handled, hook, mode, how):
    d = handled(service("n/a"), mode=mode, park_exit=[3], **NOW)
    hook.exit_with(3)
    api.apply(service("n/a", ports=[81]))
    wait_until(lambda: d.control.hook("h")["parked"] == 1, what="the hook is parked")
    d.settled(api)
    for _ in range(2):
        d.kill() if how == "kill" else d.stop()
        d.again(api)
        assert d.control.hook("h")["parked"] == 1 and len(hook.runs()) == 2
    hook.exit_with(0)
    api.apply(service("n/b"))
    hook.wait(3)
    d.caught_up(api)
    assert sorted(hook.runs()[2].told) == [("ADDED", "n/b"), ("MODIFIED", "n/a")]
    assert len(hook.runs()) == 3 and d.control.hook("h")["parked"] == 0


def test_a_parked_key_whose_object_changed_meanwhile_runs(api, parked, hook):
    hook.exit_with(0)
    api.apply(service("n/a", ports=[81]))
    parked.again(api)
    assert hook.what() == [("ADDED", "n/a")] * 2 and hook.runs()[1].port == 81


# ---- snapshots and batches that are still due

@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_a_failed_batch_or_snapshot_is_still_due(api, daemon, hook, mode):
    hook.exit_with(1)
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode=mode, retry=ONCE, **NOW)})
    hook.wait(1)
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
    d.stop()
    hook.exit_with(0)
    hook.forget()
    d.again(api)
    (run,) = hook.runs()
    assert sorted(run.told) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    d.stop()
    d.again(api)
    assert len(hook.runs()) == 1


def test_the_first_empty_snapshot_is_told_once(api, left, hook):
    d = left(mode="snapshot", **NOW)
    d.again(api)
    assert not hook.runs()


# ---- a snapshot without a source that was in the snapshot before

def without_slices(api, left, hook):
    """A daemon that was started again while slices could not be read, and whose hook has run
    then."""
    d = left(service("n/a", ports=[81]), endpointslice("n/x", "a", ["10.0.0.1"]), mode="snapshot",
             sources=["services", "slices"], require="any", daemon={"watches": TWO}, **NOW)
    api.apply(service("n/a", ports=[82]))
    outage = api.on(resource="endpointslices", times=None).fail(503)
    d.start()
    hook.wait(1)
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 1)
    assert list(hook.runs()[0].snapshot) == ["services"]
    return d, outage


def test_a_source_that_a_snapshot_lacked_is_told_though_it_has_not_changed(api, left, hook):
    d, outage = without_slices(api, left, hook)
    outage.cancel()
    d.settled(api)
    assert [sorted(run.snapshot) for run in hook.runs()] == [["services"], ["services", "slices"]]
    assert hook.told()[1] == [] and hook.runs()[1].reason == "change"
    d.stop()
    hook.forget()
    d.again(api)
    assert not hook.runs()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_source_that_a_snapshot_lacked_is_still_due_after_a_restart(api, left, hook, how):
    d, outage = without_slices(api, left, hook)
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0)
    d.stop() if how == "stop" else d.kill()
    hook.forget()
    outage.cancel()
    d.again(api)
    assert sorted(hook.runs()[-1].snapshot) == ["services", "slices"]


# ---- files

def test_an_equal_file_is_neither_written_nor_applied_again(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": outputs.whole(place, apply=[applier.path])}).settled(api)
    before = outputs.identity(place / "all.cfg")
    d.stop()
    d.again(api)
    wait_applied(d)
    assert starts(applier) == 1 and outputs.identity(place / "all.cfg") == before


def wait_applied(d):
    wait_until(lambda: d.control.hook("h")["apply"] == "handled", what="apply has ended")


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_an_apply_that_was_cut_off_is_still_due(api, daemon, place, applier, how):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": outputs.whole(place, apply=[applier.path])},
               limits={"stop_timeout": "50ms"}).settled(api)
    wait_applied(d)
    applier.block()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: starts(applier) == 2)
    assert place.files() == {"all.cfg": '"port":82\n'}
    before = outputs.identity(place / "all.cfg")
    d.kill() if how == "kill" else d.stop()
    applier.release()
    d.again(api)
    wait_applied(d)
    assert starts(applier) == 3 and outputs.identity(place / "all.cfg") == before
    d.stop()
    d.again(api)
    wait_applied(d)
    assert starts(applier) == 3


@pytest.mark.parametrize("persist", ["full", "digest", "none"])
def test_files_of_objects_deleted_meanwhile_are_removed(api, daemon, place, applier, persist):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": outputs.each(place, apply=[applier.path])},
               watches={"services": {**SERVICES["services"], "persist": persist}}).settled(api)
    d.stop()
    done = starts(applier)
    api.delete("services", "n/b")
    api.apply(service("n/c", ports=[83]))
    d.again(api)
    wait_applied(d)
    assert place.files() == {"n/a.conf": port(81), "n/c.conf": port(83)}
    assert starts(applier) == done + 1
    d.stop()
    d.again(api)
    assert starts(applier) == done + 1, "nothing has changed"


@pytest.mark.parametrize("when", ["meanwhile", "later"])
def test_a_file_of_another_key_is_written_when_that_key_goes(api, daemon, place, when):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": outputs.each(place, output=place / "${name}.conf")}).settled(api)
    api.apply(service("m/a", ports=[82]))
    d.wait_problem("n/a of source services already", key="m/a")
    d.caught_up(api).stop()
    if when == "later":
        d.again(api)
    api.delete("services", "n/a")
    if when == "meanwhile":
        d.start()
    place.wait({"a.conf": port(82)})
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0


def test_a_file_of_a_forgotten_key_is_free(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    forgets = {"services": {"resource": "services", "namespaces": ["*"], "persist": "none"}}
    d = daemon(api, watches=forgets,
               hooks={"h": outputs.each(place, output=place / "${name}.conf")}).settled(api)
    d.stop()
    api.delete("services", "n/a")
    api.apply(service("m/a", ports=[82]))
    d.again(api)
    assert place.files() == {"a.conf": port(82)} and not d.problems(hook="h")


# ---- views

def slice_of(address):
    made = endpointslice("n/a-1", "a", [address])
    made["ports"][0]["name"] = "p80"
    return made


def viewed(left, **more):
    return left(service("n/a"), slice_of("10.0.0.1"), sources=["backends"],
                daemon={"watches": TWO, "views": VIEW}, **more)


def used(event):
    return [entry["address"] for port in event["object"]["ports"] for entry in port["use"]]


@pytest.mark.parametrize("mode", ["object", "batch", "snapshot"])
def test_an_unchanged_view_starts_no_run(api, left, hook, mode):
    d = viewed(left, mode=mode, **NOW)
    d.again(api)
    assert not hook.runs()
    assert len(d.control.objects("backends")) == 1
    assert not [r for r in api.requests if r.kind == "L"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_view_that_changed_meanwhile_is_told_once(api, left, hook, listed):
    d = viewed(left)
    api.apply(slice_of("10.0.0.2"))
    if listed:
        api.compact()
    d.again(api)
    (run,) = hook.runs()
    assert run.what == ("MODIFIED", "n/a") and used(run.event) == ["10.0.0.2"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_service_deleted_meanwhile_goes_from_the_view(api, left, hook, listed):
    d = viewed(left)
    api.delete("services", "n/a")
    api.delete("endpointslices", "n/a-1")
    if listed:
        api.compact()
    d.again(api)
    (run,) = hook.runs()
    assert run.what == ("DELETED", "n/a")


# ---- stale and fresh

def test_fresh_is_told_after_the_restart(api, stopped_stale, hook):
    d = stopped_stale(service("n/a"))
    api.listen()
    d.again(api)
    assert hook.what() == [("STALE", "services"), ("FRESH", "services")]


# ---- Hooks come and go

def test_a_new_hook_runs_for_all_objects_and_the_old_one_for_none(api, left, hook, new_hook):
    d = left(service("n/a"), service("n/b"))
    new = new_hook()
    edit(d, hooks={"h": d.settings["hooks"]["h"], "new": hook_settings(new)})
    d.again(api)
    assert sorted(new.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")] and not hook.runs()
    assert {run.reason for run in new.runs()} == {"existing"}


def test_a_hook_that_was_not_configured_at_one_start_knows_what_it_handled(api, left, hook,
                                                                           new_hook):
    d = left(service("n/a"), service("n/b"))
    before = d.settings["hooks"]
    edit(d, hooks={"other": hook_settings(new_hook())})
    d.again(api).stop()
    api.apply(service("n/b", ports=[81]))
    edit(d, hooks=before)
    d.again(api)
    assert hook.what() == [("MODIFIED", "n/b")]


def test_a_delete_while_the_hook_was_not_configured_is_told(api, left, hook, new_hook):
    d = left(service("n/a"), service("n/b"))
    before = d.settings["hooks"]
    edit(d, hooks={"other": hook_settings(new_hook())})
    d.again(api)
    api.delete("services", "n/a")
    d.caught_up(api).stop()
    edit(d, hooks=before)
    d.again(api)
    assert hook.what() == [("DELETED", "n/a")]
    assert hook.runs()[0].event["final_state_unknown"]


# ---- Pending deletes and successors

def test_a_delete_that_a_paused_hook_has_missed_is_told_after_resume(api, left, hook):
    d = left(service("n/a", ports=[81])).again(api)
    assert d.ctl("pause", "h").returncode == 0
    api.delete("services", "n/a")
    d.seen(api).stop()
    d.start().seen(api)
    wait_until(lambda: d.control.hook("h")["pending"] == 1)
    assert not hook.runs()
    assert d.ctl("resume", "h").returncode == 0
    run = hook.wait(1)[0]
    assert run.what == ("DELETED", "n/a") and run.port == 81


def test_a_delete_and_its_successor_keep_their_order(api, left, hook):
    d = left(service("n/a", ports=[81]), retry=ONCE).again(api)
    hook.exit_with(1)
    api.delete("services", "n/a")
    hook.wait(1)
    api.apply(service("n/a", ports=[82]))
    d.seen(api).stop()
    hook.exit_with(0)
    hook.forget()
    d.again(api)
    assert hook.what() == [("DELETED", "n/a"), ("ADDED", "n/a")]
    assert [run.port for run in hook.runs()] == [81, 82]


def test_an_undelivered_object_has_no_delete(api, left, hook):
    d = left(service("n/a")).again(api)
    assert d.ctl("pause", "h").returncode == 0
    api.apply(service("n/b"))
    d.seen(api).stop()
    api.delete("services", "n/b")
    d.start().seen(api)
    assert d.ctl("resume", "h").returncode == 0
    d.settled(api)
    assert not hook.runs()


# ---- informerctl, reruns, many objects

def test_why_says_that_a_key_was_handled_before_the_restart(api, left, hook):
    d = left(service("n/a"))
    assert d.again(api).ctl("why", "h", "n/a").stdout.count("handled before the restart") == 1
    assert not hook.runs()


def test_a_rerun_is_due_after_its_time_and_not_at_the_start(api, left, hook):
    d = left(service("n/a"), rerun_every="1h")
    d.again(api)
    assert not hook.runs()
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0
    assert [run.reason for run in hook.runs()] == ["manual"]


def test_of_many_objects_only_the_changed_ones_run(api, left, hook, factory):
    many = campaign.size(60, 300)
    count = factory.program('echo "$INFORMERD_EVENT $INFORMERD_NAME" >>$d/log')
    d = left(*[service(f"n/s{number}") for number in range(many)], command=[count.path],
             concurrency=4)
    log = count.folder / "log"
    assert len(log.read_text().splitlines()) == many
    log.unlink()
    api.apply(service("n/s7", ports=[81]))
    api.delete("services", "n/s8")
    d.again(api)
    assert sorted(log.read_text().splitlines()) == ["DELETED s8", "MODIFIED s7"]
    assert d.control.watch("services")["objects"] == many - 1
