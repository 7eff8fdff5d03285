# SPDX-License-Identifier: Apache-2.0
"""Programs that misbehave in every way: they affect no other hook or key, and leave nothing
behind."""
import errno
import os
import pathlib
import signal
import time

import campaign
import pytest
from control import wait_until
from fakeapi import service, simple
from harness import ONCE, check_config, hook_settings, is_sanitized
from proctree import children, exists, fds, few_descriptors, kill, memory_kb, no_more_processes

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
QUICK = {"initial": "10ms", "max": "20ms"}
GIB = 1 << 30
STANDARD_STREAMS = 3    # descriptors 0, 1 and 2, which are never free
SIGNALS = ["HUP", "INT", "QUIT", "ILL", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "PIPE",
           "ALRM", "TERM", "XCPU", "SYS", "RTMIN"]


@pytest.fixture
def beside(api, daemon, new_hook):
    """beside.start(command or None, ...): a synced daemon with the hook "bad" and a good one.
    works() checks that the good hook gets its events while the bad one misbehaves."""
    class Scene:
        good = new_hook()
        daemon = None
        count = before = 0

        def start(self, command, **more):
            settings = {"sources": ["services"], "command": command, "retry": ONCE, **more}
            self.daemon = daemon(api, hooks={"bad": settings, "good": self.good}).synced()
            api.wait_watching("services")
            self.before = self.open_files()
            return self.daemon

        def works(self):
            self.count += 1
            api.apply(service(f"n/works{self.count}"))
            self.good.wait_what("ADDED", f"n/works{self.count}")

        def bad(self):
            return self.daemon.control.hook("bad")

        def wait_bad(self, ok=0, failed=0):
            wait_until(lambda: self.bad()["runs_ok"] >= ok and self.bad()["runs_failed"] >= failed,
                       what="runs of the bad hook")

        def clean(self):
            """Checks that nothing is left of any run: no process, no zombie, no pipe, no memory
            file."""
            d = self.daemon
            wait_until(lambda: all(h["running"] == 0 for h in d.control.status()["hooks"].values()))
            wait_until(lambda: not children(d.helper), what="no process is left, dead or alive")
            wait_until(lambda: self.open_files() <= self.before, what="nothing of the runs is open")

        def open_files(self):
            """The number of pipes and memory files that the daemon has open."""
            return len([target for pid in (self.daemon.pid, self.daemon.helper)
                        for target in fds(pid).values() if target.startswith(("pipe:", "/memfd:"))])
    return Scene()


# ---- Standard streams

@pytest.mark.parametrize("text", [
    "exec 0<&-; sleep 0.05", "exec 0<&- 1>&- 2>&-; sleep 0.05", "exec 0</dev/null 1<&0 2<&0",
    "true", "head -c 1 >/dev/null", "exec 1>&-; echo x", "exec 2>&1 1>/dev/full; :"],
    ids=["closes stdin", "closes all", "reopens all", "never reads", "reads a byte",
         "writes to a closed stdout", "full"])
def test_hooks_that_do_not_use_their_streams(api, beside, new_program, text):
    program = new_program(f"{text}\nexit 0")
    beside.start([program.path])
    for number in range(5):
        api.apply(service(f"n/s{number}", annotations={"x": "y" * 200000}))
    beside.wait_bad(ok=5)
    beside.works()
    beside.clean()
    assert beside.bad()["runs_failed"] == 0


