# SPDX-License-Identifier: Apache-2.0
"""What the campaigns have in common: the daemon under attack, who is killed, how it ends."""
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

ENDS = ["main", "helper", "both"]   # who is killed when the daemon has to start again
MEET_S = 1.5                        # how long a program is waited for that need not run
SHOWN = 30                          # problems


class Subject:
    """The daemon under attack."""

    def __init__(self, made):
        self.daemon, self.starts = made, 0
        self.known = set()      # children of ours that are not the daemon's

    def start(self):
        self.daemon.start(wait=False)
        self.starts += 1

    def pids(self, target):
        """Who is of this kind now."""
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
        """Waits for one of this kind; those of kind both are two."""
        end = time.monotonic() + (PATIENCE if target in ENDS else MEET_S)
        while time.monotonic() < end and self.daemon.process.poll() is None:
            found = self.pids(target)
            if target == "both" and len(found) == 2 or target != "both" and found:
                return found if target == "both" else [rng.choice(found)]
            time.sleep(0.0005)
        return []

    def ended(self, patience=PATIENCE):
        """Main or helper was killed: the other ends by itself, and all that they started. What
        stayed, as text, or None."""
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
        """Waits until the first runs have ended. A bookmark says that no event is on its way: else
        a start from what was kept listens for half a second."""
        made = self.daemon
        made.wait_control()

        def done():
            api.bookmark()
            return made.control.status()["ready"]
        wait_until(done, what="the first runs have ended", interval=0.05)

    def after(self):
        """The same, and then starts them again, as systemd would."""
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
    """The harness takes its programs from there."""
    import harness
    harness.BUILD = build
    harness.INFORMERD = build / "informerd"


def put_away(subject, api):
    """The end of a campaign, however it went: nothing runs any more. What was wrong."""
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


def options_of(doc, kills):
    """The parser of what every campaign takes."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="leave the folder of the campaign")
    return parser


def perform(make, options, figures):
    """make(options, folder) is a campaign with run() and problems; figures(campaign, seconds) its
    rows. The exit status."""
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
    """([each whole line as JSON], the offset behind them); what is cut or no JSON is left out."""
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
