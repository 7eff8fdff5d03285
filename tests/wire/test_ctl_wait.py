# SPDX-License-Identifier: Apache-2.0
"""informerctl wait: returns when informerd is synced, ready or idle, and not before."""
import json
import subprocess

from control import PATIENCE
from fakeapi import Gate, service
from harness import INFORMERCTL


class Waiter:
    """informerctl wait that runs: with Waiter(d, "idle") as w."""

    def __init__(self, daemon, condition, *options):
        self.daemon = daemon
        self.process = subprocess.Popen(
            [INFORMERCTL, "--socket", daemon.control.path, "wait", "--for", condition, *options],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Waits for the end; returns the exit code and the output."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def test_synced_and_ready_return_at_once_when_they_hold(api, daemon, hook):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    d.caught_up(api)
    for condition in ("synced", "ready", "idle"):
        done = d.ctl("wait", "--for", condition)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{condition}\n", "")
    assert d.ctl_json("wait", "--for", "idle") == {"for": "idle", "done": True, "waits_for": []}


def test_synced_returns_with_the_first_complete_list(api, daemon):
    gate = Gate()
    api.on_list("services").hold(gate)
    d = daemon(api)
    gate.wait_reached()
    with Waiter(d, "synced") as w:
        done = d.ctl("wait", "--for", "synced", "--timeout", "1ms")
        assert done.returncode == 1
        assert done.stderr == ("informerctl: not synced after 1ms:\n"
                               "  watch services: listing\n")
        gate.open()
        assert w.end() == (0, "synced\n", "")


def test_idle_returns_when_the_last_run_has_ended(api, daemon, hook):
    hook.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    with Waiter(d, "idle") as idle, Waiter(d, "ready") as ready:
        missing = d.ctl_json("wait", "--for", "idle", "--timeout", "1ms", code=1)
        assert missing["done"] is False
        assert missing["waits_for"][0].startswith("hook h: 1 pending, 1 running")
        hook.release()
        assert idle.end() == (0, "idle\n", "")
        assert ready.end() == (0, "ready\n", "")
    assert len(hook.runs()) == 2 and d.control.hook("h")["pending"] == 0


def test_the_end_of_informerd_ends_the_wait(api, daemon):
    gate = Gate()
    api.on_list("services").hold(gate)
    d = daemon(api)
    with Waiter(d, "synced") as w:
        d.stop()
        code, out, err = w.end()
        assert (code, out) == (2, "") and "informerctl: " in err
    gate.open()


def test_anyone_who_may_read_may_wait(api, daemon):
    d = daemon(api).synced()
    status, _headers, body = d.control.ask("/v1/wait/synced")
    assert status == 200 and json.loads(body)["done"] is True
