# SPDX-License-Identifier: Apache-2.0
"""informerctl top: on a terminal, on terminals of other sizes, and without one."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from harness import INFORMERCTL, hook_settings
from terminals import on_terminal

ENTER = b"\x1b[?1049h\x1b[?25l"
LEAVE = b"\x1b[?25h\x1b[?1049l"


class Terminal:
    """A terminal on which informerctl top runs: with Terminal(d) as t."""

    def __init__(self, daemon, rows=24, columns=80, **environ):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.process = subprocess.Popen(
            [INFORMERCTL, "--socket", daemon.control.path, "top"],
            stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env={**os.environ, **environ})
        os.set_blocking(self.master, False)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        try:
            self.seen += os.read(self.master, 65536)
        except BlockingIOError:
            pass
        return self.seen

    def screen(self):
        """The lines of the last whole screen."""
        screens = self.read().split(b"\x1b[H")[1:]
        whole = [s for s in screens if b"\x1b[J" in s]
        text = whole[-1].split(b"\x1b[J")[0].decode() if whole else ""
        return re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", text).split("\r\n")

    def wait(self, *words):
        """Waits for a screen with a line that has all these words; returns the screen."""
        return wait_until(lambda: next((lines for lines in [self.screen()] for line in lines
                                        if all(word in line for word in words)), None),
                          what=lambda: f"{words}: {self.screen()}")

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait_as_before(self):
        """The kernel may hand over the last bytes after the process has ended."""
        wait_until(self.is_as_before, what=lambda: f"the terminal is as before: {self.seen[-80:]}")

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.before and self.read().endswith(LEAVE)


@pytest.fixture
def running(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    d.caught_up(api)
    return d


def test_it_shows_watches_and_hooks_and_what_happens(running, api, hook):
    with Terminal(running) as t:
        lines = t.wait("services", "watching")
        assert len(lines) == 24 or len(lines) <= 24
        assert all(len(line) <= 80 for line in lines)
        assert lines[0].startswith("informerd ") and "ready" in lines[0]
        row = next(line for line in lines if line.startswith("services"))
        assert row.split()[4] == "2"
        for number in range(20):
            api.apply(service(f"n/c{number}"))
        hook.wait(22)
        t.wait("services", " 22 ")
        row = wait_until(lambda: next((line.split() for line in t.screen() if line.startswith("h ")
                                       and line.split()[6] != "-"), None), what=t.screen)
        assert row[5] == "0"
        t.press("q")
        assert t.process.wait(PATIENCE) == 0
        t.wait_as_before()


def test_keys_sort_and_the_size_may_change(running):
    with Terminal(running) as t:
        t.wait("by name")
        t.press("a")
        t.wait("by activity")
        t.press("r")
        t.wait("by activity, reversed")
        t.resize(7, 60)
        t.process.send_signal(signal.SIGWINCH)
        wait_until(lambda: all(len(lines) <= 7 and all(len(line) <= 60 for line in lines)
                               for lines in [t.screen()]), what=t.screen)
        t.press("q")
        assert t.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT,
                                    signal.SIGSEGV])
def test_the_terminal_is_restored_by_a_signal(running, number):
    with Terminal(running) as t:
        t.wait("services")
        assert not t.is_as_before()
        t.process.send_signal(number)
        assert t.process.wait(PATIENCE) == -number
        t.wait_as_before()


def test_ctrl_z_leaves_the_terminal_and_the_shell_enters_it_again(running):
    with Terminal(running) as t:
        t.wait("services")
        t.process.send_signal(signal.SIGTSTP)
        _pid, status = os.waitpid(t.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        t.wait_as_before()
        t.seen = b""
        t.process.send_signal(signal.SIGCONT)
        t.wait("services")
        assert t.seen.startswith(ENTER)
        assert not termios.tcgetattr(t.slave)[3] & (termios.ICANON | termios.ECHO)
        t.press("q")
        assert t.process.wait(PATIENCE) == 0
        t.wait_as_before()


def test_informerd_may_go_and_come_back(running):
    with Terminal(running) as t:
        t.wait("services", "watching")
        running.stop()
        t.wait("there is no control socket")
        running.start()
        t.wait("informerd ", "up ")
        t.press("q")
        assert t.process.wait(PATIENCE) == 0


def test_no_color_is_obeyed(running):
    with Terminal(running, NO_COLOR="1") as t:
        t.wait("services")
        assert not re.search(rb"\x1b\[[0-9;]*m", t.seen)
    with Terminal(running, NO_COLOR="") as t:
        t.wait("services")
        assert b"\x1b[1m" in t.seen


def test_without_a_terminal_it_prints_one_screen(running):
    done = running.ctl("top")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("services"))
    assert row.split()[1:3] == ["watching", "0.0"]
    assert running.ctl("top", "-o", "json").returncode == 64
    running.stop()
    assert running.ctl("top").returncode == 2


def test_the_latency_is_in_the_status(running):
    now = running.control.hook("h")
    assert now["handled"] == 2 and 0 <= now["latency_p50_s"] <= now["latency_p99_s"]
    assert "P99" in running.ctl("hooks", "-o", "wide").stdout


def test_tables_fit_the_terminal_and_are_whole_in_a_pipe(api, daemon, new_hook):
    chatty = new_hook("echo a line that is much too long for a terminal of this width, really; exit 3")
    api.apply(service("n/a-service-with-a-name"))
    watch = {"resource": "services", "namespaces": ["*"]}
    d = daemon(api, hooks={"chatty": hook_settings(chatty, retry={"initial": "1h", "max": "1h"})},
               watches={"services": watch, "w": {"resource": "widgets.of-a-long.example.com",
                                                 "namespaces": ["*"]}})
    chatty.wait(1)
    wait_until(lambda: d.control.hook("chatty")["runs_failed"])
    d.control.wait_watch("w", state="waiting")
    for args in (["watches"], ["hooks"], ["runs"], ["why", "chatty"], ["get", "services"]):
        lines = on_terminal(d, 80, *args)
        assert lines and all(len(line) <= 80 for line in lines), lines
    assert max(map(len, on_terminal(d, 80, "runs", "-o", "wide"))) > 80
    assert "of this width, really" in d.ctl("runs").stdout
    assert any("~" in line for line in on_terminal(d, 80, "runs"))
