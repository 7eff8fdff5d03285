#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the requests of one daemon to API servers and their bytes: the input of model.py.

    measure.py --build DIR [--objects 2000] [--endpoints 10] [--write]

Everything runs on loopback: the real daemon, a balancer that counts bytes, and one or three fake
API servers over TLS. --write puts the figures into measured.json beside this file.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "wire")]
import balancer  # noqa: E402
import confwriter  # noqa: E402
import weight  # noqa: E402
from control import Control, wait_until  # noqa: E402
from fakeapi import Authority, FakeApi, endpointslice, service  # noqa: E402

WRITTEN = HERE / "measured.json"
NAMES = {"L": "list", "W": "watch", "S": "watch_list", "G": "get", "-": "other"}
WATCHES = ("services", "endpointslices")
ROUNDS = 20
EVENT_FRAME = len('{"type":"ADDED","object":}\n') + 9    # 9: the head of an HTTP/2 frame


def fill(api, objects, endpoints):
    """So many Services, each with one EndpointSlice of so many endpoints."""
    for number in range(objects):
        name = f"app-{number:05}"
        api.apply(service(f"shop/{name}", ports=(80, 443), labels={"app": name},
                          ip=f"10.96.{number // 256}.{number % 256}"))
        api.apply(slice_of(number, endpoints))


def slice_of(number, endpoints, shift=0):
    name = f"app-{number:05}"
    addresses = [f"10.{128 + (number >> 8) % 64}.{number % 256}.{n + shift + 1}"
                 for n in range(endpoints)]
    return endpointslice(f"shop/{name}-x7k2p", name, addresses, node="worker-00042.example.net")


class Servers:
    """One or more fake API servers over one store, behind a balancer."""

    def __init__(self, authority, count, objects, endpoints):
        leaf = authority.server()
        self.apis = [FakeApi(tls=leaf)]
        while len(self.apis) < count:
            self.apis.append(FakeApi(tls=leaf, store=self.apis[0].store))
        for api in self.apis:
            api.bookmark_period = 24 * 3600     # so long that only the tests send bookmarks
        fill(self.apis[0], objects, endpoints)

    def __enter__(self):
        for api in self.apis:
            api.start()
        self.balancer = balancer.Balancer([api.port for api in self.apis]).__enter__()
        return self

    def __exit__(self, *_exc):
        self.balancer.__exit__()
        for api in self.apis:
            api.stop()

    def watching(self):
        return sum(api.watching(name) for api in self.apis for name in WATCHES)

    def are_left(self):
        """Whether no client is connected and no stream is open."""
        return not any(api.conns or api.watchers for api in self.apis)

    def change_while_down(self, obj):
        wait_until(self.are_left, what="no connections")
        self.apis[0].apply(obj)

    def bookmark(self):
        for api in self.apis:
            api.bookmark()

    def totals(self):
        full = sum(api.handshakes - api.resumptions for api in self.apis)
        resumed = sum(api.resumptions for api in self.apis)
        return {**self.balancer.totals(), "handshakes_full": full, "handshakes_resumed": resumed}

    def requests(self):
        return [request for api in self.apis for request in api.requests + api.identity_requests]


class Phase:
    """Counts what happens in a `with` block; `figures` has the result."""

    def __init__(self, servers, agent):
        self.servers, self.agent = servers, agent

    def __enter__(self):
        self.before, self.asked = self.servers.totals(), self.servers.requests()
        return self

    def __exit__(self, kind, *_exc):
        if kind is not None:
            return
        end = self._caught_up()
        more = self._caught_up()    # the cost of catching up itself, which is subtracted
        self.figures = {name: 2 * end[name] - more[name] - self.before[name] for name in end}
        known = set(map(id, self.asked))
        counts = collections.Counter(
            f"{NAMES[request.kind]} {request.resource or request.path}"
            for request in self.servers.requests() if id(request) not in known)
        self.figures["requests"] = dict(sorted(counts.items()))

    def _caught_up(self):
        """The totals when the agent has read all that was sent before."""
        send_newer_bookmarks(self.servers)
        self.agent.seen(self.servers)
        return self.servers.totals()


