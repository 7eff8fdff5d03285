# SPDX-License-Identifier: Apache-2.0
"""Boots: a service that starts after informerd, and is told of changes by a hook, waits for no
timeout. Here all timeouts are an hour: a test that waits for one hangs."""
import re

import pytest

import node as code
from control import wait_until
from fakeapi import service
from harness import ROOT
from machine import Unit

FILE, STARTED_WITH, RELOADED = "/etc/haproxy/services.cfg", "/run/started-with", "/run/reloaded"
# Stands in for HAProxy: it reads the servers from the file when it starts, and when it reloads.
SERVICE = f"""\
[Unit]
Wants=informerd.service
After=informerd.service network-online.target
[Service]
ExecStartPre=/bin/cp {FILE} {STARTED_WITH}
ExecStart=/bin/sleep infinity
ExecReload=/bin/cp {FILE} {RELOADED}
[Install]
WantedBy=multi-user.target
"""
NAMES = """#!/bin/sh
tr , '\\n' | sed -n 's/.*"name":"\\(web[0-9]*\\)".*/\\1/p' | sort -u
"""


def apply_of_the_example():
    """apply of haproxy.conf.example, as it is shipped."""
    text = (ROOT / "config" / "conf.d" / "haproxy.conf.example").read_text()
    return re.findall(r'"([^"]+)"', re.search(r"\n    apply = (\[.*?\]);", text)[1])


@pytest.fixture(scope="module")
def installed(new_machine, package):
    """A machine for these tests alone, with a service that starts after informerd."""
    made = new_machine()
    made.install(package)
    made.write("/etc/systemd/system/haproxy.service", SERVICE)
    made.check("systemctl", "enable", "haproxy")
    return made


class Booted(code.Node):
    """One test's configuration on the machine that boots again and again."""

    def configure_hook(self, **settings):
        self.machine.check("mkdir", "-p", "/etc/haproxy")
        self.machine.write(FILE, "nothing\n")
        self.machine.write("/etc/informerd/hooks/names", NAMES, 0o755)
        hook = {"sources": ["services"], "mode": "snapshot", "settle": ["0s", "0s"],
                "timeout": "1h", "command": ["/etc/informerd/hooks/names"], "output": FILE,
                "apply": apply_of_the_example(), "user": "root", **settings.pop("hook", {})}
        self.configure(hooks={"haproxy": hook},
                       limits={"ready_timeout": settings.pop("ready_timeout", "1h")}, **settings)

    def reboot(self, while_down=lambda: None, **how):
        self.machine.shut_down()
        while_down()
        self.machine.boot(**how)
        self.unit = Unit(self.machine)
        self.unit.since = 0     # the journal is that of this boot

    def services(self, *names):
        self.api.apply(*(service(f"shop/{name}") for name in names))

    def failures(self):
        return [line for line in self.unit.messages() if "hook failed" in line]

    def all_is_up(self):
        assert self.machine.check("systemctl", "is-active", "informerd", "haproxy").split() == [
            "active"] * 2
        jobs = self.machine.check("systemctl", "list-jobs", "--no-legend").strip()
        assert jobs in ("", "No jobs running.")


@pytest.fixture
def booted(installed, api, authority):
    made = Booted(installed, api, authority)
    yield made
    installed.run("systemctl", "stop", "haproxy")
    made.finish()


@pytest.mark.parametrize("effect", [pytest.param("disk", marks=pytest.mark.long), "boot"])
def test_a_service_starts_with_what_has_changed_while_the_machine_was_down(booted, effect):
    booted.services("web1")
    booted.configure_hook(hook={"effect": effect})
    booted.reboot()
    booted.all_is_up()
    assert booted.machine.read(STARTED_WITH) == "web1\n"
    booted.reboot(while_down=lambda: booted.services("web2"))
    booted.all_is_up()
    assert booted.machine.read(STARTED_WITH) == "web1\nweb2\n" and booted.failures() == []
    booted.services("web3")
    wait_until(lambda: booted.machine.read(RELOADED) == "web1\nweb2\nweb3\n")


@pytest.mark.long
def test_both_can_be_restarted_at_once(booted):
    booted.services("web1")
    booted.configure_hook(hook={"effect": "process"})
    booted.reboot()
    restarted = booted.machine.run("systemctl", "restart", "informerd", "haproxy", timeout=None)
    assert restarted.returncode == 0, restarted.stderr
    booted.all_is_up()


@pytest.mark.long
def test_a_boot_without_any_server_goes_on_after_ready_timeout(booted, api):
    booted.services("web1")
    booted.configure_hook(ready_timeout="1s")
    api.stop_listening()
    booted.reboot()
    booted.all_is_up()
    assert booted.machine.read(STARTED_WITH) == "nothing\n"
    api.listen()
    wait_until(lambda: booted.machine.read(RELOADED) == "web1\n")


@pytest.mark.long
def test_a_first_boot_without_a_network_goes_on_after_ready_timeout_and_finds_the_server_later(booted):
    booted.services("web1")
    booted.configure_hook(ready_timeout="1s")
    booted.reboot(network=False)
    booted.all_is_up()
    assert booted.machine.read(STARTED_WITH) == "nothing\n"
    assert "watch services: not synced" in booted.unit.show("StatusText")
    booted.reboot()
    booted.all_is_up()
    wait_until(lambda: booted.machine.read(FILE) == "web1\n")


def test_a_boot_without_a_network_uses_what_is_remembered(booted):
    booted.services("web1")
    booted.configure_hook(hook={"effect": "boot"},
                          start_stale={"after": "100ms"})
    booted.reboot()
    booted.machine.write(FILE, "nothing\n")
    booted.reboot(network=False)
    booted.all_is_up()
    assert booted.machine.read(STARTED_WITH) == "web1\n" and booted.failures() == []
    assert booted.unit.control.watch("services")["stale"]
