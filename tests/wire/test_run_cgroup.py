# SPDX-License-Identifier: Apache-2.0
"""Each run has a cgroup of its own: nothing in it outlives a run that failed, and nothing of it is left."""
import contextlib
import os
import pathlib
import re
import subprocess

import campaign
import cgroups
import proctree
import pytest
import ways_out
from control import wait_until
from fakeapi import service
from harness import ONCE
from mounts import start_with_mounts

pytestmark = [cgroups.needed, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
QUICK = {"initial": "10ms", "max": "20ms"}
TIMEOUT, GRACE = 2.0, 0.3
STAYS = 'setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >"$d/pid.new"; mv "$d/pid.new" "$d/pid"'


def with_argument(word):
    """The processes that have this word in their command line."""
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if word in proctree.command(pid) and proctree.exists(pid)]


def test_no_way_outlives_the_timeout(api, daemon, tmp_path, record_property):
    """The hooks run as an ordinary user. When a run has ended, none of its processes is left. In a campaign in which
    nothing runs beside it (-n 0), the test also judges how long each run took."""
    place = tmp_path / "ways"
    place.mkdir()
    place.chmod(0o777)
    for folder in place.parents:
        if folder.stat().st_uid == os.getuid() and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    program = place / "ways_out.py"
    program.write_bytes(pathlib.Path(ways_out.__file__).read_bytes())
    hook = {"sources": ["services"], "user": "nobody", "timeout": f"{TIMEOUT:g}s", "kill_grace": f"{GRACE * 1000:g}ms",
            "retry": QUICK}
    d = daemon(api, limits={"hook_concurrency": 2}, hooks={way: {
        **hook, "shell": f'exec /usr/bin/python3 {program} {way} "{place}/{way}.$INFORMERD_ATTEMPT."'}
        for way in ways_out.ways}).synced()
    api.apply(service("n/a"))

    def attempts(way):
        """The ended attempts that came far enough within their two seconds."""
        return [n for n in range(1, d.control.hook(way)["runs_failed"] + 1) if (place / f"{way}.{n}.").exists()]
    wait_until(lambda: all(map(attempts, ways_out.ways)), what="each way has been tried to its end")
    left = {way: with_argument(f"{place}/{way}.{n}.") for way in ways_out.ways for n in attempts(way)}
    assert not any(left.values()), left
    assert not d.problems(msg="processes of a failed hook could not be killed")

    def slowest(way):
        ended = attempts(way)
        return max(run["took_s"] for run in d.ctl_json("runs", way) if run["attempt"] in ended)
    took = {way: slowest(way) for way in ways_out.ways}
    for way, seconds in took.items():
        record_property(way, seconds)
    d.stop()
    assert not with_argument(str(place))
    if campaign.LONG and "PYTEST_XDIST_WORKER" not in os.environ:
        print("seconds from the start of a run to the end of its last process, with a timeout of "
              f"{TIMEOUT:g} s and a grace of {GRACE:g} s")
        print("\n".join(f"{seconds:6.3f}  {way}" for way, seconds in took.items()))
        assert max(took.values()) <= TIMEOUT + GRACE + 1


@pytest.mark.parametrize("leave, alive", [("keep", True), ("kill", False)])
def test_leave_says_what_happens_to_processes_of_a_good_run(api, daemon, new_program, leave, alive):
    program = new_program(STAYS)
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [program.path], "leave": leave}}).synced()
    api.apply(service("n/a"))
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 1)
    pid = int(program.text("pid"))
    try:
        assert proctree.exists(pid) == alive
        assert len(cgroups.runs(cgroups.tree(d))) == alive
        if alive:
            d.wait_problem("hook left processes running", hook="h")
        else:
            assert d.log(msg="processes that a good run left were killed, as `leave` says (logged once per hook)")
            assert not d.problems(hook="h")
    finally:
        proctree.kill([pid])
    wait_until(lambda: not cgroups.runs(cgroups.tree(d)), what="its cgroup goes with it")


