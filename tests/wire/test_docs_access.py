# SPDX-License-Identifier: Apache-2.0
"""docs/access.md is right: informerd accepts each of its configurations, and the commands that the page has
its reader type give the output that the page shows."""
import base64
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml
from authorizer import NodeAuthorizer, Roles
from control import PATIENCE, wait_until
from fakeapi import service
from fakeapi.objects import simple
from harness import ROOT, check_config
from machine import Machine, NotYet, can, sections_of
from mounts import start_with_mounts
from test_credentials import FIXTURES, installed
from test_rbac import print_rbac
from tutorial import blocks_of

PAGE = ROOT / "docs" / "access.md"
MANIFEST = ROOT / "packaging" / "container" / "informerd.yaml"
TEXT = PAGE.read_text()
BLOCKS = blocks_of(TEXT)
NODE = "system:node:worker-17"
ACCOUNT = "system:serviceaccount:kube-system:informerd"
# Where the page has its reader write the configuration.
CONFIGURATION = "/etc/informerd/conf.d/10-cluster.conf"
FIRST = """
clusters : { prod : { kubeconfig = "/etc/informerd/kubeconfig"; }; };
watches : { services : { resource = "services"; namespaces = [ "*" ]; }; };
"""
PLUGIN = """#!/bin/sh
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
       "status":{"token":"of-the-plugin"}}'
"""


