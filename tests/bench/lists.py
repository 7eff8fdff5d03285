#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The savings and costs of `compression = "gzip"`: a LIST of many pods, with it and without it.

    lists.py --build DIR [--pods 20000] [--mbit 0] [--rounds 3]

Everything runs on loopback over TLS. The bytes of the list, also the compressed ones, are made
before. --mbit: the server sends no faster than that; 0 = as fast as the daemon reads. The time is
from the request to the last event in the cache, the CPU that of main, the memory what no file
backs, at its highest.
"""
import argparse
import asyncio
import pathlib
import random
import statistics
import sys
import tempfile
import time

from rig import Subject, wait_until
from fakeapi import Authority, FakeApi, gzip_member
from fakeapi.objects import compact

PIECE = 64 * 1024
PODS = "/api/v1/pods"


def pod(number, chance):
    """A pod of a Deployment, as a kubelet reports it: about 4 KB."""
    app = f"app-{number % 200}"
    name = f"{app}-{chance.getrandbits(40):x}-{chance.getrandbits(20):x}"
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    when = f"2024-{number % 12 + 1:02}-11T08:{number % 60:02}:{chance.randrange(60):02}Z"
    conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
    env = [{"name": f"SETTING_{n}", "value": f"{app}-value-{n}"} for n in range(20)]
    return {
        "metadata": {"name": name, "namespace": f"ns-{number % 40}", "labels": {"app": app},
                     "uid": f"{chance.getrandbits(128):032x}", "resourceVersion": str(1000 + number),
                     "creationTimestamp": when,
                     "ownerReferences": [{"kind": "ReplicaSet", "name": name[:-6],
                                          "uid": f"{number % 400:032x}"}]},
        "spec": {"nodeName": f"node-{chance.randrange(500)}", "serviceAccountName": app,
                 "containers": [{"name": f"c{n}", "image": f"registry.example/{app}/c{n}:1.{n}",
                                 "env": env, "resources": {"requests": {"cpu": "100m"}}}
                                for n in range(2)]},
        "status": {"phase": "Running", "podIP": address, "hostIP": f"192.168.0.{number % 250}",
                   "startTime": when,
                   "conditions": [{"type": kind, "status": "True", "lastTransitionTime": when}
                                  for kind in conditions],
                   "containerStatuses": [{"name": f"c{n}", "ready": True, "restartCount": 0,
                                          "containerID": f"containerd://{chance.getrandbits(256):x}",
                                          "state": {"running": {"startedAt": when}}}
                                         for n in range(2)]}}


def list_of(count):
    chance = random.Random(1)
    items = b",".join(compact(pod(number, chance)) for number in range(count))
    return (b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":['
            % (1000 + count)) + items + b"]}\n"


class Lister:
    """Serves one list, as it is or compressed, at a certain speed."""

    def __init__(self, authority, plain, mbit):
        self.bodies = {"off": plain, "gzip": gzip_member(plain)}
        self.bytes_per_s = mbit * 1e6 / 8
        self.asked_at = None
        self.api = FakeApi(tls=authority.server())
        self.api.on(path=PODS, kind="L", times=None).run(self._list)

    async def _list(self, exchange):
        packed = exchange.request.header("accept-encoding") == "gzip"
        body = self.bodies["gzip" if packed else "off"]
        self.asked_at = begin = time.monotonic()
        await exchange.start_stream({"Content-Encoding": "gzip"} if packed else None)
        for at in range(0, len(body), PIECE):
            if self.bytes_per_s:
                due = begin + at / self.bytes_per_s
                await asyncio.sleep(max(0, due - time.monotonic()))
            await exchange.conn.send(exchange.chunk(body[at:at + PIECE]))
        await exchange.end_stream()


def measure(args, folder, authority, lister, compression):
    hook = {"command": ["/bin/true"], "existing": "skip"}
    with Subject(args.build, folder, authority, lister, hook, "pods",
                 {"compression": compression}) as subject:
        most = [0.0]

        def listed():
            most[0] = max(most[0], subject.memory_mb())
            return subject.control.watch("services")["synced"]
        wait_until(listed, 600, "the list is cached", interval=0.02)
        end = time.monotonic()
        return end - lister.asked_at, subject.cpu_us()[0] / 1e6, max(most[0], subject.memory_mb())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--mbit", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    args.build = args.build.resolve()
    with tempfile.TemporaryDirectory(prefix="informerd-bench-") as folder:
        folder = pathlib.Path(folder)
        authority = Authority(folder)
        lister = Lister(authority, list_of(args.pods), args.mbit)
        with lister.api:
            for compression in ("off", "gzip"):
                rows = [measure(args, folder / f"{compression}{n}", authority, lister, compression)
                        for n in range(args.rounds)]
                seconds, cpu, memory = (statistics.median(column) for column in zip(*rows))
                print(f"{compression:4}: {len(lister.bodies[compression]) / 1e6:.1f} MB, "
                      f"{seconds:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
