# SPDX-License-Identifier: Apache-2.0
"""informerd --check-access: its rows for servers that are well, and for each thing that can be wrong."""
import os
import re
import signal
import subprocess

import pytest
from authorizer import NodeAuthorizer, Roles
from control import PATIENCE, wait_until
from fakeapi import Authority, Gate, service
from fakeapi.certs import DAY
from harness import INFORMERD, NOBODY, SANITIZER, SERVICES
from mounts import start_with_mounts
from plugins import Plugin, user_settings
from proctree import stop
from proxies import Proxy
from statefile import untouched
from test_rbac import EVERYTHING, print_rbac

REMEDY = "informerd --print-rbac prints the roles"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PODS = {"pods": {"resource": "pods", "namespaces": ["*"],
                 "field_selector": "spec.nodeName=${node_name}"}}


class Report:
    """The output of --check-access. blocks: {heading: [(verdict, what, text), ...]}."""

    def __init__(self, done):
        assert not [word for word in SANITIZER if word in done.stderr], done.stderr
        self.code, self.text, self.stderr = done.returncode, done.stdout, done.stderr
        *blocks, self.sum = self.text.rstrip("\n").split("\n\n")
        self.blocks = {}
        for block in blocks:
            heading, *lines = block.splitlines()
            rows = [re.fullmatch(r"  (.{7})  (\S+(?: \S+)*)  +(.*)", line) for line in lines]
            assert all(rows), block
            self.blocks[heading] = [(row[1].strip(), row[2], row[3]) for row in rows]

    @property
    def rows(self):
        return [row for block in self.blocks.values() for row in block]

    def of(self, what):
        """[(verdict, text), ...] of the rows of this check."""
        return [(verdict, text) for verdict, name, text in self.rows if name == what]

    def says(self, what, verdict, *words):
        """There is one row of this check, with this verdict and these words."""
        assert [row[0] for row in self.of(what)] == [verdict], self.text
        assert all(word in self.of(what)[0][1] for word in words), self.text

    def verdicts(self):
        """{what: verdict}, where the checks of one name have one verdict."""
        out = {what: verdict for verdict, what, _text in self.rows}
        assert all(out[what] == verdict for verdict, what, _text in self.rows), self.text
        return out


def command(d, *flags):
    return [INFORMERD, "-c", d.config, "--check-access", *flags]


