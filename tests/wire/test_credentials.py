# SPDX-License-Identifier: Apache-2.0
"""Where credentials come from, and as whom informerd asks: kubeconfigs as tools write them, several
kubeconfigs, Basic authentication, impersonation, the service account of a pod."""
import base64
import os
import pathlib
import re

import pytest
from authorizer import Roles
from control import wait_until
from fakeapi import Authority, service
from fakeapi.certs import ec_key, rsa_key, traditional
from fakeapi.kubeconfig import kubeconfig_text
from harness import NOBODY, TUNING, check_config, hook_settings
from mounts import start_with_mounts
from test_proxy import SYSTEM_CA
from test_rbac import print_rbac

ROOT = os.geteuid() == 0
FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "data" / "kubeconfigs"
AS = {"as": "jane doe", "as-uid": "u-1", "as-groups": ["developers", "a b"],
      "as-user-extra": {"example.com/Team": ["blue", "green"]}}
AS_LINES = ["Impersonate-User: jane doe", "Impersonate-Uid: u-1", "Impersonate-Group: developers",
            "Impersonate-Group: a b", "Impersonate-Extra-example.com%2Fteam: blue",
            "Impersonate-Extra-example.com%2Fteam: green"]


def everything(api):
    return api.requests + api.identity_requests


def impersonated(request):
    return [line for line in request.lines if line.lower().startswith("impersonate-")]


def refused(d, *lines):
    """informerd --check prints just these problems, each of which begins with FILE:LINE."""
    done = check_config(d.config)
    assert done.returncode == 78, done.stderr
    told = done.stderr.splitlines()
    assert len(told) == len(lines), told
    for line, expected in zip(told, lines):
        assert line.endswith(expected), told


# ---- Kubeconfigs as tools write them

def inlined(pem):
    return base64.b64encode(pem).decode()


def installed(name, path, server, authority, leaf):
    """Writes a fixture with the addresses and credentials of this test."""
    text = (FIXTURES / name).read_text()
    for key, value in (("server", server), ("certificate-authority-data", inlined(authority.pem)),
                       ("client-certificate-data", inlined(leaf.cert)),
                       ("client-key-data", inlined(leaf.key))):
        text = re.sub(rf'\b{key}: ("[^"]*"|\S+)', f"{key}: {value}", text)
    path.touch(mode=0o600)
    path.write_text(text)
    return path


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("name,make_key", [
    ("kubeadm-admin.conf", rsa_key), ("kind.yaml", rsa_key), ("k3s.yaml", ec_key)])
def test_s119_kubeconfigs_with_certificates_connect(new_api, factory, tmp_path, name, make_key,
                                                    version):
    """With CAs and keys of the kind that the tool makes, in the form that it writes. k3s sends the
    CA behind each certificate."""
    cluster = Authority(tmp_path / "ca", name, make_key=make_key)
    leaf, server = cluster.client("admin"), cluster.server()
    leaf.key = traditional(leaf.key)
    if name == "k3s.yaml":
        leaf.cert += cluster.pem
        server.cert_file.write_bytes(server.cert + cluster.pem)
    api = new_api(tls=server, tls_options={"client_ca": cluster, "client_required": True,
                                           "high": version})
    api.client_cns = {"admin"}
    path = installed(name, tmp_path / name, api.url, cluster, leaf)
    factory.daemon(clusters={"prod": {"kubeconfig": path}}).synced()


@pytest.mark.parametrize("name,token", [
    ("rancher.yaml", "kubeconfig-user-abcdefghij:made-up-token"),
    ("service-account.yaml", "made-up.service-account.token")])
def test_s119_kubeconfigs_with_tokens_connect(new_api, factory, authority, tmp_path, name, token):
    api = new_api()
    api.tokens = {token}
    api.prefix = "/k8s/clusters/c-m-abcdefgh" if name == "rancher.yaml" else ""
    path = installed(name, tmp_path / name, api.url + api.prefix, authority, authority.client())
    factory.daemon(clusters={"prod": {"kubeconfig": path}}).synced()


