# SPDX-License-Identifier: Apache-2.0
"""One accepted connection: HTTP/1.1, and TLS in memory, so that a test controls every byte."""
import asyncio
import itertools
import socket
import ssl
import struct
import time
import urllib.parse

TLS_ON_PLAIN = (b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
                b"Connection: close\r\n\r\n400 Bad Request")
PLAIN_ON_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_ids = itertools.count(1)


class Request:
    """One request as it came in: conn_id, its index on that connection, monotonic time, parameters.

    kind: L list, W watch, S watch-list stream, G one object, "-" all else. rv, limit, token (of
    `continue`) and timeout_seconds are None when the parameter is absent; accept is the header.
    size and answered are bytes of HTTP: of the request, and of its answer so far. lines are its
    header lines as they came.
    """

    def __init__(self, conn, method, target, headers, body):
        self.conn, self.method, self.target, self.headers, self.body = (conn, method, target,
                                                                        headers, body)
        parts = urllib.parse.urlsplit(target)
        self.path = urllib.parse.unquote(parts.path)
        self.raw_query = parts.query
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.time = time.monotonic()
        self.conn_id, self.index = conn.id, conn.requests
        self.kind, self.resource, self.namespace, self.name = "-", "", "", ""
        self.group = self.table = self.status = None
        self.form = ""
        self.size = self.answered = 0
        self.lines = []
        self.rv, self.token = self.query.get("resourceVersion"), self.query.get("continue")
        self.limit, self.timeout_seconds = self._number("limit"), self._number("timeoutSeconds")
        self.accept = self.header("accept")

    def header(self, name, default=""):
        return self.headers.get(name.lower(), default)

    def _number(self, name):
        text = self.query.get(name, "")
        return int(text) if text.isdigit() else None

    def __repr__(self):
        return f"<{self.method} {self.target} conn={self.conn_id} status={self.status}>"