class Agent:
    """The daemon with a watch of Services and one of EndpointSlices, and a hook that is quiet."""

    def __init__(self, build, folder, authority, servers):
        self.binary, self.folder = build / "informerd", folder
        self.servers, self.control = servers, Control(folder / "control.sock")
        servers.apis[0].kubeconfig(folder / "kubeconfig", ca=authority, token="t" * 900,
                                   server=servers.balancer.url)
        self.settings = {
            "node_name": "worker-00042",
            "control": {"socket": self.control.path},
            "clusters": {"prod": {"kubeconfig": folder / "kubeconfig", "tuning": {
                name: "1h" for name in ("connect_timeout", "tls_timeout", "response_timeout",
                                        "list_idle_timeout")}}},
            "watches": {name: {"resource": name, "namespaces": ["*"]} for name in WATCHES},
            "hooks": {"quiet": {"sources": list(WATCHES), "mode": "batch",
                                "command": ["/bin/true"]}}}
        if os.geteuid() == 0:
            self.settings["user"] = "root"
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def keeps(self, where):
        """Sets the agent's state_dir: a folder, or "none"."""
        self.config.write_text(confwriter.text(self.settings | {"state_dir": where}))

    @property
    def config(self):
        return self.folder / "informerd.conf"

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([self.binary, "-c", self.config], stderr=log,
                                            stdin=subprocess.DEVNULL, cwd="/")
        self.settled()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        wait_until(self.servers.are_left, what="no connections")

    def settled(self):
        """Waits until both watches are in sync, each with an open stream."""
        def done():
            if self.process.poll() is not None:
                raise RuntimeError(f"informerd ended: {(self.folder / 'log').read_text()}")
            if not self.control.alive() or self.servers.watching() != len(WATCHES):
                return False
            watches = self.control.status()["watches"].values()
            return all(w["synced"] and w["state"] == "watching" for w in watches)
        wait_until(done, what="synced", interval=0.02)

    def seen(self, servers, names=WATCHES):
        """Waits until these watches have read all that was sent so far."""
        rv = str(servers.apis[0].rv)

        def done():
            return all(self.control.watch(name)["resource_version"] == rv for name in names)
        wait_until(done, what=f"version {rv}")


def unit(servers, agent, act):
    """Bytes received in ROUNDS rounds of act()."""
    with Phase(servers, agent) as phase:
        for number in range(ROUNDS):
            act(number)
    if phase.figures["requests"]:
        raise RuntimeError(f"not quiet: {phase.figures['requests']}")
    return phase.figures["received"]


def send_newer_bookmarks(servers):
    """The cluster's version rises by a change that no watch selects, and bookmarks carry it."""
    servers.apis[0].rv += 1
    servers.bookmark()


def steady(servers, agent, endpoints):
    """The bytes of a bookmark, of a change, and of the renewal of a stream on the wire."""
    api = servers.apis[0]
    quiet = service("shop/app-00000", ports=(80, 443), labels={"app": "app-00000"})

    def bookmark(_number):
        send_newer_bookmarks(servers)
        agent.seen(servers)

    def change(number):
        api.apply(slice_of(0, endpoints, shift=number + 1))
        agent.seen(servers, ("endpointslices",))
    both_bookmarks = unit(servers, agent, bookmark)
    changes = unit(servers, agent, change)
    with Phase(servers, agent) as renewals:
        for _round in range(3):
            renew(servers, agent, quiet)
    with Phase(servers, agent) as bookmarks:
        for _round in range(3):
            come(servers, agent, quiet)
    streams = 3 * len(WATCHES)
    renewed, less = renewals.figures, bookmarks.figures
    return {"bookmark": both_bookmarks / ROUNDS / len(WATCHES), "event": changes / ROUNDS,
            "renewal": {"sent": renewed["sent"] / streams,
                        "received": round((renewed["received"] - less["received"]) / streams, 1),
                        "requests": sum(renewed["requests"].values()) / streams,
                        "connections": renewed["connections"] / streams}}


