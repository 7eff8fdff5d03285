# SPDX-License-Identifier: Apache-2.0
"""The log: entries of systemd's journal with fields, and output of hooks that nobody may see."""
import os
import pathlib
import shutil
import socket
import tempfile
import threading

import pytest

from control import wait_until
from fakeapi import service, simple
from harness import hook_settings
from mounts import start_with_mounts

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount")


class Journal:
    """The socket of systemd-journald, below a folder that stands for /run."""

    def __init__(self):
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="ifj-"))
        self.run.chmod(0o755)
        self.path = self.run / "systemd/journal/socket"
        self.path.parent.mkdir(parents=True)
        self.entries = []
        self.open()

    def open(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.path.chmod(0o666)
        self.thread = threading.Thread(target=self.read, args=(self.socket,))
        self.thread.start()

    def read(self, sock):
        while data := sock.recv(1 << 20):
            lines = data.decode().removesuffix("\n").split("\n")
            self.entries.append(dict(line.split("=", 1) for line in lines))

    def close(self):
        """As journald when it stops: the socket is gone."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.path))
        self.thread.join()
        self.socket.close()
        self.path.unlink()

    def start(self, d):
        """Starts the daemon with its stderr as the stream to this journal."""
        d.stderr_file.touch()
        stream = d.stderr_file.stat()
        d.environ["JOURNAL_STREAM"] = f"{stream.st_dev}:{stream.st_ino}"
        start_with_mounts(d.start, ["--bind", self.run, "/run"])
        return d

    def wait(self, **fields):
        """The first entry with these fields, and a MESSAGE that begins as given."""
        def found():
            for entry in list(self.entries):
                if all(entry.get(name, "").startswith(value) for name, value in fields.items()):
                    return entry
            return None
        return wait_until(found, what=f"an entry with {fields}")


@pytest.fixture
def journal():
    made = Journal()
    yield made
    if made.path.exists():
        made.close()
    shutil.rmtree(made.run)


@pytest.fixture
def logging(daemon, api, journal):
    """logging(**settings): a daemon that logs to the journal, not started."""
    return lambda **settings: journal.start(
        daemon(api, start=False, log={"level": "debug", "format": "auto"}, **settings))


def test_entries_of_the_journal_can_be_selected_by_hook_and_key(api, logging, journal, hook):
    api.apply(service("n/a"))
    logging(hooks={"h": hook_settings(hook)})
    entry = journal.wait(MESSAGE="hook done")
    assert entry["PRIORITY"] == "7" and entry["SYSLOG_IDENTIFIER"] == "informerd"
    assert (entry["HOOK"], entry["KEY"], entry["RUN"]) == ("h", "n/a", "1")
    assert entry["MESSAGE"].startswith('hook done hook="h" key="n/a" run=1 ')
    entry = journal.wait(MESSAGE="watch synced")
    assert (entry["CLUSTER"], entry["WATCH"], entry["PRIORITY"]) == ("prod", "services", "6")


def test_lines_go_to_stderr_while_the_journal_is_away(api, logging, journal, hook):
    d = logging(hooks={"h": hook_settings(hook)})
    journal.wait(MESSAGE="watch synced")
    journal.close()
    api.apply(service("n/a"))
    wait_until(lambda: '<7>hook done hook="h" key="n/a"' in d.stderr(), what=d.stderr)
    journal.open()
    api.apply(service("n/b"))
    journal.wait(MESSAGE="hook done", KEY="n/b")
    assert 'key="n/b"' not in d.stderr()


def test_the_helper_logs_to_the_journal(api, logging, journal, tmp_path):
    """The helper has descriptors of its own: the number of main's socket may be another file there."""
    token = tmp_path / "token"
    token.write_text("t")
    d = logging(credentials={"token_file": str(token)})
    journal.wait(MESSAGE="watch synced")
    token.chmod(0o666)
    api.drop("rst")
    journal.wait(MESSAGE="helper: credential file refused", PRIORITY="3")
    assert "credential file refused" not in d.stderr()


# ---- Output of hooks

PRINTS = 'cat; echo "to stderr: $INFORMERD_NAME" >&2; echo end'


@pytest.fixture
def prints(api, daemon, new_program):
    """prints(resource, **settings): a hook of that resource has printed its input."""
    def make(resource, **settings):
        program = new_program(PRINTS)
        d = daemon(api, watches={"w": {"resource": resource, "namespaces": ["*"]}}, hooks={"h": {
            "sources": ["w"], "command": [str(program.path)], **settings}})
        wait_until(lambda: d.control.hook("h")["runs_ok"] == 1, what="a run")
        return d
    return make


def test_output_of_a_hook_with_secrets_is_not_logged(api, prints):
    api.apply(simple("Secret", "n/a", data={"password": "cGxhaW50ZXh0"}))
    d = prints("secrets")
    assert d.log(msg="hook output") == []
    assert "cGxhaW50ZXh0" not in d.stderr() and "to stderr" not in d.stderr()
    assert "cGxhaW50ZXh0" in d.ctl("runs", "h", "-o", "json").stdout


def test_log_secrets_logs_it_all_the_same(api, prints):
    api.apply(simple("Secret", "n/a", data={"password": "cGxhaW50ZXh0"}))
    d = prints("secret", log_secrets=True)
    wait_until(lambda: d.log(msg="hook output", stream="stderr", line="to stderr: a"))
    assert "cGxhaW50ZXh0" in d.stderr()


def test_output_of_a_hook_without_secrets_is_logged(api, prints):
    api.apply(service("n/a"))
    d = prints("services")
    wait_until(lambda: d.log(msg="hook output", stream="stderr", line="to stderr: a"))
