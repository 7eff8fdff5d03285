#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long a start takes and what it requests from the API server: cold beside warm.

    restart.py --build DIR [--objects 1000 10000 100000] [--rounds 5] [--kill] [--check]

Every round starts the daemon three times against EndpointSlices of 10 endpoints, over TLS on
loopback: cold (state_dir is empty), then twice warm (same folder, nothing has changed). A watch
that goes on without a LIST is in sync at its first bookmark, or when its stream was silent for
500 ms. With "warm", the server sends a bookmark at once. With "warm, silent" it sends nothing, so
the last two times of these starts contain the 500 ms.

Times are from just before exec, the page cache is warm, a hook of mode batch with /bin/true follows the
watch; READY is the notification to systemd (a build with libsystemd is needed): the first run of the hook
has ended, or none is due. Bytes are those of HTTP; "wire" counts the bytes of TCP in both directions, TLS
and its handshake included. The goal is for an idle machine; --check makes a missed one exit code 1. """
import argparse
import os
import pathlib
import selectors
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import rig
import confwriter
from fakeapi import Authority, FakeApi, endpointslice
from fakeapi.objects import bookmark, compact

GOAL_OBJECTS, GOAL_MS = 10000, 100
LAST_RV = 1000000000
ENDPOINTS = 10
LIST, WATCH, GET, OTHER = "LIST", "WATCH", "GET", "other"
KINDS = {"L": LIST, "W": WATCH, "S": LIST, "G": GET}
COLD, WARM, SILENT = "cold", "warm", "warm, silent"
MARKS = {"control": "control socket answers", "request": "first request", "open": "watch is open",
         "synced": "watch is synced", "ready": "READY"}
ASK = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
TCP_INFO_BYTES = struct.Struct("=120xQQ")   # linux/tcp.h: tcpi_bytes_acked, tcpi_bytes_received


def template():
    """A list item with places for its number, uid, address and version."""
    addresses = [f"10.128.0.{n + 1}" for n in range(ENDPOINTS)]
    obj = endpointslice("shop/app-@N@-x7k2p", "app-@N@", addresses, uid="@UID@",
                        node="worker-00042.example.net")
    obj["metadata"]["resourceVersion"] = "@RV@"
    text = compact({key: obj[key] for key in obj if key not in ("kind", "apiVersion")}).decode()
    for hole, form in (("@N@", "%(n)06d"), ("@RV@", "%(rv)d"), ("@UID@", "%(uid)s"),
                       ("10.128.0.", "10.%(net)s.")):
        text = text.replace(hole, form)
    return text


def item(form, number):
    return form % {"n": number, "rv": 1000 + number, "net": f"{128 + number // 256}.{number % 256}",
                   "uid": f"00005eed-0000-4000-8000-{number:012}"}


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


class Cluster:
    """A server with `count` EndpointSlices whose LIST is made beforehand."""

    def __init__(self, authority, count):
        self.count = count
        self.api = FakeApi(tls=authority.server())
        self.api.context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE    # as servers in Go do
        self.api.rv = LAST_RV
        self.pieces, self.size = self._list_pieces()
        self.bookmark_at_once = True
        self.opened = None
        self.api.on_list("endpointslices", times=None).run(self._list)
        self.api.on_watch("endpointslices", times=None).run(self._watch)

    def __enter__(self):
        self.api.start()
        return self

    def __exit__(self, *_exc):
        self.api.stop()

    def _list_pieces(self):
        form = template()
        head = (b'{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":'
                b'{"resourceVersion":"%d"},"items":[' % LAST_RV)
        step = max(1, rig.PIECE // len(form))
        pieces = [chunk(head)]
        for begin in range(0, self.count, step):
            part = ",".join(item(form, n) for n in range(begin, min(begin + step, self.count)))
            pieces.append(chunk((b"," if begin else b"") + part.encode()))
        return pieces + [chunk(b"]}\n"), b"0\r\n\r\n"], len(item(form, 0))

    def begin(self, bookmark_at_once):
        """Another start of the daemon: only requests from now on count."""
        self.bookmark_at_once = bookmark_at_once
        self.api.forget()
        self.opened = None

    async def _list(self, exchange):
        await exchange.start_stream()
        for piece in self.pieces:
            await exchange.conn.send(piece)

    async def _watch(self, exchange):
        await exchange.start_stream()
        self.opened = time.monotonic()
        if self.bookmark_at_once:
            mark = compact(bookmark(LAST_RV, "EndpointSlice", "discovery.k8s.io/v1")) + b"\n"
            await exchange.conn.send(chunk(mark))
        await exchange.conn.gone()

    def requests(self):
        """All requests in order, with those for the cluster's identity."""
        return sorted(self.api.requests + self.api.identity_requests, key=lambda r: r.time)

    def asked(self):
        """{kind: [requests, bytes sent, bytes received]} since begin()."""
        out = {kind: [0, 0, 0] for kind in (LIST, WATCH, GET, OTHER)}
        for request in self.requests():
            row = out[KINDS.get(request.kind, OTHER)]
            row[0] += 1
            row[1] += request.size
            row[2] += request.answered
        return out

    def wire(self):
        """Bytes that TCP carried, sent and received by the client, over the open connections."""
        out = [0, 0]
        for conn in list(self.api.conns):
            sock = conn.transport.get_extra_info("socket")
            acked, received = TCP_INFO_BYTES.unpack(
                sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES.size))
            out = [out[0] + received, out[1] + acked]
        return out


