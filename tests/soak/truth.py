# SPDX-License-Identifier: Apache-2.0
"""Compares the changes of the server with the events that the daemon reported."""
import collections
import json
import pathlib
import subprocess
import threading
import time

Told = collections.namedtuple("Told", "type key rv")
Run = collections.namedtuple("Run", "source type key rv attempt")
HOOK = """#!/bin/sh
echo "$INFORMERD_SOURCE $INFORMERD_EVENT $INFORMERD_NAMESPACE/$INFORMERD_NAME" \\
    "$INFORMERD_RESOURCE_VERSION $INFORMERD_ATTEMPT" >>{log}
"""


class Load(threading.Thread):
    """Changes ConfigMaps so many times a second until end() is called: most change, and some are
    deleted and made anew. `told` has all changes in their order, `times` when each was made."""

    def __init__(self, api, rate, rng, keys=8):
        super().__init__(daemon=True)
        self.api, self.rate, self.rng = api, rate, rng
        self.told, self.times = [], []
        self.there = set()
        self.keys = [f"n/m{number}" for number in range(keys)]
        self._over = threading.Event()

    def change(self):
        from fakeapi import simple
        key = self.rng.choice(self.keys)
        self.times.append(time.monotonic())
        if key in self.there and self.rng.random() < 0.07:
            self.there.discard(key)
            stored, kind = self.api.delete("configmaps", key), "DELETED"
        else:
            kind = "MODIFIED" if key in self.there else "ADDED"
            self.there.add(key)
            stored = self.api.apply(simple("ConfigMap", key, data={"n": str(len(self.told))}))
        self.told.append(Told(kind, key, int(stored["metadata"]["resourceVersion"])))

    def run(self):
        due = time.monotonic()
        while not self._over.is_set():
            self.change()
            due = max(due + 1 / self.rate, time.monotonic() - 1)    # late by a second at most
            self._over.wait(max(0, due - time.monotonic()))

    def end(self):
        self._over.set()
        self.join()


class Reader(threading.Thread):
    """informerctl stream of one source: what it told, and when."""

    def __init__(self, ctl, socket, source):
        super().__init__(daemon=True)
        self.source, self.told, self.times = source, [], []
        self.synced = threading.Event()
        self.process = subprocess.Popen([ctl, "--socket", socket, "stream", source], text=True,
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.start()

    def run(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["type"] == "SYNCED":
                self.synced.set()
                continue
            key = f"{event.get('namespace')}/{event.get('name')}"
            self.told.append(Told(event["type"], key, int(event.get("resource_version") or 0)))
            self.times.append(time.monotonic())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.join()
        self.process.stdout.close()


def judge_stream(reader, load):
    """The problems as texts: each change must come once, in its order."""
    if reader.told == load.told:
        return []
    for number, (got, wanted) in enumerate(zip(reader.told, load.told)):
        if got != wanted:
            return [f"{reader.source}: event {number} is {got}, wanted {wanted}"]
    return [f"{reader.source}: {len(reader.told)} events, wanted {len(load.told)}"]


def read_runs(log):
    lines = pathlib.Path(log).read_text().splitlines() if pathlib.Path(log).exists() else []
    return [Run(source, kind, key, int(rv), int(attempt))
            for source, kind, key, rv, attempt in map(str.split, lines)]


class Judge:
    """Judges the runs of mode object of one source."""

    def __init__(self, load):
        self.load = load
        self.known = {(told.key, told.rv): told.type == "DELETED" for told in load.told}
        self.last = {told.key: told for told in load.told}

    def problems(self, source, runs):
        found = [f"{source}: {run} is no state of the server" for run in runs
                 if self.known.get((run.key, run.rv)) is not (run.type == "DELETED")]
        for key in self.last:
            found += self._of_key(source, key, [run for run in runs if run.key == key])
        return found

    def _of_key(self, source, key, runs):
        versions, newest = [run.rv for run in runs], self.last[key]
        found = [f"{source}: {run} was tried again" for run in runs if run.attempt != 1]
        if len(set(versions)) != len(versions):
            found.append(f"{source}: {key} had two runs for one version")
        if versions != sorted(versions):
            found.append(f"{source}: the runs of {key} are not in order")
        # An object that came and went between two runs is not told at all.
        unseen = newest.type == "DELETED" and (not runs or runs[-1].type == "DELETED")
        if not unseen and (not runs or runs[-1].rv != newest.rv):
            found.append(f"{source}: the last run of {key} is not for {newest}, "
                         f"but {runs[-1:]}")
        return found
