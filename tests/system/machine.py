# SPDX-License-Identifier: Apache-2.0
"""A small Debian with a real systemd in a container; changes by the tests vanish with the
container."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import proctree
from control import PATIENCE, Control, wait_until
from proctree import children, status

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGE = "/var/tmp/package.deb"    # inside
PROGRAMS = ["bird2", "haproxy", "jq", "nftables", "nginx-light", "openssl", "socat"]
SERVICES = ["bird", "haproxy", "nginx"]     # each test starts what it needs
# Lives as long as its standard input is open: then nothing holds the mounts any more.
HOLD = """
set -e
mount -t tmpfs -o mode=0755 none "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" none "$2/root"
echo mounted
exec cat
"""


def suite():
    """The codename of the Debian release that is booted: by default that of this machine."""
    text = pathlib.Path("/etc/os-release").read_text()
    return os.environ.get("INFORMERD_SUITE") or re.search(r"^VERSION_CODENAME=(\w+)", text, re.M)[1]


def package():
    """The package that is tested."""
    named = os.environ.get("INFORMERD_PACKAGE")
    found = [pathlib.Path(named)] if named else sorted(
        (ROOT / "build" / "package").glob("informerd_*.deb"))
    assert len(found) == 1 and found[0].exists(), f"one package is needed, found {found}"
    return found[0].resolve()


def repackaged(deb, folder, version, change=lambda tree: None):
    """The package under another version (\\1 is its own), after change(its files); returns its path in the
    folder."""
    tree, made = folder / "tree", folder / "repackaged.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", deb, tree], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: (.*)", f"Version: {version}", control.read_text(), flags=re.M))
    change(tree)
    subprocess.run(["dpkg-deb", "--build", tree, made], check=True, stdout=subprocess.DEVNULL)
    return made


def dependencies(deb):
    """The names of the packages that the package needs."""
    listed = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, text=True,
                            capture_output=True).stdout
    return [re.match(r"[\w.+-]+", one.strip())[0] for one in listed.split(",")]


def wanted(deb):
    """The packages of the root: systemd, what the package needs, and in the long form the programs that
    the examples are for."""
    names = ["systemd-sysv", "dbus", "procps", *dependencies(deb)]
    return names + PROGRAMS if os.environ.get("INFORMERD_LONG") else names


def make_base(deb):
    """Makes a Debian root with these packages, or takes the one that has them; returns its path. No test
    writes into it."""
    base = pathlib.Path(os.environ.get("INFORMERD_SYSTEM_ROOT",
                                       ROOT / "build" / f"system-root-{suite()}"))
    mirror = os.environ.get("INFORMERD_MIRROR", "")
    names = wanted(deb)
    made = base / ".informerd-system"
    if made.exists() and set(made.read_text().split()) >= set(names):
        return base
    new = base.with_name(f"{base.name}.new")
    for old in (base, new):
        shutil.rmtree(old, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                    "--kill-child", "mmdebstrap", "--quiet", "--variant=minbase",
                    "--dpkgopt=force-unsafe-io", f"--include={','.join(names)}",
                    suite(), new, *([mirror] if mirror else [])], check=True)
    for name in SERVICES:
        if (new / f"usr/lib/systemd/system/{name}.service").exists():
            subprocess.run(["chroot", new, "systemctl", "--quiet", "disable", name], check=True)
    (new / ".informerd-system").write_text(" ".join(names))
    new.rename(base)
    return base


class Machine:
    """The container, which shares the network with the tests and nothing else. Its changed files lie in
    memory, survive a reboot, and are gone when the test run ends, however it ends."""

    def __init__(self, base, folder):
        self.log_file = folder / "console.log"
        self.top = folder / "disk"
        self.top.mkdir()
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", HOLD, "hold", base,
             self.top], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "mounted\n"
        self.nspawn = None
        self.boot()

    def boot(self, network=True):
        """Boots it, and waits until systemd has started everything."""
        with open(self.log_file, "ab") as out:
            self.nspawn = subprocess.Popen(
                ["nsenter", "-t", str(self.holder.pid), "-m", "systemd-nspawn", "--quiet",
                 "--directory", self.top / "root", "--boot",
                 "--machine=informerd-test", "--register=no", "--console=pipe",
                 "--link-journal=no", "--resolv-conf=off", "--timezone=off",
                 "--capability=CAP_NET_ADMIN",      # in the network of the tests
                 *([] if network else ["--private-network"]),
                 *([] if os.path.isdir("/run/systemd/system") else ["--keep-unit"]),
                 # only for a systemd of Debian 13 on a machine with cgroup 1
                 "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            self.pid = wait_until(self._leader, what=f"the container starts: see {self.log_file}")
            self.root = pathlib.Path(f"/proc/{self.pid}/root")
            wait_until(lambda: self.run("systemctl", "is-system-running").stdout.strip()
                       in ("running", "degraded"), what=f"systemd is up: see {self.log_file}")
        except BaseException:
            self.stop()
            raise

    def shut_down(self):
        """As a person does it: every service is stopped."""
        self.run("systemctl", "poweroff")
        self.nspawn.wait(PATIENCE)

    def install(self, deb, *options):
        """As an administrator does it; returns the output of apt-get."""
        shutil.copy(deb, self.path(PACKAGE))
        return self.check("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "--reinstall",
                          "--no-install-recommends", *options, "install", PACKAGE, timeout=PATIENCE)

    def version(self):
        """The version of informerd that is installed."""
        return self.check("dpkg-query", "-W", "-f", "${Version}", "informerd")

    def _leader(self):
        assert self.nspawn.poll() is None, self.log_file.read_text()
        for pid in children(self.nspawn.pid):
            if "systemd" in proctree.command(pid):     # nspawn has other children, too, while it starts
                if os.path.exists(f"/proc/{pid}/root/run/systemd/private"):
                    return pid
        return None

    def stop(self):
        """Ends the container: nspawn kills its processes, and the overlay file system is gone."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self.nspawn.poll() is not None:
                break
            self.nspawn.send_signal(number)
            try:
                self.nspawn.wait(15)
            except subprocess.TimeoutExpired:
                pass
        self.holder.communicate()

    # Inside

    def run(self, *command, user=None, groups=(), timeout=60, **more):
        """Runs a command inside, as root or as `user`; CompletedProcess with text."""
        become = []
        if user is not None:
            extra = ["--groups", ",".join(groups)] if groups else ["--clear-groups"]
            become = ["setpriv", "--reuid", user, "--regid", user, *extra]
        return subprocess.run(
            ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-p", "-r", "-w", "env", "-i",
             f"PATH={PATH}", "LC_ALL=C.UTF-8", *become, *map(str, command)], text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, **more)

    def check(self, *command, **more):
        done = self.run(*command, **more)
        assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def path(self, inside):
        """The path, outside of the container, of a file inside, to read and write."""
        return self.root / str(inside).lstrip("/")

    def write(self, inside, text, mode=0o644):
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def read(self, inside):
        try:
            return self.path(inside).read_text()
        except FileNotFoundError:
            return ""

    def id(self, *args):
        return int(self.check("id", *args))


