# SPDX-License-Identifier: Apache-2.0
"""A daemon of the soak with its hooks, and the clients of its control socket."""
import collections
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import cgroups
import known
import proctree
import statefile
import told
from control import PATIENCE, wait_until
from trouble import catches
from victims import HERE, Subject, lines_of, was_killed

SOURCES = {"maps": "configmaps", "svcs": "services", "slices": "endpointslices"}
HOOKS = {"each": ["maps"], "wild": ["slices"], "some": ["maps", "slices"], "all": list(SOURCES), "file": ["svcs"],
         "late": ["svcs"]}
TUNING = {"connect_timeout": "3s", "tls_timeout": "3s", "response_timeout": "3s", "list_idle_timeout": "3s",
          "bookmark_timeout": "4s", "watch_timeout": ["10s", "20s"],
          "backoff": {"initial": "100ms", "factor": 2.0, "max": "1s", "jitter": 0.5}}
COMMANDS = [["status"], ["status", "-o", "json"], ["doctor"], ["watches"], ["hooks"], ["runs"], ["runs", "wild"],
            ["why", "each"], ["input", "all"], ["get", "slices"], ["events"], ["verify", "svcs", "--timeout", "5s"]]
UNREAD = ["stream", "maps"]         # a client that does not read what it has asked for
NO_ANSWER = 2                       # the exit codes up to this one are right for a daemon in trouble
IDLE = 4                            # POOL_MAX_IDLE in daemon/io/pool.h
BUGS = ("bug at ", "bug of informerd", "more runs at a time than the configuration allows")


def hooks_of(folder):
    """The settings of the hooks, without `late`."""
    python = ["/usr/bin/python3", "-I", "-S"]
    log, files = str(folder / "told.log"), folder / "files"
    command = [*python, str(folder / "told.py"), "command", log]
    base = {"command": command, "timeout": "1min", "kill_grace": "300ms", "log_limit": "2KiB",
            "retry": {"initial": "100ms", "factor": 2.0, "max": "1s"}}
    more = {
        "each": {"include_old": True, "concurrency": 3},
        "wild": {"command": [*python, str(folder / "wild.py"), str(folder / "told.py"), log], "timeout": "2s",
                 "leave": "kill", "concurrency": 2},
        "some": {"mode": "batch", "settle": ["200ms", "1s"]},
        "all": {"mode": "snapshot", "settle": ["500ms", "2s"]},
        "file": {"output": str(files / "${name}.txt"), "apply": [*python, str(folder / "told.py"), "apply", log,
                                                               str(files)]},
        "late": {}}
    return {name: {**base, "sources": HOOKS[name], **more[name]} for name in HOOKS}


def size_kb(path):
    return path.stat().st_size // 1024


