# SPDX-License-Identifier: Apache-2.0
"""Credentials that are replaced while the daemon runs: tokens, client certificates, CAs, as the
kubelet, a projected volume and an administrator replace them. New connections and requests use them
at once, and nothing fails in between."""
import base64
import json
import os
import tempfile
import time

import campaign
import confwriter
import proctree
import pytest
from control import wait_until
from credential_files import KubeletPki, Unseen, Volume, put
from fakeapi import Authority, service
from harness import NEVER, NOBODY, is_sanitized
from test_proxy import start_trusting

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
TOKEN, PAIR, CA = "token", "client certificate", "CA"

# A request that failed is tried again within a test only if something makes informerd try at once.
PATIENT = {"backoff": {"initial": NEVER, "max": NEVER, "jitter": 0.0}}


# ---- Clusters

def plain(factory, api, tuning=None, **files):
    """The plain settings of a cluster; files: ca_file, client_cert_file, ..."""
    return {"prod": {"servers": [api.url], "ca_file": factory.authority.file,
                     "tuning": confwriter.merge(factory.cluster(api)["tuning"], tuning or {}),
                     **files}}


@pytest.fixture
def pki_api(new_api, authority):
    """An API server that wants client certificates."""
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns = {"system:node:node-1"}
    return api


def of_pki(factory, api, pki, **more):
    return plain(factory, api, client_cert_file=pki.current, client_key_file=pki.current, **more)


# ---- Changes of files that are seen

def wait_renewed(d, what, count=1):
    wait_until(lambda: len(d.log(msg=f"{what} was renewed")) >= count, what=f"{what} was renewed")


def wait_left_alone(d, count=1):
    wait_until(lambda: len(d.log(msg="new credentials cannot be used yet")) >= count,
               what="new credentials are left alone")


def end_watch(api, how="rst"):
    """Ends the watch after something was sent on it: a watch that ends early without that is
    followed by a list."""
    api.wait_watching("services")
    api.bookmark()
    api.end_watches(how=how)


def reconnect(api, how="rst"):
    """Ends the watch; returns the request of the next one."""
    before = len(api.of("services", "W"))
    end_watch(api, how)
    return api.wait(lambda: api.of("services", "W")[before:], what="another watch")[0]


def refused(api):
    """Of all requests. That for the identity comes beside the others: a test that changes what the
    server accepts waits until the daemon has settled."""
    return [r for r in api.requests + api.identity_requests if r.status == 401]


def tokens_of(requests):
    return [r.header("authorization").removeprefix("Bearer ") for r in requests]


def lists(api):
    return len(api.of("services", "L"))


def jwt(name, left_s):
    """A token that expires in so many seconds, as far as the client sees."""
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    return f"{part({'alg': 'none'})}.{part({'sub': name, 'exp': int(time.time()) + left_s})}.s"


# ---- Tokens

def test_s55_a_new_token_is_used_at_once_after_a_401(api, factory, tmp_path):
    token = Unseen(tmp_path / "token", "old")
    api.tokens = {"old"}
    d = factory.daemon(clusters=plain(factory, api, token_file=token.path, tuning=PATIENT)).settled(api)
    token.write("new")
    api.tokens = {"new"}
    assert reconnect(api, "END").header("authorization") == "Bearer old"
    api.wait(lambda: api.of("services", "W")[-1].header("authorization") == "Bearer new")
    api.wait_watching("services")
    assert len(refused(api)) == 1 and lists(api) == 1
    d.caught_up(api)


def test_s55_with_the_same_token_the_next_try_waits(api, factory, tmp_path):
    token = put(tmp_path / "token", "old")
    api.tokens = {"old"}
    d = factory.daemon(clusters=plain(factory, api, token_file=token, tuning=PATIENT)).settled(api)
    api.tokens = {"new"}
    reconnect(api, "END")
    d.wait_problem("401", watch="services")
    put(token, "old\n")     # another file with the same token
    put(tmp_path / "marker", "1")
    api.apply(service("n/a"))
    assert len(refused(api)) == 1
    put(token, "new")
    api.wait_watching("services")
    assert len(refused(api)) == 1 and d.seen(api)