@pytest.fixture
def machine(new_api, authority):
    """A pretend machine whose cluster has what every cluster has: the Service of its API server."""
    api = new_api(tls_options={"client_ca": authority})
    api.apply(service("default/kubernetes"), simple(
        "EndpointSlice", "default/kubernetes", "discovery.k8s.io/v1",
        labels={"kubernetes.io/service-name": "kubernetes"}, addressType="IPv4",
        ports=[{"name": "p80", "port": 6443, "protocol": "TCP"}],
        endpoints=[{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]))
    made = Machine(api, authority)
    yield made
    made.close()


def follow(machine, section):
    """Types a section, without the parts that this build cannot do yet."""
    try:
        machine.follow(PAGE, section, skip=() if can("--check-access") else ("--check-access",))
    except NotYet as what:
        pytest.skip(str(what))


def fixture(machine, name, authority, leaf):
    """A kubeconfig as a tool writes it, for the cluster of this test."""
    return installed(name, machine.root / "scratch" / name, machine.api.url, authority,
                     leaf).read_text()


# ---- Five steps

def test_kubeadm(machine, authority):
    leaf = authority.client(NODE)
    machine.api.client_cns = {NODE}
    machine.api.access = NodeAuthorizer("worker-17").review
    pem = machine.place("/var/lib/kubelet/pki/kubelet-client-2026-11-23-08-00-00.pem",
                        leaf.cert + leaf.key)
    pem.with_name("kubelet-client-current.pem").symlink_to(pem)
    machine.place("/etc/kubernetes/kubelet.conf",
                  fixture(machine, "kubeadm-kubelet.conf", authority, leaf))
    follow(machine, "kubeadm")


def test_k3s(machine, authority):
    leaf = authority.client("system:kube-proxy", ())
    machine.api.client_cns = {"system:kube-proxy"}
    machine.api.access = lambda review: review.resource in ("services", "endpointslices", "nodes")
    agent = "/var/lib/rancher/k3s/agent/"
    machine.place(f"{agent}server-ca.crt", authority.pem, 0o644)
    machine.place(f"{agent}client-kube-proxy.crt", leaf.cert, 0o644)
    machine.place(f"{agent}client-kube-proxy.key", leaf.key)
    machine.place(f"{agent}kubeproxy.kubeconfig",
                  fixture(machine, "k3s-kubeproxy.kubeconfig", authority, leaf), 0o644)
    follow(machine, "k3s")


def test_kind(machine, authority):
    machine.api.client_cns = {"kubernetes-admin"}
    machine.facts(**{"kind.yaml": fixture(machine, "kind.yaml", authority,
                                          authority.client("kubernetes-admin"))})
    follow(machine, "kind")


@pytest.mark.parametrize("section,name,command", [
    ("EKS", "eks.yaml", "aws"), ("GKE", "gke.yaml", "gke-gcloud-auth-plugin")])
def test_clouds(machine, authority, section, name, command):
    machine.api.tokens, machine.api.access = {"of-the-plugin"}, machine.granted
    plugin = machine.program("plugin", PLUGIN)
    text = fixture(machine, name, authority, authority.client())
    assert text.count(f"command: {command}\n") == 1
    machine.facts(**{name: text.replace(f"command: {command}", f"command: {plugin}")})
    follow(machine, section)


# ---- A user for informerd

def account_token(lifetime_s):
    """A token of the ServiceAccount, as the cluster makes it."""
    now = int(time.time())
    part = base64.urlsafe_b64encode(json.dumps(
        {"sub": ACCOUNT, "iat": now, "exp": now + lifetime_s}).encode()).decode()
    return f"e30.{part.rstrip('=')}.c2ln"


def test_a_service_account(machine):
    old, new = account_token(86000), account_token(86400)
    machine.facts(token=old, **{"token.new": new})
    machine.api.tokens, machine.api.access = {old, new}, machine.granted
    follow(machine, "A ServiceAccount with a token")
    file = machine.root / "etc" / "informerd" / "token"
    assert file.read_text().strip() == new and file.stat().st_mode & 0o777 == 0o600
    machine.api.wait_for_request(lambda r: r.header("authorization") == f"Bearer {old}")
    machine.api.tokens = {new}
    machine.api.end_watches()
    machine.api.wait_for_request(lambda r: r.header("authorization") == f"Bearer {new}")


def test_a_client_certificate(machine):
    machine.api.client_cns = {"informerd-worker-17"}
    machine.api.access = machine.granted
    follow(machine, "A client certificate")
    assert {r.conn.client_cn for r in machine.api.requests} == {"informerd-worker-17"}
    key = machine.root / "etc" / "informerd" / "client.key"
    assert key.stat().st_mode & 0o777 == 0o600


def test_access_that_fails(machine, authority):
    machine.api.tokens, machine.api.access = {"t"}, lambda review: False
    machine.api.kubeconfig(machine.root / "etc" / "informerd" / "kubeconfig", ca=authority,
                           token="t")
    machine.place(CONFIGURATION, FIRST)
    follow(machine, "When access fails")


# ---- Configurations, manifests and commands elsewhere on the page

def fixture_of(block):
    """The name behind kubeconfig= in the first line of a block: which file of tests/data stands
    where its configuration says."""
    match = re.search(r"kubeconfig=(\S+)", TEXT.splitlines()[block.number - 1])
    return match and match[1]


CONFIGURATIONS = [block for block in BLOCKS if block.lang == "conf"]


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: f"line{block.number}")
def test_each_configuration_is_accepted(machine, authority, block):
    assert ("kubeconfig" in block.text) == bool(fixture_of(block))
    if fixture_of(block):
        place = re.search(r'kubeconfig = "([^"]+)"', block.text)[1]
        text = fixture(machine, fixture_of(block), authority, authority.client(NODE))
        machine.place(place, re.sub("command: .*", f"command: {machine.program('plugin', PLUGIN)}",
                                    text))
    for path in re.findall(r'_file\s*= "([^"]+)"', block.text):
        machine.place(path, "")
    machine.place(CONFIGURATION, block.text)
    try:
        status, said = machine.type("informerd --check")
    except NotYet as what:
        pytest.skip(str(what))
    assert (status, said) == (0, "")


# ---- What kubelet.conf may read

def test_a_kubelet_may_do_what_its_configuration_asks(machine, authority):
    """The API server refuses the requests that the Node authorizer refuses: nothing but the question which
    cluster this is."""
    api, leaf = machine.api, authority.client(NODE)
    api.client_cns, api.identity = {NODE}, 403
    api.apply(simple("Pod", "shop/a", spec={"nodeName": "worker-17"}),
              simple("Node", "worker-17"), simple("ConfigMap", "kube-system/kube-root-ca.crt"))
    node = NodeAuthorizer("worker-17", {"kube-system/kube-root-ca.crt"})
    api.on(where=lambda r: not node.allows_request(r), times=None).fail(403)
    machine.place("/etc/kubernetes/kubelet.conf",
                  fixture(machine, "kubeadm-kubelet.conf", authority, leaf))
    machine.place("/var/lib/kubelet/pki/kubelet-client-current.pem", leaf.cert + leaf.key)
    block = next(block for block in blocks_of(sections_of(TEXT)["What kubelet.conf may read"])
                 if block.lang == "conf")
    machine.place(CONFIGURATION, block.text)
    machine.type("systemctl enable --now informerd")
    wait_until(lambda: len(re.findall(r"watch synced.* objects=1\b", machine.journal())) == 4
               and "LIST of namespace kube-system is refused" in machine.journal(),
               what=machine.journal)
    assert not [r for r in api.requests if not node.allows_request(r)]


