#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks one line of the daemon at a time and tells which test notices.

    tests/mutation/run.py [--jobs N] [--only WORD] [--wire] [--keep-going]

mutations.txt lists the changes: a file, the text that stands there exactly once, and what takes its
place. Each is made in a copy of the tree, built, and run against the unit tests and the simulation;
with --wire, one that nobody noticed is run against the black-box tests too. A survivor is either a
hole in the tests or a change that changes nothing: mutations.txt says which after "= ". Exit code 1
if a mutation survives without such an answer, or does not fit the tree any more.
"""
import argparse
import concurrent.futures
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_name("mutations.txt")
UNIT = ("reflector|feed|store|guard|watch|pages|query|refusal|pulse|rv|audit|confirm|hook|queue|"
        "sched|gate|order|history|payload|filter|apply|files|ledger|view|content|sim|helper|path_template|"
        "wire")
WIRE = ["test_list.py", "test_events.py", "test_ends.py", "test_stream.py", "test_cache.py"]


class Mutation:
    def __init__(self, number, file, old, new, answer):
        self.number, self.file, self.old, self.new, self.answer = number, file, old, new, answer

    def __str__(self):
        return f"{self.number:3} {self.file}: {self.old.strip()} -> {self.new.strip() or '(nothing)'}"


def read_list():
    """Blocks of FILE, "- OLD", "+ NEW" and maybe "= ANSWER", with empty lines between."""
    out = []
    for block in re.split(r"\n\s*\n", LIST.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        part = {line[0]: line[2:] for line in lines[1:]}
        assert set(part) <= set("-+=") and "-" in part and "+" in part, f"cannot be read: {lines}"
        out.append(Mutation(len(out) + 1, lines[0], part["-"], part["+"], part.get("=")))
    return out


class Tree:
    """A copy of the tree with a build of its own."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "build"
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, files.stdout.decode().split("\0")):
            target = self.source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, target)
        self.run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja",
                  "-DCMAKE_BUILD_TYPE=Debug"], 120)
        built = self.make()
        assert built.returncode == 0, f"the tree does not build:\n{built.stdout[-2000:]}"
        clean = self.ctest()
        assert clean.returncode == 0, f"the tests fail without a mutation:\n{clean.stdout[-2000:]}"

    def run(self, command, timeout, **more):
        try:
            return subprocess.run(command, timeout=timeout, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, **more)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 124, f"timeout: {late}")

    def make(self):
        return self.run(["cmake", "--build", self.build, "-j2"], 600)

    def ctest(self):
        return self.run(["ctest", "--test-dir", self.build, "-R", UNIT, "--timeout", "120",
                         "--stop-on-failure", "-j2"], 600)

    def wire(self):
        return self.run(["/usr/bin/python3", "-m", "pytest", "-q", "-x", "-n", "4", *WIRE], 900,
                        cwd=self.source / "tests" / "wire",
                        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent",
                             "INFORMERD_BUILD": str(self.build)})

    def killer(self, with_wire):
        """The name of the test that fails, or None."""
        if self.make().returncode != 0:
            return "does not compile"
        unit = self.ctest()
        if unit.returncode != 0:
            failed = re.findall(r"- (\S+) \((?:Failed|Timeout|Subprocess[^)]*|[A-Z]+[^)]*)\)",
                                unit.stdout)
            return failed[0] if failed else "ctest"
        if with_wire:
            wire = self.wire()
            if wire.returncode != 0:
                failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", wire.stdout, re.M)
                return failed[0] if failed else "wire"
        return None

    def judge(self, m, with_wire):
        path = self.source / m.file
        text = path.read_text()
        if text.count(m.old) != 1:
            return m, f"stands {text.count(m.old)} times"
        path.write_text(text.replace(m.old, m.new))
        try:
            return m, self.killer(with_wire)
        finally:
            path.write_text(text)


def report(m, verdict):
    """Prints the line of one mutation; False if it needs an answer."""
    bad = verdict is None and m.answer is None
    bad = bad or verdict == "does not compile" or (verdict or "").startswith("stands ")
    if verdict is None:
        words = f"SURVIVED: {m.answer}" if m.answer else "SURVIVED"
    else:
        words = verdict
    print(f"{m}\n      {words}", flush=True)
    return not bad


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--only", default="", help="mutations whose file or text holds this")
    options.add_argument("--wire", action="store_true")
    chosen = options.parse_args()
    todo = [m for m in read_list() if chosen.only in m.file or chosen.only in m.old]
    good = True
    killed = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        trees = queue.Queue()
        for i in range(chosen.jobs):
            trees.put(Tree(pathlib.Path(folder) / str(i)))

        def one(m):
            tree = trees.get()
            try:
                return tree.judge(m, chosen.wire)
            finally:
                trees.put(tree)

        with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
            for m, verdict in pool.map(one, todo):
                good = report(m, verdict) and good
                killed += verdict is not None
    print(f"{killed} of {len(todo)} mutations were noticed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
