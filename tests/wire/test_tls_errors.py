# SPDX-License-Identifier: Apache-2.0
"""The messages for people when TLS fails or credentials do not work: the log, the status, informerctl."""
import base64
import datetime
import json
import time

import pytest
from control import wait_until
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from fakeapi import Authority

DAY = datetime.timedelta(days=1)
HOUR = datetime.timedelta(hours=1)


def at(delta):
    """The present date + delta, as messages write dates."""
    return (datetime.datetime.now(datetime.timezone.utc) + delta).strftime("%Y-%m-%d")


def told(d, *words):
    """Waits until the log and `degraded` say that watch services has failed, with these words."""
    def logged():
        return [line["err"] for line in d.problems(msg="watch failed", kind="tls")]
    wait_until(lambda: any(all(word in line for word in words) for line in logged()),
               what=lambda: f"{words} in {logged()}")
    wait_until(lambda: any(all(word in line for word in words)
                           for line in d.control.status()["degraded"]), what="degraded says so")
    assert not d.control.watch("services")["synced"]


def with_chain(leaf, issuer):
    """A server that sends the certificate of its CA as well."""
    leaf.cert_file.write_bytes(leaf.cert + issuer.pem)
    return leaf



# the certificate of the server; the sentence of the day, in which CA is the file of the CA
SERVERS = {
    "unknown CA": (
        lambda a, folder: Authority(folder, "other-ca").server(),
        lambda: ['(subject "CN=kube-apiserver", issuer "CN=other-ca", serial ',
                 "is signed by no CA of CA; configure the CA of the cluster"]),
    "CA of the same name": (
        lambda a, folder: Authority(folder, a.name).server(),
        lambda: ['issuer "CN=fake-ca"', "the certificate of that issuer in CA has another key: the "
                 "cluster was built anew, or another one answers"]),
    "no chain": (
        lambda a, folder: Authority(folder, "middle", parent=a).server(),
        lambda: ['issuer "CN=middle"', "have the server send its intermediate certificates"]),
    "expired": (
        lambda a, folder: a.expired(),
        lambda: ["the server's certificate", f"expired on {at(-DAY)}",
                 "the clock of this machine says " + at(0 * DAY)]),
    "not yet valid": (
        lambda a, folder: a.server(begin=DAY),
        lambda: [f"is not valid before {at(DAY)}", "correct the clock"]),
    "another name": (
        lambda a, folder: a.server(dns=["api.example"], ips=["10.0.0.1"]),
        lambda: ["is for api.example, 10.0.0.1, not for 127.0.0.1; set tls_server_name"]),
    "a client's certificate": (
        lambda a, folder: a.server(client=True),
        lambda: ['(subject "CN=kube-apiserver", issuer "CN=fake-ca", serial ',
                 "is not made for servers (extendedKeyUsage without serverAuth)"]),
}


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("case", SERVERS)
def test_a_server_that_cannot_be_verified(new_api, authority, daemon, tmp_path, case, version):
    make, words = SERVERS[case]
    api = new_api(tls=make(authority, tmp_path / "other"), tls_options={"high": version})
    d = daemon(api, credentials={"ca": None, "ca_file": authority.file})
    told(d, "TLS handshake with 127.0.0.1", *(word.replace("CA;", f"{authority.file};")
                                              .replace("in CA ", f"in {authority.file} ")
                                              for word in words()))


def test_the_ca_in_the_kubeconfig_is_named(new_api, daemon, tmp_path):
    api = new_api(tls=Authority(tmp_path / "other", "other-ca").server())
    told(daemon(api), "is signed by no CA of certificate-authority-data of the kubeconfig;")


def test_a_chain_with_an_intermediate_ca_is_fine(new_api, authority, daemon, tmp_path):
    middle = Authority(tmp_path / "middle", "middle", parent=authority)
    daemon(new_api(tls=with_chain(middle.server(), middle))).synced()


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_a_server_that_refuses_the_client_certificate(new_api, authority, daemon, tmp_path,
                                                      version):
    client = Authority(tmp_path / "other", "other-ca").client()
    api = new_api(tls_options={"client_ca": authority, "client_required": True, "high": version})
    d = daemon(api, credentials={"client": client, "client_files": True})
    told(d, "alert: unknown CA; check the client certificate",
         '(subject "O=system:nodes, CN=system:node:node-1", issuer "CN=other-ca", serial ',
         f"in {client.cert_file}: use a certificate of a CA that the server takes clients from")


def test_a_server_that_refuses_an_expired_client_certificate(new_api, authority, daemon):
    client = authority.leaf("system:node:node-1", client=True, begin=-2 * DAY, end=-DAY)
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    d = daemon(api, credentials={"client": client, "client_files": True})
    told(d, f"in {client.cert_file}, which expired on {at(-DAY)}")
    assert d.log(level="error", msg="credential has expired", cluster="prod")


def test_a_server_that_wants_a_client_certificate(new_api, authority, daemon):
    api = new_api(tls_options={"client_ca": authority, "client_required": True,
                               "high": "TLSv1_2"})
    told(daemon(api), "and none is configured: set client_cert_file and client_key_file")


# ---- Keys that cannot be used

def pem(key, passphrase=None):
    lock = serialization.BestAvailableEncryption(passphrase) if passphrase \
        else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


def encrypted(leaf, _authority):
    return pem(serialization.load_pem_private_key(leaf.key, None), b"secret")