class Conn(asyncio.Protocol):
    """Reads requests and gives them to `serve(conn, request)`; writes bytes and ends the
    connection."""

    def __init__(self, server):
        self.server = server
        self.id = next(_ids)
        self.transport = None
        self.tls = None
        self.task = None
        self.open = True
        self.closing = False
        self.shaken = False
        self.stalled = False
        self.requests = 0
        self.request = None
        self.sni = None
        self._plain = bytearray()
        self._waiter = None
        self._drained = asyncio.Event()
        self._drained.set()

    # Facts about the connection, for tests

    @property
    def tls_version(self):
        return self.tls.version() if self.tls else None

    @property
    def alpn(self):
        return self.tls.selected_alpn_protocol() if self.tls else None

    @property
    def resumed(self):
        return bool(self.tls and self.tls.session_reused)

    @property
    def client_cn(self):
        cert = self.tls.getpeercert() if self.tls else None
        for part in (cert or {}).get("subject", ()):
            for name, value in part:
                if name == "commonName":
                    return value
        return None

    @property
    def client_serial(self):
        """The serial number of the client's certificate as a number; None = it showed none."""
        cert = self.tls.getpeercert() if self.tls else None
        return int(cert["serialNumber"], 16) if cert else None

    # asyncio.Protocol

    def connection_made(self, transport):
        self.transport = transport
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.opened(self)
        if self.server.context is not None:
            self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = self.server.context.wrap_bio(self._in, self._out, server_side=True)
            self.server.by_tls[id(self.tls)] = self
        self.stalled = self.server.stall_handshake
        self.task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data):
        if self.stalled:
            return
        if self.tls is None and not self.requests and data[:1] == b"\x16":
            self.transport.write(TLS_ON_PLAIN)
            self.close()
        elif self.tls is None:
            self._plain += data
        elif not self.shaken and data[:1] != b"\x16" and not self._in.pending \
                and self.tls.version() is None and data[:1] in b"GPHD":
            self.transport.write(PLAIN_ON_TLS)
            self.close()
        else:
            self._in.write(data)
            self._pump()
        self._wake()

    def eof_received(self):
        self._wake()
        return False

    def connection_lost(self, exc):
        self.open = False
        self._drained.set()
        self._wake()
        if self.task and not self.task.done():
            self.task.cancel()
        self.server.lost(self)

    def pause_writing(self):
        self._drained.clear()

    def resume_writing(self):
        self._drained.set()

    def _wake(self):
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _pump(self):
        try:
            if not self.shaken:
                self.tls.do_handshake()
                self.shaken = True
                self.server.shaken(self)
            while True:
                data = self.tls.read(65536)
                if not data:
                    break
                self._plain += data
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closing = True
        except ssl.SSLError as error:
            self.server.tls_errors.append(error)
            self._flush()
            self.transport.close()
        self._flush()
        if self.closing:
            self.transport.close()

    def _flush(self):
        if self.tls and self._out.pending and not self.transport.is_closing():
            if self.server.drip_handshake is not None and not self.shaken:
                asyncio.get_running_loop().create_task(self._drip(self._out.read()))
            else:
                self.transport.write(self._out.read())

    async def _drip(self, data):
        for at in range(len(data)):
            if self.transport.is_closing():
                return
            self.transport.write(data[at:at + 1])
            await asyncio.sleep(self.server.drip_handshake or 0)

    # Reading

    async def _more(self):
        if not self.open or self.transport.is_closing():
            raise ConnectionResetError
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
        if not self.open:
            raise ConnectionResetError

    async def _read_head(self):
        while b"\r\n\r\n" not in self._plain:
            await self._more()
        head, _, rest = bytes(self._plain).partition(b"\r\n\r\n")
        self._plain = bytearray(rest)
        return head.decode("latin-1").split("\r\n")

    async def read_request(self):
        lines = await self._read_head()
        method, target, _version = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length", "0"))
        while len(self._plain) < length:
            await self._more()
        body = bytes(self._plain[:length])
        del self._plain[:length]
        self.requests += 1
        self.request = Request(self, method, target, headers, body)
        self.request.lines = lines[1:]
        self.request.size = sum(len(line) + 2 for line in lines) + 2 + length
        return self.request

    async def _run(self):
        try:
            while True:
                request = await self.read_request()
                await self.server.serve(self, request)
                if request.header("connection").lower() == "close":
                    self.close()
        except (ConnectionError, asyncio.CancelledError, OSError):
            pass
        except Exception as error:
            self.server.broken(self, error)
            self.abort()

    # Writing

    async def send(self, data, cut=(), segment=0):
        """Plaintext out; `cut` = offsets where a new TLS record starts, `segment` = bytes of the
        encrypted stream per write."""
        last = 0
        for offset in [*cut, len(data)]:
            piece = data[last:offset]
            last = offset
            if piece:
                await self._send_piece(piece, segment)
                if offset != len(data):
                    await asyncio.sleep(0)

    def send_at_once(self, *pieces):
        """Plaintext out: each piece in a TLS record of its own, and all of them in one segment."""
        for piece in pieces:
            self.request.answered += len(piece)
            self.tls.write(piece)
        self.transport.write(self._out.read())

    async def _send_piece(self, piece, segment):
        if self.transport.is_closing():
            raise ConnectionResetError
        self.request.answered += len(piece)
        if self.tls is None:
            await self._raw(piece, segment)
            return
        view = memoryview(piece)
        for start in range(0, len(piece), 65536):
            try:
                self.tls.write(view[start:start + 65536])
            except ssl.SSLError as error:
                raise ConnectionResetError from error
            await self._raw(self._out.read(), segment)

    async def _raw(self, data, segment):
        step = segment or len(data)
        for start in range(0, len(data), step):
            if not self.open or self.transport.is_closing():
                raise ConnectionResetError
            self.transport.write(data[start:start + step])
            if segment or len(data) > 16384:
                await asyncio.sleep(0)
            await self._drained.wait()

    def close(self):
        """An orderly end: close_notify, then FIN."""
        if self.tls and self.shaken and not self.transport.is_closing():
            try:
                self.tls.unwrap()
            except ssl.SSLError:
                pass
            self._flush()
        self.transport.close()

    def eof(self):
        """FIN without close_notify, as when a proxy or the server process dies."""
        self.transport.close()

    def abort(self):
        """RST: SO_LINGER 0, then close."""
        sock = self.transport.get_extra_info("socket")
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        self.transport.abort()

    def end(self, how):
        {"close": self.close, "eof": self.eof, "rst": self.abort}[how]()

    async def gone(self):
        """Waits until the client has closed."""
        while self.open:
            await self._more()
