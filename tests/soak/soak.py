#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""All faults at random for long, and then nothing may be lost, and nothing may have grown.

    soak.py --build DIR --output DIR [--time 45m] [--rate 5] [--pace 0.5] [--seed N] [--record] [--keep]

Two daemons with six hooks each follow the same Services, EndpointSlices and ConfigMaps of a fake API server, of
which `rate` a second are made, changed or deleted. `pace` times a second a random fault begins, and faults
overlap: connections are reset; watches end, with errors and in the middle of an event; requests are refused with
429, 500 and 503, dropped, or answered late; the server goes away, and comes back without its history (410);
token and CA rotate; main or helper stands still; hooks and watches change in a reload. One hook fails, dies, hangs,
prints without an end, forks and leaves processes behind. Clients use the control socket all the time. The daemon
"mortal" also dies: main or helper gets SIGKILL, or main SIGTERM, and it is started again. The daemon "steady" lives
through all of it: growth shows in a process that lives for long.

At the end comes a calm. Then each cache, what each hook was told, and the output files must be what the server has;
of the runs no process and no cgroup may be left; and the medians of memory, descriptors, processes, cgroups and the
state file over the last third of the time may not be above those over the first third (curves.py LIMITS, after a
warm-up). No daemon may end without being told, and no log may name a bug. The samples and their curves are in
--output; prints what happened; the exit status is 1 if one of these rules was broken.

The build is the release: growth is that of the program that users have. A build with sanitizers keeps what was freed.
"""
import pathlib
import random
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire"), str(ROOT / "tests" / "crash")]

import campaign  # noqa: E402
import curves  # noqa: E402
import kept  # noqa: E402
import sites  # noqa: E402
import told  # noqa: E402
import truth  # noqa: E402
from control import wait_until  # noqa: E402
from peers import SOURCES, Clients, Peer  # noqa: E402
from rotation import Plan  # noqa: E402
from trouble import Faults  # noqa: E402
from victims import options_of, perform, point_at, put_away  # noqa: E402

KEYS = {"maps": 24, "svcs": 12, "slices": 18}
FIRST_CHANGES = 150
VALUES = 5                  # few, so that objects come back to earlier states
LOOK_S = 0.25               # so soon an end is noticed that no fault asked for
SHOWN = 500                 # so many characters of what a wait has to say
TOTALS = ["changes", "runs", "faults", "restarts"]


class Churn(truth.Load):
    """Makes, changes and deletes objects of all sources at a steady rate."""

    def __init__(self, api, rate, rng):
        super().__init__(api, rate, rng)
        self.keys = [(source, f"n/{source}{number}") for source, count in KEYS.items() for number in range(count)]
        self.changes = 0

    def make(self, source, key):
        from fakeapi import endpointslice, service, simple
        value = self.rng.randrange(VALUES)
        if source == "maps":
            return simple("ConfigMap", key, data={"value": str(value), "pad": "x" * 100 * value})
        if source == "svcs":
            return service(key, ports=range(80, 81 + value))
        return endpointslice(key, "web", [f"10.0.0.{number}" for number in range(value + 1)])

    def change(self):
        source, key = place = self.rng.choice(self.keys)
        self.changes += 1
        if place in self.there and self.rng.random() < 0.2:
            self.there.discard(place)
            self.api.delete(SOURCES[source], key)
        else:
            self.there.add(place)
            self.api.apply(self.make(source, key))


class Sampler(threading.Thread):
    """Takes a sample of both daemons every few seconds."""

    def __init__(self, soak, pause_s):
        super().__init__(daemon=True)
        self.soak, self.pause_s, self.over = soak, pause_s, threading.Event()

    def run(self):
        while not self.over.wait(self.pause_s):
            self.soak.sample()

    def end(self):
        self.over.set()
        self.join()


class Soak:
    """One campaign; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import harness
        from fakeapi.store import Store
        self.options, self.problems = options, []
        self.words, self.is_sanitized = (*harness.SANITIZER, harness.REFUSED), harness.is_sanitized()
        self.rng = random.Random(options.seed)
        self.site = sites.Pod(folder, Store(), self.rng)
        self.api = self.site.api
        self.api.bookmark_period = 1
        self.api.start()
        self.peers = [Peer(name, folder / name, self.site, harness) for name in ("steady", "mortal")]
        self.steady, self.mortal = self.peers
        self.faults = Faults(self.site, self.peers, self.mortal, self.rng)
        self.churn = Churn(self.api, options.rate, random.Random(options.seed + 1))
        self.clients = Clients(self.peers, random.Random(options.seed + 2))
        self.samples = curves.Samples(options.output / "soak.csv", [peer.name for peer in self.peers], TOTALS)
        self.sampler = Sampler(self, min(3, max(1, options.time / 600)))
        self.plan, self.began, self.rest = Plan(), time.monotonic(), {}

    def sample(self):
        row = {"seconds": round(time.monotonic() - self.began, 1), "changes": self.churn.changes,
               "runs": sum(peer.knowledge.count["runs"] for peer in self.peers),
               "faults": sum(self.faults.count.values()),
               "restarts": sum(peer.starts - 1 for peer in self.peers)}
        for peer in self.peers:
            row.update({f"{peer.name} {what}": number for what, number in peer.sample().items()})
        self.samples.add(row)

    # The course of events

    def run(self):
        try:
            self.begin()
            self.suffer()
            if not self.is_broken():
                self.calm()
                self.judge()
        except AssertionError as error:
            self.problems.append(str(error)[:SHOWN])
        finally:
            self.stop()

    def begin(self):
        for _ in range(FIRST_CHANGES):
            self.churn.change()
        for peer in self.peers:
            peer.start()
        for peer in self.peers:
            peer.settle(self.api)
            wait_until(lambda: set(SOURCES) <= set(kept.read(peer.daemon.state).versions), what="the state is named")
            self.rest[peer.name] = peer.sample()
        self.began = time.monotonic()
        for thread in (self.sampler, self.churn, self.clients):
            thread.start()

    def is_broken(self):
        """Whether there is no use in going on."""
        return any(peer.problems for peer in self.peers)

    def suffer(self):
        now = self.began
        due = now
        while now < self.began + self.options.time and not self.is_broken():
            now = time.monotonic()
            if now >= due:
                due = now + self.rng.expovariate(self.options.pace)
                for pause, step in self.faults.strike():
                    now += pause
                    self.plan.add(now, [(0, step)])
            self.plan.run_until(time.monotonic() + min(LOOK_S, max(0, due - time.monotonic())))
            for peer in self.peers:
                peer.check_alive()
                peer.read()

    def calm(self):
        """No more faults: everything comes to rest."""
        self.plan.run_all()
        self.faults.end()
        for thread in (self.churn, self.clients, self.sampler):
            thread.end()
        for peer in self.peers:
            peer.check_alive()
            peer.daemon.wait_control()
            peer.make_whole()
            peer.settle(self.api)

    def content(self):
        """{source: {key: [uid, digest]}} of the server."""
        return {source: {key: [obj["metadata"]["uid"], told.digest(obj)]
                         for key, obj in self.api.store.table(plural).objects.items()}
                for source, plural in SOURCES.items()}

    def judge(self):
        content = self.content()
        for peer in self.peers:
            peer.judge(self.api, content)
            peer.judge_rest(self.rest[peer.name])
        self.sample()
        for peer in self.peers:
            peer.terminate()
            peer.down = True
        if not self.is_sanitized:
            self.problems += self.samples.problems()

    def stop(self):
        for thread in (self.churn, self.clients, self.sampler):
            if thread.is_alive():
                thread.end()
        self.samples.close()
        for peer in self.peers:
            peer.judge_log(self.words)
            self.problems += peer.problems
            peer.thaw(list(peer.frozen))
            if peer.daemon.running():
                peer.daemon.kill()
        self.problems += self.clients.problems + put_away(self.steady, self.api)
        self.mortal.daemon.cleanup()
        self.draw()
        if self.problems:
            self.problems.insert(0, f"with --seed {self.options.seed}, samples in {self.options.output}")

    def draw(self):
        title = (f"{self.options.time / 60:g} minutes of faults: {self.churn.changes} changes, "
                 f"{sum(self.faults.count.values())} faults, {self.mortal.starts - 1} restarts of \"mortal\"")
        picture = curves.picture(self.samples, title)
        (self.options.output / "soak.svg").write_text(picture)
        if self.options.record and not self.problems:
            (ROOT / "docs" / "soak.svg").write_text(picture)


