# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 41-43; docs/kubernetes-protocol.md "Hot loops": whatever a server answers, it is not
asked in a hot loop."""
import itertools

from control import at_least, wait_until
from fakeapi import END, EOF, RST, bookmark, error_event, ev, service

FIRST_MS, PAUSES = 100, 3
BACKOFF_MS = [FIRST_MS * 2 ** n for n in range(30)]
BACKOFF = {"backoff": {"initial": f"{FIRST_MS}ms", "factor": 2.0, "max": "1h", "jitter": 0.0}}
# The requests between two pauses: a list, six streams at once, and the request that replaces one.
MOST = 8
ONE = service("n/a")


def watches(*steps):
    def play(api):
        api.on_watch("services", times=None).stream(*steps)
    return play


def fails(kind, *args, **more):
    def play(api):
        getattr(api, f"on_{kind}")("services", times=None).fail(*args, **more)
    return play


def streams(*steps):
    def play(api):
        api.watch_list = True
        api.on_stream("services", times=None).stream(*steps)
    return play


def ever_newer(event):
    """Streams that end after one event, each with a newer version."""
    def play(api):
        rvs = itertools.count(100)

        async def handler(exchange):
            await exchange.start_stream()
            await exchange.event(event(next(rvs)))
            await exchange.end_stream()
        api.on_watch("services", times=None).run(handler)
    return play


def page(rv, token):
    return {"kind": "ServiceList", "apiVersion": "v1", "items": [],
            "metadata": {"resourceVersion": str(rv), "continue": token}}


BARE = {"kind": "ServiceList", "items": []}


def unversioned(*steps):
    def play(api):
        api.on_list("services", times=None).reply(body=BARE)
        api.on_watch("services", times=None).stream(*steps)
    return play


def same_token(api):
    api.on_list("services", times=None).reply(body=page(5, "again"))


def two_tokens(api):
    api.on_list("services", times=None, where=lambda r: r.token != "a").reply(body=page(5, "a"))
    api.on_list("services", times=None, where=lambda r: r.token == "a").reply(body=page(5, "b"))


def expired_token(api):
    api.on_list("services", times=None, where=lambda r: not r.token and r.limit).reply(
        body=page(5, "old"))
    api.on_list("services", times=None).fail(410)


def lists_of_ever_older_versions(api):
    rvs = itertools.count(10 ** 6, -1)

    async def handler(exchange):
        await exchange.answer(body=page(next(rvs), ""))
    api.on_list("services", times=None).run(handler)
    api.on_watch("services", times=None).stream(error_event(410), END)


def too_large(api):
    details = {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 0}
    api.on_watch("services", times=None).stream(error_event(504, "Timeout", details=details), END)
    api.on_list("services", times=None, where=lambda r: r.rv != "0").fail(504, details=details)


def drops(kind, how):
    def play(api):
        getattr(api, f"on_{kind}")("services", times=None).drop(how)
    return play


def replies(kind, **how):
    def play(api):
        getattr(api, f"on_{kind}")("services", times=None).reply(**how)
    return play


RUDE = {
    "a watch that ends at once": watches(END),
    "a watch that dies at once": watches(RST),
    "a watch that is cut at once": watches(EOF),
    "a watch of 200 and nothing": replies("watch", body=b""),
    "a watch of 200 and white space": replies("watch", body=b" \n\n"),
    "a watch that is HTML": replies("watch", body=b"<html>", type="text/html"),
    "a watch of an event that was there before": watches(ev("MODIFIED", ONE, rv=1), END),
    "a watch of an event that was there, then cut": watches(ev("MODIFIED", ONE, rv=1), RST),
    "a watch of one bookmark": watches(bookmark(1), END),
    "watches of ever newer events": ever_newer(lambda rv: ev("MODIFIED", ONE, rv=rv)),
    "watches of ever newer bookmarks": ever_newer(bookmark),
    "a watch of a wrong kind": watches(ev("ADDED", {**ONE, "kind": "Pod"}), END),
    "a bookmark of the past": watches(bookmark(0), END),
    "an ERROR 500": watches(error_event(500), END),
    "an ERROR 410": watches(error_event(410), END),
    "an ERROR 429": watches(error_event(429), END),
    "an ERROR 403": watches(error_event(403), END),
    "an event, then ERROR 410": watches(ev("MODIFIED", ONE, rv=1), error_event(410), END),
    "broken JSON": watches(b"{]", END),
    "half a frame": watches(b'{"type":"ADDED"', END),
    "HTTP 410 to a watch": fails("watch", 410),
    "HTTP 401 to a watch": fails("watch", 401),
    "HTTP 429 to a watch, Retry-After 0": fails("watch", 429, retry_after=0),
    "a redirect": fails("watch", 302, headers={"Location": "/"}),
    "a watch without an answer": drops("watch", "rst"),
    "HTTP 410 to a list": fails("list", 410),
    "HTTP 504 too large to all": too_large,
    "a list without an answer": drops("list", "eof"),
    "a list that breaks off": replies("list", body=page(5, ""), only=150, end="rst"),
    "a list that is HTML": replies("list", body=b"<html>", type="text/html"),
    "a list without a version": replies("list", body=BARE),
    "no version, and watches that end at once": unversioned(END),
    "no version, and watches of one event": unversioned(ev("ADDED", ONE), END),
    "no version, and watches that die": unversioned(ev("ADDED", ONE), RST),
    "no version, and ERROR 410": unversioned(error_event(410), END),
    "the same token for ever": same_token,
    "two tokens in turn": two_tokens,
    "a token that has expired": expired_token,
    "ever older lists": lists_of_ever_older_versions,
    "a stream that ends at once": streams(END),
    "a stream that ends after an event": streams(ev("ADDED", ONE, rv=9), END),
    "a stream that dies after an event": streams(ev("ADDED", ONE, rv=9), RST),
    "a stream of ERROR 410": streams(error_event(410), END),
    "a stream that syncs and ends": streams(bookmark(9, initial_end=True), END),
    "a stream that syncs, then ERROR 500": streams(bookmark(9, initial_end=True),
                                                   error_event(500), END),
    "a stream that syncs, then ERROR 410": streams(bookmark(9, initial_end=True),
                                                   error_event(410), END),
    "streams not known": fails("stream", 400),
}

# The cases that come to rest in the end: a list takes the place of the streams, or a watch goes on.
MENDED = {"a list without a version", "a stream that ends at once", "a stream that ends after an event",
          "a stream that dies after an event", "a stream that syncs and ends", "streams not known"}


class Case:
    """The answers to one watch among many, whose requests have its label selector."""

    def __init__(self, api, number, how):
        self.api, self.how = api, how
        self.name, self.selector = f"w{number}", f"case={number}"
        RUDE[how](self)

    def is_asked(self, request):
        return request.query.get("labelSelector") == self.selector

    def on(self, kind, resource, times, where=None):
        return self.api.on(kind=kind, resource=resource, times=times,
                           where=lambda r: self.is_asked(r) and (where is None or where(r)))

    def on_list(self, *args, **more):
        return self.on("L", *args, **more)

    def on_watch(self, *args, **more):
        return self.on("W", *args, **more)

    def on_stream(self, *args, **more):
        return self.on("S", *args, **more)

    def cluster(self, factory):
        """A cluster for this case alone, so that no answer delays another case."""
        mode = "on" if "stream" in self.how else "off"
        return factory.cluster(self.api, {**BACKOFF, "watch_list": mode})

    def watch(self):
        return {"resource": "services", "namespaces": ["*"], "cluster": self.name,
                "label_selector": self.selector,
                "guard": {"hold": "0s", "relist_deletes": "off"}}

    def bursts(self):
        """The numbers of requests between two pauses. If the machine pauses, that looks like a
        pause of the daemon: it makes bursts shorter, never longer."""
        times = [r.time for r in self.api.of("services") if self.is_asked(r)]
        out = [1] if times else []
        for before, now in zip(times, times[1:]):
            if at_least(FIRST_MS / 1000, now - before):
                out.append(0)
            out[-1] += 1
        return out


def test_s41_no_answer_makes_a_hot_loop(api, factory):
    """The test counts no seconds, only requests between pauses; failures that are logged have
    growing pauses."""
    api.watch_list = True
    cases = [Case(api, number, how) for number, how in enumerate(RUDE)]
    d = factory.daemon(clusters={case.name: case.cluster(factory) for case in cases},
                       watches={case.name: case.watch() for case in cases}, state_dir="none")

    def seen():
        accepted, rows = api.accepted, {case.how: case.bursts() for case in cases}
        assert max(max(bursts, default=0) for bursts in rows.values()) <= MOST, rows
        most = sum(map(sum, rows.values())) + len(cases)
        assert accepted <= most, f"connections are not made in a hot loop either: {rows}"
        return rows

    def over():
        shown, rows = d.control.status()["watches"], seen()
        return all(shown[case.name]["state"] == "watching" if case.how in MENDED
                   else len(rows[case.how]) > PAUSES for case in cases)
    wait_until(over, what=lambda: f"{PAUSES} pauses of each: {seen()}", interval=0.1)
    for case in cases:
        told = [line["retry_in_ms"] for line in d.log(msg="watch failed", watch=case.name)]
        assert told == BACKOFF_MS[:len(told)], case.how
    assert d.running() and d.control.alive()