def watch_of(obj):
    return {"Service": "services", "EndpointSlice": "endpointslices"}[obj["kind"]]


def come(servers, agent, obj):
    """Sends something on each stream: one that ends soon and without any event counts as failed."""
    servers.apis[0].apply(obj)
    agent.seen(servers, [watch_of(obj)])
    servers.bookmark()
    agent.seen(servers)


def renew(servers, agent, quiet):
    """The servers end all streams in good order, after something has come on each."""
    come(servers, agent, quiet)
    asked = len(servers.requests())
    for api in servers.apis:
        api.end_watches()
    wait_until(lambda: len(servers.requests()) == asked + len(WATCHES), what="renewals")
    agent.settled()


def lists_of(servers):
    """The bytes of each resource's list, in each form that other clients ask for."""
    out = {}
    for name in WATCHES:
        table = servers.apis[0].store.table(name)
        objects = list(table.objects.values())
        body = b",".join(table.json_of(obj, in_list=True) for obj in objects)
        events = sum(len(table.json_of(obj)) + EVENT_FRAME for obj in objects)
        out[name] = {"objects": len(objects), "json": len(body),
                     "watch_list_json": events,
                     "protobuf": sum(map(weight.protobuf, objects))}
    return out


def phases_of(build, folder, objects, endpoints):
    """(figures of each phase, figures of single actions). The starts have a state_dir. The other
    phases have none: then the only open connections are those of the streams."""
    authority = Authority(folder / "ca")
    size, out = (objects, endpoints), {}
    with Servers(authority, 3, *size) as servers, \
            Agent(build, folder, authority, servers) as agent:
        agent.keeps(folder / "state")
        for name in ("cold", "warm"):
            with Phase(servers, agent) as phase:
                agent.start()
            out[name] = phase.figures
            agent.stop()
    with Servers(authority, 3, *size) as servers, \
            Agent(build, folder, authority, servers) as agent:
        agent.keeps("none")
        agent.start()
        units = {"lists": lists_of(servers), **steady(servers, agent, endpoints)}
        out["server_lost"] = server_lost(servers, agent)
        agent.stop()
    with Servers(authority, 1, *size) as servers, \
            Agent(build, folder, authority, servers) as agent:
        agent.keeps("none")
        out["server_restarted"] = server_restarted(servers, agent)
    return out, units


def server_restarted(servers, agent):
    """The only server restarts with an empty watch cache; an object changes meanwhile."""
    agent.start()
    come(servers, agent, slice_of(0, 2))
    with Phase(servers, agent) as phase:
        servers.apis[0].restart(before=lambda: servers.change_while_down(slice_of(0, 3)))
        agent.settled()
    agent.stop()
    return phase.figures


def server_lost(servers, agent):
    """The server with the streams goes away; the streams move to the others."""
    lost = max(servers.apis, key=lambda api: sum(map(api.watching, WATCHES)))
    moved = sum(map(lost.watching, WATCHES))
    with Phase(servers, agent) as phase:
        lost.stop_listening()
        lost.drop("rst")
        wait_until(lambda: not lost.conns and not lost.watchers, what="no connections")
        agent.settled()
    lost.listen()
    return {"streams": moved, **phase.figures}


def measure(build, objects, endpoints):
    """All figures, in the form of measured.json."""
    version = subprocess.run([build / "informerd", "-V"], text=True, capture_output=True,
                             check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        phases, units = phases_of(build, pathlib.Path(folder), objects, endpoints)
    return {"version": version, "services": objects, "slices": objects,
            "endpoints_per_slice": endpoints, "phases": phases, "units": units}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--build", type=pathlib.Path, required=True)
    options.add_argument("--objects", type=int, default=2000)
    options.add_argument("--endpoints", type=int, default=10)
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    text = json.dumps(measure(options.build.resolve(), options.objects, options.endpoints),
                      indent=1) + "\n"
    if options.write:
        WRITTEN.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
