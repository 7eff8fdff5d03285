# SPDX-License-Identifier: Apache-2.0
"""output, check and apply that fail: the old file stays, and the run is tried again."""
import json
import os
import pathlib
import signal

import campaign
import pytest
from control import wait_until
from fakeapi import service
from harness import ONCE, RETRY
from mounts import start_with_mounts
from outputs import LIST, identity, starts, whole
from proctree import exists


def test_a_failed_command_leaves_the_file(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, shell=f"{LIST}; test ! -e {tmp_path}/fail",
                                      retry=ONCE, apply=[applier.path])}).caught_up(api)
    (tmp_path / "fail").touch()
    before = identity(place / "all.cfg")
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["last_error"] == "exit status 1")
    assert identity(place / "all.cfg") == before and place.files() == {"all.cfg": '"port":81\n'}
    assert starts(applier) == 1


def test_a_failed_check_keeps_the_old_file(api, daemon, place, applier, new_program):
    check = new_program('echo "checking $2"; ls -l "$2" >>"$d/seen"; cat "$2" >>"$d/seen"; '
                        'echo bad >&2; test ! -e "$d/fail"')
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, check=[check.path, "-c", "${file}"],
                                      apply=[applier.path])}).caught_up(api)
    assert '"port":81' in (check.folder / "seen").read_text()
    assert str(place.folder) in (check.folder / "seen").read_text()
    before = identity(place / "all.cfg")
    (check.folder / "fail").touch()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["runs_failed"] >= 2)
    assert d.control.hook("h")["last_error"] == "check: exit status 1 (the old file stays)"
    place.wait({"all.cfg": '"port":81\n'})
    assert identity(place / "all.cfg") == before and starts(applier) == 1
    failed = [r for r in d.ctl_json("runs", "h") if r["outcome"] == "failed"][-1]
    assert failed["stderr"] == "bad\n" and failed["last_line"] == "bad"
    (check.folder / "fail").unlink()
    d.caught_up(api)
    assert place.files() == {"all.cfg": '"port":82\n'} and starts(applier) == 2


def test_a_check_that_cannot_be_started_says_so(api, daemon, place, new_program):
    check = new_program("exit 0")
    check.path.chmod(0o644)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, check=[check.path, "${file}"])})
    entry = d.wait_problem("check", str(check.path), "could not be started", "permission")
    assert entry["hook"] == "h"
    place.wait({})


def test_a_failed_apply_is_tried_again_though_the_file_is_equal(api, daemon, place, applier):
    applier.exits(1, 1, 1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])})
    applier.wait(4)
    d.caught_up(api)
    assert [r.reason for r in applier.runs()] == ["existing", "retry", "retry", "retry"]
    assert [r.attempt for r in applier.runs()] == [1, 2, 3, 4]
    shown = d.control.hook("h")
    assert (shown["runs_ok"], shown["runs_failed"]) == (1, 0)
    assert (shown["applies_ok"], shown["applies_failed"]) == (1, 3)
    assert shown["last_error"] is None


def test_before_its_first_run_nothing_counts_as_applied(api, daemon, place, applier):
    api.on_list("services", times=None).fail(403)
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])})
    units = wait_until(lambda: d.ctl_json("why", "h")["units"])
    assert "not synced" in [unit["text"] for unit in units if unit["program"] == "apply"][0]


def test_the_log_says_when_a_burst_is_applied_and_the_hook_works_again(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    bad = place / "bad"
    d = daemon(api, hooks={"h": whole(place, shell=f"test ! -e {bad} && {LIST}",
                                      apply=[applier.path])})
    wait_until(lambda: d.log("info", msg="hook applied", hook="h"))
    assert not d.log(msg="hook works again")
    bad.touch()
    api.apply(service("n/a", ports=[82]))
    d.wait_problem("hook failed", hook="h")
    bad.unlink()
    wait_until(lambda: len(d.log("info", msg="hook applied", hook="h")) == 2)
    assert len(d.log("info", msg="hook works again", hook="h")) == 1


def test_a_pending_apply_is_shown_everywhere(api, daemon, place, applier):
    applier.exit_with(3)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, limits={"pending": "200ms"},
               hooks={"h": whole(place, retry=ONCE, apply=[applier.path])})
    wait_until(lambda: d.control.hook("h")["applies_failed"] == 1)
    shown = d.control.hook("h")
    assert shown["last_error"] == "apply: exit status 3" and shown["apply"] == "backoff"
    assert shown["pending"] == 1 and shown["oldest_pending_s"] >= 0
    d.wait_problem("hook failed", "apply: exit status 3")
    why = [unit for unit in d.ctl_json("why", "h")["units"] if unit["program"] == "apply"][0]
    assert why["reason"] == "backoff" and why["text"] == "apply: backoff" and why["until"]
    assert why["failures"] == 1 and why["last_run"]["program"] == "apply"
    assert "apply: backoff" in d.ctl("why", "h").stdout
    wait_until(lambda: any("not applied" in text for text in d.control.status()["degraded"]))
    event = [json.loads(line) for line in d.ctl("events", "-o", "json").stdout.splitlines()
             if '"apply"' in line][-1]
    assert event["what"] == "run" and event["program"] == "apply" and event["ok"] is False
    applier.exit_with(0)
    assert d.ctl("run", "h", "--wait").returncode == 0
    assert d.control.hook("h")["last_error"] is None and d.control.hook("h")["pending"] == 0