@pytest.mark.skipif(not ROOT, reason="needs root: the files of the kubelet are root's")
def test_the_kubelets_files_serve_a_main_process_that_may_not_read_them(
        new_api, factory, authority, hook, tmp_path):
    """The kubelet's certificate and key are one file, which a link leads to and only root may
    read."""
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns = {"system:node:worker-17"}
    api.apply(service("n/a"))
    leaf = authority.client("system:node:worker-17")
    pki = tmp_path / "kubelet" / "pki"
    pki.mkdir(parents=True)
    pki.parent.chmod(0o700)
    pem = pki / "kubelet-client-2026-01-01-00-00-00.pem"
    pem.touch(mode=0o600)
    pem.write_bytes(leaf.cert + leaf.key)
    current = pki / "kubelet-client-current.pem"
    current.symlink_to(pem)
    path = installed("kubeadm-kubelet.conf", tmp_path / "kubelet.conf", api.url, authority, leaf)
    text = path.read_text()
    assert text.count("/var/lib/kubelet/pki/kubelet-client-current.pem") == 2
    path.write_text(text.replace("/var/lib/kubelet/pki/kubelet-client-current.pem", str(current)))
    d = factory.daemon(clusters={"prod": {"kubeconfig": path}}, user="nobody",
                       hooks={"h": hook_settings(hook, user="root")})
    assert hook.wait(1)[0].env["INFORMERD_NODE"] == "worker-17"
    assert {r.conn.client_cn for r in api.requests} == {"system:node:worker-17"}
    uids = re.search(r"^Uid:\s+(.*)$", pathlib.Path(f"/proc/{d.pid}/status").read_text(), re.M)
    assert uids[1].split() == [str(NOBODY)] * 4


# ---- Several files

def test_s119_several_kubeconfigs_are_one(factory, api, authority):
    """The cluster and the user come from different folders, and a file that is missing does no
    harm."""
    one, two = factory.new_folder("one"), factory.new_folder("two")
    whole = kubeconfig_text(api.url, ca_file="ca.crt", token_file="token", context="here")
    at = whole.index("contexts:")
    (one / "k").write_text(f"kind: Config\n{whole[whole.index('clusters:'):at]}")
    (two / "k").write_text(f"kind: Config\n{whole[at:]}")
    (one / "ca.crt").write_bytes(authority.pem)
    (two / "token").write_text("tok-2")
    for file in (one / "k", two / "k", two / "token"):
        file.chmod(0o600)
    api.tokens = {"tok-2"}
    both = f"/no/such/file:{one / 'k'}:{two / 'k'}"
    factory.daemon(clusters={"prod": {"kubeconfig": both}}).synced()


def test_s119_the_first_file_wins(factory, api, authority, tmp_path):
    api.tokens = {"first"}
    first = api.kubeconfig(tmp_path / "first", ca=authority, token="first")
    second = api.kubeconfig(tmp_path / "second", server="https://127.0.0.1:1", token="second")
    factory.daemon(clusters={"prod": {"kubeconfig": f"{first}:{second}"}}).synced()


def test_s119_data_goes_before_a_file(new_api, daemon, authority):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    missing = "/no/such/file"
    daemon(api, credentials={
        "client": authority.client(), "cluster": {"certificate-authority": missing},
        "user": {"client-certificate": missing, "client-key": missing}}).synced()


def test_s119_the_namespace_of_a_context_selects_nothing(api, daemon):
    """Each watch names its own."""
    api.apply(service("a/x"), service("b/x"))
    d = daemon(api, credentials={"namespace": "a"}).synced()
    assert d.control.keys("services") == ["a/x", "b/x"]


def test_s119_a_kubeconfig_in_utf_16(factory, api, authority, tmp_path):
    path = api.kubeconfig(tmp_path / "k", ca=authority, token="t")
    api.tokens = {"t"}
    path.write_bytes(path.read_text().encode("utf-16"))
    factory.daemon(clusters={"prod": {"kubeconfig": path}}).synced()


