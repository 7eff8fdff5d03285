# SPDX-License-Identifier: Apache-2.0
"""The service on a machine that has too little: disk space, memory, processes, a network, a journal that
reads."""
import contextlib
import os
import pathlib
import re
import resource

import pytest

from control import wait_until
from fakeapi import service
from node import OUT
from proctree import exists

pytestmark = pytest.mark.long

RUNTIME, FULL = "/run/small", "/run/full"
DROP_INS = "/run/systemd/system/informerd.service.d"
MEMORY = 64 << 20
# Between the machine and the tests there is only lo.
HOLE = """table inet hole {{
  chain input {{
    type filter hook input priority 0;
    tcp dport {port} drop
    tcp sport {port} drop
  }}
}}
"""


@contextlib.contextmanager
def drop_in(node, line):
    """A directive of the unit besides those of the package."""
    node.machine.write(f"{DROP_INS}/test.conf", f"[Service]\n{line}\n")
    node.machine.check("systemctl", "daemon-reload")
    try:
        yield
    finally:
        node.machine.run("rm", "-rf", DROP_INS)
        node.machine.check("systemctl", "daemon-reload")


@pytest.fixture
def runtime(node):
    """A file system of its own for the folder of the control socket."""
    node.machine.check("mkdir", "-p", RUNTIME)

    def mount(options):
        node.machine.check("mount", "-t", "tmpfs", "-o", options, "none", RUNTIME)
        node.configure(control={"socket": f"{RUNTIME}/control.sock"})
    yield mount
    node.unit.stop()
    node.machine.check("umount", RUNTIME)


def test_a_start_without_room_for_the_control_socket_is_tried_again(node, runtime):
    runtime("nr_inodes=1")
    node.unit.start()
    node.unit.wait_message("control.sock", "No space left")
    assert node.unit.show("ExecMainStatus") == "1"
    wait_until(lambda: int(node.unit.show("NRestarts")) > 0)
    node.machine.check("mount", "-o", "remount,nr_inodes=100", RUNTIME)
    wait_until(lambda: node.unit.state() == ("active", "running"))


def test_a_read_only_folder_of_the_control_socket_is_explained(node, runtime):
    runtime("ro")
    assert node.unit.start().returncode != 0
    node.unit.wait_message("control.sock", "Read-only", "control.socket")
    assert node.unit.show("ExecMainStatus") == "78"


def test_hooks_wait_while_their_user_may_have_no_more_processes(node, api):
    api.apply(service("n/a"))
    with drop_in(node, "LimitNPROC=1:100"):
        node.configure(hooks={"h": node.hook("h")}, limits={"ready_timeout": "500ms"})
        node.unit.start()
        node.unit.wait_message("cannot start runs", "processes")
        main = node.unit.main
        resource.prlimit(node.unit.helper, resource.RLIMIT_NPROC, (100, 100))
        node.wait_out("h")
        assert node.unit.main == main and exists(main)


