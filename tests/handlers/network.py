# SPDX-License-Identifier: Apache-2.0
"""Network namespaces without names: nothing is mounted, and each ends with its last process."""
import contextlib
import ctypes
import os
import subprocess
import time

CLONE_NEWNET = 0x40000000


def _libc(call, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, call)(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def _mine():
    """A descriptor of this thread's namespace."""
    thread = ctypes.CDLL(None).gettid()
    return os.open(f"/proc/{os.getpid()}/task/{thread}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def missing():
    """The reason why there can be no namespaces; "" = there can be some."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    try:
        with Namespace():
            return ""
    except (OSError, subprocess.CalledProcessError) as refused:
        return f"no network namespaces here: {refused}"


class Namespace:
    """A network namespace of its own with lo up. `with namespace:` puts this thread into it, and
    the threads and processes that the thread starts meanwhile."""

    def __init__(self):
        home = _mine()
        try:
            _libc("unshare", CLONE_NEWNET)
            self.fd = _mine()
            self.ip("link", "set", "lo", "up")
        finally:
            _libc("setns", home, CLONE_NEWNET)
            os.close(home)

    def __enter__(self):
        self._before = _mine()
        _libc("setns", self.fd, CLONE_NEWNET)
        return self

    def __exit__(self, *_exc):
        _libc("setns", self._before, CLONE_NEWNET)
        os.close(self._before)
        self.close()

    def close(self):
        os.close(self.fd)

    @contextlib.contextmanager
    def inside(self):
        """As `with namespace:`, but any number of times; the namespace stays open."""
        before = _mine()
        _libc("setns", self.fd, CLONE_NEWNET)
        try:
            yield self
        finally:
            _libc("setns", before, CLONE_NEWNET)
            os.close(before)

    @staticmethod
    def ip(*args):
        """Runs ip(8) in this thread's namespace; returns its output."""
        return subprocess.run(["ip", *map(str, args)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def address(self, *addresses, device="lo"):
        """Adds addresses that programs can bind to at once: "10.1.0.5", "fd00::5", or with a prefix
        length."""
        for address in addresses:
            if "/" not in address:
                address += "/128" if ":" in address else "/32"
            more = ["nodad"] if ":" in address else []
            self.ip("addr", "add", address, "dev", device, *more)
            if ":" in address:
                self._wait_local(address.partition("/")[0])

    def _wait_local(self, address):
        """The kernel adds the route to an IPv6 address of its own a little later than the address:
        before that nobody can connect to it."""
        while not self.ip("-6", "route", "show", "table", "local", "to", address):
            time.sleep(0.002)

    def cable(self, other, here="cable", there="cable"):
        """Lays a cable to another namespace: a device here, one there, both up."""
        self.ip("link", "add", here, "type", "veth", "peer", "name", there,
                "netns", f"/proc/{os.getpid()}/fd/{other.fd}")
        self.ip("link", "set", here, "up")
        with other.inside():
            self.ip("link", "set", there, "up")