KEYS = {
    "encrypted": (encrypted, "is encrypted", "decrypt it with openssl pkey -in FILE -out NEW"),
    "unsupported": (lambda leaf, a: pem(ed25519.Ed25519PrivateKey.generate()),
                    "of a type that is not supported", "take RSA, or ECDSA"),
    "of another": (lambda leaf, a: a.client().key, "does not belong to the client certificate",
                   '(subject "O=system:nodes, CN=system:node:node-1"'),
    "a certificate": (lambda leaf, a: leaf.cert, "holds a certificate, and no private key", ""),
}


@pytest.mark.parametrize("case", KEYS)
def test_a_key_that_cannot_be_used(new_api, authority, daemon, case):
    make, *words = KEYS[case]
    client = authority.client()
    client.key_file.write_bytes(make(client, authority))
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    d = daemon(api, credentials={"client": client, "client_files": True})
    entry = d.wait_problem("credentials cannot be used")
    assert all(word in entry["err"] for word in words), entry["err"]
    assert f"the client key ({client.key_file})" in entry["err"]
    degraded = d.control.status()["degraded"]
    assert any(line.startswith("cluster prod: credentials cannot be used: ") and words[0] in line
               for line in degraded), degraded
    secrets = [line for line in client.key_file.read_text().splitlines() if "---" not in line]
    assert not any(line in d.stderr() for line in secrets)
    client.key_file.write_bytes(client.key)
    d.synced()
    wait_until(lambda: d.control.status()["degraded"] == [], what="all is well again")


# ---- Credentials that expire

def expiring(authority):
    return authority.leaf("system:node:node-1", client=True, begin=-300 * DAY, end=10 * HOUR)


def test_a_client_certificate_that_expires_soon(api, authority, daemon):
    client = expiring(authority)
    d = daemon(api, credentials={"client": client, "client_files": True}).synced()
    said = d.log(level="warn", msg="credential expires soon")
    assert len(said) == 1 and said[0]["cluster"] == "prod"
    assert f"in {client.cert_file} expires on {at(10 * HOUR)}" in said[0]["reason"]
    status = d.control.status()
    assert status["clusters"]["prod"]["credential_expires"].startswith(at(10 * HOUR))
    assert status["degraded"] == [f"cluster prod: {said[0]['reason']}"]
    shown = d.ctl("status")
    assert shown.returncode == 1
    assert said[0]["reason"] in shown.stdout and "EXPIRES" in shown.stdout


def test_the_window_is_a_setting(api, authority, daemon):
    d = daemon(api, credentials={"client": expiring(authority)},
               limits={"credential_expiry": "9h"}).synced()
    assert d.control.status()["degraded"] == []
    assert not d.log(msg="credential expires soon")


def jwt(**claims):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    return f"{part({'alg': 'none'})}.{part(claims)}.c2ln"


def test_a_token_that_expires(api, daemon, tmp_path):
    now = int(time.time())
    path = tmp_path / "token"
    path.write_text(jwt(sub="system:serviceaccount:a:b", iat=now - 3500, exp=now + 360))
    d = daemon(api, credentials={"token_file": path}).synced()
    said = d.log(level="warn", msg="credential expires soon")
    assert len(said) == 1
    assert said[0]["reason"].startswith(f"token (system:serviceaccount:a:b) in {path} expires on ")
    assert d.control.status()["degraded"] == [f"cluster prod: {said[0]['reason']}"]


def test_a_token_that_is_renewed_every_hour_is_no_fault(api, daemon, tmp_path):
    now = int(time.time())
    path = tmp_path / "token"
    path.write_text(jwt(sub="a", iat=now - 1800, exp=now + 1800))
    d = daemon(api, credentials={"token_file": path}).synced()
    assert d.control.status()["degraded"] == []
    assert d.control.status()["clusters"]["prod"]["credential_expires"]


# ---- Servers that are not verified

@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_insecure_skip_tls_verify(new_api, factory, tmp_path, version):
    foreign = Authority(tmp_path / "other", "other-ca")
    api = new_api(tls=foreign.server(dns=["elsewhere"], ips=[], begin=-2 * DAY, end=-DAY),
                  tls_options={"high": version})
    watches = {"services": {"resource": "services", "namespaces": ["a", "b", "c"]}}
    d = factory.daemon(clusters={"prod": {"servers": [api.url], "insecure_skip_tls_verify": True}},
                       watches=watches).synced()
    assert len(d.log(level="warn", cluster="prod")) == 1
    d.wait_problem("server is not verified", "insecure_skip_tls_verify")
    assert d.control.status()["degraded"] == [
        "cluster prod: servers are not verified (insecure_skip_tls_verify)"]
    api.wait_watching("services", 3)
    assert api.resumptions > 0, "an expired certificate costs no full handshake each time"
    d.stop()
    d.start().synced()
    assert len(d.log(level="warn", cluster="prod")) == 2, "at every start"


def test_insecure_skip_tls_verify_beside_a_ca_is_an_error(api, factory, authority):
    d = factory.daemon(clusters={"prod": {"servers": [api.url], "ca_file": authority.file,
                                          "insecure_skip_tls_verify": True}}, start=False)
    assert d.to_the_end() == 78
    assert "insecure_skip_tls_verify cannot stand beside ca_file" in d.stderr()
