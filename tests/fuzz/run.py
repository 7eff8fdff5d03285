#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs fuzz targets (libFuzzer) on their corpora, and says in one line each what came of it.

    run.py --build DIR --list
    run.py --build DIR TARGET... | --all [--time T | --runs N] [--jobs N]
    run.py --build DIR TARGET --input FILE...

DIR is a build of preset fuzz. A TARGET is "url" for tests/fuzz/fuzz_url.c. Its corpus is the committed one
in tests/fuzz/corpus/TARGET; with --time a target also goes on with the finds of earlier times, in
DIR/corpus/TARGET, and adds to them. With --runs each run begins anew with the same seed, so that it always
does the same. An input that fails stays in DIR/finds. Exit status 1 if there was one.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from campaign import seconds  # noqa: E402

# A single input must not take longer, also on a busy machine, and never more memory.
LIMITS = ["-timeout=60", "-rss_limit_mb=1024", "-malloc_limit_mb=256"]
# With --runs these get one run where others get so many: each of theirs is a handshake, a daemon or a start.
SLOWER = {"tls": 10, "control": 5, "state": 5}
# Dictionaries that several targets share, in tests/fuzz/NAME.dict; else a target has the one of its name.
DICTIONARIES = {name: "kube" for name in ("discovery", "event", "kubeconfig", "list", "recording", "shape", "status",
                                          "view")}


def targets():
    """The names of all targets."""
    return sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.c"))


def told(log):
    """(executions, edges) out of what libFuzzer has printed."""
    executed = re.findall(r"^stat::number_of_executed_units: +(\d+)", log, re.M)
    edges = re.findall(r"\bcov: (\d+)", log)
    return int(executed[-1]) if executed else 0, int(edges[-1]) if edges else 0


def environment():
    """Each report says where."""
    return os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
                         "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1"}


def command(build, name):
    line = [build / "tests" / f"fuzz_{name}", *LIMITS, f"-artifact_prefix={build}/finds/{name}-"]
    words = HERE / f"{DICTIONARIES.get(name, name)}.dict"
    return line + [f"-dict={words}"] * words.exists()


def watched(line):
    """Runs a command. Returns (exit status, seconds of CPU time, output)."""
    with tempfile.TemporaryFile() as log, \
            subprocess.Popen(line, env=environment(), stdin=subprocess.DEVNULL, stdout=log,
                             stderr=subprocess.STDOUT) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        return process.returncode, used.ru_utime + used.ru_stime, log.read().decode(errors="replace")


def fuzz(build, name, limit, finds):
    """Runs one target. Returns (whether all is well, a line)."""
    finds.mkdir(parents=True, exist_ok=True)
    corpora = [finds] + [path for path in [HERE / "corpus" / name] if path.is_dir()]
    status, cpu_s, log = watched([*command(build, name), "-print_final_stats=1", limit, *corpora])
    executions, edges = told(log)
    if status == 0:
        return True, f"{name}: {executions} executions in {cpu_s:.0f} s of CPU time, {edges} edges covered, no failure"
    tail = "\n".join("    " + line for line in log.splitlines()[-60:])
    return False, f"{tail}\n{name}: FAILED after {executions} executions: ./dev fuzz {name} --input FILE"


def fuzz_all(args, names):
    """Runs the targets side by side. Returns whether all is well."""
    (args.build / "finds").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as anew, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def run(name):
            if args.runs:
                runs = args.runs // SLOWER.get(name, 1)
                return fuzz(args.build, name, f"-runs={runs}", pathlib.Path(anew, name))
            return fuzz(args.build, name, f"-max_total_time={args.time}", args.build / "corpus" / name)

        well = True
        for good, line in pool.map(run, names):
            well = well and good
            print(line, flush=True)
    return well


def replay(build, name, inputs):
    """Shows what the target says to single inputs."""
    return subprocess.run([*command(build, name), *inputs], check=False,
                          env=environment()).returncode == 0


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz")
    parser.add_argument("--build", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--time", type=seconds, default=60)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--input", nargs="+", type=pathlib.Path)
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    if args.list:
        print("\n".join(targets()))
        return
    names = targets() if args.all else [name.removeprefix("fuzz_") for name in args.targets]
    unknown = set(names) - set(targets())
    if unknown or not names:
        parser.error(f"no target {', '.join(sorted(unknown)) or 'named'}; ./dev fuzz --list")
    if args.input:
        sys.exit(not all([replay(args.build, name, args.input) for name in names]))
    sys.exit(not fuzz_all(args, names))


if __name__ == "__main__":
    main()
