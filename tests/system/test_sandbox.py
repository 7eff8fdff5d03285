# SPDX-License-Identifier: Apache-2.0
"""The drop-ins strict and single-user of docs/sandbox.md: their figures, and the examples that work with
them."""
import re

import pytest

from control import wait_until
from fakeapi import service
from harness import ROOT
from node import CONF, OUT

pytestmark = pytest.mark.long

FOLDER = "/etc/systemd/system/informerd.service.d"
EXAMPLES = "/usr/share/doc/informerd/examples"
# The table of examples in docs/sandbox.md: example, strict, single-user.
TABLE = [[cell.strip() for cell in line.strip("|").split("|")] for line in
         (ROOT / "docs" / "sandbox.md").read_text().partition("| example |")[2].splitlines()
         if line.startswith("| ")]
SINGLE_USER = {name: cells[2] for cells in TABLE for name in cells[0].split(", ")}


@pytest.fixture
def sandbox(node):
    """sandbox(name) puts the drop-in into its place; None: no drop-in of ours."""
    def use(name):
        node.machine.check("mkdir", "-p", FOLDER)
        if name is not None:
            node.machine.check("cp", f"{EXAMPLES}/{name}.conf", FOLDER)
        node.machine.check("systemctl", "daemon-reload")
        if name == "single-user":
            node.machine.check("chown", "informerd", "/etc/informerd/kubeconfig")
    yield use
    node.unit.stop()
    node.machine.check("rm", "-rf", FOLDER)
    node.machine.check("systemctl", "daemon-reload")


@pytest.mark.parametrize("name,most", [("strict", 34), ("single-user", 15)])
def test_the_exposure_is_at_most_what_is_promised(node, sandbox, name, most):
    sandbox(name)
    done = node.machine.run("systemd-analyze", "security", "--offline=true", f"--threshold={most}",
                            "--no-pager", "/usr/lib/systemd/system/informerd.service")
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("name", ["strict", "single-user"])
def test_informerd_does_all_it_promises(node, api, sandbox, name):
    sandbox(name)
    api.apply(service("n/a"))
    node.configure(hooks={
        "print": node.hook("print"), "boot": node.hook("boot", effect="boot"),
        "file": {"sources": ["services"], "mode": "snapshot", "command": ["/bin/cat"],
                 "output": "/var/lib/informerd/all.json"}})
    node.machine.path(CONF).chmod(0o644)
    # the records of the hooks, in the /var/tmp that the service sees
    write = "/run/systemd/system/informerd.service.d"
    node.machine.write(f"{write}/write.conf", f"[Service]\nBindPaths={OUT}\n")
    node.machine.check("systemctl", "daemon-reload")
    try:
        started = node.unit.start()
        assert started.returncode == 0, (started.stderr, node.unit.messages())
        node.wait_out("print")
        node.wait_out("boot")
        assert node.unit.main_filters() == 1
        assert "handled" in node.machine.check("informerctl", "why", "print", "n/a")
        assert node.unit.reload().returncode == 0
        node.machine.check("systemctl", "restart", node.unit.name)
        wait_until(lambda: node.unit.control.hook("print")["pending"] == 0)
        assert len(node.out("print")) == 1 and len(node.out("boot")) == 1
        assert not [m for m in node.unit.messages() if "state not writable" in m]
        assert re.search(r'"name":"a"', node.machine.read("/var/lib/informerd/all.json"))
    finally:
        node.machine.check("rm", "-rf", write)


CREDENTIAL = "/run/credentials/informerd.service/kubeconfig"


@pytest.mark.parametrize("name", [None, "strict", "single-user"])
def test_a_kubeconfig_may_come_by_load_credential_and_a_new_one_with_a_restart(
        node, api, authority, sandbox, name):
    """docs/sandbox.md "The kubeconfig as a credential of systemd": the file stays root's."""
    sandbox(name)
    api.apply(service("n/a"))
    kubeconfig = node.machine.path("/etc/informerd/kubeconfig")
    api.tokens = {"first"}
    api.kubeconfig(kubeconfig, ca=authority, token="first")
    node.machine.check("chown", "root:root", "/etc/informerd/kubeconfig")
    node.machine.write(f"{FOLDER}/zz-credential.conf",
                       "[Service]\nLoadCredential=kubeconfig:/etc/informerd/kubeconfig\n"
                       + (f"BindPaths={OUT}\n" if name else ""))
    node.machine.check("systemctl", "daemon-reload")
    node.configure(clusters={"prod": {"kubeconfig": CREDENTIAL}}, hooks={"print": node.hook("print")})
    node.machine.path(CONF).chmod(0o644)
    assert node.unit.start().returncode == 0, node.unit.messages()
    node.wait_out("print")
    api.tokens = {"second"}
    api.kubeconfig(kubeconfig, ca=authority, token="second")
    node.machine.check("systemctl", "restart", node.unit.name)
    api.apply(service("n/b"))
    node.wait_out("print", 2)


def test_a_kubeconfig_by_load_credential_that_is_missing_is_waited_for_by_systemd(
        node, api, authority, sandbox):
    sandbox(None)
    node.machine.write(f"{FOLDER}/zz-credential.conf",
                       "[Service]\nLoadCredential=kubeconfig:/etc/informerd/kubeconfig\n")
    node.machine.check("systemctl", "daemon-reload")
    node.machine.path("/etc/informerd/kubeconfig").unlink()
    node.configure(clusters={"prod": {"kubeconfig": CREDENTIAL}})
    assert node.unit.start().returncode != 0
    wait_until(lambda: int(node.unit.show("NRestarts")) > 0)
    api.kubeconfig(node.machine.path("/etc/informerd/kubeconfig"), ca=authority)
    wait_until(lambda: node.unit.state() == ("active", "running"))


@pytest.mark.parametrize("name", sorted(SINGLE_USER))
def test_single_user_refuses_the_examples_that_the_table_says(node, name):
    server = '{ servers = [ "http://127.0.0.1:1" ]; }'
    clusters = f"east : {server}; west : {server};" if name == "dnsmasq" else f"prod : {server};"
    node.machine.write(CONF, f"clusters : {{ {clusters} }};\n", 0o644)
    for group in ("bird", "haproxy"):
        node.machine.run("groupadd", "--system", group)
    node.machine.check("cp", f"{EXAMPLES}/{name}.conf.example", f"/etc/informerd/conf.d/{name}.conf")
    done = node.check_config(user="informerd")
    refused = [line for line in done.stderr.splitlines()
               if "started as root" in line or "user" in line and "warning" not in line]
    assert bool(refused) == SINGLE_USER[name].startswith("no"), done.stderr
