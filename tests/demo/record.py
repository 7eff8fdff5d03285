#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Records how HAProxy follows a rolling update, and draws docs/haproxy.svg. See ./dev record.

    record.py --output FILE.svg

It runs the fake API server, informerd with the unchanged examples of config/conf.d, the real
HAProxy, HTTP servers for pods, and clients that never stop, in a network namespace of its own. It
needs root. INFORMERD_BUILD names the build folder.
"""
import argparse
import contextlib
import pathlib
import shutil
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "wire"), str(TESTS / "handlers")]

import balancer  # noqa: E402
import examples  # noqa: E402
import harness  # noqa: E402
import http_end  # noqa: E402
import network  # noqa: E402
import picture  # noqa: E402
import programs  # noqa: E402
from fakeapi import Authority, FakeApi  # noqa: E402

OLD = ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
NEW = ["10.1.1.1", "10.1.1.2", "10.1.1.3"]
STEP = 1.4          # seconds from one step of the update to the next
CLIENTS = 4
LABEL = {"informerd/haproxy": ""}


class Run:
    """One handler, one rolling update."""

    def __init__(self, folder, made):
        self.folder, self.made = folder, made       # made: an ExitStack
        net = made.enter_context(network.Namespace())
        self.park = http_end.Park(net)
        made.callback(self.park.finish)
        self.real = programs.Programs(folder)
        made.callback(self.real.finish)
        self.systemctl = programs.StandIn(folder / "systemctl")
        authority = Authority(folder)
        self.api = made.enter_context(FakeApi(tls=authority.server()))
        self.factory = harness.Factory(folder, authority)
        made.callback(self._finish)
        self.example = examples.Starter(self.api, self.factory, folder, self.systemctl)
        self.marks, self.began = [], 0.0

    def _finish(self):
        self.factory.known_children |= self.real.pids()
        self.factory.finish()

    def haproxy(self, text, *files):
        made = balancer.Balancer(self.real, self.folder, text, *files)
        self.made.callback(made.finish)
        return made

    def note(self, kind, address):
        self.marks.append((time.time(), (OLD + NEW).index(address), kind))

    def put(self, *addresses):
        self.api.apply(balancer.ends(addresses, labels=LABEL))

    def update(self):
        """Replaces the pods one by one: a new pod starts, then an old one ends (maxSurge 1,
        maxUnavailable 0)."""
        for n, (old, new) in enumerate(zip(OLD, NEW)):
            self.park.start(new)
            self.put(*OLD[n:], *NEW[:n + 1])
            self.note("in", new)
            time.sleep(STEP)
            self.put(*OLD[n + 1:], *NEW[:n + 1])
            self.note("out", old)
            time.sleep(STEP)
            self.park.servers[old].kill()
            self.note("end", old)

    def record(self, title, port):
        """Runs the update while clients send requests; returns a Panel."""
        self.began = time.time()
        with http_end.Crowd("127.0.0.1", port, CLIENTS) as crowd:
            time.sleep(0.5)
            self.update()
            time.sleep(STEP)
        seconds = time.time() - self.began
        rows = [(address, address in NEW,
                 [when - self.began for when, _path in self.park.servers[address].requests])
                for address in OLD + NEW]
        marks = [(when - self.began, row, kind) for when, row, kind in self.marks]
        marks += [(when - self.began, None, "reload") for when, _what in self.systemctl.calls()
                  if when > self.began]
        answers = [(entry[0] - self.began, entry[2] == 200) for entry in crowd.answers()]
        return picture.Panel(title, seconds, rows, marks, answers)


def by_file(run):
    """haproxy.conf.example: a file and reloads."""
    services = run.folder / "services.cfg"
    haproxy = run.haproxy("", services)
    daemon = run.example("haproxy", {"/etc/haproxy": run.folder})
    daemon.caught_up(run.api)
    haproxy.start()
    run.systemctl.does("kill", "-USR2", haproxy.program.pid)
    return run.record("config/conf.d/haproxy.conf.example: a file, a check, a reload", 30080)


def by_runtime(run):
    """haproxy-runtime.conf.example: no reload."""
    haproxy = run.haproxy("frontend web\n    bind 127.0.0.1:80\n    default_backend shop_web_http\n"
                          "backend shop_web_http\n    balance roundrobin\n").start()
    daemon = run.example("haproxy-runtime", {
        "# environment": "environment", "/run/haproxy/admin.sock": haproxy.admin,
        'group = "haproxy";': ""})
    daemon.caught_up(run.api)
    return run.record("config/conf.d/haproxy-runtime.conf.example: the runtime API, no reload", 80)


def panel(story):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-record-"))
    try:
        with contextlib.ExitStack() as made:
            run = Run(folder, made)
            run.api.apply(*balancer.web(OLD, labels=LABEL))
            for address in OLD:
                run.park.start(address)
            return story(run)
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    problem = network.missing()
    if problem:
        sys.exit(f"record: {problem}")
    panels = [panel(story) for story in (by_file, by_runtime)]
    args.output.write_text(picture.svg(panels))
    for made in panels:
        failed = sum(not ok for _when, ok in made.answers)
        print(f"{made.title}: {len(made.answers)} requests, {failed} failed")


if __name__ == "__main__":
    main()
