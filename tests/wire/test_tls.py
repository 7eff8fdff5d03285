# SPDX-License-Identifier: Apache-2.0
"""TLS and credentials: versions, names, resumption, client certificates, tokens, plain settings."""
import socket

import pytest
from control import wait_until
from credential_files import put
from cryptography.hazmat.primitives.asymmetric import ed25519
from fakeapi import Authority, service
from test_proxy import start_trusting


def v6_works():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.parametrize("version,shown", [("TLSv1_2", ("TLSv1.2",)),
                                           ("TLSv1_3", ("TLSv1.2", "TLSv1.3"))])
def test_highest_version_that_both_know(new_api, server_leaf, daemon, hook, version, shown):
    api = new_api(tls_options={"high": version})
    api.apply(service("n/a"))
    daemon(api, hooks={"h": hook})
    hook.wait(1)
    assert api.requests[0].conn.tls_version in shown


def test_tls_1_3_alone_works_if_mbedtls_has_it_and_is_an_error_if_not(new_api, daemon, authority):
    api = new_api(tls_options={"low": "TLSv1_3"})
    d = daemon(api)
    api.wait(lambda: api.handshakes or len(api.tls_errors) > 1)
    if api.tls_errors:
        d.wait_problem("tls")
        assert not d.control.watch("services")["synced"]
    else:
        d.synced()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_that_knows_tls_1_1_at_most_is_refused(new_api, daemon):
    api = new_api(tls_options={"low": "TLSv1_1", "high": "TLSv1_1"})
    d = daemon(api)
    d.wait_problem("TLS handshake", "1.2", watch="services")
    assert not api.handshakes and not api.requests


def test_only_http_1_1_is_offered_by_alpn(new_api, daemon):
    api = new_api(tls_options={"alpn": ("h2", "http/1.1")})
    daemon(api).synced()
    assert api.requests[0].conn.alpn == "http/1.1"


def test_a_server_without_alpn_works(new_api, daemon):
    api = new_api(tls_options={"alpn": ()})
    daemon(api).synced()
    assert api.requests[0].conn.alpn is None


def test_host_names_go_out_as_sni_and_ip_addresses_do_not(api, daemon):
    d = daemon(api, credentials={"server": f"https://localhost:{api.port}"}).synced()
    api.wait_watching("services")
    d.stop()
    assert {r.conn.sni for r in api.requests} == {"localhost"}
    assert {r.header("host") for r in api.requests} == {f"localhost:{api.port}"}
    before = len(api.requests)
    daemon(api).synced()
    assert {r.conn.sni for r in api.requests[before:]} == {None}


def test_ip_san_v4_is_enough(new_api, authority, daemon):
    daemon(new_api(tls=authority.server(dns=[], ips=["127.0.0.1"]))).synced()


@pytest.mark.skipif(not v6_works(), reason="no ::1")
def test_ip_san_v6_is_enough(new_api, authority, daemon):
    api = new_api(tls=authority.server(dns=[], ips=["::1"]), host="::1")
    daemon(api).synced()
    assert api.requests[0].header("host") == f"[::1]:{api.port}"


def test_wildcard_names_match_one_label(new_api, authority, daemon):
    api = new_api(tls=authority.server(dns=["*.k8s.example"], ips=[]))
    daemon(api, credentials={"tls_server_name": "api.k8s.example"}).synced()
    d = daemon(api, credentials={"tls_server_name": "a.b.k8s.example"})
    d.wait_problem("certificate", "a.b.k8s.example")
    assert not d.control.watch("services")["synced"]


def test_s121_tls_server_name_is_used_for_sni_and_verification(new_api, authority, daemon):
    api = new_api(tls=authority.server(dns=["kubernetes.default.svc"], ips=[]))
    daemon(api, credentials={"tls_server_name": "kubernetes.default.svc"}).synced()
    assert api.requests[0].conn.sni == "kubernetes.default.svc"
    d = daemon(api, credentials={"tls_server_name": "wrong.example"})
    d.wait_problem("certificate", "wrong.example")
    assert not d.control.watch("services")["synced"]


def test_without_a_ca_those_of_the_system_count(api, daemon, authority):
    start_trusting(daemon(api, start=False, credentials={"ca": None}), authority).synced()


def test_beside_a_ca_those_of_the_system_do_not_count(api, daemon, authority, tmp_path):
    d = daemon(api, start=False, credentials={"ca": Authority(tmp_path / "other", "other-ca")})
    start_trusting(d, authority)
    d.wait_problem("is signed by no CA of certificate-authority-data", watch="services")
    assert not api.requests


