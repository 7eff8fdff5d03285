#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks one line of the daemon at a time and reports which test notices.

    tests/mutation/run.py [--jobs N] [--only WORD] [--wire]
    tests/mutation/run.py --security [--jobs N] [--only WORD]
    tests/mutation/run.py --fit

mutations.txt lists the mutations: a file, a text that occurs in it exactly once, and the text that
replaces it. security.txt lists those that weaken a security check, each with the test that must fail:
with --security only these are made, and only that test is run. In all other campaigns they are mutations
like any other. Each mutation is made in a copy of the tree, built, and run against the unit tests and
the simulation. If no test notices it, their long form (`./dev test --long`) runs; with --wire, the
black-box tests run after that. A mutation that survives is either a hole in the tests or a change
that changes no behaviour: mutations.txt says which after "= ". The exit code is 1 if a mutation
survives without such an answer, or does not fit the tree any more. --fit, which the lint runs,
builds nothing and only lists the mutations that do not fit, so that you see them when you edit a
line and not in the next campaign.

The tests that are likely to notice come first, and only the tests that run next are linked: so most
mutations cost a few seconds.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = [pathlib.Path(__file__).with_name(name) for name in ("mutations.txt", "security.txt")]
WIRE = ["test_list.py", "test_events.py", "test_ends.py", "test_stream.py", "test_cache.py",
        "test_renew.py", "test_check_access.py", "test_config.py", "test_replay.py",
        "test_reload_switch.py", "test_sandbox.py"]

# A test hangs when it takes longer than HANG_S plus HANG_TIMES its time without a mutation.
HANG_S, HANG_TIMES = 60, 50
BUILD_S = 1200
FIRST = 12      # the number of tests that count as likely

# The arguments of the simulation's long form.
SIM = [["--seeds", "300"], ["--restarts", "--seeds", "300", "--seed", "1001"],
       ["--flood", "1000000"]]


class Mutation:
    def __init__(self, number, file, part):
        self.number, self.file, self.old, self.new = number, file, part["-"], part["+"]
        self.answer, self.test = part.get("="), part.get("!")

    def __str__(self):
        new = self.new.strip() or "(nothing)"
        return f"{self.number:3} {self.file}: {self.old.strip()} -> {new}"


def read_list():
    """Blocks of FILE, "- OLD", "+ NEW" and maybe "= ANSWER" or "! TEST", with empty lines between."""
    out = []
    for block in re.split(r"\n\s*\n", "\n\n".join(path.read_text() for path in LISTS)):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        part = {line[0]: line[2:] for line in lines[1:]}
        good = set(part) <= set("-+=!") and "-" in part and "+" in part and part["-"] != part["+"]
        assert good and len(part) == len(lines) - 1, f"cannot be read: {lines}"
        out.append(Mutation(len(out) + 1, lines[0], part))
    return out


