#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Functions, files and parameter lists stay small; with --build, no layer has writable globals.

Globals are found in the built libraries: every symbol in a writable section, function-local statics
too. Constant tables with pointers (.data.rel.ro) count as constant. app/ is the composition root,
base/log.c has the one log of the process, with its socket to the journal in base/log_journal.c, and
base/meter.c counts the memory of the process: these may have writable globals."""
import pathlib
import re
import subprocess

import csource

FUNCTION_LINES, PARAMETERS, FILE_LINES, HEADER_LINES = 60, 6, 1000, 200
WRITABLE = re.compile(r"\.data(?!\.rel\.ro)|\.bss|\.tdata|\.tbss|\*COM\*")


def may_have_globals(layer, member):
    return layer == "app" or (layer, member) in (
        ("base", "log.c.o"), ("base", "log_journal.c.o"), ("base", "meter.c.o"))


def check_sizes(top):
    for source in csource.sources(top, ["daemon", "tests"]):
        limit = HEADER_LINES if source.path.suffix == ".h" else FILE_LINES
        if len(source.lines) > limit:
            yield f"{source.rel}:{limit + 1}: {len(source.lines)} lines, the limit is {limit}"
        for function in source.declarations():
            where = f"{source.rel}:{function.line}: {function.name}()"
            lines = function.end - function.line + 1
            if lines > FUNCTION_LINES:
                yield f"{where} has {lines} lines, the limit is {FUNCTION_LINES}"
            if function.params > PARAMETERS:
                yield f"{where} has {function.params} parameters, the limit is {PARAMETERS}"


def writable_symbols(library):
    """(member, symbol, section) of each writable object in a static library."""
    member = ""
    listing = subprocess.run(["nm", "--format=sysv", library], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    for line in listing.splitlines():
        head = re.match(r"Symbols from .*\[(.*)\]:", line)
        if head:
            member = head.group(1)
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[3] in ("OBJECT", "TLS") and WRITABLE.match(fields[6]):
            yield member, fields[0], fields[6]


def line_of(path, name):
    word = re.compile(rf"\b{re.escape(name)}\b")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((n for n, line in enumerate(lines, 1) if word.search(line)), 1)


def check_globals(top, build):
    layers = sorted(p.name for p in (top / "daemon").iterdir() if any(p.glob("*.c")))
    for layer in layers:
        library = build / f"lib{layer}.a"
        if not library.exists():
            if any(p.name != "main.c" for p in (top / "daemon" / layer).glob("*.c")):
                yield f"daemon/{layer}:1: {library} is not built, so its globals are not checked"
            continue
        for member, symbol, section in writable_symbols(library):
            if not may_have_globals(layer, member):
                name, path = symbol.split(".")[0], f"daemon/{layer}/{member[:-len('.o')]}"
                yield f"{path}:{line_of(top / path, name)}: {name} is a writable global ({section})"


def check(top, arguments):
    problems = list(check_sizes(top))
    if arguments.build:
        problems += check_globals(top, arguments.build)
    return problems


if __name__ == "__main__":
    csource.main(check, lambda parser: parser.add_argument(
        "--build", type=pathlib.Path, help="a build folder (preset dev)"))
