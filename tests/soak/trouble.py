# SPDX-License-Identifier: Apache-2.0
"""The faults of the soak. Each is a list of steps with pauses before them, as the rotations of sites.py, so
that faults overlap."""
import asyncio
import os
import random
import signal

import proctree
from control import wait_until

REFUSALS = [429, 500, 503]
STREAM_ERRORS = [410, 429, 500, 504]
LONGEST_S = 4.0     # that a fault lasts; timeouts of the daemon are shorter
LETHAL = ["main killed", "helper killed", "SIGTERM"]


def catches(pid, number):
    """Whether the process has a handler for this signal by now."""
    return bool(int(proctree.status(pid).get("SigCgt", "0"), 16) & 1 << number - 1)


class Faults:
    """site: the server (sites.Site); peers: the daemons, of which only `mortal` is killed."""

    def __init__(self, site, peers, mortal, rng):
        self.site, self.api, self.peers, self.mortal, self.rng = site, site.api, peers, mortal, rng
        self.dice = random.Random(rng.random())     # for the thread of the server
        self.rules = []
        self.kinds = {
            "connections reset": (4, self.reset), "watch ended": (4, self.cut),
            "watch ended by an error": (3, self.stream_error), "event cut off": (2, self.half_event),
            "requests refused": (3, self.refuse), "requests dropped": (2, self.drop),
            "answers slow": (2, self.slow), "server away": (3, self.away),
            "server back without history": (2, self.forget_history),
            "token rotated": (2, lambda: site.rotation("token")),
            "CA rotated": (1, lambda: site.rotation("ca")),
            "main stopped for a while": (2, lambda: self.freeze("main")),
            "helper stopped for a while": (2, lambda: self.freeze("helper")),
            "reload": (4, self.reload),
            **{target: (1, lambda target=target: self.kill(target)) for target in LETHAL}}
        self.count = dict.fromkeys(self.kinds, 0)

    def strike(self):
        """One random fault, as its steps."""
        weights = [weight for weight, _make in self.kinds.values()]
        kind = self.rng.choices(list(self.kinds), weights)[0]
        self.count[kind] += 1
        return self.kinds[kind][1]()

    def lasting(self):
        return self.rng.uniform(0.2, LONGEST_S)

    def end(self):
        """Ends all that would go on without an end."""
        for rule in self.rules:
            rule.cancel()
        self.api.listen()

    # The server

    def reset(self):
        return [(0, lambda: self.api.drop(self.rng.choice(["rst", "eof", "close"])))]

    def cut(self):
        how = self.rng.choice(["END", "eof", "rst", "close"])
        plural = self.rng.choice(["configmaps", "services", "endpointslices"])
        return [(0, lambda: self.api.end_watches(plural, how))]

    def stream_error(self):
        from fakeapi import error_event
        error = error_event(self.rng.choice(STREAM_ERRORS))
        return [(0, lambda: self.api.end_watches(how=error))]

    def half_event(self):
        """The next watch gets half an event, and then the connection is reset."""
        from fakeapi import RST
        rule = self.api.on(kind="W", times=1).stream(b'{"type":"ADDED","object":{"kind":"Serv', RST)
        self.rules.append(rule)
        return [(0, lambda: self.api.end_watches("services", "rst")), (LONGEST_S, rule.cancel)]

    def some(self):
        """A rule for most requests."""
        rule = self.api.on(times=None, where=lambda _request: self.dice.random() < 0.7)
        self.rules.append(rule)
        return rule

    def refuse(self):
        code = self.rng.choice(REFUSALS)
        rule = self.some().fail(code, retry_after=self.rng.choice([None, "1"]))
        return [(0, self.api.end_watches), (self.lasting(), rule.cancel)]

    def drop(self):
        rule = self.some().drop(self.rng.choice(["rst", "eof"]))
        return [(0, self.api.end_watches), (self.lasting(), rule.cancel)]

    def slow(self):
        async def late(exchange):
            await asyncio.sleep(self.dice.uniform(0, LONGEST_S))
            await self.api.truth(exchange)
        rule = self.some().run(late)
        return [(0, self.api.end_watches), (self.lasting(), rule.cancel)]

    def away(self):
        return [(0, self.api.kill), (self.lasting(), self.api.listen)]

    def forget_history(self):
        """The server restarts after a compaction: no watch can go on."""
        def forget():
            store, before = self.api.store, self.api.store.rv
            wait_until(lambda: store.rv > before + 1, what="objects have changed")
            with store.lock:
                store.restore(store.snapshot())
                for table in store.tables.values():
                    table.upgrade(table.write)      # lets go of the bytes of old objects
        return [(0, lambda: self.api.restart(before=forget))]

    # The daemons

    def freeze(self, target):
        peer = self.rng.choice(self.peers)
        frozen = []

        def stop():
            if peer.down:
                return
            frozen.extend(peer.pids(target))
            for pid in frozen:
                proctree.stop(pid)
                peer.frozen.add(pid)
        return [(0, stop), (self.lasting(), lambda: peer.thaw(frozen))]

    def kill(self, target):
        return [(0, lambda: self.mortal.die(target)), (self.rng.uniform(0, 2), self.mortal.restart)]

    def reload(self):
        peer = self.rng.choice(self.peers)

        def change():
            peer.edit(self.rng)
            if not peer.down and catches(peer.daemon.pid, signal.SIGHUP):
                os.kill(peer.daemon.pid, signal.SIGHUP)
        return [(0, change)]