def test_attempts_park_apply_until_the_next_write(api, daemon, place, applier):
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, retry={**RETRY, "attempts": 2},
                                      apply=[applier.path])})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    assert d.control.hook("h")["apply"] == "parked" and starts(applier) == 2
    applier.exit_with(0)
    api.apply(service("n/a", ports=[82]))
    applier.wait(3)
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0


def test_a_missing_folder_is_named_and_found_when_it_is_there(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, output=place / "no/such/x.cfg",
                                      apply=[applier.path])})
    entry = d.wait_problem("output", str(place / "no/such"), "folder", "make its folder")
    assert entry["hook"] == "h" and place.files() == {} and not applier.runs()
    (place / "no/such").mkdir(parents=True)
    d.caught_up(api)
    assert place.files() == {"no/such/x.cfg": '"port":81\n'} and starts(applier) == 1


def test_a_target_that_is_no_file_is_left_alone(api, daemon, place):
    (place / "all.cfg").mkdir()
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place)})
    d.wait_problem("output", str(place / "all.cfg"))
    assert d.ctl("pause", "h").returncode == 0      # a run would write the file between the two steps
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    (place / "all.cfg").rmdir()
    os.symlink("/etc/passwd", place / "all.cfg")
    assert d.ctl("resume", "h").returncode == 0
    d.caught_up(api)
    assert not (place / "all.cfg").is_symlink()
    assert place.files() == {"all.cfg": '"port":81\n'}


def test_too_much_output_is_no_file(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    big = f"if test -e {tmp_path}/big; then head -c 68157440 /dev/zero; sleep 600; else {LIST}; fi"
    d = daemon(api, hooks={"h": whole(place, shell=big, retry=ONCE, apply=[applier.path])})
    d.caught_up(api)
    (tmp_path / "big").touch()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["last_error"])
    assert "output over 64 MiB" in d.control.hook("h")["last_error"]
    assert place.files() == {"all.cfg": '"port":81\n'} and starts(applier) == 1


def test_megabytes_of_output_arrive_whole(api, daemon, place):
    count = campaign.size(400_000, 2_000_000)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell=f"seq 1 {count}")})
    d.caught_up(api)
    text = (place / "all.cfg").read_text()
    assert text == "".join(f"{i}\n" for i in range(1, count + 1))


def test_empty_output_is_an_empty_file(api, daemon, place, applier):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": whole(place, shell="true", apply=[applier.path])}).caught_up(api)
    assert place.files() == {"all.cfg": ""} and starts(applier) == 1


def test_stdout_that_a_child_keeps_is_not_whole(api, daemon, place, new_program):
    program = new_program('echo first; sleep 600 & echo $! >"$d/pid"')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell=None, command=[program.path], retry=ONCE)})
    d.wait_problem("left behind still holds its stdout")
    wait_until(lambda: not exists(program.pid("pid")))
    assert place.files() == {} and not d.problems(msg="processes of a failed hook could not be "
                                                      "killed")


def test_stdout_that_a_child_keeps_for_a_while_is_waited_for(api, daemon, place):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell="echo first; (sleep 0.1; echo second) &")})
    d.caught_up(api)
    assert place.files() == {"all.cfg": "first\nsecond\n"}


HANGS = {"command": {"shell": "exec sleep 600"},
         "check": {"check": ["/bin/sleep", "600"]},
         "apply": {"apply": ["/bin/sleep", "600"]}}


