# SPDX-License-Identifier: Apache-2.0
"""The campaigns of tests/soak: a few random rotations under load here, a thousand in a long run (docs/design.md
"New credentials"); and that the checks of the long soak find what they are for."""
import subprocess
import sys

import pytest

import campaign
from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests/soak"))

import curves  # noqa: E402
import known  # noqa: E402

ONE, TWO, OTHER = ["uid-1", "digest-1"], ["uid-1", "digest-2"], ["uid-2", "digest-1"]


def test_s113_random_rotations_under_load_cost_no_event_and_no_list():
    pace = campaign.size(["--pace", "8"], [])
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/soak/rotation.py", "--build", BUILD,
                           "--rotations", str(campaign.size(20, 1000)), *pace], text=True,
                          capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0


@pytest.mark.skipif(not campaign.LONG, reason="takes minutes: a part of the long form")
def test_nothing_is_lost_and_nothing_grows_under_all_faults(tmp_path):
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/soak/soak.py", "--build", BUILD, "--output", tmp_path,
                           "--time", "5m"], text=True, capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0


def event(kind, state):
    return {"type": kind, "source": "maps", "key": "n/m", "uid": state[0], "digest": state[1]}


def run(number, *events, hook="each", snapshot=None, status=0):
    """The lines of one run in the log; status None: the run was killed."""
    start = {"what": "start", "run": f"r-{number}", "hook": hook, "events": list(events), "snapshot": snapshot}
    return [start] if status is None else [start, {"what": "end", "run": f"r-{number}", "status": status}]


def problems(*runs, now, hook="each"):
    """The findings of the check about these runs, if the server has this object (None: it is gone)."""
    knowledge = known.Knowledge()
    for lines in runs:
        for line in lines:
            knowledge.feed(line)
    return knowledge.problems({hook: ["maps"]}, {"maps": {} if now is None else {"n/m": now}})


def test_hooks_that_know_the_server_are_right():
    assert not problems(now=None)
    assert not problems(run(1, event("ADDED", ONE)), run(2, event("MODIFIED", TWO)), now=TWO)
    assert not problems(run(1, event("ADDED", ONE)), run(2, event("DELETED", ONE)), now=None)
    assert not problems(run(1, event("ADDED", ONE), status=None), run(2, event("ADDED", ONE)), now=ONE)


@pytest.mark.parametrize("runs, now", [
    ([], ONE),                                                                      # never told
    ([run(1, event("ADDED", ONE))], TWO),                                           # a lost change
    ([run(1, event("ADDED", ONE))], None),                                          # a lost end
    ([run(1, event("ADDED", ONE), status=1)], ONE),                                 # failed, and not tried again
    ([run(1, event("ADDED", ONE)), run(2, event("MODIFIED", TWO), status=None)], TWO),  # killed, not run again
    ([run(1, event("ADDED", ONE)), run(2, event("ADDED", OTHER))], OTHER)])         # no end of the first one
def test_a_hook_that_does_not_know_the_server_is_found(runs, now):
    assert problems(*runs, now=now)


def test_a_snapshot_that_is_not_what_the_server_has_is_found():
    def snapshot(content):
        return run(1, event("ADDED", ONE), hook="all", snapshot={"maps": content})
    assert problems(snapshot({}), now=ONE, hook="all")
    assert not problems(snapshot({"n/m": ONE}), now=ONE, hook="all")


def samples(folder, values):
    """Samples of one daemon, whose resident memory has these values."""
    made = curves.Samples(folder / "soak.csv", ["steady"], [])
    for second, value in enumerate(values):
        made.add({"seconds": second, **{f"steady {what}": 10 for what in curves.LIMITS}, "steady main_kb": value})
    made.close()
    return made


def test_a_curve_that_grows_is_found(tmp_path):
    found = samples(tmp_path, range(10000, 30000, 100)).problems()
    assert len(found) == 1 and "steady main_kb grows" in found[0], found


def test_a_curve_that_is_flat_after_the_warm_up_is_right(tmp_path):
    made = samples(tmp_path, [100] * 18 + [20000 + number % 7 * 100 for number in range(182)])
    assert made.problems() == []
    assert "<svg" in curves.picture(made, "title")