class Start:
    """One start of the daemon: when each of MARKS was seen, in ms, and what the start cost."""

    def __init__(self, bench, cluster, kind):
        self.bench, self.cluster, self.kind = bench, cluster, kind
        self.ms, self.log = {}, b""
        self.selector = selectors.DefaultSelector()

    def run(self, timeout=300):
        bench = self.bench
        self.cluster.begin(self.kind != SILENT)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            bench.notify.unlink(missing_ok=True)
            notify.bind(str(bench.notify))
            self.begun = time.monotonic()
            self.process = subprocess.Popen(
                [bench.binary, "-c", bench.config], stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, cwd="/",
                env=os.environ | {"NOTIFY_SOCKET": str(bench.notify)})
            try:
                self._follow(notify, self.begun + timeout)
                self._take_figures()
            finally:
                self._end()
        return self

    def _seen(self, mark, when=None):
        self.ms.setdefault(mark, ((when or time.monotonic()) - self.begun) * 1e3)

    def _follow(self, notify, deadline):
        """Waits until READY and the end of the sync have been seen."""
        self.selector.register(notify, selectors.EVENT_READ, self._notified)
        self.selector.register(self.process.stderr, selectors.EVENT_READ, self._logged)
        self.control = None
        while self.cluster.opened is None or not {"ready", "synced", "control"} <= set(self.ms):
            if time.monotonic() > deadline:
                sys.exit(f"not ready in time; seen: {self.ms}\n{self.log.decode()}")
            if self.control is None:
                self._try_control()
            wait = 0.0003 if self.control is None else 0.05
            for key, _events in self.selector.select(wait):
                key.data(key.fileobj)

    def _try_control(self):
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            control.connect(str(self.bench.control))
        except OSError:
            control.close()
            return
        control.sendall(ASK)
        self.control = control
        self.selector.register(control, selectors.EVENT_READ, self._answered)

    def _answered(self, control):
        if not control.recv(65536).startswith(b"HTTP/1.1 200"):
            sys.exit("the control socket does not answer as it should")
        self._seen("control")
        self.selector.unregister(control)
        control.close()

    def _notified(self, notify):
        if b"READY=1" in notify.recv(65536).split(b"\n"):
            self._seen("ready")

    def _logged(self, pipe):
        data = os.read(pipe.fileno(), 65536)
        if not data:
            sys.exit(f"informerd ended: {self.log.decode()}")
        self.log += data
        if b"watch synced" in self.log:
            self._seen("synced")

    def _take_figures(self):
        self._seen("request", self.cluster.requests()[0].time)
        self._seen("open", self.cluster.opened)
        self.asked, self.wire = self.cluster.asked(), self.cluster.wire()
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        self.peak_mb = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        self.cpu_ms = self._cpu_ms()

    def _cpu_ms(self):
        """CPU of all threads of main."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6

    def _end(self):
        """Ends the daemon by SIGTERM, or by SIGKILL once its state is written; reads the rest of
        its log."""
        self.selector.close()
        if self.process.poll() is None:
            if self.bench.kill and self.ms.get("ready"):
                self._wait_still()
            self.process.send_signal(signal.SIGKILL if self.bench.kill else signal.SIGTERM)
        self.log += self.process.stderr.read()
        self.process.wait()
        self.process.stderr.close()

    def _wait_still(self):
        """Waits until main has used next to no CPU for longer than it gathers changes."""
        cpu = -1.0
        while self._cpu_ms() - cpu > 2:
            cpu = self._cpu_ms()
            time.sleep(1.5)


class Bench:
    """The files of the daemon, and the rounds."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.binary, self.kill = args.build / "informerd", args.kill
        self.notify, self.control = folder / "notify", folder / "control.sock"
        self.config, self.state = folder / "informerd.conf", folder / "state"
        self.authority = Authority(folder / "ca")
        self.missed = False

    def write_config(self, cluster):
        cluster.api.kubeconfig(self.folder / "kubeconfig", ca=self.authority, token="t" * 900)
        settings = {
            "state_dir": self.state,
            "control": {"socket": self.control},
            "clusters": {"bench": {"kubeconfig": self.folder / "kubeconfig"}},
            "watches": {"slices": {"resource": "endpointslices", "namespaces": ["*"]}},
            "hooks": {"bench": {"sources": ["slices"], "mode": "batch",
                                "command": ["/bin/true"]}}}
        if os.geteuid() == 0:
            settings["user"] = "root"
        self.config.write_text(confwriter.text(settings))

    def measure(self, count):
        with Cluster(self.authority, count) as cluster:
            self.write_config(cluster)
            rounds = {kind: [] for kind in (COLD, WARM, SILENT)}
            for _ in range(self.args.rounds):
                shutil.rmtree(self.state, ignore_errors=True)
                for kind, starts in rounds.items():
                    starts.append(Start(self, cluster, kind).run())
            self.report(cluster, rounds)

    def state_mb(self):
        return sum(path.stat().st_size for path in self.state.rglob("*")) / 1e6

    # The tables

    def report(self, cluster, rounds):
        print(f"\n{cluster.count} EndpointSlices of {cluster.size} bytes, state "
              f"{self.state_mb():.1f} MB; {self.args.rounds} rounds: min / median / max")
        print(row("", *rounds))
        for mark, words in MARKS.items():
            print(row(f"{words}, ms", *(spread([s.ms[mark] for s in starts])
                                        for starts in rounds.values())))
        for words, of in (("CPU of main, ms", lambda s: s.cpu_ms),
                          ("VmHWM of main, MB", lambda s: s.peak_mb)):
            print(row(words, *(spread([of(s) for s in starts]) for starts in rounds.values())))
        print(row("", *["requests, sent / received"] * len(rounds)))
        for kind in (LIST, WATCH, GET, OTHER):
            print(row(f"{kind}, bytes", *(asked(kind, starts) for starts in rounds.values())))
        print(row("wire, bytes", *(" / ".join(f"{max(s.wire[way] for s in starts):,}"
                                              for way in (0, 1))
                                   for starts in rounds.values())), flush=True)
        if cluster.count == GOAL_OBJECTS:
            self.judge(rounds[WARM], rounds[SILENT])

    def judge(self, warm, silent):
        took = statistics.median(s.ms["ready"] for s in warm)
        lists = max(s.asked[LIST][0] for s in warm + silent)
        good = took < GOAL_MS and lists == 0
        self.missed |= not good
        print(f"  goal for {GOAL_OBJECTS} objects: warm < {GOAL_MS} ms and 0 LISTs: {took:.1f} ms, "
              f"{lists} LISTs: {'ok' if good else 'MISSED'}")


def row(first, *cells):
    return f"  {first:<28}" + "".join(f"{cell:>30}" for cell in cells)


def spread(values):
    return f"{min(values):.1f} / {statistics.median(values):.1f} / {max(values):.1f}"


def asked(kind, starts):
    """The largest figures of all rounds, which differ by chance only."""
    count, sent, received = (max(s.asked[kind][n] for s in starts) for n in range(3))
    return f"{count}, {sent:,} / {received:,}" if count else "0"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--objects", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kill", action="store_true",
                        help="every daemon ends by SIGKILL, not SIGTERM: the log of the state is "
                             "not in its file yet")
    parser.add_argument("--check", action="store_true", help="exit code 1 when the goal is missed")
    args = parser.parse_args()
    args.build = args.build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-bench-"))
    try:
        bench = Bench(args, folder)
        print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, build {args.build}\n"
              f"{WARM}: the server sends a bookmark at once; {SILENT}: it sends nothing, and a watch "
              "is in sync after 500 ms of that")
        for count in args.objects:
            bench.measure(count)
    finally:
        shutil.rmtree(folder)
    return 1 if args.check and bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
