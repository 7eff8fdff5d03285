# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "At least once": whichever process is killed, handled states stay handled, and hooks get
all others: a few times here, five hundred times in a long run. The judges of tests/crash find each broken
rule."""
import subprocess
import sys
import types

import campaign
import pytest
from fakeapi import simple
from fakeapi.store import Store
from harness import BUILD, ROOT

sys.path.append(str(ROOT / "tests/crash"))

import oracle  # noqa: E402
import streams  # noqa: E402
import told  # noqa: E402
import churn  # noqa: E402

A, B = "a", "b"


def test_no_kill_loses_or_repeats_anything():
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/crash/state.py", "--build", BUILD,
                           "--kills", str(campaign.size(8, 500)), "--bound", "off"], text=True,
                          capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0


class Story:
    """A made-up history for the judge: an object that changes, the runs of one hook, and kills."""

    def __init__(self):
        self.world = churn.World(types.SimpleNamespace(store=Store()))
        self.store = self.world.api.store
        self.oracle = oracle.Oracle(self.world, {"h": ["maps"]}, 0.25)
        self.serial, self.clock, self.processes = 0, 1000.0, []
        self.start()

    def start(self):
        self.process = oracle.Process(len(self.processes), self.clock)
        self.processes.append(self.process)

    def kill(self, after=10.0, opened=False, dying=lambda: None):
        """The daemon is killed so many seconds after the last event, is dead when dying() has
        returned, and is started again. opened: whether the key's delivery record is open on
        disk."""
        self.clock += after
        killed = self.clock
        dying()
        self.oracle.died(self.process, killed, self.clock,
                         {("h", "maps", "n/k")} if opened else set())
        self.clock += 1
        self.start()

    def put(self, value, key="n/k"):
        obj = self.store.apply(simple("ConfigMap", key, data={"value": value}))
        return self._changed(obj)

    def delete(self):
        return self._changed(self.store.delete("configmaps", "n/k"))

    def _changed(self, obj):
        self.world.look()
        self.clock += 1
        self.world.times[self.store.rv] = self.clock
        return obj

    def event(self, kind, obj, **more):
        event = {"type": kind, "cause": "watch", "source": "maps", "namespace": "n",
                 "name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"], "object": obj,
                 "final_state_unknown": False,
                 "resource_version": obj["metadata"]["resourceVersion"], **more}
        return told.event_of(event, None)

    def run(self, *events, status=0, noted=True, snapshot=None):
        """A run with these events; status None: it is killed. noted: informerd logs its success."""
        self.serial += 1
        name = f"x-{self.serial}"
        self.clock += 1
        self.oracle.feed({"what": "start", "at": self.clock, "hook": "h", "run": name,
                          "attempt": 1, "reason": "change", "events": list(events),
                          "snapshot": snapshot, "seen": {"maps": self.store.rv}}, self.process)
        if status is not None:
            self.oracle.feed({"what": "end", "at": self.clock, "hook": "h", "run": name,
                              "status": status}, self.process)
        if status == 0 and noted:
            self.process.noted[self.serial] = self.clock

    def tell(self, kind, obj, **more):
        self.run(self.event(kind, obj), **more)

    def judged(self):
        self.oracle.check()
        return "\n".join(self.oracle.problems)


@pytest.fixture
def story():
    return Story()


def test_the_judge_accepts_a_correct_history(story):
    first = story.put(A)
    story.tell("ADDED", first)
    story.kill()
    story.tell("MODIFIED", story.put(B), status=None)
    story.kill(opened=True)
    story.tell("MODIFIED", story.put(A), status=1)
    story.tell("MODIFIED", story.put(A))
    gone = story.delete()
    again = story.put(A)
    story.run(story.event("DELETED", gone), story.event("ADDED", again), noted=False)
    story.kill(after=0.1, opened=True)
    story.run(story.event("DELETED", gone), story.event("ADDED", again))
    assert not story.judged()


def test_the_judge_finds_a_state_that_is_told_again(story):
    obj = story.put(A)
    story.tell("ADDED", obj)
    story.kill(opened=True)
    story.tell("ADDED", obj)
    assert "handled, and told again" in story.judged()


def test_the_judge_finds_a_state_that_is_told_again_despite_its_record(story):
    obj = story.put(A)
    story.tell("ADDED", obj, noted=False)
    story.kill(after=0.1)
    story.tell("ADDED", obj)
    assert "told again, and its delivery record was not open" in story.judged()


def test_the_judge_finds_a_run_for_a_change_and_back(story):
    story.tell("ADDED", story.put(A))
    story.put(B)
    story.kill()
    story.tell("MODIFIED", story.put(A))
    assert "told again, and its delivery record was not open" in story.judged()


def test_the_judge_allows_a_change_and_back_when_a_run_may_have_begun(story):
    story.tell("ADDED", story.put(A))
    story.put(B)
    story.kill(opened=True)
    story.tell("MODIFIED", story.put(A))
    assert not story.judged()


def test_the_judge_finds_a_run_without_an_open_delivery_record(story):
    story.tell("ADDED", story.put(A))
    story.tell("MODIFIED", story.put(B), status=None)
    story.kill()
    story.tell("MODIFIED", story.put("c"))
    assert "its delivery record is not open" in story.judged()


def test_the_judge_finds_a_repeated_state_within_one_process(story):
    story.tell("ADDED", story.put(A))
    story.put(B)
    story.tell("MODIFIED", story.put(A))
    assert "handled, and told again" in story.judged()


def test_the_judge_allows_a_repeat_only_for_runs_in_flight(story):
    obj = story.put(A)
    story.tell("ADDED", obj)
    story.kill(after=0.2, opened=True)
    story.tell("ADDED", obj)
    assert not story.judged()
    story.kill(after=0.3, opened=True)
    story.tell("ADDED", obj)
    assert "handled, and told again" in story.judged()


def test_the_judge_finds_a_success_that_was_not_noted_in_time(story):
    obj = story.put(A)
    story.tell("ADDED", obj, noted=False)
    story.kill(after=0.3, opened=True)
    story.tell("ADDED", obj)
    assert "handled, and told again" in story.judged()


def test_the_judge_without_a_bound_goes_by_the_delivery_records_alone(story):
    story.oracle.bound = None
    obj = story.put(A)
    story.tell("ADDED", obj)
    story.kill(after=100, opened=True)
    story.tell("ADDED", obj)
    assert not story.judged()
    story.kill(after=0.1)
    story.tell("ADDED", obj)
    assert "told again, and its delivery record was not open" in story.judged()


@pytest.mark.parametrize("changes", ["never", "before", "while it dies"])
def test_the_judge_finds_successes_that_were_noted_out_of_order(story, changes):
    """If the object has changed, another run of it may have begun and opened its delivery
    record."""
    story.tell("ADDED", story.put(A))
    story.tell("ADDED", story.put(A, "n/other"))
    if changes == "before":
        story.put(B)
    story.kill(opened=True, dying=lambda: changes == "while it dies" and story.put(B))
    found = "its end is not kept, and that of a later run is" in "".join(story.oracle.problems)
    assert found is (changes == "never")


def test_the_judge_finds_a_delete_that_is_told_twice(story):
    story.tell("ADDED", story.put(A))
    gone = story.delete()
    story.tell("DELETED", gone)
    story.kill(opened=True)
    story.tell("DELETED", gone)
    assert "handled, and told again" in story.judged()


def test_the_judge_finds_a_state_that_was_not_told(story):
    story.tell("ADDED", story.put(A))
    story.kill()
    story.put(B)
    assert "not told the newest state" in story.judged()


def test_the_judge_finds_a_killed_run_that_is_not_repeated(story):
    story.tell("ADDED", story.put(A))
    story.tell("MODIFIED", story.put(B), status=None)
    story.kill(opened=True)
    story.put(A)
    assert "not told the newest state" in story.judged()


def test_the_judge_finds_a_lost_delete(story):
    story.tell("ADDED", story.put(A))
    story.kill()
    story.delete()
    assert "was lost" in story.judged()


def test_the_judge_finds_a_lost_delete_before_the_successor(story):
    story.tell("ADDED", story.put(A))
    story.kill()
    story.delete()
    story.tell("ADDED", story.put(A))
    assert "was lost" in story.judged() and "told before the end of" in story.judged()


def test_the_judge_finds_a_delete_after_the_successor_in_one_run(story):
    story.tell("ADDED", story.put(A))
    gone, again = story.delete(), story.put(A)
    story.run(story.event("ADDED", again), story.event("DELETED", gone))
    assert "told before the end of" in story.judged()


def test_the_judge_finds_a_step_back_in_time(story):
    first = story.put(A)
    story.tell("ADDED", first)
    story.tell("MODIFIED", story.put(B), status=None)
    story.kill(opened=True)
    story.tell("MODIFIED", first)
    assert "older than what was told before" in story.judged()


def test_the_judge_finds_a_state_that_never_existed(story):
    obj = story.put(A)
    story.tell("ADDED", {**obj, "data": {"value": "c"}})
    assert "this never was so" in story.judged()


@pytest.mark.parametrize("unknown", [False, True])
def test_the_judge_finds_a_wrong_last_object(story, unknown):
    obj = story.put(A)
    story.tell("ADDED", obj)
    gone = story.delete()
    story.run(story.event("DELETED", {**gone, "data": {"value": "c"}}, final_state_unknown=unknown))
    assert "state" in story.judged()
    assert not story.oracle.problems[1:]


def test_the_judge_finds_a_delete_without_an_object(story):
    story.tell("ADDED", story.put(A))
    story.run(story.event("DELETED", story.delete()) | {"digest": None})
    assert "without the last object" in story.judged()


def test_the_judge_finds_a_wrong_old_object(story):
    story.tell("ADDED", story.put(A))
    middle = story.put(B)
    story.run(story.event("MODIFIED", story.put("c"), old_object=middle))
    assert "old_object is nothing" in story.judged()


def test_the_judge_finds_a_repeated_snapshot_and_an_old_one(story):
    obj = story.put(A)
    shown = {"maps": {"n/k": [obj["metadata"]["uid"], told.digest(obj)]}}
    story.run(story.event("ADDED", obj), snapshot=shown)
    story.kill()
    story.run(snapshot=shown)
    assert "a snapshot that was handled, again" in story.judged()
    count = len(story.oracle.problems)
    story.kill(opened=True)
    story.run(story.event("ADDED", obj), snapshot=shown)
    story.kill(opened=True)
    before = len(story.oracle.problems)
    story.run(snapshot=shown)
    assert len(story.oracle.problems) == before >= count, "its delivery record was open"
    story.put(B)
    assert "the last snapshot is not what is there" in story.judged()


class Server:
    """A made-up history for the judge of requests: those of a daemon that is killed again and
    again, of one watch."""

    def __init__(self):
        self.judge = streams.Streams(types.SimpleNamespace(on=lambda **_match: self), {"w": "maps"})

    def run(self, _handler):
        """Stands in for run() of a rule of the fake API server."""

    def asks(self, *words):
        """The daemon sends these requests: "L", "W7", "W7!" (the server refuses the version), "L-"
        (the answer does not come)."""
        for word in words:
            request = types.SimpleNamespace(kind=word[0], resource="maps", token=None,
                                            rv=word[1:].rstrip("!-"))
            ask = streams.Ask(request, self.judge.server)
            ask.refused, ask.done = word.endswith("!"), not word.endswith("-")
            self.judge.asked.append(ask)
        return self

    def keeps(self, version):
        self.judge.begin({"w": version} if version else {})


@pytest.mark.parametrize("processes, problem", [
    ([("L W5", "7"), ("W7", "7"), ("W7! L W9", "9"), ("W9", "9")], None),
    ([("L", None), ("L- L W5", "5"), ("W5! L", None), ("L W9", "9")], None),
    ([("L W5", "7"), ("L W7", "7")], "L() after a restart, its version was 7"),
    ([("L W5", "7"), ("W5", "7")], "W(5) after a restart, its version was 7"),
    ([("L W5", "7"), ("W7 L W7", "7")], "which had gone well"),
    ([("L W5", "7"), ("W7! L L W9", "9")], "which had gone well"),
    ([("L W5", "7"), ("W7! W7", "7")], "no LIST between"),
    ([("L W5", "7"), ("W7", None)], "its version is not in the state any more"),
])
def test_the_judge_of_requests(processes, problem):
    server = Server()
    for words, version in processes:
        server.asks(*words.split()).keeps(version)
    found = "\n".join(server.judge.problems)
    assert problem in found if problem else not found
