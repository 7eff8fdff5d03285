# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 98, 99, 101-104: how a program is run, its output, its end, and the things it leaves
behind."""
import os
import signal
import time

import pytest
from control import wait_until
from fakeapi import END, Gate, service, simple
from harness import ONCE, RETRY, hook_settings, is_sanitized
from proctree import descendants, exists, fds, kill, memory_kb

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
ESCAPE = """
setsid sh -c 'echo $$ >>"$0/escaped"; sleep 1000 & echo $! >>"$0/escaped"; wait' "$d" \\
    </dev/null >/dev/null 2>&1 &
while [ "$(wc -l <"$d/escaped" 2>/dev/null)" != 2 ]; do sleep 0.01; done
"""


def plain(program, **more):
    """The settings of a hook with one attempt only."""
    return {"sources": ["services"], "command": [program.path], "retry": ONCE, **more}


def failed(d, hook="h"):
    wait_until(lambda: d.control.hook(hook)["last_error"], what=f"{hook} has failed")
    return d.control.hook(hook)["last_error"]


def succeeded(d, hook="h", count=1):
    wait_until(lambda: d.control.hook(hook)["runs_ok"] >= count, what=f"{hook} has succeeded")


def pids_in(file):
    """The whole lines of a file as numbers."""
    text = file.read_text() if file.exists() else ""
    return [int(pid) for pid in text[:text.rfind("\n") + 1].split()]


def escaped(program):
    file = program.folder / "escaped"
    wait_until(lambda: len(pids_in(file)) == 2, what="two have escaped")
    return pids_in(file)


# ---- 98: the end of a run takes everything with it, unless it succeeded

@pytest.mark.parametrize("ending,word", [("exit 3", "exit status 3"),
                                         ("kill -KILL $$", "signal 9")])
def test_s98_after_a_failed_run_processes_that_escaped_its_group_are_killed(api, daemon,
                                                                            new_program, ending,
                                                                            word):
    program = new_program(f"{ESCAPE}\n{ending}")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program)})
    pids = escaped(program)
    try:
        assert word in failed(d)
        wait_until(lambda: not any(map(exists, pids)), what="what it left behind is killed")
    finally:
        kill(pids)


def test_s98_after_a_timeout_processes_that_escaped_the_group_are_killed(api, daemon, new_program):
    """A run whose timeout passes before a process has escaped is tried again."""
    program = new_program(f"""d="$d/try$INFORMERD_ATTEMPT"; mkdir "$d"; trap '' TERM
{ESCAPE}
while :; do sleep 1000; done""")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program, timeout="500ms", kill_grace="100ms", retry=RETRY)})

    def all_escaped():
        found = map(pids_in, program.folder.glob("try*/escaped"))
        return [pids for pids in found if len(pids) == 2]
    try:
        pids = wait_until(all_escaped)[0]
        assert "timeout" in failed(d)
        wait_until(lambda: not any(map(exists, pids)), what="what it left behind is killed")
    finally:
        d.stop()
        kill([pid for path in program.folder.glob("try*/escaped") for pid in pids_in(path)])


def test_s98_processes_left_by_a_successful_run_are_reported_once_and_left_alone(api, daemon,
                                                                                 new_program):
    program = new_program(f'[ -e "$d/escaped" ] && exit 0\n{ESCAPE}')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program)})
    pids = escaped(program)
    try:
        succeeded(d)
        wait_until(lambda: [e for e in d.log(hook="h") if "left" in e["msg"]])
        api.wait_watching("services")
        api.apply(service("n/b"))
        succeeded(d, count=2)
        d.caught_up(api)
        assert all(map(exists, pids))
        assert len([e for e in d.log(hook="h", key="n/a") if "left" in e["msg"]]) == 1
        assert len([e for e in d.log(hook="h") if "left" in e["msg"]]) == 1
    finally:
        kill(pids)


def test_s98_the_run_of_another_key_is_not_killed_with_it(api, daemon, hook):
    hook.block()
    d = daemon(api, hooks={"h": hook_settings(hook, concurrency=2, timeout="1h", retry=ONCE)})
    api.wait_watching("services")
    api.apply(service("n/bad"), service("n/good"))
    runs = {run.key: run for run in hook.wait(2)}
    os.kill(runs["n/bad"].pid, signal.SIGKILL)
    failed(d)
    assert exists(runs["n/good"].pid)
    hook.release()
    succeeded(d)


def test_s98_the_run_is_over_although_a_grandchild_floods_its_stdout(api, daemon, new_program):
    program = new_program('setsid yes </dev/null & echo $! >"$d/pid"; exit 0')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program, log_limit="8KiB")})
    pid = program.pid("pid")
    try:
        succeeded(d)
        d.control.wait_idle()
        assert d.stderr_file.stat().st_size < 3_000_000
    finally:
        kill([pid])


# ---- 99: output

FLOODS = {"one line": "head -c 1048576 /dev/zero | tr '\\0' x", "lines": "seq 100000",
          "binary": "head -c 1048576 /dev/urandom", "zeros": "head -c 1048576 /dev/zero",
          "stderr": "seq 100000 >&2"}


@pytest.mark.parametrize("name", FLOODS)
def test_s99_output_is_cut_at_log_limit_and_its_end_is_kept(api, daemon, new_program, name):
    program = new_program(f"{FLOODS[name]}; echo; echo the-last-line")
    d = daemon(api, hooks={"h": plain(program, log_limit="8KiB")}).synced()
    api.wait_watching("services")
    before = memory_kb(d.pid)
    api.apply(service("n/a"))
    succeeded(d)
    d.control.wait_idle()
    wait_until(lambda: [e for e in d.problems(hook="h") if "limit" in e["msg"]])
    lines = [e["line"] for e in d.log(msg="hook output", hook="h")]
    assert 4096 <= sum(map(len, lines)) <= (1 if name in ("one line", "lines", "stderr") else 6
                                            ) * 8192 + 4096
    assert "the-last-line" in d.ctl("runs", "h", "-o", "json").stdout
    raw = d.stderr_file.read_bytes()
    assert not set(raw) & (set(range(32)) - {10}), "no control character comes through"
    if not is_sanitized():
        assert memory_kb(d.pid) - before < 8 * 1024


def test_s99_lines_of_both_streams_are_tagged(api, daemon, new_program):
    program = new_program("echo one; echo two >&2; printf three")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program)})
    succeeded(d)
    wait_until(lambda: len(d.log(msg="hook output", hook="h", key="n/a")) == 3)
    assert {(e["stream"], e["line"]) for e in d.log(msg="hook output")} == {
        ("stdout", "one"), ("stderr", "two"), ("stdout", "three")}


# ---- 101: nothing of the input is left behind, whatever happens

def broken(tmp_path, how):
    program = tmp_path / "broken"
    if how != "ENOENT":
        program.write_text("echo no interpreter\n" if how == "ENOEXEC" else "#!/bin/sh\n")
        program.chmod(0o644 if how == "EACCES" else 0o755)
    return program


@pytest.mark.parametrize("how", ["ENOENT", "EACCES", "ENOEXEC"])
def test_s101_the_input_is_gone_when_the_program_cannot_be_started(api, daemon, tmp_path, how):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    d = daemon(api, start=False, hooks={"h": {
        "sources": ["services"], "command": [program],
        "retry": {"initial": "5ms", "max": "10ms"}}})
    program.unlink()
    broken(tmp_path, how)
    api.apply(service("n/a"))
    d.start()
    wait_until(lambda: d.control.hook("h")["runs_failed"] >= 20)
    assert os.strerror({"ENOENT": 2, "EACCES": 13, "ENOEXEC": 8}[how]) in failed(d)
    program.unlink(missing_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    succeeded(d)
    d.control.wait_idle()
    for pid in (d.pid, d.helper):
        wait_until(lambda pid=pid: "memfd:informerd-input" not in str(fds(pid)),
                   what="the memory files are closed")


@as_root
def test_s101_a_hook_of_another_user_can_open_its_descriptors_by_name(api, daemon, new_program):
    program = new_program("id -u; wc -c </dev/stdin; head -c 1 /dev/stdin; echo\n"
                          "echo out >/dev/stdout && echo err >/dev/stderr")
    program.folder.parent.chmod(0o755)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program, user="nobody")}, start=False)
    for folder in program.folder.parents:
        if folder != folder.parent and folder.stat().st_uid == 0:
            folder.chmod(folder.stat().st_mode | 0o011)
    d.start()
    succeeded(d)
    wait_until(lambda: len(d.log(msg="hook output")) >= 5)
    lines = [e["line"] for e in d.log(msg="hook output", stream="stdout")]
    assert int(lines[0]) > 0 and int(lines[1]) > 500 and lines[2:] == ["{", "out"]
    assert [e["line"] for e in d.log(msg="hook output", stream="stderr")] == ["err"]


# ---- 102: not executable

def test_s102_a_program_that_is_not_executable_is_named_and_runs_once_it_is(api, daemon,
                                                                          new_program):
    program = new_program('echo ran >"$d/ran"')
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program, retry={"initial": "50ms", "max": "50ms"})},
               start=False)
    program.path.chmod(0o644)
    d.start()
    line = d.wait_problem(str(program.path), "permission denied", hook="h")
    assert line["key"] == "n/a"
    assert str(program.path) in failed(d)
    program.path.chmod(0o755)
    assert program.text("ran") == "ran\n"
    succeeded(d)
    assert d.control.hook("h")["last_error"] is None


# ---- 103: garbage from one source affects no other source

GARBAGE = {"frame": b'{"type":"ADDED","object":{"kind":]}\n', "bytes": bytes(range(1, 256)),
           "deep": b'{"type":' + b"[" * 5000, "type": b'{"type":"FOO","object":{}}\n'}


@pytest.mark.parametrize("name", GARBAGE)
def test_s103_garbage_in_one_source_does_not_stop_the_others(api, daemon, new_hook, name):
    bad, good = new_hook(), new_hook()
    gate = Gate()
    api.on_watch("endpoints", times=3).stream(gate, GARBAGE[name], END)
    api.apply(service("n/a"))
    d = daemon(api, watches={
        "services": {"resource": "services", "namespaces": ["*"]},
        "endpoints": {"resource": "endpoints", "namespaces": ["*"]}}, hooks={
        "good": good, "bad": hook_settings(bad, sources=["endpoints"])})
    good.wait(1)
    api.wait_watching("services")
    gate.open()
    d.wait_problem("endpoints")
    for number in range(5):
        api.apply(service(f"n/s{number}"))
        good.wait_what("ADDED", f"n/s{number}")
    api.apply(simple("Endpoints", "n/e"))
    bad.wait_what("ADDED", "n/e")


# ---- 104: TERM while hooks run

def test_s104_term_waits_for_running_hooks_and_starts_no_other(api, daemon, hook):
    hook.block()
    d = daemon(api, hooks={"h": hook}, limits={"stop_timeout": "1h"}).synced()
    api.wait_watching("services")
    api.apply(service("n/a"), service("n/b"))
    hook.wait(1)
    d.seen(api)
    d.signal(signal.SIGTERM)
    wait_until(lambda: d.log(msg="stopping") or not d.control.alive(), what="it heard")
    d.signal(signal.SIGTERM)
    hook.release()
    assert d.wait_exit() == 0
    assert hook.ended() == 1 and len(hook.runs()) == 1


@pytest.mark.parametrize("signals", [1, 2, 10])
def test_s104_after_the_stop_timeout_they_are_killed_and_more_signals_do_no_harm(api, daemon,
                                                                               new_hook, signals):
    hook = new_hook(extra="trap '' TERM; : >\"$d/traps\"")
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, kill_grace="100ms")},
               limits={"stop_timeout": "200ms"})
    wait_until((hook.folder / "traps").exists)
    below = descendants(d.pid)
    begin = time.monotonic()
    for _ in range(signals):
        d.signal(signal.SIGTERM)
    assert d.wait_exit() == 0
    assert time.monotonic() - begin > 0.25
    assert hook.ended() == 0 and not [pid for pid in below if exists(pid)]


def test_s104_term_kills_processes_that_escaped_a_running_hook(api, daemon, new_program):
    program = new_program(f"{ESCAPE}\nwhile :; do sleep 1000; done")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": plain(program, kill_grace="200ms")},
               limits={"stop_timeout": "100ms"})
    pids = escaped(program)
    try:
        assert d.stop()[0] == 0
        wait_until(lambda: not any(map(exists, pids)))
    finally:
        kill(pids)
