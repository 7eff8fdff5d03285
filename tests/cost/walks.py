#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many of the project's own functions, in how many files, are on one stack at the end of a walk.

    walks.py --build DIR

DIR is a build of preset dev, where no function is inlined. The daemon runs in gdb against the API
server of tests/fakeapi, and gdb looks at the stacks of these walks. Frames below the event loop do
not count.

  event     a watch event, from the socket to the delivery queue
  item      an item of a list, from the socket to where it is staged
  commit    the same item from the end of its list to the delivery queue
  history   the end of a run, from the socket of the helper to the history of the hook
  journal   the same to the journal

gdb runs this file, too: it has the module gdb then.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import gdb
except ImportError:
    gdb = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXISTING = 2  # objects in the list; one more comes as an event
# Walk: a function where gdb looks; a function that must be below it; the file, by the begin of its
# name, where the walk ends; whether it is a walk of the event. The deepest such stack counts.
WALKS = {
    "event": ("list_append", "take_delta", "hook/deliver", True),
    "item": ("list_append", "list_watch_body", "cache/store", False),
    "commit": ("map_put", "take_delta", "hook/deliver", False),
    "history": ("history_add", "on_exited", "hook/history", True),
    "journal": ("journal_run", "on_exited", "admin/journal", True),
}
CONFIG = """
{user}
state_dir = "{dir}/state";
control  : {{ socket = "{dir}/control.sock"; }};
clusters : {{ main : {{ kubeconfig = "{dir}/kubeconfig"; }}; }};
watches  : {{ services : {{ resource = "services"; namespaces = [ "*" ]; }}; }};
hooks    : {{ h : {{ sources = [ "services" ]; command = [ "/bin/true" ]; }}; }};
"""


# ---- In gdb

def own_frames():
    """[(function, file below daemon/)] from the event loop to the newest frame."""
    frames, frame = [], gdb.newest_frame()
    while frame is not None and frame.name() != "uv_run":
        table = frame.find_sal().symtab
        if table is not None and "/daemon/" in table.fullname():
            frames.insert(0, (frame.name(), table.fullname().split("/daemon/")[1]))
        frame = frame.older()
    return frames if frame is not None else []


def watch_walks(out):
    """Runs the daemon until the run for the event has ended, and writes the deepest stacks to a file.
    The file appears, empty, when the runs for the list have ended."""
    deepest, runs = {}, []

    class Look(gdb.Breakpoint):
        def stop(self):
            frames = own_frames()
            functions = {function for function, _ in frames}
            for walk, (function, below, end, of_event) in WALKS.items():
                if self.location == function and below in functions and len(frames) > len(
                        deepest.get(walk, [])) and of_event == (len(runs) >= EXISTING) and any(
                            file.startswith(end) for _, file in frames):
                    deepest[walk] = frames
            if self.location == "journal_run":
                runs.append(frames)
            if len(runs) == EXISTING:
                pathlib.Path(out).touch()
            return len(runs) > EXISTING

    for command in ("set pagination off", "set detach-on-fork on", "set debuginfod enabled off",
                    "handle all nostop noprint pass"):
        gdb.execute(command)
    for function in sorted({function for function, *_ in WALKS.values()}):
        Look(function)
    gdb.execute("run")
    pathlib.Path(out).write_text(json.dumps(deepest))
    gdb.execute("kill")


# ---- Outside

def trace(build, folder):
    """{walk: frames} of a daemon that lists objects, gets an event and runs a hook for each."""
    sys.path.insert(0, str(ROOT / "tests"))
    from fakeapi import Authority, FakeApi, service
    authority = Authority(folder)
    walks = folder / "walks"
    with FakeApi(tls=authority.server()) as api, open(folder / "log", "w") as log:
        api.apply(*(service(f"n/s{i}") for i in range(EXISTING)))
        api.kubeconfig(folder / "kubeconfig", ca=authority)
        user = 'user = "root";' if os.geteuid() == 0 else ""
        (folder / "informerd.conf").write_text(CONFIG.format(dir=folder, user=user))
        process = subprocess.Popen(
            ["gdb", "-nx", "-q", "-batch", "-ex", f"python OUT = {str(walks)!r}", "-x", __file__,
             "--args", build / "informerd", "-c", folder / "informerd.conf"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while process.poll() is None and not walks.exists():
            time.sleep(0.01)
        api.apply(service("n/event"))
        process.wait()
    if process.returncode != 0 or not walks.exists() or not walks.read_text():
        sys.exit("walks: the daemon or gdb has failed:\n" + (folder / "log").read_text())
    return json.loads(walks.read_text())


def tell(walk, frames, end):
    """Prints the walk to the first frame of the file where it ends, and the stack behind that."""
    count = next((i for i, (_, file) in enumerate(frames, 1) if file.startswith(end)), 0)
    print(f"{walk}: {count} own functions in {len({file for _, file in frames[:count]})} files")
    for i, (function, file) in enumerate(frames):
        print(f"    {file:28} {function}{' (behind the end)' if i >= count else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walks = trace(args.build.resolve(), pathlib.Path(folder))
    for walk, (*_, end, _) in WALKS.items():
        tell(walk, walks.get(walk, []), end)
    if set(walks) != set(WALKS):
        sys.exit("walks: not all were seen; does WALKS name a function or file that is gone?")


if gdb is not None:
    watch_walks(OUT)  # noqa: F821: set by the command line of gdb
elif __name__ == "__main__":
    main()
