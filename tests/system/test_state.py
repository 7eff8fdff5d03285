# SPDX-License-Identifier: Apache-2.0
"""The state of informerd.service: its owner, its use at a restart, and how it is forgotten."""
import os
import signal

import pytest

from control import wait_until
from fakeapi import service
from node import STATE
from proctree import exists

pytestmark = pytest.mark.long

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def reasons(node):
    return sorted(line.partition("=")[2] for text in node.out("h") for line in text.splitlines()
                  if line.startswith("INFORMERD_REASON="))


def wait_reasons(node, *wanted):
    """Waits for the runs with these reasons: a run writes its file line by line."""
    wait_until(lambda: len(reasons(node)) >= len(wanted), what=f"runs because of {wanted}")
    assert reasons(node) == sorted(wanted)


def start_with(node, api, *names, state=STATE, **settings):
    api.apply(*(service(f"n/{name}") for name in names))
    node.configure(hooks={"h": node.hook("h", **settings)}, state_dir=state)
    assert node.unit.start().returncode == 0
    wait_reasons(node, *["existing"] * len(names))


def test_the_state_belongs_to_the_user_and_is_closed_to_others(node, api):
    start_with(node, api, "a")
    uid, gid = node.machine.id("-u", "informerd"), node.machine.id("-g", "informerd")
    folder = node.machine.path(STATE)
    wait_until((folder / "state.db").exists)
    facts = folder.stat()
    assert (facts.st_mode & 0o7777, facts.st_uid, facts.st_gid) == (0o700, uid, gid)
    for path in folder.iterdir():
        facts = path.stat()
        assert (facts.st_mode & 0o7777, facts.st_uid) == (0o600, uid), path


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_handled_objects_are_not_run_again(node, api, how):
    start_with(node, api, "a", "b")
    if how == "restart":
        node.machine.check("systemctl", "restart", node.unit.name)
    else:
        os.kill(node.unit.main, signal.SIGKILL)
        wait_until(lambda: node.unit.show("NRestarts") == "1")
        wait_until(lambda: node.unit.state() == ("active", "running"))
    api.apply(service("n/c"))
    wait_reasons(node, "change", "existing", "existing")


def test_an_object_deleted_while_it_was_down_is_told(node, api):
    start_with(node, api, "a", "b")
    node.unit.stop()
    api.delete("services", "n/a")
    assert node.unit.start().returncode == 0
    wait_reasons(node, "change", "existing", "existing")
    ended = [text for text in node.out("h") if "\nINFORMERD_EVENT=DELETED\n" in text]
    assert len(ended) == 1 and "\nINFORMERD_NAME=a\n" in ended[0]


def test_removing_the_folder_forgets_the_state(node, api):
    start_with(node, api, "a")
    node.unit.stop()
    node.machine.check("rm", "-r", STATE)
    assert node.unit.start().returncode == 0
    wait_reasons(node, "existing", "existing")


def test_a_boot_runs_hooks_with_effect_boot_again(node, api):
    start_with(node, api, "a", effect="boot")
    node.machine.check("systemctl", "restart", node.unit.name)
    wait_reasons(node, "existing")
    node.machine.write("/run/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n")
    node.machine.run("umount", BOOT_ID)  # nspawn has mounted a file of its own there
    node.machine.check("mount", "--bind", "/run/boot_id", BOOT_ID)
    try:
        node.machine.check("systemctl", "restart", node.unit.name)
        wait_reasons(node, "existing", "renew")
    finally:
        node.machine.check("umount", BOOT_ID)


def test_a_second_daemon_does_not_get_the_folder(node, api):
    start_with(node, api, "a")
    config = node.configure(control={"socket": "/run/second.sock"})
    second = node.machine.run("informerd", "--log-format", "text")
    first = node.machine.check("systemctl", "show", "-P", "MainPID", node.unit.name).strip()
    assert second.returncode == 1 and f"in use by process {first}" in second.stderr, second.stderr
    assert STATE in second.stderr and config.exists() and exists(node.unit.main)


def test_a_folder_that_the_user_may_not_open_is_not_used(node, api):
    node.machine.check("install", "-d", "-o", "stranger", "-m", "700", STATE)
    start_with(node, api, "a")
    node.unit.wait_message(STATE, "ermission denied")
    assert not list(node.machine.path(STATE).iterdir())


def test_a_folder_of_another_user_is_refused_and_the_start_not_repeated(node):
    node.machine.check("install", "-d", "-o", "stranger", "-m", "755", STATE)
    node.configure()
    assert node.unit.start().returncode != 0
    node.unit.wait_message(STATE, "chown")
    assert node.unit.show("ExecMainStatus") == "78" and node.unit.show("NRestarts") == "0"


def test_a_folder_of_root_is_given_to_the_user(node, api):
    node.machine.check("install", "-d", "-m", "755", STATE)
    start_with(node, api, "a")
    facts = node.machine.path(STATE).stat()
    assert (facts.st_mode & 0o777, facts.st_uid) == (0o700, node.machine.id("-u", "informerd"))


def test_a_read_only_folder_is_read_and_hooks_run(node, api):
    node.machine.check("mkdir", "-p", STATE)
    node.machine.check("mount", "-t", "tmpfs", "-o", "mode=0700", "none", STATE)
    try:
        start_with(node, api, "a")
        node.unit.stop()
        node.machine.check("mount", "-o", "remount,ro", STATE)
        assert node.unit.start().returncode == 0
        node.unit.wait_message("state not writable", "ead-only")
        node.unit.wait_message("state", "ead-only")
        api.apply(service("n/b"))
        wait_reasons(node, "change", "existing")
    finally:
        node.unit.stop()
        node.machine.check("umount", STATE)


def test_a_disk_that_was_never_writable_does_not_prevent_the_start(node, api):
    node.machine.check("mkdir", "-p", "/run/readonly")
    node.machine.check("mount", "-t", "tmpfs", "-o", "ro", "none", "/run/readonly")
    try:
        start_with(node, api, "a", state="/run/readonly/state")
        node.unit.wait_message("/run/readonly/state", "ead-only")
    finally:
        node.unit.stop()
        node.machine.check("umount", "/run/readonly")


def test_an_output_file_is_not_applied_again(node, api):
    """The state says, over a restart too, which files were applied."""
    api.apply(service("n/a"))
    apply = node.hook("applied")["command"]
    node.machine.write("/etc/informerd/hooks/print", "#!/bin/sh\necho $INFORMERD_NAME\n", 0o755)
    node.configure(hooks={"h": {
        "sources": ["services"], "command": ["/etc/informerd/hooks/print"],
        "output": "/run/out-${name}.conf", "apply": apply, "user": "root"}})
    try:
        assert node.unit.start().returncode == 0
        node.wait_out("applied")
        node.machine.check("systemctl", "restart", node.unit.name)
        assert len(node.out("applied")) == 1
        api.apply(service("n/b"))
        node.wait_out("applied", 2)
        assert len(node.out("applied")) == 2
    finally:
        node.machine.run("sh", "-c", "rm -f /run/out-*.conf")