@pytest.mark.parametrize("phase", HANGS)
def test_each_program_has_the_timeout(api, daemon, place, phase):
    """On a slow machine the timeout may end the other programs as well; then they are tried
    again."""
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, timeout="500ms", **{**HANGS[phase]})})
    failed = {"command": "killed", "check": "check: ", "apply": "apply: "}[phase]
    word = f"timeout after 500 ms: {failed}"
    wait_until(lambda: word in (d.control.hook("h")["last_error"] or ""), what=word)
    assert d.ctl("pause", "h").returncode == 0
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    if phase == "apply":
        assert place.files() == {"all.cfg": '"port":81\n'}
        assert d.control.hook("h")["runs_ok"] >= 1
    else:
        assert place.files() == {}


@pytest.mark.parametrize("phase", HANGS)
def test_a_stop_ends_each_program_and_leaves_no_trace(api, daemon, place, phase, tmp_path):
    (place / "all.cfg").write_text("old\n")
    started = tmp_path / "started"
    shell = f"echo $$ >{started}.new; mv {started}.new {started}; exec sleep 600"
    programs = {"command": {"shell": shell}, "check": {"check": ["/bin/sh", "-c", shell]},
                "apply": {"apply": ["/bin/sh", "-c", shell]}}
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, limits={"stop_timeout": "100ms"},
               hooks={"h": whole(place, **programs[phase])})
    pid = int(wait_until(lambda: started.exists() and started.read_text()))
    code, _seconds = d.stop()
    assert code == 0
    wait_until(lambda: not exists(pid))
    assert place.files() == {"all.cfg": '"port":81\n' if phase == "apply" else "old\n"}


def test_a_stop_lets_a_run_write_its_file(api, daemon, place, hook):
    """The command ends within stop_timeout, so its file is written; apply does not run any more."""
    hook.block()
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, limits={"stop_timeout": "1h"},
               hooks={"h": whole(place, shell=None, command=[hook.path])})
    hook.wait(1)
    d.signal(signal.SIGTERM)
    wait_until(lambda: d.log(msg="stopping"))
    hook.release()
    assert d.wait_exit() == 0
    assert place.files() == {"all.cfg": ""}


# ---- A full disk

def start_with_tmpfs(d, folder, size):
    """Starts the daemon with a tmpfs of this size at `folder`, which no other process sees. Returns
    the path of that folder for this process."""
    start_with_mounts(d.start, ["-t", "tmpfs", "-o", f"size={size}", "none", folder])
    return pathlib.Path(f"/proc/{d.pid}/root{folder}")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")
def test_a_full_disk_leaves_the_old_file_and_is_no_problem_once_it_is_not(api, daemon, place,
                                                                         applier, tmp_path):
    count = tmp_path / "count"
    count.write_text("1000\n")
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, hooks={"h": whole(place, shell=f"seq 1 $(cat {count})",
                                                   apply=[applier.path])})
    folder = start_with_tmpfs(d, place.folder, "1M")
    d.caught_up(api)
    old = "".join(f"{i}\n" for i in range(1, 1001))
    before = identity(folder / "all.cfg")
    assert (folder / "all.cfg").read_text() == old and starts(applier) == 1
    (folder / "ballast").write_bytes(bytes(500_000))
    count.write_text("100000\n")
    api.apply(service("n/a", ports=[82]))
    entry = d.wait_problem("output", str(place / "all.cfg"), "no space left on device")
    assert entry["hook"] == "h" and "all.cfg: write: " in entry["result"]
    wait_until(lambda: d.control.hook("h")["runs_failed"] >= 3)
    assert d.ctl("pause", "h").returncode == 0
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    assert sorted(path.name for path in folder.iterdir()) == ["all.cfg", "ballast"]
    assert (folder / "all.cfg").read_text() == old and identity(folder / "all.cfg") == before
    assert starts(applier) == 1
    (folder / "ballast").unlink()
    assert d.ctl("resume", "h").returncode == 0
    d.caught_up(api)
    assert (folder / "all.cfg").read_text().endswith("\n100000\n") and starts(applier) == 2
    assert d.control.hook("h")["last_error"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")
def test_a_read_only_disk_is_named(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, hooks={"h": whole(place)})
    start_with_tmpfs(d, place.folder, "1M,ro")
    d.wait_problem("output", str(place / "all.cfg"), "read-only", "ReadWritePaths")
