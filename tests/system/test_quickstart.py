# SPDX-License-Identifier: Apache-2.0
"""docs/quickstart.md: its commands, one after the other, on a machine that has nothing of informerd."""
import pathlib
import re
import shutil

import pytest

from control import wait_until
from fakeapi import service

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "quickstart.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(kind):
    return [text for word, text in BLOCK.findall(PAGE.read_text()) if word == kind]


@pytest.fixture(scope="module")
def debian(new_machine):
    return new_machine()


def test_each_step_works_as_written(debian, package, api, authority):
    api.apply(service("shop/web"))
    api.kubeconfig(debian.path("/root/KUBECONFIG"), ca=authority)
    shutil.copy(package, debian.path("/root"))
    debian.write("/etc/apt/apt.conf.d/90-unattended",
                 'APT::Get::Assume-Yes "true"; APT::Install-Recommends "false";\n')
    printed = ""
    for commands in blocks("sh"):
        done = debian.run("sh", "-ec", f"cd /root; {commands}", timeout=None)
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        printed += done.stdout
    assert "1 of 1 watches synced, 1 hook" in printed
    expected, = blocks("text")
    wait_until(lambda: expected.strip() in debian.check("journalctl", "-u", "informerd", "HOOK=print"))