def figures(soak, seconds):
    """The rows of the table."""
    rows = [("seed", soak.options.seed), ("seconds", round(seconds)), ("changes", soak.churn.changes)]
    for peer in soak.peers:
        rows += [(f"{peer.name}: {name}", number) for name, number in sorted(peer.knowledge.count.items())]
        rows += [(f"{peer.name}: error: {name}", number) for name, number in peer.errors().items()]
    rows += [("requests of clients", soak.clients.count), ("faults", sum(soak.faults.count.values()))]
    rows += [(f"  {kind}", number) for kind, number in soak.faults.count.items()]
    rows += [("restarts", soak.mortal.starts - 1),
             ("lost", sum(" lost: " in problem for problem in soak.problems))]
    for name in soak.samples.names:
        for what in curves.LIMITS:
            column = f"{name} {what}"
            first, last = curves.thirds(soak.samples.values(column))
            rows.append((f"{column}: thirds; peak, end",
                         "{:g} -> {:g}; {}, {}".format(first, last, *soak.samples.peak_and_end(column))))
    return [*rows, ("problems", len(soak.problems))]


def main():
    parser = options_of(__doc__)
    parser.add_argument("--output", type=lambda text: pathlib.Path(text).resolve(), default=pathlib.Path("build/soak"))
    parser.add_argument("--record", action="store_true", help="write the picture to docs/soak.svg, too")
    parser.add_argument("--time", type=campaign.seconds, default=45 * 60, metavar="T", help="90, 5m, 1h")
    parser.add_argument("--rate", type=float, default=5, help="changes a second")
    parser.add_argument("--pace", type=float, default=0.5, help="faults a second")
    options = parser.parse_args()
    if options.build is None:
        parser.error("--build is required")
    return perform(Soak, options, figures)


if __name__ == "__main__":
    sys.exit(main())
