#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rotates tokens, client certificates and CAs at random under load, and looks for anything a hook
could notice.

    rotation.py --build DIR [--rotations 1000] [--rate 100] [--pace 2.5] [--seed N] [--keep]

One daemon watches the same objects as three clusters: with the files of a kubelet, of a pod and of
an administrator (sites.py). Some object changes `rate` times a second. Meanwhile a random
credential rotates `pace` times a second: files are replaced whole, in halves or one after the
other, the server follows sooner or later, rotations overlap, and now and then a watch ends.

Every change must come once and in its order on the stream of each cluster. Hooks must get the
newest state of each object, and no version twice. There may be no LIST. Every 10 rotations all open
watches must come to have the newest credentials. Memory is read then, and must not grow: with 100
rotations or more its mean over the last tenth is compared with that over the second tenth. At the
end no descriptor may be open that was not open before the first rotation. Prints what happened; the
exit status is 1 if one of these rules was broken. How late events come is printed, not judged: a
watch that ends while its credentials are refused has to wait.
"""
import heapq
import itertools
import pathlib
import random
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire"), str(ROOT / "tests" / "crash")]

import sites  # noqa: E402
import truth  # noqa: E402
from control import wait_until  # noqa: E402
from victims import Subject, options_of, perform, point_at, put_away  # noqa: E402

import proctree  # noqa: E402

KINDS = ["token", "pair", "ca"]
CALM_EVERY = 10
CUT_SHARE = 0.8             # so many rotations come with the end of a watch
BOOKMARK_S = 0.5            # after three silent watches in a row a LIST is right
QUIET = ["q1", "q2"]        # namespaces without objects: watches without events
JUDGED_FROM = 100           # with fewer rotations, growth would tell nothing
IDLE = 4                    # POOL_MAX_IDLE in daemon/io/pool.h
KB_MORE = 1024              # so much more memory than at the beginning is no growth
WHO = ["main", "helper"]
TUNING = {"watch_timeout": ["10s", "20s"], "backoff": {"initial": "100ms", "max": "1s"}}


class Plan:
    """The steps that are still to come, of all rotations, by their time."""

    def __init__(self):
        self._heap, self._numbers = [], itertools.count()

    def add(self, begin, steps):
        for pause, step in steps:
            begin += pause
            heapq.heappush(self._heap, (begin, next(self._numbers), step))

    def run_until(self, end):
        """Takes the steps that are due up to this time."""
        while self._heap and self._heap[0][0] <= end:
            due, _number, step = heapq.heappop(self._heap)
            time.sleep(max(0, due - time.monotonic()))
            step()
        time.sleep(max(0, end - time.monotonic()))

    def run_all(self):
        self.run_until(max((due for due, *_ in self._heap), default=0))


class Soak:
    """One campaign; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import harness
        from fakeapi.store import Store
        self.options, self.folder, self.problems = options, folder, []
        self.rng = random.Random(options.seed)
        self.counts = dict.fromkeys(KINDS, 0)
        self.cuts, self.plan = 0, Plan()
        self.kb, self.fds = [], []      # [(of main, of helper), ...]; fds: at rest
        store = Store()
        self.sites = [kind(folder, store, self.rng)
                      for kind in (sites.Node, sites.Pod, sites.Admin)]
        for site in self.sites:
            site.api.bookmark_period = BOOKMARK_S
            site.api.start()
        self.log = folder / "runs.log"
        self.daemon = harness.Daemon(folder, self.settings(harness))
        self.subject = Subject(self.daemon)
        self.load = truth.Load(self.sites[0].api, options.rate, random.Random(options.seed + 1))
        self.readers = []

    def settings(self, harness):
        import confwriter
        tuning = confwriter.merge(harness.TUNING, TUNING)
        watches = {}
        for site in self.sites:
            watches[f"{site.name}-maps"] = {"cluster": site.name, "resource": "configmaps",
                                            "namespaces": ["*"]}
            watches[f"{site.name}-quiet"] = {"cluster": site.name, "resource": "services",
                                             "namespaces": QUIET}
        hook = self.folder / "hook"
        hook.write_text(truth.HOOK.format(log=self.log))
        hook.chmod(0o755)
        base = {"command": [hook], "timeout": harness.NEVER}
        return {
            "log": {"level": "info"},
            "clusters": {site.name: {"servers": [site.api.url], "tuning": tuning, **site.settings}
                         for site in self.sites},
            "watches": watches,
            # One hook sees each change, and one only the newest of many.
            "hooks": {"each": {**base, "sources": ["admin-maps"], "concurrency": 4},
                      "some": {**base, "sources": ["node-maps", "pod-maps"],
                               "settle": ["200ms", "500ms"]}}}

    # Under way

    def run(self):
        self.subject.start()
        try:
            self.daemon.wait_control()
            self.daemon.synced()
            self.pids = (self.daemon.pid, self.daemon.helper)
            self.soak()
        finally:
            self.stop()

    def soak(self):
        from harness import INFORMERCTL
        self.readers = [truth.Reader(INFORMERCTL, self.daemon.control.path, f"{site.name}-maps")
                        for site in self.sites]
        for reader in self.readers:
            wait_until(reader.synced.is_set, what="a stream is in sync")
        for site in self.sites:
            site.api.wait(lambda: len(site.watchers()) == 1 + len(QUIET), what="all watches")
            site.api.forget()
        self.fds.append(self.descriptors())
        self.load.start()
        begin = time.monotonic()
        for number in range(1, self.options.rotations + 1):
            begin = max(begin, time.monotonic() - 1) + self.rng.expovariate(self.options.pace)
            self.plan.run_until(begin)
            self.rotate(begin)
            if number % CALM_EVERY == 0 or number == self.options.rotations:
                self.calm()
        self.finish()

    def rotate(self, now):
        """Begins a rotation; at the times of its steps others may begin."""
        kind = self.rng.choice(KINDS)
        site = self.rng.choice([site for site in self.sites if kind in site.kinds])
        self.counts[kind] += 1
        self.plan.add(now, site.rotation(kind))
        if self.rng.random() < CUT_SHARE:
            self.cuts += self.rng.choice(self.sites).cut_one(time.monotonic())

    def calm(self):
        """Ends all rotations: then all watches come to have the newest credentials."""
        self.plan.run_all()
        for site in self.sites:
            wait_until(lambda: self.is_newest(site), what=f"watches of {site.name} are renewed")
        self.kb.append(tuple(proctree.memory_kb(pid, "VmRSS") for pid in self.pids))

    def is_newest(self, site):
        found = site.watchers()
        return (len(found) == 1 + len(QUIET) and all(map(site.is_renewed, found))
                and site.api.open_conns() <= len(found) + IDLE)

    # The end

    def descriptors(self):
        """How many descriptors main and helper have, without main's connections to servers. To be
        called while nothing is under way."""
        main, helper = (len(proctree.fds(pid)) for pid in self.pids)
        return main - sum(site.api.open_conns() for site in self.sites), helper

    def count_descriptors(self):
        """As descriptors(), once they are as few as in the beginning."""
        def few():
            now = self.descriptors()
            return now if all(map(int.__le__, now, self.fds[0])) else None
        self.fds.append(wait_until(few, what=lambda: f"descriptors of main and helper: "
                                                     f"{self.fds[0]}, then {self.descriptors()}"))

    def finish(self):
        self.load.end()
        wanted = len(self.load.told)
        for reader in self.readers:
            wait_until(lambda: len(reader.told) >= wanted or reader.process.poll() is not None,
                       what=f"the stream of {reader.source} has every change")
        self.use_tokens()
        for site in self.sites:
            site.api.bookmark()
        self.daemon.control.wait_idle()
        self.judge()
        self.count_descriptors()
        for reader in self.readers:
            reader.end()
        code, _seconds = self.daemon.stop()
        self.problems += [f"exit code {code} after SIGTERM"] if code else []

    def use_tokens(self):
        """Lets each watch with events be asked for once more. Old tokens are revoked by now."""
        for site in self.sites:
            if site.token is not None:
                site.api.bookmark()     # after it the end of a young watch needs no LIST
                site.api.end_watches("configmaps")
                wait_until(site.has_newest_token, what=f"a watch of {site.name} with a new token")

    def judge(self):
        import harness
        for reader in self.readers:
            self.problems += truth.judge_stream(reader, self.load)
        runs, judge = truth.read_runs(self.log), truth.Judge(self.load)
        for reader in self.readers:
            self.problems += judge.problems(
                reader.source, [run for run in runs if run.source == reader.source])
        self.problems += [f"{site.name}: a LIST: {request}" for site in self.sites
                          for request in site.api.requests if request.kind in "LS"]
        if not renewed(self) and self.counts["pair"] + self.counts["ca"]:
            self.problems.append("no open watch was renewed")
        if self.options.rotations >= JUDGED_FROM and not harness.is_sanitized():
            self.judge_growth()

    def tenths(self, number):
        """The means of the memory over the second and over the last tenth of the samples."""
        tenth = max(1, len(self.kb) // 10)
        values = [kb[number] for kb in self.kb]
        return statistics.mean(values[tenth:2 * tenth] or values), statistics.mean(values[-tenth:])

    def judge_growth(self):
        for number, who in enumerate(WHO):
            first, last = self.tenths(number)
            if last > first + KB_MORE:
                self.problems.append(f"{who}: memory grew from {first:.0f} to {last:.0f} kB")

    def stop(self):
        if self.load.is_alive():
            self.load.end()
        for reader in self.readers:
            reader.end()
        self.problems += put_away(self.subject, self.sites[0].api)
        for site in self.sites[1:]:
            site.api.stop()
            self.problems += [f"fake server: {error}" for error in site.api.errors]


def late_ms(soak):
    """How long the changes took from the server to the streams, sorted, in ms."""
    return sorted(1000 * (read - made) for reader in soak.readers
                  for made, read in zip(soak.load.times, reader.times))


def renewed(soak):
    """How many open watches got another connection before theirs was closed."""
    return sum(entry["watches"] for entry in soak.daemon.log(msg="open watches renewed"))


def figures(soak, seconds):
    """The rows of the table."""
    apis = [site.api for site in soak.sites]
    asked = [request for api in apis for request in api.requests + api.identity_requests]
    text = soak.daemon.stderr()
    late = late_ms(soak) or [0]
    grown = [(f"kB of {who}", "{:.0f} -> {:.0f}".format(*soak.tenths(number)))
             for number, who in enumerate(WHO) if soak.kb]
    return [
        ("rotations", sum(soak.counts.values())),
        *((f"  of {kind}", count) for kind, count in soak.counts.items()),
        ("watches that were ended", soak.cuts),
        ("changes", len(soak.load.told)), ("  a second", round(len(soak.load.told) / seconds)),
        ("events on the streams", sum(len(reader.told) for reader in soak.readers)),
        ("  ms from the change, p50", round(late[len(late) // 2], 1)),
        ("  p99", round(late[len(late) * 99 // 100], 1)), ("  most", round(late[-1], 1)),
        ("runs", len(truth.read_runs(soak.log))),
        ("WATCHes", sum(request.kind == "W" for request in asked)),
        ("LISTs", sum(request.kind in "LS" for api in apis for request in api.requests)),
        ("requests refused by 401", sum(request.status == 401 for request in asked)),
        ("handshakes", sum(api.handshakes for api in apis)),
        ("handshakes that failed", sum(len(api.tls_errors) for api in apis)),
        ("open watches that were renewed", renewed(soak)),
        ("  not at the first try", text.count('"msg":"watch not renewed')),
        *grown, ("descriptors of main and helper", " -> ".join(map(str, soak.fds))),
        ("problems", len(soak.problems)), ("seconds", round(seconds, 1))]


def main():
    parser = options_of(__doc__)
    parser.add_argument("--rotations", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=100, help="changes a second")
    parser.add_argument("--pace", type=float, default=2.5, help="rotations a second")
    options = parser.parse_args()
    if options.build is None:
        parser.error("--build is required")
    return perform(Soak, options, figures)


if __name__ == "__main__":
    sys.exit(main())
