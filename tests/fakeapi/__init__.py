# SPDX-License-Identifier: Apache-2.0
"""A scripted Kubernetes API server for tests and the demo: real TLS, HTTP/1.1, LIST and WATCH.

    from fakeapi import FakeApi, Authority, service, endpointslice

    ca = Authority("/some/dir")                       # writes certificates there
    with FakeApi(tls=ca.server()) as api:             # own thread, 127.0.0.1, free port
        api.apply(service("default/web", ports=[80])) # create or change: bumps the RV
        api.apply(endpointslice("default/web-x1", "web", ["10.1.0.5"]), rv=55)
        api.delete("services", "default/web")
        api.kubeconfig("/some/dir/kubeconfig", ca=ca, token="t0k")
        api.bookmark()                                # a BOOKMARK at the current RV on every watch
        api.compact()                                 # older watches: 410 in the stream
        api.stop_listening(); api.drop("rst"); api.listen()          # away for a while
        api.restart("eof")                            # the same with an empty watch cache
        api.restore(api.snapshot())                   # or an RV: etcd comes back from a backup
        api.kill(); api.revive()                      # its process dies; another one begins
        api.define("widgets.v1.example.com", kind="Widget", short_names=["wd"])     # a CRD
        api.undefine("widgets.example.com")           # DELETED for each, end, 404 in text

Without a script it answers like a 1.33: paging, selectors, `resourceVersion`, history, discovery,
and what else queries.py checks. Attributes switch it, before or while it runs:

    watch_list (False)           sendInitialEvents: 422, or the stream that was asked for
    bookmarks (True), bookmark_period (60 s)      its own, also 2 s before timeoutSeconds end, and
                                 only if the RV has moved; api.bookmark(rv=5) sends any RV
    too_large_wait (0 s)         how long a LIST or stream waits for an RV of the future
    watch_cache (True)           LIST with resourceVersion=0 comes in one piece whatever the limit
    drip_handshake (None)        seconds between two bytes of the server's part of TLS handshakes
    gzip_above (128 KiB)         larger LISTs are compressed if the request accepts it, as so many
                                 members: gzip_members (1)
    partial_metadata (True), aggregated_discovery (True)     by Accept, else whole objects, plain
    version                      the document at /version; break_group(), mend_group() for /apis
    identity (a uid)             the answer to the LIST of namespace kube-system: a uid, None (no
                                 such namespace), a status (403), "rst", "eof", "stall";
                                 identity_gate (None) holds the answer; these requests are in
                                 api.identity_requests and in no other list
    access (None)                what a SelfSubjectAccessReview says: None = all is allowed; a status
                                 (404, 405, 403); or access(review) -> bool or (bool, reason);
                                 api.reviews has what was asked; selectors = False: as before 1.31,
                                 selectors in a review are ignored
    seen_rv (None)               the newest RV that this server knows of its store: api.lag() stops
                                 it there, api.catch_up() goes on
    tokens, client_cns, passwords (None)    sets of credentials that are let in; else 401; a
                                 password is "USER:PASSWORD"
    prefix ("")                  what stands in front of each path, as behind Rancher; requests
                                 without it get 404, and are in api.misdirected and in no other list

A script overrides requests one by one, in order; times=None serves for ever; see script.py:

        api.on_list("services", times=None).fail(403)                 # a Status; .cancel() ends it
        api.on_list("services").reply(body=b"<html>", type="text/html", end="rst")
        api.on_watch("services").stream(ev("ADDED", obj), b'{"type":', gate, RST)
        api.on_stream("services").fail(429)                           # watch-list requests only
        api.on("GET", "/version").run(handler)                        # async def handler(exchange)

FakeApi(store=other.store) is another server of the same cluster; Several([api, ...]) has the calls of one
server that tests use, for all of them.

`gate = Gate()` holds a script until the test calls gate.open(); gate.reached is set when the script
waits there. api.requests has all requests; api.wait_for_request(lambda r: r.kind == "W") waits for
one, and api.sequence("services") == ["S(-)", "L(0)", "W(10)"] writes them as the scenarios do. A
request has kind, rv, limit, token, timeout_seconds, accept, path, query, time, conn_id. All of this
may be called from any thread.
"""
from .certs import Authority
from .objects import (bookmark, custom_object, endpointslice, error_event, ev, service, simple,
                      status_object)
from .script import END, EOF, LIVE, RST, STALL, Gate, Pause, gzip_member, gzip_members
from .server import FakeApi, servers
from .several import Several

__all__ = ["Authority", "END", "EOF", "FakeApi", "Gate", "LIVE", "Pause", "RST", "STALL", "Several",
           "bookmark", "custom_object", "endpointslice", "error_event", "ev", "gzip_member",
           "gzip_members", "servers", "service", "simple", "status_object"]
