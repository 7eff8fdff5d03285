# SPDX-License-Identifier: Apache-2.0
"""Scripts: the answers that a test lets the server give instead of the true ones.

api.on_list/on_watch/on_get/on make a rule; one of these calls says how it answers:

    .fail(code, reason=, message=, details=, retry_after=)     a Status object
    .reply(status=200, body=, headers=, type=, gzip=, chunks=, cut=, segment=, hold=, end=)
        body     bytes, or anything that becomes JSON
        gzip     the number of gzip members that the body is compressed to; 0 = not compressed
        chunks   offsets in the (compressed) body where a new chunk starts; None = Content-Length, () = one chunk
        cut      offsets in the whole answer where a new TLS record starts
        segment  bytes of the encrypted stream per TCP write
        hold     a Gate or Pause before the first byte
        end      keep | close | eof (no close_notify) | rst | stall
        only     the number of bytes of the answer that are sent before the end; None = all
    .stream(step, ...)      a watch: 200, chunked, then one step after the other:
        dict -> one event in a chunk;  bytes -> a chunk as it is;  Gate, Pause -> waits;
        LIVE(from rv) -> goes on from the store;  END = last chunk, connection kept;
        EOF, RST -> the connection dies there;  STALL -> silence until the client leaves
    .run(handler)           async def handler(exchange): anything; see Exchange
    .drop(how="rst")        no answer at all

Without an end, a stream ends with END. `times` is how often a rule serves; None = for ever.
"""
import asyncio
import datetime
import email.utils
import json
import threading
import zlib

from .asked import PATIENCE
from .objects import compact, status_object

TEXT = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 410: "Gone", 422: "Unprocessable Entity",
        429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
        504: "Gateway Timeout"}
END, EOF, RST, STALL = "END", "EOF", "RST", "STALL"


