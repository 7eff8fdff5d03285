# SPDX-License-Identifier: Apache-2.0
"""The sandbox of main (docs/sandbox.md), seen from outside. tests/unit/test_sandbox.c tries each call in it."""
import os
import pathlib
import re
import sys

import old_kernel
import pytest
from control import wait_until
from fakeapi import service, simple
from harness import REFUSED, TUNING, has_sandbox
from mounts import start_with_mounts

pytestmark = pytest.mark.skipif(not has_sandbox(), reason="built without the sandbox")
LAUNCHER = pathlib.Path(old_kernel.__file__)
NO_FILES = "this kernel does not limit which files main may open (Landlock)"
NO_CALLS = "this kernel does not limit which system calls main may make (seccomp)"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")


def attributes(status):
    """(Seccomp, Seccomp_filters, NoNewPrivs) of a file /proc/.../status."""
    text = pathlib.Path(status).read_text()
    return tuple(int(re.search(rf"^{name}:\s+(\d+)$", text, re.M)[1])
                 for name in ("Seccomp", "Seccomp_filters", "NoNewPrivs"))


def of_threads(pid):
    """The attributes of all threads of a process, as a set."""
    return {attributes(thread / "status") for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def ours():
    return attributes("/proc/self/status")


def limited():
    """Those of a process that has one filter more than this one."""
    return (2, ours()[1] + 1, 1)


@pytest.fixture
def kept(new_program):
    """A hook that writes its own attributes."""
    return new_program('cat /proc/self/status >"$d/new"; mv "$d/new" "$d/status"')


def hooks(program):
    return {"h": {"sources": ["services"], "command": [program.path]}}


def test_all_threads_of_main_are_limited_and_the_helper_and_hooks_are_not(api, daemon, kept):
    api.apply(service("n/a"))
    d = daemon(api, hooks=hooks(kept))
    seen = kept.folder / "status"
    wait_until(seen.exists)
    assert len(list(pathlib.Path(f"/proc/{d.pid}/task").iterdir())) >= 5    # libuv's four, and the loop's
    assert of_threads(d.pid) == {limited()}
    assert of_threads(d.helper) == {ours()}
    assert not [line for line in code_of(d.pid) if "w" in line.split()[1]]
    assert attributes(seen) == ours()


def test_main_is_limited_with_once(api, factory, new_program):
    """The hook looks at the parent of its parent, which is the helper."""
    program = new_program('p=$(sed -n "s/^PPid:.//p" /proc/$PPID/status); '
                          'cat /proc/$p/status >"$d/new"; mv "$d/new" "$d/status"')
    api.apply(service("n/a"))
    d = factory.daemon(api, start=False, hooks=hooks(program))
    assert d.to_the_end("--once") == 0
    assert attributes(program.folder / "status") == limited()


def test_a_reload_works_in_the_sandbox(api, daemon, kept, new_program):
    """With a new watch, a new hook, and a program in a folder that was not known at the start."""
    api.apply(service("n/a"), simple("ConfigMap", "n/c", data={"a": "1"}))
    d = daemon(api, hooks=hooks(kept))
    wait_until((kept.folder / "status").exists)
    other = new_program('touch "$d/ran"')
    d.settings["watches"]["maps"] = {"resource": "configmaps", "namespaces": ["*"]}
    d.settings["hooks"]["other"] = {"sources": ["maps"], "command": [other.path]}
    d.write_config()
    assert d.ctl("reload").returncode == 0
    wait_until((other.folder / "ran").exists)
    assert of_threads(d.pid) == {limited()}


def test_the_setting_turns_it_off_at_the_next_start(api, daemon, kept):
    d = daemon(api, hooks=hooks(kept))
    d.settings["sandbox"] = "off"
    d.write_config()
    assert d.ctl("reload").returncode == 0
    d.wait_problem(msg="a changed setting needs a restart", setting="sandbox", now="on", wanted="off")
    assert of_threads(d.pid) == {limited()}
    d.stop()
    d.start()
    assert of_threads(d.pid) == {ours()}


@pytest.mark.parametrize("call, level, message", [
    ("landlock_create_ruleset", "info", NO_FILES), ("seccomp", "warn", NO_CALLS)])
def test_without_support_of_the_kernel_informerd_says_so_once_and_works(
        api, factory, kept, call, level, message):
    api.apply(service("n/a"))
    d = factory.daemon(api, start=False, hooks=hooks(kept))
    d.launcher = [sys.executable, LAUNCHER, call]
    d.start()
    wait_until((kept.folder / "status").exists)
    assert [entry["level"] for entry in d.log(msg=message)] == [level]
    assert [entry["msg"] for entry in d.log() if entry["msg"] in (NO_FILES, NO_CALLS)] == [message]


class Switch:
    """/etc/nsswitch.conf as the daemon sees it. hesiod comes with glibc, and is not configured: lookups go on
    with the next service."""

    def __init__(self, folder):
        self.path = folder / "nsswitch.conf"

    def set(self, services):
        self.path.write_text(f"hosts: {services}\n")

    def start(self, d):
        start_with_mounts(d.start, ["--bind", self.path, "/etc/nsswitch.conf"])

    def start_with_link(self, d):
        """/etc/nsswitch.conf is a link to this file, which is in none of the folders of the system."""
        etc = self.path.parent / "etc"
        etc.mkdir()
        (etc / "nsswitch.conf").symlink_to(self.path)
        start_with_mounts(d.start, ["-t", "overlay", "-o", f"lowerdir={etc}:/etc", "none", "/etc"])


@pytest.fixture
def switch(tmp_path):
    if not list(pathlib.Path("/usr/lib").glob("*/libnss_hesiod.so.2")):
        pytest.skip("this glibc has no libnss_hesiod")
    return Switch(tmp_path)


def named(factory, api, kept):
    """A daemon that looks a name up for each new connection."""
    return factory.daemon(api, start=False, hooks=hooks(kept), clusters={
        "prod": {"servers": [api.url.replace("127.0.0.1", "localhost")],
                 "ca_file": factory.authority.file, "tuning": TUNING}})


def code_of(pid):
    """The lines of memory that may be executed."""
    return [line for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
            if "x" in line.split()[1]]


@as_root
def test_modules_of_the_name_service_are_there_before_main_is_limited(api, factory, kept, switch):
    api.apply(service("n/a"))
    switch.set("hesiod files")
    d = named(factory, api, kept)
    switch.start(d)
    wait_until((kept.folder / "status").exists)
    assert any("libnss_hesiod" in line for line in code_of(d.pid))
    assert of_threads(d.pid) == {limited()}


@as_root
def test_a_file_of_the_name_service_may_be_a_link_to_anywhere(api, factory, kept, switch):
    api.apply(service("n/a"))
    switch.set("hesiod files")
    d = named(factory, api, kept)
    switch.start_with_link(d)
    wait_until((kept.folder / "status").exists)
    assert any("libnss_hesiod" in line for line in code_of(d.pid))


@as_root
def test_a_module_that_is_named_later_is_refused_and_doctor_says_so(api, factory, kept, switch):
    """Names are still found, by the next service of the line."""
    api.apply(service("n/a"))
    switch.set("files")
    d = named(factory, api, kept)
    d.may_be_refused = True
    switch.start(d)
    wait_until((kept.folder / "status").exists)
    switch.set("hesiod files")
    api.drop()
    d.wait_problem(msg=REFUSED, call="mmap")
    api.apply(service("n/b"))
    d.caught_up(api)
    assert not any("libnss_hesiod" in line for line in code_of(d.pid))
    done = d.ctl("doctor")
    assert done.returncode == 1 and "sandbox" in done.stdout and "mmap" in done.stdout
    assert len(d.log(msg=REFUSED)) == 1