class Peer(Subject):
    """One daemon. harness: the module, pointed at a build."""

    def __init__(self, name, folder, site, harness):
        self.name, self.folder, self.ctl = name, folder, harness.INFORMERCTL
        (folder / "files").mkdir(parents=True)
        shutil.copy(HERE / "told.py", folder)
        shutil.copy(pathlib.Path(__file__).with_name("wild.py"), folder)
        self.hooks = hooks_of(folder)
        self.watches = {source: {"resource": plural, "namespaces": ["*"], "guard": {"relist_deletes": "off"}}
                        for source, plural in SOURCES.items()}
        self.spare = {"resource": "nodes"}
        super().__init__(harness.Daemon(folder, {
            "log": {"level": "info"}, "hooks": dict(self.hooks), "watches": {**self.watches, "spare": self.spare},
            "clusters": {"prod": {"servers": [site.api.url], "tuning": TUNING, **site.settings}}}))
        self.knowledge = known.Knowledge(slow=["file"])
        self.problems, self.frozen, self.left, self.all_pids = [], set(), set(), set()
        self.down, self.at = True, 0

    # Life and death

    def start(self):
        super().start()
        self.down = False
        self.all_pids.add(self.daemon.pid)

    def restart(self):
        if self.down:
            self.start()

    def thaw(self, pids):
        for pid in pids:
            if pid in self.frozen:
                self.frozen.discard(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def die(self, target):
        """Ends the daemon; restart() starts it again. A second death while it is down is none."""
        if self.down:
            return
        self.thaw(list(self.frozen))
        if target == "SIGTERM":
            self.terminate()
        elif target == "helper killed" and any(map(was_killed, self.pids("helper"))):
            self.left |= proctree.descendants(self.daemon.pid)
            self.daemon.process.wait(PATIENCE)
        else:
            self.daemon.kill()
        self.down = True
        self.left = {pid for pid in self.left if not proctree.reap(pid) and proctree.exists(pid)}

    def terminate(self):
        early = not catches(self.daemon.pid, signal.SIGTERM)
        code, _seconds = self.daemon.stop()
        if code != 0 and not (early and code == -signal.SIGTERM):
            self.problems.append(f"{self.name}: exit code {code} after SIGTERM")

    def check_alive(self):
        if not self.down and self.daemon.process.poll() is not None:
            self.down = True
            self.problems.append(f"{self.name}: ended by itself, exit code {self.daemon.process.returncode}: "
                                 f"{self.daemon.stderr().splitlines()[-3:]}")

    # The configuration

    def edit(self, rng):
        """One random change of the configuration. Each watch still selects all objects."""
        hooks, watches = self.daemon.settings["hooks"], self.daemon.settings["watches"]
        dice = rng.randrange(6)
        if dice == 0:
            hooks["each"] = {**hooks["each"], "concurrency": rng.randint(1, 4)}
        elif dice == 1:
            hooks["all"] = {**hooks["all"], "settle": [f"{rng.randint(100, 500)}ms", "1s"]}
        elif dice == 2:     # the hook is renewed: it is told all objects again
            hooks["some"] = {**hooks["some"], "environment": {"NUMBER": str(rng.randrange(1000))}}
        elif dice == 3 and hooks.pop("late", None) is None:
            hooks["late"] = self.hooks["late"]
        elif dice == 4 and watches.pop("spare", None) is None:
            watches["spare"] = self.spare
        elif dice == 5:
            watches["slices"] = {**watches["slices"], "namespaces": [rng.choice(["*", "n"])]}
        self.daemon.write_config()

    def make_whole(self):
        """All hooks and watches are there again."""
        self.daemon.settings["hooks"]["late"] = self.hooks["late"]
        self.daemon.settings["watches"]["spare"] = self.spare
        self.daemon.write_config()
        done = self.daemon.ctl("reload")
        if done.returncode != 0:
            self.problems.append(f"{self.name}: reload: {done.stdout}{done.stderr}")

    # Observation from outside

    def read(self):
        lines, self.at = lines_of(self.folder / "told.log", self.at)
        for line in lines:
            self.knowledge.feed(line)

    def trees(self):
        """The cgroups of this daemon's processes, of dead ones too."""
        if not cgroups.can_be_made():
            return []
        folders = [cgroups.of("self") / f"informerd-{pid}" for pid in list(self.all_pids)]
        return [folder for folder in folders if folder.is_dir()]

    def sample(self):
        """{what: number}; {} while the daemon is down."""
        try:
            main = self.daemon.pid
            helper, = self.pids("helper")
            return {"main_kb": proctree.memory_kb(main, "VmRSS"), "helper_kb": proctree.memory_kb(helper, "VmRSS"),
                    "main_fds": len(proctree.fds(main)), "helper_fds": len(proctree.fds(helper)),
                    "processes": len(proctree.descendants(main)),
                    "leaves": sum(len(cgroups.runs(tree)) for tree in self.trees()),
                    "state_kb": size_kb(self.daemon.state / statefile.NAME),
                    "log_kb": size_kb(self.daemon.state / f"{statefile.NAME}-wal")}
        except (OSError, ValueError):
            return {}

    # The end

    def has_noted_all(self):
        state = self.daemon.control.status()["state"]
        return state["writable"] and state["waiting"] == 0

    def settle(self, api):
        self.ready(api)
        self.daemon.caught_up(api)
        wait_until(self.has_noted_all, what="the state is written")

    def judge(self, api, content):
        """Adds the differences of cache, hooks and files from the server that do not go away: a hook that has just
        come back begins when its programs were read."""
        try:
            wait_until(lambda: not self.differences(api, content))
        except AssertionError:
            self.problems += [f"{self.name}: {problem}" for problem in self.differences(api, content)]

    def differences(self, api, content):
        found = []
        for source, plural in SOURCES.items():
            cached = {told.key_of(obj["metadata"]): [obj["metadata"]["uid"], told.digest(obj)]
                      for obj in self.daemon.control.objects(source)}
            if cached != content[source]:
                found.append(f"the cache of {source} has {len(cached)} objects, {plural} differ")
        self.read()
        found += self.knowledge.problems(HOOKS, content)
        there = {path.name: path.read_text() for path in (self.folder / "files").iterdir()}
        wanted = {f"{obj['metadata']['name']}.txt": told.file_of(obj)
                  for obj in api.store.table("services").objects.values()}
        if there != wanted:
            names = sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))
            found.append(f"the output files differ: {names}")
        if self.knowledge.applied != told.state_of(self.folder / "files"):
            found.append("apply has not run since the last file was written")
        return found

    def judge_rest(self, before):
        """Nothing of a run is left, and no more is open than before all faults, but idle connections."""
        def at_rest():
            now = self.sample()
            return (now and now["processes"] == 1 and now["leaves"] == 0 and len(self.trees()) <= 1
                    and now["main_fds"] <= before["main_fds"] + IDLE
                    and now["helper_fds"] <= before["helper_fds"])
        try:
            wait_until(at_rest)
        except AssertionError:
            self.problems.append(f"{self.name}: at rest {self.sample()} and cgroups {self.trees()}, "
                                 f"before the faults {before}")
        left = {pid for pid in self.left if not proctree.reap(pid) and proctree.exists(pid)}
        self.problems += [f"{self.name}: left running: {pid} {proctree.command(pid)}" for pid in left]

    def judge_log(self, words):
        text = self.daemon.stderr()
        self.problems += [f"{self.name}: the log says {word!r}" for word in (*words, *BUGS) if word in text]

    def errors(self):
        """{message: how often} of the errors in the log."""
        return collections.Counter(line["msg"] for line in self.daemon.log(level="error"))


