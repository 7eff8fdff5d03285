#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills informerd and its helper while objects change, and judges the events that its hooks get.

    state.py --build DIR [--kills N] [--seed N] [--bound SECONDS|off] [--keep]

Five hooks (mode object, one that fails at times, batch, snapshot, object with output and apply)
follow two watches whose objects are created, changed, changed back, deleted and created again
without pause. N times main, the helper or both get SIGKILL: at a random point, right after a start,
at the start of a run, or at its end. The daemon is started again at once with the same state_dir;
at times objects change while it is down, and the server forgets old versions (compaction) or
restarts.

Every 20 kills the changes pause. Then every hook must have been told, in order, the newest state of
each object that is there and the end of each object that is gone. No hook may have been told twice
of a state that it has handled, except for runs in flight (oracle.py). informerd may not have sent a
LIST while the server still knew its resourceVersion (streams.py). After one more kill in that
quiet, no run may start. Prints what happened; the exit status is 1 if one of these rules was
broken. --bound is for a machine that does nothing else; with "off", nothing is judged by time.
"""
import collections
import random
import shutil
import statistics
import sys
import time
from datetime import datetime

from victims import (ENDS, HERE, Subject, lines_of, options_of, perform, point_at, put_away,
                     was_killed)

import proctree  # victims knows where it is
import kept
import told
from control import wait_until
from oracle import Process, Oracle
from streams import Streams
from churn import SOURCES, Churn, World

PAUSE_EVERY = 20    # kills
MOMENTS = ["any", "any", "early", "start", "end", "end"]
HOOKS = {"each": ["maps"], "shaky": ["maps"], "some": ["maps", "svcs"], "all": ["maps", "svcs"],
         "file": ["svcs"]}
ROWS = [
    "starts after changes while down", "compactions", "restarts of the server",
    "pauses in which all was judged", "quiet restarts", "runs", "  runs that failed",
    "  runs killed", "  runs of apply", "told again after a kill",
    "  again: its run failed or was killed", "  again: its run had ended, that was not noted",
    "  again: its run had ended, that was just noted",
    "  again: changed and back, with a run between", "longest from such an end to the kill, ms",
    "longest from such a note to the kill, ms", "ends with final_state_unknown",
    "ends of what no run has logged", "WATCHes", "  streams resumed, no LIST",
    "  streams resumed, but the version was gone", "LISTs", "  LISTs for want of a version",
    "watches whose version was refused"]
SUCCESS = ("hook done", "hook works again")


def settings_of(folder):
    """The settings of the hooks."""
    python = ["/usr/bin/python3", "-I", "-S", str(folder / "told.py")]
    log = str(folder / "told.log")
    command = [*python, "command", log]
    base = {"command": command, "timeout": "1h",
            "retry": {"initial": "20ms", "factor": 2.0, "max": "160ms"}}
    quick = ["20ms", "200ms"]
    more = {
        "each": {"include_old": True, "concurrency": 4},
        "shaky": {"command": [*command, "30"], "concurrency": 2},
        "some": {"mode": "batch", "include_old": True, "settle": quick},
        "all": {"mode": "snapshot", "settle": quick},
        "file": {"output": str(folder / "files" / "${name}.txt"), "concurrency": 2,
                 "apply": [*python, "apply", log, str(folder / "files")]}}
    return {name: {**base, "sources": HOOKS[name], **more[name]} for name in HOOKS}


def seconds_of(stamp):
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Campaign:
    """One campaign; `problems` lists the broken rules."""

    def __init__(self, options, folder):
        point_at(options.build)
        import harness
        from fakeapi import Authority, FakeApi
        self.options, self.folder = options, folder
        self.rng = random.Random(options.seed)
        self.count, self.problems = collections.Counter(), []
        self.ready_ms = []
        (folder / "files").mkdir()
        shutil.copy(HERE / "told.py", folder / "told.py")
        self.log = folder / "told.log"
        authority = Authority(folder)
        self.api = FakeApi(tls=authority.server()).start()
        self.api.kubeconfig(folder / "kubeconfig", ca=authority)
        made = harness.Daemon(folder, {
            "log": {"level": "debug"}, "state_dir": folder / "state",
            "clusters": {"prod": {"kubeconfig": folder / "kubeconfig", "tuning": harness.TUNING}},
            "watches": {source: {"resource": plural, "namespaces": ["*"],
                                 "guard": {"relist_deletes": "off"}}
                        for source, plural in SOURCES.items()},
            "hooks": settings_of(folder)})
        self.subject = Subject(made)
        self.world = World(self.api)
        self.churn = Churn(self.api, random.Random(options.seed + 1))
        self.streams = Streams(self.api, SOURCES)
        self.oracle = Oracle(self.world, HOOKS, options.bound, slow=["file"])
        self.processes, self.unread, self.ends = [], [], []
        self.told_at = self.noted_at = self.seen_at = 0

    def run(self):
        self.churn.some(20)
        self.subject.known = proctree.children()
        self.start()
        self.churn.start()
        try:
            while self.kills() < self.options.kills and not self.problems:
                for _ in range(min(PAUSE_EVERY, self.options.kills - self.kills()) - 1):
                    self.kill_one()
                self.pause()
            self.finish()
        finally:
            self.stop()

    def kills(self):
        return sum(self.count[target] for target in ENDS)

    # ---- Starts and kills

    def start(self):
        self.processes.append(Process(len(self.processes), time.time()))
        self.subject.start()

    def die(self):
        """Kills main, the helper or both, and waits until the whole daemon has ended. Returns false
        if a rule was broken."""
        self.ends = self.ends or self.rng.sample(ENDS, len(ENDS))
        target = self.ends.pop()
        victims = self.subject.meet(target, self.rng)
        if self.rng.random() < 0.5:
            victims.reverse()
        killed_at = time.time()
        hit = [pid for pid in victims if was_killed(pid)]
        if not hit:
            self.problems.append("the daemon has ended by itself or has no helper: "
                                 f"{self.subject.daemon.process.poll()}")
            return False
        self.count[target] += 1
        wrong = self.subject.ended()
        gone_at = time.time()
        self.problems += [wrong] if wrong else []
        wait_until(self.is_left, what="the server has read all that was asked")
        self.read()
        state = kept.read(self.folder / "state")
        self.unread.append(({"what": "death", "at": killed_at, "gone": gone_at,
                             "open": state.open}, self.processes[-1]))
        self.streams.begin(state.versions)
        return wrong is None

    def is_left(self):
        """Whether the server has seen the end of each connection: requests that it reads after that
        are those of the next process."""
        return not self.api.conns and not self.api.watchers

    def read(self):
        """Reads the new lines of the hooks' log, which have the events that hooks got, and the new lines of
        informerd's log, which have the successes that this process has noted."""
        process = self.processes[-1]
        lines, self.noted_at = lines_of(self.subject.daemon.stderr_file, self.noted_at)
        synced = {}
        for line in lines:
            at, what = seconds_of(line["time"]), line.get("msg")
            if what in SUCCESS:
                process.noted[line["run"]] = at
            elif what == "watch synced":
                synced[line["watch"]] = at
        if len(synced) == len(SOURCES):
            self.ready_ms.append((max(synced.values()) - process.started_at) * 1000)
        lines, self.told_at = lines_of(self.log, self.told_at)
        self.unread += [(line, process) for line in lines]
        self.count["runs killed"] += sum(line["what"] == "start" for line in lines) - \
            sum(line["what"] == "end" for line in lines)
        self.count["runs of apply"] += sum(line["what"] == "apply" for line in lines)

    def kill_one(self):
        """One kill while objects change, and the next start."""
        if self.problems:
            return
        self.wait_for(self.rng.choice(MOMENTS))
        if self.die():
            self.change_while_down()
            self.start()

    def wait_for(self, moment):
        if moment == "any":
            time.sleep(self.rng.uniform(0, 1.5))
        elif moment == "early":
            time.sleep(self.rng.uniform(0, 0.15))
        else:
            self.meet_line(moment)
            time.sleep(self.rng.uniform(0, 0.008))

    def meet_line(self, what, patience=1.5):
        """Waits until a hook logs a start or an end; not for long, as it need not come."""
        _lines, at = lines_of(self.log, self.seen_at)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            lines, at = lines_of(self.log, at)
            if any(line["what"] == what for line in lines):
                break
            time.sleep(0.001)
        self.seen_at = at

    def change_while_down(self):
        dice = self.rng.random()
        if dice < 0.4:
            self.churn.some(self.rng.randint(1, 6))
            self.count["starts after changes while down"] += 1
        if dice < 0.05:
            self.api.compact()
            self.count["compactions"] += 1
        elif dice > 0.95:
            self.streams.server += 1
            self.api.restart()
            self.count["restarts of the server"] += 1

    # ---- Pauses

    def pause(self):
        """Stops the changes, waits until all runs have ended, and judges them. Then comes one kill
        more; the daemon that is started after it has nothing to do."""
        if self.problems:
            return
        with self.churn.lock:
            if self.rng.random() < 0.3:
                self.streams.server += 1
                self.api.restart()
                self.count["restarts of the server"] += 1
            self.settle()
            self.judge()
            wait_until(self.all_kept, what="all is kept")
            files = self.files()
            if not self.problems and self.die():
                self.start()
                self.settle()
                self.still(files)

    def still(self, files):
        """Checks that no run has started since the last start of the daemon."""
        lines, _at = lines_of(self.log, self.told_at)
        self.count["quiet restarts"] += 1
        for line in lines:
            self.problems.append(f"after a kill in quiet this ran: {line}")
        for name, before in files.items():
            if self.files().get(name) != before:
                self.problems.append(f"after a kill in quiet {name} was written again")

    def files(self):
        return {path.name: path.stat().st_ino for path in (self.folder / "files").iterdir()}

    def all_kept(self):
        state = self.subject.daemon.control.status()["state"]
        return state["writable"] and state["waiting"] == 0

    def settle(self):
        self.subject.ready(self.api)
        self.subject.daemon.caught_up(self.api)

    def judge(self):
        self.world.look()
        self.read()
        lines, self.unread = self.unread, []
        for line, process in lines:
            if line["what"] == "death":
                self.oracle.died(process, line["at"], line["gone"], line["open"])
            else:
                self.oracle.feed(line, process)
        self.oracle.check()
        self.check_files(lines)
        self.problems += self.oracle.problems + self.streams.problems
        self.count["pauses in which all was judged"] += 1

    def check_files(self, lines):
        """Checks that the files are those of the objects, and that apply has seen them."""
        there = {path.stem: path.read_text() for path in (self.folder / "files").glob("*.txt")}
        wanted = {key.partition("/")[2]: f"{key.partition('/')[2]} {uid} {digest}\n"
                  for key, (uid, digest) in self.world.content()["svcs"].items()}
        if there != wanted:
            self.problems.append(f"the files are {there}, wanted {wanted}")
        states = [line["state"] for line, _process in lines if line["what"] == "apply"]
        if states and states[-1] != told.state_of(self.folder / "files"):
            self.problems.append("apply has not run since the last file was written")

    def finish(self):
        """The orderly end: SIGTERM, and a start of a daemon that has nothing to do."""
        if self.problems:
            return
        self.churn.end.set()
        self.churn.join()
        self.settle()
        self.judge()
        code, _seconds = self.subject.daemon.stop()
        if code != 0:
            self.problems.append(f"exit code {code} after SIGTERM")
        self.streams.begin(kept.read(self.folder / "state").versions)
        files = self.files()
        self.start()
        self.settle()
        self.still(files)
        self.subject.daemon.stop()

    def stop(self):
        self.churn.end.set()
        self.streams.judge(self.streams.asked)
        self.problems += [p for p in self.streams.problems if p not in self.problems]
        self.problems += put_away(self.subject, self.api)