def test_s119_mistakes_are_told_with_the_line_of_the_kubeconfig(factory, api, authority, tmp_path):
    path = tmp_path / "k"

    def problem(word, line_of, context="fake", **fields):
        api.kubeconfig(path, **fields)
        d = factory.daemon(clusters={"prod": {"kubeconfig": path, "context": context}}, start=False)
        lines = path.read_text().splitlines()
        number = next((n for n, line in enumerate(lines, 1) if line_of in line), 1)
        done = check_config(d.config)
        assert done.returncode == 78, done.stderr
        assert f"kubeconfig: {path}:{number}: " in done.stderr, done.stderr
        assert word in done.stderr, done.stderr
        assert "s3cret" not in done.stderr

    problem("no context", "no-such-line", context="other")
    problem("cannot stand beside certificate-authority", "insecure-skip", ca=authority,
            cluster={"insecure-skip-tls-verify": True})
    problem("SOCKS", "proxy-url", cluster={"proxy-url": "socks5://s3cret:1"})
    problem("auth-provider is not supported", "name: gcp", user={"auth-provider": {"name": "gcp"}})
    problem("interactiveMode Always", "interactiveMode", user={"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "x",
        "interactiveMode": "Always"}})


def test_s116_a_password_beside_a_token_is_an_error(api, daemon):
    d = daemon(api, start=False, credentials={
        "token": "s3cret", "user": {"username": "u", "password": "s3cret"}})
    refused(d, "username and password cannot stand beside token or tokenFile: leave one of the two "
               "out")


# ---- As whom informerd asks

def test_s116_a_password_goes_with_every_request(api, daemon):
    api.passwords = {"jane:pass wörd"}
    d = daemon(api, credentials={"user": {"username": "jane", "password": "pass wörd"}}).synced()
    api.wait_watching("services")
    expected = "Basic " + base64.b64encode("jane:pass wörd".encode()).decode()
    assert {r.header("authorization") for r in everything(api)} == {expected}
    assert expected.split()[1] not in d.stderr() and "pass w" not in d.stderr()


def test_s116_a_password_that_the_server_refuses(api, daemon):
    api.passwords = {"jane:other"}
    d = daemon(api, credentials={"user": {"username": "jane", "password": "s3cret"}})
    d.wait_problem("401")
    assert "s3cret" not in d.stderr()


def test_s116_every_request_is_made_in_the_name_of_another_user(api, daemon):
    api.tokens = {"tok"}
    api.define("widgets.v1.example.com", "Widget")
    d = daemon(api, credentials={"token": "tok", "user": AS}, watches={
        "services": {"resource": "services", "namespaces": ["*"], "audit": "1h"},
        "widgets": {"resource": "widget", "namespaces": ["*"]}}).synced("services", "widgets")
    api.wait_watching("services")       # else there is nothing to compare with
    d.control.post("/v1/watches/services/verify")
    api.wait_for_request(lambda r: r.kind == "L" and r.resource == "services", count=2)
    assert any(r.path.startswith("/apis") for r in api.requests), "discovery"
    wait_until(lambda: api.identity_requests)
    for request in everything(api):
        assert impersonated(request) == AS_LINES, request
        assert request.header("authorization") == "Bearer tok"


def test_without_impersonation_no_such_header_is_sent(api, daemon):
    daemon(api).synced()
    assert not [line for r in everything(api) for line in impersonated(r)]


@pytest.mark.parametrize("user", [{"token": "s3cret"}, {"username": "u", "password": "s3cret"}],
                         ids=["token", "password"])
