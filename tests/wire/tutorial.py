#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Types the commands of a page of docs/, and compares their output with the page.

    tutorial.py --build DIR [--write] PAGE      --write puts the output into the page

Fenced blocks, in their order:

    ```sh               typed into one shell, which begins in the checkout; the status must be 0
    ```sh terminal=2    runs in the foreground of terminal 2, whose program gets Ctrl-C before
    ```text, ```json    after sh: its output. Such a block only shows things, so it is typed again
                        until it shows this; but not with --once, which handles the objects that it shows
    ```text terminal=2  lines that appear there, in this order, among others
    ```conf             a hooks group, which informerd --check must accept

Times, run ids, ports, durations, the number of failures of a key in backoff, and blanks may differ; a
line `...` stands for any lines. The checkout is a stand-in: its build/dev is --build, and
`./dev build` only checks that informerd is there.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from control import PATIENCE, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = "/home/you/informerd"
SHIM = """#!/bin/sh
[ "$1" != build ] || exec test -x build/dev/informerd
exec {dev} "$@"
"""
CONF = """
state_dir = "none";
clusters : {{ tour : {{ kubeconfig = "{folder}/kubeconfig"; }}; }};
watches  : {{ services : {{ resource = "services"; namespaces = [ "*" ]; }};
              slices : {{ resource = "endpointslices"; namespaces = [ "*" ]; }};
              configmaps : {{ resource = "configmaps"; namespaces = [ "*" ]; }}; }};
"""
VARIES = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r"\b[0-9a-f]{16}-\d+\b", "RUN"),
    (r"\brun=\d+", "run=N"),
    (r'\bnode="[^"]*"', "node=NODE"),
    (r"\b[0-9a-f]{32}\b", "DIGEST"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r'"(age_s|took_s|cpu_s)": ?[\d.]+', r'"\1": N'),
    (r"\b\d+(\.\d+)?(us|ms|s)\b", "DURATION"),
    (r"(backoff +in +DURATION) +\d+", r"\1 FAILURES"),
]
# Lines that come on a slow disk only.
SLOW = re.compile(r" warn +state not written in time| info +state is writable again")


class Block:
    """One fenced block: its language, terminal (0 = the shell), text, and line number in the
    page."""

    def __init__(self, info, lines, number):
        words = info.split()
        self.lang = words[0] if words else ""
        self.terminal = next((int(w[9:]) for w in words if w.startswith("terminal=")), 0)
        self.text, self.number = "".join(f"{line}\n" for line in lines), number


def blocks_of(text):
    out, info, lines, begin = [], None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if info is None and line.startswith("```"):
            info, lines, begin = line[3:].strip(), [], number
        elif info is not None and line == "```":
            out.append(Block(info, lines, begin))
            info = None
        elif info is not None:
            lines.append(line)
    return out


def plain(text):
    """The lines of a text, without the parts that vary from run to run."""
    for pattern, word in VARIES:
        text = re.sub(pattern, word, text)
    return [" ".join(line.split()) for line in text.splitlines() if not SLOW.search(line)]


def matches(shown, seen):
    """Whether the lines that were seen fit those of the page, where `...` stands for any lines."""
    if not shown:
        return not seen
    if shown[0] == "...":
        return any(matches(shown[1:], seen[n:]) for n in range(len(seen) + 1))
    return bool(seen) and shown[0] == seen[0] and matches(shown[1:], seen[1:])