def gzip_member(content):
    """A gzip member, of level 1 as API servers make it."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def gzip_members(content, count):
    """So many members of about the same size."""
    step = -(-len(content) // count) or 1
    return b"".join(gzip_member(content[at:at + step]) for at in range(0, len(content), step))


class Pause:
    """A script waits so many seconds here; for tests of time itself."""

    def __init__(self, seconds):
        self.seconds = seconds

    async def pass_by(self):
        await asyncio.sleep(self.seconds)


class Gate:
    """A script waits here until the test opens the gate; `reached` is set once a script waits."""

    def __init__(self):
        self.reached = threading.Event()
        self._lock = threading.Lock()
        self._waiters = []
        self._is_open = False

    def open(self):
        with self._lock:
            self._is_open = True
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            loop.call_soon_threadsafe(event.set)

    def wait_reached(self, timeout=PATIENCE):
        assert self.reached.wait(timeout), "no script reached the gate"

    async def pass_by(self):
        event = asyncio.Event()
        with self._lock:
            if not self._is_open:
                self._waiters.append((asyncio.get_running_loop(), event))
            else:
                event.set()
        self.reached.set()
        await event.wait()


class LIVE:
    """From here on the watch follows the store, from a resourceVersion (default: the request's)."""

    def __init__(self, rv=None):
        self.rv = rv


class Exchange:
    """One request and the ways to answer it, for handlers."""

    def __init__(self, api, conn, request):
        self.api, self.conn, self.request = api, conn, request

    def head(self, status, headers):
        self.request.status = status
        self.api.answered(self.request)
        if self.api.clock_ahead is not None:
            date = datetime.datetime.now(datetime.timezone.utc) + self.api.clock_ahead
            headers = {"Date": email.utils.format_datetime(date, usegmt=True), **headers}
        lines = [f"HTTP/1.1 {status} {TEXT.get(status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    @staticmethod
    def chunk(data):
        return b"%x\r\n%b\r\n" % (len(data), data) if data else b""

    async def answer(self, status=200, body=b"", headers=None, type="application/json",
                     gzip=0, chunks=None, cut=(), segment=0, hold=None, end="keep", only=None):
        """Sends an answer; the parameters are those of .reply() in the text of this module."""
        if hold is not None:
            await hold.pass_by()
        if not isinstance(body, bytes):
            body = body.encode() if isinstance(body, str) else compact(body) + b"\n"
        fields = {"Content-Type": type, "Cache-Control": "no-cache, private"}
        if gzip:
            body, fields["Content-Encoding"] = gzip_members(body, gzip), "gzip"
        if chunks is None:
            fields["Content-Length"] = len(body)
            payload = body
        else:
            fields["Transfer-Encoding"] = "chunked"
            marks = [0, *(at for at in chunks if at < len(body)), len(body)]
            payload = b"".join(self.chunk(body[a:b]) for a, b in zip(marks, marks[1:]))
            payload += b"0\r\n\r\n"
        fields.update(headers or {})
        data = self.head(status, fields) + payload
        cut = range(1, len(data)) if cut == "every" else cut
        await self.conn.send(data[:only], cut=cut, segment=segment)
        await self.finish(end)

    async def finish(self, end):
        if end == "stall":
            await self.conn.gone()
        elif end != "keep":
            self.conn.end(end)

    async def start_stream(self, headers=None):
        await self.conn.send(self.head(200, {
            "Content-Type": "application/json", "Cache-Control": "no-cache, private",
            "Transfer-Encoding": "chunked", **(headers or {})}))

    async def event(self, event):
        await self.conn.send(self.chunk(compact(event) + b"\n"))

    async def end_stream(self):
        await self.conn.send(b"0\r\n\r\n")

    async def step(self, step):
        """One step of stream(); true when the stream is over."""
        if isinstance(step, (Gate, Pause)):
            await step.pass_by()
        elif isinstance(step, bytes):
            await self.conn.send(self.chunk(step))
        elif isinstance(step, dict):
            await self.event(step)
        elif isinstance(step, LIVE) or step is LIVE:
            rv = step.rv if isinstance(step, LIVE) else None
            await self.api.follow(self, rv)
            return True
        elif step == END:
            await self.end_stream()
            return True
        else:
            await self.finish({EOF: "eof", RST: "rst", STALL: "stall"}[step])
            return True
        return False


class Rule:
    """One scripted answer; serves requests that match, `times` times."""

    def __init__(self, api, match, times):
        self.api, self.match, self.times = api, match, times
        self.served = 0
        self.handler = None

    def run(self, handler):
        self.handler = handler
        self.api.add_rule(self)
        return self

    def cancel(self):
        """The rule serves no more requests."""
        self.api.remove_rule(self)

    def reply(self, status=200, **how):
        return self.run(lambda exchange: exchange.answer(status, **how))

    def fail(self, code, reason=None, message=None, details=None, retry_after=None, **how):
        headers = dict(how.pop("headers", {}))
        if retry_after is not None:
            headers["Retry-After"] = retry_after
        body = status_object(code, reason, message, details)
        return self.reply(code, body=body, headers=headers, **how)

    def drop(self, how="rst"):
        async def handler(exchange):
            await exchange.finish(how)
        return self.run(handler)

    def hold(self, gate):
        """Gives the true answer, but only after the gate."""
        async def handler(exchange):
            await gate.pass_by()
            await self.api.truth(exchange)
        return self.run(handler)

    def stream(self, *steps, headers=None):
        async def handler(exchange):
            await exchange.start_stream(headers)
            for step in steps:
                if await exchange.step(step):
                    return
            await exchange.end_stream()
        return self.run(handler)

    def list(self, items, rv, kind="Service", api_version="v1", token=None, items_first=False,
             **how):
        """A scripted XList of whole objects; items_first as custom resources have it."""
        meta = {"resourceVersion": str(rv)}
        if token is not None:
            meta["continue"] = token
        doc = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": meta}
        if items_first:
            doc = {"apiVersion": api_version, "items": items, "kind": f"{kind}List",
                   "metadata": meta}
        else:
            doc["items"] = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")}
                            for item in items]
        return self.reply(body=json.dumps(doc, separators=(",", ":")).encode() + b"\n", **how)
