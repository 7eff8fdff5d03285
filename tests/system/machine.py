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

from control import PATIENCE, Control, wait_until
from proctree import children

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFORMERD_BUILD", ROOT / "build" / "release")).resolve()
BASE = pathlib.Path(os.environ.get("INFORMERD_SYSTEM_ROOT", ROOT / "build" / "system-root"))
MIRROR = [os.environ["INFORMERD_MIRROR"]] if "INFORMERD_MIRROR" in os.environ else []
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def release():
    """The codename of this machine's Debian release: the binary runs on no other release."""
    text = pathlib.Path("/etc/os-release").read_text()
    return re.search(r"^VERSION_CODENAME=(\w+)", text, re.M).group(1)


def make_base():
    """Makes a Debian root with systemd, once. No test writes into it."""
    if (BASE / ".informerd-system").exists():
        return
    new = BASE.with_name(f"{BASE.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork",
                    "--kill-child", "debootstrap", "--variant=minbase",
                    "--include=systemd-sysv,dbus,procps", release(), new, *MIRROR], check=True,
                   stdout=subprocess.DEVNULL)
    (new / ".informerd-system").touch()
    new.rename(BASE)


def install(build=BUILD):
    """Installs the build into the base, with the libraries that the base does not have."""
    shutil.rmtree(BASE / "etc" / "informerd", ignore_errors=True)
    subprocess.run(["cmake", "--install", build, "--prefix", "/usr"], check=True,
                   env={**os.environ, "DESTDIR": str(BASE)}, stdout=subprocess.DEVNULL)
    for program in ("sbin/informerd", "bin/informerctl"):
        listed = subprocess.run(["ldd", BASE / "usr" / program], check=True, text=True,
                                capture_output=True).stdout
        for library in re.findall(r"=> (/\S+)", listed):
            if not (BASE / library[1:]).exists():
                shutil.copy(library, BASE / library[1:])


class Machine:
    """The container, which shares the network with the tests and nothing else."""

    def __init__(self, log):
        self.log_file = log
        with open(log, "ab") as out:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--directory", BASE, "--boot", "--volatile=overlay",
                 "--machine=informerd-test", "--register=no", "--console=pipe",
                 "--link-journal=no", "--resolv-conf=off", "--timezone=off",
                 *([] if os.path.isdir("/run/systemd/system") else ["--keep-unit"])],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            self.pid = wait_until(self._leader, what=f"the container starts: see {log}")
            self.root = pathlib.Path(f"/proc/{self.pid}/root")
            wait_until(lambda: self.run("systemctl", "is-system-running").stdout.strip()
                       in ("running", "degraded"), what=f"systemd is up: see {log}")
        except BaseException:
            self.stop()
            raise

    def _leader(self):
        assert self.nspawn.poll() is None, self.log_file.read_text()
        for pid in children(self.nspawn.pid):
            if b"systemd" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                if os.path.exists(f"/proc/{pid}/root/run/systemd/private"):
                    return pid
        return None

    def stop(self):
        """Ends the container: nspawn kills its processes, and the overlay file system is gone."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self.nspawn.poll() is not None:
                return
            self.nspawn.send_signal(number)
            try:
                self.nspawn.wait(15)
            except subprocess.TimeoutExpired:
                pass

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


def status(pid):
    """/proc/PID/status as a dict."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
