# SPDX-License-Identifier: Apache-2.0
"""The parts that hooks.py, reload.py and others measure with: a server that sends many objects fast,
and a daemon that is observed from outside."""
import asyncio
import http.client
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "wire")]
import confwriter  # noqa: E402
from control import Control, wait_until  # noqa: E402
from fakeapi import FakeApi, service  # noqa: E402
from fakeapi.objects import compact  # noqa: E402

FIRST_RV = 1000
PIECE = 256 * 1024
TICKS = os.sysconf("SC_CLK_TCK")
STILL_US = 1000  # with less CPU than this in 0.2 s, main runs nothing but timers


def template(size):
    """The JSON of a Service of `size` bytes, with places for name, uid, version and mark."""
    obj = service("bench/@NAME@", annotations={"mark": "@MARK@", "pad": "@PAD@"}, uid="@UID@")
    obj["metadata"]["resourceVersion"] = "@RV@"
    del obj["kind"], obj["apiVersion"]
    text = compact(obj).decode().replace("%", "%%")
    for hole, form in (("@NAME@", "%(name)s"), ("@UID@", "%(uid)s"), ("@RV@", "%(rv)d"),
                       ("@MARK@", "%(mark)s")):
        text = text.replace(f"resourceVersion\":\"{hole}", f"resourceVersion\":\"{form}")
        text = text.replace(hole, form)
    filled = len(text.replace("@PAD@", "") % fields(0, FIRST_RV, "0"))
    return text.replace("@PAD@", "x" * max(0, size - filled))


def fields(number, rv, mark):
    return {"name": f"o{number:07}", "uid": f"00005eed-0000-0000-0000-{number:012}", "rv": rv,
            "mark": mark}


class Flood:
    """Serves `count` Services of `size` bytes, pre-serialised, and the changes that a bench makes."""

    def __init__(self, authority, count, size):
        self.count, self.rv = count, FIRST_RV
        self.item = template(size)
        self.event = ('{"type":"MODIFIED","object":{"kind":"Service","apiVersion":"v1",'
                      + self.item[1:] + "}\n")
        self.api = FakeApi(tls=authority.server())
        self.api.on_list("services", times=None).run(self._list)
        self.api.on_watch("services", times=None).run(self._watch)
        self.listed_at = None
        self._queue = None

    def __enter__(self):
        self.api.start()
        return self

    def __exit__(self, *_exc):
        self.api.stop()

    async def _list(self, exchange):
        await exchange.start_stream()
        await exchange.conn.send(exchange.chunk(
            b'{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":['
            % FIRST_RV))
        step = max(1, PIECE // len(self.item))
        for begin in range(0, self.count, step):
            part = ",".join(self.item % fields(n, FIRST_RV, "0")
                            for n in range(begin, min(begin + step, self.count)))
            await exchange.conn.send(exchange.chunk((b"," if begin else b"") + part.encode()))
        self.listed_at = time.monotonic()
        await exchange.conn.send(exchange.chunk(b"]}\n"))
        await exchange.end_stream()

    async def _watch(self, exchange):
        self._queue = asyncio.Queue()
        await exchange.start_stream()
        while True:
            await exchange.conn.send(exchange.chunk(await self._queue.get()))

    def prepare(self, numbers, mark):
        """The bytes of a MODIFIED event for each number, in pieces. mark: a value in the object; if
        it is the same as before, nothing but the resourceVersion changes."""
        pieces, part = [], []
        for number in numbers:
            self.rv += 1
            part.append(self.event % fields(number, self.rv, mark))
            if len(part) * len(self.event) >= PIECE:
                pieces.append("".join(part).encode())
                part = []
        return pieces + ["".join(part).encode()] if part else pieces

    def send(self, pieces):
        """Puts events on the wire as fast as the daemon takes them."""
        for piece in pieces:
            self.api.call(self._queue.put_nowait, piece)


class Subject:
    """One daemon with one hook of mode object, its CPU and its memory."""

    def __init__(self, build, folder, authority, flood, hook, resource="services", tuning=None):
        folder.mkdir()
        self.folder, self.control = folder, Control(folder / "control.sock")
        flood.api.kubeconfig(folder / "kubeconfig", ca=authority)
        self.settings = {
            "control": {"socket": self.control.path}, "state_dir": "none",
            "clusters": {"bench": {"kubeconfig": folder / "kubeconfig", "tuning": tuning or {}}},
            "watches": {"services": {"resource": resource, "namespaces": ["*"]}},
            "hooks": {"bench": {"sources": ["services"], **hook}}}
        if os.geteuid() == 0:
            self.settings["user"] = "root"
        self.write_config()
        self.binary, self.process = build / "informerd", None

    def write_config(self):
        (self.folder / "informerd.conf").write_text(confwriter.text(self.settings))

    def __enter__(self):
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen([self.binary, "-c", self.folder / "informerd.conf"],
                                        stderr=self.log, stdin=subprocess.DEVNULL)
        wait_until(self._answers, 20, "the control socket answers")
        return self

    def __exit__(self, *_exc):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def _answers(self):
        if self.process.poll() is not None:
            sys.exit(f"informerd ended: {(self.folder / 'log').read_text()}")
        return self.control.alive()

    @property
    def pid(self):
        return self.process.pid

    def wait_cached(self, objects, rv=FIRST_RV, timeout=300):
        """Waits until the cache holds so many objects and has reached a resourceVersion."""
        def there():
            now = self.control.watch("services")
            return now if now["synced"] and now["objects"] == objects \
                and int(now["resource_version"]) >= rv else None
        return wait_until(there, timeout, f"{objects} objects at {rv}", interval=0.05)

    def wait_handled(self, rv, timeout=600):
        """Waits until all changes up to rv are handled; returns the hook's status."""
        return wait_until(lambda: self._handled(rv), timeout, f"all handled up to {rv}",
                          interval=0.02)

    def _handled(self, rv):
        status = self.control.status()
        hook, watch = status["hooks"]["bench"], status["watches"]["services"]
        if hook["runs_failed"]:
            sys.exit(f"{hook['runs_failed']} runs failed: {hook['last_error']}")
        done = watch["synced"] and int(watch["resource_version"] or 0) >= rv
        return hook if done and hook["pending"] == hook["running"] == 0 else None

    def wait_still(self, rv):
        """As wait_handled(), but asks main only when it has nothing to do, since answers cost it
        CPU. Returns the number of runs and the value of cpu_us() at that time."""
        while True:
            cpu = self.cpu_us()
            time.sleep(0.2)
            if self.cpu_us()[0] - cpu[0] < STILL_US:
                status = self._handled(rv)
                if status:
                    return status["runs_ok"], cpu

    def cpu_us(self):
        """CPU of main so far: all, user, system. User and system are counted in ticks of 10 ms."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return [total / 1e3] + [int(n) * 1e6 / TICKS for n in stat[11:13]]

    def memory_mb(self):
        """The memory of main that no file backs, in MB."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
        return 0.0


def _ask_for_ever(path, pipe):
    longest = 0.0
    while not pipe.poll():
        begin = time.monotonic()
        try:
            Control(path).ask("/livez")
        except (OSError, http.client.HTTPException):
            pass
        longest = max(longest, time.monotonic() - begin)
        time.sleep(0.0005)
    pipe.send(longest)


class Asker:
    """Another process that asks the control socket all the time; .longest is the longest answer, in
    seconds."""

    def __init__(self, subject):
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_ask_for_ever, args=(str(subject.control.path), theirs))

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_exc):
        self.pipe.send("stop")
        self.longest = self.pipe.recv()
        self.process.join()
