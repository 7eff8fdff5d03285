# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces for one test, with one cable between them, which can be cut."""
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess

CLONE_NEWNET = 0x40000000
CLIENT_IP, SERVER_IP = "192.0.2.1", "192.0.2.2"


def missing():
    """The reason why there can be no namespaces; "" = there can be some."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    if shutil.which("ip") is None:
        return "needs ip(8) of iproute2"
    try:
        with Cable():
            return ""
    except subprocess.CalledProcessError as refused:
        return f"no network namespaces here: {refused.stderr.strip()}"


def _enter(fd):
    if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Cable:
    """with Cable() as cable: CLIENT_IP in one namespace, SERVER_IP in the other."""

    def __init__(self):
        self.client, self.server = (f"ifd-{os.getpid()}-{end}" for end in ("client", "server"))

    def __enter__(self):
        try:
            self._lay()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc):
        for name in (self.client, self.server):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    @staticmethod
    def _ip(*args):
        subprocess.run(["ip", *args], check=True, capture_output=True, text=True)

    def _lay(self):
        for name in (self.client, self.server):
            self._ip("netns", "add", name)
            self._ip("-n", name, "link", "set", "lo", "up")
        self._ip("-n", self.client, "link", "add", "cable", "type", "veth",
                 "peer", "name", "cable", "netns", self.server)
        for name, address in ((self.client, CLIENT_IP), (self.server, SERVER_IP)):
            self._ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            self._ip("-n", name, "link", "set", "cable", "up")

    @contextlib.contextmanager
    def inside(self, name):
        """Until the end of the block, sockets and processes that this thread starts are in that
        namespace."""
        home = os.open(f"/proc/{os.getpid()}/task/{_thread_id()}/ns/net", os.O_RDONLY)
        there = os.open(pathlib.Path("/run/netns", name), os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(home)
            os.close(home)
            os.close(there)

    def add_address(self, name, address, *more):
        """Gives one more address (with its prefix length) to the end of the cable in a
        namespace."""
        self._ip("-n", name, "addr", "add", address, "dev", "cable", *more)

    def cut(self):
        """Drops all packets that the server's side sends, its answers too, without any error."""
        self._ip("-n", self.server, "route", "add", "blackhole", f"{CLIENT_IP}/32")

    def mend(self):
        self._ip("-n", self.server, "route", "del", "blackhole", f"{CLIENT_IP}/32")


def _thread_id():
    return ctypes.CDLL(None).gettid()