def test_a_token_that_came_too_late_is_used_by_watches_that_wait(api, factory, tmp_path):
    api.tokens = {"new"}
    token = put(tmp_path / "token", "old")
    d = factory.daemon(clusters=plain(factory, api, token_file=token, tuning=PATIENT))
    d.wait_problem("401", watch="services")
    put(token, "new")
    d.synced()


def test_s112_a_new_token_is_used_without_a_401(api, factory, tmp_path):
    volume = Volume(tmp_path / "volume", token="token-1")
    api.tokens = {"token-1", "token-2", "token-3"}
    d = factory.daemon(clusters=plain(factory, api, token_file=volume.path / "token")).settled(api)
    for number in (2, 3):
        volume.write(token=f"token-{number}\n")
        wait_renewed(d, TOKEN, number - 1)
        api.tokens.remove(f"token-{number - 1}")
        assert reconnect(api).header("authorization") == f"Bearer token-{number}"
    api.wait_watching("services")
    assert not refused(api) and lists(api) == 1
    assert set(tokens_of(api.identity_requests)) <= {"token-1", "token-2", "token-3"}
    assert not d.problems()


def test_s112_a_token_is_read_again_before_it_expires(api, factory, tmp_path):
    """Without an event: a token with so little time left is read every ten seconds."""
    old, new = jwt("old", 60), jwt("new", 3600)
    token = Unseen(tmp_path / "token", old)
    api.tokens = {old, new}
    d = factory.daemon(clusters=plain(factory, api, token_file=token.path)).synced()
    api.wait_watching("services")
    token.write(new)
    wait_renewed(d, TOKEN)
    assert reconnect(api).header("authorization") == f"Bearer {new}"
    assert not refused(api)


def test_s112_a_watch_outlives_the_token_that_it_began_with(api, factory, tmp_path):
    """A server looks at the token when a watch begins, so another watch would gain nothing."""
    token = put(tmp_path / "token", "token-1")
    api.tokens = {"token-1"}
    d = factory.daemon(clusters=plain(factory, api, token_file=token)).settled(api)
    for number in (2, 3, 4):
        put(token, f"token-{number}")
        wait_renewed(d, TOKEN, number - 1)
        api.tokens = {f"token-{number}"}
        api.apply(service(f"n/s{number}"))
        d.seen(api)
    assert len(api.of("services", "W")) == 1 and lists(api) == 1 and not refused(api)


@pytest.mark.parametrize("bad", [None, "", "two words", "x" * (2 << 20)],
                         ids=["deleted", "empty", "no token", "too big"])
def test_s112_a_token_file_that_cannot_be_used_keeps_the_old_token(api, factory, tmp_path, bad):
    token = put(tmp_path / "token", "old")
    api.tokens = {"old", "new"}
    d = factory.daemon(clusters=plain(factory, api, token_file=token)).synced()
    api.wait_watching("services")
    if bad is None:
        token.unlink()
    else:
        put(token, bad)
    wait_left_alone(d)
    assert reconnect(api).header("authorization") == "Bearer old"
    d.wait_problem("token was not renewed", str(token))
    assert reconnect(api).header("authorization") == "Bearer old"
    put(token, "new")
    wait_until(lambda: d.log(msg="token file can be used now"))
    assert reconnect(api).header("authorization") == "Bearer new"
    assert len(d.problems()) == 1 and not refused(api)


# ---- Client certificates

def rotate(api, d, leaf, write, count):
    """Replaces the certificate; the next connection must show the new one."""
    write(leaf)
    wait_renewed(d, PAIR, count)
    request = reconnect(api)
    assert request.conn.client_serial == leaf.serial
    api.wait_watching("services")


