# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 123: HTTP proxies on the way to the server, and servers behind a path prefix."""
import os

import pytest
from control import wait_until
from fakeapi import service
from harness import SERVICES, TUNING, check_config
from mounts import start_with_mounts
from netns import SERVER_IP, Cable, missing
from proxies import ESTABLISHED, Proxy
from test_rbac import roles

SYSTEM_CA = "/etc/ssl/certs/ca-certificates.crt"
AUTH, SECRET = "user:s3cret", "s3cret"
QUICK = {"backoff": {"initial": "20ms", "max": "20ms"}}


@pytest.fixture
def through(factory, api, authority):
    """through(proxy_url, ...): a daemon with this proxy_url, which is not started yet."""
    def make(url, server=api, tuning=None, **more):
        cluster = {"servers": [server.url], "ca_file": authority.file, "proxy_url": url,
                   "tuning": {**TUNING, **(tuning or {})}}
        return factory.daemon(clusters={"prod": cluster}, start=False, **more)
    return make


def start_trusting(d, authority):
    """Starts the daemon on a machine whose CAs are this one alone."""
    if os.geteuid() != 0 or not os.path.exists(SYSTEM_CA):
        pytest.skip("needs root, to put another file in the place of the system's CAs")
    start_with_mounts(d.start, ["--bind", authority.file, SYSTEM_CA])
    return d


def check_no_secret(d):
    assert SECRET not in d.stderr() and "czNjcmV0" not in d.stderr()
    assert SECRET not in d.ctl("status").stdout + d.ctl("watches").stdout


@pytest.mark.parametrize("auth", [None, AUTH], ids=["open", "auth"])
def test_s123_everything_goes_through_the_proxy(api, through, hook, new_proxy, auth):
    proxy = new_proxy(auth=auth)
    api.apply(service("n/a"))
    d = through(proxy.url(auth), hooks={"h": hook}).start()
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait(2)
    d.settled(api)
    assert proxy.targets == {f"127.0.0.1:{api.port}"} and not proxy.refused
    assert api.accepted == len(proxy.seen), "no connection went past the proxy"
    assert d.log(msg="server is reached through a proxy", named_by="proxy_url",
                 proxy=f"127.0.0.1:{proxy.port}")
    check_no_secret(d)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("auth", [None, AUTH], ids=["open", "auth"])
def test_s123_tls_goes_inside_of_the_tls_of_the_proxy(new_api, through, hook, new_proxy, authority,
                                                      server_leaf, version, auth):
    api = new_api(tls_options={"high": version})
    proxy = new_proxy(tls=server_leaf, auth=auth)
    api.apply(*[service(f"n/s{i}", annotations={"x": "y" * 4000}) for i in range(200)])
    d = start_trusting(through(proxy.url(auth), api, hooks={"h": {
        "sources": ["services"], "command": [hook.path], "mode": "snapshot"}}), authority)
    d.synced()
    api.wait_watching("services")
    hook.wait(1)
    api.end_watches(how="rst")
    api.wait_for_request(lambda r: r.kind == "W", count=2)
    assert proxy.targets == {f"127.0.0.1:{api.port}"} and api.resumptions > 0
    assert len(d.control.status()["watches"]) == 1 and len(hook.runs()) == 1
    check_no_secret(d)


def test_s123_a_proxy_that_the_system_does_not_trust_is_refused_before_it_gets_the_password(
        api, through, new_proxy, authority, tmp_path):
    other = type(authority)(tmp_path / "other", "other-ca")
    proxy = new_proxy(tls=other.server(), auth=AUTH)
    d = start_trusting(through(proxy.url(AUTH)), authority)
    d.wait_problem(f"proxy 127.0.0.1:{proxy.port}", "TLS handshake")
    assert not proxy.seen and not api.accepted
    check_no_secret(d)


def test_s123_an_https_proxy_needs_the_cas_of_the_system(through, new_proxy, tmp_path):
    if os.geteuid() != 0 or not os.path.exists(SYSTEM_CA):
        pytest.skip("needs root, to put another file in the place of the system's CAs")
    (tmp_path / "none").touch()
    d = through("https://127.0.0.1:3128")
    start_with_mounts(lambda: d.start(wait=False), ["--bind", tmp_path / "none", SYSTEM_CA])
    d.wait_control()
    d.wait_problem("the proxy has https://, and the CAs of the system cannot be used")


@pytest.mark.parametrize("auth,advice", [(None, "write them into its address"),
                                         ("user:wrong", "correct them in its address")])
def test_s123_a_proxy_that_wants_other_credentials_says_so(api, through, new_proxy, auth, advice):
    proxy = new_proxy(auth=AUTH)
    d = through(proxy.url(auth), tuning=QUICK).start()
    d.wait_problem(f"proxy 127.0.0.1:{proxy.port}", "status 407", advice, watch="services")
    wait_until(lambda: proxy.refused > 1, what="another try")
    assert not api.accepted and "wrong" not in d.stderr()
    proxy.auth = auth       # the administrator of the proxy allows it now
    d.synced()


