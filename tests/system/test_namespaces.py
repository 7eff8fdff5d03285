# SPDX-License-Identifier: Apache-2.0
"""The hook of docs/hooks.md "Run a hook in a namespace of its own", word by word, with a real systemd."""
import json
import re

import pytest

from control import wait_until
from fakeapi import service
from harness import ROOT

pytestmark = pytest.mark.long

PROGRAM = """#!/bin/sh
# Says what it can see and do, as JSON.
can() { "$@" 2>/dev/null && echo true || echo false; }
cat <<END
{"uid": $(id -u), "reason": "$INFORMERD_REASON", "run": "$INFORMERD_RUN",
 "document": $(cat | wc -c), "network": "$(ls /sys/class/net | tr '\\n' ' ')",
 "kubeconfig": $(can test -r /etc/informerd/kubeconfig), "writes": $(can touch /var/lib/app/x),
 "capabilities": "$(sed -n 's/^CapBnd:.//p' /proc/self/status)"}
END
[ ! -e /run/fails ] || exit 7
[ ! -e /run/hangs ] || exec sleep 9999
"""


def example():
    text = (ROOT / "docs" / "hooks.md").read_text()
    return re.search(r"^### Run a hook in a namespace of its own\n.*?^```conf\n(.*?)^```", text, re.S | re.M)[1]


@pytest.fixture
def convert(node, api):
    machine = node.machine
    machine.write("/usr/local/bin/convert", PROGRAM, 0o755)
    machine.check("mkdir", "-p", "/var/lib/app")
    node.configure(include=["conf.d/*.conf"])
    machine.write("/etc/informerd/conf.d/convert.conf", example(), 0o600)
    api.apply(service("n/a"))
    assert node.unit.start().returncode == 0, node.unit.messages()
    yield node
    machine.check("rm", "-rf", "/usr/local/bin/convert", "/var/lib/app", "/run/fails", "/run/hangs")


def written(node):
    path = node.machine.path("/var/lib/app/services.json")
    wait_until(path.exists, what=lambda: "\n".join(node.unit.messages()))
    return json.loads(path.read_text())


def test_the_program_has_only_what_systemd_run_gives_it(convert):
    seen = written(convert)
    assert seen["uid"] >= 61184, "a dynamic user"
    assert (seen["reason"], seen["run"]) == ("existing", "") and seen["document"] > 100
    assert seen["network"].split() == ["lo"] and int(seen["capabilities"], 16) == 0
    assert not seen["kubeconfig"] and not seen["writes"]


def test_the_exit_status_is_that_of_the_program(convert, api):
    written(convert)
    convert.machine.path("/run/fails").touch()
    api.apply(service("n/b"))
    wait_until(lambda: any("exit status 7" in one for one in convert.unit.messages()))


def services(node):
    """The services that systemd-run has started and that run now."""
    listed = node.machine.check("systemctl", "list-units", "--plain", "--no-legend", "--state=running", "run-*.service")
    return [line.split()[0] for line in listed.splitlines()]


def test_the_program_outlives_the_run_that_is_killed(convert, api):
    """So the documents ask for RuntimeMaxSec=."""
    written(convert)
    convert.machine.path("/run/hangs").touch()
    api.apply(service("n/b"))
    wait_until(lambda: services(convert), what="the program runs")
    [unit] = services(convert)
    convert.machine.check("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "informerd")
    wait_until(lambda: convert.unit.state() != ("active", "running"))
    assert unit in services(convert)
    assert convert.machine.check("systemctl", "show", "-P", "RuntimeMaxUSec", unit).strip() == "50s"
    convert.machine.check("systemctl", "stop", unit)
