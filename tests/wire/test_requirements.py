# SPDX-License-Identifier: Apache-2.0
"""docs/requirements.md: informerd on kernels that lack newer system calls."""
import errno
import pathlib
import re
import subprocess
import sys

import pytest

import old_kernel
import proctree
from control import wait_until
from fakeapi import service, simple
from harness import ONCE, RETRY, hook_settings

LAUNCHER = pathlib.Path(old_kernel.__file__)
LACKING = [*old_kernel.CALLS, old_kernel.NOEXEC_SEAL]
EACH = [*LACKING, ",".join(LACKING)]


@pytest.fixture(params=EACH, ids=lambda calls: calls if "," not in calls else "all of them")
def old(request, factory, api):
    """A daemon that is not started yet, on a kernel that lacks these calls."""
    def make(**more):
        d = factory.daemon(api, start=False, **more)
        d.launcher = [sys.executable, LAUNCHER, request.param]
        return d
    return make


def test_the_launcher_takes_the_calls_away():
    """Else the tests below show nothing."""
    code = ("import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
            "print([(libc.syscall(n, 0, 0, 0, 0, 0, 0), ctypes.get_errno()) for n in %r]); "
            "fd = libc.memfd_create(b'x', 8); print(fd, ctypes.get_errno()); "
            "print(libc.memfd_create(b'x', 0) >= 0)" % [*old_kernel.CALLS.values()])
    done = subprocess.run([sys.executable, LAUNCHER, ",".join(LACKING), sys.executable, "-c", code],
                          text=True, capture_output=True, check=True)
    lines = done.stdout.splitlines()
    assert eval(lines[0]) == [(-1, errno.ENOSYS)] * len(old_kernel.CALLS)
    assert lines[1:] == [f"-1 {errno.EINVAL}", "True"]


def test_output_files_in_folders_that_are_made(api, old, tmp_path):
    """openat2 and its fallback: folders below a variable, and their removal."""
    api.apply(simple("ConfigMap", "n/a", data={"one": "1\n"}))
    watches = {"config": {"resource": "configmaps", "namespaces": ["*"]}}
    old(watches=watches, hooks={"files": {
        "sources": ["config"], "files_from": "data", "retry": RETRY,
        "output": f"{tmp_path}/${{namespace}}/${{name}}/${{key}}"}}).start()
    wait_until(lambda: (tmp_path / "n" / "a" / "one").exists())
    assert (tmp_path / "n" / "a" / "one").read_text() == "1\n"
    api.delete("configmaps", "n/a")
    wait_until(lambda: not (tmp_path / "n").exists())


def test_a_hook_gets_no_descriptor_of_the_daemon(api, old, new_program):
    """close_range and its fallback."""
    program = new_program('ls -l /proc/self/fd >"$d/fds"; mv "$d/fds" "$d/seen"')
    api.apply(service("n/a"))
    old(hooks={"h": hook_settings(program)}).start()
    seen = program.folder / "seen"
    wait_until(seen.exists)
    numbers = {int(number) for number in re.findall(r" (\d+) -> ", seen.read_text())}
    assert numbers - {3} == {0, 1, 2}       # 3: the folder that ls reads


def test_what_a_run_leaves_behind_is_killed(api, old, new_program):
    """pidfd_open, pidfd_send_signal and their fallback: a child in a session of its own. A run that is
    killed before it has told of the child is tried again."""
    program = new_program('setsid sleep 1000 & echo $! >"$d/pid"; sleep 1000')
    api.apply(service("n/a"))
    old(hooks={"h": hook_settings(program, timeout="1s", kill_grace="1s", retry=RETRY)}).start()
    pid = program.pid("pid")
    wait_until(lambda: not proctree.exists(pid))


def test_without_memory_files_no_hook_runs_and_the_log_says_why(api, factory, new_program):
    """memfd_create, which nothing takes the place of."""
    program = new_program('touch "$d/seen"')
    api.apply(service("n/a"))
    d = factory.daemon(api, start=False, hooks={"h": hook_settings(program, retry=ONCE)})
    d.launcher = [sys.executable, LAUNCHER, "memfd_create"]
    d.start()
    wait_until(lambda: d.log(level="warn", hook="h", result="memory file: Function not implemented"))
    assert not (program.folder / "seen").exists()
