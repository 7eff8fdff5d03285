# SPDX-License-Identifier: Apache-2.0
"""The unscripted answers: discovery, GET, LIST with paging, WATCH from an RV, errors."""
import asyncio
import re

from .objects import bookmark, compact, error_event, ev, status_object
from .store import Selection

VERSION = {"major": "1", "minor": "32", "gitVersion": "v1.32.3", "gitCommit": "fake",
           "gitTreeState": "clean", "buildDate": "2026-01-02T03:04:05Z", "goVersion": "go1.23",
           "compiler": "gc", "platform": "linux/amd64"}


def classify(store, request):
    """Fills in kind (L, W, G or -), resource, namespace, name and the table."""
    request.table = None
    match = re.fullmatch(r"/(?:api/([^/]+)|apis/([^/]+)/([^/]+))/(.+)", request.path)
    if not match:
        return
    group, version = match[2] or "", match[3] or match[1]
    parts = match[4].split("/")
    if parts[0] == "namespaces" and len(parts) >= 3:
        request.namespace, parts = parts[1], parts[2:]
    request.resource = parts[0]
    request.name = parts[1] if len(parts) > 1 else ""
    with store.lock:
        request.table = store.tables.get((group, version, parts[0]))
    if request.method == "GET" and len(parts) <= 2:
        watch = request.query.get("watch") in ("1", "true", "")
        request.kind = "G" if request.name else "W" if watch else "L"


def selection(request):
    return Selection(request.namespace, request.query.get("labelSelector"),
                     request.query.get("fieldSelector"))


