# SPDX-License-Identifier: Apache-2.0
"""The file that a daemon with the library of shim.c shares with the test: rules, clocks, places."""
import contextlib
import ctypes
import errno
import functools
import mmap
import pathlib
import stat
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "wire"))

from harness import BUILD, INFORMERD  # noqa: E402

LIBRARY = BUILD / "tests" / "libfault_shim.so"
HANG, SHORT, KILL = -1, -2, -3
ROLES = {"S": "start", "M": "main", "H": "helper", "C": "child"}
INFORMERD_MODULE = 1


class _Rule(ctypes.Structure):
    _fields_ = [("on", ctypes.c_uint32), ("role", ctypes.c_uint32), ("call", ctypes.c_char * 16),
                ("path", ctypes.c_char * 96), ("site", ctypes.c_uint64), ("first", ctypes.c_uint32),
                ("times", ctypes.c_uint32), ("error", ctypes.c_int32), ("seen", ctypes.c_uint32),
                ("done", ctypes.c_uint32)]


class _Place(ctypes.Structure):
    _fields_ = [("key", ctypes.c_uint64), ("call", ctypes.c_char * 16), ("caller", ctypes.c_uint64),
                ("inner", ctypes.c_uint64), ("role", ctypes.c_uint32), ("kind", ctypes.c_uint32),
                ("count", ctypes.c_uint64)]


class _Shared(ctypes.Structure):
    _fields_ = [("realtime_ns", ctypes.c_int64), ("boottime_ns", ctypes.c_int64),
                ("calls", ctypes.c_uint64), ("rules", _Rule * 8), ("places", _Place * 4096)]


@functools.lru_cache(None)
def source_of(offset):
    """("function", "io/conn.c") of an address in informerd; for a library ("", "libNNN")."""
    module, offset = offset >> 56, offset & ((1 << 56) - 1)
    if module != INFORMERD_MODULE:
        return "", f"lib{module:02x}+{offset:x}"
    done = subprocess.run(["addr2line", "-f", "-s", "-e", INFORMERD, hex(offset - 1)],
                          capture_output=True, text=True, check=True)
    function, where = done.stdout.split("\n")[:2]
    done = subprocess.run(["addr2line", "-e", INFORMERD, hex(offset - 1)], capture_output=True, text=True,
                          check=True)
    where = done.stdout.split(" ")[0].strip()
    path, _, line = where.rpartition(":")
    return function, f"{path.rpartition('/daemon/')[2]}:{line}"


class Place:
    """A place at which the daemon makes a system call."""

    def __init__(self, raw):
        self.key, self.call, self.count = raw.key, raw.call.decode(), raw.count
        self.role = chr(raw.role)
        self.kind = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "pipe", stat.S_IFREG: "file",
                     stat.S_IFDIR: "folder"}.get(raw.kind, "")
        self._inner, self._caller = raw.inner, raw.caller

    @functools.cached_property
    def name(self):
        """main read@io/conn.c:120 on_readable [lib05+1234]: the same in each run of one build."""
        function, where = source_of(self._inner) if self._inner else ("", "no frame of informerd")
        below = "" if self._caller == self._inner else f" [{source_of(self._caller)[1]}]"
        return f"{ROLES[self.role]} {self.call}@{where} {function}{below}"

    @property
    def file(self):
        return source_of(self._inner)[1].rpartition(":")[0] if self._inner else ""


class Rule:
    """A rule in the file; after over() it does nothing any more."""

    def __init__(self, raw):
        self._raw = raw

    @property
    def done(self):
        """How many faults were injected."""
        return self._raw.done

    def over(self):
        """Hanging calls go on."""
        self._raw.on = 0


class Shim:
    """One file; environ is for the daemon."""

    def __init__(self, path):
        path.write_bytes(bytes(ctypes.sizeof(_Shared)))
        path.chmod(0o666)
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), ctypes.sizeof(_Shared))
        self._shared = _Shared.from_buffer(self._map)
        self.environ = {"LD_PRELOAD": str(LIBRARY), "FAULTS_FILE": str(path)}

    def fail(self, call="", error=errno.EIO, role="", path="", site=0, first=1, times=0):
        """Has these calls fail: each that fits, or so many from the first-th on. Returns the Rule."""
        raw = next(raw for raw in self._shared.rules if not raw.on)
        ctypes.memset(ctypes.addressof(raw), 0, ctypes.sizeof(raw))
        raw.call, raw.path, raw.site = call.encode(), str(path).encode(), site
        raw.role, raw.first, raw.times, raw.error = ord(role or "\0"), first, times, error
        raw.on = 1
        return Rule(raw)

    @contextlib.contextmanager
    def failing(self, *args, **more):
        rule = self.fail(*args, **more)
        try:
            yield rule
        finally:
            rule.over()

    def jump(self, realtime_s=0, boottime_s=0):
        """Shifts the clocks of the daemon."""
        self._shared.realtime_ns += int(realtime_s * 1e9)
        self._shared.boottime_ns += int(boottime_s * 1e9)

    def places(self):
        return [Place(raw) for raw in self._shared.places if raw.key]
