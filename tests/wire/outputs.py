# SPDX-License-Identifier: Apache-2.0
"""Hooks with an output file, and the folder of that file."""
from confwriter import merge
from control import wait_until
from harness import RETRY

SOON = {"settle": ["20ms", "100ms"]}
PORTS = {"fields": {"PORT": "spec.ports[0].port"},
         "shell": 'echo "port $INFORMERD_FIELD_PORT"'}
LIST = ("sed 's/.*\"snapshot\"://' | grep -o '\"port\":[0-9]*' | sort")  # the ports of a snapshot


class Place:
    """The folder of the output files."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __truediv__(self, name):
        return self.folder / name

    def files(self):
        """{path below the folder: text} of all files, also of the hidden temporary file of a
        run."""
        out = {}
        for path in sorted(self.folder.rglob("*")):
            try:
                if path.is_file():
                    out[str(path.relative_to(self.folder))] = path.read_text()
            except FileNotFoundError:   # it was removed meanwhile
                pass
        return out

    def wait(self, files):
        """Waits until there are these files and no others. The temporary file of a run that is
        tried again may come and go meanwhile."""
        wait_until(lambda: self.files() == files, what=lambda: f"{files}, not {self.files()}")

    def folders(self):
        return sorted(str(path.relative_to(self.folder))
                      for path in self.folder.rglob("*") if path.is_dir())


def whole(place, **more):
    """The settings of a hook with one file that lists all ports."""
    base = {"sources": ["services"], "mode": "snapshot", "shell": LIST, "retry": RETRY, **SOON,
            "output": place / "all.cfg"}
    return merge(base, more)


def each(place, **more):
    """The settings of a hook with a file for each Service."""
    return {"sources": ["services"], "retry": RETRY, **PORTS,
            "output": place / "${namespace}/${name}.conf", **more}


def ends_late(d, code, done, early=()):
    """Checks that --once ends with this exit code when its timeout comes after done() has become
    true. How long a timeout that takes depends on the machine: if a timeout comes earlier, the exit
    code is this one or one of `early`, and a longer timeout is tried."""
    for timeout_ms in [250 * 4 ** n for n in range(8)]:
        got = d.to_the_end("--once", "--timeout", f"{timeout_ms}ms")
        if done():
            assert got == code, f"{got} after {timeout_ms} ms"
            return
        assert got in (code, *early), f"{got} after {timeout_ms} ms"
    raise AssertionError("it never came so far")


def identity(path):
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns


def starts(hook):
    return len([step for step in hook.order() if step[0] == "start"])


def port(number):
    return f"port {number}\n"
