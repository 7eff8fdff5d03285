#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a watch is given up whose server went away without a word.

    blackhole.py --build DIR [--times 20] [--seed N] [--keep]

So many watches of each kind, each of a server with an address of its own, behind a cable between
two network namespaces (root):

    idle    nothing is sent; then nftables drops all packets from and to the server
    busy    the server sends 20 events a second; then nftables drops them all
    power   the server's machine loses power, and its address with it; when it is back after 5 to 60
            seconds, it knows nothing of the connection

All are watched by one daemon with the default settings, and cut off at a random moment of half a
minute. Fails if one is given up later than 45 s after that, if one does not come back, and on any
LIST.
"""
import collections
import pathlib
import random
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire"), str(ROOT / "tests" / "crash")]

import truth  # noqa: E402
from control import wait_until  # noqa: E402
from netns import SERVER_NET, Cable, missing  # noqa: E402
from proctree import connected  # noqa: E402
from victims import Subject, options_of, perform, point_at, put_away  # noqa: E402

KINDS = ["idle", "busy", "power"]
FOUND_WITHIN_S = 45
SPREAD_S = 30
AWAY_S = (5, 60)
EVENTS_PER_S = 20
LOOK_S = 0.1
FIRST_HOST = 10


class Peer:
    """A server that goes away."""

    def __init__(self, kind, number, host):
        self.kind, self.name, self.address = kind, f"{kind}{number}", SERVER_NET.format(host)
        self.api = self.port = None     # port: of the watch, on the daemon's side
        self.away_s = None          # power: how long
        self.gone = self.found = self.back = None       # times

    @property
    def took_s(self):
        return self.found - self.gone

    @property
    def back_s(self):
        """How long the daemon took to come back."""
        asked = [r.time for r in self.api.requests if r.kind == "W" and r.status == 200]
        return asked[0] - self.back


class Campaign:
    """All peers, and the daemon that watches them; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import harness
        from fakeapi import Authority
        from fakeapi.store import Store
        self.rng, self.problems, self.store = random.Random(options.seed), [], Store()
        self.peers = [Peer(kind, number, FIRST_HOST + place * options.times + number)
                      for place, kind in enumerate(KINDS) for number in range(options.times)]
        self.cable = Cable()
        self.authority = Authority(folder)
        self.leaf = self.authority.server(ips=[peer.address for peer in self.peers])
        self.harness, self.folder = harness, folder
        self.load = self.subject = None
        self.is_over = False    # all are back

    def run(self):
        with self.cable:
            for peer in self.peers:
                self.lay(peer)
            self.daemon = self.harness.Daemon(self.folder, self.settings())
            self.subject = Subject(self.daemon)
            try:
                with self.cable.inside(self.cable.client):
                    self.subject.start()
                self.play()
            finally:
                self.stop()

    def lay(self, peer):
        from fakeapi import FakeApi
        self.cable.add_address(self.cable.server, f"{peer.address}/32")
        with self.cable.inside(self.cable.server):
            peer.api = FakeApi(tls=self.leaf, host=peer.address, store=self.store)
            peer.api.bookmarks = False
            peer.api.identity = f"5eed0000-0000-4000-8000-{self.peers.index(peer):012}"
            peer.api.start()

    def settings(self):
        return {
            "state_dir": "none", "log": {"level": "info"},
            "clusters": {peer.name: {"servers": [peer.api.url], "ca_file": self.authority.file}
                         for peer in self.peers},
            "watches": {peer.name: {"cluster": peer.name, "namespaces": ["*"],
                                    "resource": ("configmaps" if peer.kind == "busy"
                                                 else "services")}
                        for peer in self.peers}}

    # The course of events

    def play(self):
        self.daemon.wait_control()
        self.daemon.synced()
        for peer in self.peers:
            watcher, = peer.api.wait(lambda peer=peer: list(peer.api.watchers), what="a watch")
            peer.port = watcher.exchange.conn.transport.get_extra_info("peername")[1]
            peer.api.forget()
        self.load = truth.Load(self.peers[0].api, EVENTS_PER_S, self.rng)
        self.load.start()
        self.take_away()
        self.load.end()
        self.bring_back()
        self.is_over = True
        self.judge()
        code, _seconds = self.daemon.stop()
        self.problems += [f"exit code {code} after SIGTERM"] if code else []

    def take_away(self):
        """Cuts each peer off at its time, and looks when the daemon notices; peers that have lost
        power come back meanwhile."""
        begin = time.monotonic()
        plan = collections.deque(sorted(
            ((begin + self.rng.uniform(0, SPREAD_S), peer) for peer in self.peers),
            key=lambda entry: entry[0]))
        while plan or not all(peer.found for peer in self.peers):
            while plan and plan[0][0] <= time.monotonic():
                self.cut(plan.popleft()[1])
            self.restore_power()
            self.look()
            late = [peer for peer in self.peers if peer.gone and not peer.found
                    and time.monotonic() > peer.gone + 2 * FOUND_WITHIN_S]
            if late:
                raise AssertionError(f"never given up: {[peer.name for peer in late]}")
            time.sleep(LOOK_S)

    def cut(self, peer):
        peer.gone = time.monotonic()
        if peer.kind != "power":
            self.cable.begin("drop", peer.address)
            return
        peer.away_s = self.rng.uniform(*AWAY_S)
        self.cable.remove_address(self.cable.server, f"{peer.address}/32")
        peer.api.drop("rst")    # nobody hears it

    def restore_power(self):
        for peer in self.peers:
            if peer.away_s and not peer.back and time.monotonic() > peer.gone + peer.away_s:
                self.cable.add_address(self.cable.server, f"{peer.address}/32")
                peer.back = time.monotonic()

    def look(self):
        """A watch is given up when its connection is closed."""
        now, there = time.monotonic(), connected(self.daemon.pid)
        for peer in self.peers:
            if peer.gone and not peer.found and (peer.port, peer.address) not in there:
                peer.found = now

    def bring_back(self):
        """Lets all packets pass. Each watch must go on where it was, and hear of the next
        change."""
        from fakeapi import service, simple
        for peer in self.peers:
            if not peer.back and peer.kind != "power":
                self.cable.end("drop", peer.address)
                peer.back = time.monotonic()
        self.peers[0].api.apply(service("n/last"), simple("ConfigMap", "n/last"))

        def not_heard():
            self.restore_power()
            watches = self.daemon.control.status()["watches"]
            newest = {kind: self.store.rv - (kind != "busy") for kind in KINDS}
            return [peer.name for peer in self.peers
                    if watches[peer.name]["resource_version"] != str(newest[peer.kind])]
        wait_until(lambda: not not_heard(), what=lambda: f"not back: {not_heard()}")

    def judge(self):
        for peer in self.peers:
            if peer.took_s > FOUND_WITHIN_S:
                self.problems.append(f"{peer.name}: found after {peer.took_s:.1f} s")
            self.problems += [f"{peer.name}: a LIST: {request}" for request in peer.api.requests
                              if request.kind in "LS"]

    def stop(self):
        if self.load is not None and self.load.is_alive():
            self.load.end()
        self.problems += put_away(self.subject, self.peers[0].api)
        for peer in self.peers[1:]:
            peer.api.stop()
            self.problems += [f"fake server: {error}" for error in peer.api.errors]


def times(values):
    """The row of a table for these seconds."""
    if not values:
        return "-"
    return f"{min(values):.1f} {statistics.median(values):.1f} {max(values):.1f}"


def figures(campaign, seconds):
    """The rows of the table."""
    rows = []
    for kind in KINDS:
        peers = [peer for peer in campaign.peers if peer.kind == kind and peer.found]
        rows += [(f"{kind}: watches given up", len(peers)),
                 ("  seconds until then: least, median, most",
                  times([peer.took_s for peer in peers])),
                 ("  seconds from the way back to the watch",
                  times([peer.back_s for peer in peers] if campaign.is_over else []))]
    return [*rows, ("problems", len(campaign.problems)), ("seconds", round(seconds, 1))]


def main():
    parser = options_of(__doc__)
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    if options.build is None:
        parser.error("--build is required")
    lacks = missing()
    if lacks:
        sys.exit(f"blackhole.py {lacks}")
    return perform(Campaign, options, figures)


if __name__ == "__main__":
    sys.exit(main())
