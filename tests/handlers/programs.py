# SPDX-License-Identifier: Apache-2.0
"""Starts real programs in the foreground, stops them, and waits until they are dead."""
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import proctree
import pytest
from control import PATIENCE, wait_until

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def needed(why):
    """Skips the test; under ./dev handlers, which has installed everything, fails it."""
    if os.environ.get("INFORMERD_HANDLERS_ALL") == "1":
        pytest.fail(why)
    pytest.skip(why)


def find(name):
    """The path of an installed program."""
    return shutil.which(name, path=PATH) or needed(f"needs the program {name}")


def run(*argv, code=0, stdin=None, timeout=PATIENCE):
    """Runs a program to its end; returns its CompletedProcess. The program must end with exit code
    `code` (None: with any)."""
    done = subprocess.run([str(arg) for arg in argv], text=True, input=stdin, capture_output=True,
                          timeout=timeout, env={"PATH": PATH, "LANG": "C.UTF-8"})
    assert code is None or done.returncode == code, (
        f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Program:
    """A program that keeps running; it must stay in the foreground."""

    def __init__(self, argv, log):
        self.log_file = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                [str(arg) for arg in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                env={"PATH": PATH, "LANG": "C.UTF-8"}, cwd="/", start_new_session=True)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return self.log_file.read_text(errors="replace")

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, condition, timeout=PATIENCE):
        """Waits until condition() is true while the program runs; returns its value."""
        def now():
            assert self.process.poll() is None, f"it ended: {self.process.returncode}\n{self.log()}"
            try:
                return condition()
            except OSError:
                return None
        try:
            return wait_until(now, timeout, interval=0.01)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.log()[-4000:]}") from None

    def family(self):
        """The pids of its process and of all descendants."""
        return {self.pid} | proctree.descendants(self.pid)

    def kill(self):
        """Kills the program and all that it started at once; returns when they are dead."""
        if self.process.poll() is not None:
            return
        family = self.family()
        for pid in family:  # stopped processes cannot start new ones meanwhile
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                pass
        family |= self.family()
        proctree.kill(family)
        self.process.wait()
        for pid in family - {self.pid}:
            proctree.reap(pid)

    def stop(self, number=signal.SIGTERM, timeout=PATIENCE):
        """Ends the program by a signal; returns its exit code."""
        self.send(number)
        try:
            return self.process.wait(timeout)
        finally:
            self.kill()


class Programs:
    """The programs of one test."""

    def __init__(self, folder):
        self.folder, self.made = folder, []
        self.known_children = proctree.children()

    def start(self, *argv, ready=None):
        """Starts a program; waits until ready() is true (an OSError = not yet)."""
        name = find(argv[0])
        made = Program([name, *argv[1:]], self.folder / f"{pathlib.Path(name).name}"
                                                        f"{len(self.made) + 1}.log")
        self.made.append(made)
        if ready is not None:
            made.wait(ready)
        return made

    def pids(self):
        return {made.pid for made in self.made}

    def finish(self):
        for made in self.made:
            made.kill()
            print(f"--- {made.log_file}\n{made.log()[-4000:]}")
        proctree.kill_orphans(self.known_children, patience=0)  # of programs that had ended before


class StandIn:
    """Stands in for a program that a test cannot have, such as systemctl: it notes its arguments,
    and runs the command that the test has chosen."""

    def __init__(self, path):
        self.path, self.notes = path, path.with_name(f"{path.name}.calls")
        self.does("true")

    def does(self, *argv, shell=None):
        """Sets the program that the next calls run: a path, or a line for the shell."""
        line = shell or shlex.join(str(arg) for arg in argv)
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_text("#!/bin/sh\n"
                       f'echo "$(date +%s.%N) $*" >>{shlex.quote(str(self.notes))}\n{line}\n')
        new.chmod(0o755)
        new.rename(self.path)

    def calls(self):
        """[(seconds since 1970, "reload haproxy"), ...]"""
        if not self.notes.exists():
            return []
        rows = [line.split(" ", 1) for line in self.notes.read_text().splitlines()]
        return [(float(row[0]), row[1]) for row in rows]

    def wait(self, count, timeout=PATIENCE):
        wait_until(lambda: len(self.calls()) >= count, timeout,
                   lambda: f"{count} calls of {self.path.name}, not {self.calls()}")
        return self.calls()


def now():
    """The time by the clock of StandIn.calls() and of the daemon's log."""
    return time.time()
