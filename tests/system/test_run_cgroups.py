# SPDX-License-Identifier: Apache-2.0
"""Under systemd each run has a cgroup of its own below the one that the unit delegates."""
import pathlib
import re

import pytest

from control import wait_until
from fakeapi import service
from node import OUT
from proctree import children

FOLDER = "/run/systemd/system/informerd.service.d"
EXAMPLES = "/usr/share/doc/informerd/examples"
ESCAPES = (f"(env -i setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >{OUT}/pid.new; mv {OUT}/pid.new "
           f"{OUT}/pid)\ncat /proc/self/cgroup >{OUT}/cgroup.new\nmv {OUT}/cgroup.new {OUT}/cgroup\nexit 3")
NONE = "runs have no cgroup of their own"


def cgroup_of(pid):
    """As the tests see it: relative to the hierarchy of the machine."""
    text = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    return re.search(r"^0::(.*)$", text, re.M)[1]


@pytest.fixture
def drop_in(node):
    def use(name):
        if name is not None:
            node.machine.check("mkdir", "-p", FOLDER)
            node.machine.check("cp", f"{EXAMPLES}/{name}.conf", FOLDER)
        if name == "single-user":
            node.machine.check("chown", "informerd", "/etc/informerd/kubeconfig")
        node.machine.write(f"{FOLDER}/write.conf", f"[Service]\nBindPaths={OUT}\n")
        node.machine.check("systemctl", "daemon-reload")
    yield use
    node.unit.stop()
    node.machine.check("rm", "-rf", FOLDER)
    node.machine.check("systemctl", "daemon-reload")


@pytest.mark.parametrize("name", [None, pytest.param("strict", marks=pytest.mark.long),
                                  pytest.param("single-user", marks=pytest.mark.long)])
def test_a_process_that_escapes_is_killed_with_its_run(node, api, drop_in, name):
    drop_in(name)
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h", ESCAPES, retry={"attempts": 1})})
    node.machine.path("/etc/informerd/informerd.conf").chmod(0o644)
    started = node.unit.start()
    assert started.returncode == 0, (started.stderr, node.unit.messages())
    wait_until(lambda: node.unit.control.hook("h")["runs_failed"] == 1)
    assert not [line for line in node.unit.messages() if NONE in line]
    pid = int(node.machine.read(f"{OUT}/pid"))
    assert not node.machine.path(f"/proc/{pid}").exists()
    own = cgroup_of(node.unit.main)
    assert own.endswith("/informerd.service/daemon")
    assert {cgroup_of(child) for child in children(node.unit.main)} == {own}
    assert re.search(r"^0::.*/informerd\.service/run-\S+$", node.machine.read(f"{OUT}/cgroup"), re.M)


@pytest.mark.long
def test_without_delegation_the_log_says_once_what_does_not_hold(node, api, drop_in):
    drop_in(None)
    node.machine.write(f"{FOLDER}/none.conf", "[Service]\nDelegate=no\n")
    node.machine.check("systemctl", "daemon-reload")
    api.apply(service("n/a"))
    node.configure(hooks={"h": node.hook("h")})
    assert node.unit.start().returncode == 0
    node.wait_out("h")
    assert len([line for line in node.unit.messages() if NONE in line]) == 1
