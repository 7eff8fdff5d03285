# SPDX-License-Identifier: Apache-2.0
"""Servers that answer slowly or wrongly on purpose. Each answer costs little memory, keeps nobody
waiting, is an error that says what is wrong, and the next good answer is used."""
import asyncio
import shutil
import subprocess
import zlib

import pytest
from control import at_least
from fakeapi import Gate, ev, gzip_member, service
from fakeapi.objects import compact
from harness import is_sanitized
from proctree import memory_kb
from two_clusters import BACKOFF, one_line

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ZIPPED = OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
EMPTY_LIST = compact({"kind": "ServiceList", "apiVersion": "v1",
                      "metadata": {"resourceVersion": "1"}, "items": []})
GZIP = {"compression": "gzip"}
# A daemon that caches next to nothing has 8 MB. It may read objects up to 1 MiB here.
SMALL, MOST_KB = {"object_size": "1MiB"}, 24 * 1024


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def says(*pieces, end=None):
    """A handler that sends these bytes, and then nothing until the client closes, or this end."""
    async def handler(exchange):
        for piece in pieces:
            await exchange.conn.send(piece)
        await exchange.finish(end or "stall")
    return handler


def says_for_ever(head, piece, pause=0):
    """A handler that sends the piece again and again until the client closes."""
    async def handler(exchange):
        await exchange.conn.send(head)
        while True:
            await exchange.conn.send(piece)
            await asyncio.sleep(pause)
    return handler


def endures(scene, *words, tuning=None, kind="protocol", count=3, **settings):
    """Starts the daemon with a server that answers lists badly, and checks all but the healing."""
    d = scene.start(scene.factory.cluster(scene.api, {**BACKOFF, **(tuning or {})}),
                    limits=SMALL, **settings)
    scene.api.wait_for_request(lambda r: r.resource == "services", count=count)
    scene.others_work()
    line = one_line(d, *words)
    assert line["kind"] == kind, line
    assert not scene.hook.runs() and not d.control.watch("wombat")["synced"]
    bounded(d)
    return d


def bounded(d):
    assert is_sanitized() or memory_kb(d.pid) < MOST_KB


# ---- Heads and framing

ENDLESS = {
    "header lines": (OK, b"X-Fill: 0123456789\r\n" * 500, "the head: more than the limit of 65536"),
    "a header line": (OK + b"X-Fill: ", b"0123456789" * 1000, "the head: more than the limit"),
    "a header name": (OK, b"0123456789" * 1000, "the head: more than the limit"),
    "a reason phrase": (b"HTTP/1.1 200 ", b"fine, fine, " * 1000, "the head: more than the limit"),
    "1xx answers": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 200,
                    "the head: more than the limit"),
    "chunk extensions": (CHUNKED + b"5;", b"extension;" * 1000,
                         "what stands between chunks: more than the limit of 65536"),
    "a chunk size": (CHUNKED, b"0" * 10000, "what stands between chunks: more than the limit"),
    "trailers": (CHUNKED + chunk(EMPTY_LIST) + b"0\r\n", b"X-Trailer: 0123456789\r\n" * 500,
                 "what stands between chunks: more than the limit"),
    "a trailer": (CHUNKED + chunk(EMPTY_LIST) + b"0\r\nX-Trailer: ", b"0123456789" * 1000,
                  "what stands between chunks: more than the limit"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_cut_off(scene, api, name):
    head, piece, words = ENDLESS[name]
    rule = api.on_list("services", times=None).run(says_for_ever(head, piece))
    endures(scene, words)
    rule.cancel()
    scene.heals()


@pytest.mark.parametrize("name", ["chunk extensions", "trailers"])
def test_what_has_no_end_in_a_watch_is_cut_off(scene, api, name):
    """The events before it count; a list follows."""
    head, piece, words = ENDLESS[name]
    head = head.replace(chunk(EMPTY_LIST), b"")
    event = chunk(compact(ev("ADDED", service("n/told"), rv=7)) + b"\n")
    rule = api.on_watch("services", times=3).run(says_for_ever(
        head[:len(CHUNKED)] + event + head[len(CHUNKED):], piece))
    d = scene.start(scene.factory.cluster(api, BACKOFF), limits=SMALL)
    scene.hook.wait_what("ADDED", "n/told")
    scene.others_work()
    assert one_line(d, words)["kind"] == "protocol"
    api.wait_for_request(lambda r: r.resource == "services" and r.kind == "L", count=2)
    bounded(d)
    rule.cancel()
    scene.heals()


FRAMING = {
    "a negative length": (b"Content-Length: -1\r\n\r\n{}", "content-length"),
    "two lengths": (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}\n", "content-length"),
    "a length that is no number": (b"Content-Length: two\r\n\r\n{}", "content-length"),
    "a length of 20 digits": (b"Content-Length: 99999999999999999999\r\n\r\n{}", "content-length"),
    "a length and chunks": (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
                            "transfer-encoding"),
    "chunks and a length": (b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n",
                            "content-length"),
    "a chunk size that is no number": (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk size"),
    "a chunk size of 18 digits": (b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                                  "chunk size"),
    "a chunk that goes on": (b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}}}\r\n", "malformed"),
    "another transfer coding": (b"Transfer-Encoding: gzip, chunked\r\n\r\n", "transfer-encoding"),
    "two content codings": (b"Content-Encoding: gzip\r\nContent-Encoding: br\r\n\r\n",
                            "content-encoding"),
}