def test_the_table_of_the_kubelet_is_that_of_the_node_authorizer():
    node = NodeAuthorizer("n1", {"a/b"})
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in sections_of(TEXT)["What kubelet.conf may read"].splitlines()
            if line.startswith("| ")][1:]
    table = {resource: may for resources, may, _before in rows
             for resource in resources.split(", ")}
    for resource, may in table.items():
        if may.startswith("all of them"):
            assert node.allows(resource)
        elif may.startswith("`field_selector"):
            selector = re.search('"(.+?)"', may)[1].replace("${node_name}", "n1")
            assert node.allows(resource, selector=selector) and not node.allows(resource)
            assert not node.allows(resource, selector=selector + "2")
        elif may.startswith("one namespace"):
            assert node.allows(resource, "a", "metadata.name=b")
            assert not node.allows(resource, "a")
            assert not node.allows(resource, "a", "metadata.name=c")
        else:
            assert may.startswith("nothing") and not node.allows(resource)
    assert node.ALL | set(node.OF_NODE) | node.NAMED <= set(table)


def manifest():
    """The documents of the DaemonSet that "In a pod" has its reader apply, by kind."""
    return {document["kind"]: document for document in yaml.safe_load_all(MANIFEST.read_text())}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")
def test_the_configuration_of_the_pod_is_accepted(machine, authority, monkeypatch):
    run = machine.root / "run"
    account = run / "secrets" / "kubernetes.io" / "serviceaccount"
    account.mkdir(parents=True)
    (account / "token").write_text(account_token(3600))
    (account / "ca.crt").write_bytes(authority.pem)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    (machine.root / "var" / "lib" / "informerd").mkdir()
    # the image has the user informerd and the handlers
    text = re.sub(r"/usr/lib/informerd/hooks/[\w-]+", "/bin/true",
                  manifest()["ConfigMap"]["data"]["informerd.conf"])
    config = machine.place("/etc/informerd/informerd.conf", f'user = "nobody";\n{text}')
    done = []
    start_with_mounts(lambda: done.extend([check_config(config), print_rbac(config)[0]]),
                      ["--bind", run, "/run"])
    assert (done[0].returncode, done[0].stderr) == (0, "")
    assert Roles(done[1]).subject == {"kind": "ServiceAccount", "namespace": "kube-system",
                                      "name": manifest()["ServiceAccount"]["metadata"]["name"]}


def test_the_manifest_of_the_pod_fits_together():
    documents = manifest()
    assert set(documents) == {"ServiceAccount", "ConfigMap", "DaemonSet"}
    assert {d["metadata"]["namespace"] for d in documents.values()} == {"kube-system"}
    spec = documents["DaemonSet"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pod = spec["template"]["spec"]
    assert pod["serviceAccountName"] == documents["ServiceAccount"]["metadata"]["name"]
    mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    assert mounts["config"]["subPath"] in documents["ConfigMap"]["data"]
    assert pod["volumes"][0]["configMap"]["name"] == documents["ConfigMap"]["metadata"]["name"]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="needs shellcheck")
def test_the_commands_are_good_shell(tmp_path):
    for block in BLOCKS:
        if block.lang != "sh":
            continue
        script = tmp_path / f"line{block.number}"
        script.write_text(block.text)
        done = subprocess.run(["shellcheck", "-s", "bash", script], text=True, capture_output=True,
                              timeout=PATIENCE)
        assert done.returncode == 0, done.stdout


def test_each_block_says_what_it_is():
    assert {block.lang for block in BLOCKS} == {"sh", "text", "conf", "yaml"}
    assert {fixture_of(block) for block in CONFIGURATIONS} - {None} <= set(os.listdir(FIXTURES))
