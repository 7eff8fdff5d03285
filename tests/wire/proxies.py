# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy that knows CONNECT, with all the ways in which one can fail."""
import asyncio
import base64
import contextlib
import socket
import ssl
import threading

from control import PATIENCE
from fakeapi.server import bind_socket, take_port

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """with Proxy() as proxy: runs in a thread of its own. tls: a Leaf; auth: "user:password".

    It answers CONNECT as behave() says, and leads to the host that was asked for, or to the one
    that `hosts` has for it. seen: the heads of all requests, as (target, headers).
    """

    def __init__(self, tls=None, auth=None, host="127.0.0.1"):
        self.auth, self.host = auth, host
        self.behave()
        self.hosts, self.seen, self.refused, self.writers = {}, [], 0, set()
        self.context = None
        if tls is not None:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(tls.cert_file, tls.key_file)
        self._taken, self._server = take_port(host), None
        self.port = self._taken.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self):
        self._thread.start()
        sock = bind_socket(self.host, self.port)
        self._server = self._call(asyncio.start_server(self._serve, sock=sock, ssl=self.context))
        return self

    def __exit__(self, *_exc):
        self._loop.call_soon_threadsafe(self._server.close)
        self.drop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._taken.close()

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda _loop, _context: None)   # clients that hang up
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def behave(self, reply=ESTABLISHED, then="relay", drip=False, pause=0):
        """From now on CONNECT is answered with this, byte by byte if `drip`, and then the bytes go
        both ways ("relay"), the connection is closed ("close"), or nothing more comes ("hold").
        `then` may also be bytes that come again and again until the client closes, with a pause (in
        seconds) between them."""
        self._manner = reply, then, drip, pause     # in one step: the proxy's thread reads it

    def url(self, credentials=None):
        """Its address; credentials: "user:password", as they stand in a URL."""
        scheme = "https" if self.context else "http"
        return f"{scheme}://{credentials + '@' if credentials else ''}{self.host}:{self.port}"

    def drop(self):
        """Ends all connections, in the middle of whatever they carry."""
        async def abort():
            for writer in list(self.writers):
                writer.transport.abort()
        self._call(abort())

    @property
    def targets(self):
        return {target for target, _headers in list(self.seen)}

    async def _serve(self, reader, writer):
        self.writers.add(writer)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, version = head[0].split(" ")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        assert (method, version) == ("CONNECT", "HTTP/1.1") and headers["Host"] == target
        reply, then, drip, pause = self._manner
        self.seen.append((target, headers))
        if self.auth is not None:
            wanted = "Basic " + base64.b64encode(self.auth.encode()).decode()
            if headers.get("Proxy-Authorization") != wanted:
                self.refused += 1
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n"
                             b"Proxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
        for piece in [bytes([byte]) for byte in reply] if drip else [reply]:
            writer.write(piece)
            await writer.drain()
        if then == "relay":
            await self._relay(target, reader, writer)
        elif then == "hold":
            await reader.read()
        while isinstance(then, bytes):
            writer.write(then)
            await writer.drain()
            await asyncio.sleep(pause)

    async def _relay(self, target, reader, writer):
        host, _, port = target.rpartition(":")
        host = host.strip("[]")
        there, out = await asyncio.open_connection(self.hosts.get(host, host), int(port))
        out.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.writers.add(out)
        pumps = [asyncio.ensure_future(self._pump(*ends))
                 for ends in ((reader, out), (there, writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        self.writers.discard(out)
        out.close()

    @staticmethod
    async def _pump(source, sink):
        with contextlib.suppress(OSError, ssl.SSLError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()


class ReverseProxy(Proxy):
    """Ends TLS in front of an API server, and speaks HTTP on both sides as nginx does; one request
    for each connection.

    holds: the part of the response to a watch that it holds back until that is complete: None, "body", or
    "all" (head and body). A change counts from the next bytes on.
    """

    def __init__(self, api, tls):
        super().__init__(tls=tls)
        self.api, self.holds = api, None
        self._to_api = ssl.create_default_context()
        self._to_api.check_hostname, self._to_api.verify_mode = False, ssl.CERT_NONE

    async def _answer(self, reader, writer):
        request = await reader.readuntil(b"\r\n\r\n")
        there, out = await asyncio.open_connection(self.api.host, self.api.port, ssl=self._to_api)
        self.writers.add(out)
        out.write(self._last(request))
        ends = [asyncio.ensure_future(self._respond(b"watch=true" in request, there, writer)),
                asyncio.ensure_future(reader.read())]       # the client leaves
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        self.writers.discard(out)
        out.close()

    async def _respond(self, is_watch, there, writer):
        head = self._last(await there.readuntil(b"\r\n\r\n"))
        held = b"" if self._passes(is_watch, "head") else head
        writer.write(head[len(held):])
        while data := await there.read(65536):
            held += data
            if self._passes(is_watch, "body"):
                writer.write(held)
                held = b""
        writer.write(held)
        await writer.drain()

    def _passes(self, is_watch, part):
        return not is_watch or self.holds is None or (part == "head" and self.holds == "body")

    @staticmethod
    def _last(head):
        """The head with the word that no other request comes on this connection."""
        return head[:-2] + b"Connection: close\r\n\r\n"
