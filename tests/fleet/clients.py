# SPDX-License-Identifier: Apache-2.0
"""The clients that are compared: the requests of each, how often it sends them, and how it waits.

informerd's figures are measured (measured.json). The figures of the others follow from their rules,
with the objects of the same measurement:
* k8s.io/client-go at 32ce75a7 (master, 2026-07-24, on the way to 1.37): tools/cache/reflector.go
  (waits of 0.8 s x 2 up to 30 s, each up to twice as long; streams of 5 to 10 min; a broken stream
  is reopened at once, a refused one after a wait; 410 = list again after a wait), features/
  known_features.go (a list is a watch since 1.35), rest/with_retry.go (429 with Retry-After: again
  after exactly that, 10 times), rest/config.go (gzip is asked for), transport/cache.go (HTTP/2: one
  connection; no TLS session is kept). It keeps nothing over restarts and has no random delay at the
  start.
* kube-proxy of kubernetes/kubernetes at 002c85b2: cmd/kube-proxy/app/server.go (informers of
  Services, EndpointSlices, ServiceCIDRs), pkg/proxy/node.go (one of its own Node, before all
  others); protobuf by default.
* The bytes that a core of the server encodes per second: BenchmarkSerializeObject,
  kubernetes/kubernetes#141809 and #141586 (master, Go 1.26, 14.4 MB of Pods): JSON 60 ms by
  HTTP/1.1 and 72 ms by HTTP/2, 98 ms with gzip, protobuf of the same Pods 43 ms by HTTP/2.
* gzip makes a list 7.6 times smaller (measured on 10 000 EndpointSlices).
"""
import dataclasses

JSON_HTTP1, JSON_HTTP2, JSON_GZIP, PROTOBUF_HTTP2 = (14.4e6 / s for s in (.0603, .0718, .098,
                                                                          .0429))
GZIP = 7.6
SMALL = 2000        # bytes of a list of one or two objects
IDENTITY = "list namespaces"    # informerd asks each server process which cluster it is


@dataclasses.dataclass(frozen=True)
class Stream:
    """One watch: the bytes of its list on the wire, the bytes of its objects in etcd (0 = so few
    that the list needs one seat), and how many bytes of the list a core of the server makes per
    second."""
    list_bytes: float
    stored: float
    encode: float


@dataclasses.dataclass(frozen=True)
class Client:
    """The behaviour of an agent. start: "list" (a LIST, then a watch), "stream" (a streaming list,
    which goes on as the watch), or "warm" (a watch from the version on disk). Times in seconds."""
    name: str
    start: str
    streams: tuple
    relist: str = "list"
    event: float = 0            # bytes of one change of an EndpointSlice
    bookmark: float = 0
    renewal: float = 0          # bytes received when a stream is opened
    handshake: float = 0        # bytes received in a full TLS handshake
    one_connection: bool = False
    keeps_sessions: bool = True
    first_alone: bool = False   # the first stream must be in sync before the others begin
    obeys_exactly: bool = False     # waits exactly Retry-After
    reopens_at_once: bool = False   # reopens a broken stream without a wait
    gets: int = 0               # small requests at each start, all at once
    gets_alone: bool = False    # they have a connection that no stream takes over
    start_jitter: float = 0
    relist_jitter: float = 0
    list_concurrency: int = 4

    def with_settings(self, name, **settings):
        return dataclasses.replace(self, name=name, **settings)


def gets(phase):
    """The number of small requests, which go to each server process."""
    return sum(n for kind, n in phase["requests"].items()
               if kind.split()[0] == "get" or kind == IDENTITY)


def others(phase):
    """All requests but those for the cluster's identity, of which each connection has one at
    most."""
    asked = phase["requests"].get(IDENTITY, 0)
    if not 0 < asked <= phase["connections"]:
        raise ValueError(f"not each server process is asked once which cluster it is: {phase}")
    return {kind: n for kind, n in phase["requests"].items() if kind != IDENTITY}


def check(measured):
    """Raises ValueError when the measured daemon behaves differently from the simulated one."""
    names, phases = list(measured["units"]["lists"]), measured["phases"]
    once = {f"{kind} {name}": 1 for name in names for kind in ("list", "watch")}
    if others(phases["cold"]) != once:
        raise ValueError(f"a cold start is not a list and a watch per stream: {phases['cold']}")
    if others(phases["warm"]) != {f"watch {name}": 1 for name in names}:
        raise ValueError(f"a warm start is not a watch per stream: {phases['warm']}")
    again = {kind: n + kind.startswith("watch") for kind, n in once.items()}
    if others(phases["server_restarted"]) != again:
        raise ValueError("after a restart of the server it is not watch, list, watch: "
                         f"{phases['server_restarted']}")
    lost = phases["server_lost"]
    if sum(others(lost).values()) != lost["streams"]:
        raise ValueError(f"a stream does not just move to another server: {lost}")
    renewal = measured["units"]["renewal"]
    if renewal["requests"] != 1 or renewal["connections"] != 0:
        raise ValueError(f"a stream is not renewed by one request on its connection: {renewal}")


def clients(measured):
    """{short name: client} of all clients."""
    check(measured)
    lists = list(measured["units"]["lists"].values())
    units = measured["units"]
    ratio = sum(one["protobuf"] for one in lists) / sum(one["json"] for one in lists)
    overhead = measured["phases"]["cold"]["received"] / sum(one["json"] for one in lists)
    opened = units["renewal"]["received"]
    lost = measured["phases"]["server_lost"]
    base = {"event": units["event"], "bookmark": units["bookmark"], "renewal": opened,
            "handshake": lost["received"] / lost["streams"] - opened}

    def streams(kind, encode, factor=1.0):
        return tuple(Stream(one[kind] * overhead * factor, one["protobuf"], encode)
                     for one in lists)

    def started(name, how):
        phase = measured["phases"][name]
        return Client(f"informerd, {name}", how, streams("json", JSON_HTTP1), gets=gets(phase),
                      gets_alone=phase["connections"] > len(lists), **base)

    go = {**base, "relist": "stream", "one_connection": True, "keeps_sessions": False,
          "obeys_exactly": True, "reopens_at_once": True}
    proxy = {**go, "event": base["event"] * ratio, "bookmark": base["bookmark"] * ratio}
    small = Stream(SMALL, 1, PROTOBUF_HTTP2 * ratio)
    return {
        "cold": started("cold", "list"),
        "warm": started("warm", "warm"),
        "client-go": Client("client-go 1.35+", "stream", streams("watch_list_json", JSON_HTTP2),
                            **go),
        "client-go-list": Client("client-go before 1.35", "list",
                                 streams("json", JSON_GZIP / GZIP, 1 / GZIP),
                                 **{**go, "relist": "list"}),
        "kube-proxy": Client("kube-proxy 1.35+", "stream",
                             (small, *streams("protobuf", PROTOBUF_HTTP2 * ratio), small),
                             first_alone=True, **proxy)}
