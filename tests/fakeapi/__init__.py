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
        api.stop_listening(); api.drop("rst"); api.listen()          # restart on the same port

Without a script it answers like a server: paging, selectors, `resourceVersion`, history, discovery.
A script overrides requests one by one, in order; times=None serves for ever; see script.py:

        api.on_list("services", times=None).fail(403)                 # a Status; .cancel() ends it
        api.on_list("services").reply(body=b"<html>", type="text/html", end="rst")
        api.on_watch("services").stream(ev("ADDED", obj), b'{"type":', gate, RST)
        api.on("GET", "/version").run(handler)                        # async def handler(exchange)

`gate = Gate()` holds a script until the test calls gate.open(); gate.reached tells that it waits.
Everything asked is in api.requests; api.wait_for_request(lambda r: r.kind == "W"), and
api.sequence("services") == ["L(0)", "W(10)"] as in the scenarios. Call from any thread.
"""
from .certs import Authority
from .objects import (bookmark, custom_object, endpointslice, error_event, ev, service, simple,
                      status_object)
from .script import END, EOF, LIVE, RST, STALL, Gate, Pause
from .server import FakeApi

__all__ = ["Authority", "END", "EOF", "FakeApi", "Gate", "LIVE", "Pause", "RST", "STALL",
           "bookmark", "custom_object", "endpointslice", "error_event", "ev", "service", "simple",
           "status_object"]
