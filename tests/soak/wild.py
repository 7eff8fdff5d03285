#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A hook that misbehaves at the first and second attempt of a run, and then becomes tests/crash/told.py.

    wild.py TOLD LOG
"""
import os
import random
import signal
import sys
import time

BAD = 40        # of 100 first and second attempts
ENDLESS_BYTES = 8192


def fails():
    sys.exit(3)


def dies():
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)


def prints_on():
    line = b"x" * ENDLESS_BYTES + b"\n"
    while True:
        os.write(1, line)


def stay(count):
    """Starts so many processes in sessions of their own, which outlive this one."""
    for _ in range(count):
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
            os._exit(0)


def leaves_processes():
    """The run goes on, and these processes outlive it."""
    stay(2)


def forks():
    stay(20)
    sys.exit(1)


def closes_its_pipes():
    os.closerange(0, 3)
    sys.exit(1)


WAYS = [fails, dies, hangs, prints_on, leaves_processes, forks, closes_its_pipes]


def main(told, log):
    sys.path.insert(0, os.path.dirname(told))     # -I leaves the folder of the script out
    from told import note
    rng = random.SystemRandom()
    if int(os.environ["INFORMERD_ATTEMPT"]) <= 2 and rng.randrange(100) < BAD:
        way = rng.choice(WAYS)
        note(log, what="wild", how=way.__name__.replace("_", " "))
        way()
    os.execv(sys.executable, [sys.executable, "-I", "-S", told, "command", log])


if __name__ == "__main__":
    main(*sys.argv[1:])
