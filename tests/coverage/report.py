#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The lines and branches that tests have run, by layer, and whether they reach the goals.

    report.py --build DIR [--functions N]

DIR is a build of preset coverage in which tests have run. gcovr reads its counts. Exit status 1: a goal is not
reached. --functions: also the N functions with the most lines that no test has run."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Layers that touch the system: parts of them run only when it fails. The other ones decide, and are pure.
EDGES = ("io", "helper", "persist", "app", "state")
GOALS = {"pure layers": 95.0, "io, helper, persist, app, state": 88.0}


class Count:
    """Of lines, or of branches: all, and those that ran."""

    def __init__(self):
        self.all = self.run = 0

    def add(self, runs):
        self.all += len(runs)
        self.run += sum(1 for count in runs if count)

    def percent(self):
        return 100 * self.run / self.all if self.all else 100.0


def measured(build):
    """The report of gcovr on the build: {file below daemon/: its part}. Headers are seen through links of the build."""
    done = subprocess.run(["gcovr", "--root", ROOT, "--filter", f"{ROOT}/daemon/", "--json", "-", build / "CMakeFiles"],
                          stdout=subprocess.PIPE, text=True, check=True)
    return {str((ROOT / file["file"]).resolve().relative_to(ROOT / "daemon")): file
            for file in json.loads(done.stdout)["files"]}


def lines_of(file):
    return [line for line in file["lines"] if not line.get("gcovr/noncode")]


def by_layer(files):
    """{layer: (lines, branches)}; main() of informerd and the headers count where they stand."""
    layers = collections.defaultdict(lambda: (Count(), Count()))
    for name, file in files.items():
        lines, branches = layers[name.split("/")[0] if "/" in name else "app"]
        for line in lines_of(file):
            lines.add([line["count"]])
            branches.add([branch["count"] for branch in line["branches"]])
    return layers


def sums(layers):
    """{group: (lines, branches)} of the two kinds of layers."""
    out = {group: (Count(), Count()) for group in GOALS}
    pure, edges = GOALS
    for layer, counts in layers.items():
        for total, count in zip(out[edges if layer in EDGES else pure], counts):
            total.all += count.all
            total.run += count.run
    return out


def functions(files):
    """(lines that did not run, all lines, file:line, name) of each function, the worst first."""
    out = []
    for name, file in files.items():
        begins = sorted((f["lineno"], f["name"]) for f in file["functions"])
        for (begin, function), (end, _) in zip(begins, begins[1:] + [(float("inf"), "")]):
            lines = [line["count"] for line in lines_of(file) if begin <= line["line_number"] < end]
            out.append((lines.count(0), len(lines), f"daemon/{name}:{begin}", function))
    return sorted(out, reverse=True)


def row(name, lines, branches, goal=""):
    print(f"{name:34} {lines.run:7} of {lines.all:6} {lines.percent():6.1f} % {branches.percent():8.1f} %  {goal}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--functions", type=int, default=0)
    arguments = parser.parse_args()
    files = measured(arguments.build)
    layers = by_layer(files)
    print(f"{'layer':34} {'lines':>17} {'':8} {'branches':>10}")
    for layer in sorted(layers):
        row(layer, *layers[layer])
    missed = False
    for group, (lines, branches) in sums(layers).items():
        row(group, lines, branches, f"goal: {GOALS[group]:.0f} % of lines")
        missed |= lines.percent() < GOALS[group]
    for left, of, place, name in functions(files)[:arguments.functions]:
        print(f"{left:4} of {of:4} lines did not run: {name}() in {place}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
