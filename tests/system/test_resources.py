# SPDX-License-Identifier: Apache-2.0
"""The service on a machine that has too little: disk space, processes, a journal that reads."""
import resource

import pytest

from control import wait_until
from fakeapi import service
from node import OUT
from proctree import exists

pytestmark = pytest.mark.long

RUNTIME, FULL = "/run/small", "/run/full"


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
    drop_in = "/run/systemd/system/informerd.service.d"
    node.machine.write(f"{drop_in}/limit.conf", "[Service]\nLimitNPROC=1:100\n")
    node.machine.check("systemctl", "daemon-reload")
    try:
        node.configure(hooks={"h": node.hook("h")}, limits={"ready_timeout": "500ms"})
        node.unit.start()
        node.unit.wait_message("cannot start runs", "processes")
        main = node.unit.main
        resource.prlimit(node.unit.helper, resource.RLIMIT_NPROC, (100, 100))
        node.wait_out("h")
        assert node.unit.main == main and exists(main)
    finally:
        node.machine.run("rm", "-rf", drop_in)
        node.machine.check("systemctl", "daemon-reload")


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
