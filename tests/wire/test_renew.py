# SPDX-License-Identifier: Apache-2.0
"""New credentials: each open watch gets another connection before the old one closes, without a LIST
(docs/design.md "New credentials")."""
import collections
import itertools
import os
import threading

import pytest

import campaign
import proctree
from control import wait_until
from fakeapi import END, RST, Authority, Gate, error_event, ev, service
from harness import NOW, hook_settings, is_sanitized

NODE = "system:node:node-1"
NOT_RENEWED = "watch not renewed: its open stream goes on"
AT_A_TIME = 8       # RENEWALS_AT_A_TIME in daemon/io/renewals.h
IDLE = 4            # POOL_MAX_IDLE in daemon/io/pool.h
# The watch that a test lets the server refuse, after which the daemon reads its files again.
WATCHES = {"services": {"resource": "services", "namespaces": ["*"]},
           "configmaps": {"resource": "configmaps", "namespaces": ["*"]}}


class Identity:
    """The files of a client certificate and its key, as a kubelet renews them."""

    def __init__(self, authority, folder):
        self.authority, self.folder, self.numbers = authority, folder, itertools.count(1)
        folder.mkdir()
        self.cert_file, self.key_file = folder / "client.crt", folder / "client.key"
        self.cn = None
        self.renew()

    def renew(self, authority=None):
        """Another certificate and key, with a name of their own."""
        self.cn = f"{NODE}-{next(self.numbers)}"
        leaf = (authority or self.authority).client(self.cn)
        for path, data in ((self.key_file, leaf.key), (self.cert_file, leaf.cert)):
            new = path.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_bytes(data)
            os.replace(new, path)


@pytest.fixture
def tls_api(new_api, authority):
    return new_api(tls_options={"client_ca": authority, "client_required": True})


@pytest.fixture
def identity(authority, tmp_path):
    return Identity(authority, tmp_path / "pki")


@pytest.fixture
def running(tls_api, daemon, hook, identity):
    """running(**settings): a daemon whose hook h has handled Service n/first."""
    def make(watches=None, tuning=None, **settings):
        tls_api.apply(service("n/first"))
        d = daemon(tls_api, watches={**WATCHES, **(watches or {})}, tuning=tuning,
                   credentials={"client": identity, "client_files": True},
                   hooks={"h": hook_settings(hook, **NOW, **settings)})
        hook.wait(1)
        d.caught_up(tls_api)
        tls_api.wait(lambda: tls_api.watching("services") and tls_api.watching("configmaps"))
        d.hear_newer_bookmark(tls_api)
        hook.forget()
        return d
    return make


def read_files(api):
    """Lets the daemon read its credential files again: it does so after a 401. The bookmark shows
    that the watch was served: one that was not would be followed by a LIST."""
    api.bookmark("configmaps")
    refused = api.on_watch("configmaps").fail(401)
    api.end_watches("configmaps")
    api.wait(lambda: refused.served, what="a watch is refused")


def names(api, plural="services"):
    """The names in the client certificates of the open watches."""
    return {w.exchange.conn.client_cn for w in list(api.watchers)
            if w.table.resource.plural == plural}


def wait_renewed(api, identity, plural="services", count=1):
    api.wait(lambda: names(api, plural) == {identity.cn} and api.watching(plural) == count,
             what=f"{plural} are watched as {identity.cn}")


def lists(api):
    return [r for r in api.requests if r.kind in ("L", "S")]


def failed_renewals(d):
    return d.log(msg=NOT_RENEWED)


class Streams:
    """Counts the watches of one resource that are open at a time, by namespace."""

    def __init__(self, api, plural="services"):
        self.api, self.open, self.most = api, collections.Counter(), collections.Counter()
        api.on_watch(plural, times=None).run(self._serve)

    async def _serve(self, exchange):
        scope = exchange.request.namespace
        self.open[scope] += 1
        self.most[scope] = max(self.most[scope], self.open[scope])
        try:
            await self.api.truth(exchange)
        finally:
            self.open[scope] -= 1


class Load:
    """Changes Services steadily: each of them again and again, and some are deleted and made
    anew."""

    def __init__(self, api, namespaces=("n",), objects=5):
        self.api, self.told = api, []
        self._keys = [f"{ns}/s{i}" for ns in namespaces for i in range(objects)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _change(self, step):
        key = self._keys[step % len(self._keys)]
        if self.api.get("services", key) is not None and step % 7 == 3:
            self.api.delete("services", key)
            self.told.append(("DELETED", key))
            return
        known = self.api.get("services", key)
        stored = self.api.apply(service(key, ports=[1 + step]))
        self.told.append(("ADDED" if known is None else "MODIFIED", key,
                          stored["metadata"]["resourceVersion"]))

    def _run(self):
        for step in itertools.count():
            if self._over.is_set():
                return
            self._change(step)
            self._over.wait(0.002)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_exc):
        self._over.set()
        self._thread.join()