def test_s113_the_certificate_of_the_kubelet_rotates(pki_api, factory, authority, tmp_path):
    """No LIST, no failed connection, and neither descriptors nor memory grow."""
    rotations = campaign.size(6, 200)
    first = authority.client()
    pki = KubeletPki(tmp_path / "pki", first)
    d = factory.daemon(clusters=of_pki(factory, pki_api, pki)).synced()
    pki_api.wait_watching("services")
    assert pki_api.requests[0].conn.client_serial == first.serial
    for count in range(1, rotations + 1):
        rotate(pki_api, d, authority.client(), pki.write, count)
        if count == rotations // 3:
            before = {pid: (len(proctree.fds(pid)), proctree.memory_kb(pid, "VmRSS"))
                      for pid in (d.pid, d.helper)}
    for pid, (descriptors, memory) in before.items():
        wait_until(lambda: len(proctree.fds(pid)) <= descriptors, what="descriptors are closed")
        assert is_sanitized() or proctree.memory_kb(pid, "VmRSS") < memory + 2048
    assert lists(pki_api) == 1 and not pki_api.tls_errors
    d.caught_up(pki_api)
    assert not [p for p in d.problems() if "tls" in json.dumps(p).lower()]


def test_s113_a_projected_volume_rotates(pki_api, factory, authority, tmp_path):
    leaf = authority.client()
    volume = Volume(tmp_path / "volume", crt=leaf.cert, key=leaf.key)
    d = factory.daemon(clusters=plain(factory, pki_api, client_cert_file=volume.path / "crt",
                                      client_key_file=volume.path / "key")).synced()
    pki_api.wait_watching("services")
    for count in range(1, 4):
        rotate(pki_api, d, authority.client(),
               lambda new: volume.write(crt=new.cert, key=new.key), count)
    assert lists(pki_api) == 1 and not pki_api.tls_errors


@pytest.mark.parametrize("first", ["cert", "key"])
def test_s113_certificate_and_key_are_replaced_one_after_the_other(pki_api, factory, authority,
                                                                   tmp_path, first):
    old, new = authority.client(), authority.client()
    files = {"cert": put(tmp_path / "tls.crt", old.cert), "key": put(tmp_path / "tls.key", old.key)}
    fresh = {"cert": new.cert, "key": new.key}
    second = "key" if first == "cert" else "cert"
    d = factory.daemon(clusters=plain(factory, pki_api, client_cert_file=files["cert"],
                                      client_key_file=files["key"])).synced()
    pki_api.wait_watching("services")
    put(files[first], fresh[first])
    wait_left_alone(d)
    for _ in range(3):
        assert reconnect(pki_api).conn.client_serial == old.serial
    put(files[second], fresh[second][:100])     # it is just being written
    wait_left_alone(d, len(d.log(msg="new credentials cannot be used yet")) + 1)
    assert reconnect(pki_api).conn.client_serial == old.serial
    put(files[second], fresh[second])
    wait_renewed(d, PAIR)
    assert reconnect(pki_api).conn.client_serial == new.serial
    pki_api.wait_watching("services")
    assert not pki_api.tls_errors and lists(pki_api) == 1


def test_a_pair_that_never_fits_is_reported_once(pki_api, factory, authority, tmp_path):
    old, new = authority.client(), authority.client()
    cert, key = put(tmp_path / "tls.crt", old.cert), put(tmp_path / "tls.key", old.key)
    d = factory.daemon(clusters=plain(factory, pki_api, client_cert_file=cert,
                                      client_key_file=key)).synced()
    pki_api.wait_watching("services")
    put(cert, new.cert)
    d.wait_problem("client certificate was not renewed", str(cert), str(key), "does not belong")
    readings = len(d.log(msg="new credentials cannot be used yet"))
    wait_left_alone(d, readings + 2)
    assert len(d.problems()) == 1
    assert reconnect(pki_api).conn.client_serial == old.serial
    put(cert, old.cert)     # taken back
    wait_until(lambda: d.log(msg="client certificate file can be used now"))
    assert not d.log(msg="client certificate was renewed")


