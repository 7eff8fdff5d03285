# SPDX-License-Identifier: Apache-2.0
"""output and apply in special cases: sizes, stops, manual runs, other settings of the hook."""
import json
import threading

import campaign
import pytest
from control import wait_until
from fakeapi import service
from harness import ONCE
from proctree import exists, kill
from outputs import each, port, starts, whole

MAX = 64 * 1024 * 1024


def shown(d, name="h"):
    return d.control.hook(name)


@pytest.mark.parametrize("more", [0, 1])
def test_64_mib_of_output_are_a_file_and_one_byte_more_fails(api, daemon, place, more):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell=f"head -c {MAX + more} /dev/zero",
                                      retry=ONCE)})
    wait_until(lambda: shown(d)["runs_ok"] + shown(d)["runs_failed"] == 1)
    if more:
        assert "output over 64 MiB" in shown(d)["last_error"] and place.files() == {}
    else:
        d.caught_up(api)
        assert (place / "all.cfg").stat().st_size == MAX


def test_stdout_that_is_closed_early_is_whole_when_the_command_is_done(api, daemon, place,
                                                                       tmp_path):
    block = tmp_path / "block"
    block.touch()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell=f"echo first; exec >&-; "
                                      f"while [ -e {block} ]; do sleep 0.02; done")})
    wait_until(lambda: shown(d)["running"] == 1)
    assert place.files() == {}
    block.unlink()
    d.caught_up(api)
    assert place.files() == {"all.cfg": "first\n"}


def test_a_manual_run_of_a_key_waits_for_an_apply_in_backoff(api, daemon, place, applier):
    """When the manual run returns, the file is in effect."""
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, retry=ONCE, apply=[applier.path])})
    wait_until(lambda: shown(d)["applies_failed"] == 1)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 1
    assert shown(d)["applies_failed"] == 2
    applier.exit_with(0)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0
    assert shown(d)["applies_ok"] == 1 and shown(d)["last_error"] is None


def test_an_exit_status_of_apply_parks_nothing(api, daemon, place, applier):
    applier.exits(75, 0)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, park_exit=[75], apply=[applier.path])})
    applier.wait(2)
    d.caught_up(api)
    assert shown(d)["applies_ok"] == 1 and shown(d)["parked"] == 0


def test_hooks_that_come_after_start_when_apply_has_ended_well_or_not(api, daemon, place, applier,
                                                                      hook):
    applier.block()
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, retry=ONCE, apply=[applier.path]),
                           "later": {"sources": ["services"], "command": [hook.path],
                                     "after": ["h"]}})
    applier.wait(1)
    assert place.files() == {"all.cfg": '"port":81\n'} and not hook.order()
    applier.release()
    ran = hook.wait(1)[0]
    assert ran.began >= applier.runs()[0].ended


def test_apply_keeps_min_interval(api, daemon, place, applier):
    """tests/unit/test_apply.c proves in virtual time that the interval ends."""
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, min_interval="1h", apply=[applier.path])})

    def reason():
        return [unit["reason"] for unit in d.ctl_json("why", "h")["units"]
                if unit["program"] == "apply"]
    wait_until(lambda: reason() == ["min_interval"], what="its next try waits for the interval")
    assert starts(applier) == 1


def test_a_rerun_restores_a_file_that_was_edited_and_applies_it(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": each(place, rerun_every="100ms", apply=[applier.path])})
    applier.wait(1)
    (place / "n/a.conf").write_text("by hand\n")
    (place / "n/b.conf").unlink()
    wait_until(lambda: place.files() == {"n/a.conf": port(81), "n/b.conf": port(82)})
    applier.wait(2)
    ok = shown(d)["runs_ok"]
    wait_until(lambda: shown(d)["runs_ok"] > ok + 4)
    assert starts(applier) <= 3


def test_skipped_objects_have_no_file_until_they_change(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": each(place, existing="skip", apply=[applier.path])}).caught_up(api)
    assert place.files() == {} and not applier.runs()
    api.apply(service("n/a", ports=[91]))
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(91)} and starts(applier) == 1
    api.delete("services", "n/b")
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(91)} and starts(applier) == 1