@pytest.mark.parametrize("files", [False, True], ids=["data", "files"])
@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_a_client_certificate_is_shown(new_api, authority, daemon, version, files):
    api = new_api(tls_options={"client_ca": authority, "client_required": True, "high": version})
    api.client_cns = {"system:node:node-1"}
    d = daemon(api, credentials={"client": authority.client(), "client_files": files})
    d.synced()
    assert {r.conn.client_cn for r in api.requests} == {"system:node:node-1"}


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("form", ["two files", "one file"])
def test_a_client_certificate_is_shown_with_the_cas_behind_it(factory, new_api, authority, tmp_path,
                                                              version, form):
    """The server knows the root alone."""
    middle = Authority(tmp_path / "middle", "middle", parent=authority)
    leaf = middle.client()
    files = {"client_cert_file": put(tmp_path / "tls.crt", leaf.cert + middle.pem),
             "client_key_file": leaf.key_file}
    if form == "one file":      # as the kubelet writes it
        files = dict.fromkeys(files, put(tmp_path / "both.pem", leaf.cert + middle.pem + leaf.key))
    api = new_api(tls_options={"client_ca": authority, "client_required": True, "high": version})
    api.client_cns = {"system:node:node-1"}
    factory.daemon(clusters={"prod": {"servers": [api.url], "ca_file": authority.file,
                                      **files}}).synced()


@pytest.mark.parametrize("first", [True, False])
def test_a_ca_of_an_unknown_kind_does_not_spoil_the_bundle(factory, api, authority, tmp_path, first):
    """client-go passes over certificates that it cannot read, too."""
    foreign = Authority(tmp_path / "foreign", "foreign-ca",
                        make_key=ed25519.Ed25519PrivateKey.generate).pem
    text = b"# old and new\n" + (foreign + authority.pem if first else authority.pem + foreign)
    factory.daemon(clusters={"prod": {"servers": [api.url],
                                      "ca_file": put(tmp_path / "ca.crt", text)}}).synced()


def test_the_node_name_comes_from_the_client_certificate(new_api, authority, daemon, hook):
    api = new_api(tls_options={"client_ca": authority})
    api.apply(service("n/a"))
    daemon(api, credentials={"client": authority.client("system:node:worker-17")},
           hooks={"h": hook})
    assert hook.wait(1)[0].env["INFORMERD_NODE"] == "worker-17"


def test_a_server_that_wants_a_certificate_and_gets_none(new_api, authority, daemon):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    d = daemon(api)
    d.wait_problem("prod", "services")
    api.wait(lambda: api.accepted >= 3)
    assert not d.control.watch("services")["synced"]


def test_a_foreign_client_certificate_gets_401(new_api, authority, daemon):
    api = new_api(tls_options={"client_ca": authority})
    api.client_cns = {"system:node:other"}
    d = daemon(api, credentials={"client": authority.client()})
    d.wait_problem("services", "401")


def test_a_token_of_the_kubeconfig_goes_with_every_request(api, daemon):
    api.tokens = {"tok-1"}
    daemon(api, credentials={"token": "tok-1"}).synced()
    api.wait_watching("services")
    assert {r.header("authorization") for r in api.requests} == {"Bearer tok-1"}


def test_a_token_file_is_read_again_after_401(api, daemon, tmp_path):
    api.tokens = {"new"}
    path = tmp_path / "token"
    path.write_text("old\n")
    path.chmod(0o600)
    d = daemon(api, credentials={"token_file": path})
    api.wait_for_request(lambda r: r.status == 401, count=2)
    d.wait_problem("401")
    path.write_text("new\n")
    refused = len(api.requests)
    d.synced()
    assert sum(r.status == 401 for r in api.requests[refused:]) <= 2, "read at the next refusal"
    assert api.requests[0].header("authorization") == "Bearer old"
    assert api.requests[-1].header("authorization") == "Bearer new"


@pytest.mark.parametrize("text", [None, "", "two words\n"])
def test_a_token_beside_its_file_serves_until_the_file_can_be_used(api, daemon, tmp_path, text):
    api.tokens = {"inline", "of-the-file"}
    path = tmp_path / "token"
    if text is not None:
        path.write_text(text)
    d = daemon(api, credentials={"token": "inline", "token_file": path}).synced()
    assert {r.header("authorization") for r in api.requests} == {"Bearer inline"}
    other = tmp_path / "other"
    other.write_text("of-the-file\n")
    other.rename(path)
    api.tokens = {"of-the-file"}
    wait_until(lambda: d.log(msg="token file can be used now"))
    api.end_watches()
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer of-the-file")


