#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills informerd, its helper and its hooks while they write files, and looks for broken ones.

    output.py --build DIR [--kills N] [--seed N] [--keep]

Three hooks, one of each mode, write files of 1 byte to 300 kB, each of which ends in its own
checksum, with check and apply, while a fake API server changes their objects without pause. N times
something gets SIGKILL at a random point: the main process, the helper, both, a command, a check, an
apply, or the child that writes the file. A daemon that ends is started again. Meanwhile another
process reads all files again and again.

A file may never be half written or empty, and once it is there it may never be missing. Every 20
kills the changes pause. Then, after one more kill, every file must get the newest state, and apply
must see it. At the end, after a last quiet pass, there must be no temporary file either.
Prints what happened; the exit status is 1 if one of these rules was broken.
"""
import argparse
import collections
import errno
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from victims import (ENDS, HERE, PATIENCE, Subject, options_of, perform, point_at, put_away,
                     was_killed)

import hook as programs
import proctree  # victims knows where it is

KEYS = [f"k{number}" for number in range(8)]
TARGETS = [*ENDS, "command", "check", "apply", "writer"]
LARGEST = 300 * 1000
PAUSE_EVERY = 20    # kills


# ---- The reader: a process of its own

def read_whole(path, lacks):
    """Reads a whole file: returns 1, or 0 if there is no file. Reports a broken file on stdout."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        return 0
    try:
        data = b""
        while chunk := os.read(fd, 1 << 20):
            data += chunk
    finally:
        os.close(fd)
    if not programs.is_whole(data):
        print(json.dumps({"broken": str(path), "size": len(data), "head": repr(data[:80])}))
        lacks.append(path)
    return 1


def read_all(folder, seen, lacks):
    """Reads all files once; returns how many there were."""
    count = 0
    for name in ("all.txt", "some.txt"):
        there = read_whole(folder / name, lacks)
        if seen.get(name) and not there:
            print(json.dumps({"missing": name}))
        seen[name] = seen.get(name) or there
        count += there
    for key in KEYS:
        count += read_whole(folder / "each" / "n" / f"{key}.txt", lacks)
    return count


def watch(folder):
    """Reads the files until SIGTERM, then prints how many reads there were."""
    end = []
    signal.signal(signal.SIGTERM, lambda *_: end.append(True))
    os.nice(5)
    seen, lacks, count = {}, [], 0
    while not end and len(lacks) < 20:
        count += read_all(folder, seen, lacks)
    print(json.dumps({"reads": count}), flush=True)


# ---- The churn

class Churn(threading.Thread):
    """Changes objects in bursts until it is told to end, but not while `lock` is held."""

    def __init__(self, api, rng):
        super().__init__(daemon=True)
        self.api, self.rng = api, rng
        self.objects, self.serial = {}, 0
        self.end, self.lock = threading.Event(), threading.Lock()

    def apply(self, key):
        from fakeapi import simple
        self.serial += 1
        size = int(LARGEST ** self.rng.random())
        obj = simple("ConfigMap", f"n/{key}", data={"serial": str(self.serial), "size": str(size)})
        if key in self.objects:
            obj["metadata"]["uid"] = self.objects[key]["metadata"]["uid"]
        self.objects[key] = obj
        self.api.apply(obj)

    def delete(self, key):
        del self.objects[key]
        self.api.delete("configmaps", f"n/{key}")

    def burst(self):
        for _ in range(self.rng.randint(1, 8)):
            key = self.rng.choice(KEYS)
            if key in self.objects and self.rng.random() < 0.2:
                self.delete(key)
            else:
                self.apply(key)
            self.end.wait(self.rng.uniform(0, 0.02))

    def run(self):
        while not self.end.is_set():
            with self.lock:
                self.burst()
            self.end.wait(self.rng.uniform(0, 0.3))
            self.api.bookmark()     # a daemon that was just started is in sync by it


# ---- The kills

