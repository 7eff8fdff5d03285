# SPDX-License-Identifier: Apache-2.0
"""The life of a daemon, in which one system call fails: it starts, lists, watches, runs hooks with and without
output files, writes its state, gets another credential, answers, reloads, and stops."""
import os
import re
import signal
import sys
import time

from shim import Shim

import proctree
from control import PATIENCE
from fakeapi import service
from fakeapi.server import FakeApi
from harness import RETRY, Factory
from hooks import port_of

COUNT = 4
REST_S = 1      # before it is noted what is open after a life without a fault
QUICK = {"connect_timeout": "2s", "tls_timeout": "2s", "response_timeout": "2s", "list_idle_timeout": "2s",
         "bookmark_timeout": "3s", "backoff": {"initial": "20ms", "factor": 2.0, "max": "160ms", "jitter": 0.5,
                                               "reset_after": "2min"}}


class Hangs(Exception):
    """A step did not come to its end."""


class Ended(Exception):
    """The daemon has ended by itself."""


class Story:
    """One life in a folder of its own. rule: the arguments of Shim.fail(), or None. expected: what
    count_files() gives at the end of a life without a fault."""

    def __init__(self, folder, authority, leaf, rule=None, expected=None):
        folder.mkdir()
        self.api = FakeApi(tls=leaf)
        self.api.bookmark_period = 1
        self.api.start()
        self.factory = Factory(folder, authority)
        self.shim = Shim(folder / "faults")
        self.rule = self.shim.fail(**rule) if rule else None
        self.ends, self.problems, self.done_runs = [], [], 0
        self.open_files, self.expected = None, expected   # what is open at the end
        self.token = folder / "token"
        self.place = folder / "place"
        self.place.mkdir()
        self.write_token("one")
        self.hooks = {name: self.factory.hook() for name in ("one", "all", "apply", "late")}
        self.d = self.factory.daemon(clusters={"prod": self.cluster()}, start=False,
                                     environ=self.shim.environ, hooks=self.settings(),
                                     log={"level": os.environ.get("FAULTS_LOG", "info"), "format": "json"})

    def cluster(self):
        return {"servers": [f"https://localhost:{self.api.port}"], "ca_file": self.factory.authority.file,
                "token_file": self.token, "tuning": QUICK}

    def settings(self):
        base = {"sources": ["services"], "retry": RETRY, "timeout": "10s"}
        return {"one": {**base, "command": [self.hooks["one"].path], "concurrency": 2},
                "all": {**base, "command": [self.hooks["all"].path], "mode": "snapshot"},
                "file": {**base, "fields": {"PORT": "spec.ports[0].port"},
                         "shell": "echo $INFORMERD_FIELD_PORT", "output": self.place / "${name}.conf",
                         "apply": [self.hooks["apply"].path]}}

    def write_token(self, text):
        new = self.token.with_name("token.new")
        new.write_text(text)
        new.chmod(0o600)
        os.replace(new, self.token)
        self.api.tokens = {text}

    # The server, and what hooks and files say of it

    def truth(self):
        objects = self.api.store.table("services").objects
        return {obj["metadata"]["name"]: port_of({"object": obj}) for obj in objects.values()}

    def told(self, name):
        """{name: port}: the objects as the runs of a hook in mode object have told them."""
        world = {}
        ended = {entry[1] for entry in self.hooks[name].order() if entry[0] == "end"}
        for run in self.hooks[name].runs():
            if run.name not in ended:
                continue
            event = run.event
            if event["type"] in ("DELETED", "LEFT"):
                world.pop(event["name"], None)
            else:
                world[event["name"]] = run.port
        return world

    def seen(self):
        """The same of the last snapshot."""
        runs = self.hooks["all"].runs()
        return {obj["metadata"]["name"]: port_of({"object": obj})
                for obj in (runs[-1].snapshot["services"] if runs else [])}

    def files(self):
        found = {}
        for path in self.place.glob("*.conf"):
            try:
                text = path.read_text().strip()
                found[path.stem] = int(text) if text.isdigit() else text
            except FileNotFoundError:
                pass
        return found

    def differs(self):
        """Words for the first difference from the server; "" if there is none."""
        truth = self.truth()
        for what, known in (("hook one", self.told("one")), ("hook all", self.seen()),
                            ("files", self.files())):
            if known != truth:
                return f"{what}: {known}, not {truth}"
        return ""

    def is_right(self):
        return not self.differs()

    def is_quiet(self):
        """Nothing is due, and all is written."""
        status = self.d.control.status()
        return (status["ready"] and all(w["synced"] for w in status["watches"].values())
                and all(h["running"] == 0 and h["pending"] == 0 for h in status["hooks"].values())
                and status["state"]["waiting"] == 0
                and (status["state"]["writable"] or not status["state"]["kept"]))

    def has_applied(self):
        """A run of apply has begun after the last file was put in place or removed."""
        return self.hooks["apply"].runs()[-1].began >= self.place.stat().st_mtime

    # Steps

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while True:
            if self.d.process.poll() is not None:
                raise Ended
            try:
                if condition():
                    return
                why = ""
            except (OSError, AssertionError, ValueError, KeyError, IndexError) as error:
                why = f" ({type(error).__name__} {error})"
            if time.monotonic() > end:
                raise Hangs(f"{what}: {self.differs()}{why}")
            time.sleep(0.01)

    def start(self):
        self.d.start(wait=False)
        self.wait(self.d.control.alive, "the control socket answers")

    def note_end(self):
        """The daemon has ended by itself: as systemd would, it is started again."""
        code = self.d.process.returncode
        self.ends.append(code)
        if code < 0:
            self.problems.append(f"died of signal {-code}: {self.last_lines(1)}")
        elif not self.d.log(level="error") and not self.plain_lines():
            self.problems.append(f"exit code {code} without a reason")
        if len(self.ends) > 3:
            raise Hangs(f"ended {len(self.ends)} times: {self.ends}")

    def plain_lines(self):
        """The lines on stderr that are not of the log: a start that fails says why in such a line."""
        return [line for line in self.d.stderr().splitlines() if line and line[0] != "{"]

    def step(self, condition, what):
        """Waits for this. If the daemon ends meanwhile, it is started again."""
        while True:
            try:
                if self.d.process is None or self.d.process.poll() is not None:
                    self.start()
                self.wait(condition, what)
                return
            except Ended:
                self.note_end()

    def apply(self, *pairs):
        for number, port in pairs:
            self.api.apply(service(f"n/s{number}", ports=[port]))

    def first(self):
        self.apply(*((number, 80) for number in range(COUNT)))
        self.step(lambda: self.is_right() and self.is_quiet(), "the first runs")

    def change(self):
        self.apply((1, 81), (COUNT, 82))
        self.api.delete("services", "n/s2")
        self.step(self.is_right, "the hooks know the change")

    def rotate(self):
        """The server takes the new token only, from the next request on."""
        self.write_token("two")
        self.api.bookmark()
        self.api.end_watches(how="rst")

        def is_used():
            return any(r.header("authorization") == "Bearer two"
                       for r in self.api.of("services", "W"))
        self.step(is_used, "the new token is used")

    def ask(self):
        def answers():
            codes = [self.d.control.ask(target)[0] for target in
                     ("/v1/status", "/metrics", "/v1/runs", "/v1/hooks/one/why?key=n/s1")]
            return codes[0] == codes[1] == 200
        self.step(answers, "requests are answered")

    def reload(self):
        """A hook comes, and one changes. A reload that failed is asked for again."""
        self.d.settings["hooks"]["late"] = {"sources": ["services"], "retry": RETRY, "timeout": "10s",
                                            "command": [self.hooks["late"].path]}
        self.d.settings["hooks"]["one"]["concurrency"] = 3
        self.d.write_config()
        asked = [0.0]

        def has_come():
            status = self.d.control.status()
            if "late" in status["hooks"]:
                return self.told("late") == self.truth()
            if time.monotonic() - asked[0] > 3:
                asked[0] = time.monotonic()
                self.d.process.send_signal(signal.SIGHUP)
            return False
        self.step(has_come, "the reload is done")

    def change_again(self):
        self.apply((3, 83), (COUNT + 1, 84))
        self.api.delete("services", "n/s0")
        self.step(lambda: self.is_right() and self.told("late") == self.truth()
                  and self.is_quiet(), "the hooks know the second change")
        self.step(lambda: self.has_applied() and self.is_quiet(), "the files are applied")

    def stop(self):
        """By SIGTERM. If the fault comes just then, the exit code may be another one than 0."""
        if self.expected is None:
            time.sleep(REST_S)
        end = time.monotonic() + PATIENCE
        self.open_files = self.open_files or self.count_files()
        while not self.keeps_no_more() and time.monotonic() < end:
            time.sleep(0.05)
            self.open_files = self.count_files()
        self.below = proctree.descendants(self.d.pid)
        self.d.process.send_signal(signal.SIGTERM)
        try:
            code = self.d.process.wait(PATIENCE)
        except Exception:
            raise Hangs("the stop") from None
        if code != 0:
            self.note_end()

    def keeps_no_more(self):
        """Whether no more is open than without a fault. One file more may be: the commit counter opens the
        lock file once more when its descriptor does not take a line."""
        return self.expected is None or all(
            count <= self.expected[name].get(kind, 0) + (kind == "file" and name == "main")
            for name, kinds in self.open_files.items() for kind, count in kinds.items())

    def count_files(self):
        """{process: {kind: count}} of what is open."""
        found = {}
        for name, pid in (("main", self.d.pid), ("helper", self.d.helper)):
            kinds = {}
            for target in proctree.fds(pid).values():
                kind = re.sub(r"[:/].*", "", target) if ":" in target else "file"
                if kind != "socket":
                    kinds[kind] = kinds.get(kind, 0) + 1
            found[name] = kinds
        return found

    def gone(self):
        """Everything that the daemon has started ends with it."""
        end = time.monotonic() + PATIENCE
        while left := [pid for pid in self.below if not proctree.reap(pid) and proctree.exists(pid)]:
            if time.monotonic() > end:
                raise Hangs(f"left running: {[proctree.command(pid) for pid in left]}")
            time.sleep(0.01)

    def again(self):
        """Without a fault all is right after one more start, and no handled state runs again unless the
        log has named a reason."""
        if self.rule:
            self.rule.over()
        before = {name: len(hook.runs()) for name, hook in self.hooks.items()}
        said = self.trouble() or self.ends
        self.step(lambda: self.is_right() and self.is_quiet(), "all is right after a start")
        more = {name: len(hook.runs()) - before[name] for name, hook in self.hooks.items()
                if len(hook.runs()) != before[name]}
        if more and not said:
            self.problems.append(f"ran again without a reason: {more}")
        self.apply((1, 99))
        self.step(self.is_right, "the hooks know the third change")

    def last_lines(self, count):
        return " | ".join(self.d.stderr().splitlines()[-count:])

    def play(self):
        """The whole story."""
        try:
            for part in (self.first, self.change, self.rotate, self.ask, self.reload, self.change_again,
                         self.stop, self.gone, self.again, self.stop, self.gone):
                self.part = part.__name__
                part()
        except Hangs as error:
            self.problems.append(f"{self.part}: hangs: {error}")
        finally:
            self.finish()
        return self

    def finish(self):
        if self.d.running():
            self.d.process.kill()
            self.d.process.wait()
        proctree.kill_descendants()
        self.log = self.d.stderr()
        self.d.cleanup()
        self.api.stop()
        if self.api.errors:
            self.problems.append(f"fake server: {self.api.errors}")

    def trouble(self):
        """The warnings and errors, without those that each life has."""
        return [line for line in self.d.problems() if "401 Unauthorized" not in str(line)]

    def reported(self, words):
        """The first warning or error that has one of these words."""
        for line in self.trouble():
            if any(word.lower() in str(line).lower() for word in words):
                return line["msg"]
        return None