def test_credentials_are_not_sent_to_a_server_without_tls(new_api, daemon, user):
    api = new_api(tls=None)
    d = daemon(api, credentials={"ca": None, "user": {"as": "jane", **user}}).synced()
    api.wait_watching("services")
    assert {r.header("authorization") for r in everything(api)} == {""}
    assert {tuple(impersonated(r)) for r in everything(api)} == {("Impersonate-User: jane",)}
    told = d.log(msg="credentials are not sent to a server without TLS: write https://")
    assert [(line["cluster"], line["server"]) for line in told] == [("prod", api.url)]
    assert "s3cret" not in d.stderr()


def test_a_server_without_tls_needs_no_credentials_and_no_warning(new_api, daemon):
    d = daemon(new_api(tls=None), credentials={"ca": None}).synced()
    assert not d.problems()


@pytest.mark.parametrize("user", [
    {"token": "tok"}, {"user": {"username": "u", "password": "p"}}], ids=["token", "password"])
def test_s118_a_plugin_beside_another_credential_is_not_started(api, daemon, new_program, tmp_path,
                                                                user):
    ran = tmp_path / "ran"
    plugin = new_program(f"touch {ran}")
    more = {**user, "user": {**user.get("user", {}), "exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin.path,
        "interactiveMode": "Never"}}}
    api.tokens, api.passwords = {"tok"}, {"u:p"}
    daemon(api, credentials=more).synced()
    assert not ran.exists()


def test_the_node_name_is_that_of_the_impersonated_node(api, daemon, hook):
    api.apply(service("n/a"))
    daemon(api, credentials={"token": "t", "user": {"as": "system:node:worker-3"}},
           hooks={"h": hook})
    assert hook.wait(1)[0].env["INFORMERD_NODE"] == "worker-3"


# ---- --print-rbac

def test_the_roles_are_for_the_impersonated_user(api, daemon, authority):
    d = daemon(api, start=False, credentials={"client": authority.client("admin"), "user": AS})
    text = print_rbac(d.config)[0]
    assert Roles(text).subject["kind"] == "User" and Roles(text).subject["name"] == "jane doe"
    note = text[text.index("# The credential"):text.index("---")]
    assert "impersonate" in note and '"jane doe"' in note and '"developers", "a b"' in note
    assert 'userextras.authentication.k8s.io/"example.com/Team": "blue", "green"' in note
    d = daemon(api, start=False, credentials={
        "user": {"as": "system:serviceaccount:tools:agent"}})
    assert Roles(print_rbac(d.config)[0]).subject == {
        "kind": "ServiceAccount", "namespace": "tools", "name": "agent"}


def test_the_roles_are_for_the_user_of_a_password(api, daemon):
    d = daemon(api, start=False, credentials={"user": {"username": "jane", "password": "s3cret"}})
    text = print_rbac(d.config)[0]
    assert Roles(text).subject["name"] == "jane" and "s3cret" not in text


# ---- In a pod

@pytest.fixture
def pod(factory, api, authority, tmp_path):
    """pod(host, port, ...): a daemon that sees the files and variables of a pod; start() starts
    it."""
    if not ROOT:
        pytest.skip("needs root for a mount")
    run = tmp_path / "run"
    account = run / "secrets" / "kubernetes.io" / "serviceaccount"
    account.mkdir(parents=True)
    (account / "token").write_text("pod-token\n")
    (account / "ca.crt").write_bytes(authority.pem)
    api.tokens = {"pod-token"}

    def make(**environ):
        d = factory.daemon(clusters={"prod": {"in_cluster": True, "tuning": TUNING}}, start=False,
                           environ=environ)
        d.account = account
        d.in_pod = lambda do, *mounts: start_with_mounts(do, ["--bind", run, "/run"], *mounts)
        return d
    return make


def of_pod(api, host=None):
    return {"KUBERNETES_SERVICE_HOST": host or api.host, "KUBERNETES_SERVICE_PORT": str(api.port)}


def test_s120_in_a_pod_its_service_account_counts(api, pod):
    d = pod(**of_pod(api))
    d.in_pod(d.start)
    d.synced()
    assert {r.header("authorization") for r in everything(api)} == {"Bearer pod-token"}
    assert d.control.status()["clusters"]["prod"]["server"] == api.url


