# SPDX-License-Identifier: Apache-2.0
"""A test run that is killed leaves no daemon, no hook and no server behind."""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import proctree
import reaper
from control import wait_until

HERE = pathlib.Path(__file__).resolve().parent
INNER = """
import pathlib, threading
from control import wait_until
from fakeapi import service

def read(path):
    return path.exists() and path.read_text()

def test_that_hangs(api, daemon, new_hook):
    hook = new_hook('setsid sleep 9999 & echo $! >"$d/sleeper"')
    hook.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    run = hook.wait(1)[0]
    sleeper = wait_until(lambda: read(hook.folder / "sleeper"))
    there = pathlib.Path(__file__).with_name("there")
    there.with_suffix(".new").write_text(f"{d.pid} {d.helper} {run.pid} {sleeper}")
    there.with_suffix(".new").rename(there)
    threading.Event().wait()
"""


@pytest.fixture
def hanging(tmp_path):
    """A pytest with one worker, in which a test hangs. At the end no process of it may be left."""
    inner = tmp_path / "test_inner.py"
    inner.write_text(INNER)
    environ = {name: value for name, value in os.environ.items()
               if name != reaper.VARIABLE and not name.startswith("PYTEST_")}
    run = subprocess.Popen(     # env(1), as SIGINT may be ignored here, as in a shell's background
        ["env", "--default-signal=INT", sys.executable, "-m", "pytest", "-q",
         "-c", HERE / "pytest.ini", "--rootdir", tmp_path, "--basetemp", tmp_path / "inner",
         "-p", "conftest", "-n", "1", inner], cwd=tmp_path,
        env={**environ, "PYTHONPATH": str(HERE)}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until((tmp_path / "there").exists, what="the inner test hangs")
        yield run
        below = {int(pid) for pid in (tmp_path / "there").read_text().split()}
        wait_until(lambda: not any(proctree.exists(pid) for pid in below), what="all are dead")
        wait_until(lambda: not about(tmp_path), what=lambda: f"left: {about(tmp_path)}")
    finally:
        run.kill()
        run.wait()


def about(folder):
    """{pid: command line} of the processes whose command line names this folder."""
    here = {int(pid): proctree.command(pid) for pid in os.listdir("/proc") if pid.isdigit()}
    return {pid: text for pid, text in here.items() if str(folder) in text}


def pytest_and_worker(run):
    """The pids of pytest itself and of its worker: below the reaper, which is below `run`."""
    above = proctree.children(run.pid).pop()
    main = proctree.children(above).pop()
    return main, proctree.children(main).pop()


def test_nothing_is_left_when_the_first_process_is_killed(hanging):
    hanging.kill()


def test_nothing_is_left_when_the_run_is_told_to_end(hanging):
    hanging.terminate()


def test_nothing_is_left_when_pytest_below_the_reaper_is_killed(hanging):
    os.kill(pytest_and_worker(hanging)[0], signal.SIGKILL)
    assert hanging.wait() == 128 + signal.SIGKILL


def test_nothing_is_left_when_every_process_called_pytest_is_killed(hanging, tmp_path):
    proctree.kill([pid for pid, text in about(tmp_path).items() if "pytest " in text])


def test_nothing_is_left_when_a_worker_is_killed(hanging):
    os.kill(pytest_and_worker(hanging)[1], signal.SIGKILL)
    assert hanging.wait() == 1


def test_nothing_is_left_after_control_c(hanging):
    os.killpg(hanging.pid, signal.SIGINT)
    assert hanging.wait() == 2