@pytest.mark.parametrize("name", FRAMING)
def test_a_body_whose_end_is_not_clear_is_refused(scene, api, name):
    fields, words = FRAMING[name]
    rule = api.on_list("services", times=None).run(says(OK + fields))
    endures(scene, "malformed", words)
    rule.cancel()
    scene.heals()


def test_a_length_that_is_too_short_cuts_the_list(scene, api):
    """The rest of the body is no answer to the next request: that goes over another connection."""
    body = EMPTY_LIST.replace(b'"items":[]', b'"items":[]' + b" " * 100)
    rule = api.on_list("services", times=None).run(says(
        OK + b"Content-Length: %d\r\n\r\n" % (len(body) - 50) + body))
    endures(scene, "list: JSON cut off inside a value")
    lists = [r.conn_id for r in api.of("services", "L")[:3]]
    assert len(set(lists)) == 3
    rule.cancel()
    scene.heals()


def test_bytes_behind_an_answer_spoil_its_connection(scene, api):
    """They come in a record of their own, when the answer has been used already."""
    async def answers_twice(exchange):
        poison = EMPTY_LIST.replace(b'"items":[]', b'"items":[{"metadata":{"name":"x"}}]')
        # One segment: if another request went out in between, they would be its answer.
        exchange.conn.send_at_once(*(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
                                     for body in (EMPTY_LIST, poison)))
        await exchange.conn.gone()
    api.on_list("services").run(answers_twice)
    d = scene.start()
    d.synced("wombat")
    api.wait_watching("services")
    listed, watched = api.of("services")
    assert listed.conn_id != watched.conn_id
    assert d.control.keys("wombat") == []
    scene.heals()


@pytest.mark.parametrize("end", ["eof", "close"])
def test_a_length_that_is_too_long_is_a_body_that_was_cut(scene, api, end):
    rule = api.on_list("services", times=None).run(says(
        OK + b"Content-Length: %d\r\n\r\n" % (len(EMPTY_LIST) + 1) + EMPTY_LIST, end=end))
    endures(scene, "closed the connection", "in the middle of its response", kind="closed")
    rule.cancel()
    scene.heals()


def test_a_length_that_is_too_long_is_waited_for_in_vain(scene, api):
    rule = api.on_list("services", times=None).run(says(
        OK + b"Content-Length: %d\r\n\r\n" % (len(EMPTY_LIST) + 1) + EMPTY_LIST))
    endures(scene, "the response stopped for 200 ms (idle timeout)", kind="timeout",
            tuning={"list_idle_timeout": "200ms"})
    rule.cancel()
    scene.heals()