@pytest.mark.parametrize("where", ["", ">&2"], ids=["stdout", "stderr"])
def test_a_hook_that_writes_without_end(api, beside, new_program, where):
    size = campaign.size(GIB // 16, GIB)
    program = new_program(f"head -c {size} /dev/zero {where}; [ $? = 0 ] && echo ok >\"$d/ok\"")
    d = beside.start([program.path], log_limit="16KiB", timeout="1h")
    before = memory_kb(d.pid)
    api.apply(service("n/a"))
    beside.works()
    beside.wait_bad(ok=1)
    assert program.text("ok") == "ok\n", "nobody closed the pipe"
    [line] = [e for e in d.problems(hook="bad", key="n/a") if "limit" in e["msg"]]
    assert line["bytes"] >= size - 64 * 1024
    beside.clean()
    assert d.stderr_file.stat().st_size < 1_000_000
    if not is_sanitized():
        assert memory_kb(d.pid) - before < 4 * 1024


# ---- Ends

def test_hooks_that_die_by_each_signal(api, beside, new_program):
    program = new_program('ulimit -c 0\n[ -e "$d/ok" ] || kill "-${INFORMERD_NAME#sig-}" $$')
    d = beside.start([program.path])
    keys = {int(getattr(signal, f"SIG{name}")): name for name in SIGNALS}
    for number in keys:
        api.apply(service(f"n/sig-{number}"))
    beside.wait_bad(failed=len(keys))
    for number in keys:
        d.wait_problem(f"signal {number} ", hook="bad", key=f"n/sig-{number}")
    beside.works()
    (program.folder / "ok").touch()
    for number in keys:
        assert d.ctl("run", "bad", f"n/sig-{number}").returncode == 0
    beside.wait_bad(ok=len(keys))
    beside.clean()


def test_each_exit_code_is_reported(api, beside, new_program):
    program = new_program('exit "${INFORMERD_NAME#code-}"')
    d = beside.start([program.path], concurrency=4)
    codes = [1, 2, 64, 126, 127, 128, 137, 255]
    for code in codes:
        api.apply(service(f"n/code-{code}"))
    beside.wait_bad(failed=len(codes))
    for code in codes:
        line = d.wait_problem(hook="bad", key=f"n/code-{code}")
        assert f"exit status {code}" in line["result"]


def test_a_hook_that_stops_itself_is_killed_at_its_timeout(api, beside, new_program):
    program = new_program("kill -STOP $$")
    beside.start([program.path], timeout="200ms", kill_grace="100ms")
    api.apply(service("n/a"))
    beside.works()
    beside.wait_bad(failed=1)
    assert "timeout" in beside.bad()["last_error"]
    beside.clean()


TIMEOUT_S = 1


def ends_while_it_stands(api, program, name, stands):
    """The run for n/name ends while process `stands` is stopped, and `stands` goes on after the
    run's timeout. Returns false if this machine was so slow that the run was not over in time."""
    go, deadline = program.folder / "go", time.time() + TIMEOUT_S   # the run's deadline is later
    go.unlink(missing_ok=True)
    api.apply(service(f"n/{name}"))
    run = program.pid(f"started.{name}")
    time.sleep(0.1)  # by now the run's deadline is its timeout, and not that of its start
    os.kill(stands, signal.SIGSTOP)
    try:
        go.touch()
        wait_until(lambda: not exists(run), what="the run is over")
        in_time = time.time() < deadline
        time.sleep(TIMEOUT_S)
    finally:
        os.kill(stands, signal.SIGCONT)
    return in_time


@pytest.mark.parametrize("who", ["main", "helper"])
def test_a_run_that_ends_in_time_while_informerd_is_stopped(api, beside, new_program, who):
    program = new_program('echo $$ >"$d/started.$INFORMERD_NAME"\n'
                          'while [ ! -e "$d/go" ]; do sleep 0.01; done')
    d = beside.start([program.path], timeout=f"{TIMEOUT_S}s", concurrency=4)
    names = (f"a{number}" for number in range(100))
    name = next(name for name in names if ends_while_it_stands(
        api, program, name, d.pid if who == "main" else d.helper))
    wait_until(lambda: d.log(msg="hook done", hook="bad", key=f"n/{name}"), what="its end")
    beside.works()
    beside.clean()
    assert not d.problems(hook="bad", key=f"n/{name}")


def test_a_hook_that_ignores_every_signal_it_can_and_its_children_too(api, beside, new_program):
    program = new_program(
        '[ -e "$d/good" ] && exit 0\n'
        'trap "" HUP INT QUIT USR1 USR2 TERM PIPE ALRM\n'
        'p="$d/pids.$INFORMERD_ATTEMPT"\n'
        'for i in 1 2 3 4 5; do (setsid sleep 1000 & echo $! >>"$p"; wait) & done\n'
        'while [ "$(wc -l <"$p" 2>/dev/null)" != 5 ]; do sleep 0.01; done\n'
        'echo "$p" >"$d/new"; mv "$d/new" "$d/all"; while :; do sleep 1000; done')
    beside.start([program.path], timeout="1s", kill_grace="100ms", retry=QUICK)
    api.apply(service("n/a"))
    listed = pathlib.Path(program.text("all").strip())     # of the attempt that had enough time
    (program.folder / "good").touch()
    pids = [int(pid) for pid in listed.read_text().split()]
    try:
        beside.works()
        beside.wait_bad(failed=1, ok=1)
        wait_until(lambda: not any(map(exists, pids)), what="all of them are killed")
        beside.clean()
    finally:
        kill(pids)


# A program in Python; d is its folder.
LEAVES_ITS_GROUP = """
import ctypes, os, signal, time
for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
ctypes.CDLL(None).prctl(1, 0)   # PR_SET_PDEATHSIG: it does not die with its parent
os.setpgid(0, os.getpgid(os.getppid()))
with open(d + "/new", "w") as file:
    print(os.getpid(), file=file)
os.replace(d + "/new", d + "/pid." + os.environ["INFORMERD_ATTEMPT"])
while True:
    time.sleep(1000)"""


def test_a_program_that_leaves_its_group_is_killed_at_its_timeout(api, beside, new_program):
    program = leaving(new_program)
    beside.start([program.path], timeout="1s", kill_grace="100ms", retry=QUICK)
    api.apply(service("n/a"))
    try:
        beside.wait_bad(failed=2)   # the second run shows that the slot of the first was free again
        beside.works()
        assert beside.daemon.ctl("pause", "bad").returncode == 0
        wait_until(lambda: not any(map(exists, pids_in(program))), what="all of them are killed")
        beside.clean()
    finally:
        kill(pids_in(program))


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_program_that_leaves_its_group_does_not_outlive_informerd(api, daemon, new_program, how):
    program = leaving(new_program)
    api.apply(service("n/a"))
    d = daemon(api, limits={"stop_timeout": "100ms"}, hooks={"bad": {
        "sources": ["services"], "command": [program.path], "kill_grace": "100ms"}})
    pid = program.pid("pid.1")
    try:
        if how == "stopped":
            d.stop()    # the daemon ends after its helper, and the helper ends after the run
            assert not exists(pid)
        else:
            d.process.kill()
            d.expected_exit = d.wait_exit()
            wait_until(lambda: not exists(pid), what="it is killed")
    finally:
        kill([pid])


def leaving(new_program):
    """A program that leaves its process group as soon as its interpreter runs."""
    program = new_program('exec /usr/bin/python3 "$d/leave" "$d"')
    (program.folder / "leave").write_text("import sys\nd = sys.argv[1]" + LEAVES_ITS_GROUP)
    return program


def pids_in(program):
    return [int(file.read_text()) for file in program.folder.glob("pid.*")]


def test_a_fork_storm_after_a_failure_is_cleaned_up(api, beside, new_program):
    program = new_program('i=0; while [ $i -lt 100 ]; do (setsid sleep 1000 </dev/null '
                          '>/dev/null 2>&1 & echo $! >>"$d/pids"); i=$((i+1)); done\nexit 1')
    beside.start([program.path])
    api.apply(service("n/a"))
    beside.wait_bad(failed=1)
    pids = [int(pid) for pid in (program.folder / "pids").read_text().split()]
    try:
        assert len(pids) == 100
        wait_until(lambda: not any(map(exists, pids)), what="all of them are killed")
        beside.works()
        beside.clean()
    finally:
        kill(pids)


# ---- The program changes while it runs

@pytest.mark.parametrize("how", ["replaced", "deleted", "emptied", "a folder"])
def test_a_program_that_changes_while_it_runs(api, beside, new_program, how):
    program = new_program('echo $$ >"$d/started"; while [ ! -e "$d/go" ]; do sleep 0.01; done')
    beside.start(["/bin/sh", program.path] if how == "emptied" else [program.path], retry=QUICK)
    text = program.path.read_text()
    api.apply(service("n/a"))
    program.text("started")
    if how == "replaced":
        new = program.path.with_name("new")
        new.write_text('#!/bin/sh\nexit 7\n')
        new.chmod(0o755)
        new.rename(program.path)
    elif how == "emptied":
        program.path.write_text("\n")
    else:
        program.path.unlink()
        if how == "a folder":
            program.path.mkdir()
    beside.works()
    assert beside.bad()["running"] == 1 and beside.bad()["runs_failed"] == 0
    (program.folder / "go").touch()
    beside.wait_bad(ok=1)
    if how == "a folder":
        program.path.rmdir()
    program.path.unlink(missing_ok=True)  # a program that is running cannot be written to
    program.path.write_text(text)
    program.path.chmod(0o755)
    beside.wait_bad(ok=2)
    beside.clean()


# ---- Programs that cannot be started

def breaks_as(program, name):
    """Changes the program so that a start of it fails; returns a function that takes that back."""
    path, aside = program.path, program.path.with_name("aside")
    text = path.read_text()
    if name in ("ENOENT", "ENOTDIR", "ELOOP"):
        path.rename(aside)
        if name == "ELOOP":
            path.symlink_to(path)
        elif name == "ENOTDIR":
            program.folder.rename(program.folder.with_name("moved"))
            program.folder.write_text("a file\n")
    elif name == "EACCES":
        path.chmod(0o644)
    elif name == "ENOEXEC":
        path.write_text("no interpreter\n")
    elif name == "no interpreter":
        path.write_text("#!/no/such/interpreter\n")

    def heal():
        if name == "ENOTDIR":
            program.folder.unlink()
            program.folder.with_name("moved").rename(program.folder)
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return heal


@pytest.mark.parametrize("name", ["ENOENT", "EACCES", "ENOEXEC", "ENOTDIR", "ELOOP",
                                  "no interpreter"])
def test_a_program_that_cannot_be_started_is_reported_and_runs_later(api, beside, new_program,
                                                                     name):
    program = new_program("exit 0")
    d = beside.start([program.path], retry=QUICK)
    heal = breaks_as(program, name)
    api.apply(service("n/a"))
    beside.wait_bad(failed=3)
    code = getattr(errno, name, errno.ENOENT)
    d.wait_problem(str(program.path), os.strerror(code), hook="bad", key="n/a")
    assert os.strerror(code) in beside.bad()["last_error"]
    beside.works()
    heal()
    beside.wait_bad(ok=1)
    beside.clean()


def test_a_program_that_is_being_written_is_busy(api, beside, new_program):
    program = new_program("")
    program.path.write_bytes(open("/bin/true", "rb").read())
    d = beside.start([program.path], retry=QUICK)
    with program.path.open("r+b"):
        api.apply(service("n/a"))
        beside.wait_bad(failed=3)
        d.wait_problem(os.strerror(errno.ETXTBSY), hook="bad", key="n/a")
        beside.works()
    beside.wait_bad(ok=1)
    beside.clean()


def test_an_argument_that_is_too_long_for_the_kernel(api, beside):
    d = beside.start(["/bin/true", "x" * 140000])
    api.apply(service("n/a"))
    beside.wait_bad(failed=1)
    d.wait_problem("/bin/true", os.strerror(errno.E2BIG), hook="bad", key="n/a")
    beside.works()
    beside.clean()


# ---- Shortages: the system cannot start a program

def wait_short(d, what, code):
    """Waits until the shortage is logged and the hook shows it."""
    line = d.wait_problem(os.strerror(code), short_of=what)
    assert line["hook"] == "bad" and line["advice"]
    wait_until(lambda: os.strerror(code) in (d.control.hook("bad")["last_error"] or ""))


def check_told_once(d, what):
    """Checks that the shortage has one log line when it begins and one when it is over, and none
    per run."""
    wait_until(lambda: d.log(level="info", short_of=what), what="the end of the shortage is told")
    assert len(d.problems(short_of=what)) == 1 and len(d.log(level="info", short_of=what)) == 1
    assert not d.problems(hook="bad", key="n/a"), "the hook is not to blame"
    assert d.control.hook("bad")["last_error"] is None
    assert d.control.hook("bad")["runs_failed"] == 0


@as_root
def test_a_user_who_may_start_no_process(api, beside):
    d = beside.start(["/bin/true"], user="nobody", retry={"attempts": 1})
    with no_more_processes(d.helper):
        api.apply(service("n/a"))
        wait_short(d, "processes", errno.EAGAIN)
        beside.works()
        assert beside.bad()["runs_failed"] == beside.bad()["parked"] == 0
    beside.wait_bad(ok=2)
    beside.works()
    beside.clean()
    check_told_once(d, "processes")


@as_root
def test_a_reload_does_not_say_that_a_shortage_is_over(api, beside):
    """The hook that lacks processes is replaced, and lacks them as before."""
    d = beside.start(["/bin/true"], user="nobody", retry={"attempts": 1})
    with no_more_processes(d.helper):
        api.apply(service("n/a"))
        wait_short(d, "processes", errno.EAGAIN)
        d.settings["hooks"]["bad"]["environment"] = {"X": "1"}
        d.write_config()
        done = d.ctl("reload")
        wait_short(d, "processes", errno.EAGAIN)
        told = d.log(level="info", short_of="processes")
    assert done.returncode == 0 and not told, (done, told)
    beside.works()
    beside.clean()
    check_told_once(d, "processes")


def test_a_helper_without_descriptors(api, beside):
    d = beside.start(["/bin/true"], retry={"attempts": 1})
    with few_descriptors(d.helper, STANDARD_STREAMS):
        api.apply(service("n/a"))
        wait_short(d, "descriptors", errno.EMFILE)
    beside.wait_bad(ok=1)
    beside.works()
    beside.clean()
    check_told_once(d, "descriptors")


def test_a_daemon_without_descriptors(api, beside):
    d = beside.start(["/bin/true"], retry={"attempts": 1})
    with few_descriptors(d.pid, STANDARD_STREAMS):
        api.apply(service("n/a"))
        d.wait_problem(os.strerror(errno.EMFILE), short_of="descriptors")
    beside.wait_bad(ok=1)
    beside.works()
    beside.clean()
    check_told_once(d, "descriptors")


def test_first_runs_and_manual_runs_wait_during_a_shortage(api, daemon, new_program):
    first = new_program('echo >"$d/runs"; while [ ! -e "$d/go" ]; do sleep 0.01; done')
    api.apply(service("n/a"))
    d = daemon(api, hooks={
        "first": {"sources": ["services"], "command": [first.path]},
        "bad": {"sources": ["services"], "command": ["/bin/false"], "after": ["first"],
                "retry": ONCE}})
    first.text("runs")  # main logs the start before the helper has started it
    with few_descriptors(d.helper, STANDARD_STREAMS):
        (first.folder / "go").touch()
        wait_short(d, "descriptors", errno.EMFILE)
        assert not d.control.status()["ready"]
        order = d.ctl("run", "bad", "--wait", "--timeout", "1500ms")
        assert order.returncode == 1 and "not ended yet" in order.stderr, "it outlives an attempt"
        assert not d.control.status()["ready"] and d.control.hook("bad")["runs_failed"] == 0
    wait_until(lambda: d.control.status()["ready"], what="READY, as the first run has ended")
    [run] = d.ctl_json("runs", "bad")
    assert run["outcome"] == "failed" and run["attempt"] == 1 and run["reason"] == "manual"


def test_a_user_who_does_not_exist_is_a_config_error(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, user="no-such-user-here")}, start=False)
    done = check_config(d.config)
    assert done.returncode == 78
    assert f"{d.config}:" in done.stdout + done.stderr
    assert "no-such-user-here" in done.stdout + done.stderr


