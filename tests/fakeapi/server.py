# SPDX-License-Identifier: Apache-2.0
"""FakeApi: the server in its own thread, the requests that it recorded, and the switches for
tests."""
import asyncio
import concurrent.futures
import contextlib
import random
import re
import socket
import ssl
import threading
import time
import traceback

from . import answers, discovery
from .asked import PATIENCE, Asked
from .conn import Conn
from .kubeconfig import write_kubeconfig
from .objects import Resource
from .queries import classify
from .script import Exchange, Rule
from .store import Store
from .watching import follow


IDENTITY_PATH = "/api/v1/namespaces"
IDENTITY_SELECTOR = "metadata.name=kube-system"


def asks_identity(request):
    """Whether this is the LIST by which clients tell clusters apart."""
    return (request.method == "GET" and request.path.endswith(IDENTITY_PATH)
            and request.query.get("fieldSelector") == IDENTITY_SELECTOR)


def make_context(leaf, low="TLSv1_2", high="TLSv1_3", client_ca=None, client_required=False,
                 alpn=("http/1.1",)):
    """A server context; client_ca (an Authority) asks clients for a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # As with Go, the order of the client counts, also that of its signature algorithms.
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if high == "TLSv1_1":   # OpenSSL 3 takes its hashes at security level 0 alone
        context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion[low]
    context.maximum_version = ssl.TLSVersion[high]
    context.load_cert_chain(leaf.cert_file, leaf.key_file)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED if client_required else ssl.CERT_OPTIONAL
        context.load_verify_locations(client_ca.file)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


def bind_socket(host, port):
    """A socket that may listen although the kernel still remembers old connections of this port."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    return sock


def take_port(host):
    """A socket that never listens. While it is open, no other process gets its port, not even in
    the time between two listeners. The port is not an ephemeral one, since clients take those."""
    choose = random.SystemRandom()
    for _ in range(200):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.bind((host, choose.randrange(11000, 32000)))
        except OSError:
            sock.close()
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            return sock
    raise RuntimeError("no free port")


