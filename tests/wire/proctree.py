# SPDX-License-Identifier: Apache-2.0
"""Processes as /proc shows them: children, descriptors, memory, orphans."""
import contextlib
import ctypes
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

from patience import PATIENCE

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    """Makes processes that a daemon leaves behind children of the test process, which finds them
    so."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid="self"):
    out = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            listed = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
            out |= {int(child) for child in listed.split()}
    except OSError:
        pass
    return out


def descendants(pid):
    out, todo = set(), [pid]
    while todo:
        new = children(todo.pop()) - out
        out |= new
        todo += new
    return out


def state(pid):
    """The letter for the state of a process, or of a thread ("PID/task/TID"), as in ps; X: there is no
    such process."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "X"
    return stat.rpartition(")")[2].split()[0]


def status(pid):
    """/proc/PID/status as a dict; empty: there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def exists(pid):
    """Whether there is such a process and it is not a zombie."""
    return state(pid) not in "ZX"


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def open_files(pid):
    """{number: target} of a process's open files."""
    out = {}
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            out[int(entry.name)] = os.readlink(entry)
        except OSError:
            pass
    return out


def fds(pid):
    """As open_files(), without the files of the state: SQLite opens a few of these when it first
    writes, and one more while it syncs."""
    return {number: target for number, target in open_files(pid).items()
            if "/state.db" not in target}


def memory_kb(pid, field="VmHWM"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    return 0


@contextlib.contextmanager
def few_descriptors(pid, limit):
    """The process can open no descriptor from this number on, until the end of the block."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
    yield
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def no_more_processes(helper):
    """In the block user nobody has a process, and the helper may start no other one for him."""
    before = resource.prlimit(helper, resource.RLIMIT_NPROC)
    with subprocess.Popen(["/bin/sleep", "1000"], user="nobody", group="nogroup") as other:
        resource.prlimit(helper, resource.RLIMIT_NPROC, (0, before[1]))
        try:
            yield
        finally:
            resource.prlimit(helper, resource.RLIMIT_NPROC, before)
            other.kill()


def kill(pids):
    """Kills those of these processes that still run, and returns once they are dead. Without the
    wait, a test might look too early and find a dying process running."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while any(exists(pid) for pid in pids):
        time.sleep(0.002)


def stop(pid):
    """Stops the process by SIGSTOP, and returns once all its threads stand still: until then they may
    go on for a moment on other processors. SIGCONT has it go on."""
    os.kill(pid, signal.SIGSTOP)
    while {state(f"{pid}/task/{task}") for task in os.listdir(f"/proc/{pid}/task")} != {"T"}:
        time.sleep(0.002)


def kill_descendants():
    """Kills all descendants of this process, and returns once they are gone."""
    while below := descendants(os.getpid()):
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def reap(pid):
    """Collects a dead orphan; true when there is no such child any more."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def connected(pid):
    """{(local port, remote address)} of the TCP connections in the namespace of this process."""
    found = set()
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        _number, local, remote, state = line.split()[:4]
        if state == "01":     # ESTABLISHED
            address = socket.inet_ntoa(bytes.fromhex(remote.partition(":")[0])[::-1])
            found.add((int(local.partition(":")[2], 16), address))
    return found


def kill_orphans(known, patience=PATIENCE):
    """Collects children that are not in `known`, and waits for those that are about to die. Kills
    the children that are alive after `patience` seconds, and returns their command lines."""
    end = time.monotonic() + patience
    while children() - known and time.monotonic() < end:
        if not [pid for pid in children() - known if not reap(pid)]:
            break
        time.sleep(0.005)
    found = []
    for pid in children() - known:
        found.append(f"{pid} {command(pid)}")
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
    return found