def figures(campaign, seconds):
    """The rows of the table: kills, starts, changes, runs and problems, each with its number."""
    ready = sorted(campaign.ready_ms) or [0]
    kinds = campaign.world.kinds
    every = (campaign.count + campaign.oracle.count + campaign.oracle.largest +
             campaign.streams.count)
    rows = [("kills", campaign.kills())]
    rows += [(f"  of {target}", every[target]) for target in ENDS]
    rows += [("starts of informerd", campaign.subject.starts),
             ("changes of objects", sum(kinds.values()))]
    rows += [(f"  {kind}", kinds[kind]) for kind in sorted(kinds)]
    rows += [(name, every[name.strip()]) for name in ROWS]
    rows += [("GETs of the identity of the cluster", len(campaign.api.identity_requests)),
             ("start to synced, ms: median", round(statistics.median(ready))),
             ("start to synced, ms: 95 of 100", round(ready[int(len(ready) * 0.95)])),
             ("problems", len(campaign.problems)), ("seconds", round(seconds, 1))]
    return rows


def bound_of(word):
    return None if word == "off" else float(word)


def main():
    parser = options_of(__doc__, kills=500)
    parser.add_argument("--bound", type=bound_of, default=0.25, metavar="SECONDS",
                        help="from an end to its commit at most (%(default)s); off: any time")
    options = parser.parse_args()
    if options.build is None:
        parser.error("--build is required")
    return perform(Campaign, options, figures)


if __name__ == "__main__":
    sys.exit(main())
