# SPDX-License-Identifier: Apache-2.0
"""A server of network.py and its one client: informerd, or an informer of client-go."""
import collections
import shutil
import subprocess
import threading
import time

import truth
from fakeapi import FakeApi
from fakeapi.server import take_port
from proctree import connected
from relays import Relay


class Budget:
    """How many bytes each connection of a relay may carry while the fault lasts: in turn some events
    and a part of one, and any number of bytes, also of the handshake and the request."""

    def __init__(self, rng):
        self.rng, self.is_over, self.count = rng, True, 0

    def __call__(self):
        if self.is_over:
            return None, None
        self.count += 1
        if self.count % 2:
            return None, self.rng.randrange(15000, 30000)
        return self.rng.choice([self.rng.randrange(1, 1500), None]), self.rng.randrange(1, 8000)


class Peer:
    """One server behind the cable, and what its client did. reader: told, times."""

    def __init__(self, kind, number, address, campaign):
        self.kind, self.name, self.address, self.campaign = kind, f"p{number}", address, campaign
        self.cable = campaign.cable
        self.api = self.reader = self.port = self.relay = self.front = None
        self.ports, self.tried = set(), set()
        self.gone = self.found = self.stale = self.over = None      # times
        self.counted = "-"      # connections that were tried
        self.budget = Budget(campaign.rng)
        self.ca_file = campaign.folder / f"{self.name}-{type(self).__name__}.crt"
        shutil.copy(campaign.authority.file, self.ca_file)

    @property
    def url(self):
        port = self.relay.port if self.relay else self.port
        return f"https://{self.address}:{port}"

    def lay(self):
        """Starts the server on its side of the cable."""
        self.cable.add_address(self.cable.server, f"{self.address}/32")
        with self.cable.inside(self.cable.server):
            self.serve(self.campaign.leaf)
            if self.kind.fault == "cut":
                self.relay = Relay(self.port, self.budget, host=self.address).__enter__()

    def stop(self):
        """Ends all that belongs to this peer, but not its fake server. Once is enough."""
        if self.reader is not None and self.reader.is_alive():
            self.reader.end()
        if self.relay is not None:
            self.relay, relay = None, self.relay
            relay.__exit__()

    def ports_here(self):
        """Of the connections to this server, on the client's side."""
        return {port for port, address in connected(self.pid) if address == self.address}

    # The fault

    def begin(self):
        campaign, fault = self.campaign, self.kind.fault
        self.ports = self.ports_of_watch()
        self.tried = self.cable.tried(self.address)
        self.api.forget()
        self.gone = time.monotonic()
        if fault == "power":
            self.cable.remove_address(self.cable.server, f"{self.address}/32")
            self.fall()
        elif fault == "cut":
            self.budget.is_over = False
            self.relay.drop()
        elif fault == "certificate":
            self.take(campaign.foreign_leaf)
        elif fault == "ca":
            shutil.copy(campaign.foreign.file, self.ca_file)
            self.take(campaign.foreign_leaf)
        elif fault != "flap":
            self.cable.begin(fault, self.address)

    def end(self):
        fault = self.kind.fault
        if fault == "power":
            self.cable.add_address(self.cable.server, f"{self.address}/32")
            self.rise()
        elif fault == "cut":
            self.budget.is_over = True
        elif fault == "certificate":
            self.take(self.campaign.leaf)
        elif fault not in ("flap", "ca"):
            self.cable.end(fault, self.address)
        self.over = time.monotonic()

    def look(self):
        if self.gone and not self.found and not self.ports & self.ports_here():
            self.found = time.monotonic()

    # The figures

    def requests(self):
        return [r for r in list(self.api.requests) if r.kind in "LWS"]

    def lists(self):
        return [r for r in self.requests() if r.kind in "LS"]

    def tries(self):
        return len(self.cable.tried(self.address) - self.tried)

    def told(self):
        """(changes that were never told, changes that were told more than once). Whether a change is
        ADDED or MODIFIED depends on the client's cache; STALE and FRESH are no changes."""
        def count(changes):
            return collections.Counter((kind == "DELETED", key, rv) for kind, key, rv in changes
                                       if kind in ("ADDED", "MODIFIED", "DELETED"))
        wanted = count(self.campaign.told_in(self.kind.namespace))
        told = count(self.reader.told)
        return sum((wanted - told).values()), sum((told - wanted).values())

    def is_back(self):
        return self.campaign.told_in(self.kind.namespace)[-1] in self.reader.told[-3:]

    def back_s(self):
        after = [at for at in self.reader.times if at > self.over]
        return after[0] - self.over if after else None


class InformerdPeer(Peer):
    """All of them are watched by one daemon."""

    @property
    def pid(self):
        return self.campaign.daemon.pid

    def serve(self, leaf):
        self.api = FakeApi(tls=leaf, host=self.address, store=self.campaign.store)
        self.api.identity = f"5eed0000-0000-4000-8000-{int(self.name[1:]):012}"
        self.api.start()
        self.port = self.api.port

    def follow(self):
        made = self.campaign.daemon
        self.reader = truth.Reader(self.campaign.ctl, made.control.path, self.name)
        assert self.reader.synced.wait(60)

    def ports_of_watch(self):
        return {watcher.exchange.conn.transport.get_extra_info("peername")[1]
                for watcher in list(self.api.watchers)}     # other connections end when they are idle

    def fall(self):
        self.api.drop("rst")

    def rise(self):
        pass

    def take(self, leaf):
        self.api.set_tls(leaf)
        self.api.drop("rst")


class GoReader(threading.Thread):
    """The lines of an informer of client-go."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.told, self.times, self.failures = process, [], [], []
        self.synced = threading.Event()
        self.start()

    def run(self):
        for line in self.process.stdout:
            kind, _, rest = line.rstrip().partition(" ")
            if kind == "SYNCED":
                self.synced.set()
            elif kind == "ERROR":
                self.failures.append(rest)
            else:
                key, _, rv = rest.partition(" ")
                self.told.append(truth.Told(kind, key, int(rv)))
                self.times.append(time.monotonic())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.join()
        self.process.stdout.close()


class GoPeer(Peer):
    """The server speaks HTTP/2 by a front, as API servers do; client-go needs that to find dead
    connections."""

    @property
    def pid(self):
        return self.reader.process.pid

    def ports_of_watch(self):
        return self.ports_here()        # there is one connection

    def serve(self, leaf):
        self.api = FakeApi(host="127.0.0.1", store=self.campaign.store)
        self.api.start()
        self._taken = take_port(self.address)
        self.port = self._taken.getsockname()[1]
        self.leaf = leaf
        self.rise()

    def rise(self):
        with self.cable.inside(self.cable.server):
            self.front = subprocess.Popen(
                [self.campaign.go / "front", f"{self.address}:{self.port}", self.leaf.cert_file,
                 self.leaf.key_file, self.api.url], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL)
        assert self.front.stdout.readline() == b"ready\n"

    def fall(self):
        self.front.kill()
        self.front.wait()
        self.front.stdout.close()
        self.front = None

    def follow(self):
        with self.cable.inside(self.cable.client):
            process = subprocess.Popen(
                [self.campaign.go / "informer", self.url, self.ca_file, self.kind.namespace],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.reader = GoReader(process)
        assert self.reader.synced.wait(60)

    def take(self, leaf):
        self.leaf = leaf
        self.fall()
        self.rise()

    def stop(self):
        super().stop()
        if self.front is not None:
            self.fall()
        self._taken.close()
