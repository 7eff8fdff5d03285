# SPDX-License-Identifier: Apache-2.0
"""Hooks in tables, status and health, and informerctl's answers as input of other programs."""
import contextlib
import json
import sqlite3
import subprocess

import pytest
from control import wait_until
from fakeapi import service
from harness import ONCE, hook_settings


def columns(text):
    """The table as a list of {heading: cell}; cells here have no spaces in them."""
    head, *rows = text.splitlines()
    return [dict(zip(head.split(), row.split())) for row in rows]


def degraded(d, word):
    """The faults with this word. On a slow machine the first run may end before the server has said which
    cluster it is, which is a fault, too."""
    return [reason for reason in d.control.status()["degraded"] if word in reason]


@pytest.fixture
def one(api, daemon, hook):
    """one(...): a daemon whose hook has been told of n/a."""
    def make(settings=None, **more):
        api.apply(service("n/a"))
        d = daemon(api, hooks={"h": hook_settings(hook, **(settings or {}))}, **more)
        hook.wait(1)
        return d
    return make


def test_a_key_that_waits_for_longer_than_the_limit_is_degraded(one, api, hook):
    hook.exit_with(3)
    d = one({"retry": ONCE}, limits={"pending": "200ms"})
    [reason] = wait_until(lambda: degraded(d, "hook h"))
    assert "limits.pending" in reason
    assert d.ctl("status").returncode == 1
    hook.exit_with(0)
    assert d.ctl("run", "h", "--wait").returncode == 0
    wait_until(lambda: d.control.status()["degraded"] == [])
    assert d.ctl("status").returncode == 0


def test_a_run_that_hangs_is_degraded_but_a_parked_key_is_not(one, hook):
    hook.block()
    d = one({"park_exit": [3]}, limits={"pending": "100ms"})
    wait_until(lambda: degraded(d, "hook h"))
    now = d.control.hook("h")
    assert (now["pending"], now["running"]) == (0, 1) and now["oldest_pending_s"] >= 0.1
    hook.exit_with(3)
    hook.release()
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    assert degraded(d, "hook h") == []
    assert d.control.hook("h")["oldest_pending_s"] is None


def test_the_table_of_hooks_shows_what_is_parked_and_paused(one, hook):
    hook.exit_with(3)
    d = one({"park_exit": [3]})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    assert d.ctl("pause", "h").returncode == 0
    [row] = columns(d.ctl("hooks").stdout)
    assert (row["PARKED"], row["PAUSED"], row["PENDING"], row["RUNNING"]) == ("1", "yes", "0", "0")
    assert "PARKED" in d.ctl("status").stdout


@pytest.mark.parametrize("mode", ["object", "batch"])
def test_parked_deletes_are_bounded_counted_and_logged_once(api, daemon, mode):
    count, kept = 40, 5
    d = daemon(api, hooks={"h": {
        "sources": ["services"], "command": ["/bin/false"], "mode": mode, "settle": ["0s", "0s"],
        "parked_deletes": kept, "retry": {"attempts": 1, "initial": "1ms"}}}).synced()
    api.wait_watching("services")
    for number in range(count):
        api.apply(service(f"n/s{number}"))
        d.caught_up(api)    # its only attempt has failed
        api.delete("services", f"n/s{number}")
        d.caught_up(api)
    wait_until(lambda: d.control.hook("h")["forgotten"] == count - kept, what="the oldest are forgotten")
    [row] = columns(d.ctl("hooks").stdout)
    assert (row["FORGOTTEN"], row["PARKED"]) == (str(count - kept), str(kept if mode == "object" else 1))
    assert len(d.log(msg="parked DELETED forgotten: it is too old or there are too many "
                         "(logged once per hook)")) == 1
    d.settled(api)
    for _ in range(2):
        d.stop()
        assert marks_of(d) == {f"n/s{number}" for number in range(count - kept, count)}
        d.again(api)
        assert d.control.hook("h")["forgotten"] == count - kept


def marks_of(d):
    """The keys of the delivery records in the state."""
    with contextlib.closing(sqlite3.connect(d.state / "state.db")) as db:
        return {key for (key,) in db.execute("SELECT key FROM mark")}


def test_readiness_names_the_hook_that_comes_first(daemon, api, new_hook):
    first, second = new_hook(), new_hook()
    first.block()
    api.apply(service("n/a"))
    d = daemon(api, hooks={"first": hook_settings(first),
                           "second": hook_settings(second, after=["first"])})
    first.wait(1)
    status, _headers, body = d.control.ask("/readyz")
    assert status == 503 and "hook first: its first run has not ended\n" in body.decode()
    assert "hook second: its first run has not ended: after first\n" in body.decode()
    first.release()
    second.wait(1)
    wait_until(lambda: d.control.ask("/readyz")[0] == 200)


def test_the_input_can_be_piped_into_a_program(one, api, hook):
    d = one()
    d.caught_up(api)
    shown = d.ctl("input", "h", "n/a").stdout
    assert shown.endswith("}\n") and shown.count("\n") == 1
    done = subprocess.run([hook.path], input=shown, text=True, env={"INFORMERD_RUN": "by-hand"})
    assert done.returncode == 0
    told, by_hand = hook.runs()
    assert by_hand.event["object"] == told.event["object"] and by_hand.reason == "manual"


def test_output_of_hooks_is_never_raw(api, daemon, new_program):
    program = new_program(r"printf '\033[31mred\177\302\233m\377\302\n'; printf 'no\033end' >&2")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [program.path]}})
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 1)
    _status, _headers, body = d.control.ask("/v1/runs")
    assert not [byte for byte in body if byte < 0x20 and byte != 0x0a] and 0x7f not in body
    text = body.decode()
    assert "\x9b" not in text
    [run] = json.loads(text)
    assert run["stdout"] == "\x1b[31mred\x7f\x9bm\ufffd\ufffd\n" and run["stderr"] == "no\x1bend"
    assert "no\\u001bend" in d.ctl("runs").stdout


def test_many_keys_that_wait_are_bounded(api, daemon, hook):
    for number in range(1005):
        api.apply(service(f"n/s{number:04}"))
    hook.block()
    d = daemon(api, hooks={"h": hook})
    hook.wait(1)
    answer = d.ctl_json("why", "h")
    assert len(answer["units"]) == 1000 and answer["left_out"] == 5
    reasons = [unit["reason"] for unit in answer["units"]]
    assert reasons.count("running") == 1 and reasons.count("slot") == 999
    assert d.ctl("why", "h").stdout.endswith("\nand 5 more keys\n")
    assert len(d.ctl("why", "h", "-o", "name").stdout.split()) == 1000
    assert d.ctl("pause", "h").returncode == 0
    hook.release()