FAILURES = {
    "403": ({"reply": b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "then": "hold"},
            ["status 403", "allow that there"]),
    "502": ({"reply": b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "then": "close"},
            ["status 502", "cannot reach the server"]),
    "garbage": ({"reply": b"\x00\x01\x02 who are you?\r\n", "then": "hold"}, ["malformed"]),
    "tls": ({"reply": b"\x15\x03\x01\x00\x02\x02\x0a", "then": "hold"}, ["speaks TLS"]),
    "closes": ({"reply": b"", "then": "close"}, ["the proxy closed the connection"]),
    "closes in the middle": ({"reply": ESTABLISHED[:-2], "then": "close"},
                             ["the proxy closed the connection"]),
    "endless head": ({"reply": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100000, "then": "hold"},
                     ["the head", "limit of 16384 bytes"]),
    "endless 1xx": ({"reply": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, "then": "hold"},
                    ["the head", "limit of 16384 bytes"]),
    "switches protocols": ({"reply": b"HTTP/1.1 101 Switching\r\n\r\n", "then": "hold"},
                           ["malformed"]),
    "body behind 200": ({"reply": b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n<html></html>"},
                        ["TLS handshake", "through proxy"]),
    "closes the tunnel": ({"then": "close"}, ["the server closed the connection", "through proxy"]),
}


@pytest.mark.parametrize("how", FAILURES)
def test_s123_a_proxy_that_fails_is_named_and_tried_again(api, through, proxy, how):
    manner, words = FAILURES[how]
    proxy.behave(**manner)
    d = through(proxy.url(), tuning=QUICK).start()
    d.wait_problem(f"127.0.0.1:{api.port}: ", f"proxy 127.0.0.1:{proxy.port}", *words,
                   watch="services")
    wait_until(lambda: len(proxy.seen) > 1, what="another try")
    proxy.behave()
    d.synced()


@pytest.mark.parametrize("reply,words", [(b"", ["no answer to CONNECT within 100 ms"]),
                                         (ESTABLISHED, ["TLS handshake: no answer within 100 ms"])],
                         ids=["of the proxy", "behind the proxy"])
def test_s123_silence_ends_with_a_timeout(through, proxy, reply, words):
    proxy.behave(reply, "hold")
    d = through(proxy.url(), tuning={**QUICK, "connect_timeout": "100ms",
                                     "tls_timeout": "100ms"}).start()
    d.wait_problem(f"proxy 127.0.0.1:{proxy.port}", *words, watch="services")


def test_s123_an_answer_may_come_slowly_and_behind_1xx_responses(through, proxy):
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"
    proxy.behave(early + ESTABLISHED, drip=True)
    through(proxy.url()).start().synced()


def test_s123_a_proxy_that_dies_costs_no_list(api, through, hook, proxy):
    d = through(proxy.url(), hooks={"h": hook}).start().synced()
    api.wait_watching("services")
    api.apply(service("n/a"))
    hook.wait(1)
    d.caught_up(api)
    rv, before = api.rv, list(api.watchers)
    proxy.drop()
    api.wait(lambda: not [watcher for watcher in before if watcher in api.watchers])
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    sequence = api.sequence("services")
    assert sequence[:1] == ["L(0)"] and sequence[-1] == f"W({rv})"
    assert not [step for step in sequence[1:] if step.startswith("L")]


def test_s123_a_server_with_an_ipv6_address(new_api, through, proxy):
    try:
        api = new_api(host="::1")
    except RuntimeError:
        pytest.skip("no ::1")
    through(proxy.url(), api).start().synced()
    assert proxy.targets == {f"[::1]:{api.port}"}


def test_s123_http_servers_are_reached_by_connect_too(new_api, through, proxy):
    api = new_api(tls=None)
    through(proxy.url(), api).start().synced()
    assert proxy.targets == {f"127.0.0.1:{api.port}"}


@pytest.fixture
def named(new_api, authority):
    """A server whose name only the proxy can look up."""
    return new_api(tls=authority.server(dns=["api.cluster.test"], ips=[]))


def by_name(factory, api, environ, proxy=None, **more):
    if proxy is not None:
        proxy.hosts["api.cluster.test"] = "127.0.0.1"
    server = f"https://api.cluster.test:{api.port}"
    return factory.daemon(api, credentials={"server": server}, environ=environ, **more)


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy"])
def test_s123_the_environment_names_the_proxy(factory, named, new_proxy, variable):
    proxy = new_proxy(auth=AUTH)
    d = by_name(factory, named, {variable: proxy.url(AUTH)}, proxy)
    d.synced()
    assert proxy.targets == {f"api.cluster.test:{named.port}"}
    assert d.log(msg="server is reached through a proxy", named_by="HTTPS_PROXY")
    check_no_secret(d)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy"])
def test_s123_the_environment_names_the_proxy_of_an_http_server(factory, new_api, proxy, variable):
    api = new_api(tls=None)
    proxy.hosts["api.cluster.test"] = "127.0.0.1"
    d = factory.daemon(api, credentials={"server": f"http://api.cluster.test:{api.port}"},
                       environ={variable: proxy.url(), "HTTPS_PROXY": "http://127.0.0.1:1"}).synced()
    assert proxy.targets == {f"api.cluster.test:{api.port}"}
    assert d.log(msg="server is reached through a proxy", named_by="HTTP_PROXY")


@pytest.mark.parametrize("no_proxy", ["api.cluster.test", ".test", "other, cluster.test:PORT", "*"])
@pytest.mark.parametrize("spelling", ["NO_PROXY", "no_proxy"])
def test_s123_no_proxy_exempts_servers(factory, named, proxy, no_proxy, spelling):
    d = by_name(factory, named, {"HTTPS_PROXY": proxy.url(),
                                 spelling: no_proxy.replace("PORT", str(named.port))}, proxy)
    d.wait_problem("api.cluster.test", "name lookup")
    assert not proxy.seen


def test_s123_the_proxy_of_the_kubeconfig_goes_before_the_environment(factory, named, new_proxy):
    right, wrong = new_proxy(), new_proxy()
    right.hosts["api.cluster.test"] = "127.0.0.1"
    cluster = factory.cluster(named, server=f"https://api.cluster.test:{named.port}",
                              cluster={"proxy-url": right.url()})
    d = factory.daemon(clusters={"prod": cluster}, environ={"HTTPS_PROXY": wrong.url(),
                                                            "NO_PROXY": "*"})
    d.synced()
    assert right.seen and not wrong.seen


def test_s123_a_server_on_this_machine_is_not_proxied_by_the_environment(factory, api, proxy):
    factory.daemon(api, environ={"HTTPS_PROXY": proxy.url()}).synced()
    factory.daemon(api, credentials={"server": f"https://localhost:{api.port}"},
                   environ={"HTTPS_PROXY": proxy.url()}).synced()
    assert not proxy.seen


@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
@pytest.mark.parametrize("no_proxy,proxied", [("192.0.2.0/24", False), ("192.0.2.0/25,::/0", False),
                                              ("192.0.3.0/24", True), (SERVER_IP, False)])
def test_s123_no_proxy_holds_nets(new_api, authority, factory, no_proxy, proxied):
    with Cable() as cable:
        with cable.inside(cable.server):
            api = new_api(tls=authority.server(ips=(SERVER_IP,)), host=SERVER_IP)
        with cable.inside(cable.client), Proxy() as proxy:
            d = factory.daemon(api, environ={"HTTPS_PROXY": proxy.url(), "NO_PROXY": no_proxy})
            d.synced()
            assert bool(proxy.seen) == proxied
            d.stop()


# The start names the fault of a proxy

@pytest.mark.parametrize("url,words", [
    ("socks5://user:s3cret@127.0.0.1:1080", "SOCKS proxies are not supported; give an HTTP proxy"),
    ("127.0.0.1:3128", "it must begin with http:// or https://"),
    ("http://user:s3cret@127.0.0.1:0", "\"0\" is not a port"),
    ("http://user:s3/cret@127.0.0.1", "write %2F"),
])
def test_s123_an_address_that_cannot_be_used_is_an_error_with_its_line(through, url, words):
    d = through(url)
    done = check_config(d.config)
    lines = d.config.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "proxy_url" in text)
    assert done.returncode == 78
    assert f"{d.config}:{line}: clusters.prod.proxy_url: address: " in done.stderr
    assert words in done.stderr and SECRET not in done.stderr and "s3" not in done.stderr


