# SPDX-License-Identifier: Apache-2.0
"""Faults of the machine that no test can make for real without harm to the machine: a disk that hangs,
clocks that jump, a resolver that never answers. A library that is preloaded makes them
(tests/faults/shim.c). tests/faults/run.py has each system call fail, one at a time."""
import errno
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import campaign
from control import wait_until
from fakeapi import service
from harness import BUILD, ROOT, SERVICES, hook_settings, is_sanitized
from hostile import Patient, some
from proctree import descendants, exists, reap, stop

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))

from shim import HANG, Shim  # noqa: E402

pytestmark = pytest.mark.skipif(is_sanitized(), reason="the sanitizer wants to be preloaded first")
DAY, YEAR = 86400, 365 * 86400


@pytest.fixture
def shim(tmp_path):
    return Shim(tmp_path / "faults")


@pytest.fixture
def patient(api, daemon, new_hook, shim):
    def make(**settings):
        return Patient(api, daemon, new_hook, environ=shim.environ, **settings).learn()
    return make


# ---- System calls that fail


def test_system_calls_fail_one_at_a_time():
    """A few of those that tests/faults/run.py has fail; in the long form all."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/faults/run.py", "--build", BUILD, "--jobs", "2",
                           *(["--all"] if campaign.LONG else ["--faults", "24"])], text=True, capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_request_to_the_helper_that_finds_no_memory_is_sent_later(api, factory, hook, shim, tmp_path, number):
    """ENOBUFS says that the kernel has no memory for the message now. An OPEN or a KILL that was lost would
    be missed for ever; a run that could not be asked for is tried again."""
    api.apply(service("n/a"))
    token = tmp_path / "token"
    token.write_text("of-the-test")
    token.chmod(0o600)
    cluster = {"servers": [api.url], "ca_file": factory.authority.file, "token_file": token}
    rule = shim.fail("sendmsg", errno.ENOBUFS, role="M", first=number, times=1)
    d = factory.daemon(clusters={"prod": cluster}, hooks={"h": hook}, environ=shim.environ).settled(api)
    assert rule.done
    api.apply(service("n/b"))
    d.caught_up(api)
    assert {run.key for run in hook.runs()} == {"n/a", "n/b"}


# ---- The disk hangs


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_a_disk_that_is_stuck_does_not_keep_informerd_from_its_end(patient, shim, call):
    """Nothing that waits for the disk ever returns. The stop ends all the same, and says so."""
    p = patient().mark()
    with shim.failing(call, error=HANG, path=p.state) as rule:
        p.change()
        wait_until(lambda: rule.done, what="the disk hangs")
        below = descendants(p.d.pid)
        assert p.d.stop()[0] == 0
        wait_until(lambda: all(reap(pid) or not exists(pid) for pid in below), what="all are gone")
    said = [line["msg"] for line in p.d.log()]
    assert [text for text in said if text.startswith("state not completely written")], said[-5:]
    p.up().well(forgot=True).follows().well(forgot=True).remembers("kill")


def test_hooks_run_while_the_disk_hangs(patient, shim):
    p = patient().mark()
    with shim.failing("pwrite64", error=HANG, path=p.state):
        p.change()
        p.d.caught_up(p.api)
        p.well()
    p.wait_writable()
    p.follows().well().remembers("kill")


# ---- Clocks


@pytest.mark.parametrize("seconds", [-DAY, DAY])
def test_the_wall_clock_jumps(patient, shim, seconds):
    """It is for people only: no run, no request comes of a jump."""
    p = patient().mark()
    before = len(p.objects.runs()), len(p.api.of("services", "L"))
    shim.jump(realtime_s=seconds)
    p.d.caught_up(p.api)
    assert (len(p.objects.runs()), len(p.api.of("services", "L"))) == before
    p.change()
    p.d.caught_up(p.api)
    p.well().follows().well().no_warning()
    p.remembers("kill")
    shim.jump(realtime_s=-seconds)
    p.follows_more().well().no_warning()
    p.remembers("kill").tidy()


@pytest.mark.parametrize("seconds", [-40 * YEAR, 10 * YEAR])
def test_a_wall_clock_that_is_years_off_is_named_and_mended(patient, shim, seconds):
    """No certificate is valid then: open watches go on, and new connections fail with the reason."""
    p = patient().mark()
    shim.jump(realtime_s=seconds)
    p.change()
    p.d.caught_up(p.api)
    p.well().down("kill")
    p.d.start()
    p.d.wait_problem("certificate", "clock")
    shim.jump(realtime_s=-seconds)
    p.follows().well().remembers("kill")


def test_the_machine_was_suspended(patient, shim):
    """CLOCK_BOOTTIME has gone on, and CLOCK_MONOTONIC has not: informerd goes on where it was."""
    p = patient().mark()
    lists = len(p.api.of("services", "L"))
    shim.jump(realtime_s=3 * DAY, boottime_s=3 * DAY)
    p.change()
    p.d.caught_up(p.api)
    p.well().no_warning()
    p.remembers("kill")
    assert len(p.api.of("services", "L")) == lists


# ---- Processes that stand still


@pytest.mark.parametrize("who", ["main", "helper", "both"])
def test_processes_that_stand_still_go_on(patient, who):
    """SIGSTOP and SIGCONT, as by a debugger or a freezer, while changes come."""
    p = patient().mark()
    which = {"main": [p.d.pid], "helper": [p.d.helper], "both": [p.d.helper, p.d.pid]}[who]
    for pid in which:
        stop(pid)
    p.change()
    if who == "helper":
        p.d.seen(p.api)
    for pid in which:
        os.kill(pid, signal.SIGCONT)
    p.d.caught_up(p.api)
    p.well().follows().well().no_warning()
    p.remembers("kill").tidy()


# ---- A resolver that never answers


def test_names_that_are_looked_up_for_ever_do_not_hold_up_the_state(api, factory, new_hook, shim):
    """libuv looks names up in threads, which the state is written in, too."""
    hook = new_hook()
    api.apply(service("n/a"))
    names = [f"nobody{number}.test" for number in range(8)]
    clusters = {"prod": factory.cluster(api)}
    watches = {"services": {**SERVICES["services"], "cluster": "prod"}}
    for name in names:
        clusters[name[:7]] = {"servers": [f"https://{name}:6443"], "ca_file": factory.authority.file}
        watches[name[:7]] = {**SERVICES["services"], "cluster": name[:7]}
    rule = shim.fail("getaddrinfo", error=HANG, path=".test")
    d = factory.daemon(clusters=clusters, watches=watches, environ=shim.environ,
                       hooks={"h": hook_settings(hook)})
    hook.wait(1)
    wait_until(lambda: rule.done, what="names are looked up")
    api.apply(service("n/b"))
    hook.wait(2)
    wait_until(lambda: d.control.status()["state"]["waiting"] == 0, what="the state is written")
    assert d.control.status()["state"]["writable"] and not d.problems(msg="state is written late")
    assert d.stop()[0] == 0


# ---- A quota


def test_the_quota_is_used_up(patient, shim):
    p = patient().mark()
    with shim.failing("pwrite64", error=errno.EDQUOT, path=p.state):
        p.change()
        p.d.caught_up(p.api)
        assert "quota" in p.wait_degraded().lower()
        p.one_warning("quota", "free some space")
        p.well()
    p.wait_writable()
    p.api.apply(some(7, 98))
    p.follows().well().remembers("kill").tidy()
