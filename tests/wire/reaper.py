# SPDX-License-Identifier: Apache-2.0
"""Kills all processes that a test run has started when the run ends, however it ends.

stand_guard() puts two processes above the caller: the process that the user started (P), which only
waits from then on, and the reaper (R), a subreaper, which inherits every process whose parents have
died. The caller goes on as a child of R. When the caller ends, or P is killed, R kills all its
descendants. So it also finds a daemon that has left its session and process group.

R runs this file as a program with a name of its own, so that `pkill -9 -f pytest` does not find it."""
import ctypes
import os
import select
import signal
import sys

import proctree

VARIABLE = "INFORMERD_REAPER"
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15


def stand_guard():
    """Returns in a new process, which the reaper guards; at once if there is a reaper already. To
    be called before threads and other processes are started."""
    if VARIABLE in os.environ:
        return
    alive, watched = os.pipe()      # P holds `watched` open: R reads from `alive` when P has ended
    reaper = os.fork()
    if reaper > 0:
        os.close(alive)
        _wait_for(reaper)
    os.close(watched)
    proctree.become_subreaper()
    os.environ[VARIABLE] = str(os.getpid())
    guarded = os.fork()
    if guarded > 0:
        os.set_inheritable(alive, True)
        os.execve(sys.executable, [sys.executable, __file__, str(alive), str(guarded)],
                  {**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))})
    os.close(alive)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for(reaper):
    """The rest of P. P ignores SIGINT, as a terminal sends it to the caller as well. Other signals
    end P, and so the whole run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(reaper, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 255)


def reap(alive, guarded):
    """The rest of R: waits for the end of the caller or of P, then kills the remaining processes,
    and exits with the caller's status."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"reaper", 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ended = os.pidfd_open(guarded)
    select.select([alive, ended], [], [])
    if select.select([ended], [], [], 0)[0]:
        code = os.waitstatus_to_exitcode(os.waitpid(guarded, 0)[1])
    else:
        code = -signal.SIGKILL
    proctree.kill_descendants()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    reap(*map(int, sys.argv[1:]))