def test_s123_a_variable_that_cannot_be_used_is_an_error_that_names_it(factory, named):
    d = factory.daemon(named, credentials={"server": f"https://api.cluster.test:{named.port}"},
                       environ={"HTTPS_PROXY": "socks5://user:s3cret@127.0.0.1"}, start=False)
    assert d.to_the_end() == 78
    assert "HTTPS_PROXY: address: SOCKS proxies are not supported" in d.stderr()
    assert SECRET not in d.stderr()


# A path prefix in the address of the server (Rancher)

def test_all_requests_carry_the_prefix_of_the_server(api, factory, proxy, hook):
    api.prefix = "/k8s/clusters/c-m-1"
    api.define("widgets.v1.example.com", kind="Widget")
    api.apply(service("n/a"))
    watches = {"services": {**SERVICES["services"], "audit": "1s"},
               "widgets": {"resource": "widgets.example.com", "namespaces": ["*"]}}
    behind = factory.cluster(api, server=f"{api.url}{api.prefix}/",
                             cluster={"proxy-url": proxy.url()})
    d = factory.daemon(clusters={"prod": behind}, hooks={"h": hook}, watches=watches).settled(api)
    hook.wait(1)
    wait_until(lambda: d.control.watch("services")["audit"]["runs"] > 0, what="an audit")
    assert api.identity_requests and api.of("widgets", "W"), "discovery has found the resource"
    assert not api.misdirected and len(proxy.targets) == 1
    with_prefix, plain = (roles(factory.daemon(clusters={"prod": cluster}, start=False).config)
                          for cluster in (behind, factory.cluster(api)))
    assert with_prefix.grants() == plain.grants()
