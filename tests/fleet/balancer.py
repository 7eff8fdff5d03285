# SPDX-License-Identifier: Apache-2.0
"""A TCP load balancer in front of fake API servers that counts each byte that passes."""
import asyncio
import itertools
import threading


class Balancer:
    """Spreads connections over `ports` in turn, past those that refuse; totals() counts from the
    client's side: bytes sent and received, connections accepted."""

    def __init__(self, ports):
        self.ports = ports
        self.sent = self.received = self.connections = 0
        self._turn = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = None

    def __enter__(self):
        self._thread.start()
        server = self._wait(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_exc):
        self._wait(self._cancel())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def totals(self):
        return {"sent": self.sent, "received": self.received, "connections": self.connections}

    def _wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    @staticmethod
    async def _cancel():
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _backend(self):
        first = next(self._turn)
        for step in range(len(self.ports)):
            port = self.ports[(first + step) % len(self.ports)]
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
        return None, None

    async def _serve(self, reader, writer):
        self.connections += 1
        back_reader, back_writer = await self._backend()
        if back_writer is None:
            writer.transport.abort()
            return
        both = [asyncio.ensure_future(self._pass(reader, back_writer, "sent")),
                asyncio.ensure_future(self._pass(back_reader, writer, "received"))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in both:
                way.cancel()
            writer.close()
            back_writer.close()

    async def _pass(self, reader, writer, counter):
        try:
            while data := await reader.read(65536):
                setattr(self, counter, getattr(self, counter) + len(data))
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