def told_of(line):
    key = f"{line['namespace']}/{line['name']}"
    if line["type"] == "DELETED":
        return "DELETED", key
    return line["type"], key, line["object"]["metadata"]["resourceVersion"]


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_s113_each_change_is_told_once_and_in_order_while_certificates_rotate(
        new_api, daemon, authority, identity, hook, version):
    """In long form, a thousand times."""
    api = new_api(tls_options={"client_ca": authority, "client_required": True, "high": version})
    d = daemon(api, watches=WATCHES, credentials={"client": identity, "client_files": True},
               hooks={"h": hook_settings(hook, **NOW)})
    d.synced()
    api.wait(lambda: api.watching("services") and api.watching("configmaps"))
    streams, first_lists = Streams(api), len(lists(api))
    with d.follow("stream", "services") as f:
        f.wait(1)       # SYNCED
        with Load(api) as load:
            for _ in range(campaign.size(5, 1000)):
                begun = len(load.told)
                identity.renew()
                read_files(api)
                wait_renewed(api, identity)
                wait_renewed(api, identity, "configmaps")
                wait_until(lambda: len(load.told) > begun + 20, what="changes")
        f.wait(1 + len(load.told))
        d.caught_up(api)
        assert [told_of(line) for line in f.lines[1:]] == load.told
    assert len(lists(api)) == first_lists
    assert max(streams.most.values()) == 2
    assert not failed_renewals(d)
    runs = collections.Counter((run.what, run.event["resource_version"]) for run in hook.runs())
    assert set(runs.values()) == {1}


def test_s113_rotations_leave_no_descriptors_and_no_memory_behind(running, tls_api, identity):
    many = [f"ns{i}" for i in range(5)]
    d = running(watches={"secrets": {"resource": "secrets", "namespaces": many}})

    def rotate(times):
        for _ in range(times):
            identity.renew()
            read_files(tls_api)
            for plural, count in (("services", 1), ("configmaps", 1), ("secrets", len(many))):
                wait_renewed(tls_api, identity, plural, count)
        tls_api.wait(lambda: tls_api.open_conns() <= len(tls_api.watchers) + IDLE)
        return len(proctree.fds(d.pid)), proctree.memory_kb(d.pid, "VmRSS")
    tls_api.wait_watching("secrets", len(many))
    fds, memory_kb = rotate(3)
    fds_then, memory_kb_then = rotate(campaign.size(5, 1000))
    assert fds_then <= fds + IDLE
    assert is_sanitized() or memory_kb_then < memory_kb + 1024
    assert len(tls_api.of("secrets", "L")) == len(many)


def test_the_old_stream_is_closed_only_when_the_new_one_is_served(running, tls_api, identity, hook):
    d = running()
    old = next(w for w in tls_api.watchers if w.table.resource.plural == "services").exchange.conn
    gate = Gate()
    tls_api.on_watch("services").hold(gate)
    identity.renew()
    read_files(tls_api)
    gate.wait_reached()
    for port in (81, 82, 83):
        tls_api.apply(service("n/first", ports=[port]))
        hook.wait_for(lambda run: run.port == port)
    tls_api.delete("services", "n/first")
    hook.wait_what("DELETED", "n/first")
    tls_api.apply(service("n/first", ports=[84]))
    hook.wait_what("ADDED", "n/first")
    assert old.open and d.control.watch("services")["state"] == "watching"
    gate.open()
    tls_api.wait(lambda: not old.open)
    wait_renewed(tls_api, identity)
    tls_api.apply(service("n/first", ports=[85]))
    hook.wait_for(lambda run: run.port == 85)
    d.caught_up(tls_api)
    assert [(run.event["type"], run.port) for run in hook.runs()] == [
        ("MODIFIED", 81), ("MODIFIED", 82), ("MODIFIED", 83), ("DELETED", 83), ("ADDED", 84),
        ("MODIFIED", 85)]
    assert len(tls_api.of("services", "L")) == 1