class Clients(threading.Thread):
    """Asks random questions at the control sockets of these peers until end() is called."""

    def __init__(self, peers, rng, pause_s=0.7):
        super().__init__(daemon=True)
        self.peers, self.rng, self.pause_s = peers, rng, pause_s
        self.count, self.problems = 0, []
        self._over = threading.Event()

    def run(self):
        while not self._over.wait(self.pause_s):
            peer = self.rng.choice(self.peers)
            self.count += 1
            if self.rng.random() < 0.1:
                self.leave_unread(peer)
            elif self.rng.random() < 0.2:
                self.scrape(peer)
            else:
                self.ask(peer, self.rng.choice(COMMANDS))

    def ask(self, peer, command):
        try:
            done = peer.daemon.ctl(*command)
        except subprocess.TimeoutExpired:
            self.problems.append(f"{peer.name}: informerctl {command} hangs")
            return
        if not 0 <= done.returncode <= NO_ANSWER:
            self.problems.append(f"{peer.name}: informerctl {command}: {done.returncode} {done.stderr}")

    def scrape(self, peer):
        try:
            peer.daemon.control.ask("/metrics")
        except (OSError, http.client.HTTPException):
            pass    # the daemon is down or dies

    def leave_unread(self, peer):
        with subprocess.Popen([peer.ctl, "--socket", peer.daemon.control.path, *UNREAD], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            self._over.wait(self.rng.uniform(1, 5))
            process.kill()

    def end(self):
        self._over.set()
        self.join()
