# SPDX-License-Identifier: Apache-2.0
"""The cgroups of the runs of a daemon, and cgroups to start daemons in."""
import contextlib
import itertools
import os
import pathlib

import pytest
from control import wait_until

ROOTS = [pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/unified")]
number = itertools.count()


def root():
    """The folder of the hierarchy of cgroup v2; None if there is none."""
    with open("/proc/self/mountinfo", encoding="ascii") as mounts:
        mounted = {line.split()[4] for line in mounts if " - cgroup2 " in line}
    return next((folder for folder in ROOTS if str(folder) in mounted), None)


def can_be_made():
    """Whether daemons of these tests can make cgroups for their runs: no systemd manages them, and they
    can be written."""
    own = root() and of("self")
    return bool(own) and not os.path.exists("/run/systemd/system") and os.access(own, os.W_OK)


def of(pid):
    """The folder of the cgroup of a process."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return root() / line[3:].strip("/")
    return None


needed = pytest.mark.skipif(not can_be_made(), reason="this machine lets nobody make cgroups")


def tree(d):
    """The folder below which the runs of this daemon have their cgroups."""
    return of("self") / f"informerd-{d.process.pid}"


def runs(folder):
    """The cgroups of runs in a tree."""
    return sorted(entry.name for entry in folder.glob("run-*"))


def processes(folder):
    return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]


def is_empty(folder):
    """Whether no process is in a cgroup, and none below it. The kernel may count one that was reaped a moment
    longer (Linux 6.18)."""
    return "populated 0" in (folder / "cgroup.events").read_text()


@contextlib.contextmanager
def made(delegated):
    """A new cgroup. While the block runs, processes that the test starts are in it; afterwards all that are
    left in it are killed. delegated: as systemd marks the cgroup of a unit with Delegate=yes."""
    home = of("self")
    folder = home / f"test-{os.getpid()}-{next(number)}"
    folder.mkdir()
    try:
        if delegated:
            os.setxattr(folder, "trusted.delegate", b"1")
        (folder / "cgroup.procs").write_text(f"{os.getpid()}")
        try:
            yield folder
        finally:
            (home / "cgroup.procs").write_text(f"{os.getpid()}")
    finally:
        remove(folder)


def remove(folder):
    """Kills the processes below a cgroup, and removes it."""
    (folder / "cgroup.kill").write_text("1")
    wait_until(lambda: is_empty(folder), what="it is empty")
    for below in sorted((entry for entry in folder.rglob("*") if entry.is_dir()), reverse=True):
        below.rmdir()
    folder.rmdir()
