#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long the loop stands while a reload changes one of many hooks, and what else moves.

    reload.py --build DIR [--objects 10000] [--hooks 50] [--reloads 20] [--mode batch]

A daemon with one watch and a state on disk, all of whose hooks have handled all objects. Each reload changes
one of them, the next one each time: first a setting of time (`timeout`), then a setting that renews it
(`environment`, as another command would), so that it gets all objects again.

Another process asks /livez all the time, on a connection of its own. The longest wait for an answer,
from the order of a reload until all hooks are idle, depends on the machine. "stood" is the
share of the loop: a wait without the time for which the kernel let the daemon or the asker wait for a
processor, and never less than the CPU of the daemon's thread in it. So a busy machine does not count,
a disk that hangs does. The reload itself and the runs after it are told apart: a run of mode batch gets
all objects on its stdin. "none": the same probe for as long, without a reload.

Fails if a reload makes a request to the server or another hook run, or if the loop stands for more
than 50 ms in half of the reloads of a kind.
"""
import argparse
import multiprocessing
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from rig import Flood, Subject, wait_until
from fakeapi import Authority

SIZE = 1000
LIMIT_MS = 50
ASK = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAUSE_S = 0.0002


def times(path):
    """(CPU, waits for a processor) of a thread, in ns."""
    cpu, waited, _slices = path.read_text().split()
    return int(cpu), int(waited)


def ask(sock):
    sock.sendall(ASK)
    answer = b""
    while not answer.endswith(b"ok\n"):
        part = sock.recv(4096)
        if not part:
            raise ConnectionError("the daemon has closed the connection")
        answer += part


def probe(socket_path, pid, pipe):
    """Each message of the pipe ends a window: the answer is its longest wait and stand, in ms."""
    main = pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat")
    own = pathlib.Path("/proc/thread-self/schedstat")
    wait = stood = 0.0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(socket_path)
        while True:
            before, own_before, begin = times(main), times(own), time.monotonic_ns()
            ask(sock)
            took, after, own_after = time.monotonic_ns() - begin, times(main), times(own)
            cpu, away = after[0] - before[0], after[1] - before[1] + own_after[1] - own_before[1]
            wait, stood = max(wait, took / 1e6), max(stood, max(cpu, took - away) / 1e6)
            if pipe.poll():
                if pipe.recv() == "end":
                    return
                pipe.send((wait, stood))
                wait = stood = 0.0
            time.sleep(PAUSE_S)


class Prober:
    """The process that asks."""

    def __init__(self, subject):
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(
            target=probe, args=(str(subject.control.path), subject.pid, theirs))

    def __enter__(self):
        self.process.start()
        self.window()
        return self

    def __exit__(self, *_exc):
        self.pipe.send("end")
        self.process.join()

    def window(self):
        """(longest wait, longest stand) since the last call, in ms."""
        self.pipe.send("window")
        return self.pipe.recv()


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.missed = args, folder, False
        self.authority = Authority(folder / "ca")
        self.names = [f"h{n:02}" for n in range(args.hooks)]
        self.ran = folder / "ran"       # the name of the hook, once for each run

    def run(self):
        # Each run leaves a line, which no counter of the daemon can replace. Without streaming
        # lists nobody asks for the version of the server while the reloads are counted.
        hook = {"command": ["/bin/sh", "-c", f'echo "$INFORMERD_HOOK" >> {self.ran}'],
                "mode": self.args.mode, "timeout": "60s"}
        with Flood(self.authority, self.args.objects, SIZE) as self.flood:
            subject = Subject(self.args.build, self.folder / "daemon", self.authority, self.flood,
                              hook, tuning={"watch_list": "off"})
            self.subject, self.settings = subject, subject.settings
            self.settings["state_dir"] = self.folder / "state"
            self.settings["hooks"] = {name: {"sources": ["services"], **hook}
                                      for name in self.names}
            subject.write_config()
            with subject:
                subject.wait_cached(self.args.objects, timeout=1200)
                self.calm()
                with Prober(subject) as self.prober:
                    self.report()

    def ctl(self, *words):
        done = subprocess.run([self.args.build / "informerctl", "--socket",
                               self.subject.control.path, *words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"informerctl {' '.join(words)}: {done.stdout}{done.stderr}")

    def calm(self):
        """Until nothing runs or waits, and the state is on disk."""
        self.ctl("wait", "--for", "idle", "--timeout", "1200s")
        wait_until(lambda: self.subject.control.status()["state"]["waiting"] == 0, 600, "saved")

    def forget(self):
        self.flood.api.forget()
        self.flood.api.identity_requests.clear()
        self.ran.write_text("")

    def window(self, number, change):
        """One reload, or a rest."""
        name = self.names[number % len(self.names)]
        if change:
            change(self.settings["hooks"][name], number)
            self.subject.write_config()
        self.forget()
        self.prober.window()
        cpu, begin = self.subject.cpu_us()[0], time.monotonic()
        if change:
            self.ctl("reload")
            reload = self.prober.window()
            self.ctl("wait", "--for", "idle", "--timeout", "600s")
        else:
            time.sleep(self.rest_s)
            reload = (0.0, 0.0)
        took, cpu = time.monotonic() - begin, self.subject.cpu_us()[0] - cpu
        rest = self.prober.window()
        self.calm()
        api = self.flood.api
        ran = self.ran.read_text().split()
        return {"took": took * 1e3, "wait": max(reload[0], rest[0]), "reload": reload[1],
                "rest": rest[1], "stood": max(reload[1], rest[1]), "CPU": cpu / 1e3,
                "requests": [r.target for r in api.requests + api.identity_requests],
                "others": len(ran) - ran.count(name), "own": ran.count(name)}

    def report(self):
        print(f"{self.args.objects} objects of {SIZE} bytes, {self.args.hooks} hooks of mode "
              f"{self.args.mode}, {self.args.reloads} reloads of a kind; ms: median / max")
        line("changed", "took", "CPU", "longest wait", "stood", "of it reload", "then", "requests",
             "own runs", "other runs")
        self.rest_s = 0.0
        for kind, change in (("timeout", change_time), ("environment", change_work), ("none", None)):
            rows = [self.window(n, change) for n in range(self.args.reloads)]
            self.rest_s = statistics.median(row["took"] for row in rows) / 1e3
            self.judge(kind, rows)

    def judge(self, kind, rows):
        of = {key: [row[key] for row in rows] for key in rows[0]}
        requests, others = sum(of["requests"], []), sum(of["others"])
        line(kind, *(spread(of[key]) for key in ("took", "CPU", "wait", "stood", "reload", "rest")),
             len(requests), sum(of["own"]), others)
        stood = statistics.median(of["stood"])
        own = 0 if kind != "environment" else len(rows) * \
            (self.args.objects if self.args.mode == "object" else 1)
        for is_bad, what in (
                (stood > LIMIT_MS, f"the loop stands for {stood:.1f} ms, not for {LIMIT_MS}"),
                (requests, f"requests to the server: {requests}"),
                (others, f"{others} runs of other hooks"),
                (sum(of["own"]) != own, f"{sum(of['own'])} runs of the hook, not {own}")):
            if is_bad:
                self.missed = True
                print(f"  MISSED: {kind}: {what}")


def line(first, *cells):
    print(f"  {first:<12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def change_time(hook, number):
    hook["timeout"] = f"{61 + number}s"


def change_work(hook, number):
    hook["environment"] = {"ROUND": str(number)}


def spread(values):
    return f"{statistics.median(values):.1f} / {max(values):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=int, default=10000)
    parser.add_argument("--hooks", type=int, default=50)
    parser.add_argument("--reloads", type=int, default=20, help="of each kind")
    parser.add_argument("--mode", choices=["object", "batch", "snapshot"], default="batch")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    try:
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, build {args.build}")
        bench = Bench(args, folder)
        bench.run()
    finally:
        shutil.rmtree(folder)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
