# SPDX-License-Identifier: Apache-2.0
"""Where one message ends and the next one begins: strange requests and responses, made from a seed, are read by
our parser (tests/fuzz/http_framing.c) and by h11, which shares no code with it. Both find the same messages with the
same bodies, until one of them refuses. So nobody can hide a request in the body of another one, or an answer in the
body of another one, whichever of the two stands in front."""
import random
import re
import struct
import subprocess

import campaign
import h11
import harness

SEED = 20261128
CASES = campaign.size(6000, 300000)
LAST = b"GET /last HTTP/1.1\r\nHost: l\r\n\r\n"
LAST_RESPONSE = b"HTTP/1.1 299 Last\r\nContent-Length: 0\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"

METHODS = [b"GET"] * 60 + [b"POST"] * 60 + [b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"get", b"G ET", b"", b"PRI"]
TARGETS = [b"/", b"/v1/status", b"/a?b=c", b"/%2e%2e/", b"/\xc3\xa9", b"*", b"http://a/b", b"/a b", b"", b"a"]
VERSIONS = [b"HTTP/1.1"] * 120 + [b"HTTP/1.0", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"http/1.1", b"HTTP/1.1 ", b""]
STATUSES = [b"200"] * 60 + [b"204", b"304", b"404", b"100", b"103", b"199", b"101", b"99", b"1000", b"2x0", b"", b"20"]
ENDS = [b"\r\n"] * 200 + [b"\n", b"\r", b"\r\r\n", b" \r\n"]
NAMES = {"length": [b"Content-Length"] * 30 + [b"content-length", b"CONTENT-LENGTH", b"Content-Length ", b" Content-Length",
                                              b"Content_Length", b"Content-Length\t", b"Content-Length\x00"],
         "coding": [b"Transfer-Encoding"] * 30 + [b"transfer-encoding", b"Transfer-Encoding ", b"Transfer-Encoding\x0b",
                                                 b"X\r\nTransfer-Encoding", b"Transfer\x01-Encoding"]}
SPACES = [b" "] * 15 + [b"", b"\t", b"  ", b" \x0b", b"\r\n ", b" \x00"]
CODINGS = [b"chunked"] * 30 + [b"Chunked", b"CHUNKED", b"chunked ", b"identity", b"gzip, chunked", b"chunked, chunked",
                              b"chunked, identity", b"xchunked", b"chunked;q=1", b"\"chunked\"", b"", b"chunked,"]
OTHERS = [b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade\r\nUpgrade: h2c", b"Expect: 100-continue",
          b"X: y", b"X: a\r\n b", b"X:", b": x", b"X", b"Trailer: X", b"Host: other", b"Content-Encoding: gzip",
          b"Connection: close, keep-alive", b"X: \xff", b"X: \x01", b"Upgrade: websocket"]
SIZES = [b"%x"] * 60 + [b"%X", b"0%x", b"0x%x", b"%x ", b" %x", b"+%x", b"-%x", b"%x;a=b", b"%x;a=\"\r\n\"", b"%x;", b"%x\t",
                        b"ffffffffffffffff%x", b"%xg", b""]


def pick(rng, values):
    return values[rng.randrange(len(values))]


def folded(rng, value):
    """The value, perhaps on two lines: RFC 9112 5.2."""
    at = rng.randint(0, len(value))
    return value if rng.random() < .95 else value[:at] + rng.choice([b"\r\n ", b"\r\n\t", b" \r\n "]) + value[at:]


def length(rng, n):
    """A value of Content-Length for a body of n bytes, mostly the right one."""
    return pick(rng, [b"%d" % n] * 40 + [b"%d" % (n + 1), b"%d" % max(0, n - 1), b"0", b"+%d" % n, b"-%d" % n, b"0%d" % n,
                                         b"0x%x" % n, b"%d, %d" % (n, n), b"%d,%d" % (n, n + 1), b"%d " % n, b"", b"%d\x00" % n,
                                         b"18446744073709551616", b"1e1", b"%d;" % n])