def _group_list(tables):
    groups = {}
    for table in tables:
        res = table.resource
        if res.group:
            groups.setdefault(res.group, []).append(res.version)
    out = []
    for group, versions in groups.items():
        rows = [{"groupVersion": f"{group}/{v}", "version": v} for v in dict.fromkeys(versions)]
        out.append({"name": group, "versions": rows, "preferredVersion": rows[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": out}


def _resource_list(tables, group_version):
    rows = [{"name": r.plural, "singularName": r.kind.lower(), "namespaced": r.namespaced,
             "kind": r.kind, "verbs": ["get", "list", "watch"], "shortNames": r.short}
            for r in (t.resource for t in tables) if r.api_version == group_version]
    if not rows:
        return None
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
            "resources": rows}


def discovery(store, path):
    """The document at a discovery path, or None."""
    with store.lock:
        tables = list(store.tables.values())
    if path == "/version":
        return VERSION
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return _group_list(tables)
    match = re.fullmatch(r"/api/([^/]+)|/apis/([^/]+/[^/]+)", path)
    return _resource_list(tables, match[1] or match[2]) if match else None


def allowed(api, request):
    """Whether the credential is one that the test let in; True when it set none."""
    if api.tokens is None and api.client_cns is None:
        return True
    kind, _, token = request.header("authorization").partition(" ")
    if kind == "Bearer" and token in (api.tokens or ()):
        return True
    return request.conn.client_cn in (api.client_cns or ())


async def answer(api, exchange):
    request = exchange.request
    if not allowed(api, request):
        await exchange.answer(401, body=status_object(401, message="Unauthorized"))
    elif request.table is None:
        doc = discovery(api.store, request.path)
        if doc is not None:
            await exchange.answer(body=doc)
        elif request.path in ("/livez", "/readyz", "/healthz"):
            await exchange.answer(body=b"ok", type="text/plain")
        else:
            await exchange.answer(404, body=b"404 page not found\n", type="text/plain")
    elif request.kind == "G":
        await get(api, exchange)
    elif request.kind == "L":
        await list_(api, exchange)
    elif request.kind == "W":
        await watch(api, exchange)
    else:
        await exchange.answer(405, body=status_object(405, "MethodNotAllowed"))


async def get(api, exchange):
    request, table = exchange.request, exchange.request.table
    key = f"{request.namespace}/{request.name}" if request.namespace else request.name
    with api.store.lock:
        obj = table.objects.get(key)
        body = table.json_of(obj) if obj is not None else None
    if body is None:
        res = table.resource
        await exchange.answer(404, body=status_object(
            404, message=f'{res.plural} "{request.name}" not found',
            details={"name": request.name, "kind": res.plural}))
    else:
        await exchange.answer(body=body + b"\n")


def _too_large(wanted, current):
    text = "Too large resource version"
    return status_object(504, "Timeout", f"Timeout: {text}: {wanted}, current: {current}",
                         {"causes": [{"reason": "ResourceVersionTooLarge", "message": text}],
                          "retryAfterSeconds": 1})


def list_bytes(table, rv, items, token, left):
    """The XList document; custom resources have sorted keys: items stand before metadata."""
    res = table.resource
    meta = {"resourceVersion": str(rv)}
    if token:
        meta = {"continue": token, "remainingItemCount": left, **meta}
    elif res.custom:
        meta = {"continue": "", **meta}
    body = b",".join(table.json_of(item, in_list=True) for item in items)
    kind, version, meta = (compact(v) for v in (f"{res.kind}List", res.api_version, meta))
    if res.custom:
        return (b'{"apiVersion":%b,"items":[%b],"kind":%b,"metadata":%b}\n'
                % (version, body, kind, meta))
    return (b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[%b]}\n'
            % (kind, version, meta, body))


async def list_(api, exchange):
    request, store, table = exchange.request, api.store, exchange.request.table
    query = request.query
    rv = query.get("resourceVersion", "")
    if rv not in ("", "0") and int(rv) > store.rv:
        await exchange.answer(504, body=_too_large(rv, store.rv), headers={"Retry-After": 1})
        return
    limit = int(query.get("limit") or 0)
    if rv == "0" and api.watch_cache:
        limit = 0
    try:
        with store.lock:
            page = store.page(table, selection(request), limit, query.get("continue"))
            body = list_bytes(table, *page)
    except KeyError:
        await exchange.answer(410, body=status_object(
            410, "Expired", "The provided continue parameter is too old"))
        return
    big = len(body) > 2048
    chunks = range(32768, len(body), 32768) if big else None
    await exchange.answer(body=body, chunks=chunks)


class Watcher:
    """One open watch that follows the store: a cursor in the history and what a test pushes."""

    def __init__(self, exchange):
        self.exchange, self.table = exchange, exchange.request.table
        self.select = selection(exchange.request)
        self.wants_bookmarks = exchange.request.query.get("allowWatchBookmarks") == "true"
        self.cursor = 0
        self.pushed = []
        self.sent_rv = 0
        self._end = None
        self._event = asyncio.Event()

    def wake(self):
        self._event.set()

    def push(self, event):
        self.pushed.append((len(self.table.history), event))
        self.wake()

    def finish(self, how):
        self._end = how
        self.wake()

    def frame(self, event):
        return self.exchange.chunk(compact(event, sort=self.table.resource.custom) + b"\n")

    def pending(self, store):
        """The frames that are due: changes and pushed events in their order."""
        out = []
        with store.lock:
            end = len(self.table.history)
            pushed, self.pushed = self.pushed, []
            for upto, event in [*pushed, (end, None)]:
                for change in self.table.history[self.cursor:upto]:
                    seen = store.event_for(change, self.select)
                    if seen:
                        out.append(self._encode(*seen))
                    self.sent_rv = change[0]
                self.cursor = max(self.cursor, upto)
                if event is not None:
                    out.append(self.frame(event))
        return b"".join(out)

    def _encode(self, kind, obj):
        body = self.table.json_of(obj)
        if self.table.resource.custom:
            return self.exchange.chunk(b'{"object":%b,"type":"%b"}\n' % (body, kind.encode()))
        return self.exchange.chunk(b'{"type":"%b","object":%b}\n' % (kind.encode(), body))

    async def run(self, api, seconds):
        """Until the client leaves, the time is over, or the test ends it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        last_word = deadline - 2 if seconds > 2 else None
        start_rv = api.rv
        while True:
            self._event.clear()
            data = self.pending(api.store)
            if data:
                await self.exchange.conn.send(data)
            if self._end is not None or loop.time() >= deadline:
                break
            until = last_word if last_word is not None else deadline
            try:
                await asyncio.wait_for(self._event.wait(), max(until - loop.time(), 0))
            except asyncio.TimeoutError:
                if last_word is not None:
                    last_word = None
                    self._closing_bookmark(api, start_rv)
        await self._finish()

    def _closing_bookmark(self, api, start_rv):
        if self.wants_bookmarks and api.bookmarks and api.rv != start_rv:
            res = self.table.resource
            self.push(bookmark(api.rv, res.kind, res.api_version))

    async def _finish(self):
        if isinstance(self._end, dict):
            await self.exchange.event(self._end)
            self._end = None
        if self._end in (None, "END"):
            await self.exchange.end_stream()
        else:
            self.exchange.conn.end(self._end)


async def watch(api, exchange):
    await exchange.start_stream()
    await follow(api, exchange, None)


async def follow(api, exchange, rv):
    """The body of a watch, from rv or the request's resourceVersion, after its head was sent."""
    request, store = exchange.request, api.store
    watcher = Watcher(exchange)
    table = watcher.table
    rv = str(rv) if rv is not None else request.query.get("resourceVersion", "")
    with store.lock:
        now, items = store.listing(table, watcher.select)
        too_old = rv not in ("", "0") and int(rv) < table.oldest
        if rv in ("", "0"):
            watcher.cursor = len(table.history)
        else:
            watcher.cursor, items = table.start_of(int(rv)), []
        oldest = table.oldest
    if too_old:
        await exchange.event(error_event(410, "Expired",
                                         f"too old resource version: {rv} ({oldest})"))
        await exchange.end_stream()
        return
    for item in items:
        await exchange.event(ev("ADDED", item), sort=table.resource.custom)
    if request.query.get("sendInitialEvents") == "true":
        res = table.resource
        await exchange.event(bookmark(now, res.kind, res.api_version, initial_end=True))
    api.watchers.add(watcher)
    api.answered(request)
    try:
        await watcher.run(api, float(request.query.get("timeoutSeconds") or 1800))
    finally:
        api.watchers.discard(watcher)