class Unit:
    """informerd.service of a machine."""

    def __init__(self, machine, name="informerd.service"):
        self.machine, self.name = machine, name
        self.control = Control(machine.path("/run/informerd/control.sock"))
        self.since = machine.check("date", "+%s.%N").strip()

    def start(self, wait=True):
        return self.machine.run("systemctl", "start", *([] if wait else ["--no-block"]), self.name)

    def reload(self):
        return self.machine.run("systemctl", "reload", self.name)

    def stop(self):
        return self.machine.run("systemctl", "stop", self.name)

    def show(self, field):
        return self.machine.check("systemctl", "show", "-P", field, self.name).strip()

    def state(self):
        return self.show("ActiveState"), self.show("SubState")

    @property
    def main(self):
        """The pid of the main process, as the tests see it."""
        return self._outside(int(self.show("MainPID")))

    @property
    def helper(self):
        return wait_until(lambda: sorted(children(self.main)), what="a helper")[0]

    def main_filters(self):
        """How many filters of system calls main has more than the helper: 1 for its sandbox."""
        main, helper = (int(status(pid)["Seccomp_filters"]) for pid in (self.main, self.helper))
        return main - helper

    def _outside(self, inner):
        """The pid, outside of the container, of the process that has pid `inner` inside."""
        todo, seen = [self.machine.pid], set()
        while todo:
            pid = todo.pop()
            seen.add(pid)
            todo += children(pid) - seen
            if inner != 0 and status(pid).get("NSpid", "").split()[-1:] == [str(inner)]:
                return pid
        return 0

    def journal(self):
        """The lines of this unit since this object was made, as dicts of journald."""
        text = self.machine.check("journalctl", "-q", "-o", "json", "--no-pager", "-u", self.name,
                                  "--since", f"@{self.since}")
        return [json.loads(line) for line in text.splitlines()]

    def messages(self):
        return [str(line.get("MESSAGE")) for line in self.journal()]

    def wait_message(self, *words, timeout=PATIENCE):
        def found():
            return [line for line in self.journal()
                    if all(word in str(line.get("MESSAGE")) for word in words)]
        try:
            return wait_until(found, timeout, interval=0.05)[0]
        except AssertionError:
            raise AssertionError(f"no line with {words} in {self.messages()[-20:]}") from None