def test_half_an_event_of_the_old_stream_comes_whole_on_the_new_one(running, tls_api, identity,
                                                                      hook):
    async def half(exchange):
        await exchange.start_stream()
        tls_api.answered(exchange.request)
        await cut.pass_by()
        frame = b'{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":{"na'
        await exchange.conn.send(exchange.chunk(frame))
        await exchange.conn.gone()
    cut = Gate()
    d = running()
    tls_api.on_watch("services").run(half)
    tls_api.end_watches("services")
    cut.wait_reached()
    tls_api.apply(service("n/second", ports=[90]))
    cut.open()
    identity.renew()
    read_files(tls_api)
    wait_renewed(tls_api, identity)
    hook.wait_what("ADDED", "n/second")
    d.caught_up(tls_api)
    assert hook.what() == [("ADDED", "n/second")]
    assert len(tls_api.of("services", "L")) == 1


REFUSALS = {
    "401": lambda rule: rule.fail(401),
    "403": lambda rule: rule.fail(403),
    "410": lambda rule: rule.fail(410, reason="Expired"),
    "500": lambda rule: rule.fail(500),
    "503": lambda rule: rule.fail(503, retry_after=0),
    "html": lambda rule: rule.reply(body=b"<html>", type="text/html"),
    "cut": lambda rule: rule.drop(),
    "410 in the stream": lambda rule: rule.stream(error_event(410, "Expired", "too old"), END),
    "ended at once": lambda rule: rule.stream(END),
    "broken": lambda rule: rule.stream(b"garbage", RST),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_stream_leaves_the_old_one_alone_and_is_tried_again(running, tls_api, identity,
                                                                        hook, refusal):
    d = running()
    old = next(w for w in tls_api.watchers if w.table.resource.plural == "services").exchange.conn
    rule = REFUSALS[refusal](tls_api.on_watch("services", times=None))
    identity.renew()
    read_files(tls_api)
    tls_api.wait(lambda: rule.served >= 2, what="two refusals")
    tls_api.apply(service("n/first", ports=[81]))
    hook.wait_for(lambda run: run.port == 81)
    assert old.open and d.control.watch("services")["state"] == "watching"
    rule.cancel()
    wait_renewed(tls_api, identity)
    tls_api.wait(lambda: not old.open)
    tls_api.apply(service("n/first", ports=[82]))
    hook.wait_for(lambda run: run.port == 82)
    d.caught_up(tls_api)
    assert [run.port for run in hook.runs()] == [81, 82]
    assert len(tls_api.of("services", "L")) == 1
    assert len(failed_renewals(d)) >= 2
    assert len(d.problems(msg=NOT_RENEWED)) < 3, "not at each try"


def test_a_certificate_that_the_server_refuses_leaves_the_old_stream_alone(
        running, tls_api, identity, hook, tmp_path):
    d = running()
    stranger = Authority(tmp_path / "stranger", "stranger")
    refused = len(tls_api.tls_errors)
    identity.renew(stranger)
    read_files(tls_api)
    tls_api.wait(lambda: len(tls_api.tls_errors) > refused + 2)
    tls_api.apply(service("n/first", ports=[81]))
    hook.wait_for(lambda run: run.port == 81)
    assert names(tls_api) == {f"{NODE}-1"} and d.control.watch("services")["state"] == "watching"
    assert len(tls_api.of("services", "L")) == 1
    d.wait_problem("watch not renewed", "services")


def test_a_new_ca_that_no_server_fits_ends_no_stream_and_the_old_one_is_not_used_again(
        tls_api, daemon, authority, identity, hook, tmp_path):
    ca = tmp_path / "ca.crt"
    ca.write_bytes(authority.pem)
    tls_api.apply(service("n/first"))
    d = daemon(tls_api, watches=WATCHES, hooks={"h": hook_settings(hook, **NOW)},
               credentials={"ca": None, "ca_file": ca, "client": identity, "client_files": True})
    hook.wait(1)
    tls_api.wait(lambda: tls_api.watching("services") and tls_api.watching("configmaps"))
    other = Authority(tmp_path / "other", "other")
    new = tmp_path / "ca.new"
    new.write_bytes(other.pem)
    os.replace(new, ca)
    asked = len(tls_api.of("services", "W"))
    read_files(tls_api)
    d.wait_problem("watch not renewed", "certificate")
    tls_api.apply(service("n/first", ports=[81]))
    hook.wait_for(lambda run: run.port == 81)
    tls_api.end_watches("services")
    d.wait_problem("watch failed", "certificate", watch="services")
    assert len(tls_api.of("services", "W")) == asked
    new.write_bytes(authority.pem + other.pem)
    os.replace(new, ca)
    d.stop()
    d.start()
    d.caught_up(tls_api)


def test_only_a_few_watches_are_renewed_at_a_time(running, tls_api, identity):
    many = [f"ns{i}" for i in range(3 * AT_A_TIME)]
    d = running(watches={"secrets": {"resource": "secrets", "namespaces": many}})
    tls_api.wait_watching("secrets", len(many))
    gate, before = Gate(), len(tls_api.of("secrets", "W"))
    tls_api.on_watch("secrets", times=None).hold(gate)
    identity.renew()
    read_files(tls_api)

    def asked():
        return len(tls_api.of("secrets", "W")) - before
    tls_api.wait(lambda: asked() >= AT_A_TIME - 2)
    tls_api.bookmark()
    d.caught_up(tls_api)
    assert asked() <= AT_A_TIME
    gate.open()
    wait_renewed(tls_api, identity, "secrets", len(many))
    wait_renewed(tls_api, identity)
    assert asked() == len(many), "each once"
    assert len(tls_api.of("secrets", "L")) == len(many)


def test_a_second_rotation_during_the_first_renews_all_streams_again(running, tls_api, identity):
    many = [f"ns{i}" for i in range(2 * AT_A_TIME)]
    running(watches={"secrets": {"resource": "secrets", "namespaces": many}})
    tls_api.wait_watching("secrets", len(many))
    gate = Gate()
    rule = tls_api.on_watch("secrets", times=None).hold(gate)
    identity.renew()
    read_files(tls_api)
    tls_api.wait(lambda: rule.served >= AT_A_TIME - 2)
    identity.renew()
    read_files(tls_api)
    tls_api.wait(lambda: names(tls_api, "configmaps") == {identity.cn})
    gate.open()
    wait_renewed(tls_api, identity, "secrets", len(many))
    wait_renewed(tls_api, identity)
    assert len(tls_api.of("secrets", "L")) == len(many)


def test_a_stream_that_ends_while_it_is_renewed_goes_on_as_ever(running, tls_api, identity, hook):
    d = running()
    gate = Gate()
    tls_api.on_watch("services").hold(gate)
    identity.renew()
    read_files(tls_api)
    gate.wait_reached()
    tls_api.apply(service("n/first", ports=[81]))
    hook.wait_for(lambda run: run.port == 81)
    tls_api.end_watches("services")
    wait_renewed(tls_api, identity)
    tls_api.apply(service("n/first", ports=[82]))
    hook.wait_for(lambda run: run.port == 82)
    gate.open()
    d.caught_up(tls_api)
    assert [run.port for run in hook.runs()] == [81, 82]
    assert len(tls_api.of("services", "L")) == 1


def test_a_server_that_is_behind_is_left_for_later(running, tls_api, identity, hook):
    d = running()
    rv = tls_api.rv
    for port in (81, 82):
        tls_api.apply(service("n/first", ports=[port]))
        hook.wait_for(lambda run, port=port: run.port == port)
    tls_api.rv = rv + 1     # the server says this of its etcd
    identity.renew()
    read_files(tls_api)
    d.wait_problem("watch not renewed", "behind", watch="services")
    wait_until(lambda: len(failed_renewals(d)) > 1, what="it is tried again")
    assert names(tls_api) == {f"{NODE}-1"}
    tls_api.rv = rv + 2
    wait_renewed(tls_api, identity)
    tls_api.apply(service("n/first", ports=[83]))
    hook.wait_for(lambda run: run.port == 83)
    assert [run.port for run in hook.runs()] == [81, 82, 83]
    assert len(tls_api.of("services", "L")) == 1


def test_versions_without_an_order_are_renewed_too(running, tls_api, identity, hook):
    """Two events come on the old and again on the new stream; they are told once."""
    running()
    obj = service("n/first", ports=[81])
    obj["metadata"].update(uid=tls_api.get("services", "n/first")["metadata"]["uid"],
                           resourceVersion="v-c")
    more = service("n/first", ports=[82])
    more["metadata"].update(obj["metadata"], resourceVersion="v-a")
    last = service("n/first", ports=[83])
    last["metadata"].update(obj["metadata"], resourceVersion="v-b")
    go, held = Gate(), Gate()
    tls_api.on_watch("services").stream(go, ev("MODIFIED", obj), ev("MODIFIED", more), Gate())
    tls_api.end_watches("services")
    go.wait_reached()
    tls_api.on_watch("services").stream(held, ev("MODIFIED", obj), ev("MODIFIED", more),
                                        ev("MODIFIED", last), Gate())
    identity.renew()
    read_files(tls_api)
    held.wait_reached()
    go.open()
    hook.wait_for(lambda run: run.port == 82)
    held.open()
    hook.wait_for(lambda run: run.port == 83)
    assert [run.port for run in hook.runs()] in ([81, 82, 83], [82, 83])
    assert len(tls_api.of("services", "L")) == 1