@contextlib.contextmanager
def memory_limit(node):
    """The processes of the unit may have MEMORY bytes together. On a machine with cgroup 1 the systemd of the
    container cannot say so: then a group of the host does."""
    with drop_in(node, f"MemoryMax={MEMORY}"):
        node.unit.start()
        own = re.search(r"^\d+:memory:(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.M)
        if own is None:
            yield
            return
        group = pathlib.Path(f"/sys/fs/cgroup/memory{own[1]}/informerd-test-{os.getpid()}")
        group.mkdir()
        try:
            (group / "memory.limit_in_bytes").write_text(str(MEMORY))
            before = node.family()
            for pid in before:
                (group / "cgroup.procs").write_text(str(pid))
            yield
        finally:
            node.unit.stop()
            node.wait_gone(before)
            group.rmdir()


def test_a_hook_that_runs_out_of_memory_fails_alone(node, api):
    greedy = {"sources": ["services"], "shell": "head -c 200M /dev/zero | tail", "retry": {"attempts": 1}}
    node.configure(hooks={"greedy": greedy, "fine": node.hook("fine")})
    with memory_limit(node):
        main = node.unit.show("MainPID")
        api.apply(service("n/a"))
        node.unit.wait_message("hook failed", 'hook="greedy"', "137")
        api.apply(service("n/b"))
        node.wait_out("fine", 2)
        assert (node.unit.show("MainPID"), node.unit.show("NRestarts")) == (main, "0")
        assert node.unit.state() == ("active", "running")
        assert node.unit.show("OOMPolicy") == "continue"    # systemd sees this kill on cgroup 2 only


def test_a_black_hole_is_no_contact_and_nothing_restarts_or_is_lost(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h")})
    assert node.unit.start().returncode == 0
    node.wait_out("h")
    main = node.unit.show("MainPID")
    rules = node.machine.write("/run/hole.nft", HOLE.format(port=api.url.rpartition(":")[2]))
    node.machine.check("nft", "-f", "/run/hole.nft")
    try:
        api.apply(service("n/b"))
        wait_until(lambda: node.unit.show("StatusText").startswith("no contact: watch services: "))
        assert len(node.out("h")) == 1
    finally:
        node.machine.check("nft", "delete", "table", "inet", "hole")
        rules.unlink()
    node.wait_out("h", 2)
    wait_until(lambda: node.unit.show("StatusText") == "1 of 1 watches synced, 1 hook")
    assert (node.unit.show("MainPID"), node.unit.show("NRestarts")) == (main, "0")


def test_a_full_disk_below_the_state_stops_no_hook_and_loses_nothing(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h")}, state_dir=f"{FULL}/state")
    node.machine.check("mkdir", "-p", FULL)
    node.machine.check("mount", "-t", "tmpfs", "-o", "size=1M,mode=0755", "none", FULL)
    try:
        assert node.unit.start().returncode == 0
        node.wait_out("h")
        node.machine.run("sh", "-c", f"cat /dev/zero >{FULL}/filler")
        for number in range(20):    # more rows than fit into what the state has already
            api.apply(service(f"n/s{number}", labels={"long": "x" * 60}))
        node.unit.wait_message("state not writable", "No space left")
        node.wait_out("h", 21)
        node.machine.check("rm", f"{FULL}/filler")
        node.unit.wait_message("state is writable again")
        node.machine.check("systemctl", "restart", node.unit.name)
        api.apply(service("n/b"))
        node.wait_out("h", 22)
        assert len(node.out("h")) == 22
    finally:
        node.unit.stop()
        node.machine.check("umount", FULL)


def test_a_full_disk_fails_only_the_hook_that_writes_to_it(node, api):
    api.apply(service("n/a"))
    node.configure(hooks={"full": node.hook("full", f"echo x >{FULL}/file"),
                          "fine": node.hook("fine")}, limits={"ready_timeout": "1s"})
    node.machine.check("mkdir", "-p", FULL)
    node.machine.check("mount", "-t", "tmpfs", "-o", "nr_inodes=1,mode=1777", "none",
                       FULL)
    try:
        node.unit.start()
        node.unit.wait_message("hook failed", 'hook="full"')
        node.unit.wait_message("to stdout of fine")
        node.machine.check("mount", "-o", "remount,nr_inodes=100", FULL)
        wait_until(lambda: node.unit.control.hook("full")["pending"] == 0)
    finally:
        node.unit.stop()
        node.machine.check("umount", FULL)


def test_two_daemons_do_not_share_a_socket(node):
    node.configure()
    assert node.unit.start().returncode == 0
    second = node.machine.run("informerd", "--log-format", "text")
    assert second.returncode == 1 and "another informerd is running" in second.stderr
    assert node.machine.run("informerctl", "status").returncode == 0


def test_the_journal_may_restart(node, api):
    node.configure(hooks={"h": node.hook("h")})
    assert node.unit.start().returncode == 0
    node.machine.check("systemctl", "restart", "systemd-journald")
    api.apply(service("n/a"))
    node.wait_out("h")
    node.unit.wait_message("to stdout of h")


def test_a_journal_that_stands_still_stops_no_hook(node, api):
    # in all less than the 10 000 lines that informerd logs in 30 s
    flood = "i=0; while [ $i -lt 200 ]; do echo $i 0123456789012345678901234; i=$((i+1)); done"
    node.configure(hooks={"h": node.hook("h", f"{flood}; touch {OUT}/ended.$INFORMERD_NAME")})
    assert node.unit.start().returncode == 0
    journald = int(node.machine.check("systemctl", "show", "-P", "MainPID", "systemd-journald"))
    node.machine.check("kill", "-STOP", str(journald))
    try:
        for number in range(10):
            api.apply(service(f"n/s{number}"))
            wait_until(node.machine.path(f"{OUT}/ended.s{number}").exists)
    finally:
        node.machine.check("kill", "-CONT", str(journald))
    api.apply(service("n/last"))
    node.unit.wait_message("log lines were dropped")
