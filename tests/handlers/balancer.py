# SPDX-License-Identifier: Apache-2.0
"""A real HAProxy in master-worker mode, as Debian's unit starts it, and the objects that it
follows."""
import pathlib
import shutil
import socket
import tempfile

import proctree
from control import PATIENCE, wait_until
from fakeapi import endpointslice, service

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"
BASE = """global
    stats socket {admin} mode 600 level admin
defaults
    mode http
    timeout connect 5m
    timeout client 5m
    timeout server 5m
"""


def web(addresses, key="shop/web", port=8080, labels=None, **spec):
    """A Service with node port 30080 and one slice with these endpoints."""
    made = service(key, labels=labels, type="NodePort", **spec)
    made["spec"]["ports"][0].update(name="http", nodePort=30080, appProtocol="http")
    return made, ends(addresses, key, port, labels)


def ends(addresses, key="shop/web", port=8080, labels=None, suffix="1", **more):
    """The slice of web()'s Service, without the Service."""
    made = endpointslice(f"{key}-{suffix}", key.rpartition("/")[2], addresses, port=port,
                         labels=labels, **more)
    made["addressType"] = "IPv6" if addresses and ":" in addresses[0] else "IPv4"
    return made


def ask(path, line):
    """HAProxy's answer on this socket."""
    with socket.socket(socket.AF_UNIX) as conn:
        conn.settimeout(PATIENCE)
        conn.connect(str(path))
        conn.sendall(line.encode() + b"\n")
        return b"".join(iter(lambda: conn.recv(65536), b"")).decode()


class Balancer:
    """One HAProxy. Its haproxy.cfg is BASE and `text`; HAProxy reads the further files after it."""

    def __init__(self, real, folder, text="", *files):
        self.real, self.short = real, pathlib.Path(tempfile.mkdtemp(prefix="hap-"))
        self.admin, self.master = self.short / "admin.sock", self.short / "master.sock"
        self.config, self.files = folder / "haproxy.cfg", files
        self.config.write_text(BASE.format(admin=self.admin) + text)
        self.program = None

    def start(self):
        """Starts HAProxy, and waits until it answers."""
        argv = ["haproxy", "-W", "-S", self.master, "-f", self.config]
        for file in self.files:
            argv += ["-f", file]
        self.program = self.real.start(*argv, ready=self.alive)
        return self

    def stop(self):
        self.program.kill()
        for path in (self.admin, self.master):
            path.unlink(missing_ok=True)

    def finish(self):
        """Kills HAProxy. To be called when no hook can send it a reload any more: from then on
        another process may get its pid."""
        if self.program is not None:
            self.program.kill()
        shutil.rmtree(self.short)

    def ask(self, line):
        return ask(self.admin, line)

    def alive(self):
        return "Version" in self.ask("show info")

    def servers(self, backend):
        """{name: True if it gets new requests} of the servers of a backend, from HAProxy."""
        rows = [line.split() for line in self.ask("show servers state").splitlines()[2:] if line]
        return {row[3]: row[6] == "0" for row in rows if row[1] == backend}

    def wait_servers(self, backend, *names, timeout=PATIENCE):
        """Waits until exactly these servers get new requests."""
        def fits():
            try:
                now = self.servers(backend)
            except OSError:     # a reload is under way, between two workers
                return False
            return {name for name, on in now.items() if on} == set(names)
        wait_until(fits, timeout, lambda: f"{backend} has {self.servers(backend)}, wanted {names}")

    def wait_deleted(self, daemon, backend, *names):
        """Runs the handler of the runtime API until the backend has these servers and no others.
        The handler can only delete an unused server when that has no connections."""
        def fits():
            done = daemon.ctl("run", "haproxy_runtime", "--wait")
            assert done.returncode == 0, done.stdout + done.stderr
            return set(self.servers(backend)) == set(names)
        wait_until(fits, what=lambda: f"{backend} has just {names}, not {self.servers(backend)}")

    def workers(self):
        """The pids of all workers, including those of older configurations."""
        return {pid for pid in proctree.children(self.program.pid) if proctree.exists(pid)}

    def reloads(self):
        """The number of configurations that this process has loaded."""
        return self.program.log().count("New worker (")
