#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A hook that tries to outlive its timeout: ways_out.py WAY FILE. It writes a line to FILE once its
processes are there. Each of them can be found by FILE in its command line."""
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36
PTRACE_SEIZE = 0x4206
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
ways = {}


def way(function):
    ways[function.__name__] = function
    return function


def ready():
    with open(sys.argv[2], "a", encoding="ascii") as file:
        print("ready", file=file)


def be_deaf():
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    libc.prctl(PR_SET_PDEATHSIG, 0)


def stay():
    while True:
        time.sleep(1000)


def fork(work):
    """Runs work() in a child; returns its number."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def child_that_stays(before=lambda: None):
    def work():
        before()
        be_deaf()
        ready()
        stay()
    return fork(work)


@way
def ignores_signals():
    be_deaf()
    ready()
    stay()


@way
def leaves_a_child():
    child_that_stays()
    stay()


@way
def leaves_its_group():
    child_that_stays(lambda: os.setpgid(0, 0))
    stay()


@way
def joins_the_group_of_its_parent():
    be_deaf()
    os.setpgid(0, os.getpgid(os.getppid()))
    ready()
    stay()


@way
def makes_a_session():
    child_that_stays(os.setsid)
    stay()


@way
def forks_twice():
    fork(lambda: child_that_stays(os.setsid))
    stay()


@way
def forks_twice_and_ends_well_at_term():
    fork(lambda: child_that_stays(os.setsid))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    stay()


@way
def closes_its_environment():
    """An empty environment, another parent, another session, no descriptors."""
    def work():
        os.setsid()
        child = os.fork()
        if child == 0:
            os.closerange(0, 3)
            os.execve(sys.executable, [sys.executable, __file__, "ignores_signals", sys.argv[2]], {})
        os._exit(0)
    fork(work)
    stay()


@way
def takes_another_name():
    def rename():
        os.setsid()
        libc.prctl(PR_SET_NAME, b"kworker/0:0", 0, 0, 0)
    fork(lambda: child_that_stays(rename))
    stay()


@way
def clears_its_death_signal():
    libc.prctl(PR_SET_PDEATHSIG, 0)
    fork(lambda: child_that_stays(os.setsid))
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    os._exit(1)


@way
def traces_a_sibling():
    """A process that is traced does not end before its tracer lets it, unless it is killed."""
    victim = child_that_stays(os.setsid)

    def work():
        os.setsid()
        be_deaf()
        libc.ptrace(PTRACE_SEIZE, victim, 0, 0)
        ready()
        stay()
    fork(work)
    stay()


@way
def stops_its_parent():
    """Its parent is the program of the run; the helper is none of its own to stop."""
    parent = os.getpid()

    def work():
        os.setsid()
        be_deaf()
        ready()
        while True:
            for pid in parent, os.getppid():
                try:
                    os.kill(pid, signal.SIGSTOP)
                except (PermissionError, ProcessLookupError):
                    pass
            time.sleep(0.001)
    fork(work)
    stay()


@way
def is_stopped():
    child_that_stays(os.setsid)
    os.kill(os.getpid(), signal.SIGSTOP)


@way
def hops_from_fork_to_fork():
    """No process of it lives for long: each one forks the next."""
    def hop():
        os.setsid()
        be_deaf()
        ready()
        while True:
            if os.fork() > 0:
                os._exit(0)
    fork(hop)
    stay()


@way
def forks_a_tree():
    """Two hundred processes, each in a session of its own."""
    def work():
        for _ in range(200):
            child_that_stays(os.setsid)
        stay()
    fork(work)
    stay()


@way
def forks_while_it_dies():
    """Each process that sees a sibling die replaces it."""
    def breed():
        os.setsid()
        be_deaf()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        ready()
        while True:
            pids = [fork(stay) for _ in range(8)]
            for pid in pids:
                os.waitpid(pid, 0)
    for _ in range(4):
        fork(breed)
    stay()


@way
def adopts_its_orphans():
    """They do not become children of the helper."""
    def work():
        os.setsid()
        be_deaf()
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        fork(lambda: child_that_stays(os.setsid))
        stay()
    fork(work)
    stay()


@way
def ends_its_first_thread():
    """The process is a zombie for ps, and goes on."""
    def work():
        be_deaf()
        os.setsid()
        thread = threading.Thread(target=lambda: (ready(), stay()))
        thread.start()
        libc.pthread_exit(None)
    fork(work)
    stay()


@way
def waits_for_a_vfork():
    """Its parent cannot handle signals until the child ends."""
    libc.vfork.restype = ctypes.c_int
    def work():
        os.setsid()
        be_deaf()
        subprocess.Popen([sys.executable, __file__, "ignores_signals", sys.argv[2]], start_new_session=True)
        stay()
    fork(work)
    stay()


@way
def makes_a_pid_namespace():
    """Its processes have other numbers there; the first one is an init, which many signals do not reach."""
    def work():
        os.setsid()
        libc.unshare(CLONE_NEWUSER | CLONE_NEWPID)
        child_that_stays(os.setsid)
        be_deaf()
        stay()
    fork(work)
    stay()


@way
def moves_to_another_cgroup():
    """It may try all that it can see."""
    def work():
        os.setsid()
        be_deaf()
        with open("/proc/self/cgroup", encoding="ascii") as file:
            own = next(line[3:].strip() for line in file if line.startswith("0::"))
        parts = own.strip("/").split("/")
        for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
            for n in range(len(parts) + 1):
                folder = "/".join([root, *parts[:n]])
                for path in f"{folder}/cgroup.procs", f"{folder}/daemon/cgroup.procs":
                    try:
                        with open(path, "w", encoding="ascii") as procs:
                            procs.write(str(os.getpid()))
                    except OSError:
                        pass
                try:
                    os.mkdir(f"{folder}/mine")
                except OSError:
                    pass
        ready()
        stay()
    fork(work)
    stay()


@way
def runs_a_program_of_root():
    """A set-user-ID program that waits for its input is a process of root."""
    def work():
        os.setsid()
        be_deaf()
        subprocess.Popen(["su", "-c", sys.argv[2]], stdin=os.pipe()[0], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        ready()
        stay()
    fork(work)
    stay()


@way
def floods_its_stdout():
    def work():
        os.setsid()
        be_deaf()
        ready()
        while True:
            os.write(1, b"x" * 4096)
    fork(work)
    stay()


if __name__ == "__main__":
    ways[sys.argv[1]]()
