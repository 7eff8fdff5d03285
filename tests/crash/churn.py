# SPDX-License-Identifier: Apache-2.0
"""The objects of a campaign: the thread that changes them, and the states that they had."""
import bisect
import collections
import threading
import time

import told

SOURCES = {"maps": "configmaps", "svcs": "services"}
NAMES = {"maps": [f"m{number}" for number in range(8)],
         "svcs": [f"s{number}" for number in range(6)]}
VALUES = "abc"      # few, so that an object often comes back to an earlier state


class State(collections.namedtuple("State", "rv uid digest")):
    """The state of a key from a resourceVersion on; uid and digest are None when it has no
    object."""


class World:
    """All states that the objects ever had, from the server's own history."""

    def __init__(self, api):
        self.api = api
        self.incarnations = collections.defaultdict(list)      # uid -> [State, ...]
        self.states = collections.defaultdict(list)     # slot = (source, key) -> [State, ...]
        self.finals = {}                                # uid -> digest of its last state
        self.times = {}                                 # resourceVersion -> when it was made
        self.kinds = collections.Counter()
        self._read = collections.Counter()
        self._store = api.store
        tell = self._store.changed

        def changed(table):
            self.times[self._store.rv] = time.time()
            tell(table)
        self._store.changed = changed

    def look(self):
        """Reads the changes since the last look from the server's history."""
        with self._store.lock:
            for source, plural in SOURCES.items():
                history = self._store.table(plural).history
                for change in history[self._read[source]:]:
                    self._take(source, *change)
                self._read[source] = len(history)

    def _take(self, source, rv, kind, obj, _old):
        slot, uid = (source, told.key_of(obj["metadata"])), obj["metadata"]["uid"]
        found = told.digest(obj)
        before = self.states[slot][-1] if self.states[slot] else State(0, None, None)
        if kind == "DELETED":
            self.finals[uid] = found
            self.kinds["deleted"] += 1
            self.states[slot].append(State(rv, None, None))
            return
        self.incarnations[uid].append(State(rv, uid, found))
        self.kinds[self._kind(before, uid, found, slot)] += 1
        self.states[slot].append(State(rv, uid, found))

    def _kind(self, before, uid, found, slot):
        if before.uid is None:
            return "created again" if self.states[slot] else "created"
        if before.digest == found:
            return "touched"
        had = any(state.digest == found for state in self.states[slot] if state.uid == uid)
        return "changed back" if had else "changed"

    def now(self, slot):
        """(uid, digest) or (None, None)."""
        states = self.states.get(slot)
        return tuple(states[-1][1:]) if states else (None, None)

    def was(self, slot, rv, uid, digest):
        """Whether the object had this state at this resourceVersion."""
        return State(rv, uid, digest) in self.states.get(slot, ())

    def had(self, uid, digest):
        """Whether the object ever had this state."""
        return any(state.digest == digest for state in self.incarnations.get(uid, ()))

    def changed_between(self, slot, first, last, uid, digest):
        """Whether the key had another state after version `first`, up to version `last`."""
        states = self.states[slot]
        begin = bisect.bisect_right(states, first, key=lambda state: state.rv)
        end = bisect.bisect_right(states, last, key=lambda state: state.rv)
        return any((state.uid, state.digest) != (uid, digest) for state in states[begin:end])

    def changed_since(self, seen, end):
        """Whether, at this time, any object had a state that is newer than these versions ({source:
        version})."""
        return any(not self.is_newest(slot, seen.get(slot[0], 0), end) for slot in self.states)

    def is_newest(self, slot, rv, end):
        """Whether the object did not change between this resourceVersion and this time."""
        states = self.states[slot]
        after = states[bisect.bisect_right(states, rv, key=lambda state: state.rv):]
        return not after or self.times[after[0].rv] > end

    def born(self, uid):
        """When the object was created; infinity if there was no such object."""
        states = self.incarnations.get(uid)
        return self.times[states[0].rv] if states else float("inf")

    def content(self):
        """{source: {key: [uid, digest]}} as a snapshot shows it."""
        out = {source: {} for source in SOURCES}
        for (source, key), states in self.states.items():
            if states[-1].uid is not None:
                out[source][key] = list(states[-1][1:])
        return out


class Churn(threading.Thread):
    """Changes objects in bursts until it is told to end, but not while `lock` is held."""

    def __init__(self, api, rng):
        super().__init__(daemon=True)
        self.api, self.rng = api, rng
        self.values = {(source, name): None for source in SOURCES for name in NAMES[source]}
        self.end, self.lock = threading.Event(), threading.Lock()

    def put(self, slot, value):
        from fakeapi import service, simple
        source, name = slot
        if source == "maps":
            obj = simple("ConfigMap", f"n/{name}", data={"value": value})
        else:
            obj = service(f"n/{name}", annotations={"value": value})
        self.values[slot] = value
        self.api.apply(obj)

    def delete(self, slot):
        self.values[slot] = None
        self.api.delete(SOURCES[slot[0]], f"n/{slot[1]}")

    def other(self, slot):
        return self.rng.choice([value for value in VALUES if value != self.values[slot]])

    def change(self):
        """One change, or a few that belong together."""
        slot = self.rng.choice(list(self.values))
        value = self.values[slot]
        if value is None:
            self.put(slot, self.other(slot))
            return
        dice = self.rng.random()
        if dice < 0.15:
            self.delete(slot)
        elif dice < 0.25:
            self.delete(slot)
            self.put(slot, value)
        elif dice < 0.40:
            self.put(slot, self.other(slot))
            self.put(slot, value)
        elif dice < 0.50:
            self.put(slot, value)
        else:
            self.put(slot, self.other(slot))

    def burst(self, most=6):
        for _ in range(self.rng.randint(1, most)):
            self.change()
            self.end.wait(self.rng.uniform(0, 0.03))

    def some(self, count):
        """Makes so many changes at once, in the caller's thread."""
        with self.lock:
            for _ in range(count):
                self.change()

    def run(self):
        while not self.end.is_set():
            with self.lock:
                self.burst()
            self.end.wait(self.rng.uniform(0, 0.3))
            if self.rng.random() < 0.7:
                self.api.bookmark()     # a daemon that was just started is in sync by it