def test_a_watch_that_waits_after_a_refused_certificate_tries_the_new_one(pki_api, factory,
                                                                          authority, tmp_path):
    pki = KubeletPki(tmp_path / "pki", authority.client("system:node:other"))
    d = factory.daemon(clusters=of_pki(factory, pki_api, pki, tuning=PATIENT))
    d.wait_problem("401", watch="services")
    pki.write(authority.client())
    pki_api.wait_watching("services")
    d.synced()


def test_many_watches_that_were_refused_together_use_the_new_certificate(pki_api, factory, authority,
                                                                         tmp_path):
    """The API server has restarted, so it must first say which cluster it is, and it refuses the
    certificate even for that. Such questions come once a second, but after the renewal none comes
    with the old certificate, save one that is on its way."""
    old = authority.client()
    pki = KubeletPki(tmp_path / "pki", old)
    many = [f"n{i}" for i in range(15)]
    d = factory.daemon(clusters=of_pki(factory, pki_api, pki),
                       watches={"services": {"resource": "services", "namespaces": many}}).synced()
    pki_api.wait_watching("services", len(many))
    pki_api.apply(*[service(f"{namespace}/a") for namespace in many])
    wait_until(lambda: len(d.control.keys("services")) == len(many), what="each watch has an event")
    pki_api.kill()
    pki_api.client_cns = {"system:node:new"}
    pki_api.set_tls(pki_api.leaf, client_ca=authority, client_required=True)
    pki_api.forget()
    pki_api.listen()
    pki_api.wait(lambda: refused(pki_api), what="a refusal")
    pki.write(authority.client("system:node:new"))
    wait_renewed(d, PAIR)
    before = len(pki_api.identity_requests)
    pki_api.wait_watching("services", len(many))
    later = pki_api.identity_requests[before + 1:]
    assert not [r for r in later if r.conn.client_serial == old.serial]
    assert not pki_api.of("services", "L")


@needs_root
@pytest.mark.parametrize("folders", ["open", "closed"])
def test_root_opens_and_watches_files_that_main_may_not_read(pki_api, factory, authority, tmp_path,
                                                             folders):
    """/etc/kubernetes/kubelet.conf and its certificate belong to root alone."""
    pki = KubeletPki(tmp_path / "pki", authority.client())
    pki.path.chmod(0o755 if folders == "open" else 0o700)
    token = put(tmp_path / "token", "token-1")
    d = factory.daemon(clusters=of_pki(factory, pki_api, pki, token_file=token), user="nobody",
                       start=False)
    for folder in (d.folder, *d.folder.parents):
        if folder != folder.parent and str(folder).startswith(tempfile.gettempdir()):
            os.chmod(folder, os.stat(folder).st_mode | 0o011)
    os.chmod(d.short, 0o755)
    d.start().synced()
    pki_api.wait_watching("services")
    with open(f"/proc/{d.pid}/status") as status:
        assert f"Uid:\t{NOBODY}\t" in status.read()
    for count in range(1, 3):
        rotate(pki_api, d, authority.client(), pki.write, count)
        put(token, f"token-{count + 1}")
        wait_renewed(d, TOKEN, count)
    assert reconnect(pki_api).header("authorization") == "Bearer token-3"


def test_a_folder_that_comes_back(pki_api, factory, authority, tmp_path):
    """The folder of the files is moved away, and later there is another one."""
    old, new = authority.client(), authority.client()
    pki = KubeletPki(tmp_path / "pki", old)
    d = factory.daemon(clusters=of_pki(factory, pki_api, pki)).synced()
    pki_api.wait_watching("services")
    pki.path.rename(tmp_path / "away")
    wait_left_alone(d)
    assert reconnect(pki_api).conn.client_serial == old.serial
    KubeletPki(tmp_path / "pki", new)
    wait_renewed(d, PAIR)
    assert reconnect(pki_api).conn.client_serial == new.serial
    assert not pki_api.tls_errors


# ---- CAs

@pytest.fixture
def other(tmp_path):
    """Another CA."""
    return Authority(tmp_path / "other-ca")


