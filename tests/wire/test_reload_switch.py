# SPDX-License-Identifier: Apache-2.0
"""A reload switches the running daemon over to the changed configuration: equal parts go on, changed parts
follow the rules of a restart (docs/design.md "Reload")."""
import contextlib
import os
import signal
import subprocess

import pytest

import proctree
from control import PATIENCE, wait_until
from fakeapi import endpointslice, service, simple
from harness import INFORMERCTL, NOW, ONCE, hook_settings

CONFIGMAPS = {"configmaps": {"resource": "configmaps", "namespaces": ["*"]}}
SERVICES = {"services": {"resource": "services", "namespaces": ["*"]}}


def reload(d, code=0, **changes):
    """Writes the settings of d, with these groups in the place of theirs, and reloads them."""
    for group, value in changes.items():
        d.settings[group] = value
    d.write_config()
    done = d.ctl("reload")
    assert done.returncode == code, done.stdout + done.stderr
    return done


def by_sighup(d, **changes):
    """The same by SIGHUP, which gives no answer: the status tells when the reload has ended."""
    d.settings.update(changes)
    before = d.control.status()["reload"]["ended"]
    d.write_config()
    d.signal(signal.SIGHUP)
    wait_until(lambda: d.control.status()["reload"]["ended"] != before, what="the reload has ended")
    assert d.control.status()["reload"]["result"] == "reloaded"


