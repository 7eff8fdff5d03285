#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the costs of fixed pieces of work (tests/cost/cost.c), and compares with tests/cost/counts.txt.

    compare.py --build DIR [--record]

DIR is a build of preset release with the targets cost and cost_count. Exit status 1 if a count is
more than 1 % above the recorded one. --record writes the file.

Instructions are counted by callgrind, all of them and those of the project's own code; allocations
and copied bytes by the preloaded library of tests/cost/count.c; bytes on the heap by mallinfo2().
All are the same at each run, and so do not depend on how busy a machine is. They do depend on the
compiler and on the libraries, so the file says to which Debian it belongs.
"""
import argparse
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

COUNTS = pathlib.Path(__file__).with_name("counts.txt")
PIECES = ("drain", "sync", "storm")
TOLERANCE = 0.01
# Nothing of the caller's: the environment lies on the stack, and moves it. The C library chooses
# functions such as memcpy() by the processor; without these features it takes the same ones on each.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join("-" + feature for feature in (
    "AVX", "AVX2", "AVX512F", "AVX512VL", "AVX_Fast_Unaligned_Load", "BMI2", "ERMS", "FSRM",
    "SSE4_1", "SSE4_2", "SSSE3"))}
HEAD = """\
# The costs of the pieces of work in tests/cost/cost.c: instructions (callgrind), allocations, bytes.
# The own instructions are those of daemon/, without libraries. Written by `./dev cost --record`.
"""


def host():
    """The system that a record belongs to: "debian 12 x86_64"."""
    release = platform.freedesktop_os_release()
    return f"{release.get('ID')} {release.get('VERSION_ID')} {platform.machine()}"


def parse(text):
    """(the system that it belongs to, {name: count}) of a record."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return lines[0], {name: int(count) for name, count in (line.split() for line in lines[1:])}


def compare(recorded, found):
    """(a line for each measure, the names of those that cost more now, of those that cost less)"""
    lines, more, less = [], [], []
    for name in sorted(recorded.keys() | found.keys()):
        if name not in found or name not in recorded:
            lines.append(f"{name}: only {'recorded' if name in recorded else 'measured'}")
            more.append(name)
            continue
        was, now = recorded[name], found[name]
        change = (now - was) / was if was else float(now > 0)
        lines.append(f"{name:32} {was:14,} {now:14,} {change:+9.2%}")
        if change > TOLERANCE:
            more.append(name)
        elif change < -TOLERANCE:
            less.append(name)
    return lines, more, less


def instructions(profile, program):
    """(all, those of program) of a file that callgrind wrote without compressed names."""
    everything = own = 0
    ours = called = False
    for line in profile.splitlines():
        if line.startswith("ob="):
            ours = pathlib.Path(line[3:]).name == program
        elif line.startswith("calls="):
            called = True  # the next line repeats the cost of the function that is called
        elif re.match(r"[+*\d-]", line):
            if not called:
                cost = int(line.split()[-1])
                everything += cost
                own += cost if ours else 0
            called = False
    return everything, own


def run(command, **environment):
    """{name: number} of the lines that the program prints."""
    done = subprocess.run(command, env=ENVIRONMENT | environment, text=True, check=True,
                          stdout=subprocess.PIPE)
    return {name: int(count) for name, count in (line.split() for line in done.stdout.splitlines())}


def measure_piece(build, piece):
    """({name: count}, units of work)"""
    program = build / "tests/cost"
    counts = run([program, piece], LD_PRELOAD=str(build / "tests/libcost_count.so"))
    units = counts.pop("units")
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "profile")
        done = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", "--toggle-collect=measured", "--compress-strings=no",
             "--compress-pos=no", f"--callgrind-out-file={profile}", program, piece],
            env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            sys.exit(f"cost: {piece} under callgrind: {done.stdout}")
        counts["instructions"], counts["own_instructions"] = instructions(profile.read_text(),
                                                                          program.name)
    return {f"{piece}.{name}": count for name, count in counts.items()}, units


def measure(build):
    """({name: count}, {piece: units of work})"""
    found, units = {}, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for piece, (counts, n) in zip(PIECES, pool.map(lambda p: measure_piece(build, p), PIECES)):
            found |= counts
            units[piece] = n
    heap = run([build / "tests/cost", "memory"])
    return found | {f"memory.{name}_bytes": count for name, count in heap.items()}, units


def tell_units(found, units):
    for piece, n in units.items():
        each = (f"{found[name] / n:,.1f} {name.split('.')[1]}" for name in sorted(found)
                if name.startswith(piece + "."))
        print(f"{piece}, each of {n:,}: {', '.join(each)}")


def record(found, path=COUNTS):
    lines = [host(), *(f"{name} {found[name]}" for name in sorted(found))]
    path.write_text(HEAD + "\n".join(lines) + "\n")


def judge(found, text):
    """Compares with a record and says how it went. Returns the exit status."""
    _, recorded = parse(text)
    lines, more, less = compare(recorded, found)
    print(f"{'':32} {'recorded':>14} {'now':>14}")
    print("\n".join(lines))
    if less:
        print(f"cost: less than recorded, so record it (./dev cost --record): {', '.join(less)}")
    if more:
        print(f"cost: MORE than recorded: {', '.join(more)}")
    return 1 if more else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    belongs = parse(COUNTS.read_text())[0] if COUNTS.exists() else "nothing"
    if not args.record and belongs != host():
        print(f"cost: nothing compared: the counts are of {belongs}, and this is {host()}")
        return 0
    found, units = measure(args.build.resolve())
    tell_units(found, units)
    if args.record:
        record(found)
        return 0
    return judge(found, COUNTS.read_text())


if __name__ == "__main__":
    sys.exit(main())
