# SPDX-License-Identifier: Apache-2.0
"""The fake API server itself, asked by Python's HTTP client, curl and kubectl."""
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess

import campaign
import pytest
from control import PATIENCE
from fakeapi import END, EOF, RST, FakeApi, Gate, bookmark, custom_object, ev, service


@pytest.fixture
def served(authority):
    with FakeApi(tls=authority.server()) as api:
        yield api
        assert not api.errors


def context_for(authority, version=None):
    context = ssl.create_default_context(cafile=str(authority.file))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


def connect(api, authority, **more):
    return http.client.HTTPSConnection("127.0.0.1", api.port, timeout=PATIENCE,
                                       context=context_for(authority, **more))


def ask(conn, path):
    conn.request("GET", path)
    response = conn.getresponse()
    return response.status, json.loads(response.read())


def events(response, count):
    return [json.loads(response.readline()) for _ in range(count)]


def test_lists_pages_and_selects(served, authority):
    for number in range(5):
        served.apply(service(f"ns{number % 2}/s{number}", labels={"n": str(number)}))
    conn = connect(served, authority)
    status, doc = ask(conn, "/api/v1/services?limit=2")
    assert status == 200 and doc["kind"] == "ServiceList" and len(doc["items"]) == 2
    assert "kind" not in doc["items"][0] and doc["metadata"]["remainingItemCount"] == 3
    token = doc["metadata"]["continue"]
    rest = ask(conn, f"/api/v1/services?limit=2&continue={token}")[1]
    assert [i["metadata"]["name"] for i in rest["items"]] == ["s4", "s1"]
    assert len(ask(conn, "/api/v1/services?limit=2&resourceVersion=0")[1]["items"]) == 5
    assert len(ask(conn, "/api/v1/namespaces/ns1/services")[1]["items"]) == 2
    assert len(ask(conn, "/api/v1/services?labelSelector=n%20in%20(1,3),n!=3")[1]["items"]) == 1
    assert len(ask(conn, "/api/v1/services?fieldSelector=metadata.name%3Ds2")[1]["items"]) == 1
    served.compact()
    assert ask(conn, f"/api/v1/services?limit=2&continue={token}")[0] == 410
    assert ask(conn, "/api/v1/services?resourceVersion=999")[1]["details"]["causes"]
    assert {r.conn_id for r in served.requests} == {served.requests[0].conn_id}
    assert served.sequence("services")[:3] == ["L(-)", f"C({token})", "L(0)"]


def test_custom_resources_have_items_before_metadata(served, authority):
    served.add_resource("widgets", "Widget", "example.com")
    served.apply(custom_object("Widget", "ns/w", spec={"z": 1, "a": 2}))
    conn = connect(served, authority)
    conn.request("GET", "/apis/example.com/v1/widgets")
    body = conn.getresponse().read()
    assert body.startswith(b'{"apiVersion":"example.com/v1","items":[{"apiVersion"')
    assert b'"spec":{"a":2,"z":1}}],"kind":"WidgetList","metadata":{"continue":""' in body


def test_watch_replays_follows_and_translates_selectors(served, authority):
    served.apply(service("ns/a", labels={"x": "1"}))
    start = served.rv
    served.apply(service("ns/b", labels={"x": "1"}))
    conn = connect(served, authority)
    conn.request("GET", f"/api/v1/services?watch=true&resourceVersion={start}&labelSelector=x%3D1"
                        "&allowWatchBookmarks=true&timeoutSeconds=30")
    response = conn.getresponse()
    first = events(response, 1)[0]
    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "b")
    served.apply(service("ns/a", labels={"x": "2"}))
    served.apply(service("ns/b", labels={"x": "1", "y": ""}))
    served.bookmark()
    served.delete("services", "ns/b")
    left, changed, mark, deleted = events(response, 4)
    assert (left["type"], left["object"]["metadata"]["labels"]) == ("DELETED", {"x": "1"})
    assert left["object"]["metadata"]["resourceVersion"] == str(start + 2)
    assert changed["type"] == "MODIFIED" and deleted["type"] == "DELETED"
    assert (mark["type"], mark["object"]["metadata"]["resourceVersion"]) == ("BOOKMARK",
                                                                            str(start + 3))
    served.end_watches("services")
    assert response.read() == b""
    assert ask(conn, "/version")[0] == 200


def test_watch_from_a_compacted_rv_is_410_in_the_stream(served, authority):
    served.apply(service("ns/a"))
    old = served.rv
    served.apply(service("ns/b"))
    served.compact("services")
    conn = connect(served, authority)
    conn.request("GET", f"/api/v1/services?watch=1&resourceVersion={old}")
    response = conn.getresponse()
    assert response.status == 200
    assert json.loads(response.read())["object"]["code"] == 410


