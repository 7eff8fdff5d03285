#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How faults of the network show, with the default settings, and beside client-go.

    network.py --build DIR [--time 200] [--seed N] [--client-go DIR] [--keep]

Each fault has a server of its own behind a cable between two network namespaces (root), and lasts for
--time seconds; a machine that lost power is back after 20. "busy": 10 changes of more than 576 bytes
come each second. With --client-go each fault also meets an informer of client-go, with another
server: `./dev debian13 client-go` builds it into build/debian13/client-go.

Prints a table: seconds from the fault to the end of the connection ("found"; tests and figures that
make no sense are "-"), LISTs and WATCHes that reached the server, connections that were tried, and
changes that were never told, and told twice. Fails if informerd loses a change or tells one twice,
sends a LIST, or finds a fault later than docs/guarantees.md says.
"""
import collections
import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire"), str(ROOT / "tests" / "crash")]

from netns import SERVER_NET, Cable, missing  # noqa: E402
from truth import Told  # noqa: E402
from victims import Subject, options_of, perform, point_at, put_away  # noqa: E402

Kind = collections.namedtuple("Kind", "name fault namespace limit_s")
KINDS = [
    Kind("all packets are lost, idle", "drop", "idle", 45),
    Kind("all packets are lost, busy", "drop", "busy", 45),
    Kind("requests are lost, idle", "requests lost", "idle", 45),
    Kind("requests are lost, busy", "requests lost", "busy", 150),
    Kind("answers are lost, busy", "answers lost", "busy", 45),
    Kind("RST, idle", "reset", "idle", 30),
    Kind("ICMP unreachable, idle", "unreachable", "idle", 45),
    Kind("power lost for 20 s, idle", "power", "idle", 45),
    Kind("full packets are lost, busy", "narrow", "busy", 155),
    Kind("up and down, busy", "flap", "busy", None),
    Kind("resets at random bytes, busy", "cut", "busy", None),
    Kind("a foreign certificate, busy", "certificate", "busy", None),
    Kind("certificate and CA replaced, busy", "ca", "busy", None),
]
FIRST_HOST = {"informerd": 10, "client-go": 100}
SPREAD_S, AWAY_S, RATE, LOOK_S = 10, 20, 10, 0.1
UP_S, DOWN_S = (0.3, 15), (0.3, 60)     # of the network that goes up and down
BACK_S = 90            # clients that are not back then have lost the rest


class Load(threading.Thread):
    """Changes ConfigMaps of two namespaces: steadily in "busy", by change() in "idle"."""

    def __init__(self, api, rng):
        super().__init__(daemon=True)
        self.api, self.rng, self.there = api, rng, set()
        self.told = {"busy": [], "idle": []}
        self._over, self._lock = threading.Event(), threading.Lock()

    def change(self, namespace):
        from fakeapi import simple
        with self._lock:
            key = f"{namespace}/m{self.rng.randrange(8)}"
            if key in self.there and self.rng.random() < 0.07:
                self.there.discard(key)
                kind, stored = "DELETED", self.api.delete("configmaps", key)
            else:
                kind = "MODIFIED" if key in self.there else "ADDED"
                self.there.add(key)
                data = {"n": str(len(self.told[namespace])), "pad": "x" * 700}
                stored = self.api.apply(simple("ConfigMap", key, data=data))
            self.told[namespace].append(Told(kind, key, int(stored["metadata"]["resourceVersion"])))

    def run(self):
        while not self._over.wait(1 / RATE):
            self.change("busy")

    def end(self):
        self._over.set()
        self.join()


class Campaign:
    """All peers; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import random

        import harness
        import network_peers
        from fakeapi import Authority
        from fakeapi.store import Store
        self.options, self.folder, self.go = options, folder, options.client_go
        self.rng, self.problems, self.store = random.Random(options.seed), [], Store()
        self.cable, self.harness, self.ctl = Cable(), harness, harness.INFORMERCTL
        self.authority, self.foreign = Authority(folder), Authority(folder, "other-ca")
        sides = {"informerd": network_peers.InformerdPeer}
        if self.go:
            sides["client-go"] = network_peers.GoPeer
        self.sides = {side: [make(kind, number, SERVER_NET.format(FIRST_HOST[side] + number), self)
                             for number, kind in enumerate(KINDS)] for side, make in sides.items()}
        self.peers = [peer for peers in self.sides.values() for peer in peers]
        addresses = [peer.address for peer in self.peers]
        self.leaf = self.authority.server(ips=addresses)
        self.foreign_leaf = self.foreign.server(ips=addresses)
        self.load = self.subject = self.daemon = None

    def told_in(self, namespace):
        return self.load.told[namespace]

    def run(self):
        with self.cable:
            self.cable.lay_rules()
            for peer in self.peers:
                peer.lay()
            self.daemon = self.harness.Daemon(self.folder, self.settings())
            self.subject = Subject(self.daemon)
            try:
                with self.cable.inside(self.cable.client):
                    self.subject.start()
                self.play()
            finally:
                self.stop()

    def settings(self):
        mine = self.sides["informerd"]
        return {"state_dir": "none", "log": {"level": "info"},
                "clusters": {peer.name: {"servers": [peer.url], "ca_file": peer.ca_file}
                             for peer in mine},
                "watches": {peer.name: {"cluster": peer.name, "resource": "configmaps",
                                        "namespaces": [peer.kind.namespace]} for peer in mine}}

    # The course of events

    def play(self):
        self.daemon.wait_control()
        self.daemon.synced()
        for peer in self.peers:
            peer.follow()
        self.load = Load(self.peers[0].api, self.rng)
        self.load.change("idle")
        for peer in self.peers:     # after the first minute each watch has had one
            peer.api.bookmark()
        self.load.start()
        self.suffer()
        self.load.end()
        self.load.change("busy")
        self.load.change("idle")
        end = time.monotonic() + BACK_S
        while time.monotonic() < end and not all(peer.is_back() for peer in self.peers):
            self.look()
            time.sleep(LOOK_S)
        for peer in self.peers:
            peer.counted = peer.tries()
        self.judge()
        for peer in self.peers:
            peer.stop()
        code, _seconds = self.daemon.stop()
        self.problems += [f"exit code {code} after SIGTERM"] if code else []

    def plan(self):
        """[(time, function)]: when each fault begins and ends, and the changes of the idle ones."""
        now, plan = time.monotonic() + 1, []
        for peer in self.peers:
            begin = now + self.rng.uniform(0, SPREAD_S)
            lasts = AWAY_S if peer.kind.fault == "power" else self.options.time
            plan += [(begin, peer.begin), (begin + lasts, peer.end)]
            if peer.kind.fault == "flap":
                plan += self.flaps(peer, begin, begin + lasts)
        plan += [(now + SPREAD_S + at * self.options.time / 4, lambda: self.load.change("idle"))
                 for at in (1, 2, 3)]
        return collections.deque(sorted(plan, key=lambda entry: entry[0]))

    def flaps(self, peer, begin, end):
        plan, at = [], begin
        while at < end:
            for change, after_s in ((self.cable.begin, UP_S), (self.cable.end, DOWN_S)):
                at += self.rng.uniform(*after_s)
                plan.append((min(at, end), lambda change=change: change("drop", peer.address)))
        return plan

    def suffer(self):
        plan = self.plan()
        while plan:
            while plan and plan[0][0] <= time.monotonic():
                plan.popleft()[1]()
            self.look()
            time.sleep(LOOK_S)

    def look(self):
        for peer in self.peers:
            peer.look()
        watches = self.daemon.control.status()["watches"]
        for peer in self.sides["informerd"]:
            if peer.gone and not peer.stale and watches[peer.name]["stale"]:
                peer.stale = time.monotonic()

    def judge(self):
        for peer in self.sides["informerd"]:
            lost, twice = peer.told()
            took_s = peer.found - peer.gone if peer.found else None
            limit_s = peer.kind.limit_s
            if limit_s and limit_s < self.options.time and (took_s is None or took_s > limit_s):
                self.problems.append(f"{peer.kind.name}: found after {took_s} s")
            self.problems += [f"{peer.kind.name}: {lost} changes lost"] if lost else []
            self.problems += [f"{peer.kind.name}: {twice} changes told twice"] if twice else []
            self.problems += [f"{peer.kind.name}: a LIST: {r}" for r in peer.lists()]

    def stop(self):
        if self.load is not None and self.load.is_alive():
            self.load.end()
        for peer in self.peers:
            peer.stop()
        self.problems += put_away(self.subject, self.peers[0].api)
        for peer in self.peers[1:]:
            peer.api.stop()
            self.problems += [f"fake server: {error}" for error in peer.api.errors]


