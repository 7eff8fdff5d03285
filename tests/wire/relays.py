# SPDX-License-Identifier: Apache-2.0
"""A relay between a daemon and a fake API server that cuts connections at a chosen byte."""
import asyncio
import contextlib
import socket
import struct
import threading

from control import PATIENCE
from fakeapi.server import bind_socket, take_port


class Relay:
    """with Relay(port, budget) as relay: runs in a thread of its own, and leads to that port of this
    machine.

    budget() is asked for each connection, and returns (bytes to the server, bytes to the client).
    Both ends of a connection get RST when one of its two numbers is used up; None = no limit.
    `cuts` counts these ends.
    """

    def __init__(self, target, budget, host="127.0.0.1"):
        self.target, self.budget, self.host = target, budget, host
        self.cuts = self.accepted = 0
        self._writers, self._taken, self._server = set(), take_port(host), None
        self.port = self._taken.getsockname()[1]
        self.url = f"https://{host}:{self.port}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def __enter__(self):
        self._thread.start()
        self._server = self._call(asyncio.start_server(
            self._serve, sock=bind_socket(self.host, self.port)))
        return self

    def __exit__(self, *_exc):
        self._loop.call_soon_threadsafe(self._server.close)
        self.drop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._taken.close()

    def drop(self):
        """Resets all connections."""
        async def reset():
            for writer in list(self._writers):
                self._end(writer, True)
        self._call(reset())

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def _run(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader, writer):
        self.accepted += 1
        to_server, to_client = self.budget()
        try:
            there, out = await asyncio.open_connection(self.host, self.target)
        except OSError:
            self._end(writer, True)
            return
        self._writers |= {writer, out}
        for end in (writer, out):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pumps = [asyncio.ensure_future(self._pump(reader, out, to_server)),
                 asyncio.ensure_future(self._pump(there, writer, to_client))]
        done, others = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in others:
            pump.cancel()
        was_cut = any(pump.result() for pump in done)
        self.cuts += was_cut
        for end in (writer, out):
            self._writers.discard(end)
            self._end(end, was_cut)

    @staticmethod
    def _end(writer, was_cut):
        """By RST or by FIN."""
        if was_cut:
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        else:
            writer.close()

    @staticmethod
    async def _pump(source, sink, left):
        """Returns whether the limit has ended it."""
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                sink.write(data)
                await sink.drain()
                if left == 0:
                    return True
        return False
