# SPDX-License-Identifier: Apache-2.0
"""Both ends of HTTP: servers that count their requests, and a client that never stops."""
import asyncio
import contextlib
import http.client
import threading
import time

from control import PATIENCE, wait_until

CLOSED = ("RemoteDisconnected", "ConnectionResetError", "BrokenPipeError")


class Server:
    """An HTTP/1.1 server on one address, whose every answer is its name. It answers path /hold only
    when the test calls release()."""

    def __init__(self, park, name, address, port):
        self.park, self.name, self.address, self.port = park, name, address, port
        self.requests = []      # (seconds since 1970, path), in order of arrival
        self.connections = set()
        self.released = threading.Event()
        self._listener = None

    def count(self, since=0.0, path=None):
        """The number of requests, since a time or for a path."""
        return sum(when >= since and path in (None, what) for when, what in list(self.requests))

    def release(self):
        self.released.set()

    def kill(self):
        """Stops listening, and resets every connection."""
        self.park.call(self._close())

    async def open(self):
        self._listener = await asyncio.start_server(self._serve, self.address, self.port,
                                                    backlog=512)

    async def _close(self):
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for writer in list(self.connections):
            writer.transport.abort()

    async def _serve(self, reader, writer):
        self.connections.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head.split(b" ", 2)[1].decode(), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def _answer(self, path, writer):
        self.requests.append((time.time(), path))
        while path == "/hold" and not self.released.is_set():
            await asyncio.sleep(0.005)
        body = self.name.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
                     % (len(body), body))
        await writer.drain()


class Park:
    """The servers of one test; they run in a thread of their own, in the test's namespace."""

    def __init__(self, net):
        self.net, self.servers = net, {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def start(self, address, port=8080, name=None):
        """Starts a server. Its address is added to lo if it is not there. The default for its name
        is the address."""
        with self.net.inside():
            if f" {address}/" not in self.net.ip("-o", "addr"):
                self.net.address(address)
        made = Server(self, name or address, address, port)
        self.call(made.open())
        self.servers[made.name] = made
        return made

    def finish(self):
        for server in self.servers.values():
            server.release()
            server.kill()
        self.call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    @staticmethod
    async def _end():
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def get(address, port, path="/", host=None, timeout=PATIENCE):
    """(status, body) of one request on a connection of its own."""
    conn = http.client.HTTPConnection(address, port, timeout=timeout)
    try:
        conn.request("GET", path, headers={"Host": host} if host else {})
        answer = conn.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        conn.close()


class Client:
    """with Client(address, port) as client: sends one request after the other until the end of the
    block. If a server closes a kept connection before it answers, the client repeats the request on
    a new connection, as every HTTP client does."""

    def __init__(self, address, port, path="/", keep_alive=False, pause=0.002):
        self.address, self.port, self.path = address, port, path
        self.keep_alive, self.pause = keep_alive, pause
        self.answers = []       # (began, ended, status or 0, body or error); seconds since 1970
        self._conn = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._end.set()
        self._thread.join(20)

    def _run(self):
        while not self._end.is_set():
            began, kept = time.time(), self._conn is not None
            result = self._ask()
            if kept and result[1] in CLOSED:
                result = self._ask()
            self.answers.append((began, time.time(), *result))
            self._end.wait(self.pause)
        self._close()

    def _ask(self):
        try:
            if self._conn is None:
                self._conn = http.client.HTTPConnection(self.address, self.port, timeout=PATIENCE)
            self._conn.request("GET", self.path)
            answer = self._conn.getresponse()
            result = answer.status, answer.read().decode(errors="replace")
            if not self.keep_alive or answer.will_close:
                self._close()
            return result
        except (OSError, http.client.HTTPException) as error:
            self._close()
            return 0, type(error).__name__

    def _close(self):
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def since(self, when):
        """The answers to requests that began at this time or later."""
        return [entry for entry in list(self.answers) if entry[0] >= when]

    def bad(self):
        """The requests without an answer 200."""
        return [entry for entry in list(self.answers) if entry[2] != 200]


class Crowd:
    """Several clients at once; every other one keeps its connection."""

    def __init__(self, address, port, count=4):
        self.clients = [Client(address, port, keep_alive=n % 2 == 0) for n in range(count)]
        self._running = contextlib.ExitStack()

    def __enter__(self):
        for client in self.clients:
            self._running.enter_context(client)
        return self

    def __exit__(self, *_exc):
        self._running.close()

    def wait_answers(self, count=1):
        """Waits until each client has that many answers to requests that begin from now on. Then
        the earlier requests are answered as well."""
        began = time.time()
        wait_until(lambda: all(len(client.since(began)) >= count for client in self.clients))

    def answers(self):
        return [entry for client in self.clients for entry in list(client.answers)]

    def bad(self):
        """The requests without an answer 200."""
        return [entry for client in self.clients for entry in client.bad()]