def chunks(rng, body):
    """The body in chunks, perhaps with mistakes."""
    out = b""
    while body:
        n = rng.randint(1, len(body))
        out += (pick(rng, SIZES).replace(b"%x", b"%x" % n).replace(b"%X", b"%X" % n) + pick(rng, ENDS)
                + body[:n] + pick(rng, ENDS))
        body = body[n:]
    last = pick(rng, [b"0"] * 30 + [b"00", b"0;x", b"0 ", b"", b"000000000000000000000"])
    trailer = pick(rng, [b""] * 6 + [b"X: y\r\n", b"Content-Length: 9\r\n", b"X\r\n"])
    return out + last + pick(rng, ENDS) + trailer + pick(rng, ENDS)


def fields_and_body(rng, fields, has_end):
    """The rest of a message behind its first line. has_end: without a length it has no body."""
    body = pick(rng, [b"", b"abc", HIDDEN, b"0\r\n\r\n" + HIDDEN, b"\r\n" + HIDDEN, LAST_RESPONSE])
    plain, coded = rng.choice([(1, 0)] * 4 + [(0, 1)] * 4 + [(0, 0), (1, 1), (2, 0), (0, 2)])
    fields += [pick(rng, NAMES["length"]) + b":" + pick(rng, SPACES) + folded(rng, length(rng, len(body))) for _ in range(plain)]
    fields += [pick(rng, NAMES["coding"]) + b":" + pick(rng, SPACES) + folded(rng, pick(rng, CODINGS)) for _ in range(coded)]
    fields += [pick(rng, OTHERS) for _ in range(rng.choice([0, 0, 0, 0, 1, 2]))]
    rng.shuffle(fields)
    if has_end and not plain and not coded and rng.random() < .9:
        body = b""
    return (b"".join(pick(rng, ENDS) + field for field in fields) + pick(rng, ENDS) + pick(rng, ENDS)
            + (chunks(rng, body) if coded else body))


def request(rng):
    """One request as a client with bad intentions writes it."""
    target = pick(rng, TARGETS[:3] if rng.random() < .95 else TARGETS)
    return (pick(rng, METHODS) + b" " + target + b" " + pick(rng, VERSIONS)
            + fields_and_body(rng, [b"Host: a"] * rng.choice([1] * 30 + [0, 2]), True))


def response(rng):
    """One answer as a server with bad intentions writes it."""
    status = pick(rng, STATUSES)
    return (pick(rng, VERSIONS) + b" " + status + pick(rng, [b" OK"] * 20 + [b"", b" ", b" \xff", b"OK", b" a\rb"])
            + fields_and_body(rng, [], status in (b"204", b"304") or status.startswith(b"1")))


def connection(rng, message, last):
    """The bytes of one connection."""
    out = bytearray(b"".join(message(rng) for _ in range(rng.randint(1, 3))) + last)
    for _ in range(rng.choice([0, 0, 0, 0, 1, 2])):
        at = rng.randrange(len(out))
        out[at:at + rng.randint(0, 2)] = bytes(rng.choice(b"\r\n\t :,;0\x00x\xff") for _ in range(rng.randint(0, 2)))
    return bytes(out)


def by_ours(connections, kind):
    """[(messages, "more" | "closed" | "refused WHY")] of our parser. kind: "requests" or "responses"."""
    done = subprocess.run([harness.BUILD / "tests" / "http_framing", kind], check=True, stdout=subprocess.PIPE,
                          input=b"".join(struct.pack("=I", len(data)) + data for data in connections))
    found, requests = [], []
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith("="):
            requests.append(tuple(bytes.fromhex(part[1:]) for part in line.split()))
        else:
            found.append((requests, line))
            requests = []
    assert len(found) == len(connections) and not requests
    return found


def answer(conn):
    """Ends the answer to a request, as a server does that knows no upgrade."""
    conn.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
    conn.send(h11.EndOfMessage())


