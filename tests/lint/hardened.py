#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs as they are shipped have the defences of compiler and linker (cmake/build_flags.cmake, HARDENING).

    tests/lint/hardened.py PROGRAM...

Prints each defence that a program lacks; the exit code is 1 if there is any. It knows amd64 and arm64."""
import pathlib
import re
import subprocess
import sys

# Instructions by which a defence is seen in the code, and how often each stands there at least. A program without it
# has the few that come from the files of libc.
OFTEN, ONCE = 100, 1
MARKS = {
    "Advanced Micro Devices X86-64": {
        "-fcf-protection (endbr64)": (bytes.fromhex("f30f1efa"), OFTEN),
        "-fstack-clash-protection (orq $0, (%rsp))": (bytes.fromhex("48830c2400"), ONCE),
    },
    "AArch64": {
        "-mbranch-protection (paciasp)": (bytes.fromhex("3f2303d5"), OFTEN),
        "-mbranch-protection (bti c)": (bytes.fromhex("5f2403d5"), ONCE),
    },
}


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], capture_output=True, text=True,
                          check=True).stdout


def machine(path):
    return re.search(r"Machine:\s+(.*)", readelf(path, "--file-header"))[1].strip()


def segments(path):
    """[(type, flags), ...]"""
    rows = re.findall(r"^  ([A-Z_]+) +0x\S+ 0x\S+ 0x\S+ 0x\S+ 0x\S+ ([R ][W ][E ]) 0x",
                      readelf(path, "--program-headers"), re.M)
    return [(kind, flags.replace(" ", "")) for kind, flags in rows]


def code(path):
    """The bytes of .text."""
    row = re.search(r"\.text +PROGBITS +\S+ (\S+) (\S+)", readelf(path, "--section-headers"))
    at, size = (int(number, 16) for number in row.groups())
    return pathlib.Path(path).read_bytes()[at:at + size]


def lacking_segments(path):
    all_of = segments(path)
    if not any(kind == "GNU_RELRO" for kind, _ in all_of):
        yield "RELRO (-z relro)"
    if ("GNU_STACK", "RW") not in all_of:
        yield "a stack that is not executable (-z noexecstack)"
    if any("W" in flags and "E" in flags for _, flags in all_of):
        yield "memory that is either writable or executable"


def lacking_links(path):
    dynamic = readelf(path, "--dynamic")
    if not re.search(r"FLAGS_1\).*\bPIE\b", dynamic):
        yield "a position-independent program (-pie)"
    if not re.search(r"FLAGS\).*\bBIND_NOW\b|FLAGS_1\).*\bNOW\b", dynamic):
        yield "symbols that are bound at the start (-z now)"
    for tag in ("TEXTREL", "RPATH", "RUNPATH"):
        if f"({tag})" in dynamic:
            yield f"a program without {tag}"


def lacking_code(path):
    symbols = readelf(path, "--dyn-syms")
    if "__stack_chk_fail" not in symbols:
        yield "-fstack-protector-strong"
    if not re.search(r"\b__\w+_chk\b", symbols):
        yield "_FORTIFY_SOURCE"
    marks = MARKS.get(machine(path))
    if marks is None:
        return
    text = code(path)
    for name, (mark, least) in marks.items():
        if text.count(mark) < least:
            yield name


def lacking(path):
    return [*lacking_segments(path), *lacking_links(path), *lacking_code(path)]


def main(paths):
    problems = [f"{path}: lacks {name}" for path in paths for name in lacking(path)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
