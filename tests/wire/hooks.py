# SPDX-License-Identifier: Apache-2.0
"""A hook that records its input and environment, and whose exit codes and ends the test controls;
and programs that record nothing by themselves."""
import json
import os
import shlex

from control import PATIENCE, wait_until

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
[ -s "$d/exits" ] && read code <"$d/exits" && sed -i 1d "$d/exits"
: >"$f.end"
echo "end ${{f##*/}} $code" >>"$d/order"
exit $code
"""


def key_of_event(event):
    """The key of an event; for STALE and FRESH, the name of the source."""
    if event["name"] is None:
        return event["source"]
    return f"{event['namespace']}/{event['name']}" if event.get("namespace") else event["name"]


class Run:
    """One run of the hook: its environment, and the JSON from stdin."""

    def __init__(self, path):
        data = path.read_bytes()
        self.name, self.path = path.name, path
        environ, _, self.raw = data.rpartition(b"\0")
        pairs = [entry.partition(b"=") for entry in environ.split(b"\0") if entry]
        self.env = {k.decode(): v.decode() for k, _, v in pairs}
        self.input = json.loads(self.raw)

    @property
    def event(self):
        return self.input["event"]

    @property
    def key(self):
        return key_of_event(self.event)

    @property
    def what(self):
        """(type, key) of a run in mode object."""
        return self.event["type"], self.key

    @property
    def events(self):
        """The events of the run, in every mode."""
        for name in ("events", "changes"):
            if name in self.input:
                return self.input[name]
        return [self.input["event"]]

    @property
    def told(self):
        """[(type, key), ...] of the run's events, in every mode."""
        return [(event["type"], key_of_event(event)) for event in self.events]

    @property
    def snapshot(self):
        return self.input["snapshot"]

    @property
    def attempt(self):
        return self.input["attempt"]

    @property
    def reason(self):
        return self.input["reason"]

    @property
    def port(self):
        """The first port of the Service in the event of mode object."""
        return port_of(self.event)

    @property
    def pid(self):
        return int(self.name.rpartition(".")[2])

    @property
    def began(self):
        """When the run started, in seconds since 1970."""
        return self.path.stat().st_mtime

    @property
    def ended(self):
        return self.path.with_name(f"{self.name}.end").stat().st_mtime

    def __repr__(self):
        return f"<run {self.name} {self.input.get('event', self.input.get('changes'))}>"


def port_of(event):
    return event["object"]["spec"]["ports"][0]["port"]


class Program:
    """A shell script with a folder of its own, $d, for the files that it writes."""

    def __init__(self, folder, text, shell="/bin/sh"):
        self.folder = folder
        folder.mkdir(mode=0o755)
        self.path = folder / "program"
        self.path.write_text(f"#!{shell}\nd={shlex.quote(str(folder))}\n{text}\n")
        self.path.chmod(0o755)

    def text(self, name, timeout=PATIENCE):
        """Waits until the script has put a full line into this file of its folder."""
        file = self.folder / name
        return wait_until(lambda: file.exists() and file.read_text().endswith("\n")
                          and file.read_text(), timeout, f"{name} is written")

    def pid(self, name):
        return int(self.text(name).split()[0])


class Hook:
    """A recording hook: its script, and its folder as the test sees it."""

    def __init__(self, folder, extra=""):
        self.folder = folder
        folder.mkdir(mode=0o755)
        self.path = folder / "hook"
        self.path.write_text(SCRIPT.format(folder=shlex.quote(str(folder)), extra=extra))
        self.path.chmod(0o755)
        self._parsed = {}
        self._first = 0

    # Control of the runs

    def block(self, name=""):
        """Runs, or only those of the object `name`, do not end until release()."""
        self._knob("block", name).touch()

    def release(self, name=""):
        self._knob("block", name).unlink()

    def release_all(self):
        """Releases all blocked runs."""
        for knob in self.folder.glob("block*"):
            knob.unlink(missing_ok=True)

    def exit_with(self, code, name=""):
        """Runs from now on end with this code; 0 ends that."""
        knob = self._knob("exit", name)
        if code == 0:
            knob.unlink(missing_ok=True)
        else:
            new = knob.with_name(f"{knob.name}.new")
            new.write_text(f"{code}\n")
            os.replace(new, knob)

    def exits(self, *codes):
        """The next runs end with these codes, one after the other. For hooks without parallel
        runs."""
        new = self.folder / "exits.new"
        new.write_text("".join(f"{code}\n" for code in codes))
        os.replace(new, self.folder / "exits")

    def _knob(self, kind, name):
        return self.folder / (f"{kind}.{name}" if name else kind)

    # The records

    def order(self):
        """[("start", run name), ("end", run name, code), ...] in the order it happened."""
        try:
            lines = (self.folder / "order").read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [tuple(line.split()) for line in lines[self._first:] if line.endswith("\n")]

    def forget(self):
        """From now on only later runs count. To be called while the hook is idle."""
        self._first += len(self.order())

    def runs(self):
        out = []
        for entry in self.order():
            if entry[0] == "start":
                name = entry[1]
                if name not in self._parsed:
                    self._parsed[name] = Run(self.folder / name)
                out.append(self._parsed[name])
        return out

    def ended(self):
        return sum(entry[0] == "end" for entry in self.order())

    def told(self):
        """[[(type, key), ...], ...]: the events of each run."""
        return [run.told for run in self.runs()]

    def codes(self):
        """{run name: exit code} of the runs that ended by themselves."""
        return {entry[1]: int(entry[2]) for entry in self.order() if entry[0] == "end"}

    def most_at_once(self):
        """(the largest number of runs at a time, whether two of them were ever for one key)."""
        keys = {run.name: run.told[0][1] for run in self.runs()}
        active, most, twice = [], 0, False
        for step in self.order():
            if step[0] == "start":
                twice = twice or keys[step[1]] in active
                active.append(keys[step[1]])
                most = max(most, len(active))
            else:
                active.remove(keys[step[1]])
        return most, twice

    def of(self, key):
        """The runs of mode object for this key."""
        return [run for run in self.runs() if run.key == key]

    def what(self):
        """[(type, key), ...] of all runs in mode object."""
        return [run.what for run in self.runs()]

    def wait(self, count, timeout=PATIENCE):
        """Waits until so many runs have started, and returns all runs."""
        def enough():
            return sum(entry[0] == "start" for entry in self.order()) >= count
        try:
            wait_until(enough, timeout)
        except AssertionError:
            raise AssertionError(f"{count} runs wanted, got {self.runs()}") from None
        return self.runs()

    def wait_for(self, predicate, timeout=PATIENCE):
        """Waits for the first run that fits, and returns it."""
        def found():
            return [run for run in self.runs() if predicate(run)][:1]
        try:
            return wait_until(found, timeout)[0]
        except AssertionError:
            raise AssertionError(f"no such run in {self.runs()}") from None

    def wait_what(self, kind, key, timeout=PATIENCE):
        return self.wait_for(lambda run: run.what == (kind, key), timeout)
