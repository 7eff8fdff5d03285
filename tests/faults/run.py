#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Has each system call of informerd fail, one at a time, and judges what comes of it.

    run.py --build DIR [--all] [--kill] [--faults N] [--jobs N] [--only TEXT] [--verbose] [--keep]

First a life of the daemon (story.py) is played without a fault, to find the places at which it makes system
calls. Then one life is played for each fault: a place and an errno that the call may have there. Without --all
there are --faults of them, always the same ones for a tree. In each life the hooks must get to know all that
the server has, with the fault and after one more start without it; nothing may hang, die of a signal, end
without a reason, leave a process or keep a descriptor open, and no handled state may run again unless the log
says why. Prints how many faults ended in which way; the exit status is 1 if one broke a rule.
"""
import argparse
import collections
import concurrent.futures
import errno as e
import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "wire")]

SHORT, KILL = -2, -3
DISK = [e.ENOSPC, e.EIO]
# The errors that a call may have here, by its name and the kind of its descriptor. A call that is not here
# cannot fail with arguments that are right, or is answered in the same way as one that is here.
ERRORS = {
    "open": [e.EMFILE, e.EIO], "open+w": [e.EMFILE, e.ENOSPC, e.EROFS], "openat": [e.EMFILE, e.EIO],
    "openat+w": [e.EMFILE, e.ENOSPC, e.EDQUOT], "fopen": [e.EMFILE], "opendir": [e.EMFILE, e.EIO],
    "fdopendir": [e.ENOMEM], "fcntl+dup": [e.EMFILE], "fcntl+lock": [e.EAGAIN, e.ENOLCK], "dup": [e.EMFILE],
    "dup2": [e.EMFILE], "dup3": [e.EMFILE], "pipe2": [e.EMFILE], "memfd_create": [e.EMFILE, e.ENOMEM],
    "eventfd": [e.EMFILE], "signalfd": [e.EMFILE], "epoll_create1": [e.EMFILE], "socket": [e.EMFILE, e.ENOBUFS],
    "socketpair": [e.EMFILE], "inotify_init1": [e.EMFILE], "inotify_add_watch": [e.ENOSPC, e.ENOMEM],
    "read": {"file": [e.EIO, SHORT], "socket": [e.ECONNRESET, e.EAGAIN, e.EINTR, SHORT],
             "pipe": [e.EAGAIN, e.EINTR, SHORT], "": [e.EINTR]},
    "pread": [e.EIO, SHORT], "pread64": [e.EIO, SHORT], "pwrite": [e.ENOSPC],
    "pwrite64": [e.ENOSPC, e.EIO, e.EDQUOT, SHORT],
    "write": {"file": [e.ENOSPC, e.EIO, e.EDQUOT, SHORT], "socket": [e.EPIPE, e.EAGAIN, e.EINTR, SHORT],
              "pipe": [e.EPIPE], "": [e.EAGAIN]},
    "writev": [e.EPIPE, e.EAGAIN], "send": [e.EPIPE, e.EAGAIN], "recvmsg": [e.EAGAIN, e.EINTR, e.ECONNRESET],
    "sendmsg": [e.EAGAIN, e.ENOBUFS, e.EINTR], "connect": [e.ENETUNREACH, e.EADDRNOTAVAIL],
    "bind": [e.EADDRINUSE], "listen": [e.EADDRINUSE], "accept4": [e.EMFILE, e.ECONNABORTED],
    "getsockname": [e.ENOBUFS], "setsockopt": [e.ENOBUFS], "shutdown": [e.ENOTCONN],
    "fstat": [e.EIO], "fstat64": [e.EIO], "stat": [e.EIO], "stat64": [e.EIO], "lstat": [e.EIO],
    "lstat64": [e.EIO], "fstatat": [e.EIO], "statfs": [e.EIO], "fstatfs": [e.EIO], "access": [e.EIO],
    "readlink": [e.EIO], "readlinkat": [e.EIO], "readdir": [e.EIO], "mkdir": DISK, "mkdirat": DISK,
    "rename": DISK, "renameat": DISK, "renameat2": DISK, "unlink": [e.EIO], "unlinkat": [e.EIO], "chmod": [e.EIO],
    "fchmod": [e.EPERM], "fchown": [e.EPERM], "fchownat": [e.EPERM], "lchown": [e.EPERM],
    "fsync": [e.EIO, e.ENOSPC], "fdatasync": [e.EIO, e.ENOSPC], "ftruncate": [e.EIO], "ftruncate64": [e.EIO],
    "flock": [e.ENOLCK], "fgetxattr": [e.EIO], "fsetxattr": [e.ENOSPC, e.ENOTSUP], "mmap": [e.ENOMEM],
    "epoll_wait": [e.EINTR], "poll": [e.EINTR, e.ENOMEM], "close": [e.EINTR, e.EIO],
    "fork": [e.EAGAIN, e.ENOMEM], "execve": [e.ENOMEM, e.EIO], "chdir": [e.EIO], "setpgid": [e.EPERM],
    "setresuid": [e.EAGAIN], "setresgid": [e.EPERM], "setgroups": [e.ENOMEM], "setrlimit": [e.EPERM],
    "getrlimit": [e.EPERM], "close_range": [e.ENOSYS], "pidfd_open": [e.EMFILE, e.ENOSYS],
    "pidfd_send": [e.ENOSYS], "openat2": [e.ENOSYS, e.EMFILE], "waitid": [e.EINTR], "wait4": [e.EINTR],
    "kill": [e.EPERM], "getaddrinfo": [e.EAGAIN, e.ENOMEM], "pthread_create": [e.EAGAIN], "prctl": [e.EPERM]}

# libuv ends the process by abort() when these fail, in the middle of its loop, and nothing can be done about
# it: epoll without memory, no event descriptor, no thread at the start.
# The same holds when no loop can be made, for which libuv or informerd aborts at the start.
LIBUV_ABORTS = {"epoll_ctl", "eventfd", "epoll_create1", "pthread_create"}


class Fault:
    """A place, an error, and which of its calls fails."""

    def __init__(self, place, error, first):
        self.site, self.role, self.call, self.first, self.error = (
            place.key, place.role, place.call, first, error)
        self.name = f"{place.name} #{first} {self.word}"

    @property
    def word(self):
        return {SHORT: "short", KILL: "kill"}.get(self.error) or e.errorcode[self.error]

    def rule(self):
        return {"call": self.call, "error": self.error, "role": self.role, "site": self.site,
                "first": self.first, "times": 1}


def errors_of(place):
    """The errors to try here; none for the pipes and the event descriptor that libuv has for itself, both of
    whose ends are its own: they cannot fail, and it asserts that."""
    if place.call in ("read", "write") and place.kind in ("pipe", "") and "[lib" in place.name:
        return []
    if "listener_create" in place.name:     # the socket listens already
        return []
    found = ERRORS.get(place.call, [])
    return found.get(place.kind, found[""] if "" in found else []) if isinstance(found, dict) else found


def faults_of(places, every, kill):
    """All faults; every: also of a call in the middle of the life, not only of the first one at a place; kill:
    no errors, but kills."""
    if kill:
        return [Fault(place, KILL, 1) for place in places]
    faults = []
    for place in places:
        numbers = [1, place.count // 2 + 1] if every and place.count > 3 else [1]
        faults += [Fault(place, error, first) for error in errors_of(place) for first in numbers]
    return sorted(faults, key=lambda fault: hashlib.sha256(fault.name.encode()).digest())


WORKER = {}
NOT_REACHED = "not reached: calls of the middle of a life come at another place each time"


def set_up(build, top):
    """In a worker: its own CA, and the library."""
    os.environ["INFORMERD_BUILD"] = str(build)
    global Story, proctree
    import proctree
    from story import Story
    from fakeapi import Authority
    proctree.become_subreaper()
    folder = top / f"worker{os.getpid()}"
    folder.mkdir()
    WORKER.update(folder=folder, authority=Authority(folder), count=0)
    WORKER["leaf"] = WORKER["authority"].server(dns=["localhost"])


def play(rule, expected=None):
    """One life; returns the Story."""
    WORKER["count"] += 1
    folder = WORKER["folder"] / f"life{WORKER['count']}"
    story = Story(folder, WORKER["authority"], WORKER["leaf"], rule, expected).play()
    story.folder = folder
    return story


class Found:
    """A place as it goes from a worker to the main process."""

    def __init__(self, place):
        self.key, self.role, self.call, self.kind = place.key, place.role, place.call, place.kind
        self.count, self.name, self.file = place.count, place.name, place.file


def find_places():
    """(the places at which the daemon makes calls, what it has open at the end of its life)."""
    story = play(None)
    if story.problems:
        raise SystemExit(f"the life without a fault fails: {story.problems}\n{story.log[-3000:]}")
    return [Found(place) for place in story.shim.places()], story.open_files


def judge(story, fault, files):
    """How it ended."""
    done = story.rule.done
    story.rule = None
    if story.open_files and not story.problems and not story.keeps_no_more():
        story.problems.append(f"descriptors: {story.open_files}, not {files}")
    aborts = -6 in story.ends and (fault.call in LIBUV_ABORTS or "loop_create" in fault.name)
    if aborts:
        story.problems = [p for p in story.problems if "signal 6" not in p]
    if fault.error == KILL:
        story.problems = [p for p in story.problems if "signal 9" not in p]
    if story.problems:
        return "WRONG"
    if done == 0:
        return NOT_REACHED
    if aborts:
        return "aborts, and right after a restart"
    if fault.error == KILL:
        return "killed, and right after a restart" if story.ends else "a program was killed, and right"
    if story.ends:
        return "exit with a reason, and right after a restart"
    words = [os.strerror(fault.error)] if fault.error > 0 else []
    if fault.error > 0 and story.reported(words):
        return "reported by the system's words, and right"
    if story.trouble():
        return "reported in other words, and right"
    return "no sign of it, and right"


def try_fault(fault, files, keep):
    """(outcome, problems, what the log said)."""
    story = play(fault.rule(), files)
    outcome = judge(story, fault, files)
    said = [str(line) for line in story.trouble()[:4]]
    if outcome == "WRONG" and keep:
        (story.folder / "fault").write_text(fault.name)
    else:
        shutil.rmtree(story.folder, ignore_errors=True)
    return outcome, story.problems, said if outcome != "WRONG" else story.log.splitlines()[-25:]


def options_of():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--all", action="store_true", help="every fault; about ten minutes")
    parser.add_argument("--kill", action="store_true", help="instead, a kill -9 at each place")
    parser.add_argument("--faults", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--only", default="", help="only faults whose name has this regular expression")
    parser.add_argument("--verbose", action="store_true", help="name each fault with its outcome")
    parser.add_argument("--list", action="store_true", help="only name the faults")
    parser.add_argument("--keep", action="store_true", help="leave the folders of lives that went wrong")
    return parser.parse_args()


def chosen(places, options):
    faults = [fault for fault in faults_of(places, options.all, options.kill) if re.search(options.only, fault.name)]
    return faults if options.all or options.only or options.kill else faults[:options.faults]


def tell(fault, outcome, problems, said, verbose):
    if outcome == "WRONG" or verbose:
        print(f"{outcome}: {fault.name}", flush=True)
        for text in problems:
            print(f"    {text[:600]}")
        for line in said if outcome == "WRONG" or verbose else []:
            print(f"    | {line[:300]}")


def campaign(options, top):
    """Returns the outcomes and how often each came."""
    outcomes = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=set_up,
                                                initargs=(options.build, top)) as pool:
        places, files = pool.submit(find_places).result()
        faults = chosen(places, options)
        if options.list:
            print("\n".join(sorted(fault.name for fault in faults)))
            return outcomes
        todo = {pool.submit(try_fault, fault, files, options.keep): fault for fault in faults}
        for future in concurrent.futures.as_completed(todo):
            outcome, problems, said = future.result()
            outcomes[outcome] += 1
            tell(todo[future], outcome, problems, said, options.verbose)
    injected = len(faults) - outcomes[NOT_REACHED]
    print(f"{len(places)} places, {len(faults)} faults, {injected} injected")
    return outcomes


def main():
    options = options_of()
    top = pathlib.Path(tempfile.mkdtemp(prefix="informerd-faults-"))
    top.chmod(0o755)
    began, outcomes = time.monotonic(), {}
    try:
        outcomes = campaign(options, top)
    finally:
        for outcome, count in sorted(outcomes.items()):
            print(f"{count:6} {outcome}")
        print(f"{time.monotonic() - began:.0f} s")
        if options.keep and outcomes.get("WRONG"):
            print(f"kept: {top}")
        else:
            shutil.rmtree(top, ignore_errors=True)
    injected = sum(count for outcome, count in outcomes.items() if outcome != NOT_REACHED)
    return 1 if outcomes.get("WRONG") or not (injected or options.list) else 0


if __name__ == "__main__":
    sys.exit(main())
