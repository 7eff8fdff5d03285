# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS 41-43 and PROTOCOL 1.7: whatever a server answers, it is not asked in a hot loop."""
import itertools
import time

import pytest
from fakeapi import END, EOF, RST, bookmark, error_event, ev, service

SECONDS = 3
# The defaults but for connections: the first pause is 0.8 s at least.
LADDER = {"connect_timeout": "10s", "tls_timeout": "10s", "response_timeout": "30s",
          "backoff": {"initial": "800ms", "factor": 2.0, "max": "30s", "jitter": 1.0}}
# In 3 s: a list, six streams at once, the same again behind a pause, and what either falls back to.
MOST = 16
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
    """Streams that end after one event, each of a newer version."""
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
    "a list without a version": replies("list", body={"kind": "ServiceList", "items": []}),
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


@pytest.mark.slow
@pytest.mark.parametrize("how", RUDE)
def test_s41_no_answer_makes_a_hot_loop(api, daemon, how):
    RUDE[how](api)
    guard = {"hold": "0s", "relist_deletes": "off"}
    d = daemon(api, tuning={**LADDER, "watch_list": "on" if "stream" in how else "off"},
               watches={"services": {"resource": "services", "namespaces": ["*"], "guard": guard}})
    first = api.wait_for_request(lambda r: r.resource == "services")
    time.sleep(max(0, first.time + SECONDS - time.monotonic()))
    accepted, sequence = api.accepted, api.sequence("services")
    asked = sum(r.time <= first.time + SECONDS for r in api.of("services"))
    print(how, asked, sequence)
    assert asked <= MOST, sequence
    assert accepted <= len(sequence) + 1, "nor are connections made in one"
    assert d.running() and d.control.alive()
