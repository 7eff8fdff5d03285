# SPDX-License-Identifier: Apache-2.0
"""HTTP proxies that answer CONNECT slowly or without end. Each answer costs little memory, keeps
nobody waiting, is an error that says what is wrong, and the next good answer is used."""
import pytest
from control import wait_until
from proxies import ESTABLISHED
from test_hostile_server import bounded
from two_clusters import BACKOFF, one_line

OK = b"HTTP/1.1 200 OK\r\n"
FILL = b"0123456789" * 1000

ENDLESS = {
    "header lines": (OK, b"X-Fill: 0123456789\r\n" * 500, "the head: more than the limit of 16384"),
    "a header line": (OK + b"X-Fill: ", FILL, "the head: more than the limit of 16384"),
    "a reason phrase": (b"HTTP/1.1 200 ", FILL, "the head: more than the limit of 16384"),
    "1xx answers": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 300,
                    "the head: more than the limit of 16384"),
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n", FILL,
                   "CONNECT was answered with status 302: it may be no HTTP proxy"),
    "a wish for credentials": (b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                               b"Proxy-Authenticate: Basic realm=x\r\n\r\n", FILL,
                               "CONNECT was answered with status 407: it wants a user name"),
    "an error in chunks": (b"HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n",
                           b"2710\r\n" + FILL + b"\r\n",
                           "CONNECT was answered with status 502: it cannot reach the server"),
    "text in the place of TLS": (ESTABLISHED, FILL, "does not speak TLS"),
    "TLS records": (ESTABLISHED, b"\x16\x03\x03\xff\xff" + bytes(65535), "TLS handshake"),
}


@pytest.fixture
def follow(scene, api, proxy):
    """follow(tuning): starts the daemon, whose cluster in trouble is behind the proxy."""
    def start(**tuning):
        return scene.start(scene.factory.cluster(api, {**BACKOFF, **tuning},
                                                 cluster={"proxy-url": proxy.url()}))
    return start


def endures(scene, proxy, d, *words):
    """Checks what must hold while the proxy is bad, and that it is used once it is good."""
    wait_until(lambda: len(proxy.seen) > 2, what="a third try")
    scene.others_work()
    one_line(d, f"127.0.0.1:{scene.api.port}: ", f"proxy 127.0.0.1:{proxy.port}", *words)
    assert not scene.hook.runs() and not scene.api.accepted
    bounded(d)
    proxy.behave()
    scene.heals()


@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_to_connect_without_end_is_cut_off(scene, proxy, follow, name):
    reply, again, words = ENDLESS[name]
    proxy.behave(reply, again)
    endures(scene, proxy, follow(), words)


@pytest.mark.parametrize("reply, again", [
    (b"HTTP/1.1 200 O", b"K"), (OK + b"X-Fill: ", b"x"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n")],
    ids=["a status line", "a header line", "1xx answers"])
def test_an_answer_to_connect_that_drips_has_a_deadline(scene, proxy, follow, reply, again):
    """Bytes that come do not move it."""
    proxy.behave(reply, again, pause=0.01)
    endures(scene, proxy, follow(connect_timeout="300ms"), "no answer to CONNECT within 300 ms")


def test_a_handshake_that_drips_through_a_proxy_has_a_deadline(scene, api, proxy, follow):
    api.drip_handshake = 0.01
    d = follow(tls_timeout="300ms")
    api.wait(lambda: api.accepted >= 3)
    scene.others_work()
    one_line(d, "TLS handshake: no answer within 300 ms", f"through proxy 127.0.0.1:{proxy.port}")
    bounded(d)
    api.drip_handshake = None
    scene.heals()