def test_all_first_files_are_applied_once(api, daemon, place, applier):
    count = campaign.size(300, 2000)
    api.apply(*(service(f"n/s{i}", ports=[1000 + i]) for i in range(count)))
    d = daemon(api, hooks={"h": each(place, concurrency=4, apply=[applier.path])})
    d.caught_up(api)
    assert len(place.files()) == count and starts(applier) == 1


def test_a_stop_behind_the_write_is_applied_after_the_restart(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])},
               state_dir="none").caught_up(api)
    assert d.ctl("pause", "h").returncode == 0
    api.apply(service("n/a", ports=[82]))
    assert d.ctl("resume", "h").returncode == 0
    wait_until(lambda: place.files() == {"all.cfg": '"port":82\n'})
    d.stop()
    done = starts(applier)
    d.start().caught_up(api)
    assert starts(applier) == done + 1


def test_a_stop_while_stdout_is_kept_open_leaves_the_old_file(api, daemon, place, new_program):
    program = new_program('echo new; sleep 600 & echo $! >"$d/new"; mv "$d/new" "$d/pid"')
    (place / "all.cfg").write_text("old\n")
    api.apply(service("n/a"))
    d = daemon(api, limits={"stop_timeout": "100ms"},
               hooks={"h": whole(place, shell=None, command=[program.path], timeout="1h")})
    pid = wait_until(lambda: (program.folder / "pid").exists() and program.pid("pid"))
    code, _seconds = d.stop()
    kill([pid])
    assert code == 0 and place.files() == {"all.cfg": "old\n"}


def test_a_hung_apply_is_killed_with_what_it_started(api, daemon, place, new_program):
    """An apply that is killed before its program has begun is tried again."""
    program = new_program('sleep 600 & echo $! >"$d/new"; mv "$d/new" "$d/pid"; wait')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, apply=[program.path], timeout="500ms")})
    pid = program.pid("pid")
    wait_until(lambda: not exists(pid))
    wait_until(lambda: shown(d)["applies_failed"] >= 1)
    assert shown(d)["last_error"].startswith("timeout after 500 ms: apply: killed")


def test_pause_lets_an_apply_end_and_holds_its_retry(api, daemon, place, applier):
    applier.block()
    applier.exit_with(1)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])})
    applier.wait(1)
    assert d.ctl("pause", "h").returncode == 0
    applier.exit_with(0)
    applier.release()
    wait_until(lambda: shown(d)["running"] == 0)
    assert shown(d)["apply"] in ("paused", "backoff", "handled")
    assert d.ctl("resume", "h").returncode == 0
    d.caught_up(api)
    assert shown(d)["applies_ok"] == 1


def test_a_snapshot_of_one_of_two_sources_is_written(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    watches = {"services": {"resource": "services", "namespaces": ["*"]},
               "gadgets": {"resource": "gadgets.v1.example.com", "namespaces": ["*"]}}
    d = daemon(api, watches=watches, hooks={"h": whole(
        place, sources=["services", "gadgets"], require="any", shell="sed 's/.*\"snapshot\"://'")})
    wait_until(lambda: shown(d)["runs_ok"] > 0)
    assert list(json.loads(place.files()["all.cfg"].rstrip()[:-1])) == ["services"]


@pytest.mark.parametrize("second", ["n/a", "n/b"])
def test_two_people_wait_for_one_hook(api, daemon, hook, second):
    """Each person gets the result of runs that started after that person's own command."""
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [hook.path],
                                 "retry": ONCE}}).caught_up(api)
    hook.block()
    hook.exits(1, 0)
    done = {}

    def person(number, key):
        done[number] = d.ctl("run", "h", key, "--wait").returncode
    people = [threading.Thread(target=person, args=key) for key in enumerate(("n/a", second))]
    people[0].start()
    hook.wait(3)
    people[1].start()
    wait_until(lambda: d.control.ask("/v1/hooks/h/order/2")[0] == 200)
    hook.release()
    for one in people:
        one.join()
    assert done == {0: 1, 1: 0}
