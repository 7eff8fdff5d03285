# SPDX-License-Identifier: Apache-2.0
"""An upgrade from a build from before 0.1.0 and before the package, and the way back. The binaries of a commit are
put into the present package."""
import re
import shutil
import subprocess

import pytest

from fakeapi import service
from harness import ROOT
from machine import repackaged, suite
from node import OUT
from control import wait_until

pytestmark = pytest.mark.long

OLD = "e35bf08"


def needs_history():
    """Why there can be no old build; None: there can be one."""
    if subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{OLD}^{{commit}}"],
                      capture_output=True).returncode != 0:
        return f"no commit {OLD} here: not a clone with all of its history"
    own = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release").read(), re.M)[1]
    return None if suite() == own else f"it is built with the libraries of this machine ({own})"


@pytest.fixture(scope="session")
def old_package(package, tmp_path_factory):
    """The present package with the binaries of the old commit, and a version below all others."""
    if why := needs_history():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("old")
    source, build = folder / "source", folder / "build"
    source.mkdir()
    archive = subprocess.Popen(["git", "-C", ROOT, "archive", OLD], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", source], stdin=archive.stdout, check=True)
    assert archive.wait() == 0
    for command in (["cmake", "--preset", "release", "-B", build],
                    ["cmake", "--build", build, "--target", "informerd", "informerctl"]):
        subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)

    def change(tree):
        shutil.copy(build / "informerd", tree / "usr/sbin/informerd")
        shutil.copy(build / "informerctl", tree / "usr/bin/informerctl")
        for unit in tree.rglob("informerd.service"):    # it does not feed a watchdog
            unit.write_text(re.sub(r"^WatchdogSec=.*\n", "", unit.read_text(), flags=re.M))
    return repackaged(package, folder, "0.0.1~old", change)


@pytest.fixture
def old(node, old_package, package):
    """The machine with the old package; at the end it has the present one again."""
    node.machine.install(old_package, "--allow-downgrades")
    yield old_package
    node.unit.stop()
    node.machine.install(package)


class Runs:
    """The runs of three hooks: of mode object, of mode snapshot, and one with an output file and apply."""

    def __init__(self, node, api):
        self.node, self.api, self.sentinels = node, api, 0
        apply = node.hook("applied")["command"]
        node.machine.write("/etc/informerd/hooks/names", "#!/bin/sh\ntr , '\\n' | sed -n "
                           "'s/.*\"name\":\"\\([a-z0-9]*\\)\".*/\\1/p' | sort -u\n", 0o755)
        node.configure(hooks={
            "object": node.hook("object"), "boot": node.hook("boot", effect="boot"),
            "all": node.hook("all", mode="snapshot"),
            "file": {"sources": ["services"], "mode": "snapshot", "user": "root",
                     "command": ["/etc/informerd/hooks/names"], "output": f"{OUT}/file",
                     "apply": apply}})

    def of(self, name):
        """["ADDED a", ...], sorted: the events of the runs of this hook."""
        found = [dict(line.split("=", 1) for line in text.splitlines()
                      if line.startswith("INFORMERD_")) for text in self.node.out(name)]
        return sorted(f"{run['INFORMERD_EVENT']} {run['INFORMERD_NAME']}" for run in found)

    def counts(self):
        return {name: len(self.node.out(name)) for name in ("object", "boot", "all", "applied")}

    def settle(self):
        """Lets one more object come, and waits until nothing is to be done any more."""
        self.sentinels += 1
        name = f"s{self.sentinels}"
        self.api.apply(service(f"n/{name}"))
        wait_until(lambda: name in self.node.machine.read(f"{OUT}/file").split())
        wait_until(lambda: f"ADDED {name}" in self.of("object") and f"ADDED {name}" in self.of("boot"))
        self.node.unit.control.wait_idle()
        return f"ADDED {name}"


def started(node):
    assert node.unit.start().returncode == 0, node.unit.messages()


@pytest.fixture
def runs(node, api, old):
    """The old release has handled two objects."""
    made = Runs(node, api)
    api.apply(service("n/a"), service("n/b"))
    started(node)
    made.settle()
    return made


def grown(before, **more):
    """One run of each hook more: that of the sentinel."""
    return {name: count + more.get(name, 1) for name, count in before.items()}


def install(node, deb):
    node.machine.install(deb, "--allow-downgrades")
    wait_until(lambda: node.unit.state() == ("active", "running"))


def test_an_upgrade_repeats_no_run(node, runs, package):
    assert "0.0.1" in node.machine.version()
    before = runs.counts()
    install(node, package)
    runs.settle()
    assert runs.counts() == grown(before), node.unit.messages()


def test_what_changed_before_an_upgrade_runs_once(node, api, runs, package):
    expected = runs.of("object")
    node.unit.stop()
    api.delete("services", "n/a")
    api.apply(service("n/b", selector={"changed": "yes"}), service("n/c"))
    node.machine.install(package)
    started(node)
    expected += ["DELETED a", "MODIFIED b", "ADDED c", runs.settle()]
    assert runs.of("object") == runs.of("boot") == sorted(expected), node.unit.messages()
    assert {"b", "c", "s1", "s2"} <= (names := set(node.machine.read(f"{OUT}/file").split()))
    assert "a" not in names


def test_on_the_way_back_nothing_is_lost_and_only_what_the_newer_one_handled_runs_again(
        node, api, runs, old, package):
    """The old build compares all of a digest; a new record has the digests of bytes and of value side by
    side. So it knows the states that it has handled itself, and takes the others for changed."""
    install(node, package)
    expected = [*runs.of("object"), runs.settle()]
    node.unit.stop()
    api.delete("services", "n/a")
    node.machine.install(old, "--allow-downgrades")
    started(node)
    expected += ["DELETED a", "MODIFIED s2", runs.settle()]
    assert runs.of("object") == runs.of("boot") == sorted(expected), node.unit.messages()
    before = runs.counts()
    install(node, package)
    runs.settle()
    assert runs.counts() == grown(before), node.unit.messages()