def run(command, timeout, **more):
    """(exit code, output) of a command; the code is 124 if the command did not end in time. No
    process of it is left."""
    process = subprocess.Popen(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True, **more)
    try:
        out, _ = process.communicate(timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        code, out = 124, "it hangs"
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    return code, out


class Test:
    """One program of ctest."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.target = pathlib.Path(command[0]).name
        self.is_sim = self.target == "sim"
        self.seconds = 0.0     # its time without a mutation


class Killers:
    """Counts which tests have noticed a mutation so far, by the file that was broken."""

    def __init__(self):
        self.lock = threading.Lock()
        self.by_file = collections.defaultdict(collections.Counter)

    def note(self, file, name):
        with self.lock:
            self.by_file[file][name] += 1
            self.by_file[str(pathlib.Path(file).parent)][name] += 1

    def count(self, key, name):
        with self.lock:
            return self.by_file[key][name]


def likeliness(test, file, killers):
    """A sort key: the smaller it is, the likelier the test notices that the file is broken, and the
    sooner the test is run."""
    path = pathlib.Path(file)
    words = test.name.split("_")
    same = sum(part in words or part + "s" in words for part in path.stem.split("_"))
    is_named = test.name.startswith(f"test_{path.stem}")
    return (-min(killers.count(file, test.name), 5), not is_named,
            -killers.count(str(path.parent), test.name), -same, path.parent.name not in words,
            test.seconds)


class Tree:
    """A copy of the tree with a build of its own."""

    def __init__(self, folder, killers):
        self.source, self.build = folder / "source", folder / "build"
        self.killers = killers
        self.copy()
        code, out = run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
                         "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0"], BUILD_S)
        assert code == 0, f"cmake fails:\n{out[-2000:]}"
        self.tests, self.sim = [], []

    def copy(self):
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, files.stdout.decode().split("\0")):
            target = self.source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, target)

    def make(self, targets):
        targets = ["--target", *sorted(set(targets))] if targets else []
        return run(["cmake", "--build", self.build, "-j1", *targets], BUILD_S)

    def test(self, test, command=None, **environment):
        limit = HANG_S + HANG_TIMES * test.seconds
        return run(command or test.command, limit, cwd=self.build / "tests",
                   env={**os.environ, **environment})

    def prepare(self):
        """Builds everything without a mutation, checks that all tests pass, and notes their
        times."""
        code, out = self.make([])
        assert code == 0, f"the tree does not build:\n{out[-2000:]}"
        listing = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"],
                                 check=True, stdout=subprocess.PIPE).stdout
        tests = [Test(t["name"], t["command"]) for t in json.loads(listing)["tests"]]
        for test in tests:
            began = time.monotonic()
            code, out = self.test(test)
            assert code == 0, f"{test.name} fails without a mutation:\n{out[-2000:]}"
            test.seconds = time.monotonic() - began
        self.tests = [t for t in tests if not t.is_sim]
        self.sim = [t for t in tests if t.is_sim]

    def first_to_fail(self, tests):
        """Builds the tests and runs them one after the other."""
        if self.make(t.target for t in tests)[0] != 0:
            return "does not compile"
        for test in tests:
            code, _ = self.test(test)
            if code != 0:
                return test.name + (" (hangs)" if code == 124 else "")
        return None

    def campaign(self):
        for test in self.tests:
            if self.test(test, INFORMERD_LONG="1")[0] != 0:
                return f"{test.name} (campaign)"
        for arguments in SIM:
            command = [self.sim[0].command[0], *arguments, "--jobs", "1"]
            if self.test(self.sim[0], command)[0] != 0:
                return f"sim {' '.join(arguments)} (campaign)"
        return None

    def pytest(self, *arguments):
        """(exit code, output) of these black-box tests."""
        return run(["/usr/bin/python3", "-m", "pytest", "-q", "-x", *arguments], 1800,
                   cwd=self.source / "tests" / "wire",
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent",
                        "INFORMERD_PATIENCE": "60", "INFORMERD_BUILD": str(self.build)})

    def named(self, test):
        """The result of one test: "passes", "fails", or why it did not run. test: the name of a
        program of ctest, or FILE.py::NAME of tests/wire."""
        is_wire = "::" in test
        code, out = self.make(["informerd", "informerctl"] if is_wire else [test])
        if code != 0:
            return "does not compile"
        if is_wire:
            code, out = self.pytest(test)
        else:
            code, out = run([self.build / "tests" / test], HANG_S, cwd=self.build / "tests")
        if code not in (0, 1) and is_wire:
            return f"cannot be run:\n{out[-2000:]}"
        if code == 0 and (re.search(r"\d+ skipped", out) or "[  SKIPPED ]" in out and not is_wire):
            return "is skipped"
        return "passes" if code == 0 else "fails"

    def wire(self):
        if self.make([])[0] != 0:
            return "does not compile"
        code, out = self.pytest("-n", "4", *WIRE)
        if code == 0:
            return None
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", out, re.M)
        return failed[0] if failed else "wire"

    def killer(self, m, with_wire):
        """The name of the test that fails, or None."""
        tests = sorted(self.tests, key=lambda t: likeliness(t, m.file, self.killers))
        killer = self.first_to_fail(tests[:FIRST])
        rest = sorted(tests[FIRST:], key=lambda t: t.seconds)
        killer = killer or self.first_to_fail(rest) or self.first_to_fail(self.sim)
        if killer is None and m.answer is None:
            killer = self.campaign()
        return killer or (self.wire() if with_wire else None)

    def judge(self, m, with_wire):
        path = self.source / m.file
        text = path.read_text()
        if text.count(m.old) != 1:
            return m, f"stands {text.count(m.old)} times"
        path.write_text(text.replace(m.old, m.new))
        try:
            killer = self.killer(m, with_wire)
        finally:
            path.write_text(text)
        if killer is not None:
            self.killers.note(m.file, killer.split()[0])
        return m, killer


def weaken(todo, jobs):
    """Makes the mutations of security.txt. Returns whether the named test of each fails with it, and
    passes without it."""
    begun = time.monotonic()
    bad = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        trees = [Tree(pathlib.Path(folder) / str(i), None) for i in range(jobs)]

        def work(tree, mine):
            for m in mine:
                before = tree.named(m.test)
                path = tree.source / m.file
                text = path.read_text()
                path.write_text(text.replace(m.old, m.new))
                after = tree.named(m.test)
                path.write_text(text)
                good = (before, after) == ("passes", "fails")
                words = "fails" if good else f"{before} without the mutation and {after} with it"
                print(f"{m}\n      {m.test} {words}", flush=True)
                if not good:
                    bad.append(m.number)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, trees, [todo[i::jobs] for i in range(jobs)]))
    print(f"{len(todo) - len(bad)} of {len(todo)} mutations made their test fail, "
          f"in {time.monotonic() - begun:.0f} s")
    return not bad


def report(m, verdict):
    """Prints the line of one mutation; returns False if the mutation needs an answer."""
    bad = verdict is None and m.answer is None
    bad = bad or verdict == "does not compile" or (verdict or "").startswith("stands ")
    if verdict is None:
        words = f"SURVIVED: {m.answer}" if m.answer else "SURVIVED"
    else:
        words = verdict
    print(f"{m}\n      {words}", flush=True)
    return not bad


def fit():
    """Whether the text of each mutation occurs in its file exactly once."""
    good = True
    for m in read_list():
        file = ROOT / m.file
        times = file.read_text().count(m.old) if file.is_file() else 0
        if times != 1:
            print(f"{m}: the text to be replaced stands there {times} times, not once")
            good = False
    return good


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options.add_argument("--only", default="", help="mutations whose file or text holds this")
    options.add_argument("--wire", action="store_true")
    options.add_argument("--security", action="store_true", help="those of security.txt only")
    options.add_argument("--fit", action="store_true", help="only whether each fits the tree")
    chosen = options.parse_args()
    if chosen.fit:
        return 0 if fit() else 1
    todo = [m for m in read_list() if chosen.only in m.file or chosen.only in m.old]
    if chosen.security:
        return 0 if weaken([m for m in todo if m.test], chosen.jobs) else 1
    began = time.monotonic()
    good = True
    killed = 0
    late = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        killers = Killers()
        all_trees = [Tree(pathlib.Path(folder) / str(i), killers) for i in range(chosen.jobs)]
        trees = queue.Queue()
        with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
            list(pool.map(lambda tree: tree.prepare(), all_trees))
            print(f"built, and all tests pass, after {time.monotonic() - began:.0f} s", flush=True)
            for tree in all_trees:
                trees.put(tree)

            def one(m):
                tree = trees.get()
                try:
                    return tree.judge(m, chosen.wire)
                finally:
                    trees.put(tree)

            for m, verdict in pool.map(one, todo):
                good = report(m, verdict) and good
                killed += verdict is not None
                late += [m.number] if verdict is not None and "campaign" in verdict else []
    print(f"{killed} of {len(todo)} mutations were noticed, in {time.monotonic() - began:.0f} s")
    if late:
        print(f"only a campaign noticed: {', '.join(map(str, late))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
