# SPDX-License-Identifier: Apache-2.0
"""Hooks with an output file, and the folder that it is written to."""
from confwriter import merge
from control import wait_until
from harness import RETRY

SOON = {"settle": ["20ms", "100ms"]}
LATE = {"initial": "1h", "max": "1h"}
PORTS = {"fields": {"PORT": "spec.ports[0].port"},
         "shell": 'echo "port $INFORMERD_FIELD_PORT"'}
LIST = ("sed 's/.*\"snapshot\"://' | grep -o '\"port\":[0-9]*' | sort")  # of a snapshot's ports


class Place:
    """The folder that files are written to."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def __truediv__(self, name):
        return self.folder / name

    def files(self):
        """{path below the folder: text}; what is hidden is found, too: the new file of a run."""
        out = {}
        for path in sorted(self.folder.rglob("*")):
            try:
                if path.is_file():
                    out[str(path.relative_to(self.folder))] = path.read_text()
            except FileNotFoundError:   # it went meanwhile
                pass
        return out

    def wait(self, files):
        """Waits until there are these files and no others: while a run that fails is tried again,
        its new file comes and goes."""
        wait_until(lambda: self.files() == files, what=lambda: f"{files}, not {self.files()}")

    def folders(self):
        return sorted(str(path.relative_to(self.folder))
                      for path in self.folder.rglob("*") if path.is_dir())


def whole(place, **more):
    """A hook with one file of all ports."""
    base = {"sources": ["services"], "mode": "snapshot", "shell": LIST, "retry": RETRY, **SOON,
            "output": place / "all.cfg"}
    return merge(base, more)


def each(place, **more):
    """A hook with a file for each Service."""
    return {"sources": ["services"], "retry": RETRY, **PORTS,
            "output": place / "${namespace}/${name}.conf", **more}


def ends_late(d, code, done, early=()):
    """--once of d ends with this code when its timeout has come behind done(). How long that must
    be nobody knows: one that has come before, which is one of the codes `early`, is tried again."""
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