class Waiting:
    """An informerctl reload that runs on."""

    def __init__(self, d, **changes):
        d.settings.update(changes)
        d.write_config()
        self.process = subprocess.Popen([INFORMERCTL, "--socket", d.control.path, "reload"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Its exit code."""
        self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@contextlib.contextmanager
def stopped(pid):
    """The process stands still during the block."""
    try:
        proctree.stop(pid)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def configmap(key):
    return simple("ConfigMap", key)


@pytest.fixture
def other(new_hook):
    return new_hook()


@pytest.fixture
def two(api, daemon, hook, other):
    """two(obj, ..., h={...}, watches=...): a daemon whose hooks h and other have handled these
    objects. Only later runs and requests count. servers: {cluster: server}, if there are several.
    Equal watches have one stream, so each watch is waited for by itself."""
    def make(*objects, h=None, watches=None, servers=None, **settings):
        api.apply(*(objects or [service("n/a"), service("n/b")]))
        d = daemon(api, watches=watches, hooks={"h": hook_settings(hook, **NOW, **(h or {})),
                                                "other": hook_settings(other, **NOW)}, **settings)
        hook.wait(1)
        other.wait(1)
        for name, watch in d.settings["watches"].items():
            d.caught_up((servers or {}).get(watch.get("cluster"), api), name)
        d.noted(api)
        calm(d)
        hook.forget()
        other.forget()
        api.forget()
        return d
    return make


def change(d, name, **settings):
    """The hooks of d, with other settings of one."""
    return {**d.settings["hooks"], name: {**d.settings["hooks"][name], **settings}}


def without(group, name):
    return {key: value for key, value in group.items() if key != name}


def calm(d):
    """The hooks have nothing to do. The daemon says so itself: a hook that waits until its programs
    were read has nothing pending yet."""
    done = d.ctl("wait", "--for", "idle")
    assert done.returncode == 0, done.stderr


# ---- Hooks

def test_a_hook_with_another_program_runs_again_and_nothing_else_moves(api, two, hook, other):
    d = two()
    reload(d, hooks=change(d, "h", environment={"X": "1"}))
    hook.wait(2)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert other.runs() == [] and api.requests == []
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    other.wait_what("ADDED", "n/c")


@pytest.mark.parametrize("settings, runs", [({"timeout": "77s"}, []),
                                            ({"environment": {"X": "1"}}, [("ADDED", "n/a")])])
def test_one_hook_of_fifty_changes_and_nothing_else_moves(api, daemon, hook, other, settings, runs):
    """tests/bench/reload.py measures how long the loop stands meanwhile."""
    api.apply(service("n/a"))
    others = {f"other{n}": hook_settings(other, **NOW) for n in range(49)}
    d = daemon(api, hooks={"h": hook_settings(hook, **NOW), **others}).settled(api)
    calm(d)
    assert len(other.runs()) == 49
    hook.forget()
    other.forget()
    api.forget()
    reload(d, hooks=change(d, "h", **settings))
    calm(d)
    assert hook.what() == runs and other.runs() == [] and api.requests == []


@pytest.mark.parametrize("settings", [
    {"timeout": "77s"}, {"retry": {"initial": "1s", "max": "9s"}}, {"settle": ["50ms", "1s"]},
    {"concurrency": 3}, {"after": ["other"]}, {"park_exit": [9]}, {"log_limit": "1KiB"}])
def test_settings_of_time_retry_limits_and_order_change_without_a_run(api, two, hook, other, settings):
    d = two()
    reload(d, hooks=change(d, "h", **settings))
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    other.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.what() == [("ADDED", "n/c")] == other.what()


def test_settings_of_time_count_at_once(api, two, hook):
    d = two()
    hook.exit_with(1)
    reload(d, hooks=change(d, "h", retry={"initial": "10ms", "max": "20ms", "attempts": 2}))
    api.apply(service("n/c"))
    wait_until(lambda: d.control.status()["hooks"]["h"]["parked"] == 1, what="the key is parked")
    assert [run.attempt for run in hook.of("n/c")] == [1, 2]


def test_a_hook_that_comes_gets_the_objects_without_a_request(api, two, new_hook):
    d = two()
    third = new_hook()
    reload(d, hooks={**d.settings["hooks"], "third": hook_settings(third, **NOW)})
    third.wait(2)
    calm(d)
    assert sorted(third.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert api.requests == []
    api.apply(service("n/c"))
    third.wait_what("ADDED", "n/c")


def test_a_hook_that_goes_runs_no_more_and_the_others_go_on(api, two, hook, other):
    d = two()
    reload(d, hooks=without(d.settings["hooks"], "h"))
    api.apply(service("n/c"))
    other.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.runs() == []
    assert list(d.control.status()["hooks"]) == ["other"]


def test_a_hook_that_comes_back_hears_of_what_has_changed_meanwhile(api, two, hook, other):
    d = two()
    hooks = d.settings["hooks"]
    reload(d, hooks=without(hooks, "h"))
    api.delete("services", "n/a")
    api.apply(service("n/c"))
    other.wait_what("ADDED", "n/c")
    reload(d, hooks=hooks)
    hook.wait(2)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/c"), ("DELETED", "n/a")]


def test_a_hook_of_another_mode_runs_for_all(api, two, hook):
    d = two()
    reload(d, hooks=change(d, "h", mode="snapshot"))
    hook.wait(1)
    calm(d)
    assert len(hook.runs()) == 1 and len(hook.runs()[0].snapshot["services"]) == 2


def test_a_hook_with_one_more_source_runs_for_all_objects(api, two, hook):
    d = two(watches={**SERVICES, **CONFIGMAPS})
    api.apply(configmap("n/cm"))
    d.seen(api, "configmaps")
    reload(d, hooks=change(d, "h", sources=["services", "configmaps"]))
    hook.wait(3)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", f"n/{key}") for key in ("a", "b", "cm")]


def test_a_replaced_hook_keeps_what_people_see_of_its_runs(api, two, hook):
    """Its figures, its history, the error of a parked key; and why says that a reload came between."""
    d = two(service("n/a", labels={"app": "x"}), service("n/b"), h={"park_exit": [7]})
    hook.exit_with(7, "c")
    api.apply(service("n/c", labels={"app": "x"}))
    wait_until(lambda: d.control.hook("h")["parked"] == 1, what="the key is parked")
    runs = d.ctl_json("runs", "h")
    reload(d, watches={"services": {**SERVICES["services"], "label_selector": "app=x"}})
    d.caught_up(api)
    calm(d)
    assert d.ctl_json("runs", "h")[:3] == runs
    now = d.control.hook("h")
    assert (now["runs_ok"], now["runs_failed"], now["parked"]) == (3, 1, 1)
    assert d.ctl_json("why", "h", "n/a")["units"][0]["text"] == "handled before the reload"
    assert [line for line in d.ctl("events").stdout.splitlines() if "state=resumed objects=3" in line]


def test_the_error_of_a_parked_key_is_there_after_a_reload(api, two, hook):
    d = two(h={"park_exit": [7]})
    hook.exit_with(7)
    api.apply(service("n/c"))
    wait_until(lambda: d.control.hook("h")["parked"] == 1, what="the key is parked")
    reload(d, watches={"services": {**SERVICES["services"], "guard": {"relist_deletes": "77%"}}})
    d.caught_up(api)
    calm(d)
    now = d.control.hook("h")
    assert (now["parked"], now["last_error"]) == (1, "exit status 7")
    assert d.ctl_json("why", "h", "n/c")["units"][0]["last_run"]["result"] == "exit status 7"


def test_who_waits_for_a_manual_run_is_not_told_of_a_later_one(api, two, hook):
    """The new hook counts its manual runs on from where the old one was."""
    d = two()
    assert d.ctl("run", "h", "--wait").returncode == 0
    before = d.ctl_json("run", "h")["order"]
    calm(d)
    reload(d, hooks=change(d, "h", environment={"X": "1"}))
    calm(d)
    assert d.ctl_json("run", "h")["order"] == before + 1
    calm(d)


# ---- Runs under way

def test_a_run_of_a_changed_hook_ends_before_the_new_one_begins(api, two, hook, other):
    d = two()
    hook.block()
    api.apply(service("n/c"))
    hook.wait(1)
    waiting = Waiting(d, hooks=change(d, "h", environment={"X": "1"}))
    wait_until(lambda: d.log(msg="reload waits for runs of hooks that it changes"), what="it waits")
    api.apply(service("n/d"))
    other.wait_what("ADDED", "n/d")
    assert len(hook.runs()) == 1
    hook.release()
    assert waiting.end() == 0
    hook.wait(5)
    calm(d)
    assert sorted(hook.what()[1:]) == [("ADDED", f"n/{k}") for k in "abcd"]
    assert hook.most_at_once()[0] == 1


def test_a_run_of_an_equal_hook_goes_on(api, two, hook, other):
    d = two()
    other.block()
    api.apply(service("n/c"))
    other.wait(1)
    reload(d, hooks=change(d, "h", environment={"X": "1"}))
    assert other.ended() == 0
    other.release()
    calm(d)
    assert other.what() == [("ADDED", "n/c")] and list(other.codes().values()) == [0]


def test_a_run_that_does_not_end_is_killed_after_stop_timeout(api, two, hook):
    d = two(h={"kill_grace": "100ms"}, limits={"stop_timeout": "100ms"})
    hook.block()
    api.apply(service("n/c"))
    hook.wait(1)
    assert Waiting(d, hooks=change(d, "h", environment={"X": "1"})).end() == 0
    hook.release()
    calm(d)
    assert sorted(set(hook.what())) == [("ADDED", f"n/{k}") for k in "abc"]
    assert d.control.status()["hooks"]["h"]["parked"] == 0


def test_the_second_program_of_a_run_is_that_of_its_own_hook(api, daemon, new_program):
    """The numbers by which the helper knows hooks change while a run is between two programs."""
    first = new_program("echo $INFORMERD_HOOK first >>$d/ran")
    slow = new_program('echo "$INFORMERD_NAME"; echo x >>$d/began; '
                       'while [ -e $d/block ]; do sleep 0.02; done')
    check = new_program("echo $INFORMERD_HOOK >>$d/checked")
    (slow.folder / "block").touch()
    api.apply(service("n/a"))
    base = {"sources": ["services"], **NOW}
    d = daemon(api, hooks={
        "a": {**base, "command": [first.path]},
        "z": {**base, "command": [slow.path], "check": [check.path, "${file}"],
              "output": str(slow.folder / "${name}.cfg")}})
    slow.text("began")
    first.text("ran")
    reload(d, hooks=without(d.settings["hooks"], "a"))
    (slow.folder / "block").unlink()
    calm(d)
    assert check.text("checked") == "z\n"
    assert (slow.folder / "a.cfg").read_text() == "a\n"


@pytest.mark.parametrize("fewer", ["concurrency", "limits.hook_concurrency"])
def test_a_run_of_before_writes_its_file_though_fewer_runs_are_allowed(api, daemon, new_program, fewer):
    """Between its command and the file, the helper sees no program of the run."""
    slow = new_program('echo "$INFORMERD_NAME"; echo x >>$d/began; while [ -e $d/block ]; do sleep 0.02; done')
    (slow.folder / "block").touch()
    api.apply(*(service(f"n/{k}") for k in "abc"))
    d = daemon(api, limits={"hook_concurrency": 2}, hooks={"h": {
        "sources": ["services"], "command": [slow.path], "concurrency": 3,
        "output": str(slow.folder / "${name}.cfg"), **NOW}})
    wait_until(lambda: slow.text("began") == "x\n" * 3, what="three commands run")
    if fewer == "concurrency":
        reload(d, hooks=change(d, "h", concurrency=1))
    else:
        reload(d, limits={**d.settings["limits"], "hook_concurrency": 1})
    (slow.folder / "block").unlink()
    calm(d)
    assert all((slow.folder / f"{k}.cfg").read_text() == f"{k}\n" for k in "abc")
    now = d.control.hook("h")
    assert (now["runs_ok"], now["runs_failed"]) == (3, 0) and not d.problems() and not d.log(level="error")


def test_a_reload_gives_up_when_a_run_cannot_be_killed(api, two, hook, other):
    """The helper stands still here, so that it neither kills the run nor tells its end."""
    d = two(h={"kill_grace": "100ms"}, limits={"stop_timeout": "100ms"})
    hooks = d.settings["hooks"]
    for turn in range(1, 50):
        hook.block()
        api.apply(service("n/c", ports=[turn]))
        run = hook.wait(1)[0]
        other.wait(1)
        calm_other = other.what()
        waiting = Waiting(d, hooks=change(d, "h", environment={"X": str(turn)}))
        wait_until(lambda: len(d.log(msg="reload waits for runs of hooks that it changes")) == turn,
                   what="it waits")
        with stopped(d.helper):
            if proctree.exists(run.pid):
                assert waiting.end() == 1
                break
        # The machine paused: the run was killed before the helper stood still. Another turn.
        hook.release()
        assert waiting.end() == 0
        calm(d)
        hook.forget()
        other.forget()
    assert d.log(msg="reload failed: the configuration in use stays")[0]["problem"] == (
        "hook h: its processes have not ended although they were killed, so the reload was given up: "
        "look at them, and reload again when they have ended")
    assert d.control.status()["reload"]["result"] == "failed"
    hook.release()
    calm(d)
    assert {key for _type, key in hook.what()} == {"n/c"} and other.what() == calm_other
    api.apply(service("n/d"))
    hook.wait_what("ADDED", "n/d")
    calm(d)
    hook.forget()
    reload(d, hooks=change(d, "h", environment={"X": "again"}))
    hook.wait(4)
    d.settings["hooks"] = hooks


# ---- Programs and files

def test_a_reload_looks_again_at_programs(api, two, hook, other):
    d = two()
    hook.path.write_text(hook.path.read_text() + "# another version\n")
    reload(d)
    hook.wait(2)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")] and other.runs() == []
    assert api.requests == []


def test_idle_is_not_before_changed_files_were_found(api, two, hook, tmp_path):
    """A script waits after a reload until everything has settled, and then looks. The
    comparison takes a while, as the file is large."""
    file = tmp_path / "large"
    with open(file, "wb") as out:
        out.truncate(64 << 20)
    d = two(h={"files": [file]})
    for turn in range(1, 4):
        with open(file, "r+b") as out:
            out.write(bytes([turn]))
        reload(d)
        calm(d)
        assert len(hook.runs()) == 2 * turn


def test_a_reload_during_the_comparison_of_another_one_loses_no_renewal(api, two, hook, tmp_path):
    """The comparison takes a while, as the file is large."""
    file = tmp_path / "large"
    with open(file, "wb") as out:
        out.truncate(256 << 20)
    d = two(h={"files": [file]})
    with open(file, "r+b") as out:
        out.write(b"x")
    reload(d)
    reload(d)
    reload(d, hooks=change(d, "other", timeout="77s"))
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert d.problems() == []


def test_a_changed_program_waits_for_the_run_of_the_one_before(api, two, hook):
    d = two()
    hook.block()
    api.apply(service("n/c"))
    hook.wait(1)
    hook.path.write_text(hook.path.read_text() + "# another version\n")
    reload(d)
    wait_until(lambda: d.log(msg="the programs or files of the hook have changed: it runs again "
                                 "when its runs have ended"), what="the change is seen")
    hook.release()
    hook.wait(4)
    calm(d)
    assert sorted(hook.what()[1:]) == [("ADDED", f"n/{k}") for k in "abc"]
    assert hook.most_at_once()[0] == 1


def test_a_run_of_a_hook_that_waits_to_be_renewed_is_not_killed_for_another_hook(api, two, hook, other):
    """The second reload replaces the other hook, whose run exceeds stop_timeout. Only that run ends."""
    d = two(limits={"stop_timeout": "100ms"})
    hook.block()
    other.block()
    api.apply(service("n/c"))
    hook.wait(1)
    other.wait(1)
    hook.path.write_text(hook.path.read_text() + "# another version\n")
    reload(d, hooks=change(d, "other", kill_grace="100ms"))
    wait_until(lambda: d.log(msg="the programs or files of the hook have changed: it runs again "
                                 "when its runs have ended"), what="the change is seen")
    assert Waiting(d, hooks=change(d, "other", environment={"X": "1"})).end() == 0
    for msg in ("reload waits for runs of hooks that it changes",
                "stop_timeout has passed: running hooks that the reload changes are killed"):
        [entry] = d.log(msg=msg)
        assert (entry["running"], entry["hook"]) == (1, "other")
    hook.release()
    other.release()
    hook.wait(4)
    calm(d)
    assert len(hook.runs()) == 4 and list(hook.codes().values()) == [0, 0, 0, 0]
    assert [entry["hook"] for entry in d.log(msg="hook failed")] == ["other"]


def test_a_program_that_is_put_back_leaves_the_hook_as_it_was(api, two, hook):
    """The second reload comes while the hook waits for a run to end, to run again for all objects."""
    d = two()
    hook.block()
    api.apply(service("n/c"))
    hook.wait(1)
    good = hook.path.read_text()
    hook.path.write_text(good + "# another version\n")
    reload(d)
    wait_until(lambda: d.log(msg="the programs or files of the hook have changed: it runs again "
                                 "when its runs have ended"), what="the change is seen")
    hook.path.write_text(good)
    reload(d)
    hook.release()
    api.apply(service("n/d"))
    hook.wait_what("ADDED", "n/d")
    calm(d)
    assert hook.what() == [("ADDED", "n/c"), ("ADDED", "n/d")]


def test_s82_sighup_adds_a_hook_which_gets_the_objects_of_the_cache_without_a_request(
        api, two, hook, other, new_hook):
    d = two()
    third = new_hook()
    hooks = d.settings["hooks"]
    by_sighup(d, hooks={**hooks, "third": hook_settings(third, **NOW)})
    third.wait(2)
    calm(d)
    assert sorted(third.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert api.requests == [] and hook.runs() == [] == other.runs()


def test_s82_sighup_removes_a_hook_and_in_the_end_its_watch(api, two, hook, other):
    d = two()
    hooks = d.settings["hooks"]
    by_sighup(d, hooks=without(hooks, "h"))
    api.apply(service("n/c"))
    other.wait_what("ADDED", "n/c")
    assert api.watching("services") == 1 and hook.runs() == []
    by_sighup(d, hooks={}, watches=CONFIGMAPS)
    api.wait(lambda: not api.watching("services"), what="the watch is closed")
    assert d.control.status()["hooks"] == {}


@pytest.mark.parametrize("first, second", [("h", "other"), ("other", "h")])
def test_s83_of_two_hooks_on_one_watch_the_last_one_that_goes_takes_it_along(
        api, two, hook, other, first, second):
    d = two()
    hooks = d.settings["hooks"]
    stays = {"h": hook, "other": other}[second]
    reload(d, hooks=without(hooks, first))
    api.apply(service("n/c"))
    stays.wait_what("ADDED", "n/c")
    assert api.watching("services") == 1 and api.requests == []
    reload(d, hooks={}, watches=CONFIGMAPS)
    api.wait(lambda: not api.watching("services"), what="the watch is closed")
    api.forget()
    reload(d, hooks=hooks, watches=SERVICES)
    api.wait_watching("services", 1)
    calm(d)
    assert stays.what() == [("ADDED", "n/c")], "it has handled everything before it went"
    gone = {"h": hook, "other": other}[first]
    assert gone.what() == [("ADDED", "n/c")], "it was not there when this object came"


# ---- Watches and views

def test_a_watch_comes_and_goes(api, two, hook, other):
    d = two()
    api.apply(configmap("n/cm"))
    hooks = d.settings["hooks"]
    reload(d, watches={**SERVICES, **CONFIGMAPS}, hooks=change(d, "h", sources=["configmaps"]))
    hook.wait(1)
    assert hook.what() == [("ADDED", "n/cm")]
    api.apply(configmap("n/more"))
    hook.wait_what("ADDED", "n/more")
    reload(d, watches=SERVICES, hooks=hooks)
    api.wait(lambda: not api.watching("configmaps"), what="the watch is closed")
    assert list(d.control.status()["watches"]) == ["services"]
    assert api.of("services") == [] and other.runs() == []


def test_a_watch_that_comes_back_tells_what_has_ended(api, two, hook):
    watches = {**SERVICES, **CONFIGMAPS}
    api.apply(configmap("n/x"), configmap("n/y"))
    d = two(h={"sources": ["configmaps"]}, watches=watches)
    hooks = d.settings["hooks"]
    reload(d, watches=SERVICES, hooks=without(hooks, "h"))
    api.wait(lambda: not api.watching("configmaps"), what="the watch is closed")
    api.delete("configmaps", "n/x")
    reload(d, watches=watches, hooks=hooks)
    hook.wait_what("DELETED", "n/x")
    calm(d)
    assert hook.what() == [("DELETED", "n/x")]


def test_an_edited_selector_tells_left_and_added(api, two, hook, other):
    watches = {"services": {**SERVICES["services"], "label_selector": "app=x"}}
    d = two(service("n/a", labels={"app": "x"}), service("n/b", labels={"app": "y"}),
            service("n/c", labels={"app": "x", "also": "z"}), watches=watches)
    reload(d, watches={"services": {**SERVICES["services"], "label_selector": "app in (y),app"}})
    for run in hook, other:
        run.wait(3)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/b"), ("LEFT", "n/a"), ("LEFT", "n/c")]
    assert sorted(other.what()) == sorted(hook.what())
    assert d.control.keys("services") == ["n/b"]


def test_a_watch_with_other_limits_goes_on_without_a_list(api, two, hook, other):
    d = two()
    reload(d, watches={"services": {**SERVICES["services"],
                                    "guard": {"relist_deletes": "77%"}}})
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    other.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.what() == [("ADDED", "n/c")] == other.what()
    assert api.of("services", "L") == [] and api.of("services", "S") == []


def test_equal_watches_part_and_meet_again(api, two, hook, other):
    """Two names of one watch: it has one stream, then each has its own, then one again."""
    both = {"services": SERVICES["services"], "also": SERVICES["services"]}
    d = two(service("n/a", labels={"app": "x"}), service("n/b"), watches=both,
            h={"sources": ["also"]})
    assert api.watching("services") == 1
    reload(d, watches={**both, "also": {**both["also"], "label_selector": "app=x"}})
    hook.wait(1)
    calm(d)
    assert hook.what() == [("LEFT", "n/b")] and other.runs() == []
    api.wait_watching("services", 2)
    reload(d, watches=both)
    hook.wait(2)
    api.wait(lambda: api.watching("services") == 1, what="one stream")
    calm(d)
    assert hook.what()[1:] == [("ADDED", "n/b")] and other.runs() == []
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0, what="the state is written")
    d.kill()
    d.start()
    d.seen(api)
    calm(d)
    assert len(hook.runs()) == 2 and other.runs() == []


def test_the_first_of_equal_watches_goes_and_the_other_one_keeps_the_objects(api, two, hook, other):
    both = {"services": SERVICES["services"], "also": SERVICES["services"]}
    d = two(watches=both, h={"sources": ["also"]})
    hooks = without(d.settings["hooks"], "other")
    reload(d, watches={"also": both["also"]}, hooks=hooks)
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.what() == [("ADDED", "n/c")] and other.runs() == []
    assert api.of("services", "L") == []
    hook.forget()
    d.stop()
    d.again(api)
    assert hook.runs() == []


def equal(*names, **edited):
    """Equal watches of these names; those of `edited` are edited: name=selector."""
    return {name: {**SERVICES["services"],
                   **({"label_selector": edited[name]} if name in edited else {})} for name in names}


def after_a_kill(d, api, *hooks):
    """Kills the daemon and starts it again: it goes on without a LIST, and runs nothing."""
    d.caught_up(api, "services", "also")
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0, what="the state is written")
    for hook in hooks:
        hook.forget()
    api.forget()
    d.kill()
    d.start().caught_up(api, "services", "also")
    assert api.of("services", "L") == [] == api.of("services", "S")
    assert [hook.what() for hook in hooks] == [[] for _ in hooks]


@pytest.mark.parametrize("settings", [{}, {"state_dir": "none"}])
@pytest.mark.parametrize("names", [("services", "also"), ("services", "also", "third")])
def test_the_first_of_equal_watches_is_edited_and_the_others_keep_the_objects(
        api, two, hook, other, names, settings):
    d = two(service("n/a", labels={"app": "x"}), service("n/b"), watches=equal(*names),
            h={"sources": ["also"]}, **settings)
    reload(d, watches=equal(*names, services="app=x"))
    other.wait(1)
    api.wait_watching("services", 2)
    calm(d)
    assert other.what() == [("LEFT", "n/b")] and hook.runs() == []
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    if not settings:
        after_a_kill(d, api, hook, other)


def test_equal_watches_are_edited_each_in_another_way(api, two, hook, other):
    names = ("services", "also")
    d = two(service("n/a", labels={"app": "x"}), service("n/b", labels={"app": "y"}),
            watches=equal(*names), h={"sources": ["also"]})
    reload(d, watches=equal(*names, services="app=x", also="app=y"))
    other.wait(1)
    hook.wait(1)
    calm(d)
    assert other.what() == [("LEFT", "n/b")] and hook.what() == [("LEFT", "n/a")]
    after_a_kill(d, api, hook, other)


def test_the_first_of_equal_watches_is_edited_whose_rows_have_the_second_name(
        api, daemon, hook, other):
    """The daemon had only the second watch when it began to keep a state."""
    api.apply(service("n/a", labels={"app": "x"}), service("n/b"))
    h = hook_settings(hook, **NOW, sources=["also"])
    d = daemon(api, watches=equal("also"), hooks={"h": h}).settled(api)
    calm(d)
    d.stop()
    d.settings["watches"] = equal("services", "also")
    d.settings["hooks"]["other"] = hook_settings(other, **NOW)
    d.write_config()
    d.start()
    other.wait(2)
    calm(d)
    hook.forget()
    other.forget()
    reload(d, watches=equal("services", "also", services="app=x"))
    other.wait(1)
    calm(d)
    assert other.what() == [("LEFT", "n/b")] and hook.runs() == []
    after_a_kill(d, api, hook, other)


VIEW = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}
SLICES = {"slices": {"resource": "endpointslices.discovery.k8s.io", "namespaces": ["*"]}}


def test_a_view_comes_changes_and_goes(api, two, hook, other):
    api.apply(endpointslice("n/a-1", "a", ["10.0.0.1"]))
    d = two()
    hooks = d.settings["hooks"]
    with_view = change(d, "h", sources=["backends"])
    reload(d, watches={**SERVICES, **SLICES}, views=VIEW, hooks=with_view)
    hook.wait(2)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    hook.forget()
    reload(d, views={"backends": {**VIEW["backends"], "hold_empty": "1h"}})
    calm(d)
    api.apply(service("n/b", ports=(81,)))
    hook.wait(1)
    calm(d)
    assert hook.what() == [("MODIFIED", "n/b")]
    hook.forget()
    del d.settings["views"]
    reload(d, watches=SERVICES, hooks=hooks)
    hook.wait(2)
    calm(d)
    assert sorted(hook.what()) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert other.what() == [("MODIFIED", "n/b")] and api.of("services", "L") == []


def test_a_watch_under_a_view_changes_and_only_the_difference_is_told(api, two, hook):
    for key in "ab":
        api.apply(endpointslice(f"n/{key}-1", key, ["10.0.0.1"]))
    d = two(service("n/a", labels={"app": "x"}), service("n/b"), watches={**SERVICES, **SLICES},
            views=VIEW, h={"sources": ["backends"]})
    reload(d, watches={**SLICES, "services": {**SERVICES["services"], "label_selector": "app=x"}})
    hook.wait(1)
    calm(d)
    assert [key for _, key in hook.what()] == ["n/b"] and hook.what()[0][0] in ("LEFT", "DELETED")


# ---- Clusters

def test_a_cluster_comes_and_goes(api, new_api, factory, two, hook, new_hook):
    east, third = new_api(), new_hook()
    east.apply(service("n/east"))
    d = two()
    before = {name: d.settings[name] for name in ("clusters", "watches", "hooks")}
    reload(d, clusters={**d.settings["clusters"], "east": factory.cluster(east)},
           watches={"services": {**SERVICES["services"], "cluster": "prod"},
                    "east": {**SERVICES["services"], "cluster": "east"}},
           hooks={**d.settings["hooks"], "third": hook_settings(third, **NOW, sources=["east"])})
    third.wait(1)
    calm(d)
    assert third.what() == [("ADDED", "n/east")]
    reload(d, **before)
    east.wait(lambda: not east.watching("services"), what="the cluster is left")
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    assert hook.what() == [("ADDED", "n/c")] and len(third.runs()) == 1
    assert api.of("services", "L") == []


@pytest.fixture
def moving(api, new_api, factory, two):
    """moving(watches, h, other): prod has n/a and n/p, east has n/a and n/e; the hooks have handled all
    of their sources. Returns the daemon and the server of east."""
    def make(watches, h, **settings):
        east = new_api()
        east.identity = "ea500000-0000-4000-8000-0000000000ea"
        east.apply(service("n/a"), service("n/e"))
        servers = {"prod": api, "east": east}
        clusters = {name: factory.cluster(server) for name, server in servers.items()}
        d = two(service("n/a"), service("n/p"), watches=watches, h=h, clusters=clusters,
                servers=servers, **settings)
        east.forget()
        return d, east
    return make


@pytest.mark.parametrize("names", [("services", "also"), ("also", "services")])
def test_a_watch_moves_to_a_cluster_that_has_an_equal_one(api, moving, hook, other, names):
    """It begins anew. The hook of the equal one notices nothing, and the cluster is not listed again."""
    of = {"services": "prod", "also": "east"}
    d, east = moving({name: {**SERVICES["services"], "cluster": of[name]} for name in names},
                     {"sources": ["also"]})
    both = {name: {**SERVICES["services"], "cluster": "east"} for name in names}
    reload(d, watches=both)
    other.wait(2)
    calm(d)
    assert sorted(other.what()) == [("ADDED", "n/a"), ("ADDED", "n/e")] and hook.runs() == []
    assert east.of("services", "L") == [] == east.of("services", "S")
    east.apply(service("n/more"))
    hook.wait_what("ADDED", "n/more")
    other.wait_what("ADDED", "n/more")
    reload(d)
    calm(d)
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0, what="the state is written")
    for one in hook, other:
        one.forget()
    east.forget()
    d.kill()
    d.start()
    d.seen(east, "services")
    calm(d)
    assert east.of("services", "L") == [] and hook.runs() == other.runs() == []


def test_equal_watches_change_their_clusters(api, moving, hook, other):
    """Each pair leaves one name behind, which keeps the objects: no list, and a run only for the
    names that have moved."""
    def watches(first, second):
        return {name: {**SERVICES["services"], "cluster": cluster} for name, cluster in (
            ("services", first), ("s2", "prod"), ("also", second), ("a2", "east"))}
    d, east = moving(watches("prod", "east"), {"sources": ["s2", "a2"]})
    reload(d, watches=watches("east", "prod"))
    other.wait(2)
    calm(d)
    assert sorted(other.what()) == [("ADDED", "n/a"), ("ADDED", "n/e")] and hook.runs() == []
    assert api.of("services", "L") == [] == east.of("services", "L")
    other.forget()
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0, what="the state is written")
    d.kill()
    d.start()
    d.seen(api, "s2")
    d.seen(east, "a2")
    calm(d)
    assert api.of("services", "L") == [] == east.of("services", "L")
    assert hook.runs() == other.runs() == []


def test_a_view_moves_to_another_cluster_and_nothing_is_deleted(api, moving, hook, other):
    def watches(cluster):
        return {name: {**watch, "cluster": cluster} for name, watch in {**SERVICES, **SLICES}.items()}
    d, _ = moving(watches("prod"), {"sources": ["backends"]}, views=VIEW)
    reload(d, watches=watches("east"))
    hook.wait(2)
    other.wait(2)
    calm(d)
    for one in hook, other:
        assert sorted(one.what()) == [("ADDED", "n/a"), ("ADDED", "n/e")]


def test_another_token_moves_the_watches_without_a_list(api, factory, two, hook, other):
    d = two()
    api.kubeconfig(d.settings["clusters"]["prod"]["kubeconfig"], ca=factory.authority,
                   token="another")
    reload(d)

    def is_moved():
        return [w.exchange.request.header("authorization") for w in list(api.watchers)] == [
            "Bearer another"]
    api.wait(is_moved, what="the watch has the new token")
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    other.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.what() == [("ADDED", "n/c")] and api.of("services", "L") == []


def test_a_cluster_with_other_tuning_does_not_list(api, two, hook):
    d = two()
    clusters = d.settings["clusters"]
    reload(d, clusters={"prod": {**clusters["prod"], "stale_after": "77s"}})
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    calm(d)
    assert hook.what() == [("ADDED", "n/c")] and api.of("services", "L") == []


# ---- An outage

def test_hooks_run_on_when_a_reload_replaces_a_stale_watch(api, factory, daemon, hook):
    """The hook has a run to do again, and the server is away."""
    cluster = {**factory.cluster(api), "stale_after": "100ms"}
    api.apply(service("n/a"))
    d = daemon(clusters={"prod": cluster}, hooks={"h": hook_settings(
        hook, **NOW, events=["added", "modified", "fresh"], retry=ONCE)}).settled(api)
    calm(d)
    hook.forget()
    api.stop_listening()
    api.drop("rst")
    d.control.wait_watch("services", stale=True)
    for limit in "77%", "78%":
        reload(d, watches={"services": {**SERVICES["services"], "guard": {"relist_deletes": limit}}})
        d.control.wait_watch("services", stale=True, synced=True)
    wait_until(lambda: d.ctl("run", "h", "n/a", "--wait").returncode == 0,
               what="the programs were read, and the hook runs")
    assert [run.reason for run in hook.runs()] == ["manual"]
    api.listen()
    d.control.wait_watch("services", stale=False)
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    calm(d)
    assert api.of("services", "L")[1:] == []


def test_hooks_run_on_when_a_reload_replaces_a_watch_that_has_started_stale(api, left, hook):
    """No server has answered since the start, so the new watch must not wait for one."""
    d = left(service("n/a"), daemon={"start_stale": {"after": "50ms"}}, **NOW)
    api.stop_listening()
    d.start()
    d.control.wait_watch("services", stale=True, synced=True)
    for limit in "77%", "78%":
        reload(d, watches={"services": {**SERVICES["services"], "guard": {"relist_deletes": limit}}})
        d.control.wait_watch("services", stale=True, synced=True)
    wait_until(lambda: d.ctl("run", "h", "n/a", "--wait").returncode == 0,
               what="the programs were read, and the hook runs")
    assert [run.reason for run in hook.runs()] == ["manual"]
    api.listen()
    d.control.wait_watch("services", stale=False)
    calm(d)
    assert len(hook.runs()) == 1 and api.of("services", "L") == []


# ---- Output files

def test_files_of_a_hook_that_goes_stay_and_those_of_an_edited_template_move(api, two, hook, place):
    d = two()
    base = {"sources": ["services"], "shell": "echo $INFORMERD_NAME", **NOW}
    one = {**base, "output": str(place / "one" / "${name}")}
    for folder in "one", "two", "three":
        (place / folder).mkdir()
    reload(d, hooks={"w": one, "gone": {**base, "output": str(place / "three" / "${name}")}})
    wait_until(lambda: (place / "one/b").exists() and (place / "three/b").exists(), what="files")
    calm(d)
    reload(d, hooks={"w": {**base, "output": str(place / "two" / "${name}")}})
    wait_until(lambda: (place / "two/b").exists() and not (place / "one/b").exists(),
               what="the files have moved")
    calm(d)
    assert sorted(p.name for p in (place / "three").iterdir()) == ["a", "b"]
    assert "gone" in d.ctl("status").stdout


@pytest.mark.parametrize("then", ["replaced", "dropped"])
def test_a_paused_hook_with_files_to_remove_is_reloaded(api, two, other, place, then):
    """The files are removed when a person resumes the hook, and the reload does not wait for that."""
    d = two(watches={**SERVICES, **CONFIGMAPS}, limits={"stop_timeout": "100ms"})
    base = {"shell": "echo $INFORMERD_NAME", "output": str(place / "${name}"), **NOW}
    hooks = d.settings["hooks"]
    reload(d, hooks={**hooks, "w": {**base, "sources": ["services", "configmaps"]}})
    wait_until(lambda: (place / "a").exists() and (place / "b").exists(), what="files")
    calm(d)
    assert d.ctl("pause", "w").returncode == 0
    w = {**base, "sources": ["configmaps"]}
    reload(d, hooks={**hooks, "w": w})
    api.apply(service("n/c"))
    other.wait_what("ADDED", "n/c")  # a turn later they are due
    reload(d, hooks={**hooks, **({"w": {**w, "environment": {"X": "1"}}} if then == "replaced" else {})})
    assert (place / "a").exists()
    reload(d, hooks={**hooks, "w": w})
    assert d.ctl("resume", "w").returncode == 0
    wait_until(lambda: not (place / "a").exists() and not (place / "b").exists(), what="they are gone")
    calm(d)


# ---- The end of a process

def test_after_a_kill_behind_a_reload_nothing_runs_again(api, two, hook, other, new_hook):
    d = two(watches={**SERVICES, **CONFIGMAPS})
    third = new_hook()
    api.apply(configmap("n/cm"))
    reload(d, watches={"services": {**SERVICES["services"], "keep": ["spec", "metadata"]},
                       "maps": CONFIGMAPS["configmaps"]},
           hooks={**change(d, "h", environment={"X": "1"}),
                  "third": hook_settings(third, **NOW, sources=["maps"])})
    hook.wait(2)
    third.wait(1)
    d.settled(api)
    for one in hook, other, third:
        one.forget()
    d.kill()
    d.start()
    d.caught_up(api)
    assert hook.runs() == other.runs() == third.runs() == []


def test_a_stop_while_a_reload_waits_ends_the_daemon(api, two, hook):
    d = two()
    hook.block()
    api.apply(service("n/c"))
    hook.wait(1)
    waiting = Waiting(d, hooks=change(d, "h", environment={"X": "1"}))
    wait_until(lambda: d.log(msg="reload waits for runs of hooks that it changes"), what="it waits")
    d.signal(signal.SIGTERM)
    wait_until(lambda: d.log(msg="stopping"), what="it heard")
    hook.release()
    assert d.wait_exit() == 0
    assert waiting.end() != 0
    hook.forget()
    d.start()
    hook.wait(3)
    d.caught_up(api)
    assert sorted(hook.what()) == [("ADDED", f"n/{k}") for k in "abc"]


def test_a_stop_while_a_reload_waits_gives_runs_all_their_time(api, two, hook):
    """The time that the reload gave them counts no more. If the machine paused until it was over, the
    test makes another turn."""
    killed = "stop_timeout has passed: running hooks that the reload changes are killed"
    d = two(h={"kill_grace": "100ms"}, limits={"stop_timeout": "1s"})
    for turn in range(1, 50):
        hook.block()
        api.apply(service("n/c", ports=[turn]))
        hook.wait(1)
        waiting = Waiting(d, hooks=change(d, "h", environment={"X": str(turn)}))
        wait_until(lambda: len(d.log(msg="reload waits for runs of hooks that it changes")) == turn,
                   what="it waits")
        d.signal(signal.SIGTERM)
        assert d.wait_exit() == 0
        code = waiting.end()
        messages = [entry["msg"] for entry in d.log()]
        stopping = len(messages) - messages[::-1].index("stopping")
        if messages[:stopping].count(killed) < turn:
            break
        hook.release()
        d.again(api)
        hook.forget()
    assert code != 0 and killed not in messages[stopping:]


# ---- Readers

def test_a_stream_of_a_watch_that_goes_ends_with_an_error(api, two):
    d = two(watches={**SERVICES, **CONFIGMAPS})
    with d.follow("stream", "configmaps") as reader:
        reader.wait_for(lambda line: line["type"] == "SYNCED")
        reload(d, watches=SERVICES)
        last = reader.wait_for(lambda line: line["type"] == "ERROR")
    assert last["error"] == "a reload has changed or dropped the source: ask again"
