# SPDX-License-Identifier: Apache-2.0
"""The common parts of the campaigns: the daemon under attack, the processes that are killed, and
the end of a campaign."""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "wire")]

import proctree  # noqa: E402
from control import PATIENCE, wait_until  # noqa: E402

ENDS = ["main", "helper", "both"]   # a kill of these ends the daemon, which is then started again
MEET_S = 1.5                        # the wait for a program of a hook, which may not be running
SHOWN = 30                          # the number of problems that are printed


class Subject:
    """The daemon under attack."""

    def __init__(self, made):
        self.daemon, self.starts = made, 0
        self.known = set()      # children of this process that do not belong to the daemon

    def start(self):
        self.daemon.start(wait=False)
        self.starts += 1

    def pids(self, target):
        """The pids of the processes of this kind."""
        main = self.daemon.pid
        helper = sorted(proctree.children(main))[:1]
        if target in ENDS:
            return {"main": [main], "helper": helper, "both": [main, *helper][:2]}[target]
        if not helper:
            return []
        if target == "writer":
            mine = proctree.command(helper[0])
            return [pid for pid in proctree.children(helper[0]) if proctree.command(pid) == mine]
        word = f"hook.py {target}"
        return [pid for pid in proctree.descendants(helper[0]) if word in proctree.command(pid)]

    def meet(self, target, rng):
        """Waits for a process of this kind and returns [its pid]; kind "both" has two pids. [] if
        none came."""
        end = time.monotonic() + (PATIENCE if target in ENDS else MEET_S)
        while time.monotonic() < end and self.daemon.process.poll() is None:
            found = self.pids(target)
            if target == "both" and len(found) == 2 or target != "both" and found:
                return found if target == "both" else [rng.choice(found)]
            time.sleep(0.0005)
        return []

    def ended(self, patience=PATIENCE):
        """Waits for the end of the daemon, of which main or the helper was killed: the other one
        and everything that they started must end by themselves. Returns the problem as text, or
        None."""
        try:
            self.daemon.process.wait(patience)
        except subprocess.TimeoutExpired:
            return f"main did not end within {patience} s of the death of its helper"
        end = time.monotonic() + patience
        while time.monotonic() < end:
            for pid in proctree.children() - self.known:
                proctree.reap(pid)
            if not proctree.children() - self.known:
                return None
            time.sleep(0.002)
        left = [f"{pid} {proctree.command(pid)}" for pid in proctree.children() - self.known]
        return f"still running {patience} s after the death of helper and main: {left}"

    def ready(self, api):
        """Waits until the first runs have ended. The bookmarks say that no event is on its way:
        without them, a daemon that resumes its watches listens for half a second before it runs
        hooks."""
        made = self.daemon
        made.wait_control()

        def done():
            api.bookmark()
            return made.control.status()["ready"]
        wait_until(done, what="the first runs have ended", interval=0.05)

    def after(self):
        """As ended(), and then starts the daemon again, as systemd would."""
        wrong = self.ended()
        if wrong is None:
            self.start()
        return wrong


def was_killed(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def point_at(build):
    """The harness takes informerd and informerctl from this build folder."""
    import harness
    harness.BUILD = build
    harness.INFORMERD, harness.INFORMERCTL = build / "informerd", build / "informerctl"


def put_away(subject, api):
    """Ends everything that still runs, however the campaign went; returns the problems."""
    made = subject.daemon
    if made.running():
        made.process.kill()
        made.process.wait()
    api.stop()
    problems = [f"fake server: {error}" for error in api.errors]
    problems += proctree.kill_orphans(set())
    text = made.stderr()
    problems += [f"sanitizer: {word}" for word in ("Sanitizer", "runtime error:") if word in text]
    made.cleanup()
    return problems


def table(rows):
    return "\n".join(f"{name:<46} {value!s:>12}" for name, value in rows)


def options_of(doc, kills=None):
    """The parser of the options that every campaign takes; kills: how many, if it kills."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve())
    if kills is not None:
        parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the folder of the campaign")
    return parser


def perform(make, options, figures):
    """Runs a campaign and prints its table; returns the exit status. make(options, folder) makes
    the campaign, which has run() and problems; figures(campaign, seconds) makes the rows of the
    table."""
    proctree.become_subreaper()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-crash-"))
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    campaign = make(options, folder)
    try:
        campaign.run()
    finally:
        print(table(figures(campaign, time.monotonic() - began)))
        for problem in campaign.problems[:SHOWN]:
            print(f"WRONG: {problem}")
        if options.keep or campaign.problems:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if campaign.problems else 0


def lines_of(path, offset=0):
    """([each whole line as JSON], the offset behind them); lines that are cut off or are not JSON
    are left out."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], offset
    data = data[:data.rfind(b"\n") + 1]
    out = []
    for line in data.splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            pass
    return out, offset + len(data)