def kill_one(subject, rng, killed, targets):
    """Takes the last target off the list and kills it; returns the problem as text, or None."""
    time.sleep(rng.uniform(0, 0.12))
    target = targets.pop()
    victims = subject.meet(target, rng)
    time.sleep(rng.uniform(0, 0.008) if rng.random() < 0.7 else 0)
    hit = [pid for pid in victims if was_killed(pid)]
    killed[target] += bool(hit)
    killed["missed"] += not hit
    if hit and target in ENDS:
        return subject.after()
    code = subject.daemon.process.poll()
    return None if code is None else f"main ended by itself with {code}"


# ---- The setting

def settings_of(folder):
    """The hooks: one of each mode."""
    python = ["/usr/bin/python3", "-I", str(folder / "hook.py")]
    base = {"sources": ["maps"], "command": [*python, "command"], "timeout": "1h",
            "check": [*python, "check", "${file}", str(folder / "notes")],
            "retry": {"initial": "20ms", "factor": 2.0, "max": "160ms"}}
    files = folder / "files"

    def hook(mode, output, note, target, **more):
        return {**base, "mode": mode, "output": str(files / output),
                "apply": [*python, "apply", target, str(folder / note)], **more}
    quick = ["20ms", "200ms"]
    return {
        "each": hook("object", "each/${namespace}/${name}.txt", "applied.each",
                     str(files / "each"), concurrency=4),
        "some": hook("batch", "some.txt", "applied.some", "${file}", settle=quick),
        "all": hook("snapshot", "all.txt", "applied.all", "${file}", settle=quick)}