def test_1xx_answers_are_passed_over(scene, api):
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
    body = EMPTY_LIST
    api.on_list("services").run(says(
        hints * 3 + OK + b"Content-Length: %d\r\n\r\n" % len(body) + body))
    d = scene.start()
    d.synced("wombat")
    assert len(api.of("services", "L")) == 1
    scene.heals()


def test_an_upgrade_that_nobody_asked_for_is_refused(scene, api):
    rule = api.on_list("services", times=None).run(says(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"))
    endures(scene, "a status that nobody asked for")
    rule.cancel()
    scene.heals()


# ---- Redirects, and errors that do not end

@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(scene, api, new_api, status):
    trap = new_api()
    rule = api.on_list("services", times=None).reply(status, headers={
        "Location": f"{trap.url}/api/v1/services?token=secret"})
    d = endures(scene, f"redirect ({status}) to {trap.url}/api/v1/services", "not followed")
    assert trap.accepted == 0 and "secret" not in d.stderr()
    rule.cancel()
    scene.heals()


def test_a_redirect_of_a_watch_is_told_and_not_followed(scene, api, new_api):
    trap = new_api()
    rule = api.on_watch("services", times=None).reply(302, headers={"Location": trap.url})
    d = scene.start(scene.factory.cluster(api, BACKOFF))
    one_line(d, f"redirect (302) to {trap.url}", "not followed")
    scene.others_work()
    rule.cancel()
    scene.heals()
    assert trap.accepted == 0


@pytest.mark.parametrize("status, words, kind", [
    (302, "redirect (302)", "protocol"), (403, "403", "forbidden"), (502, "an HTML page", "server")])
def test_an_error_without_end_is_left(scene, api, status, words, kind):
    head = b"HTTP/1.1 %d Huh\r\nTransfer-Encoding: chunked\r\n\r\n" % status
    rule = api.on_list("services", times=None).run(says_for_ever(
        head, chunk(b"<html>" + b"Bad gateway. " * 2000)))
    endures(scene, words, kind=kind)
    rule.cancel()
    scene.heals()


# ---- Bodies without end

BESIDE = "what stands beside its items is over object_size"
BODIES = {
    "blanks": (b" ", b" " * 65536, BESIDE),
    "an unknown member": (b'{"x":"', b"x" * 65536, BESIDE),
    "a name": (b'{"items":[{"metadata":{"name":"', b"x" * 65536, "an item is over object_size"),
    "arrays": (b'{"items":[{"spec":', b"[" * 65536, "JSON nested deeper than 100000"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_list_without_end_is_left(scene, api, name):
    begin, piece, words = BODIES[name]
    rule = api.on_list("services", times=None).run(says_for_ever(
        CHUNKED + chunk(begin), chunk(piece)))
    endures(scene, words, kind="too_big", count=2)
    rule.cancel()
    scene.heals()


# ---- Compressed bodies

def deflated(*parts):
    """One gzip member of these parts, as tightly packed as gzip can."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*map(packer.compress, parts), packer.flush()])


BLANKS = [b" " * 2 ** 20] * 512
GROWS = "the body grows to more than 100 times its size"
BOMBS = {
    "behind the list": (deflated(EMPTY_LIST, *BLANKS), BESIDE, "too_big"),
    "in many members": (gzip_member(b"{") + b"".join(map(deflated, BLANKS)), BESIDE, "too_big"),
    "inside an object": (deflated(b'{"items":[{"spec":"', *BLANKS), GROWS, "protocol"),
    "of numbers": (deflated(b'{"items":[{"spec":[0', *[b",0" * 2 ** 19] * 512), GROWS, "protocol"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_decompression_bomb_is_left(scene, api, name):
    """Half a megabyte would become half a gigabyte. Which bound it meets first depends on its content."""
    body, words, kind = BOMBS[name]
    assert len(body) < 2 ** 20
    rule = api.on_list("services", times=None).run(says(ZIPPED, chunk(body)))
    endures(scene, words, tuning=GZIP, kind=kind)
    rule.cancel()
    scene.heals()


PACKED = gzip_member(EMPTY_LIST)
DAMAGED = {
    "cut short": (PACKED[:-5], "gzip: the body is cut short, after %d bytes" % len(EMPTY_LIST)),
    "followed by garbage": (PACKED + b"{}", "gzip: malformed behind member 1"),
    "with a wrong checksum": (PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "incorrect data check"),
    "with a wrong length": (PACKED[:-4] + b"\0\0\0\0", "incorrect length check"),
    "no gzip": (EMPTY_LIST, "gzip: malformed: incorrect header check"),
    "deflate": (zlib.compress(EMPTY_LIST), "gzip: malformed: incorrect header check"),
    "cut in its second member": (PACKED + gzip_member(b"    ")[:-5], "the body is cut short"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_compressed_list_that_is_damaged_is_not_used(scene, api, name):
    """All of its objects may have come before the damage shows."""
    body, words = DAMAGED[name]
    rule = api.on_list("services", times=None).run(says(ZIPPED, chunk(body), b"0\r\n\r\n"))
    endures(scene, words, tuning=GZIP)
    rule.cancel()
    scene.heals()


NOTHING = {
    "empty members": (b"", gzip_member(b"")),
    "a file name without end": (b"\x1f\x8b\x08\x08" + bytes(6), b"name" * 1000),
    "empty blocks": (b"\x1f\x8b\x08\x00" + bytes(6), b"\0\0\0\xff\xff" * 1000),
}


@pytest.mark.parametrize("name", NOTHING)
def test_compressed_bytes_that_become_nothing_are_a_silence(scene, api, name):
    begin, piece = NOTHING[name]
    rule = api.on_list("services", times=None).run(says_for_ever(
        ZIPPED + (chunk(begin) if begin else b""), chunk(piece), pause=0.005))
    endures(scene, "the response stopped for 200 ms (idle timeout)", kind="timeout",
            tuning={**GZIP, "list_idle_timeout": "200ms"})
    rule.cancel()
    scene.heals()


# ---- Slow servers

@pytest.mark.parametrize("head, piece", [
    (b"HTTP/1.1 200 O", b"K"), (OK + b"X-Fill: ", b"x"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n")],
    ids=["a status line", "a header line", "1xx answers"])
def test_a_head_that_drips_has_a_deadline(scene, api, head, piece):
    """Bytes that come do not move it."""
    rule = api.on_list("services", times=None).run(says_for_ever(head, piece, pause=0.01))
    endures(scene, "no response for 300 ms (response timeout)", kind="timeout",
            tuning={"response_timeout": "300ms"})
    rule.cancel()
    scene.heals()


def test_a_handshake_that_drips_has_a_deadline(scene, api):
    api.drip_handshake = 0.01
    d = scene.start(scene.factory.cluster(api, {**BACKOFF, "tls_timeout": "300ms"}))
    api.wait(lambda: api.accepted >= 3)
    scene.others_work()
    assert one_line(d, "TLS handshake: no answer within 300 ms")["kind"] == "timeout"
    bounded(d)
    api.drip_handshake = None
    scene.heals()


def test_a_list_that_comes_byte_by_byte_keeps_nobody_waiting(scene, api):
    """tests/unit/test_api_client_lists.c has a list that is too slow for its place."""
    body = EMPTY_LIST.replace(b"[]", b"[%b]" % compact(
        {"metadata": {"name": "slow", "namespace": "n", "uid": "u", "resourceVersion": "1"}}))
    gate = Gate()

    async def drip(exchange):
        await exchange.conn.send(OK + b"Content-Length: %d\r\n\r\n" % len(body))
        for at in range(len(body)):
            await exchange.conn.send(body[at:at + 1])
            await asyncio.sleep(0.001)
            if at == len(body) // 2:
                await gate.pass_by()
    api.on_list("services").run(drip)
    scene.start()
    gate.wait_reached()
    for _ in range(3):
        scene.others_work()
    gate.open()
    scene.hook.wait_what("ADDED", "n/slow")
    scene.heals()


def test_a_watch_that_drips_has_a_deadline(scene, api):
    """Ten seconds after its timeoutSeconds; it goes on from its version, without a list."""
    event = compact(ev("ADDED", service("n/told"), rv=7)) + b"\n"
    api.on_watch("services").run(says_for_ever(
        CHUNKED + chunk(event) + chunk(b'{"type":"ADDED","object":{"spec":"'), chunk(b"x"), 0.02))
    d = scene.start(scene.factory.cluster(api, {**BACKOFF, "watch_timeout": ["1s", "1s"]}))
    scene.hook.wait_what("ADDED", "n/told")
    scene.others_work()
    first, second = (api.wait_for_request(lambda r: r.kind == "W", count=n) for n in (1, 2))
    assert at_least(1 + 10, second.time - first.time) and second.rv == "7"
    assert len(api.of("services", "L")) == 1
    bounded(d)
    api.rv = 7
    scene.heals()


# ---- TLS

RECORDS = {
    "too long": (b"\x17\x03\x03\xff\xff" + bytes(70000), "record"),
    "of garbage": (b"\x17\x03\x03\x00\x40" + b"garbage " * 8, "MAC"),
    "of an unknown type": (b"\x63\x03\x03\x00\x10" + bytes(16), "record"),
    "of another version": (b"\x17\x09\x09\x00\x10" + bytes(16), "record"),
}


def writes_raw(data):
    """A handler that sends these bytes without TLS."""
    async def handler(exchange):
        exchange.conn.transport.write(data)
        await exchange.conn.gone()
    return handler


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("name", RECORDS)
def test_a_tls_record_that_is_wrong_ends_the_connection(scene, api, server_leaf, name, version):
    api.set_tls(server_leaf, high=version)
    record, words = RECORDS[name]
    rule = api.on_list("services", times=None).run(writes_raw(record))
    endures(scene, "TLS with 127.0.0.1", words, kind="tls")
    rule.cancel()
    scene.heals()


def test_a_wrong_record_in_a_watch_costs_no_list(scene, api):
    event = compact(ev("ADDED", service("n/told"), rv=7)) + b"\n"

    async def handler(exchange):
        await exchange.conn.send(CHUNKED + chunk(event))
        await writes_raw(RECORDS["too long"][0])(exchange)
    api.on_watch("services").run(handler)
    d = scene.start()
    scene.hook.wait_what("ADDED", "n/told")
    assert one_line(d, "TLS with 127.0.0.1")["kind"] == "tls"
    api.rv = 7
    scene.heals()
    assert api.sequence("services") == ["L(0)", "W(1)", "W(7)"]


def test_a_chain_of_certificates_that_is_too_large_is_refused(scene, api, authority):
    """A handshake message has 16 KiB at most."""
    leaf = authority.server()
    leaf.cert_file.write_bytes(leaf.cert + authority.pem * 60)
    api.set_tls(leaf)
    d = scene.start(scene.factory.cluster(api, BACKOFF))
    api.wait(lambda: api.accepted >= 3)
    scene.others_work()
    assert one_line(d, "TLS handshake", "very many certificates")["kind"] == "tls"
    bounded(d)
    api.set_tls(authority.server())
    scene.heals()


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs the program openssl")
def test_a_renegotiation_is_refused(scene, api, server_leaf):
    """Only TLS 1.2 has it: the program openssl sends a HelloRequest when its input has a line
    "r"."""
    api.stop_listening()
    with subprocess.Popen(
            ["openssl", "s_server", "-accept", f"127.0.0.1:{api.port}", "-tls1_2", "-cert",
             server_leaf.cert_file, "-key", server_leaf.key_file],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            d = scene.start()
            for line in server.stdout:
                if line.startswith(b"GET "):
                    break
            server.stdin.write(b"r\n")
            server.stdin.flush()
            assert one_line(d, "the server wants to renegotiate")["kind"] == "tls"
            scene.others_work()
            bounded(d)
        finally:
            server.kill()
    api.listen()
    scene.heals()