def test_s115_new_connections_trust_the_new_ca_alone(api, factory, authority, server_leaf, other,
                                                     tmp_path):
    ca = put(tmp_path / "ca.crt", authority.pem)
    d = factory.daemon(clusters=plain(factory, api, ca_file=ca)).settled(api)
    api.set_tls(other.server())
    put(ca, other.pem)
    wait_renewed(d, CA)
    reconnect(api)
    api.wait_watching("services")
    assert lists(api) == 1 and not d.problems()
    api.set_tls(server_leaf)    # of the old CA
    end_watch(api)
    d.wait_problem("by no CA that is known")
    api.set_tls(other.server())
    api.wait_watching("services")
    assert lists(api) == 1


def test_s115_a_bundle_of_both_cas_bridges_a_rotation(api, factory, authority, server_leaf, other,
                                                      tmp_path):
    ca = put(tmp_path / "ca.crt", authority.pem)
    d = factory.daemon(clusters=plain(factory, api, ca_file=ca)).synced()
    api.wait_watching("services")
    put(ca, authority.pem + other.pem)
    wait_renewed(d, CA)
    for leaf in (server_leaf, other.server()):
        api.set_tls(leaf)
        reconnect(api)
        api.wait_watching("services")
    put(ca, other.pem)
    wait_renewed(d, CA, 2)
    reconnect(api)
    api.wait_watching("services")
    assert not d.problems() and lists(api) == 1


def test_s115_a_ca_file_that_is_empty_at_the_start_verifies_no_server(api, factory, authority,
                                                                      tmp_path):
    """Not even one that the CAs of the system would verify."""
    ca = put(tmp_path / "ca.crt", b"")
    d = factory.daemon(clusters=plain(factory, api, ca_file=ca), start=False)
    start_trusting(d, authority)
    d.wait_problem(f"the CA ({ca}) holds no certificate", msg="credentials cannot be used")
    assert not api.accepted
    put(ca, authority.pem)
    d.synced()


@pytest.mark.parametrize("bad", [None, b"", b"no certificate\n", "half"])
def test_s115_a_ca_file_without_a_ca_keeps_the_old_one(api, factory, authority, other, tmp_path,
                                                       bad):
    ca = put(tmp_path / "ca.crt", authority.pem)
    d = factory.daemon(clusters=plain(factory, api, ca_file=ca)).synced()
    api.wait_watching("services")
    if bad is None:
        ca.unlink()
    else:
        put(ca, other.pem + authority.pem[:-60] if bad == "half" else bad)
    wait_left_alone(d)
    reconnect(api)
    d.wait_problem("CA was not renewed", str(ca))
    reconnect(api)
    put(ca, authority.pem)
    wait_until(lambda: d.log(msg="CA file can be used now"))
    assert not d.log(msg="CA was renewed") and len(d.problems()) == 1
    api.wait_watching("services")
    assert lists(api) == 1


def test_a_server_of_a_new_ca_is_reached_at_once_when_the_file_follows(api, factory, authority,
                                                                       other, tmp_path):
    ca = put(tmp_path / "ca.crt", authority.pem)
    d = factory.daemon(clusters=plain(factory, api, ca_file=ca, tuning=PATIENT)).synced()
    api.wait_watching("services")
    api.set_tls(other.server())
    end_watch(api, "rst")
    d.wait_problem("by no CA that is known", watch="services")
    put(ca, other.pem)
    api.wait_watching("services")


def test_a_cluster_that_is_known_by_its_ca_stays_the_same_when_that_rotates(api, left, hook, other,
                                                                            factory, authority,
                                                                            tmp_path):
    """The servers do not tell their uid."""
    ca = put(tmp_path / "ca.crt", authority.pem)
    api.identity = 403
    d = left(service("n/a"), daemon={"clusters": plain(factory, api, ca_file=ca)})
    d.again(api)
    api.set_tls(other.server())
    put(ca, other.pem)
    wait_renewed(d, CA)
    reconnect(api)
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    d.settled(api).stop()
    hook.forget()
    d.again(api)
    assert not hook.runs() and not d.problems(), "nothing is another cluster's"
