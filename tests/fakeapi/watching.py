# SPDX-License-Identifier: Apache-2.0
"""WATCH: from an RV, from now, or with the initial events first (watch-list streaming)."""
import asyncio

from .objects import bookmark, compact, error_event
from .queries import selection


def too_large_details():
    text = "Too large resource version"
    return {"causes": [{"reason": "ResourceVersionTooLarge", "message": text}],
            "retryAfterSeconds": 1}


def too_large_text(wanted, current):
    return f"Timeout: Too large resource version: {wanted}, current: {current}"


async def reached(api, rv):
    """Whether the server is at rv, after the wait that a real one grants."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + api.too_large_wait
    while int(rv) > api.rv:
        if clock() >= deadline:
            return False
        await asyncio.sleep(0.01)
    return True


class Watcher:
    """One open watch that follows the store: a cursor in the history, and events that a test
    pushes."""

    def __init__(self, exchange):
        self.exchange, self.table = exchange, exchange.request.table
        self.select, self.form = selection(exchange.request), exchange.request.form
        self.wants_bookmarks = exchange.request.query.get("allowWatchBookmarks") in ("1", "true")
        self.history = self.table.history
        self.cursor = 0
        self.floor = 0
        self.pushed = []
        self._end = None
        self._event = asyncio.Event()

    def wake(self):
        self._event.set()

    def push(self, event):
        self.pushed.append((len(self.history), event))
        self.wake()

    def finish(self, how):
        self._end = how
        self.wake()

    def bookmark(self, rv, initial_end=False):
        """A bookmark in the form of this watch: of its kind, or with metadata only."""
        res = self.table.resource
        if self.form:
            return bookmark(rv, "PartialObjectMetadata", self.form, initial_end)
        return bookmark(rv, res.kind, res.api_version, initial_end, res.custom)

    def bookmark_now(self, rv, forced=False):
        """Sends a bookmark; a watch from an RV of the future gets none below that RV, unless
        forced."""
        if self.wants_bookmarks and (forced or rv >= self.floor):
            self.push(self.bookmark(rv))

    def frame(self, event):
        """An event as bytes; objects of custom resources have sorted keys."""
        sort = self.table.resource.custom and not self.form
        body = compact(event["object"], sort=sort)
        return self._frame(event["type"], body)

    def _frame(self, kind, body):
        return self.exchange.chunk(b'{"type":"%b","object":%b}\n' % (kind.encode(), body))

    def pending(self, api):
        """The frames that are due: changes and pushed events in their order."""
        out, store = [], api.store
        with store.lock:
            end = len(self.history)
            if api.seen_rv is not None:
                end = max(self.cursor, min(end, self.table.start_of(api.seen_rv)))
            pushed, self.pushed = self.pushed, []
            for upto, event in [*pushed, (end, None)]:
                for change in self.history[self.cursor:upto]:
                    seen = store.event_for(change, self.select)
                    if seen and change[0] > self.floor:
                        out.append(self.encode(*seen))
                self.cursor = max(self.cursor, upto)
                if event is not None:
                    out.append(self.frame(event))
        return b"".join(out)

    def encode(self, kind, obj):
        return self._frame(kind, self.table.json_of(obj, form=self.form))

    async def run(self, api, seconds, start_rv):
        """Until the client leaves, the time is over, or the test ends it."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        mark = self._next_mark(api, clock(), deadline)
        while True:
            self._event.clear()
            data = self.pending(api)
            if data:
                await self.exchange.conn.send(data)
            # wait_for() swallows the cancellation of a lost connection if an event comes with it.
            if not self.exchange.conn.open:
                raise ConnectionResetError
            if self._end is not None or clock() >= deadline:
                break
            try:
                await asyncio.wait_for(self._event.wait(), max(min(mark, deadline) - clock(), 0))
            except asyncio.TimeoutError:
                if clock() >= mark:
                    mark = self._next_mark(api, clock(), deadline)
                    versioned = self.table.resource.plural not in api.unversioned
                    with api.store.lock:    # else it could come before a change of its version
                        if api.bookmarks and versioned and api.rv != start_rv:
                            self.bookmark_now(api.rv)
        await self._finish()

    @staticmethod
    def _next_mark(api, now, deadline):
        """The time of the next bookmark: after the period, or 2 s before the end."""
        last = deadline - 2 if now < deadline - 2 else float("inf")
        return min(now + api.bookmark_period, last)

    async def _finish(self):
        if isinstance(self._end, dict):
            await self.exchange.event(self._end)
            self._end = None
        if self._end in (None, "END"):
            await self.exchange.end_stream()
        else:
            self.exchange.conn.end(self._end)


async def watch(api, exchange):
    request = exchange.request
    if request.kind == "S" and request.rv and not await reached(api, request.rv):
        await exchange.start_stream()
        await exchange.event(error_event(504, "Timeout", too_large_text(request.rv, api.rv),
                                         too_large_details()))
        await exchange.end_stream()
        return
    await exchange.start_stream()
    await follow(api, exchange, None)


def _begin(api, watcher, rv, initial):
    """Sets the watcher's place in the history; returns (current RV, items to send first, the error
    event or None)."""
    store, table = api.store, watcher.table
    with store.lock:
        now, items = store.listing(table, watcher.select, api.seen_rv)
        if initial or rv in ("", "0"):
            watcher.cursor = len(table.history)
            return now, items, None
        if int(rv) < table.oldest:
            return now, [], error_event(410, "Expired",
                                        f"too old resource version: {rv} ({table.oldest})")
        watcher.cursor = table.start_of(int(rv))
        watcher.floor = int(rv) if int(rv) > now else 0
        return now, [], None


async def follow(api, exchange, rv):
    """The body of a watch, from rv or as the request asks for, after its head was sent."""
    request = exchange.request
    watcher = Watcher(exchange)
    initial = rv is None and request.kind == "S"
    rv = str(rv) if rv is not None else request.rv or ""
    now, items, error = _begin(api, watcher, rv, initial)
    if error is not None:
        await exchange.event(error)
        await exchange.end_stream()
        return
    if "sendInitialEvents" in request.query and not initial:
        items = []
    for item in items:
        await exchange.conn.send(watcher.encode("ADDED", item))
    if initial and watcher.wants_bookmarks:
        await exchange.conn.send(watcher.frame(watcher.bookmark(now, initial_end=True)))
    api.watchers.add(watcher)
    api.answered(request)
    try:
        await watcher.run(api, float(request.timeout_seconds or 1800), now)
    finally:
        api.watchers.discard(watcher)
