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
SERVER_NET = "192.0.2.{}"       # more addresses of the server's side
# Drops all packets from and to the addresses in the set "silent".
RULES = """
table inet cable {
    set silent { type ipv4_addr; }
    chain in { type filter hook input priority 0; ip daddr @silent drop; }
    chain out { type filter hook output priority 0; ip saddr @silent drop; }
}
"""


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
        self._has_rules = False

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

    def remove_address(self, name, address):
        """Takes an address away: nobody answers there any more, no ARP request either."""
        self._ip("-n", name, "addr", "del", address, "dev", "cable")

    def _nft(self, text):
        subprocess.run(["ip", "netns", "exec", self.server, "nft", "-f", "-"], input=text,
                       check=True, capture_output=True, text=True)

    def drop(self, address):
        """nftables drops all packets from and to this address of the server's side."""
        if not self._has_rules:
            self._nft(RULES)
            self._has_rules = True
        self._nft(f"add element inet cable silent {{ {address} }}")

    def pass_again(self, address):
        self._nft(f"delete element inet cable silent {{ {address} }}")

    def cut(self):
        """Drops all packets that the server's side sends, its answers too, without any error."""
        self._ip("-n", self.server, "route", "add", "blackhole", f"{CLIENT_IP}/32")

    def mend(self):
        self._ip("-n", self.server, "route", "del", "blackhole", f"{CLIENT_IP}/32")


def _thread_id():
    return ctypes.CDLL(None).gettid()
