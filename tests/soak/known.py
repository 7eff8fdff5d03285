# SPDX-License-Identifier: Apache-2.0
"""Compares the objects that hooks were told of, by the log of tests/crash/told.py, with those of the server."""
import collections

ALIVE = ("ADDED", "MODIFIED")


class Slot:
    """The events of one key that one hook was told."""

    def __init__(self):
        self.last = None        # (the event of the run that started last, its run)
        self.handled = None     # the (uid, digest) of the last run that succeeded; digest None: its end
        self.begun, self.ended = set(), set()       # uids


class Knowledge:
    """feed() it the lines of the log in their order. slow: hooks whose runs go on after the end of
    their command (those with output), of which the log does not show how they ended."""

    def __init__(self, slow=()):
        self.slow = slow
        self.slots = collections.defaultdict(Slot)      # (hook, source, key)
        self.open, self.ok = {}, set()      # run -> its start line; runs that are good
        self.snapshots = {}                 # hook -> (the last snapshot, its run)
        self.applied = None                 # the state of the files that the last run of apply saw
        self.count = collections.Counter()

    def feed(self, line):
        what = line["what"]
        if what == "start":
            self.count["runs"] += 1
            self.open[line["run"]] = line
            self._start(line)
        elif what == "end":
            start = self.open.pop(line["run"], None)
            if start is not None and line["status"] == 0:
                self._success(start)
        elif what == "apply":
            self.applied = line["state"]
        elif what == "wild":
            self.count["runs"] += 1
            self.count[f"hook: {line['how']}"] += 1

    def _each(self, line):
        for event in line["events"]:
            yield self.slots[line["hook"], event["source"], event["key"]], event

    @staticmethod
    def _state(event):
        return event["uid"], event["digest"] if event["type"] in ALIVE else None

    def _start(self, line):
        for slot, event in self._each(line):
            slot.last = event, line["run"]
            if event["type"] in ALIVE:
                slot.begun.add(event["uid"])
        if line["snapshot"] is not None:
            self.snapshots[line["hook"]] = line["snapshot"], line["run"]

    def _success(self, line):
        self.ok.add(line["run"])
        for slot, event in self._each(line):
            self.count["events that were told"] += 1
            self.count["  a state twice in a row"] += slot.handled == self._state(event)
            slot.handled = self._state(event)
            if event["type"] not in ALIVE:
                slot.ended.add(event["uid"])

    # When no run is under way

    def problems(self, hooks, content):
        """The differences as texts. hooks: {hook: its sources}; content: {source: {key: [uid,
        digest]}} of the server."""
        found = []
        for hook, sources in hooks.items():
            wanted = {source: content[source] for source in sources}
            for source in sources:
                keys = {key for name, of, key in self.slots if (name, of) == (hook, source)}
                for key in sorted(keys | set(content[source])):
                    found += self._of_key((hook, source, key), content[source].get(key))
            if hook in self.snapshots:
                snapshot, run = self.snapshots[hook]
                if snapshot != wanted or run not in self.ok:
                    found.append(f"{hook}: the last snapshot is not what the server has")
        return found

    def _of_key(self, where, now):
        slot, name = self.slots[where], " ".join(where)
        last_is_good = slot.last is not None and slot.last[1] in self.ok
        if now is not None and not (last_is_good and slot.handled == tuple(now)):
            return [f"{name}: lost: the server has {now}, told was {slot.handled}"]
        if where[0] in self.slow:
            return []
        lost = slot.begun - slot.ended - ({now[0]} if now else set())
        if lost:
            return [f"{name}: lost: the end of {sorted(lost)}"]
        if now is None and slot.begun and not (last_is_good and slot.handled[1] is None):
            return [f"{name}: it is gone, and the hook was told {slot.last[0]['type']} last"]
        return []
