# SPDX-License-Identifier: Apache-2.0
"""Starts the real daemon with a configuration of its own, and observes it from outside."""
import copy
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from datetime import datetime

import confwriter
import proctree
from control import PATIENCE, Control, Follower, wait_until
from hooks import Hook, Program

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("INFORMERD_BUILD", ROOT / "build" / "dev")).resolve()
INFORMERD, INFORMERCTL = BUILD / "informerd", BUILD / "informerctl"
UNDER = shlex.split(os.environ.get("INFORMERD_UNDER", ""))     # what runs informerd: valgrind and its options
SERVICES = {"services": {"resource": "services", "namespaces": ["*"]}}
TWO = {**SERVICES,
       "slices": {"resource": "endpointslices.v1.discovery.k8s.io", "namespaces": ["*"]}}
NOBODY = 65534                              # the ids of user nobody and of its group
# For timeouts that no slow test may run into: a test of a timeout sets it itself.
NEVER = "1h"
TUNING = {"connect_timeout": NEVER, "tls_timeout": NEVER, "response_timeout": NEVER,
          "list_idle_timeout": NEVER,
          "backoff": {"initial": "20ms", "factor": 2.0, "max": "160ms", "jitter": 0.5,
                      "reset_after": "2min"}}
RETRY = {"initial": "20ms", "factor": 2.0, "max": "160ms"}
ONCE = {"initial": "1h", "max": "1h"}       # a run that failed is not tried again within a test
NOW = {"settle": ["0s", "0s"]}              # a run does not wait for more changes
MODES = ["object", "batch", "snapshot"]
REFUSED = "the sandbox refused a system call"
SANITIZER = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "UndefinedBehavior")


def is_sanitized():
    """Whether informerd needs more memory and time: it is an ASan build, or runs under valgrind."""
    return bool(UNDER) or b"__asan_init" in INFORMERD.read_bytes()


def has_sandbox():
    """Builds with sanitizers or coverage have none (cmake/build_flags.cmake), nor has informerd under valgrind."""
    return not is_sanitized() and b".gcda" not in INFORMERD.read_bytes()


def hook_settings(hook, **more):
    """The settings of a recording hook, which may be blocked for long; more settings as
    keywords."""
    base = {"sources": ["services"], "command": [hook.path], "retry": RETRY, "timeout": NEVER}
    return confwriter.merge(base, more)