def test_scripts_are_served_in_order_and_then_the_truth(served, authority):
    gate = Gate()
    served.on_list("services").fail(429, retry_after=3)
    served.on_list("services").reply(body=b"<html>", type="text/html", cut="every", segment=5)
    served.on_watch("services").stream(ev("ADDED", service("n/a"), rv=5), gate, b'{"type":',
                                       b'"BOOKMARK","object":{}}\n', bookmark(9), END)
    conn = connect(served, authority)
    conn.request("GET", "/api/v1/services")
    response = conn.getresponse()
    assert (response.status, response.headers["Retry-After"]) == (429, "3")
    assert json.loads(response.read())["reason"] == "TooManyRequests"
    conn.request("GET", "/api/v1/services")
    assert conn.getresponse().read() == b"<html>"
    conn.request("GET", "/api/v1/services?watch=1&resourceVersion=4")
    response = conn.getresponse()
    assert events(response, 1)[0]["object"]["metadata"]["resourceVersion"] == "5"
    gate.wait_reached()
    gate.open()
    assert [e["type"] for e in events(response, 2)] == ["BOOKMARK"] * 2
    assert response.read() == b"" and ask(conn, "/api/v1/services")[0] == 200


@pytest.mark.parametrize("how,error", [(RST, ConnectionResetError), (EOF, ssl.SSLEOFError),
                                       ("close", http.client.IncompleteRead)])
def test_streams_die_as_told(served, authority, how, error):
    gate = Gate()
    if how == "close":
        served.on_watch("services").reply(body=b"x" * 100, only=150, end="close")
    else:
        served.on_watch("services").stream(bookmark(7), gate, how)
    conn = connect(served, authority)
    conn.request("GET", "/api/v1/services?watch=1&resourceVersion=4")
    response = conn.getresponse()
    if how != "close":
        events(response, 1)
    gate.open()
    with pytest.raises((error, http.client.IncompleteRead)):
        response.read()
    served.wait(lambda: not served.open_conns())


def test_tls_versions_resumption_alpn_sni_and_client_certificates(served, authority):
    served.set_tls(authority.server(), client_ca=authority)
    served.client_cns = {"system:node:node-1"}
    leaf = authority.client()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = context_for(authority, version)
        context.load_cert_chain(leaf.cert_file, leaf.key_file)
        context.set_alpn_protocols(["http/1.1"])
        session = None
        for _ in range(2):
            raw = socket.create_connection(("127.0.0.1", served.port))
            tls = context.wrap_socket(raw, server_hostname="localhost", session=session)
            tls.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" in tls.recv(4096)
            session = tls.session
            tls.close()
    conns = [r.conn for r in served.requests]
    assert [c.tls_version for c in conns] == ["TLSv1.2"] * 2 + ["TLSv1.3"] * 2
    assert [c.resumed for c in conns] == [False, True] * 2
    assert {(c.alpn, c.sni, c.client_cn) for c in conns} == {
        ("http/1.1", "localhost", "system:node:node-1")}


def test_bad_certificates_and_plain_http_are_refused(served, authority):
    for leaf in (authority.expired(), authority.server(dns=["other"], ips=["10.9.9.9"])):
        served.set_tls(leaf)
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(connect(served, authority), "/version")
    conn = http.client.HTTPConnection("127.0.0.1", served.port)
    conn.request("GET", "/version")
    assert conn.getresponse().status == 400


def test_the_listener_comes_back_on_its_port(served, authority):
    conn = connect(served, authority)
    assert ask(conn, "/version")[0] == 200
    served.stop_listening()
    served.drop("rst")
    served.wait(lambda: not served.open_conns())
    with pytest.raises(ConnectionRefusedError):
        ask(connect(served, authority), "/version")
    served.listen()
    assert ask(connect(served, authority), "/version")[0] == 200


def test_64_watches_get_all_events(served, authority):
    count = campaign.size(150, 1000)
    context = context_for(authority)
    responses = []
    for _ in range(64):
        conn = http.client.HTTPSConnection("127.0.0.1", served.port, timeout=PATIENCE,
                                           context=context)
        conn.request("GET", "/api/v1/services?watch=1&resourceVersion=1")
        responses.append((conn, conn.getresponse()))
    assert served.open_conns() == 64
    for number in range(count):
        served.apply(service(f"ns/s{number % 10}"))
    for _, response in responses:
        assert [e["object"]["metadata"]["resourceVersion"] for e in events(response, count)] == [
            str(rv) for rv in range(2, count + 2)]


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_curl_sees_a_kubernetes_server(served, authority):
    served.tokens = {"t0k"}
    run = ["curl", "-sS", "--noproxy", "*", "--cacert", authority.file, f"{served.url}/api/v1"]
    assert b'"code":401' in subprocess.check_output(run)
    out = subprocess.check_output([*run, "-H", "Authorization: Bearer t0k"])
    assert "services" in [r["name"] for r in json.loads(out)["resources"]]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl")
def test_kubectl_gets_and_watches(served, authority, tmp_path):
    served.apply(service("default/web"), service("prod/db"))
    config = served.kubeconfig(tmp_path / "kubeconfig", ca=authority, client=authority.client())
    env = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path), "NO_PROXY": "*"}
    out = subprocess.check_output(["kubectl", "get", "svc", "-A", "-o", "name"], env=env)
    assert out.split() == [b"service/web", b"service/db"]
    out = subprocess.check_output(["kubectl", "get", "svc", "web"], env=env)
    assert b"web" in out
    watch = subprocess.Popen(["kubectl", "get", "svc", "-A", "-w", "-o", "name"], env=env,
                             stdout=subprocess.PIPE)
    try:
        served.wait(lambda: served.of("services", "W"))
        served.apply(service("default/late"))
        assert [watch.stdout.readline() for _ in range(3)][-1] == b"service/late\n"
    finally:
        watch.kill()
        watch.communicate()