def check_access(d, code=0, flags=()):
    done = subprocess.run(command(d, *flags), text=True, cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"], **d.environ})
    assert done.returncode == code, done.stdout + done.stderr
    report = Report(done)
    bad = [row for row in report.rows if row[0] == "not ok"]
    assert (code == 0) == (not bad) == report.sum.startswith("ok: "), report.text
    assert flags or not report.stderr
    return report


@pytest.fixture
def idle(daemon):
    """A daemon that is not started: as daemon()."""
    return lambda api, **more: daemon(api, start=False, **more)


# ---- All is well

def test_all_that_is_checked(api, idle, authority):
    api.client_cns = {"informerd"}
    api.set_tls(api.leaf, client_ca=authority)
    d = idle(api, credentials={"client": authority.client("informerd")})
    r = check_access(d)
    assert list(r.blocks) == [f"cluster prod, server {api.url}"]
    assert [(verdict, what) for verdict, what, _text in r.rows] == [
        ("ok", "dns"), ("ok", "tcp"), ("ok", "tls"), ("ok", "ca"), ("ok", "credential"),
        ("ok", "api"), ("ok", "identity"), ("ok", "watch services"), ("ok", "watch services")]
    assert r.sum == "ok: 9 checks"
    r.says("dns", "ok", "127.0.0.1")
    r.says("tcp", "ok", f"127.0.0.1:{api.port}")
    r.says("tls", "ok", "TLSv1.", 'certificate (subject "CN=kube-apiserver"', "valid until")
    r.says("ca", "ok", "certificate-authority-data of the kubeconfig is valid until")
    r.says("credential", "ok", 'client certificate (subject "O=system:nodes, CN=informerd"',
           "valid until")
    r.says("api", "ok", "Kubernetes 1.33")
    r.says("identity", "ok", "list namespaces (fieldSelector metadata.name=kube-system)")
    assert r.of("watch services") == [("ok", "list services in all namespaces"),
                                      ("ok", "watch services in all namespaces")]


def test_no_request_is_made_that_a_watch_would_make(api, idle, hook):
    api.apply(service("n/a"))
    d = idle(api, hooks={"h": hook})
    check_access(d)
    assert {(r.method, r.path) for r in api.requests} == {
        ("GET", "/version"), ("GET", "/api"), ("GET", "/apis"), ("POST", REVIEWS)}
    assert not api.identity_requests and not hook.runs()
    assert not d.state.exists() and not list(d.short.iterdir())


def test_the_name_of_a_server_is_looked_up(api, idle):
    d = idle(api, credentials={"server": f"https://localhost:{api.port}"})
    r = check_access(d)
    assert re.match(r"localhost: .*127\.0\.0\.1", dict(r.of("dns"))["ok"])
    r.says("tcp", "ok", f"localhost:{api.port} (127.0.0.1)")


def test_a_cluster_without_watches_and_a_second_cluster(api, new_api, factory):
    other = new_api()
    clusters = {"a": factory.cluster(api), "b": factory.cluster(other)}
    watches = {"services": {**SERVICES["services"], "cluster": "b"}}
    r = check_access(factory.daemon(clusters=clusters, watches=watches, start=False))
    assert list(r.blocks) == [f"cluster a, server {api.url}", f"cluster b, server {other.url}"]
    a, b = r.blocks.values()
    assert [row[1] for row in a][-1] == "identity" and [row[1] for row in b][-1] == "watch services"


def test_everything_behind_a_path_prefix(api, idle):
    api.prefix = "/k8s/clusters/c-1"
    check_access(idle(api, credentials={"server": api.url + api.prefix}))
    assert not api.misdirected
    r = check_access(idle(api), code=77)
    r.says("api", "not ok", "/version: server says 404")
    r.says("watches", "skipped")


# ---- Rights

def test_a_right_that_is_missing(api, idle):
    api.access = lambda review: (review.verb != "watch", "no RBAC policy matched")
    d = idle(api, watches={"mine": {"resource": "svc", "namespaces": ["a", "b"], "names": ["x"]}})
    r = check_access(d, code=77)
    scopes = [f"in namespace {space} (fieldSelector metadata.name=x)" for space in "ab"]
    listing, watching = ([row for row in r.of("watch mine") if row[1].startswith(verb)]
                         for verb in ("list", "watch"))
    assert listing == [("ok", f"list services {scope}") for scope in scopes]
    assert [verdict for verdict, _text in watching] == ["not ok", "not ok"]
    for (_verdict, text), scope in zip(watching, scopes):
        assert text.startswith(f"watch services {scope}: not allowed (no RBAC policy matched)")
        assert text.endswith(REMEDY)
    assert r.sum.startswith("not ok: 2 of ")


@pytest.mark.parametrize("without", [None, *range(6)])
def test_print_rbac_prints_just_what_is_asked_for(api, idle, without):
    """With the printed roles all is well; without one of their rules something is not."""
    api.add_resource("widgets", "Widget", group="example.com")
    d = idle(api, watches=EVERYTHING)
    roles = Roles(print_rbac(d.config, "--subject", "User:u")[0])
    rules = [rule for rule in roles.rules if "kube-system" not in rule[1].get("resourceNames", ())]
    assert len(rules) == 6
    if without is not None:
        roles.rules.remove(rules[without])
    api.access = roles.allow
    r = check_access(d, code=0 if without is None else 77)
    assert not [row for row in r.rows if row[0] not in ("ok", "not ok", "warning")]
    r.says("identity", "ok")


def test_each_verb_and_scope_of_every_kind_of_watch_is_asked_for(api, idle):
    api.add_resource("widgets", "Widget", group="example.com")
    check_access(idle(api, watches=EVERYTHING))
    asked = [(r.verb, r.group, r.resource, r.namespace, r.name) for r in api.reviews]
    both = [("list", "", "services", "", ""), ("watch", "", "services", "", "")]
    assert asked[0] == ("list", "", "namespaces", "", "kube-system")
    assert asked[1:3] == both
    assert asked[3:5] == [(verb, "", "services", "a", "x") for verb in ("list", "watch")]
    assert asked[5:17] == [(verb, "", "configmaps", space, name) for space in "ab" for name in "xy"
                           for verb in ("list", "watch", "get")]
    assert asked[17:] == [(verb, *rest) for rest in (
        ("", "nodes", "", "n1"), ("discovery.k8s.io", "endpointslices", "a", ""),
        ("example.com", "widgets", "", "")) for verb in ("list", "watch")]
    chosen = [r for r in api.reviews if r.resource == "configmaps"]
    assert {r.fields for r in chosen if r.verb == "get"} == {""}
    assert {r.fields for r in chosen if r.verb != "get"} == {
        f"metadata.name={name},metadata.namespace!=z" for name in "xy"}
    assert {r.labels for r in api.reviews if r.resource == "endpointslices"} == {"a=b"}


def test_the_selectors_are_sent_as_a_node_authorizer_needs_them(api, idle, authority):
    kubelet = {"client": authority.client("system:node:n-1")}
    api.access = NodeAuthorizer("n-1", {"a/used"}).review
    watches = {**PODS, "own": {"resource": "nodes", "names": ["n-1"]}, **SERVICES,
               "config": {"resource": "cm", "namespaces": ["a"], "names": ["used"]}}
    r = check_access(idle(api, credentials=kubelet, watches=watches))
    r.says("node_name", "ok", "n-1, as in the credential (system:node:n-1)")
    r.says("identity", "warning", "by its CA at most", REMEDY)
    watches = {"pods": {**PODS["pods"], "field_selector": ""},
               "other": {"resource": "nodes", "names": ["n-2"]},
               "config": {"resource": "cm", "namespaces": ["a"]}}
    r = check_access(idle(api, credentials=kubelet, watches=watches), code=77)
    assert {name: {v for v, _text in r.of(f"watch {name}")} for name in watches} == {
        name: {"not ok"} for name in watches}
    assert "(can only list/watch pods with spec.nodeName field selector)" in r.text
    assert "(node 'n-1' cannot read 'n-2', only its own Node object)" in r.text


def test_a_server_before_1_31_ignores_the_selectors(api, idle):
    api.selectors = False
    api.access = lambda review: review.fields == "" and review.resource != "namespaces"
    check_access(idle(api, watches=PODS))


def test_node_name_and_the_credential_disagree(api, idle, authority):
    d = idle(api, credentials={"client": authority.client("system:node:n-1")}, node_name="n-2",
             watches=PODS)
    api.access = NodeAuthorizer("n-1").review
    r = check_access(d, code=77)
    r.says("node_name", "warning", '"n-2"', 'the node "n-1"', "correct node_name")
    assert [v for v, _text in r.of("watch pods")] == ["not ok", "not ok"]
    api.access = None
    assert check_access(d).sum == "ok: 10 checks, 1 warning"


def test_the_impersonated_user_asks(api, idle):
    api.access = lambda review: review.user == "system:node:n-3"
    d = idle(api, credentials={"token": "t", "user": {"as": "system:node:n-3"}})
    r = check_access(d)
    assert ("ok", "requests are made in the name of system:node:n-3 (impersonation)") \
        in r.of("credential")
    r.says("node_name", "ok", "n-3")


def test_the_node_of_a_certificate_does_not_count_behind_an_impersonation(api, idle, authority):
    d = idle(api, node_name="n-2", credentials={"client": authority.client("system:node:n-1"),
                                                "user": {"as": "jane"}})
    assert not check_access(d).of("node_name")


def test_a_cluster_that_does_not_tell_its_identity(api, idle):
    api.access = lambda review: review.resource != "namespaces"
    r = check_access(idle(api))
    r.says("identity", "warning", "not allowed", "by its CA at most", REMEDY)
    assert r.sum == "ok: 9 checks, 2 warnings"


# ---- Questions that a server does not answer

@pytest.mark.parametrize("status", [404, 405])
def test_a_server_that_does_not_know_reviews_says_neither_yes_nor_no(api, idle, status):
    api.access = status
    r = check_access(idle(api))
    assert {what: r.verdicts()[what] for what in ("identity", "watch services")} == {
        "identity": "unknown", "watch services": "unknown"}
    assert f"does not know such questions ({status})" in r.text
    assert r.sum.endswith("3 not decidable")
    assert len([q for q in api.requests if q.method == "POST"]) == 1


@pytest.mark.parametrize("status, words", [
    (403, ["system:basic-user", "is the credential sent?"]), (500, ["500"]), (429, ["429"])])
def test_a_server_that_refuses_to_be_asked(api, idle, status, words):
    api.access = status
    r = check_access(idle(api), code=77)
    r.says("identity", "not ok", "cannot be asked: server says", *words)
    r.says("watches", "skipped")


def test_an_answer_that_is_no_review(api, idle):
    api.on("POST", times=None).reply(status=201, body={"kind": "Status"})
    r = check_access(idle(api), code=77)
    r.says("identity", "not ok", "is no SelfSubjectAccessReview")


# ---- Resources

def test_a_crd_that_is_not_installed_is_a_warning(api, idle):
    d = idle(api, watches={"w": {"resource": "widgets", "namespaces": ["*"]}, **SERVICES})
    r = check_access(d)
    r.says("watch w", "warning", 'no resource "widgets"', "looks again by itself")
    assert [what for _verdict, what, _text in r.rows][-4:] == [
        "identity", "watch w", "watch services", "watch services"], "in the order of the config"
    api.define("widgets.v1.example.com", kind="Widget", short_names=["wd"])
    assert check_access(d).of("watch w") == [
        ("ok", f"{verb} widgets.example.com in all namespaces") for verb in ("list", "watch")]


def test_a_built_in_resource_that_the_server_lacks_is_a_warning(api, idle):
    api.undefine("endpointslices.discovery.k8s.io")
    d = idle(api, watches={"w": {"resource": "endpointslices", "namespaces": ["*"]}})
    check_access(d).says("watch w", "warning", 'no resource "endpointslices.v1.discovery.k8s.io"')


def test_resources_that_cannot_be_watched_so(api, idle):
    api.define("reports.v1.example.com", kind="Report", verbs=["list"])
    api.define("zones.v1.example.com", kind="Zone", scope="Cluster")
    d = idle(api, watches={"r": {"resource": "reports", "namespaces": ["*"]},
                           "z": {"resource": "zones", "namespaces": ["a"]}})
    r = check_access(d, code=77)
    r.says("watch r", "not ok", "watch")
    r.says("watch z", "not ok", "namespaces")


@pytest.mark.parametrize("status", [403, 503])
def test_discovery_that_fails_matters_only_where_it_is_needed(api, idle, status):
    for path in ("/api", "/apis"):
        api.on("GET", path, times=None).fail(status)
    d = idle(api, watches={**SERVICES, "w": {"resource": "widgets", "namespaces": ["*"]}})
    r = check_access(d, code=77)
    assert [v for v, _text in r.of("watch services")] == ["ok", "ok"]
    r.says("watch w", "not ok", f"{status}")


# ---- Credentials

def test_a_token_that_is_refused(api, idle):
    api.tokens = {"new"}
    r = check_access(idle(api, credentials={"token": "0ld"}), code=77)
    assert r.verdicts() == {"dns": "ok", "tcp": "ok", "tls": "ok", "ca": "ok", "credential": "ok",
                            "api": "not ok", "watches": "skipped"}
    r.says("api", "not ok", "401", "check token or client certificate")
    assert "0ld" not in r.text


def test_no_credential_at_all(api, idle):
    check_access(idle(api)).says("credential", "warning", "system:anonymous")


def test_a_password(api, idle):
    api.passwords = {"ann:s3cret"}
    d = idle(api, credentials={"user": {"username": "ann", "password": "s3cret"}})
    r = check_access(d, flags=["--log-level", "trace"])
    r.says("credential", "ok", "user name and password of the kubeconfig")
    assert r.stderr and "s3cret" not in r.text + r.stderr
    assert "YW5uOnMzY3JldA" not in r.text + r.stderr


def test_a_credential_that_cannot_be_read(api, idle, tmp_path):
    d = idle(api, credentials={"token_file": tmp_path / "token"})
    r = check_access(d, code=77)
    assert r.verdicts() == {"dns": "ok", "tcp": "ok", "tls": "skipped", "credential": "not ok",
                            "ca": "ok", "api": "skipped", "watches": "skipped"}
    r.says("credential", "not ok", f"token {tmp_path / 'token'}: No such file or directory "
           f"(tokenFile of user ")
    r.says("credential", "not ok", f" in kubeconfig {d.settings['clusters']['prod']['kubeconfig']})")
    assert not api.requests


def test_several_credentials_that_cannot_be_read(api, factory, tmp_path):
    d = factory.daemon(start=False, clusters={"prod": {
        "servers": [api.url], "ca_file": tmp_path / "ca", "token_file": tmp_path / "token"}})
    r = check_access(d, code=77)
    assert [what for _verdict, what, _text in r.rows] == ["dns", "tcp", "tls", "credential", "api",
                                                          "watches"]
    r.says("credential", "not ok", f"CA {tmp_path / 'ca'}: No such file or directory")


def test_a_key_that_does_not_fit(api, idle, authority):
    client = authority.client()
    client.key_file.write_bytes(authority.client().key)
    d = idle(api, credentials={"client": client, "client_files": True})
    r = check_access(d, code=77)
    r.says("credential", "not ok", str(client.key_file), "does not belong to the client certificate")


@pytest.mark.parametrize("end, code, verdict, words", [
    (DAY / 4, 0, "warning", ["expires on", "renew it"]),
    (-DAY, 77, "not ok", ["expired on", "renew it, or correct the clock"])])
def test_a_client_certificate_that_expires(api, idle, authority, end, code, verdict, words):
    client = authority.leaf("c", client=True, begin=-300 * DAY, end=end)
    d = idle(api, credentials={"client": client, "client_files": True})
    check_access(d, code=code).says("credential", verdict, str(client.cert_file), *words)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_a_server_that_refuses_the_client_certificate(new_api, idle, authority, tmp_path, version):
    client = Authority(tmp_path / "other", "other-ca").client()
    api = new_api(tls_options={"client_ca": authority, "client_required": True, "high": version})
    r = check_access(idle(api, credentials={"client": client}), code=77)
    # With TLS 1.3 the server says so behind the handshake.
    (what,) = [what for verdict, what, _text in r.rows if verdict == "not ok"]
    assert what in ("tls", "api")
    r.says(what, "not ok", "alert: unknown CA", 'issuer "CN=other-ca"')


@pytest.fixture
def plugin():
    made = Plugin()
    yield made
    made.finish()


def test_the_credential_of_a_plugin(api, idle, plugin):
    api.tokens = {"plugged-t0k"}
    plugin.says(token="plugged-t0k", expires_in=7200)
    d = idle(api, credentials={"user": {"exec": plugin.exec()}}, **user_settings())
    r = check_access(d, flags=["--log-level", "trace"])
    r.says("credential", "ok", "token", "exec plugin")
    assert len(plugin.runs()) == 1 and "plugged-t0k" not in r.text + r.stderr


def test_a_plugin_that_fails(api, idle, plugin):
    plugin.prints(stderr="no login", code=1)
    d = idle(api, credentials={"user": {"exec": plugin.exec()}}, **user_settings())
    r = check_access(d, code=77)
    r.says("credential", "not ok", str(plugin.path), "exit")
    assert r.of("api") == [("skipped", "the server cannot be asked")] and not api.requests


# ---- TLS

TLS = {
    "expired": (lambda a, folder: a.expired(), ["expired on", "the clock of this machine says"]),
    "another CA": (lambda a, folder: Authority(folder, "other").server(),
                   ["is signed by no CA of", "configure the CA of the cluster"]),
    "another name": (lambda a, folder: a.server(dns=["api.test"], ips=[]),
                     ["is for api.test, not for 127.0.0.1", "set tls_server_name"]),
}


@pytest.mark.parametrize("case", TLS)
def test_a_server_that_cannot_be_verified(new_api, idle, authority, tmp_path, case):
    make, words = TLS[case]
    api = new_api(tls=make(authority, tmp_path / "other"))
    r = check_access(idle(api, credentials={"token": "t"}), code=77)
    assert r.verdicts() == {"dns": "ok", "tcp": "ok", "tls": "not ok", "ca": "ok",
                            "credential": "ok", "api": "skipped", "watches": "skipped"}
    r.says("tls", "not ok", *words)


def test_a_server_that_is_not_verified_is_a_warning(new_api, factory, tmp_path):
    api = new_api(tls=Authority(tmp_path / "other", "other").server())
    d = factory.daemon(clusters={"prod": {"servers": [api.url], "insecure_skip_tls_verify": True}},
                       start=False)
    check_access(d).says("tls", "warning", "not verified (insecure_skip_tls_verify)",
                         'certificate (subject "CN=kube-apiserver", issuer "CN=other"')


def test_a_server_without_tls_is_a_warning(new_api, factory):
    api = new_api(tls=None)
    d = factory.daemon(clusters={"prod": {"servers": [api.url]}}, start=False)
    r = check_access(d)
    r.says("tls", "warning", "none")
    r.says("credential", "warning", "none is sent")


# ---- The way to the server

@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")
def test_a_name_that_nobody_knows(api, idle, tmp_path):
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.1\n")     # nobody listens there
    d = idle(api, credentials={"server": f"https://api.cluster.test:{api.port}"})
    done = []
    start_with_mounts(lambda: done.append(check_access(d, code=77)),
                      ["--bind", resolv, "/etc/resolv.conf"])
    (r,) = done
    r.says("dns", "not ok", "api.cluster.test: ")
    assert r.verdicts() == {"dns": "not ok", "tcp": "skipped", "tls": "skipped", "ca": "ok",
                            "credential": "warning", "api": "skipped", "watches": "skipped"}
    assert not api.accepted


def test_a_server_that_refuses_connections(api, idle):
    api.stop_listening()
    r = check_access(idle(api), code=77)
    assert r.verdicts() == {"dns": "ok", "tcp": "not ok", "tls": "skipped", "ca": "ok",
                            "credential": "warning", "api": "skipped", "watches": "skipped"}
    r.says("tcp", "not ok", "connect: connection refused")


def test_a_server_that_does_not_answer(api, idle):
    api.black_hole()
    r = check_access(idle(api, tuning={"connect_timeout": "50ms"}), code=77)
    r.says("tcp", "not ok", "connect: ", "no answer")


def test_a_server_that_never_ends_the_handshake(api, idle):
    api.stall_handshake = True
    r = check_access(idle(api, tuning={"tls_timeout": "50ms"}), code=77)
    r.says("tcp", "ok")
    r.says("tls", "not ok", "TLS handshake: no answer")


def test_an_address_of_something_else(api, idle):
    api.on("GET", "/version").reply(body=b"<html>hello", type="text/html")
    r = check_access(idle(api), code=77)
    r.says("api", "not ok", "is not that of an API server; check the address")


def test_a_server_that_keeps_its_version_to_itself(api, idle):
    api.on("GET", "/version").fail(403)
    r = check_access(idle(api))
    r.says("api", "warning", "/version: server says 403")
    assert [v for v, _text in r.of("watch services")] == ["ok", "ok"]


def proxied(factory, api, authority, url):
    return factory.daemon(clusters={"prod": {"servers": [api.url], "ca_file": authority.file,
                                             "proxy_url": url}}, start=False)


def test_everything_goes_through_the_proxy(api, factory, authority):
    with Proxy(auth="user:s3cret") as proxy:
        r = check_access(proxied(factory, api, authority, proxy.url("user:s3cret")))
        r.says("dns", "ok", "proxy 127.0.0.1")
        r.says("tcp", "ok", f"127.0.0.1:{api.port} (through proxy 127.0.0.1:{proxy.port})")
        assert proxy.targets == {f"127.0.0.1:{api.port}"} and "s3cret" not in r.text


def test_a_name_that_only_the_proxy_knows(api, factory, authority):
    with Proxy() as proxy:
        proxy.hosts["api.cluster.test"] = "127.0.0.1"
        d = factory.daemon(start=False, clusters={"prod": {
            "servers": [f"https://api.cluster.test:{api.port}"], "ca_file": authority.file,
            "tls_server_name": "localhost", "proxy_url": proxy.url()}})
        check_access(d).says("dns", "ok", "proxy 127.0.0.1")


def test_a_proxy_that_opens_no_tunnel(api, factory, authority):
    with Proxy() as proxy:
        proxy.behave(reply=b"HTTP/1.1 403 Forbidden\r\n\r\n", then="close")
        r = check_access(proxied(factory, api, authority, proxy.url()), code=77)
    r.says("tcp", "not ok", f"proxy 127.0.0.1:{proxy.port}: CONNECT was answered with status 403")
    r.says("tls", "skipped")


# ---- Several servers

def test_one_of_several_servers_is_down(new_api, factory):
    apis = [new_api(), new_api(), new_api()]
    apis[1].stop_listening()
    cluster = factory.cluster_of(apis, own=[{}, {}, {"tls_server_name": "localhost"}])
    r = check_access(factory.daemon(clusters={"prod": cluster}, start=False), code=77)
    assert list(r.blocks) == [f"cluster prod, server s{n}: {api.url}"
                              for n, api in enumerate(apis)]
    first, second, third = r.blocks.values()
    assert [row[:2] for row in first] == [row[:2] for row in third]
    assert [row[1] for row in second if row[0] == "not ok"] == ["tcp"]
    assert len(apis[0].reviews) == len(apis[2].reviews) == 3 and not apis[1].reviews


# ---- The user that it runs as, and other options

@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_it_runs_as_the_user_and_reads_credentials_as_root(api, daemon, tmp_path):
    os.umask(0o022)
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("r00t")
    gate = Gate()
    api.tokens = {"r00t"}
    api.on("POST").hold(gate)
    d = daemon(api, start=False, user="nobody", credentials={"token_file": token})
    process = subprocess.Popen(command(d), stdout=subprocess.PIPE, text=True, cwd="/")
    gate.wait_reached()
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        ids = {line.split()[0]: set(line.split()[1:]) for line in status}
    assert ids["Uid:"] == ids["Gid:"] == {str(NOBODY)}
    gate.open()
    out, _err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    assert "ok       credential      token in " + str(token) in out
    assert not d.state.exists()


def test_a_running_daemon_is_not_disturbed(api, started, hook):
    d = started()
    # The processes are stopped, so nothing but the check can change a file.
    for pid in d.pid, d.helper:
        stop(pid)
    said = len(d.stderr())
    with untouched(d):
        check_access(d)
    assert len(d.stderr()) == said and not hook.runs()
    for pid in d.helper, d.pid:
        os.kill(pid, signal.SIGCONT)
    assert d.control.status()["ready"] is True
    api.apply(service("n/later"))
    hook.wait(1)


def test_it_ends_when_a_signal_comes(api, idle):
    gate = Gate()
    api.on("GET", "/version").hold(gate)
    process = subprocess.Popen(command(idle(api)), stdout=subprocess.PIPE, text=True)
    gate.wait_reached()
    process.terminate()
    out, _err = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and out == ""
    wait_until(lambda: not api.conns, what="its connections are gone")


def test_wrong_usage_and_a_wrong_config(api, idle):
    d = idle(api)
    d.config.write_text(d.config.read_text() + "nonsense = 1;\n")
    done = subprocess.run(command(d), text=True, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 78 and "nonsense" in done.stderr and not done.stdout
    assert not api.accepted