class Daemon:
    """One daemon: its files, process, log and control socket. Its state over stop() and start() is
    in its folder; with state_dir="none" it keeps no state."""

    def __init__(self, folder, settings, environ=None):
        self.folder = folder
        self.config = folder / "informerd.conf"
        self.short = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
        self.control = Control(self.short / "control.sock")
        self.state = folder / "state"
        base = {"log": {"level": "debug", "format": "json"},
                "control": {"socket": self.control.path}, "state_dir": self.state,
                "metrics": {"listen": []},      # tests run side by side
                "limits": {"stop_timeout": NEVER, "ready_timeout": NEVER}}
        if os.geteuid() == 0:
            base["user"] = "root"
        if UNDER:
            base["sandbox"] = "off"     # of main, in which nothing else lives
        self.settings = copy.deepcopy(confwriter.merge(base, settings))   # a copy: tests edit it
        self.stderr_file = folder / "stderr.log"
        self.environ = environ or {}
        self.launcher = []      # a command in front of informerd, which becomes it by exec
        self.process = None
        self.expected_exit = 0
        self.may_be_refused = False     # system calls of main, by its sandbox
        self._descendants = set()
        self._born = 0      # the offset in the log at which the present process begins
        self.write_config()

    def write_config(self):
        self.config.write_text(confwriter.text(self.settings))
        self.config.chmod(0o600)

    # Start and stop

    def start(self, wait=True, flags=()):
        environ = {"PATH": os.environ["PATH"], "TZ": "UTC", "SECRET_OF_THE_PARENT": "1",
                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1"), "LC_ALL": "C",
                   "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1"),
                   **self.environ}
        with open(self.stderr_file, "ab") as stderr:
            self._born = stderr.tell()
            self.process = subprocess.Popen(
                [*self.launcher, *UNDER, INFORMERD, "-c", self.config, *flags], stdin=subprocess.DEVNULL,
                stdout=stderr, stderr=stderr, env=environ, cwd="/", start_new_session=True)
        if wait:
            self.wait_control()
        return self

    def to_the_end(self, *flags, timeout=PATIENCE):
        """Runs the daemon with these flags until it ends by itself; returns the exit code."""
        self.start(wait=False, flags=flags)
        self.expected_exit = self.wait_exit(timeout)
        return self.expected_exit

    def wait_control(self, timeout=PATIENCE):
        def up():
            assert self.process.poll() is None, (
                f"exit code {self.process.returncode}:\n{self.stderr()}")
            return self.control.alive()
        wait_until(up, timeout, "the control socket answers")

    @property
    def pid(self):
        return self.process.pid

    @property
    def helper(self):
        """The pid of the helper process: main's only child."""
        return wait_until(lambda: sorted(proctree.children(self.pid)), what="a helper")[0]

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self._descendants |= proctree.descendants(self.pid)
        self.process.send_signal(number)

    def wait_exit(self, timeout=PATIENCE):
        return self.process.wait(timeout)

    def stop(self, timeout=PATIENCE):
        """Ends the daemon by SIGTERM; returns (exit code, seconds until the end)."""
        begin = time.monotonic()
        self.signal(signal.SIGTERM)
        code = self.wait_exit(timeout)
        return code, time.monotonic() - begin

    def kill(self):
        """Kills main by SIGKILL; returns when the helper and the hooks are dead as well."""
        below = proctree.descendants(self.pid)
        self.process.kill()
        self.process.wait()
        wait_until(lambda: all(proctree.reap(pid) or not proctree.exists(pid) for pid in below),
                   what="what it started is dead")

    def settled(self, api):
        """Waits until a start has no more effects. It sends bookmarks: a resumed watch is complete
        at its first bookmark, or after a silence, for which no test has to wait then."""
        def ready():
            api.bookmark()
            return self.control.status()["ready"]
        wait_until(ready, what="ready", interval=0.02)
        self.caught_up(api)
        return self.noted(api)

    def noted(self, api):
        """Waits until the state is complete for the next start."""
        wait_until(lambda: self._has_noted(api), what="the state names its clusters")
        return self

    def _has_noted(self, api):
        """Whether the state is complete for the next start: it has the identities of its clusters.
        The daemon asks for them beside everything else, and only a log of level debug shows the
        answers."""
        state = self.control.status()["state"]
        if not state["kept"] or not state["writable"] or api.identity_gate is not None:
            return True
        if self.settings["log"]["level"] == "debug":
            clusters = {w.get("cluster") for w in self.settings.get("watches", {}).values()}
            said = self.stderr_file.read_bytes()[self._born:]
            if said.count(b'"cluster identity known') < max(1, len(clusters)):
                return False
        return self.control.status()["state"]["waiting"] == 0

    def again(self, api):
        """Starts the daemon once more, and waits until the start has no more effects."""
        return self.start().settled(api)

    def finish(self):
        """The end of a test: stops the daemon if it still runs, and makes the checks of every test.
        Returns the problems."""
        if self.process is None:
            return []
        problems = []
        try:
            if self.running():
                self.stop()
            if self.process.returncode != self.expected_exit:
                problems.append(f"exit code {self.process.returncode}")
        except subprocess.TimeoutExpired:
            problems.append("did not stop in time; killed")
            self.process.kill()
            self.process.wait()
        text = self.stderr()
        problems += [f"sanitizer report: {word}" for word in SANITIZER if word in text]
        if REFUSED in text and not self.may_be_refused:
            problems.append(f"{REFUSED}: {self.log(msg=REFUSED)}")
        self._descendants -= {pid for pid in self._descendants if proctree.reap(pid)}
        left = {pid for pid in self._descendants if proctree.exists(pid)}
        problems += [f"left running: {pid} {proctree.command(pid)}" for pid in left]
        return problems

    def cleanup(self):
        shutil.rmtree(self.short, ignore_errors=True)

    # The log

    def stderr(self):
        try:
            return self.stderr_file.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def log(self, level=None, **fields):
        """The log lines with these values, as dicts; level: a word or a tuple of words."""
        out = []
        levels = (level,) if isinstance(level, str) else level
        for line in self.stderr().splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if levels and entry.get("level") not in levels:
                continue
            if all(str(entry.get(key)) == str(want) for key, want in fields.items()):
                out.append(entry)
        return out

    def problems(self, **fields):
        """The log lines of level warn or error with these values."""
        return self.log(level=("warn", "error"), **fields)

    def starts(self, hook):
        """[(seconds since 1970, key), ...]: when the daemon decided to start the runs of this
        hook."""
        return [(datetime.fromisoformat(entry["time"].replace("Z", "+00:00")).timestamp(),
                 entry["key"]) for entry in self.log(msg="hook started", hook=hook)]

    def wait_problem(self, *words, timeout=PATIENCE, **fields):
        """The first warn or error line with these fields whose text holds all the words."""
        def found():
            for entry in self.problems(**fields):
                text = json.dumps(entry, ensure_ascii=False).lower()
                if all(word.lower() in text for word in words):
                    return entry
            return None
        try:
            return wait_until(found, timeout)
        except AssertionError:
            lines = "\n".join(str(entry) for entry in self.problems()[-12:])
            raise AssertionError(f"no line with {words} {fields} in:\n{lines}") from None

    # Waiting

    def synced(self, *watches, timeout=PATIENCE):
        self.control.wait_synced(*watches, timeout=timeout)
        return self

    def seen(self, api, watch="services", **more):
        """Waits until this watch has reached the server's RV. Its hooks know all changes then, and
        may still run."""
        self.control.wait_watch(watch, resource_version=str(api.rv), **more)
        return self

    def hear_newer_bookmark(self, api):
        """Sends a bookmark that is newer than all that came before, and waits until watch services
        has read it."""
        api.rv += 1
        api.bookmark()
        self.seen(api)

    def caught_up(self, api, *watches, timeout=PATIENCE):
        """Waits until these watches (default: all) have reached the server's RV and the hooks are
        idle: a run that has not started by then will not start."""
        watches = watches or tuple(self.control.status()["watches"])
        sent = [0.0]

        def done():
            now = self.control.status()["watches"]
            if all(str(now[w]["resource_version"]) == str(api.rv) and now[w]["synced"]
                   and now[w]["state"] == "watching" for w in watches) \
                    and len(api.watchers) >= len(watches):
                return True
            if time.monotonic() - sent[0] > 0.2:
                sent[0] = time.monotonic()
                api.bookmark()
            return False
        try:
            wait_until(done, timeout)
        except AssertionError:
            raise AssertionError(f"not at {api.rv}: {self.control.status()['watches']}") from None
        self.control.wait_idle(timeout)
        return self

    def ctl_json(self, *args, code=0):
        """The output of informerctl with -o json, as a value."""
        done = self.ctl(*args, "-o", "json")
        assert done.returncode == code, f"{args}: {done.returncode} {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def follow(self, *args):
        """Starts informerctl with a command that keeps running; returns a Follower."""
        return Follower([INFORMERCTL, "--socket", self.control.path, *args])

    def admit_nobodys_group(self):
        """Group nobody may use the control socket."""
        self.short.chmod(0o755)
        os.chown(self.control.path, -1, NOBODY)

    def ctl_of_nobody(self, *args, timeout=PATIENCE):
        """As ctl(), but as user nobody, who is neither root nor the user who started the daemon,
        and whose group may use the control socket. It runs a copy of informerctl, as the build
        folder may be closed to others."""
        if not (self.short / INFORMERCTL.name).exists():
            shutil.copy(INFORMERCTL, self.short)
            self.admit_nobodys_group()
        return subprocess.run([self.short / INFORMERCTL.name, "--socket", self.control.path, *args],
                              text=True, cwd="/", capture_output=True, timeout=timeout,
                              user=NOBODY, group=NOBODY, extra_groups=[])

    def ctl(self, *args, timeout=PATIENCE):
        """Runs informerctl against this daemon; returns a CompletedProcess with text."""
        return subprocess.run([INFORMERCTL, "--socket", self.control.path, *args], text=True,
                              capture_output=True, timeout=timeout)


