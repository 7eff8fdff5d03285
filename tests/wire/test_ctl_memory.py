# SPDX-License-Identifier: Apache-2.0
"""How informerctl shows the state over restarts: status, watches, why, get, stream, events,
pause."""
import json

import pytest
from control import wait_until
from fakeapi import service
from harness import hook_settings
from proctree import open_files
from statefile import wait_noted

HELD = {"start_stale": {"after": "off"}}
SOON = {"start_stale": {"after": "100ms"}}
TEXTS = {
    "effect": ({"effect": "process"}, {}),
    "settings": ({}, {"umask": "0077"}),
}


def unit(d, key="n/a"):
    [only] = d.ctl_json("why", "h", key)["units"]
    return only


def edit(d, group, name, **more):
    """Changes settings from the next start on. Settings that other daemons share are not
    changed."""
    d.settings[group] = {**d.settings[group], name: {**d.settings[group][name], **more}}
    d.write_config()


# ---- The state

def test_status_shows_the_state_folder_and_that_it_is_written(api, left):
    d = left(service("n/a"))
    d.again(api)
    state = wait_until(lambda: (s := d.control.status()["state"])["waiting"] == 0 and s)
    assert state["dir"] == str(d.state) and state["kept"] is True and state["writable"] is True
    assert state["reason"] is None and state["since"] is None
    assert f"\nstate: {d.state}\n" in d.ctl("status").stdout
    commits = state["commits"]
    api.apply(service("n/b"))
    wait_until(lambda: d.control.status()["state"]["commits"] > commits)


def test_without_a_state_dir_status_says_that_nothing_is_kept(api, left, hook):
    d = left(service("n/a"), daemon={"state_dir": "none"})
    d.again(api)
    hook.wait(1)
    state = d.control.status()["state"]
    assert state["dir"] is None and state["kept"] is False and state["writable"] is True
    assert "\nstate: nothing is kept over restarts\n" in d.ctl("status").stdout
    assert d.control.watch("services")["resumed"] is None
    assert unit(d)["text"] == "handled" and unit(d)["last_run"]["reason"] == "existing"
    assert "a restart of informerd ends the pause" in d.ctl("pause", "h").stdout


# ---- Pauses

@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_pause_survives_and_so_does_its_end(api, left, hook, end):
    d = left(service("n/a"))
    d.again(api)
    said = d.ctl("pause", "h")
    assert said.returncode == 0 and "restart" not in said.stdout
    assert d.ctl_json("pause", "h")["kept"] is True
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0)
    getattr(d, end)()
    d.start()
    d.control.wait_synced("services")
    assert d.control.hook("h")["paused"] is True
    api.apply(service("n/b"))
    wait_until(lambda: d.control.hook("h")["pending"] == 1)
    assert unit(d, "n/b")["reason"] == "paused" and not hook.runs()
    assert d.ctl("resume", "h").returncode == 0
    hook.wait_what("ADDED", "n/b")
    d.caught_up(api)
    getattr(d, end)()
    d.again(api)
    assert d.control.hook("h")["paused"] is False


# ---- Why

def test_why_says_that_a_key_was_handled_before_the_restart(api, left, hook):
    d = left(service("n/a"))
    d.again(api)
    before = unit(d)
    assert (before["reason"], before["text"]) == ("handled", "handled before the restart")
    assert before["before_restart"] == "handled" and before["last_run"] is None
    assert before["digest"] is not None and not d.ctl_json("runs")
    assert "handled before the restart" in d.ctl("why", "h", "n/a").stdout
    assert d.ctl("run", "h", "--wait").returncode == 0
    after = unit(d)
    assert after["text"] == "handled" and after["before_restart"] is None
    assert after["digest"] == before["digest"] and after["last_run"]["reason"] == "manual"


def test_why_says_that_a_run_was_cut_off_by_the_restart(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook)}, **HELD)
    hook.wait(1)
    wait_noted(d)
    d.kill()
    api.stop_listening()
    d.start()
    assert unit(d)["before_restart"] == "open"
    assert unit(d)["text"] == ("source services not synced, a run before the restart did not "
                               "succeed")
    hook.release()
    api.listen()
    hook.wait(2)
    d.settled(api)
    assert unit(d)["text"] == "handled" and unit(d)["before_restart"] is None


