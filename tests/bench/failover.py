#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes from kill -9 of the API server in use to the hook's main() for the next change.

    failover.py --build DIR [--rounds 100] [--watches 20]

Three fake API servers of one cluster, each behind a process that forwards its connections and can
be killed; TLS goes through. Each round starts a daemon, kills the process in front of the server in
use, and changes an object at once. In the second part one of the other servers lags: its answers are
of an old revision, or it does not answer the question for its revision; only rounds in which the
daemon came by that server count. Fails above 1.5 s, by way of a lagging server above 5 s, and on any
LIST.
"""
import argparse
import asyncio
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire")]
import confwriter  # noqa: E402
from control import Control, wait_until  # noqa: E402
from fakeapi import Authority, FakeApi, Several, service  # noqa: E402
from fakeapi.server import take_port  # noqa: E402

LIMIT_MS, LAG_LIMIT_MS = 1500, 5000
OBJECTS = 100


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def forward(port, target):
    """The process in front of a server: a child of this script."""
    async def serve(reader, writer):
        there = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


class Front:
    """A port that leads to a fake server, as long as its process lives."""

    def __init__(self, api):
        self.api, self.process = api, None
        self._taken = take_port("127.0.0.1")
        self.port = self._taken.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"

    def start(self):
        if self.process is not None:
            return
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--forward", str(self.port), str(self.api.port)],
            stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def close(self):
        if self.process is not None:
            self.kill()
        self._taken.close()


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.stamps, self.rounds = folder / "stamps", itertools.count(1)
        ca = Authority(folder)
        leaf = ca.server()
        first = FakeApi(tls=leaf)
        self.several = Several([first, FakeApi(tls=leaf, store=first.store),
                                FakeApi(tls=leaf, store=first.store)])
        for api in self.several:
            api.start()
        self.identity = first.identity
        self.several.apply(*[service(f"bench/s{n}") for n in range(OBJECTS)])
        self.fronts = [Front(api) for api in self.several]
        watches = {f"w{n}": {"resource": "services", "namespaces": [f"n{n}"]}
                   for n in range(args.watches - 1)}
        settings = {
            "control": {"socket": folder / "control.sock"}, "state_dir": "none",
            "log": {"level": "warn"},
            "clusters": {"bench": {"servers": [front.url for front in self.fronts],
                                   "ca_file": ca.file}},
            "watches": {"services": {"resource": "services", "namespaces": ["*"]}, **watches},
            "hooks": {"stamp": {"sources": ["services"], "command": [folder / "stamp"],
                                "existing": "skip", "settle": ["0s", "0s"],
                                "environment": {"STAMPS": self.stamps}}}}
        if os.geteuid() == 0:
            settings["user"] = "root"
        self.config = folder / "informerd.conf"
        self.config.write_text(confwriter.text(settings))
        self.config.chmod(0o600)
        self.control = Control(folder / "control.sock")

    def close(self):
        for front in self.fronts:
            front.close()
        for api in self.several:
            api.stop()

    def _used(self):
        """The front in use, once everything is in sync."""
        status = self.control.status()
        if not status["ready"] or self.several.watching("services") < self.args.watches:
            return None
        used = [s["url"] for s in status["clusters"]["bench"]["servers"] if s["in_use"]]
        return next((front for front in self.fronts if front.url in used), None)

    def _stamp(self, name):
        lines = self.stamps.read_text().splitlines() if self.stamps.exists() else []
        found = [int(line.split()[2]) for line in lines if line.split()[0] == name]
        return found[0] if found else None

    def _measure(self, prepare):
        """ms from the kill to the hook; None = the round does not count."""
        number = next(self.rounds)
        wait_until(self.control.alive, 30, "the control socket answers", interval=0.01)
        used = wait_until(self._used, 60, "in sync", interval=0.01)
        lagging = prepare(self, number, [front.api for front in self.fronts if front is not used])
        self.several.forget()
        obj = service(f"bench/x{number}")
        used.process.kill()
        killed = time.monotonic_ns()
        self.several.apply(obj)
        began = wait_until(lambda: self._stamp(f"x{number}"), 60, "the hook", interval=0.005)
        wait_until(lambda: self.several.watching("services") >= self.args.watches, 60, "watches")
        if self.several.lists():
            sys.exit(f"round {number}: a LIST: {self.several.lists()}")
        counts = lagging is None or bool(lagging.identity_requests)
        return (began - killed) / 1e6 if counts else None

    def round(self, prepare):
        for front in self.fronts:
            front.start()
        daemon = subprocess.Popen([self.args.build / "informerd", "-c", self.config],
                                  stderr=open(self.folder / "log", "ab"))
        try:
            return self._measure(prepare)
        finally:
            daemon.terminate()
            daemon.wait()
            for front in self.fronts:
                if front.process is not None and front.process.poll() is not None:
                    front.kill()
            for api in self.several:
                api.identity = self.identity
                api.catch_up()
            # The next round counts watches, which must be those of its own daemon.
            wait_until(lambda: not self.several.watchers, 60, "the watches of this round are over")

    def run(self, what, limit_ms, prepare):
        ms = []
        while len(ms) < self.args.rounds:
            took = self.round(prepare)
            if took is not None:
                ms.append(took)
        ms.sort()
        print(f"kill -9 of the server in use -> hook's main(), {what}, {self.args.watches} "
              f"watches, {len(ms)} times: p50 {statistics.median(ms):.0f} ms, "
              f"p90 {ms[len(ms) * 9 // 10]:.0f} ms, p99 {ms[len(ms) * 99 // 100]:.0f} ms, "
              f"max {ms[-1]:.0f} ms; no LIST", flush=True)
        return ms[-1] < limit_ms


def all_well(_bench, _number, _others):
    return None


def one_lags(bench, number, others):
    """One of the others knows less than the daemon, and every third time says nothing at all."""
    lagging = others[number % 2]
    lagging.lag()
    bench.several.apply(service(f"bench/known{number}"))
    rv = str(bench.several.rv)
    wait_until(lambda: bench.control.watch("services")["resource_version"] == rv, 60, rv)
    if number % 3 == 0:
        lagging.identity = "stall"
    return lagging


def main():
    if sys.argv[1:2] == ["--forward"]:
        asyncio.run(forward(*map(int, sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--watches", type=int, default=20)
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    shutil.copy(args.build / "tests" / "stamp", folder / "stamp")
    bench = Bench(args, folder)
    try:
        good = [bench.run("the others are well", LIMIT_MS, all_well),
                bench.run("by way of one that lags", LAG_LIMIT_MS, one_lags)]
    finally:
        bench.close()
        shutil.rmtree(folder)
    if not all(good):
        sys.exit("too slow")


if __name__ == "__main__":
    main()