class Campaign:
    """One campaign; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import harness
        from fakeapi import Authority, FakeApi
        self.options, self.folder = options, folder
        self.rng = random.Random(options.seed)
        self.killed, self.problems = collections.Counter(), []
        (folder / "files" / "each").mkdir(parents=True)
        shutil.copy(HERE / "hook.py", folder / "hook.py")
        authority = Authority(folder)
        self.api = FakeApi(tls=authority.server()).start()
        self.api.kubeconfig(folder / "kubeconfig", ca=authority)
        cluster = {"kubeconfig": folder / "kubeconfig", "tuning": harness.TUNING}
        made = harness.Daemon(folder, {
            "log": {"level": "info"}, "clusters": {"prod": cluster},
            "watches": {"maps": {"resource": "configmaps", "namespaces": ["*"]}},
            "hooks": settings_of(folder)})
        self.churn = Churn(self.api, random.Random(options.seed + 1))
        self.subject = Subject(made)
        self.temps, self.judged, self.targets = set(), 0, []
        self.every = min(PAUSE_EVERY, max(2, options.kills // 2))

    def run(self):
        for key in KEYS[:4]:
            self.churn.apply(key)
        self.reader = subprocess.Popen(
            [sys.executable, __file__, "--watch", self.folder / "files"], stdout=subprocess.PIPE,
            text=True)
        self.subject.known = proctree.children()
        self.subject.start()
        self.churn.start()
        try:
            self.attack()
            if not self.problems:
                self.calm()
        finally:
            self.stop()

    def attack(self):
        pauses = 0
        while self.count() < self.options.kills and not self.problems:
            self.kill(self.targets or self.shuffled())
            if self.count() // self.every > pauses:
                pauses = self.count() // self.every
                self.pause()

    def shuffled(self):
        """All targets in a random order: so each has its turn, in a short campaign as well."""
        self.targets = self.rng.sample(TARGETS, len(TARGETS))
        return self.targets

    def count(self):
        return sum(self.killed.values()) - self.killed["missed"]

    def kill(self, targets):
        wrong = kill_one(self.subject, self.rng, self.killed, targets)
        self.problems += [wrong] if wrong else []
        self.temps |= {path.name for path in self.hidden()}

    def pause(self):
        """Stops the changes, kills the daemon once more, and judges the files when all runs have
        ended."""
        with self.churn.lock:
            starts = self.subject.starts
            while self.subject.starts == starts and not self.problems:
                self.kill([self.rng.choice(ENDS)])
            if not self.problems:
                self.settle()
                self.renew()
                self.judge()

    def hidden(self):
        return list((self.folder / "files").rglob(".*"))

    def settle(self):
        self.subject.ready(self.api)
        self.subject.daemon.caught_up(self.api)

    def renew(self):
        """Changes one object, so that the last batch has the newest object: a batch of deletes
        alone has none."""
        self.churn.apply(KEYS[0])
        self.settle()

    def calm(self):
        """The last quiet pass, at the end of the campaign."""
        self.churn.end.set()
        self.churn.join()
        self.settle()
        self.renew()
        self.judge()
        self.problems += [f"left over: {path}" for path in self.hidden()]
        code, _seconds = self.subject.daemon.stop()
        if code != 0:
            self.problems.append(f"exit code {code} after SIGTERM")

    def wanted(self):
        """{name: content} of the files that there must be."""
        objects = sorted(self.churn.objects.values(), key=lambda obj: obj["metadata"]["name"])
        out = {f"each/n/{obj['metadata']['name']}.txt": programs.file_of(obj) for obj in objects}
        out["all.txt"] = programs.file_of_all(objects)
        if objects:     # an empty batch does not run
            out["some.txt"] = programs.file_of(programs.newest(objects))
        return out

    def there(self):
        files = self.folder / "files"
        return {str(path.relative_to(files)): path.read_bytes()
                for path in files.rglob("[!.]*.txt")}

    def judge(self):
        """Checks all files; no run is under way."""
        there, wanted = self.there(), self.wanted()
        for name in wanted:
            if there.get(name) != wanted[name]:
                self.problems.append(f"{name} is not the newest state but {there.get(name)!r:.100}"
                                     f", wanted {wanted[name]!r:.100}")
        extra = set(there) - set(wanted)
        self.problems += [f"it should be gone: {name}" for name in extra]
        for note, target in (("each", "each"), ("some", "some.txt"), ("all", "all.txt")):
            seen = (self.folder / f"applied.{note}").read_text()
            if seen != programs.state_of(self.folder / "files" / target):
                self.problems.append(f"apply of {note} has not run since the last write")
        self.judged += 1

    def stop(self):
        self.churn.end.set()
        self.reader.terminate()
        lines = self.reader.communicate(timeout=PATIENCE)[0].splitlines()
        told = [json.loads(line) for line in lines]
        self.reads = sum(entry.pop("reads", 0) for entry in told)
        self.problems += [str(entry) for entry in told if entry]
        self.problems += put_away(self.subject, self.api)
        notes = self.folder / "notes"
        self.problems += notes.read_text().splitlines() if notes.exists() else []


def figures(campaign, seconds):
    """The rows of the table: kills, starts, changes, runs and problems, each with its number."""
    text = campaign.subject.daemon.stderr()
    rows = [("kills", campaign.count())]
    rows += [(f"  of {target}", campaign.killed[target]) for target in TARGETS]
    rows += [("who was waited for and did not come", campaign.killed["missed"]),
             ("starts of informerd", campaign.subject.starts),
             ("changes of objects", campaign.api.rv),
             ("runs that failed", text.count('"msg":"hook failed"')),
             ("pauses in which all was compared", campaign.judged),
             ("files read by the watching process", campaign.reads),
             ("temporary files seen after kills", len(campaign.temps)),
             ("problems", len(campaign.problems)), ("seconds", round(seconds, 1))]
    return rows


def main():
    parser = options_of(__doc__, kills=1000)
    parser.add_argument("--watch", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.watch:
        return watch(options.watch)
    if options.build is None:
        parser.error("--build is required")
    return perform(Campaign, options, figures)


if __name__ == "__main__":
    sys.exit(main())