def test_a_stop_removes_the_cgroups(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    tree = cgroups.tree(d)
    api.apply(service("n/a"))
    hook.wait_what("ADDED", "n/a")
    assert tree.is_dir()
    d.stop()
    assert not tree.exists()


@pytest.mark.parametrize("who", ["main", "helper", "both"])
def test_a_crash_leaves_no_process_and_no_cgroup_after_the_next_start(api, daemon, new_program, who):
    program = new_program(STAYS.replace("pid", "pid.$INFORMERD_NAME") + '; while [ -e "$d/block" ]; do sleep 0.02; done')
    (program.folder / "block").touch()
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [program.path]}}).synced()
    tree = cgroups.tree(d)
    api.apply(service("n/a"))
    pid = int(program.text("pid.a"))
    victims = {"main": [d.pid], "helper": [d.helper], "both": [d.helper, d.pid]}[who]
    proctree.kill(victims)
    d.wait_exit()
    (program.folder / "block").unlink()
    (program.folder / "pid.a").unlink()
    d.start()
    d.synced()
    wait_until(lambda: not proctree.exists(pid), what="the process of the old run is gone")
    again = int(program.text("pid.a"))      # of the run that is repeated, and goes well
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 1)
    d.stop()
    assert proctree.exists(again)
    proctree.kill([again])
    wait_until(lambda: cgroups.is_empty(cgroups.tree(d)), what="the kernel does not count it any more")
    d.start()
    d.synced()
    assert not tree.exists()
    assert not cgroups.runs(cgroups.tree(d))


def test_a_tree_that_somebody_removes_is_made_again(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).synced()
    api.apply(service("n/a"))
    hook.wait_what("ADDED", "n/a")
    wait_until(lambda: not cgroups.runs(cgroups.tree(d)), what="the run is over")
    cgroups.tree(d).rmdir()
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    assert cgroups.tree(d).is_dir()


def test_in_a_delegated_cgroup_main_and_helper_have_one_of_their_own(api, daemon, hook):
    """cgroups(7): a cgroup that gives controllers to others has no processes itself."""
    d = daemon(api, start=False, hooks={"h": hook})
    with cgroups.made(delegated=True) as folder:
        d.start()
        d.synced()
        hook.block()
        api.apply(service("n/a"))
        run = hook.wait_what("ADDED", "n/a")
        assert cgroups.of(d.pid) == cgroups.of(d.helper) == folder / "daemon"
        assert cgroups.of(run.pid).parent == folder
        assert cgroups.of(run.pid).name == f"run-{run.env['INFORMERD_RUN']}"
        hook.release()
        wait_until(lambda: not cgroups.runs(folder), what="the run is over")
        d.stop()
        assert not any(entry.is_dir() for entry in folder.iterdir() if entry.name != "daemon")


@pytest.mark.parametrize("name", ["run-1-2", ".control"])
def test_an_informerd_that_a_run_starts_leaves_other_runs_alone(api, daemon, hook, name):
    """As one that a command of the unit starts (ExecReload=), for which systemd has a cgroup .control."""
    d = daemon(api, start=False, hooks={"h": hook})
    home = cgroups.of("self")
    with cgroups.made(delegated=True) as folder:
        (folder / name).mkdir()
        other = folder / "run-other"
        other.mkdir()
        (other / "cgroup.procs").write_text("0")
        try:
            with subprocess.Popen(["/bin/sleep", "1000"]) as run:
                try:
                    (folder / name / "cgroup.procs").write_text("0")
                    d.start()
                    d.synced()
                    assert run.poll() is None and other.exists()
                    d.stop()
                    assert run.poll() is None and other.exists()
                finally:
                    run.kill()
        finally:
            (home / "cgroup.procs").write_text("0")


def test_cgroups_that_a_run_makes_below_its_own_go_with_it(api, daemon, new_program):
    """Root can make some, a container for example."""
    program = new_program(f'own={cgroups.root()}$(sed -n s/^0:://p /proc/self/cgroup); mkdir -p "$own/a/b" "$own/c"')
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [program.path]}}).synced()
    api.apply(service("n/a"))
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 1)
    wait_until(lambda: not cgroups.runs(cgroups.tree(d)), what="they are removed")


