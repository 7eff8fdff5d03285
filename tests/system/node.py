# SPDX-License-Identifier: Apache-2.0
"""The things that an administrator sets up on a machine: configuration, hooks, and the service."""
import confwriter
from machine import Unit
from proctree import descendants, exists
from control import PATIENCE, wait_until

CONF = "/etc/informerd/informerd.conf"
OUT = "/var/tmp/out"
STATE = "/var/lib/informerd"
PROBE = """#!/bin/sh
f={out}/{name}.$$
{{ id; umask; grep ^Cap /proc/self/status; env; }} >{out}/.{name}.$$ && mv {out}/.{name}.$$ $f
echo "to stdout of {name}"
echo "to stderr of {name}" >&2
{extra}
"""


class Node:
    """Files and service for one test."""

    def __init__(self, machine, api, authority):
        self.machine, self.api = machine, api
        machine.check("rm", "-rf", "/etc/informerd", OUT, STATE)
        machine.check("mkdir", "-p", "/etc/informerd/hooks", "/etc/informerd/conf.d")
        machine.check("install", "-d", "-m", "1777", OUT)
        api.kubeconfig(machine.path("/etc/informerd/kubeconfig"), ca=authority)
        self.unit = Unit(machine)

    def configure(self, hooks=None, **settings):
        base = {"clusters": {"prod": {"kubeconfig": "/etc/informerd/kubeconfig",
                                      "tuning": {"backoff": {"initial": "50ms", "max": "200ms"}}}},
                "watches": {"services": {"resource": "services", "namespaces": ["*"]}}}
        if hooks:
            base["hooks"] = hooks
        text = confwriter.text(confwriter.merge(base, settings))
        return self.machine.write(CONF, text, 0o600)

    def hook(self, name, extra="", **settings):
        """Writes a program that records its surroundings, and returns the settings of its hook."""
        path = f"/etc/informerd/hooks/{name}"
        self.machine.write(path, PROBE.format(out=OUT, name=name, extra=extra), 0o755)
        return {"sources": ["services"], "command": [path],
                "retry": {"initial": "50ms", "max": "200ms"}, **settings}

    def out(self, name):
        """The records of the runs of such a hook, in no order."""
        return [path.read_text() for path in self.machine.path(OUT).glob(f"{name}.*")]

    def wait_out(self, name, count=1):
        wait_until(lambda: len(self.out(name)) >= count, what=f"{count} runs of {name}")
        return self.out(name)

    def touch(self, name):
        self.machine.path(f"{OUT}/{name}").touch()

    def check_config(self, user=None):
        return self.machine.run("informerd", "--check", user=user)

    def family(self):
        """The pids of main, the helper and every hook, as the tests see them."""
        main = self.unit.main
        return {main} | descendants(main) if main else set()

    def wait_gone(self, pids, timeout=PATIENCE):
        wait_until(lambda: not [p for p in pids if exists(p)], timeout, f"{pids} are gone")

    def finish(self):
        before = self.family()
        self.unit.stop()
        self.machine.run("systemctl", "reset-failed", self.unit.name)
        self.wait_gone(before)