class Shell:
    """A bash in which one block after the other is typed."""

    def __init__(self, folder, scratch):
        self.scratch = scratch
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], cwd=folder, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, start_new_session=True)

    def type(self, text):
        """Types a block; returns (status, output)."""
        block, output, status = (self.scratch / name for name in ("block", "output", "status"))
        status.unlink(missing_ok=True)
        block.write_text(text)
        self.process.stdin.write(f". '{block}' </dev/null >'{output}' 2>&1\n"
                                 f"echo $? >'{status}.new'; mv '{status}.new' '{status}'\n")
        self.process.stdin.flush()
        wait_until(status.exists, what=f"the end of: {text}")
        return int(status.read_text()), output.read_text()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Terminal:
    """A terminal with a program in the foreground."""

    def __init__(self, folder, output):
        self.folder, self.output, self.process, self.at = folder, output, None, 0
        self.is_api = False

    def run(self, text):
        self.interrupt()
        self.is_api = text.startswith("./dev api")
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen(["bash", "-c", text], cwd=self.folder, stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL,
                                            start_new_session=True)

    def interrupt(self):
        """Types Ctrl-C, and waits for the end of the program."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal.SIGINT)
        code, self.process = self.process.wait(PATIENCE), None
        assert code == 0, f"ended with {code} after Ctrl-C:\n{self.text()}"

    def text(self):
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def finds(self, line, home):
        """Looks for the next line like this one, and goes on after it; False: the line has not come
        yet."""
        seen = plain(self.text().replace(home, HOME))
        for n in range(self.at, len(seen)):
            if seen[n] == line:
                self.at = n + 1
                return True
        return False

    def wait_line(self, line, home):
        try:
            wait_until(lambda: self.finds(line, home))
        except AssertionError:
            raise AssertionError(f"not seen: {line}\nin:\n{self.text()}") from None


class Tutorial:
    """A page, and a stand-in for a checkout in which its commands run."""

    def __init__(self, page, folder, build, write=False):
        self.page, self.build, self.write = page, build, write
        self.checkout, self.scratch = folder / "informerd", folder / "scratch"
        for made in (self.checkout / "build", self.scratch):
            made.mkdir(parents=True)
        (self.checkout / "build" / "dev").symlink_to(build)
        (self.checkout / "dev").write_text(SHIM.format(dir=ROOT, dev=ROOT / "dev"))
        (self.checkout / "dev").chmod(0o755)
        self.home = str(self.checkout)
        self.shell = Shell(self.checkout, self.scratch)
        self.terminals = {}
        self.typed = None

    def terminal(self, number):
        if number not in self.terminals:
            self.terminals[number] = Terminal(self.checkout, self.scratch / f"terminal{number}")
        return self.terminals[number]

    def follow(self):
        """Does all that the page says. Raises AssertionError if the page is wrong."""
        text = self.page.read_text()
        blocks = blocks_of(text)
        for block, after in zip(blocks, blocks[1:] + [None]):
            try:
                text = self.do(block, after, text)
            except AssertionError as error:
                raise AssertionError(f"{self.page.name}:{block.number}: {error}") from None
        for terminal in self.terminals.values():
            terminal.interrupt()
        if self.write:
            self.page.write_text(text)

    def do(self, block, after, text):
        """Does one block; returns the page's text, which has changed if `write` is set."""
        if block.lang == "sh" and block.terminal:
            self.terminal(block.terminal).run(block.text)
        elif block.lang == "sh" and is_output(after):
            return self.look(block, after, text)
        elif block.lang == "sh":
            with self.api_stands_still():
                status, output = self.shell.type(block.text)
            assert status == 0, f"status {status}: {output}"
        elif block.lang == "conf":
            self.check(block)
        elif block.terminal:
            for line in plain(block.text):
                self.terminal(block.terminal).wait_line(line, self.home)
        else:
            assert block.lang in ("text", "json"), f"a block of what? {block.lang!r}"
        return text

    @contextlib.contextmanager
    def api_stands_still(self):
        """Stops the API while a block runs, so that its changes reach informerd as one burst. The
        page shows one run for them, as readers see it unless their machine pauses between two
        lines."""
        api = [terminal.process.pid for terminal in self.terminals.values()
               if terminal.process is not None and terminal.is_api]
        for pid in api:
            os.killpg(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in api:
                os.killpg(pid, signal.SIGCONT)

    def look(self, block, after, text):
        wanted, seen = plain(after.text), []
        end = time.monotonic() + (3 if self.write else PATIENCE)
        while time.monotonic() < end:
            status, output = self.shell.type(block.text)
            output = output.replace(self.home, HOME)
            seen = plain(output)
            if status == 0 and matches(wanted, seen):
                return text
            if "--once" in block.text:
                break
        if self.write:
            return text.replace(f"```{after.lang}\n{after.text}```", f"```{after.lang}\n{output}```", 1)
        raise AssertionError(f"{block.text}showed (status {status}):\n{output}\nnot:\n{after.text}")

    def check(self, block):
        (self.scratch / "kubeconfig").write_text(json.dumps(KUBECONFIG))
        config = self.scratch / "check.conf"
        is_root = os.geteuid() == 0
        user = 'user = "root";' if is_root else ""
        config.write_text(CONF.format(folder=self.scratch) + user + block.text)
        done = subprocess.run([self.build / "informerd", "-c", config, "--check"], text=True,
                              capture_output=True, timeout=PATIENCE)
        problems = [line for line in done.stdout.splitlines() + done.stderr.splitlines()
                    if "No such file" not in line and (is_root or "as root" not in line)]
        assert not problems, "\n".join(problems)

    def close(self):
        for terminal in self.terminals.values():
            if terminal.process is not None:
                os.killpg(terminal.process.pid, signal.SIGKILL)
                terminal.process.wait()
        self.shell.close()


KUBECONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {"token": "t"}}]}


def is_output(block):
    return block is not None and block.lang in ("text", "json") and not block.terminal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--write", action="store_true", help="put what is seen into the page")
    parser.add_argument("page", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="informerd-tour-") as folder:
        tutorial = Tutorial(args.page, pathlib.Path(folder), args.build.resolve(), args.write)
        try:
            tutorial.follow()
        finally:
            tutorial.close()
            for number, terminal in sorted(tutorial.terminals.items()):
                print(f"--- terminal {number}\n{terminal.text().replace(tutorial.home, HOME)}")


if __name__ == "__main__":
    sys.exit(main())