def test_s120_the_token_of_the_pod_is_read_again(api, pod):
    d = pod(**of_pod(api))
    d.in_pod(d.start)
    d.synced()
    api.tokens = {"next"}
    (d.account / "token").write_text("next\n")
    api.end_watches()
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer next")
    d.synced()


def test_s120_the_namespace_of_the_pod_selects_nothing(api, pod):
    """Each watch names its own."""
    api.apply(service("a/x"), service("b/x"))
    d = pod(POD_NAMESPACE="a", **of_pod(api))
    (d.account / "namespace").write_text("a")
    d.in_pod(d.start)
    d.synced()
    assert d.control.keys("services") == ["a/x", "b/x"]


def test_s120_an_ipv6_address_gets_its_brackets(new_api, pod):
    try:
        api = new_api(host="::1")
    except OSError:
        pytest.skip("no ::1")
    d = pod(**of_pod(api))
    api.tokens = {"pod-token"}
    d.in_pod(d.start)
    d.synced()
    assert api.requests[0].header("host") == f"[::1]:{api.port}"


def check_in_pod(d):
    out = []
    d.in_pod(lambda: out.append(check_config(d.config)))
    return out[0]


def test_s120_a_pod_without_token_is_an_error(pod, api, monkeypatch):
    d = pod()
    for name, value in of_pod(api).items():
        monkeypatch.setenv(name, value)
    assert check_in_pod(d).returncode == 0
    (d.account / "token").unlink()
    done = check_in_pod(d)
    assert done.returncode == 78
    assert "in_cluster: /var/run/secrets/kubernetes.io/serviceaccount/token: No such file" in \
        done.stderr and "automountServiceAccountToken" in done.stderr


@pytest.mark.parametrize("given", [{}, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"},
                                   {"KUBERNETES_SERVICE_PORT": "443"}], ids=["none", "host", "port"])
def test_s120_outside_of_a_pod_in_cluster_is_an_error(factory, monkeypatch, given):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    d = factory.daemon(clusters={"prod": {"in_cluster": True}}, start=False)
    refused(d, "clusters.prod.in_cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
               "not in the environment: informerd was not started in a pod; name a kubeconfig "
               "instead")


CAS = {"missing": (None, "No such file or directory"),
       "empty": (b"", "holds no certificate in PEM form"),
       "garbage": (b"no certificate\n", "holds no certificate in PEM form"),
       "a folder": ("folder", "Is a directory")}


def spoil(ca, content):
    ca.unlink()
    if content == "folder":
        ca.mkdir()
    elif content is not None:
        ca.write_bytes(content)


def start_in_pod_trusting(d, authority):
    """The image of the pod has this CA alone."""
    if not os.path.exists(SYSTEM_CA):
        pytest.skip("this machine has no CAs, in whose place the test could put another one")
    d.in_pod(d.start, ["--bind", authority.file, SYSTEM_CA])


@pytest.mark.parametrize("how", CAS)
def test_s120_a_pod_without_a_ca_takes_those_of_the_system(api, pod, authority, how):
    """client-go only logs that, too."""
    content, why = CAS[how]
    d = pod(**of_pod(api))
    spoil(d.account / "ca.crt", content)
    start_in_pod_trusting(d, authority)
    d.synced()
    told = d.log(level="warn", cluster="prod", msg=(
        "the CA of the pod cannot be used: the certificate of the server must come from one of the "
        "system's CAs"))
    assert len(told) == 1
    assert "serviceaccount/ca.crt" in told[0]["err"] and why in told[0]["err"]


def test_s120_a_pod_without_a_ca_trusts_no_server_that_the_system_does_not(api, pod, tmp_path):
    d = pod(**of_pod(api))
    (d.account / "ca.crt").unlink()
    start_in_pod_trusting(d, Authority(tmp_path / "other", "other-ca"))
    d.wait_problem(f"is signed by no CA of {SYSTEM_CA}", watch="services")
    assert not api.requests