def seconds(value):
    return "-" if value is None else f"{value:.0f} s"


def cells(peer):
    """found, stale, requests, connections, lost, twice, back."""
    since = lambda at: None if at is None or peer.gone is None else at - peer.gone  # noqa: E731
    lost, twice = peer.told()
    watches = len(peer.requests()) - len(peer.lists())
    return [seconds(since(peer.found) if peer.kind.limit_s else None), seconds(since(peer.stale)),
            f"{len(peer.lists())} + {watches}", peer.counted, lost, twice,
            seconds(peer.back_s() if peer.over else None)]


def figures(campaign, took):
    """The rows of the table."""
    rows = [("side; fault", "found; stale; LIST + WATCH; connections; lost; twice; back")]
    for side, peers in campaign.sides.items():
        rows += [(f"{side}; {peer.kind.name}", "; ".join(map(str, cells(peer)))) for peer in peers
                 if campaign.load and peer.gone]
    return [*rows, ("problems", len(campaign.problems)), ("seconds", round(took, 1))]


def main():
    parser = options_of(__doc__)
    parser.add_argument("--time", type=float, default=200)
    parser.add_argument("--client-go", type=lambda text: pathlib.Path(text).resolve())
    options = parser.parse_args()
    if options.build is None:
        parser.error("--build is required")
    lacks = missing()
    if lacks:
        sys.exit(f"network.py {lacks}")
    return perform(Campaign, options, figures)


if __name__ == "__main__":
    sys.exit(main())
