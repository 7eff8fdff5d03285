# SPDX-License-Identifier: Apache-2.0
"""The table of examples in docs/sandbox.md: each example runs under the drop-ins that it says, with the program
that it is for and the directive that the table names, and fails without this directive. test_sandbox.py has the
examples that single-user.conf refuses."""
import base64
import re
import socket

import pytest

from balancer import web
from control import wait_until
from fakeapi import service, simple
from node import CONF
from test_sandbox import EXAMPLES, FOLDER, SINGLE_USER, TABLE

pytestmark = pytest.mark.long

CONF_D = "/etc/informerd/conf.d"
STRICT = {name: cells[1] for cells in TABLE for name in cells[0].split(", ")}
ALLOWED = {name: cell for name, cell in SINGLE_USER.items() if not cell.startswith("no")}
# The settings that the table asks for beyond "yes", as the second drop-in of an administrator.
MORE = {"yes": "",
        "yes, with `ReadWritePaths=/etc/dnsmasq.hosts`, a folder of informerd's":
            "ReadWritePaths=/etc/dnsmasq.hosts",
        "yes, with `ReadWritePaths=` of its folders": "ReadWritePaths=/etc/app",
        "with `CapabilityBoundingSet=CAP_NET_ADMIN`": "CapabilityBoundingSet=CAP_NET_ADMIN",
        "with `AmbientCapabilities=CAP_NET_ADMIN`, `CapabilityBoundingSet=CAP_NET_ADMIN` and `SystemCallFilter=capset`":
            "AmbientCapabilities=CAP_NET_ADMIN\nCapabilityBoundingSet=CAP_NET_ADMIN\nSystemCallFilter=capset"}
BIRD = """log syslog all;
router id 192.0.2.254;
protocol device {}
include "/etc/bird/informerd[.]conf";
"""
APP = "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/touch /run/app-reloaded\n"


class Examples:
    """A machine with the programs of the examples, and the objects that each example is about."""

    def __init__(self, node, api, authority):
        self.node, self.machine, self.api, self.authority = node, node.machine, api, authority
        self.services = []

    def serve(self, name):
        self.machine.check("systemctl", "restart", name)
        self.services.append(name)

    def folder(self, path, mode="755"):
        self.machine.check("install", "-d", "-m", mode, path)

    def files(self, path):
        return {one.name: one.read_text() for one in self.machine.path(path).iterdir()}

    # Of each example: NAME() sets it up, NAME_works() tells whether its hooks have had their effect.

    def print(self):
        self.api.apply(service("shop/web"))

    def print_works(self):
        return any("shop/web" in one for one in self.node.unit.messages())

    def dnsmasq(self):
        self.folder("/etc/dnsmasq.hosts")
        made = service("shop/web", labels={"informerd/dns": ""}, type="LoadBalancer")
        made["status"]["loadBalancer"]["ingress"] = [{"ip": "192.0.2.1"}]
        self.api.apply(made)

    def dnsmasq_works(self):
        made = self.files("/etc/dnsmasq.hosts")
        return all("192.0.2.1" in made.get(name, "") for name in ("east", "west"))

    def haproxy(self):
        self.serve("haproxy")
        self.api.apply(*web(["10.1.0.1"]))

    def haproxy_works(self):
        return "10.1.0.1:8080" in self.machine.read("/etc/haproxy/services.cfg")

    def nginx(self):
        self.folder("/etc/nginx/upstreams.d")
        self.serve("nginx")
        self.api.apply(*web(["10.1.0.1"], labels={"informerd/nginx": ""}))

    def nginx_works(self):
        return "10.1.0.1:8080" in self.machine.read("/etc/nginx/upstreams.d/shop_web.conf")

    def nginx_tls(self):
        self.folder("/etc/nginx/tls", "700")
        self.serve("nginx")
        leaf = self.authority.leaf("web", dns=["web.example"])
        data = {"tls.crt": leaf.cert, "tls.key": leaf.key}
        self.api.apply(simple("Secret", "ingress/web", labels={"informerd/nginx": ""},
                              type="kubernetes.io/tls",
                              data={name: base64.b64encode(text).decode()
                                    for name, text in data.items()}))

    def nginx_tls_works(self):
        return "PRIVATE KEY" in self.machine.read("/etc/nginx/tls/ingress_web.pem")

    def files_example(self):
        self.folder("/etc/app/conf.d")
        self.folder("/etc/app/secrets", "700")
        self.machine.write("/run/systemd/system/app.service", APP)
        self.machine.check("systemctl", "daemon-reload")
        self.serve("app")
        self.api.apply(simple("ConfigMap", "shop/app", labels={"informerd/files": ""},
                              data={"conf": "one"}),
                       simple("Secret", "shop/app", labels={"informerd/files": ""}, type="Opaque",
                              data={"password": base64.b64encode(b"two").decode()}))

    def files_works(self):
        return (self.machine.read("/etc/app/conf.d/app_conf"),
                self.machine.read("/etc/app/secrets/app/password")) == ("one", "two") and \
            self.machine.path("/run/app-reloaded").exists()

    def bird(self):
        self.machine.path("/etc/bird/bird.conf").write_text(BIRD)
        self.serve("bird")
        made, part = web(["10.1.0.1"])
        made["spec"].update(type="LoadBalancer", externalTrafficPolicy="Cluster")
        made["status"]["loadBalancer"]["ingress"] = [{"ip": "192.0.2.1"}]
        self.api.apply(made, part)

    def bird_works(self):
        return "192.0.2.1/32" in self.machine.run("birdc", "show", "route").stdout

    def haproxy_runtime(self):
        path = "/etc/haproxy/haproxy.cfg"
        self.machine.write(path, self.machine.read(path) + "\nbackend shop_web_http\n")
        self.serve("haproxy")
        self.api.apply(*web(["10.1.0.1"], labels={"informerd/haproxy": ""}))

    def haproxy_runtime_works(self):
        with socket.socket(socket.AF_UNIX) as conn:
            conn.connect(str(self.machine.path("/run/haproxy/admin.sock")))
            conn.sendall(b"show servers state shop_web_http\n")
            return b"10.1.0.1:8080" in b"".join(iter(lambda: conn.recv(65536), b""))

    def nftables(self):
        self.machine.run("nft", "delete", "table", "inet", "informerd")
        self.api.apply(simple("Node", "a", status={
            "addresses": [{"type": "InternalIP", "address": "192.0.2.7"}]}))

    def nftables_works(self):
        return "192.0.2.7" in self.machine.run("nft", "list", "table", "inet", "informerd").stdout

    def set_up(self, name):
        getattr(self, {"files": "files_example"}.get(name, name.replace("-", "_")))()

    def works(self, name):
        return getattr(self, f"{name.replace('-', '_')}_works")()