def test_without_cgroups_the_group_is_killed_and_the_log_says_so_once(api, daemon, new_program):
    """As on a machine that shows its cgroups read-only."""
    program = new_program('sleep 1000 & echo $! >"$d/pid.new"; mv "$d/pid.new" "$d/pid"; exit 3')
    d = daemon(api, start=False, hooks={"h": {"sources": ["services"], "command": [program.path],
                                              "retry": ONCE, "pids_max": 10}})
    start_with_mounts(d.start, ["--bind", cgroups.root(), cgroups.root()],
                      ["-o", "remount,bind,ro", cgroups.root()])
    d.synced()
    api.apply(service("n/a"))
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
    pid = int(program.text("pid"))
    assert not proctree.exists(pid)
    [told] = d.problems(msg="runs have no cgroup of their own: a process that leaves its process group "
                            "outlives its run")
    assert re.search("Read-only file system", told["err"])
    assert not cgroups.tree(d).exists()


LIMITING = ("memory", "pids", "cpu")


def controllers():
    """Those that the tests can give to a cgroup of theirs, which is below the root of the hierarchy."""
    if not cgroups.root() or cgroups.of("self") != cgroups.root():
        return []
    return (cgroups.root() / "cgroup.controllers").read_text().split()


@contextlib.contextmanager
def given():
    """While the block runs, the root of the hierarchy gives its controllers to the cgroups below."""
    file = cgroups.root() / "cgroup.subtree_control"
    new = [name for name in LIMITING if name in controllers() and name not in file.read_text().split()]
    file.write_text(" ".join(f"+{name}" for name in new))
    try:
        yield
    finally:
        file.write_text(" ".join(f"-{name}" for name in new))


def limited(api, daemon, program, **settings):
    """A daemon in a delegated cgroup, with a hook that has these limits. Returns the daemon once the hook
    has had its run, and the result."""
    d = daemon(api, start=False, hooks={"h": {"sources": ["services"], "command": [program.path],
                                              "retry": ONCE, **settings}})
    with given(), cgroups.made(delegated=True):
        d.start()
        d.synced()
        api.apply(service("n/a"))
        wait_until(lambda: d.control.hook("h")["runs_failed"] + d.control.hook("h")["runs_ok"] == 1)
        run = d.ctl_json("runs")[0]
        metrics = d.control.ask("/metrics")[2].decode()
        d.stop()
    return d, run, metrics


@pytest.mark.skipif("pids" not in controllers(), reason="no pids controller in cgroup v2")
def test_a_run_that_reaches_pids_max_is_told_as_that(api, daemon, new_program):
    program = new_program("for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; exit 4")
    d, run, metrics = limited(api, daemon, program, pids_max=5)
    assert "too many processes (pids_max of the hook, or TasksMax= of the unit)" in run["result"]
    assert 'informerd_hook_limits_reached_total{hook="h",reason="pids"} 1' in metrics


@pytest.mark.skipif("memory" not in controllers(), reason="no memory controller in cgroup v2")
def test_a_run_that_reaches_memory_max_is_told_as_that(api, daemon, new_program):
    program = new_program("exec /usr/bin/python3 -c 'x = bytearray(1 << 28)'")
    d, run, metrics = limited(api, daemon, program, memory_max="32MiB")
    assert "out of memory (memory_max of the hook" in run["result"]
    assert run["memory_peak_bytes"] >= 30 << 20
    assert 'informerd_hook_limits_reached_total{hook="h",reason="memory"} 1' in metrics


LIMITS = {"memory_max": ("memory.max", "1GiB", "1073741824"), "pids_max": ("pids.max", 900, "900"),
          "cpu_max": ("cpu.max", "150%", "150000 100000"), "cpu_weight": ("cpu.weight", 300, "300")}
NO_EFFECT = "helper: a limit of runs has no effect: the cgroup lacks its controller"


@pytest.mark.parametrize("setting", ["memory_max", "pids_max", "cpu_max", "cpu_weight"])
def test_each_limit_is_that_of_the_cgroup_or_is_told_to_have_no_effect(api, daemon, new_program, setting):
    """It has no effect where the kernel has the controller in a hierarchy of cgroup v1."""
    file, value, written = LIMITS[setting]
    program = new_program(f'own=$(sed -n s/^0:://p /proc/self/cgroup); cat {cgroups.root()}$own/{file} '
                          '>"$d/limit" 2>/dev/null; :')
    d, _, _ = limited(api, daemon, program, **{setting: value})
    if file.split(".")[0] in controllers():
        assert (program.folder / "limit").read_text().strip() == written
        assert not d.problems(msg=NO_EFFECT)
    else:
        [told] = d.problems(msg=NO_EFFECT)
        assert (told["hook"], told["file"]) == ("h", file)