@pytest.mark.parametrize("why", TEXTS)
def test_why_says_that_a_key_runs_again(api, left, hook, why):
    first, later = TEXTS[why]
    d = left(service("n/a"), **first)
    edit(d, "hooks", "h", **later)
    hook.exit_with(3)
    hook.block()
    d.start()
    hook.wait(1)
    assert hook.runs()[0].reason == "renew"
    d.kill()
    api.stop_listening()
    d.start()
    assert unit(d)["before_restart"] == "renew"
    assert unit(d)["text"].startswith("source services not synced, to run again: ")
    hook.exit_with(0)
    hook.release()
    api.listen()
    d.settled(api)
    assert {run["reason"] for run in d.ctl_json("runs")} == {"renew"}
    assert unit(d)["text"] == "handled"


# ---- Watches that have only the objects of the state

@pytest.fixture
def alone(api, left):
    """alone(settings): a daemon that has n/a and n/b in its state, and whose server does not
    answer."""
    def make(more):
        d = left(service("n/a"), service("n/b"), daemon=more)
        api.stop_listening()
        return d.start()
    return make


def test_objects_that_no_server_has_confirmed_are_not_shown(api, alone):
    d = alone(HELD)
    watch = d.control.watch("services")
    assert watch["past"] is True and watch["resumed"] == "watch" and watch["objects"] == 2
    assert watch["state"] == "waiting" and watch["synced"] is False
    assert watch["contact_age_s"] is not None and watch["contact_age_s"] > 0
    assert [r for r in d.control.status()["degraded"] if "cluster prod" in r]
    for words in (["get", "services"], ["get", "services", "n/a"]):
        said = d.ctl(*words)
        assert said.returncode == 1 and said.stdout == ""
        assert "no server has confirmed them yet" in said.stderr
    with d.follow("stream", "services") as reader:
        api.delete("services", "n/a")
        api.listen()
        lines = reader.wait(2)
        assert [line.get("name") for line in lines] == ["b", None]
        assert lines[1]["type"] == "SYNCED" and lines[1]["stale"] is False
    d.settled(api)
    assert d.control.keys("services") == ["n/b"]
    watch = d.control.watch("services")
    assert watch["past"] is False and watch["resumed"] == "watch" and watch["synced"] is True
    assert d.control.status()["degraded"] == []


def test_status_says_why_the_identity_of_the_cluster_is_unknown(api, alone):
    d = alone(HELD)
    cause = wait_until(lambda: [r for r in d.control.status()["degraded"] if "refused" in r])
    assert cause == ["cluster prod: identity unknown, the server has not answered yet: "
                     f"127.0.0.1:{api.port}: connect: connection refused"]
    assert cause[0] in d.ctl("status").stdout
    api.listen()
    d.settled(api)
    assert d.control.status()["degraded"] == []


def test_status_and_stream_say_that_a_start_is_stale(api, alone):
    d = alone(SOON)
    d.control.wait_watch("services", synced=True, stale=True)
    assert [r for r in d.control.status()["degraded"] if r.startswith("watch services: started stale")]
    assert d.ctl("status").returncode == 1
    found = json.loads(d.ctl("doctor", "-o", "json").stdout)["findings"]
    assert [f["id"] for f in found if f["text"].startswith("started stale")] == ["stale"]
    assert sorted(d.control.keys("services")) == ["n/a", "n/b"]
    with d.follow("stream", "services") as reader:
        assert reader.wait(3)[2]["stale"] is True
        api.listen()
        assert reader.wait_for(lambda line: line["type"] == "FRESH")
    d.settled(api)
    assert d.control.status()["degraded"] == []
    assert d.control.watch("services")["past"] is False


def test_objects_of_the_state_are_one_line_of_the_journal(api, left):
    d = left(service("n/a"), service("n/b"))
    api.apply(service("n/c"))
    d.again(api)
    def lines_with(text):
        return [line for line in d.ctl("events").stdout.splitlines() if text in line]

    wait_until(lambda: lines_with("state=synced"))
    assert len(lines_with("state=resumed objects=2")) == 1 and len(lines_with("resumed")) == 1
    [change] = lines_with(" change ")
    assert "key=n/c" in change and "type=ADDED" in change


def test_a_watch_with_other_settings_says_so(api, left):
    d = left(service("n/a"), service("n/b"))
    edit(d, "watches", "services", drop=["spec.ports"])
    d.again(api)
    assert d.control.watch("services")["resumed"] == "edited"
    assert "RESUMED" in d.ctl("watches", "-o", "wide").stdout


def test_commits_leave_no_file_open(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    for number in range(1, 61):
        api.apply(service("n/a", ports=[number]))
        d.caught_up(api)
    assert d.control.status()["state"]["commits"] >= 60
    names = [target for target in open_files(d.pid).values() if "/state.db" in target]
    assert 1 <= len(names) <= 8, "the file, its log and its index, some twice during a sync"