@pytest.fixture
def examples(node, api, authority):
    made = Examples(node, api, authority)
    yield made
    node.unit.stop()
    for name in made.services:
        node.machine.run("systemctl", "stop", name)
    node.machine.check("rm", "-rf", FOLDER, "/etc/app", "/etc/nginx/tls", "/etc/nginx/upstreams.d",
                       "/etc/dnsmasq.hosts", "/etc/bird/informerd.conf", "/etc/haproxy/services.cfg",
                       "/run/app-reloaded")
    node.machine.check("systemctl", "daemon-reload")


def configure(node, name, more, drop_in="strict"):
    """The example, its clusters, the drop-in of ours and the second one."""
    machine = node.machine
    machine.check("mkdir", "-p", FOLDER)
    machine.check("cp", f"{EXAMPLES}/{drop_in}.conf", FOLDER)
    machine.write(f"{FOLDER}/zz-more.conf", f"[Service]\n{more}\n")
    machine.check("systemctl", "daemon-reload")
    node.configure(include=["conf.d/*.conf"], limits={"ready_timeout": "1s"}, watches={"services": None},
                   clusters={"east": {"kubeconfig": "/etc/informerd/kubeconfig"},
                             "west": {"kubeconfig": "/etc/informerd/kubeconfig"}})
    machine.check("cp", f"{EXAMPLES}/{name}.conf.example", f"{CONF_D}/{name}.conf")


def log(node):
    return "\n".join(node.unit.messages())


def has_failed(node, words):
    return any("hook failed" in one and re.search(words, one) for one in node.unit.messages())


def test_the_table_says_nothing_that_is_not_tried():
    assert {*STRICT.values(), *ALLOWED.values()} == set(MORE)
    assert all(hasattr(Examples, f"{name.replace('-', '_')}_works") for name in STRICT)


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_single_user_lets_the_example_do_its_work(node, examples, name):
    examples.set_up(name)
    configure(node, name, MORE[ALLOWED[name]], "single-user")
    node.machine.check("chown", "informerd", "/etc/informerd/kubeconfig")
    node.machine.path(CONF).chmod(0o644)
    if name == "dnsmasq":
        node.machine.check("chown", "informerd", "/etc/dnsmasq.hosts")
    assert node.unit.start().returncode == 0, log(node)
    assert node.machine.check("ps", "-o", "user=", "-p", node.unit.show("MainPID")).strip() == "informerd"
    node.unit.control.wait_idle()
    wait_until(lambda: examples.works(name), what=lambda: log(node))
    assert not has_failed(node, ""), log(node)


@pytest.mark.parametrize("name", sorted(STRICT))
def test_strict_lets_the_example_do_its_work(node, examples, name):
    examples.set_up(name)
    configure(node, name, MORE[STRICT[name]])
    assert node.unit.start().returncode == 0, log(node)
    node.unit.control.wait_idle()
    wait_until(lambda: examples.works(name), what=lambda: log(node))
    assert not has_failed(node, ""), log(node)


def test_single_user_alone_refuses_what_the_table_has_a_directive_for(node, examples):
    examples.set_up("dnsmasq")
    configure(node, "dnsmasq", "", "single-user")
    node.machine.check("chown", "informerd", "/etc/informerd/kubeconfig", "/etc/dnsmasq.hosts")
    node.machine.path(CONF).chmod(0o644)
    assert node.unit.start().returncode == 0, log(node)
    wait_until(lambda: has_failed(node, "Read-only file system"), what=lambda: log(node))
    assert not examples.works("dnsmasq")


def test_strict_alone_refuses_what_the_table_has_a_directive_for(node, examples):
    examples.set_up("files")
    configure(node, "files", "")
    assert node.unit.start().returncode == 0, log(node)
    wait_until(lambda: has_failed(node, "Read-only file system"), what=lambda: log(node))
    assert not examples.works("files")


def test_strict_alone_leaves_no_capability_for_nftables(node, examples):
    examples.set_up("nftables")
    configure(node, "nftables", "")
    assert node.unit.start().returncode != 0
    assert re.search(r"nftables\.conf:\d+: .*informerd itself does not have CAP_NET_ADMIN", log(node)), log(node)
    assert not examples.works("nftables")