# ---- No leak

def test_no_descriptor_and_no_process_leaks_over_many_runs_of_all_kinds(api, beside, new_program):
    program = new_program(
        'case $INFORMERD_NAME in *1) exit 1;; *2) kill -KILL $$;; *3) echo x; echo y >&2;;\n'
        '*4) setsid sleep 0 & exit 0;; *5) setsid sleep 1000 & exit 9;; *6) exec 1>&- 2>&-;; esac')
    d = beside.start([program.path], concurrency=4)

    def round_(number, count):
        for key in range(count):
            api.apply(service(f"n/r{number}-{key}"))
        wait_until(lambda: beside.bad()["runs_ok"] + beside.bad()["runs_failed"] >= total)
    total = 50
    round_(0, 50)
    wait_until(lambda: not children(d.helper))
    wait_until(lambda: beside.good.ended() == 50)
    before = len(fds(d.pid)), len(fds(d.helper))
    count = campaign.size(150, 500)
    total += count
    round_(1, count)
    wait_until(lambda: not children(d.helper), what="no process is left, dead or alive")
    wait_until(lambda: len(fds(d.pid)) <= before[0] and len(fds(d.helper)) <= before[1],
               what="no descriptor is left")
    assert beside.bad()["runs_failed"] == 3 * total // 10


def test_thousands_of_runs_leave_nothing(api, daemon):
    count = campaign.size(500, 2000) if is_sanitized() else campaign.size(1500, 10000)
    for number in range(count):
        api.apply(simple("ConfigMap", f"n/c{number:05}", data={"v": "1"}))
    d = daemon(api, log={"level": "warn"},
               watches={"maps": {"resource": "configmaps", "namespaces": ["*"]}},
               hooks={"h": {"sources": ["maps"], "command": ["/bin/true"], "concurrency": 4}})
    wait_until(lambda: d.control.hook("h")["runs_ok"] >= 100)
    memory = memory_kb(d.helper, "VmRSS")
    before = len(fds(d.pid)), len(fds(d.helper))
    wait_until(lambda: d.control.hook("h")["runs_ok"] == count)
    assert d.control.hook("h")["runs_failed"] == 0
    wait_until(lambda: not children(d.helper))
    wait_until(lambda: len(fds(d.pid)) <= before[0] and len(fds(d.helper)) <= before[1])
    if not is_sanitized():
        assert memory_kb(d.helper, "VmRSS") <= memory + 512
