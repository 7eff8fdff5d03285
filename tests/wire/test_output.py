# SPDX-License-Identifier: Apache-2.0
"""output, check and apply: what a hook prints becomes a file, and somebody is told."""
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import threading

import pytest
from confwriter import merge
from control import wait_until
from fakeapi import service
from harness import RETRY
from proctree import exists, kill

SOON = {"settle": ["20ms", "100ms"]}
LATE = {"initial": "1h", "max": "1h"}
PORTS = {"fields": {"PORT": "spec.ports[0].port"},
         "shell": 'echo "port $INFORMERD_FIELD_PORT"'}
LIST = ("sed 's/.*\"snapshot\"://' | grep -o '\"port\":[0-9]*' | sort")  # of a snapshot's ports


class Place:
    """The folder that files are written to."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __truediv__(self, name):
        return self.folder / name

    def files(self):
        """{path below the folder: text}; what is hidden is found, too."""
        return {str(path.relative_to(self.folder)): path.read_text()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def folders(self):
        return sorted(str(path.relative_to(self.folder))
                      for path in self.folder.rglob("*") if path.is_dir())


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path / "place")


@pytest.fixture
def applier(new_hook):
    """The program that is told of new files; it records as hooks do."""
    return new_hook()


def whole(place, **more):
    """A hook with one file of all ports."""
    base = {"sources": ["services"], "mode": "snapshot", "shell": LIST, "retry": RETRY, **SOON,
            "output": place / "all.cfg"}
    return merge(base, more)


def each(place, **more):
    """A hook with a file for each Service."""
    return {"sources": ["services"], "retry": RETRY, **PORTS,
            "output": place / "${namespace}/${name}.conf", **more}


def identity(path):
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns


def starts(hook):
    return len([step for step in hook.order() if step[0] == "start"])


def port(number):
    return f"port {number}\n"


# ---- What is written

def test_stdout_becomes_the_file_and_is_applied(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path, "reload"],
                                      output_mode="0640")})
    d.caught_up(api)
    assert place.files() == {"all.cfg": '"port":81\n"port":82\n'}
    assert (place / "all.cfg").stat().st_mode & 0o7777 == 0o640
    run = applier.wait(1)[0]
    assert run.reason == "existing" and run.attempt == 1
    assert not {"event", "events", "changes", "snapshot"} & set(run.input)
    assert run.input["sources"]["services"]["synced"] is True
    assert run.env["INFORMERD_HOOK"] == "h" and "INFORMERD_EVENT" not in run.env
    api.apply(service("n/b", ports=[83]))
    applier.wait(2)
    d.caught_up(api)
    assert place.files() == {"all.cfg": '"port":81\n"port":83\n'}
    assert [r.reason for r in applier.runs()] == ["existing", "change"]


def test_the_same_bytes_touch_nothing(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    before = identity(place / "all.cfg")
    api.apply(service("n/a", ports=[81], labels={"x": "y"}))
    d.caught_up(api)
    assert d.control.hook("h")["runs_ok"] == 2 and starts(applier) == 1
    assert identity(place / "all.cfg") == before
    run = d.ctl_json("runs", "h")[-1]
    assert (run["program"], run["became"], run["file"]) == ("command", "same",
                                                            str(place / "all.cfg"))


def test_a_file_that_somebody_changed_is_restored_and_applied(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    (place / "all.cfg").write_text("by hand\n")
    assert d.ctl("run", "h", "--wait").returncode == 0
    assert place.files() == {"all.cfg": '"port":81\n'} and starts(applier) == 2


def test_after_a_restart_an_equal_file_is_applied_once(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    before = identity(place / "all.cfg")
    d.stop()
    d.start().caught_up(api)
    assert starts(applier) == 2 and identity(place / "all.cfg") == before


def test_a_file_for_each_object(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]), service("m/a", ports=[83]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    assert place.files() == {"m/a.conf": port(83), "n/a.conf": port(81), "n/b.conf": port(82)}
    assert starts(applier) == 1
    api.apply(service("n/b", ports=[92]))
    d.caught_up(api)
    assert place.files()["n/b.conf"] == port(92) and starts(applier) == 2
    api.delete("services", "n/b")
    d.caught_up(api)
    assert place.files() == {"m/a.conf": port(83), "n/a.conf": port(81)} and starts(applier) == 3
    api.delete("services", "m/a")
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(81)} and place.folders() == ["n"]
    assert starts(applier) == 4
    last = [r for r in d.ctl_json("runs", "h") if r["program"] == "remove"][-1]
    assert last["became"] == "removed" and last["event"] == "DELETED" and last["key"] == "m/a"


def test_an_object_that_left_has_no_file(api, daemon, place, applier):
    watches = {"services": {"resource": "services", "namespaces": ["*"],
                            "match": ["spec.externalTrafficPolicy=Local"]}}
    local = {"externalTrafficPolicy": "Local"}
    api.apply(service("n/a", ports=[81], **local), service("n/b", ports=[82], **local))
    d = daemon(api, watches=watches, hooks={"h": each(place, apply=[applier.path])})
    d.caught_up(api)
    assert sorted(place.files()) == ["n/a.conf", "n/b.conf"]
    api.apply(service("n/a", ports=[81], externalTrafficPolicy="Cluster"))
    d.caught_up(api)
    assert place.files() == {"n/b.conf": port(82)} and starts(applier) == 2
    assert [r["event"] for r in d.ctl_json("runs", "h") if r["program"] == "remove"] == ["LEFT"]


def test_delete_and_create_end_with_the_new_file(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    api.delete("services", "n/a")
    api.apply(service("n/a", ports=[91]))
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(91)}


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_all_keys_together_have_one_file(api, daemon, place, applier, mode):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": whole(place, mode=mode, shell="grep -o 'DELETED\\|ADDED'",
                                      apply=[applier.path, "${file}"])}).caught_up(api)
    assert place.files() == {"all.cfg": "ADDED\nADDED\n"}
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {"all.cfg": "DELETED\n"} and starts(applier) == 2


def test_a_burst_is_applied_once_behind_its_last_write(api, daemon, place, applier):
    d = daemon(api, hooks={"h": each(place, concurrency=4, apply=[applier.path])}).caught_up(api)
    api.wait_watching("services")
    assert not applier.runs()
    api.apply(*(service(f"n/s{i}", ports=[1000 + i]) for i in range(300)))
    d.caught_up(api, timeout=60)
    files = place.files()
    assert files == {f"n/s{i}.conf": port(1000 + i) for i in range(300)}
    last = max((place / name).stat().st_mtime for name in files)
    applies = applier.runs()
    assert applies[-1].began >= last
    spent = last - min((place / name).stat().st_mtime for name in files)
    assert len(applies) == 1 or spent > 9, f"{len(applies)} applies, {spent} s of writing"


def test_first_runs_are_ready_when_they_are_applied(api, daemon, place, applier):
    applier.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])})
    applier.wait(1)
    status, _headers, body = d.control.ask("/readyz")
    assert status == 503 and b"not applied" in body
    applier.release()
    wait_until(lambda: d.control.ask("/readyz")[0] == 200)


# ---- What fails

def test_a_failed_command_leaves_the_file(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, shell=f"{LIST}; test ! -e {tmp_path}/fail",
                                      retry=LATE, apply=[applier.path])}).caught_up(api)
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
    assert identity(place / "all.cfg") == before and place.files() == {"all.cfg": '"port":81\n'}
    assert starts(applier) == 1
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
    assert entry["hook"] == "h" and place.files() == {}


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


def test_what_waits_to_be_applied_is_seen_everywhere(api, daemon, place, applier):
    applier.exit_with(3)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, limits={"pending": "1s"},
               hooks={"h": whole(place, retry=LATE, apply=[applier.path])})
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
    (place / "all.cfg").rmdir()
    os.symlink("/etc/passwd", place / "all.cfg")
    d.caught_up(api)
    assert not (place / "all.cfg").is_symlink()
    assert place.files() == {"all.cfg": '"port":81\n'}


def test_too_much_output_is_no_file(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    big = f"if test -e {tmp_path}/big; then head -c 68157440 /dev/zero; sleep 600; else {LIST}; fi"
    d = daemon(api, hooks={"h": whole(place, shell=big, retry=LATE, apply=[applier.path])})
    d.caught_up(api)
    (tmp_path / "big").touch()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["last_error"], 30)
    assert "output over 64 MiB" in d.control.hook("h")["last_error"]
    assert place.files() == {"all.cfg": '"port":81\n'} and starts(applier) == 1


def test_megabytes_of_output_arrive_whole(api, daemon, place):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell="seq 1 2000000")})
    d.caught_up(api)
    text = (place / "all.cfg").read_text()
    assert text == "".join(f"{i}\n" for i in range(1, 2000001))


def test_empty_output_is_an_empty_file(api, daemon, place, applier):
    api.apply(service("n/a"))
    daemon(api, hooks={"h": whole(place, shell="true", apply=[applier.path])}).caught_up(api)
    assert place.files() == {"all.cfg": ""} and starts(applier) == 1


def test_stdout_that_a_child_keeps_is_not_whole(api, daemon, place, new_program):
    program = new_program('echo first; sleep 600 & echo $! >"$d/pid"')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": whole(place, shell=None, command=[program.path], retry=LATE)})
    d.wait_problem("left behind still holds its stdout")
    kill([program.pid("pid")])
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
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, timeout="300ms", retry=LATE, **{**HANGS[phase]})})
    wait_until(lambda: d.control.hook("h")["last_error"])
    error = d.control.hook("h")["last_error"]
    assert "timeout after 300 ms" in error, error
    if phase == "apply":
        assert place.files() == {"all.cfg": '"port":81\n'}
        assert d.control.hook("h")["runs_ok"] == 1
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
    """The command ends within stop_timeout: its file is written, and is not applied any more."""
    hook.block()
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, shell=None, command=[hook.path])})
    hook.wait(1)
    d.signal(signal.SIGTERM)
    wait_until(lambda: d.log(msg="stopping"))
    hook.release()
    assert d.wait_exit() == 0
    assert place.files() == {"all.cfg": ""}


# ---- Names

def test_two_keys_with_one_file(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, output=place / "${name}.conf",
                                     apply=[applier.path])}).caught_up(api)
    api.apply(service("m/a", ports=[82]))
    entry = d.wait_problem("n/a of source services already", "${namespace}", key="m/a")
    assert "parked" in entry["msg"] and place.files() == {"a.conf": port(81)}
    api.apply(service("n/a", ports=[91]))
    d.caught_up(api)
    assert place.files() == {"a.conf": port(91)} and d.control.hook("h")["parked"] == 1
    api.delete("services", "n/a")
    wait_until(lambda: place.files() == {"a.conf": port(82)})
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0
    api.apply(service("n/a", ports=[81]))
    d.wait_problem("m/a of source services already", key="n/a")
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {"a.conf": port(82)}


@pytest.mark.parametrize("name", ["..", ".", "../x", "..%2fx", "a" * 300, "", "x\0y", "\n",
                                  ".informerd-x"])
def test_no_name_that_a_server_gives_leaves_the_folder(api, daemon, place, tmp_path, name):
    """A real server gives no such names."""
    bad = service("n/a", ports=[81])
    bad["metadata"]["name"] = name
    outside = {path for path in tmp_path.rglob("*") if path.is_file()}
    api.apply(service("n/good", ports=[80]))
    d = daemon(api, hooks={"h": each(place, apply=["/bin/true"])}).caught_up(api)
    api.apply(bad)
    api.apply(service("n/later", ports=[82]))
    wait_until(lambda: "n/later.conf" in place.files())
    files = place.files()
    assert files.pop("n/good.conf") == port(80) and files.pop("n/later.conf") == port(82)
    assert not files or name in ("..%2fx", "\n"), files
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("x")]
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - outside
    assert all(str(path).startswith((str(place.folder), str(d.folder))) or "kubeconfig" in str(path)
               for path in new), new


def test_a_cluster_scoped_object_has_no_namespace(api, daemon, place):
    api.apply({"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": "node-1"}, "spec": {"podCIDR": "10.0.0.0/24"}})
    d = daemon(api, watches={"nodes": {"resource": "nodes"}},
               hooks={"h": {"sources": ["nodes"], "shell": "echo x", "retry": RETRY,
                            "output": place / "${namespace}/${name}"}})
    entry = d.wait_problem("${namespace}", "cluster-scoped", key="node-1")
    assert "parked" in entry["msg"] and place.files() == {}


# ---- informerd and informerctl

def test_once_ends_when_all_is_applied(api, daemon, place, applier):
    applier.exits(1)
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, start=False, hooks={"h": each(place, apply=[applier.path])})
    assert d.to_the_end("--once") == 0
    assert applier.ended() == 2 and sorted(place.files()) == ["n/a.conf", "n/b.conf"]


@pytest.mark.parametrize("attempts", [{"attempts": 2}, {}])
def test_once_is_1_when_apply_fails(api, daemon, place, applier, attempts):
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False,
               hooks={"h": whole(place, apply=[applier.path], retry={**RETRY, **attempts})})
    assert d.to_the_end("--once", "--timeout", "2s") == 1
    assert place.files() == {"all.cfg": '"port":81\n'}


def test_a_dry_run_says_which_files_it_would_write(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, hooks={"h": each(place, apply=[applier.path])})
    assert d.to_the_end("--once", "--dry-run") == 0
    entry = d.log(msg="would run hook")[0]
    assert entry["writes"] == str(place / "n/a.conf") and entry["key"] == "n/a"
    assert [e["hook"] for e in d.log(msg="would apply")] == ["h"]
    assert place.files() == {} and place.folders() == [] and not applier.runs()


def test_run_with_wait_waits_for_apply(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    (place / "n/a.conf").unlink()
    applier.block()
    thread = threading.Timer(0.3, applier.release)
    thread.start()
    done = d.ctl("run", "h", "n/a", "--wait")
    thread.join()
    assert done.returncode == 0 and applier.ended() == 2, done
    assert applier.runs()[1].reason == "manual"
    (place / "n/a.conf").unlink()
    applier.exit_with(1)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 1
    applier.exit_with(0)


def test_a_paused_hook_is_not_applied(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    waits = f'while [ -e {tmp_path}/block ]; do sleep 0.02; done; {PORTS["shell"]}'
    d = daemon(api, hooks={"h": each(place, shell=waits, apply=[applier.path])}).caught_up(api)
    (tmp_path / "block").touch()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["running"] == 1)
    assert d.ctl("pause", "h").returncode == 0
    (tmp_path / "block").unlink()
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 2)
    wait_until(lambda: d.control.hook("h")["apply"] == "paused")
    api.apply(service("n/z", ports=[83]))
    d.seen(api)
    assert starts(applier) == 1
    assert d.ctl("resume", "h").returncode == 0
    applier.wait(2)


def test_input_of_a_key_that_ends_is_told_to_nobody(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place)}).caught_up(api)
    assert json.loads(d.ctl("input", "h", "n/a").stdout)["event"]["name"] == "a"
    assert d.ctl("pause", "h").returncode == 0
    api.delete("services", "n/a")
    d.seen(api)
    refused = d.ctl("input", "h", "n/a")
    assert refused.returncode == 1 and "removed" in refused.stderr, refused


# ---- A full disk

CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000


def enter_own_mounts():
    """This thread, and what it starts from now on, has mounts of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def start_with_tmpfs(d, folder, size):
    """Starts the daemon where folder is a tmpfs of this size, which only it sees. Returns the
    folder as it is seen from here."""
    failed = []

    def work():
        try:
            enter_own_mounts()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder],
                           check=True, capture_output=True)
            d.start()
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed and d.process is None:
        pytest.skip(f"no mounts here: {failed[0]}")
    assert not failed, failed
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
