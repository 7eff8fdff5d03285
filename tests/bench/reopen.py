#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of opening a thousand watches again after the API server was restarted.

    reopen.py --build DIR [--watches 1000] [--scopes] [--rounds 5] [--check]

The server (reopen_server.c) speaks TLS 1.2 and forgets its ticket keys when it ends, as an API
server does. It is killed, and the next one takes its port: "at once", when the connections break,
or "later", after all watches have failed and wait. The daemon's CPU is counted from the kill until
all watches are open again.

In every other round another cluster sends an event each few milliseconds, and a stream of the
control socket shows when the daemon has it. "waited" is the longest time between the two; "CPU
meanwhile" is how much of that the daemon itself has worked: the rest is the machine, which may be
busy. The goal is for an idle machine; --check makes a missed one exit code 1, and takes the CPU for
the wait.
"""
import argparse
import asyncio
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import rig
import confwriter
from control import Control, wait_until
from fakeapi import Authority, FakeApi, ev, service
from fakeapi.objects import compact

GOAL_WATCHES, GOAL_CPU_S, GOAL_WAIT_MS = 1000, 0.5, 20
PAUSE_S = 0.004     # between two events of the other cluster
BACKOFF_MAX = "5s"  # less than the default: rounds are shorter, and more tries fail in them
AT_ONCE, LATER = "at once", "later"


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Server:
    """A process that serves the watches. It is started ahead, and listens when it is told to."""

    def __init__(self, build, port, leaf):
        self.process = subprocess.Popen(
            [build / "tests" / "reopen_server", str(port), leaf.cert_file, leaf.key_file],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told = {}
        self._cond = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            words = line.split()
            with self._cond:
                self.told = dict(zip(words[::2], map(int, words[1::2])))
                self._cond.notify_all()

    def listen(self):
        self.process.stdin.write("listen\n")
        self.process.stdin.flush()
        self.wait(0)
        return self

    def wait(self, watches, timeout=120):
        """Until it has said that so many watches are open; returns what it has said."""
        with self._cond:
            if not self._cond.wait_for(lambda: self.told.get("watches", -1) >= watches, timeout):
                sys.exit(f"not {watches} watches in {timeout} s: {self.told}")
            return self.told

    def kill(self):
        self.process.kill()
        self.process.wait()


class Ticker:
    """The other cluster: an event every few milliseconds, and who hears of it when."""

    def __init__(self, authority):
        self.api = FakeApi(tls=authority.server())
        self.api.on_watch("services", times=None).run(self._watch)
        self.sent = {}
        self.subject = None
        self.waits = []
        self.paused = self.stop = False

    async def _watch(self, exchange):
        await exchange.start_stream()
        number = 1000
        while not self.stop:
            await asyncio.sleep(PAUSE_S)
            if self.paused:
                continue
            number += 1
            obj = service("other/a", uid="00000000-0000-0000-0000-000000000001",
                          annotations={"n": str(number)})
            obj["metadata"]["resourceVersion"] = str(number)
            chunk = exchange.chunk(compact(ev("MODIFIED", obj)) + b"\n")
            self.sent[number] = time.monotonic(), self._cpu()
            await exchange.conn.send(chunk)

    def _cpu(self):
        return self.subject.cpu_us() if self.subject is not None else 0

    def follow(self, subject):
        """Reads the stream of the watch, until the daemon ends."""
        self.subject = subject
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        conn = http.client.HTTPConnection("localhost")
        conn.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        conn.sock.connect(str(self.subject.control.path))
        conn.request("GET", "/v1/sources/other/stream")
        for line in conn.getresponse():
            heard, cpu = time.monotonic(), self._cpu()
            obj = json.loads(line).get("object") or {}
            version = (obj.get("metadata") or {}).get("resourceVersion", "0")
            if int(version) in self.sent:
                then, cpu_then = self.sent[int(version)]
                self.waits.append(((heard - then) * 1e3, (cpu - cpu_then) / 1e3))


class Subject:
    """The daemon."""

    def __init__(self, build, folder, settings):
        self.control = Control(folder / "control.sock")
        settings["control"] = {"socket": self.control.path}
        (folder / "informerd.conf").write_text(confwriter.text(settings))
        self.log = open(folder / "log", "wb")
        self.process = subprocess.Popen([build / "informerd", "-c", folder / "informerd.conf"],
                                        stderr=self.log, stdin=subprocess.DEVNULL)

    def cpu_us(self):
        """CPU of main's own thread."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat"
        return int(pathlib.Path(path).read_text().split()[0]) / 1e3

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder, self.port = args, folder, free_port()
        self.authority = Authority(folder / "ca")
        self.leaf = self.authority.server()
        self.missed = False

    def settings(self, other):
        """A watch for each namespace; with --scopes one watch with all of them, which makes a
        request for each."""
        plain = {"ca_file": self.authority.file}
        names = [f"ns{n}" for n in range(self.args.watches)]
        watches = {"many": names} if self.args.scopes else {name: [name] for name in names}
        settings = {
            "state_dir": "none", "log": {"level": self.args.log},
            "clusters": {"many": {"servers": [f"https://127.0.0.1:{self.port}"], **plain,
                                  "tuning": {"backoff": {"max": BACKOFF_MAX}}},
                         "one": {"servers": [other.url], **plain}},
            "watches": {"other": {"cluster": "one", "resource": "services", "namespaces": ["*"]}}}
        settings["watches"] |= {name: {"cluster": "many", "resource": "services",
                                       "namespaces": namespaces}
                                for name, namespaces in watches.items()}
        if os.geteuid() == 0:
            settings["user"] = "root"
        return settings

    def run(self):
        ticker = Ticker(self.authority)
        server = Server(self.args.build, self.port, self.leaf).listen()
        with ticker.api as other:
            other.apply(service("other/a", uid="00000000-0000-0000-0000-000000000001"))
            subject = Subject(self.args.build, self.folder, self.settings(other))
            try:
                wait_until(subject.control.alive, 20, "the control socket answers")
                server.wait(self.args.watches)
                wait_until(lambda: subject.control.watch("other")["synced"], 20, "synced")
                ticker.follow(subject)
                wait_until(lambda: ticker.waits, 20, "events")
                self.idle(ticker)
                for how in (AT_ONCE, LATER):
                    server = self.rounds(how, server, subject, ticker)
            finally:
                subject.stop()
                ticker.stop = True
                server.kill()
        return 1 if self.args.check and self.missed else 0

    def idle(self, ticker):
        """The figures of the measurement itself when nothing happens."""
        ticker.waits.clear()
        time.sleep(1)
        print(f"  idle: an event waited {max(w[0] for w in ticker.waits):.1f} ms at most "
              f"(CPU meanwhile {max(w[1] for w in ticker.waits):.1f} ms)")

    def rounds(self, how, server, subject, ticker):
        quiet, ticking = [], []
        for number in range(2 * self.args.rounds):
            ticker.paused = number % 2 == 0
            following = Server(self.args.build, self.port, self.leaf)
            if how == AT_ONCE:
                following.listen()
            time.sleep(1.0)     # the daemon and the server are quiet
            ticker.waits.clear()
            begun, cpu = time.monotonic(), subject.cpu_us()
            server.kill()
            if how == LATER:
                time.sleep(3.0)
                following.listen()
            told = following.wait(self.args.watches)
            took = (subject.cpu_us() - cpu) / 1e6, time.monotonic() - begun
            if ticker.paused:
                quiet.append((*took, told["full"], told["resumed"]))
            else:
                ticking.append([max(w[n] for w in ticker.waits) for n in (0, 1)])
            server = following
        self.report(how, quiet, ticking)
        return server

    def report(self, how, quiet, ticking):
        def spread(rows, n, form):
            values = [row[n] for row in rows]
            return " / ".join(form.format(v) for v in (min(values), statistics.median(values),
                                                       max(values)))
        print(f"  {how}: CPU {spread(quiet, 0, '{:.3f}')} s, all open after "
              f"{spread(quiet, 1, '{:.2f}')} s, handshakes full {max(r[2] for r in quiet)}, "
              f"resumed {max(r[3] for r in quiet)}\n    an event waited "
              f"{spread(ticking, 0, '{:.1f}')} ms (CPU meanwhile {spread(ticking, 1, '{:.1f}')} ms)")
        if self.args.watches != GOAL_WATCHES:
            return
        cpu, wait = max(r[0] for r in quiet), max(r[1] for r in ticking)
        good = cpu < GOAL_CPU_S and wait < GOAL_WAIT_MS
        self.missed |= not good
        print(f"    goal for {GOAL_WATCHES} watches: CPU < {GOAL_CPU_S} s, no event waits "
              f"{GOAL_WAIT_MS} ms: {'ok' if good else 'MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--watches", type=int, default=GOAL_WATCHES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scopes", action="store_true",
                        help="one watch of so many namespaces, not so many watches")
    parser.add_argument("--log", default="info", help="the log level of the daemon")
    parser.add_argument("--check", action="store_true", help="exit code 1 when the goal is missed")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))   # so that no process is left behind
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, build {args.build}, "
          f"{args.watches} watches, {args.rounds} rounds: min / median / max")
    try:
        return Bench(args, folder).run()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
