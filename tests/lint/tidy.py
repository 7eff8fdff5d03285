#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy for the C files named on stdin, one per line, but only for those that have changed.

    tidy.py --build DIR --cache DIR [--jobs N]

A file that was good stays good while nothing changes that clang-tidy reads: its content, the
content of every header that its compilation reads, its compile command, .clang-tidy, and clang-tidy
itself. For each good file the cache holds an empty file, named after the digest of all this. The
cache may be deleted at any time: then all files are checked. Exit status 1 if clang-tidy finds
anything.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-14"


@functools.lru_cache(maxsize=None)
def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).digest()


def commands_of(build):
    """{source: its entry of the compilation database}"""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(entry["file"]).resolve(): entry for entry in entries}


def headers(entry):
    """The files that the compilation of this entry reads, from the compiler's own list."""
    words = shlex.split(entry["command"])
    at = words.index("-o")
    listed = subprocess.run([*words[:at], *words[at + 2:], "-M", "-MT", "x"], cwd=entry["directory"],
                            check=True, text=True, stdout=subprocess.PIPE).stdout
    return listed.replace("\\\n", " ").partition(":")[2].split()


def key(entry, constant):
    """The digest of everything that clang-tidy's answer for this file depends on."""
    out = hashlib.sha256(constant)
    out.update(entry["command"].encode())
    for name in sorted(set(headers(entry))):
        out.update(name.encode() + b"\0" + digest(pathlib.Path(entry["directory"], name)))
    return out.hexdigest()


def look(source, build, tool):
    """(whether the file is good, clang-tidy's output). In the output, headers have their paths in
    the tree, not those in the include view."""
    done = subprocess.run([tool, "--quiet", "-p", build, source], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = re.sub(rf"{re.escape(str(build))}/view/[a-z]*/", f"{ROOT}/daemon/", done.stdout)
    return done.returncode == 0 and not text.strip(), text


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), required=True)
    options.add_argument("--cache", type=pathlib.Path, required=True)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--tool", default=TOOL)
    chosen = options.parse_args()
    sources = [pathlib.Path(line.strip()).resolve() for line in sys.stdin if line.strip()]
    chosen.cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([chosen.tool, "--version"], check=True, stdout=subprocess.PIPE).stdout
    constant = version + (ROOT / ".clang-tidy").read_bytes()
    commands = commands_of(chosen.build)
    looked = bad = 0

    def one(source):
        if source not in commands:
            return False, f"{source}: is in no compilation\n"
        mark = chosen.cache / key(commands[source], constant)
        if mark.exists():
            mark.touch()
            return None
        good, text = look(source, chosen.build, chosen.tool)
        if good:
            mark.touch()
        return good, text

    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for result in pool.map(one, sources):
            if result is not None:
                looked += 1
                bad += not result[0]
                print(result[1], end="", flush=True)
    print(f"{looked} of {len(sources)} files were looked at, {bad} are bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