def test_a_token_file_goes_before_the_token_beside_it(api, daemon, tmp_path):
    api.tokens = {"of-the-file"}
    path = tmp_path / "token"
    path.write_text("of-the-file\n")
    d = daemon(api, credentials={"token": "inline", "token_file": path}).synced()
    assert {r.header("authorization") for r in api.requests} == {"Bearer of-the-file"}
    path.unlink()
    api.tokens = {"none"}
    refused = len(api.requests)
    api.end_watches()
    d.wait_problem("the old one stays in use")
    assert {r.header("authorization") for r in api.requests[refused:]} <= {"Bearer of-the-file"}


def test_relative_paths_are_resolved_against_the_kubeconfig(factory, api, authority):
    folder = factory.new_folder("etc")
    (folder / "pki").mkdir()
    (folder / "pki" / "ca.crt").write_bytes(authority.pem)
    (folder / "token").write_text("tok-2")
    api.tokens = {"tok-2"}
    path = api.kubeconfig(folder / "kubeconfig", ca_file="pki/ca.crt", token_file="token")
    factory.daemon(clusters={"prod": {"kubeconfig": path}}).synced()


def test_plain_settings_instead_of_a_kubeconfig(factory, new_api, authority, tmp_path):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    leaf = authority.client()
    api.tokens = {"tok-3"}
    token = tmp_path / "token"
    token.write_text("tok-3\n")
    token.chmod(0o600)
    factory.daemon(clusters={"prod": {
        "servers": [api.url], "ca_file": authority.file, "client_cert_file": leaf.cert_file,
        "client_key_file": leaf.key_file, "token_file": token}}).synced()
    assert api.requests[0].conn.client_cn == "system:node:node-1"
    assert api.requests[0].header("authorization") == "Bearer tok-3"


def test_tls_server_name_as_a_plain_setting(factory, new_api, authority):
    api = new_api(tls=authority.server(dns=["api.internal"], ips=[]))
    factory.daemon(clusters={"prod": {"servers": [api.url], "ca_file": authority.file,
                                      "tls_server_name": "api.internal"}}).synced()


def test_a_kubeconfig_context_is_chosen_by_name(factory, api, authority, tmp_path):
    path = api.kubeconfig(tmp_path / "kubeconfig", ca=authority, token="ctx", context="other")
    factory.daemon(clusters={"prod": {"kubeconfig": path, "context": "other"}}).synced()
    assert api.requests[0].header("authorization") == "Bearer ctx"


def test_a_url_with_a_path_prefix(api, daemon):
    api.on(path="/k8s/clusters/c-1/.*", times=None).fail(404)
    daemon(api, credentials={"server": f"{api.url}/k8s/clusters/c-1/"})
    assert api.wait_for_request().path == "/k8s/clusters/c-1/api/v1/services"


NAMESPACES = [f"ns{i}" for i in range(20)]


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_one_session_serves_many_connections(new_api, daemon, version):
    api = new_api(tls_options={"high": version})
    daemon(api, watches={"services": {"resource": "services", "namespaces": NAMESPACES}})
    api.wait_watching("services", len(NAMESPACES))
    api.end_watches(how="rst")
    api.wait(lambda: len(api.of("services", "W")) >= 2 * len(NAMESPACES))
    first_round = len(NAMESPACES) + 4
    full = api.handshakes - api.resumptions
    assert api.handshakes >= 2 * len(NAMESPACES)
    assert full <= first_round and api.resumptions >= len(NAMESPACES) - 1


def test_a_session_is_not_used_for_another_certificate(new_api, authority, daemon, server_leaf):
    api = new_api()
    d = daemon(api).synced()
    api.wait_watching("services")
    api.set_tls(authority.server(dns=["elsewhere"], ips=["10.9.9.9"]))
    api.drop("rst")
    d.wait_problem("certificate")
    api.set_tls(server_leaf)
    api.wait_for_request(lambda r: r.kind == "W", count=2)


def test_lists_share_connections_and_are_gated(api, daemon):
    daemon(api, watches={"services": {"resource": "services", "namespaces": NAMESPACES}},
           tuning={"list_concurrency": 2})
    api.wait_watching("services", len(NAMESPACES))
    lists = api.of("services", "L")
    assert len(lists) == len(NAMESPACES)
    assert len({r.conn_id for r in lists}) < len(NAMESPACES)
    wait_until(lambda: api.open_conns() <= len(NAMESPACES) + 2)


def test_an_idle_list_connection_that_the_server_closed_is_no_error(api, daemon, hook):
    d = daemon(api, hooks={"h": hook})
    api.wait_watching("services")
    idle = {r.conn for r in api.of("services", "L")} - {r.conn for r in api.of("services", "W")}
    for conn in idle:
        api.call(conn.close)
    api.end_watches(how="END")
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    api.apply(service("n/a"))
    hook.wait(1)
    assert not d.problems(watch="services")