def requests_by_h11(data):
    """The same of h11, for one connection."""
    conn = h11.Connection(h11.SERVER, max_incomplete_event_size=16384)
    requests, current = [], None
    try:
        conn.receive_data(data)
        while True:
            event = conn.next_event()
            if event is h11.NEED_DATA:
                return requests, "more"
            if isinstance(event, h11.Request):
                current = [event.method, event.target, b""]
            elif isinstance(event, h11.Data):
                current[2] += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                requests.append(tuple(current))
                answer(conn)
                if conn.our_state is not h11.DONE:
                    return requests, "closed"
                conn.start_next_cycle()
    except h11.RemoteProtocolError as error:
        return requests, f"refused {error}"


def ask(conn):
    """Asks the server for something."""
    conn.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
    conn.send(h11.EndOfMessage())


def responses_by_h11(data):
    """The same for answers; behind them the server closes the connection."""
    conn = h11.Connection(h11.CLIENT, max_incomplete_event_size=16384)
    responses, current, at_end = [], None, False
    try:
        ask(conn)
        conn.receive_data(data)
        while True:
            event = conn.next_event()
            if event is h11.NEED_DATA:
                conn.receive_data(b"")
                at_end = True
            elif isinstance(event, h11.Response):
                current = [b"%d" % event.status_code, b"", b""]
            elif isinstance(event, h11.Data):
                current[2] += bytes(event.data)
            elif isinstance(event, h11.ConnectionClosed):
                return responses, "more"
            elif isinstance(event, h11.EndOfMessage):
                responses.append(tuple(current))
                if conn.their_state is not h11.DONE or conn.our_state is not h11.DONE:
                    return responses, "closed"
                conn.start_next_cycle()
                ask(conn)
    except h11.RemoteProtocolError as error:
        return responses, "more" if at_end else f"refused {error}"


# Messages that h11 refuses and we take: where they end is not in doubt.
TAKEN = re.compile(r"Missing mandatory Host|"  # as people type it into nc
                   r"no (request|response) line received|"  # empty lines in front: RFC 9112 2.2
                   r"illegal request line: bytearray\(b'(\\r|[A-Z]+ +/\S* +HTTP/1\.[01]')|"  # more blanks: RFC 9112 3
                   r"illegal status line: bytearray\(b'HTTP/1\.[01] (0|\d{3} .*\\[xr])|"  # 0200; a reason, which nobody reads
                   r"illegal chunk header: bytearray\(b'0{21}")  # h11 takes sizes of 20 digits at most


def difference(data, ours, theirs):
    """How the two readings contradict each other; None: they do not. A server that refuses or closes
    uses nothing more."""
    (mine, my_end), (others, their_end) = ours, theirs
    n = min(len(mine), len(others))
    if mine[:n] != others[:n]:
        return "another request"
    if len(mine) < len(others):
        return "h11 finds more requests" if my_end == "more" else None
    if len(mine) == len(others):
        return None
    if their_end.startswith("refused"):
        return None if TAKEN.search(their_end) else "we take what h11 refuses"
    # h11 closes after each request of HTTP/1.0; keep-alive is an extension there.
    return None if their_end == "closed" and b"HTTP/1.0" in data else "we find more requests"


def compare(message, last, kind, by_h11):
    """Returns how many of CASES had several messages, and how many we have refused."""
    rng = random.Random(SEED)
    connections = [connection(rng, message, last) for _ in range(CASES)]
    several = refused = 0
    for data, ours in zip(connections, by_ours(connections, kind)):
        theirs = by_h11(data)
        assert difference(data, ours, theirs) is None, (data, ours, theirs)
        several += len(ours[0]) > 1
        refused += ours[1].startswith("refused")
    return several, refused


def test_h11_finds_the_same_requests():
    several, refused = compare(request, LAST, "requests", requests_by_h11)
    # The requests are strange, and not only strange.
    assert several > CASES / 20 and refused > CASES / 4


def test_h11_finds_the_same_responses():
    several, refused = compare(response, LAST_RESPONSE, "responses", responses_by_h11)
    assert several > CASES / 20 and refused > CASES / 4