class FakeApi:
    """See the package's docstring. Every method may be called from any thread."""

    def __init__(self, tls=None, host="127.0.0.1", tls_options=None, watch_list=False, store=None):
        self.store = store or Store()
        self.store.listeners.append(self._store_changed)
        self.seen_rv = None
        self.leaf, self.host, self.port = tls, host, None
        self.context = make_context(tls, **(tls_options or {})) if tls else None
        self.stall_handshake = False
        self.drip_handshake = None
        self.prefix, self.misdirected = "", []
        self.client_cns = None
        self.tokens = None
        self.passwords = None
        self.bookmarks = True
        self.bookmark_period = 60
        self.watch_cache = True
        self.unversioned = {}  # plural -> how its lists say that they have no version: None, "", "0"
        self.watch_list = watch_list
        self.too_large_wait = 0
        self.gzip_above, self.gzip_members = 128 * 1024, 1
        self.partial_metadata = self.aggregated_discovery = True
        self.version = dict(discovery.VERSION)
        self.broken_groups = {}
        self.identity = "5eed0000-0000-4000-8000-00000000c1ce"
        self.identity_gate, self.identity_requests = None, []
        self.access, self.selectors, self.reviews = None, True, []
        self.clock_ahead = None     # a timedelta: answers have the Date of such a clock
        self.requests, self.tls_errors, self.errors = [], [], []
        self.conns, self.accepted, self.handshakes, self.resumptions = set(), 0, 0, 0
        self.by_tls = {}
        self.watchers = set()
        self._rules = []
        self._cond = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._taken = self._server = None
        self._hole = []
        self._thread = threading.Thread(target=self._serve_loop, name="fakeapi", daemon=True)

    # Start and stop

    def __enter__(self):
        return self.start()

    def __exit__(self, *_exc):
        self.stop()

    def start(self):
        self._thread.start()
        self.listen()
        return self

    def stop(self):
        self.stop_listening()
        self.drop("rst")
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._taken.close()
        for sock in self._hole:
            sock.close()

    def _serve_loop(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def call(self, function, *args):
        """Runs function(*args) in the server's thread and returns its result."""
        done = concurrent.futures.Future()

        def task():
            try:
                done.set_result(function(*args))
            except BaseException as error:
                done.set_exception(error)
        self._loop.call_soon_threadsafe(task)
        return done.result(PATIENCE)

    def listen(self):
        """Accepts connections; after stop_listening() on the same port again."""
        if self._server is not None:
            return
        if self._taken is None:
            self._taken = take_port(self.host)
            self.port = self._taken.getsockname()[1]
        sock = bind_socket(self.host, self.port)
        if self._sni_wanted():
            self.context.sni_callback = self._sni
        future = asyncio.run_coroutine_threadsafe(
            self._loop.create_server(lambda: Conn(self), sock=sock, backlog=512), self._loop)
        self._server = future.result(PATIENCE)

    def stop_listening(self):
        """New connections are refused; open ones go on."""
        server, self._server = self._server, None
        if server is not None:
            self.call(server.close)

    def drop(self, how="close"):
        """Ends every open connection: close | eof | rst."""
        self.call(lambda: [conn.end(how) for conn in list(self.conns)])

    def restart(self, how="rst", before=None):
        """The server goes down and up again on the same port: its connections are cut (rst | eof |
        close) and its watch cache is empty, so a watch from an RV below the current one is too old.
        before() runs while the server is down."""
        self.stop_listening()
        self.drop(how)
        self.wait(lambda: not self.conns, what="no connections")
        if before is not None:
            before()
        self.store.expire()
        self.listen()

    def kill(self):
        """The server process dies: connections are refused, and open ones are reset."""
        self.stop_listening()
        self.drop("rst")
        self.wait(lambda: not self.conns, what="no connections")

    def revive(self):
        """Another process of the same server begins: it does not know earlier TLS sessions."""
        if self.leaf is not None:
            self.set_tls(self.leaf)
        self.listen()

    def black_hole(self):
        """Nobody answers a SYN to this port any more; open connections are reset."""
        self.kill()
        full = bind_socket(self.host, self.port)
        full.listen(0)
        self._hole = [full]
        for _ in range(2):
            sock = socket.socket(full.family, socket.SOCK_STREAM)
            sock.setblocking(False)
            sock.connect_ex((self.host, self.port))
            self._hole.append(sock)

    def lag(self):
        """From now on the server sees no change of the store, as when etcd does not reach it."""
        self.seen_rv = self.store.rv

    def catch_up(self):
        """The server sees all changes again."""
        self.seen_rv = None
        self.call(lambda: [watcher.wake() for watcher in self.watchers])

    def set_tls(self, leaf, **options):
        """Another certificate (and options of make_context) for new connections."""
        self.leaf, self.context = leaf, make_context(leaf, **options)
        self.context.sni_callback = self._sni

    def _sni_wanted(self):
        return self.context is not None and self.context.sni_callback is None

    def _sni(self, tls, name, _context):
        conn = self.by_tls.get(id(tls))
        if conn is not None:
            conn.sni = name

    @property
    def url(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.context else 'http'}://{host}:{self.port}"

    def kubeconfig(self, path, **more):
        """Writes a kubeconfig for this server; see kubeconfig.py for the keywords."""
        return write_kubeconfig(self, path, **more)

    # Content

    @property
    def rv(self):
        return self.store.rv if self.seen_rv is None else self.seen_rv

    @rv.setter
    def rv(self, value):
        with self.store.lock:
            self.store.rv = int(value)

    def add_resource(self, plural, kind, group="", version="v1", namespaced=True, custom=True):
        return self.store.add_resource(Resource(plural, kind, group, version, namespaced, custom))

    def remove_resource(self, plural):
        self.store.remove_resource(plural)

    def define(self, name, kind, scope="Namespaced", short_names=(), singular=None, custom=True,
               **more):
        """A CRD appears: "widgets.v1.example.com". custom=False writes lists as built-ins do."""
        return self.store.add_resource(Resource.named(
            name, kind, namespaced=scope == "Namespaced", short=short_names, singular=singular,
            custom=custom, **more))

    def undefine(self, name):
        """A CRD goes: DELETED for each object, the watches end, then 404 page not found."""
        def remove():
            table = self.store.undefine(name)
            for watcher in list(self.watchers):
                if watcher.table is table:
                    watcher.finish("END")
        self.call(remove)

    def break_group(self, group, *versions, keep=False):
        """The server of an API group is away: 503 for its paths. Aggregated discovery calls the
        group Stale, with its resources if `keep`. The group need not exist; `versions` default to
        its own."""
        known = discovery.groups_of(self).get(group, {})
        self.broken_groups[group] = discovery.Broken(versions or known or ["v1"], keep)

    def mend_group(self, group):
        del self.broken_groups[group]

    def apply(self, *objects, rv=None, silent=False):
        """Creates or changes objects; silent: no watch ever sends the change. Returns the last
        one."""
        stored = None
        for obj in objects:
            stored = self.store.apply(obj, rv, silent)
        return stored

    def delete(self, plural, key, rv=None, silent=False):
        return self.store.delete(plural, key, rv, silent)

    def get(self, plural, key):
        return self.store.table(plural).objects.get(key)

    def compact(self, plural=None):
        """Watches that start below the current RV get 410 in the stream; continue tokens expire."""
        self.store.compact(plural)

    def snapshot(self):
        """A backup of all objects and the RV, for restore()."""
        return self.store.snapshot()

    def restore(self, backup, how="END"):
        """etcd comes back from a backup: a snapshot(), or an RV of the past. Objects and RV go
        back, watches end (as in end_watches), later history is gone, and earlier history is too
        old."""
        def back():
            self.store.restore(backup)
            for watcher in list(self.watchers):
                watcher.finish(how)
        self.call(back)

    def bookmark(self, plural=None, rv=None):
        """A BOOKMARK (default: the current RV) on every open watch that asked for bookmarks."""
        def send():
            for watcher in list(self.watchers):
                if plural in (None, watcher.table.resource.plural):
                    watcher.bookmark_now(self.rv if rv is None else rv, forced=rv is not None)
        self.call(send)

    def replace(self, uid, *objects, rv=None, backup=None):
        """Another cluster takes the address: another server process, which does not know the TLS
        sessions of the first one, with another kube-system, these objects, and this version (None:
        the version of the old cluster). backup: it has what snapshot() has returned."""
        def take_over():
            self.store.restore(backup or (self.store.rv if rv is None else rv, {}))
            self.identity = uid
            if self.leaf is not None:
                self.set_tls(self.leaf)
        self.stop_listening()
        self.drop("rst")
        self.wait(lambda: not self.conns, what="no connections")
        self.call(take_over)
        self.apply(*objects)
        self.listen()

    def end_watches(self, plural=None, how="END"):
        """Ends the open watches that follow the store: END, "eof", "rst", "close" or an event."""
        def end():
            for watcher in list(self.watchers):
                if plural in (None, watcher.table.resource.plural):
                    watcher.finish(how)
        self.call(end)

    def watching(self, plural):
        """How many watches follow this resource now."""
        return sum(w.table.resource.plural == plural for w in list(self.watchers))

    def wait_watching(self, plural, count=1, timeout=PATIENCE):
        self.wait(lambda: self.watching(plural) >= count, timeout, f"{count} watches of {plural}")

    def _store_changed(self, table):
        try:
            self._loop.call_soon_threadsafe(self._wake, table)
        except RuntimeError:
            pass

    def _wake(self, table):
        for watcher in self.watchers:
            if watcher.table is table:
                watcher.wake()

    # Scripts

    def on(self, method=None, path=None, kind=None, resource=None, times=1, where=None):
        """A rule for requests; path is a regular expression for the whole path."""
        def match(request):
            return ((method is None or request.method == method)
                    and (path is None or re.fullmatch(path, request.path))
                    and (kind is None or request.kind == kind)
                    and (resource is None or request.resource == resource)
                    and (where is None or where(request)))
        return Rule(self, match, times)

    def on_list(self, resource, times=1, where=None):
        return self.on(kind="L", resource=resource, times=times, where=where)

    def on_watch(self, resource, times=1, where=None):
        return self.on(kind="W", resource=resource, times=times, where=where)

    def on_stream(self, resource, times=1, where=None):
        """For watch-list requests; on_watch() has the plain watches."""
        return self.on(kind="S", resource=resource, times=times, where=where)

    def on_get(self, resource, times=1, where=None):
        return self.on(kind="G", resource=resource, times=times, where=where)

    def add_rule(self, rule):
        with self._cond:
            self._rules.append(rule)

    def remove_rule(self, rule):
        with self._cond:
            if rule in self._rules:
                self._rules.remove(rule)

    def _rule_for(self, request):
        with self._cond:
            for rule in self._rules:
                if rule.match(request):
                    rule.served += 1
                    if rule.times is not None and rule.served >= rule.times:
                        self._rules.remove(rule)
                    return rule
        return None

    # The requests so far

    def wait_for_request(self, predicate=lambda request: True, timeout=PATIENCE, count=1):
        """Waits for the count-th request that fits, and returns it."""
        return self.wait(lambda: [r for r in self.requests if predicate(r)][count - 1:count],
                         timeout, f"request number {count}")[0]

    def wait(self, condition, timeout=PATIENCE, what="condition"):
        """Waits until condition() is true after some request, answer or connection change."""
        end = time.monotonic() + timeout
        with self._cond:
            while True:
                result = condition()
                if result:
                    return result
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"{what}: not seen in {timeout} s; got {self.requests}")
                self._cond.wait(min(left, 0.5))

    def of(self, resource, kind=None):
        """The requests for one resource, in order."""
        with self._cond:
            return [r for r in self.requests
                    if r.resource == resource and kind in (None, r.kind)]

    def forget(self):
        """From now on only later requests count. To be called while no client sends any. A request of
        a client that has ended may still lie in its socket: a few turns of the loop read it."""
        for _ in range(8):
            self.call(lambda: None)
        with self._cond:
            self.requests.clear()
            self.identity_requests.clear()

    def sequence(self, resource=None):
        """["L(0)", "C(token)", "W(10)", "S(-)"]: lists, later pages, watches, watch-list
        streams; "-" = no resourceVersion. Compared with a longer list it waits for the rest."""
        def read():
            with self._cond:
                return [f"{'C' if r.token else r.kind}({r.token or r.rv or '-'})"
                        for r in self.requests
                        if r.kind in ("L", "W", "S") and resource in (None, r.resource)]
        return Asked(read)

    def open_conns(self):
        with self._cond:
            return len(self.conns)

    # Called by Conn, in the server's thread

    def opened(self, conn):
        with self._cond:
            self.conns.add(conn)
            self.accepted += 1
            self._cond.notify_all()

    def shaken(self, conn):
        with self._cond:
            self.handshakes += 1
            self.resumptions += conn.resumed
            self._cond.notify_all()

    def lost(self, conn):
        with self._cond:
            self.conns.discard(conn)
            self.by_tls.pop(id(conn.tls), None)
            self._cond.notify_all()

    def broken(self, conn, error):
        self.errors.append(f"connection {conn.id}: {error!r}\n{traceback.format_exc()}")

    def answered(self, _request):
        with self._cond:
            self._cond.notify_all()

    async def serve(self, conn, request):
        exchange = Exchange(self, conn, request)
        if not request.path.startswith(self.prefix + "/"):
            self.misdirected.append(request)
            await exchange.answer(404, b"404 page not found\n", type="text/plain")
            return
        request.path = request.path.removeprefix(self.prefix)
        classify(self.store, request)
        if asks_identity(request):
            await self._identify(exchange)
            return
        with self._cond:
            self.requests.append(request)
            self._cond.notify_all()
        rule = self._rule_for(request)
        if rule is not None:
            await rule.handler(exchange)
        else:
            await self.truth(exchange)

    async def truth(self, exchange):
        await answers.answer(self, exchange)

    async def _identify(self, exchange):
        with self._cond:
            self.identity_requests.append(exchange.request)
            self._cond.notify_all()
        await answers.identity(self, exchange)

    async def follow(self, exchange, rv):
        await follow(self, exchange, rv)


@contextlib.contextmanager
def servers(leaf):
    """make(tls=leaf, ...) starts fake API servers. The end of the block fails if one of them had an
    error."""
    made = []

    def make(tls=leaf, **more):
        api = FakeApi(tls=tls, **more).start()
        made.append(api)
        return api
    try:
        yield make
    finally:
        for api in made:
            api.stop()
    errors = [error for api in made for error in api.errors]
    assert not errors, "\n".join(errors)
