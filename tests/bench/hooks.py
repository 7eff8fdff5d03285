#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The costs of hooks and how many run, each figure beside its limit.

    hooks.py --build DIR [--part cost] [--part rate] [--part burst] [--part endless] [--check]

cost   main's CPU for a run (user and system) with --megabytes cached: the CPU of --events changes
       of ~1.5 KB objects with a run each, less the CPU of as many changes that start no run (only
       their resourceVersion changes), divided by the number of runs. Nobody asks main anything
       meanwhile. Then, during further changes, the longest answer of the control socket
rate   --runs runs of /bin/true over as many objects, beside bare posix_spawn() from a small process
       (bench_spawn). First with the parallelism of limits.hook_concurrency: the limit is for that.
       Then one after the other, for information: there each run waits until main and helper have
       woken each other, while bench_spawn starts and awaits its programs itself
burst  100 000 changes of 1 000 keys with a hook of 5 ms: runs per key and burst, memory of main
endless  main's share of a core while a hook prints without an end, to one stream and then to both

A burst of a key: changes that come while its hook runs or settles. Everything runs on loopback over
TLS against pre-serialised objects. The limits are for an idle machine; --check makes a missed one
exit code 1.
"""
import argparse
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from rig import Asker, FIRST_RV, Flood, Subject, wait_until
from fakeapi import Authority

SIZE = 1500
SHARED = 8  # limits.hook_concurrency; each hook has a slot of its own besides
KEYS, NAP_MS = 1000, 5
ENDLESS_S = 10


class Report:
    """Prints figures beside their limits and remembers whether one was missed."""

    def __init__(self):
        self.missed = False

    def head(self, text):
        print(f"\n{text}", flush=True)

    def line(self, what, value, limit="", good=True):
        self.missed |= not good
        verdict = "" if not limit else "ok" if good else "MISSED"
        print(f"  {what:<58} {value:>14} {limit:>14}  {verdict}".rstrip(), flush=True)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.report = args, folder, Report()
        self.authority = Authority(folder / "ca")
        self.made = 0

    def flood(self, count):
        return Flood(self.authority, count, SIZE)

    def subject(self, flood, **hook):
        self.made += 1
        return Subject(self.args.build, self.folder / f"daemon{self.made}", self.authority, flood,
                       {"command": ["/bin/true"], "concurrency": SHARED + 1, **hook})

    # cost

    def cost(self):
        objects, events = self.args.megabytes * 1000 * 1000 // SIZE, self.args.events
        with self.flood(objects) as flood, self.subject(flood, existing="skip") as subject:
            watch = subject.wait_cached(objects)
            self.report.head(f"cost: {objects} objects, {watch['bytes'] / 1e6:.0f} MB cached (main "
                             f"{subject.memory_mb():.0f} MB), {events} changes of {SIZE} bytes")
            rounds = []
            for mark in range(self.args.rounds):
                read = self._cpu(subject, flood, flood.prepare(range(events), mark), 0)
                runs = self._cpu(subject, flood, flood.prepare(range(events), mark + 1), events)
                rounds.append((runs[0] - read[0], read, runs))
            run, read, runs = min(rounds)
            self.report.line(f"main's CPU per run, best of {self.args.rounds} rounds",
                             f"{run:.1f} us", "< 50 us", run < 50)
            self.report.line("  per event that starts none", f"{read[0]:.1f} us")
            self.report.line("  per event and its run", f"{runs[0]:.1f} us")
            self.report.line("  of it user, system", f"{runs[1]:.0f}, {runs[2]:.0f} us")
            pieces = flood.prepare(range(events), self.args.rounds + 1)
            with Asker(subject) as asker:
                flood.send(pieces)
                subject.wait_handled(flood.rv)
            self.report.line("longest answer of the control socket in other changes",
                             f"{asker.longest * 1e3:.1f} ms")

    @staticmethod
    def _cpu(subject, flood, pieces, wanted):
        """CPU per event, from the first byte until all changes are handled."""
        ran, before = subject.wait_still(FIRST_RV)
        flood.send(pieces)
        ran_then, after = subject.wait_still(flood.rv)
        if ran_then - ran != wanted:
            sys.exit(f"{wanted} runs wanted, got {ran_then - ran}")
        count = sum(piece.count(b"\n") for piece in pieces)
        return [(b - a) / count for a, b in zip(before, after)]

    # rate

    def rate(self):
        runs = self.args.runs
        self.report.head(f"rate: {runs} runs of /bin/true over {runs} objects of {SIZE} bytes, "
                         f"best of {self.args.rounds} rounds in turns with posix_spawn()")
        with self.flood(runs) as flood:
            for at_once in (SHARED + 1, 1):
                ours, bare = [], []
                for _ in range(self.args.rounds):
                    bare.append(runs / self._spawn(runs, at_once))
                    ours.append(runs / self._existing(flood, runs, at_once))
                ratio = 100 * max(ours) / max(bare)
                self.report.line(f"posix_spawn, {at_once} at a time", f"{max(bare):.0f} /s")
                self.report.line(f"informerd, {at_once} at a time", f"{max(ours):.0f} /s")
                if at_once > 1:
                    self.report.line("  ratio", f"{ratio:.0f} %", ">= 80 %", ratio >= 80)
                else:
                    self.report.line("  ratio (main and helper wake each other for each run)",
                                     f"{ratio:.0f} %")

    def _spawn(self, runs, at_once):
        program = self.args.build / "tests" / "bench_spawn"
        return float(subprocess.check_output([program, str(runs), str(at_once), "/bin/true"]))

    def _existing(self, flood, runs, at_once):
        """Seconds from the last byte of the list until every object is handled."""
        with self.subject(flood, concurrency=at_once) as subject:
            subject.wait_cached(runs)
            hook = subject.wait_handled(FIRST_RV)
            took = time.monotonic() - flood.listed_at
        if hook["runs_ok"] != runs:
            sys.exit(f"{runs} runs wanted, got {hook['runs_ok']}")
        return took

    # burst

    def burst(self):
        stamps = self.folder / "stamps"
        shutil.copy(self.args.build / "tests" / "stamp", self.folder / "stamp")
        hook = {"command": [self.folder / "stamp"], "existing": "skip",
                "environment": {"STAMPS": str(stamps), "STAMP_NAP_MS": str(NAP_MS)}}
        self.report.head(f"burst: {self.args.changes} changes of {KEYS} keys, a hook of {NAP_MS} ms, "
                         f"{SHARED + 1} at a time")
        self._settled(stamps, hook)
        self._flooded(stamps, hook)

    def _settled(self, stamps, hook):
        """Ten bursts, each of which ends before its keys have settled."""
        bursts = 10
        changes = self.args.changes // bursts // KEYS
        with self.flood(KEYS) as flood, \
                self.subject(flood, settle=["1s", "30s"], **hook) as subject:
            subject.wait_cached(KEYS)
            before, per_burst = subject.memory_mb(), []
            for number in range(bursts):
                stamps.unlink(missing_ok=True)
                pieces = []
                for change in range(changes):
                    pieces += flood.prepare(range(KEYS), f"{number}.{change}")
                flood.send(pieces)
                subject.wait_handled(flood.rv)
                told = read_stamps(stamps)
                newest = {key: runs[-1][0] for key, runs in told.items()}
                last = {f"o{n:07}": flood.rv - KEYS + 1 + n for n in range(KEYS)}
                if newest != last:
                    sys.exit("a key was not told its newest state")
                per_burst.append(max(len(runs) for runs in told.values()))
            self.report.line(f"settle 1s, {bursts} bursts: most runs of a key in a burst",
                             str(max(per_burst)), "<= 1", max(per_burst) <= 1)
            self._memory(subject, before)

    def _flooded(self, stamps, hook):
        """All changes at once, without settle: each run must have a newer state than the one
        before."""
        stamps.unlink(missing_ok=True)
        changes = self.args.changes // KEYS
        with self.flood(KEYS) as flood, self.subject(flood, **hook) as subject:
            subject.wait_cached(KEYS)
            before, pieces = subject.memory_mb(), []
            for change in range(changes):
                pieces += flood.prepare(range(KEYS), str(change))
            flood.send(pieces)
            subject.wait_handled(flood.rv)
            told = read_stamps(stamps)
            if {runs[-1][0] for runs in told.values()} != set(range(flood.rv - KEYS + 1,
                                                                    flood.rv + 1)):
                sys.exit("a key was not told its newest state")
            counts = [len(runs) for runs in told.values()]
            excess = sum(1 for runs in told.values() for a, b in zip(runs, runs[1:]) if b <= a)
            self.report.line(f"no settle, {changes} changes a key: runs of a key, median, most",
                             f"{statistics.median(counts):.0f}, {max(counts)}")
            self.report.line("  runs that told nothing new (more than 1 in a burst)", str(excess),
                             "0", excess == 0)
            self._memory(subject, before)

    def _memory(self, subject, before):
        self.report.line("  memory of main before, after",
                         f"{before:.1f}, {subject.memory_mb():.1f} MB")


    # endless

    def endless(self):
        self.report.head(f"endless: hooks that print without an end, {ENDLESS_S} s each")
        for text in ("yes", "yes & yes >&2"):
            with self.flood(1) as flood, self.subject(flood, command=["/bin/sh", "-c", text],
                                                      timeout="1h") as subject:
                wait_until(lambda: subject.control.hook("bench")["running"] == 1)
                time.sleep(1)   # the output that is logged, and what is read freely
                before, began = subject.cpu_us()[0], time.monotonic()
                time.sleep(ENDLESS_S)
                share = (subject.cpu_us()[0] - before) / (time.monotonic() - began) / 1e4
            self.report.line(f"main's share of a core with `{text}`", f"{share:.2f} %", "< 5 %",
                             share < 5)


def read_stamps(path):
    """{key: [(version, when), ...]} in order."""
    out = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        name, rv, when = line.split()
        out[name].append((int(rv), int(when)))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--part", action="append", choices=["cost", "rate", "burst", "endless"])
    parser.add_argument("--megabytes", type=int, default=500, help="cost: what is cached")
    parser.add_argument("--events", type=int, default=10000, help="cost: changes")
    parser.add_argument("--runs", type=int, default=10000, help="rate: runs and objects")
    parser.add_argument("--rounds", type=int, default=3, help="cost, rate: the best of so many counts")
    parser.add_argument("--changes", type=int, default=100000, help="burst: changes in all")
    parser.add_argument("--check", action="store_true", help="exit code 1 when a limit is missed")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    try:
        bench = Bench(args, folder)
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, build {args.build}")
        for part in args.part or ["cost", "rate", "burst"]:
            getattr(bench, part)()
    finally:
        shutil.rmtree(folder)
    return 1 if args.check and bench.report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