def check_config(config, *flags, timeout=PATIENCE):
    """Runs informerd --check; returns a CompletedProcess with text."""
    return subprocess.run([INFORMERD, "-c", config, "--check", *flags], text=True, cwd="/",
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)


class Factory:
    """Makes daemons and hooks for one test; tests get it from the fixtures of conftest.py."""

    def __init__(self, folder, authority):
        self.folder, self.authority = folder, authority
        self.daemons, self.hooks, self.count = [], [], 0
        self.known_children = proctree.children()

    def new_folder(self, stem):
        self.count += 1
        folder = self.folder / f"{stem}{self.count}"
        folder.mkdir(mode=0o755)
        return folder

    def hook(self, extra=""):
        """A recording hook; `extra` is shell text that runs after the recording."""
        self.count += 1
        self.hooks.append(Hook(self.folder / f"hook{self.count}", extra))
        return self.hooks[-1]

    def program(self, text, shell="/bin/sh"):
        """A script that records nothing; $d is its folder."""
        self.count += 1
        return Program(self.folder / f"program{self.count}", text, shell)

    def cluster(self, api, tuning=None, **credentials):
        """Writes the kubeconfig of a fake server; returns the settings of the cluster."""
        self.count += 1
        path = self.folder / f"kubeconfig{self.count}"
        api.kubeconfig(path, **{"ca": self.authority, **credentials})
        return {"kubeconfig": path, "tuning": confwriter.merge(TUNING, tuning or {})}

    def cluster_of(self, apis, tuning=None, own=None, **settings):
        """The settings of a cluster with these fake servers. own: for each server the settings that
        it has for itself."""
        servers = {"servers": [api.url for api in apis]}
        if own is not None:
            servers = {"server": {f"s{n}": {"url": api.url, **more}
                                  for n, (api, more) in enumerate(zip(apis, own))}}
        return {**servers, "ca_file": self.authority.file,
                "tuning": confwriter.merge(TUNING, tuning or {}), **settings}

    def daemon(self, api=None, watches=None, hooks=None, start=True, tuning=None, credentials=None,
               clusters=None, environ=None, **settings):
        """A daemon; hooks: {name: Hook or settings}; the default watch is every Service."""
        if clusters is None:
            clusters = {"prod": self.cluster(api, tuning, **(credentials or {}))}
        groups = {name: hook_settings(entry) if isinstance(entry, Hook) else entry
                  for name, entry in (hooks or {}).items()}
        config = {"clusters": clusters, "watches": SERVICES if watches is None else watches}
        if groups:
            config["hooks"] = groups
        made = Daemon(self.new_folder("daemon"), confwriter.merge(config, settings), environ)
        self.daemons.append(made)
        return made.start() if start else made

    def finish(self):
        problems = []
        for hook in self.hooks:
            hook.release_all()      # a daemon waits for blocked runs until stop_timeout
        for made in self.daemons:
            try:
                problems += made.finish()
            except Exception as error:
                problems.append(f"while finishing: {error!r}")
            finally:
                if made.running():
                    made.process.kill()
            if made.process is not None:
                print(f"--- {made.stderr_file}\n{made.stderr()[-8000:]}")
            made.cleanup()
        problems += [f"orphan: {text}" for text in proctree.kill_orphans(self.known_children)]
        assert not problems, "; ".join(problems)
