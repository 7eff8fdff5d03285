#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes on an idle daemon from an event of the API server to the hook's main().

    latency.py --build DIR [--objects 10000] [--events 300]

Everything runs on loopback over TLS: the fake API server of tests/fakeapi, the real daemon with
the given number of Services cached, and a hook of a few lines of C.
"""
import argparse
import asyncio
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from fakeapi import Authority, FakeApi, ev, service  # noqa: E402
from fakeapi.objects import compact  # noqa: E402

CONFIG = """
{user}
state_dir = "none";
control  : {{ socket = "{dir}/control.sock"; }};
clusters : {{ bench : {{ kubeconfig = "{dir}/kubeconfig"; }}; }};
watches  : {{ services : {{ resource = "services"; namespaces = [ "*" ]; }}; }};
hooks    : {{ stamp : {{ sources = [ "services" ]; command = [ "{dir}/stamp" ];
                        existing = "skip"; environment : {{ STAMPS = "{dir}/stamps"; }}; }}; }};
"""


def write_files(folder, build, ca, api):
    shutil.copy(build / "tests" / "stamp", folder / "stamp")
    api.kubeconfig(folder / "kubeconfig", ca=ca)
    user = 'user = "root";' if os.geteuid() == 0 else ""
    (folder / "informerd.conf").write_text(CONFIG.format(dir=folder, user=user))


def script_of(objects, events, stamps, sent):
    """The handler of a watch: it writes one event, waits until the hook has begun, rests, goes
    on."""
    async def run(exchange):
        await exchange.start_stream()
        for number in range(events):
            await asyncio.sleep(0.01)
            obj = dict(objects[number % len(objects)])
            obj["metadata"] = dict(obj["metadata"], resourceVersion=str(1000000 + number),
                                   labels={"n": str(number)})
            chunk = exchange.chunk(compact(ev("MODIFIED", obj)) + b"\n")
            sent.append(time.monotonic_ns())
            await exchange.conn.send(chunk)
            while not stamps.exists() or stamps.read_bytes().count(b"\n") <= number:
                await asyncio.sleep(0.002)
        await exchange.conn.gone()
    return run


def measure(args, folder):
    ca = Authority(folder)
    sent = []
    with FakeApi(tls=ca.server()) as api:
        objects = [api.apply(service(f"bench/s{n}")) for n in range(args.objects)]
        write_files(folder, args.build, ca, api)
        api.on_watch("services").run(script_of(objects, args.events, folder / "stamps", sent))
        daemon = subprocess.Popen([args.build / "informerd", "-c", folder / "informerd.conf"],
                                  stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 120
            while not (folder / "stamps").exists() or \
                    (folder / "stamps").read_text().count("\n") < args.events:
                if daemon.poll() is not None or time.monotonic() > deadline:
                    sys.exit("the daemon did not run the hooks")
                time.sleep(0.05)
        finally:
            daemon.terminate()
            daemon.wait()
    begun = [int(line.split()[2]) for line in (folder / "stamps").read_text().splitlines()]
    return sorted((b - s) / 1e6 for s, b in zip(sent, begun))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=int, default=10000)
    parser.add_argument("--events", type=int, default=300)
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    try:
        ms = measure(args, folder)
    finally:
        shutil.rmtree(folder)
    print(f"event written -> hook's main(), {args.objects} objects cached, {len(ms)} events: "
          f"p50 {statistics.median(ms):.2f} ms, p99 {ms[len(ms) * 99 // 100]:.2f} ms, "
          f"max {ms[-1]:.2f} ms")


if __name__ == "__main__":
    main()
