# SPDX-License-Identifier: Apache-2.0
"""informerctl -w: the answer again when something in it has changed, and not before."""
import subprocess
import threading

import pytest
from control import PATIENCE, wait_until
from fakeapi import service
from harness import INFORMERCTL


class Repeater:
    """informerctl -w that runs; `text` is its output so far: with Repeater(d, "hooks") as r."""

    def __init__(self, daemon, *args):
        self.process = subprocess.Popen(
            [INFORMERCTL, "--socket", daemon.control.path, *args, "-w"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.wait()
        self.reader.join(60)
        self.process.stdout.close()
        self.process.stderr.close()


def test_a_table_comes_again_when_something_changed(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    with Repeater(d, "get", "services") as r, Repeater(d, "watches", "-o", "name") as names:
        wait_until(lambda: "a" in r.text.split() and "services" in names.text)
        assert r.text.count("NAMESPACE") == 1
        api.apply(service("n/b"))
        wait_until(lambda: "b" in r.text.split())
        assert r.text.count("NAMESPACE") == 2 and "\n\nNAMESPACE" in r.text
        wait_until(lambda: names.text.count("services") == 2)   # its count of events is another one
        d.stop()
        assert r.process.wait(PATIENCE) == 2
        assert "informerctl: " in r.process.stderr.read()


def test_ages_alone_print_nothing(api, daemon):
    d = daemon(api).caught_up(api)
    with Repeater(d, "watches") as r, Repeater(d, "get", "services") as objects:
        wait_until(lambda: "services" in r.text)
        before = d.control.watch("services")["contact_age_s"]
        wait_until(lambda: d.control.watch("services")["contact_age_s"] > before + 2.5)
        assert r.text.count("WATCH") == 1 and objects.text.count("NAMESPACE") == 1


def test_it_ends_with_its_reader(api, daemon):
    d = daemon(api).synced()
    done = subprocess.run(["/bin/sh", "-c", f"{INFORMERCTL} --socket {d.control.path} hooks -w "
                                            "| head -n 1"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.stdout.startswith("HOOK") and done.stderr == ""


def test_commands_without_it_say_so(api, daemon):
    d = daemon(api).synced()
    done = d.ctl("relist", "services", "-w")
    assert done.returncode == 64 and "relist has no -w" in done.stderr


@pytest.mark.parametrize("words", [["hooks", "-w"], ["status", "-w", "-o", "json"], ["watches"]])
def test_a_full_disk_ends_it_with_a_sentence(api, daemon, words):
    d = daemon(api).synced()
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([INFORMERCTL, "--socket", d.control.path, *words], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (1, "informerctl: stdout: No space left on device\n")
