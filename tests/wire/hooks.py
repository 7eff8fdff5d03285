# SPDX-License-Identifier: Apache-2.0
"""A hook that records its input and environment, with knobs: exit codes, blocking."""
import json
import os
import shlex

from control import wait_until

SCRIPT = """#!/bin/sh
d={folder}
f="$d/run.$INFORMERD_RUN.$INFORMERD_ATTEMPT.$$"
cat /proc/$$/environ - >"$f.tmp" && mv "$f.tmp" "$f"
echo "start ${{f##*/}}" >>"$d/order"
{extra}
while [ -e "$d/block" ] || [ -e "$d/block.$INFORMERD_NAME" ]; do sleep 0.02; done
code=0
[ -e "$d/exit" ] && read code <"$d/exit"
[ -e "$d/exit.$INFORMERD_NAME" ] && read code <"$d/exit.$INFORMERD_NAME"
echo "end ${{f##*/}} $code" >>"$d/order"
exit $code
"""


class Run:
    """One start of the hook: env and the JSON from stdin."""

    def __init__(self, name, data):
        self.name = name
        environ, _, self.raw = data.rpartition(b"\0")
        pairs = [entry.partition(b"=") for entry in environ.split(b"\0") if entry]
        self.env = {k.decode(): v.decode() for k, _, v in pairs}
        self.input = json.loads(self.raw)

    @property
    def event(self):
        return self.input["event"]

    @property
    def key(self):
        namespace, name = self.event.get("namespace"), self.event["name"]
        return f"{namespace}/{name}" if namespace else name

    @property
    def what(self):
        """(type, key) of an object-mode run."""
        return self.event["type"], self.key

    @property
    def snapshot(self):
        return self.input["snapshot"]

    def __repr__(self):
        return f"<run {self.name} {self.input.get('event', self.input.get('changes'))}>"


class Hook:
    """The script's folder, seen from the test."""

    def __init__(self, folder, extra=""):
        self.folder = folder
        folder.mkdir(mode=0o755)
        self.path = folder / "hook"
        self.path.write_text(SCRIPT.format(folder=shlex.quote(str(folder)), extra=extra))
        self.path.chmod(0o755)
        self._parsed = {}

    # Knobs

    def block(self, name=""):
        """Runs (of the object `name`) do not end until release()."""
        self._knob("block", name).touch()

    def release(self, name=""):
        self._knob("block", name).unlink()

    def exit_with(self, code, name=""):
        """Runs from now on end with this code; 0 takes the knob away."""
        knob = self._knob("exit", name)
        if code == 0:
            knob.unlink(missing_ok=True)
        else:
            new = knob.with_name(f"{knob.name}.new")
            new.write_text(f"{code}\n")
            os.replace(new, knob)

    def _knob(self, kind, name):
        return self.folder / (f"{kind}.{name}" if name else kind)

    # What it recorded

    def order(self):
        """[("start", run name), ("end", run name, code), ...] in the order it happened."""
        try:
            lines = (self.folder / "order").read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [tuple(line.split()) for line in lines if line.endswith("\n")]

    def runs(self):
        out = []
        for entry in self.order():
            if entry[0] == "start":
                name = entry[1]
                if name not in self._parsed:
                    self._parsed[name] = Run(name, (self.folder / name).read_bytes())
                out.append(self._parsed[name])
        return out

    def ended(self):
        return sum(entry[0] == "end" for entry in self.order())

    def what(self):
        """[(type, key), ...] of all runs in object mode."""
        return [run.what for run in self.runs()]

    def wait(self, count, timeout=15):
        """Waits for this many starts, and returns all runs."""
        def enough():
            return sum(entry[0] == "start" for entry in self.order()) >= count
        try:
            wait_until(enough, timeout)
        except AssertionError:
            raise AssertionError(f"{count} runs wanted, got {self.runs()}") from None
        return self.runs()

    def wait_for(self, predicate, timeout=15):
        """The first run that fits; waits for it."""
        def found():
            return [run for run in self.runs() if predicate(run)][:1]
        try:
            return wait_until(found, timeout, interval=0.01)[0]
        except AssertionError:
            raise AssertionError(f"no such run in {self.runs()}") from None

    def wait_what(self, kind, key, timeout=15):
        return self.wait_for(lambda run: run.what == (kind, key), timeout)
