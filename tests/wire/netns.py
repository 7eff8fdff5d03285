# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces for one test, with one cable between them, which can be cut and
have other faults."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess

CLONE_NEWNET = 0x40000000
CLIENT_IP, SERVER_IP = "192.0.2.1", "192.0.2.2"
SERVER_NET = "192.0.2.{}"       # more addresses of the server's side
NARROW_BYTES = 576              # larger packets are lost on a narrow path
# Each set holds the addresses of the server's side that have this fault. `tried` has the ports from
# which the client's side has tried to connect to each address.
RULES = f"""
table inet cable {{
    set deaf {{ type ipv4_addr; }}
    set mute {{ type ipv4_addr; }}
    set refusing {{ type ipv4_addr; }}
    set unreachable {{ type ipv4_addr; }}
    set narrow {{ type ipv4_addr; }}
    set tried {{ type ipv4_addr . inet_service; flags dynamic; size 65535; }}
    chain in {{
        type filter hook input priority 0;
        tcp flags & (fin|syn|rst|ack) == syn add @tried {{ ip daddr . tcp sport }}
        ip daddr @deaf drop
        ip daddr @refusing reject with tcp reset
        ip daddr @unreachable reject with icmp type host-unreachable
        ip daddr @narrow meta length > {NARROW_BYTES} drop
    }}
    chain out {{
        type filter hook output priority 0;
        ip saddr @mute drop
        ip saddr @narrow meta length > {NARROW_BYTES} drop
    }}
}}
"""
# The sets of each fault: all packets are lost, only those to the server, only those from it; packets
# to it are answered by RST or by ICMP; those of full size are lost, and no ICMP says so.
FAULTS = {"drop": ("deaf", "mute"), "requests lost": ("deaf",), "answers lost": ("mute",),
          "reset": ("refusing",), "unreachable": ("unreachable",), "narrow": ("narrow",)}


def missing():
    """The reason why there can be no namespaces; "" = there can be some."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    if shutil.which("ip") is None:
        return "needs ip(8) of iproute2"
    if shutil.which("nft") is None:
        return "needs nft(8) of nftables"
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

    def _nft(self, *args, text=None):
        return subprocess.run(["ip", "netns", "exec", self.server, "nft", *args], input=text,
                              check=True, capture_output=True, text=True).stdout

    def lay_rules(self):
        """Loads the rules, which count the connections that are tried from then on."""
        if not self._has_rules:
            self._nft("-f", "-", text=RULES)
            self._has_rules = True

    def _change(self, verb, fault, address):
        self.lay_rules()
        self._nft("-f", "-", text="".join(f"{verb} element inet cable {name} {{ {address} }}\n"
                                          for name in FAULTS[fault]))

    def begin(self, fault, address):
        """From now on this address of the server's side has a fault of FAULTS."""
        self._change("add", fault, address)

    def end(self, fault, address):
        self._change("delete", fault, address)

    def tried(self, address):
        """The ports from which the client's side has tried to connect to this address."""
        [found] = [entry["set"] for entry in json.loads(
            self._nft("-j", "list", "set", "inet", "cable", "tried"))["nftables"] if "set" in entry]
        return {port for to, port in (element["concat"] for element in found.get("elem", []))
                if to == address}

    def set_mtu(self, size):
        """The cable carries packets of this size at most, and both ends know it."""
        for name in (self.client, self.server):
            self._ip("-n", name, "link", "set", "cable", "mtu", str(size))

    def cut(self):
        """Drops all packets that the server's side sends, its answers too, without any error."""
        self._ip("-n", self.server, "route", "add", "blackhole", f"{CLIENT_IP}/32")

    def mend(self):
        self._ip("-n", self.server, "route", "del", "blackhole", f"{CLIENT_IP}/32")


def _thread_id():
    return ctypes.CDLL(None).gettid()
