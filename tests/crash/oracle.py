# SPDX-License-Identifier: Apache-2.0
"""Judges the events that hooks got over many kills, by the log of the starts and ends of their runs.

A *telling* is one event in one run. A *process* is one process of informerd, from its start to its
kill. A run is *in flight* at a kill if informerd had no time to note its success: the hook's end
line is missing, or the delivery record in the state is still open after the kill. A delivery record
(a row of table mark) is open when a run was started for it and no run has succeeded since. The
rules:
* A hook is told of nothing twice, except for runs that were in flight.
* When a run was started and did not succeed, its delivery record is open.
* informerd notes successes in their order: no record of a success is open while the record of a
  later success is closed.
* On a machine that has nothing else to do, informerd has noted each run that ended `bound` seconds
  before the kill. The end of the run is the line in informerd's log, or the hook's own if that line
  is missing.
"""
import collections

ALIVE = ("ADDED", "MODIFIED")


class Run:
    def __init__(self, line, process):
        self.id, self.hook, self.process = line["run"], line["hook"], process
        self.at, self.reason, self.attempt = line["at"], line["reason"], line["attempt"]
        self.events, self.snapshot = line["events"], line["snapshot"]
        self.seen = line.get("seen", {})    # the version that the snapshot has at least
        self.ended_at = self.status = None

    @property
    def ok(self):
        return self.status == 0

    @property
    def number(self):
        return int(self.id.rpartition("-")[2])

    def __str__(self):
        end = "killed" if self.status is None else f"status {self.status} at {self.ended_at:.3f}"
        return f"run {self.id}, process {self.process.number} ({self.reason}, {self.at:.3f}, {end})"


class Telling(collections.namedtuple("Telling", "run event")):
    """One event in one run."""

    @property
    def state(self):
        return self.event["uid"], self.event["digest"] if self.event["type"] in ALIVE else None

    def __str__(self):
        e = self.event
        return f"{e['type']} {e['uid'][-4:]} rv {e['rv']} {e['digest']} ({e['cause']}), {self.run}"


class Process:
    """One process of informerd: when it was started and killed, and which ends of runs it
    logged."""

    def __init__(self, number, started_at):
        self.number, self.started_at = number, started_at
        self.killed_at = self.gone_at = None
        self.open = set()   # {(hook, source, key)} whose delivery records were open after its death
        self.noted = {}     # number of a run -> when its success was logged; in that order


class Slot:
    """The tellings of one key to one hook."""

    def __init__(self):
        self.last = None        # the Telling of the run that started last
        self.newest = 0         # the highest resourceVersion in an ADDED or MODIFIED
        self.begun = {}         # uid -> the first Telling with an ADDED or MODIFIED of it
        self.told = collections.defaultdict(set)    # uid -> the digests in its tellings
        self.ended = {}         # uid -> the Telling with its DELETED whose run succeeded
        self.handled = None     # the last Telling whose run succeeded


class Oracle:
    """feed() it all lines of the log in their order, and call check() when no run is under way.
    world: churn.World."""

    def __init__(self, world, hooks, bound, slow=()):
        """slow: hooks whose runs go on after the end of their command (those with output). bound:
        seconds from the end of a run to its note; None for a machine that may be slow."""
        self.world, self.hooks, self.bound, self.slow = world, hooks, bound, slow
        self.runs, self.slots = {}, collections.defaultdict(Slot)
        self.processes = []     # those that have died
        self.contents = {}      # hook -> its last Run with a snapshot
        self.problems = []
        self.count = collections.Counter()
        self.largest = collections.Counter()

    def wrong(self, what, *about):
        self.problems.append("; ".join([what, *map(str, about)]))

    # ---- The log

    def feed(self, line, process):
        if line["what"] == "start":
            if line["run"] in self.runs:
                self.wrong("two runs have one id", line["run"])
            run = self.runs[line["run"]] = Run(line, process)
            self.count["runs"] += 1
            self._start(run)
        elif line["what"] == "end":
            run = self.runs[line["run"]]
            run.ended_at, run.status = line["at"], line["status"]
            self.count["runs that failed"] += not run.ok
            if run.ok:
                self._success(run)

    def _start(self, run):
        over = set()    # uids whose DELETED is in this run
        for event in run.events:
            slot = self.slots[run.hook, event["source"], event["key"]]
            telling = Telling(run, event)
            if event["type"] in ALIVE:
                self._alive(slot, telling, over)
            else:
                self._gone(slot, telling)
                over.add(event["uid"])
            self._twice(slot, telling)
            slot.last = telling
        if run.snapshot is not None:
            self._content(run)

    def _success(self, run):
        for event in run.events:
            slot = self.slots[run.hook, event["source"], event["key"]]
            slot.handled = Telling(run, event)
            if event["type"] not in ALIVE:
                slot.ended[event["uid"]] = slot.handled

    def died(self, process, at, gone, opened):
        """All lines of this process were fed. It was killed at time `at`, and known to be dead at
        time `gone`: it died between the two. opened: the delivery records that are open now."""
        process.killed_at, process.gone_at, process.open = at, gone, opened
        self.processes.append(process)
        for where, slot in self.slots.items():
            last = slot.last
            if last and last.run.process is process and not last.run.ok and where not in opened:
                self.wrong(f"{where}: was told, not handled, and its delivery record is not open",
                           last)
        self._in_order(process)

    def _in_order(self, process):
        """Checks that the process noted the successes in their order: a run that ended before
        another one whose success is on disk has its own success on disk as well. A key that has
        changed since is left out: another run of it may have begun, which opens its record
        again."""
        ended = {number: place for place, number in enumerate(process.noted)}
        last = [(where, slot.last) for where, slot in self.slots.items() if slot.last
                and slot.last.run.process is process and slot.last.run.number in ended
                and slot.last.run.hook not in self.slow]
        newest = max((ended[told.run.number] for where, told in last if where not in process.open),
                     default=-1)
        for where, told in last:
            if where in process.open and ended[told.run.number] < newest and self.world.is_newest(
                    where[1:], int(told.event["rv"]), process.gone_at):
                self.wrong(f"{where}: its end is not kept, and that of a later run is", told)

    # ---- One telling

    def _alive(self, slot, telling, over):
        event, uid = telling.event, telling.event["uid"]
        where = event["source"], event["key"]
        if not self.world.was(where, int(event["rv"]), uid, event["digest"]):
            self.wrong(f"{where}: this never was so", telling)
        if telling.run.hook not in self.slow:
            for other in slot.begun:
                if other != uid and other not in slot.ended and other not in over:
                    self.wrong(f"{where}: told before the end of {other}", telling, slot.last)
        if uid in slot.ended:
            self.wrong(f"{where}: told alive after its end", telling, slot.ended[uid])
        if int(event["rv"]) < slot.newest:
            self.wrong(f"{where}: older than what was told before", telling, slot.last)
        if event["type"] == "MODIFIED" and uid not in slot.begun and not self._hidden(telling):
            self.wrong(f"{where}: MODIFIED of what was never told", telling)
        self._old(slot, telling)
        slot.newest = max(slot.newest, int(event["rv"]))
        slot.begun.setdefault(uid, telling)
        slot.told[uid].add(event["digest"])

    def _old(self, slot, telling):
        """Checks that old_object is the state that was handled last."""
        event, last = telling.event, slot.handled
        if event["old"] is None:
            return
        if event["old_uid"] != event["uid"] or event["old"] not in slot.told[event["uid"]]:
            self.wrong("old_object is nothing that the hook was told", telling, last)
        elif last and last.run.process is telling.run.process and \
                last.event["digest"] != event["old"]:
            self.wrong("old_object is not what was handled last", telling, last)

    def _hidden(self, telling):
        """Whether a kill can be the reason why the log has no earlier run of this object: informerd
        had begun to start one."""
        uid = telling.event["uid"]
        return self.world.born(uid) <= telling.run.process.started_at

    def _gone(self, slot, telling):
        event, uid = telling.event, telling.event["uid"]
        where = event["source"], event["key"]
        if uid not in slot.begun:
            self.count["ends of what no run has logged"] += 1
            if not self._hidden(telling):
                self.wrong(f"{where}: the end of what was never told", telling)
        if event["unknown"]:
            self.count["ends with final_state_unknown"] += 1
        if telling.run.snapshot is not None:
            return
        if event["digest"] is None:
            self.wrong(f"{where}: an end without the last object", telling)
        elif event["unknown"] and not self.world.had(uid, event["digest"]):
            self.wrong(f"{where}: its last state is none that there was", telling)
        elif not event["unknown"] and self.world.finals.get(uid) != event["digest"]:
            self.wrong(f"{where}: its final state is not the server's", telling)

    # ---- Nothing twice

    def _settled(self, run, later):
        """Whether informerd must have noted the success of this run when the later run started."""
        if not run.ok:
            self.count["again: its run failed or was killed"] += later.process is not run.process
            return False
        if later.process is run.process:
            return True
        killed, noted = run.process.killed_at, run.process.noted.get(run.number)
        if noted is None and run.hook in self.slow:
            return False
        since = killed - (run.ended_at if noted is None else noted)
        if self.bound is not None and since > self.bound:
            return True
        self.count["again: its run had ended, that was not noted" if noted is None else
                   "again: its run had ended, that was just noted"] += 1
        self._far("longest from such an end to the kill, ms", killed - run.ended_at)
        if noted is not None:
            self._far("longest from such a note to the kill, ms", killed - noted)
        return False

    def _far(self, name, seconds):
        self.largest[name] = max(self.largest[name], round(seconds * 1000, 1))

    def _twice(self, slot, telling):
        before = slot.last
        if before is None or before.state != telling.state:
            return
        event = telling.event
        where = event["source"], event["key"]
        if before.run.process is not telling.run.process:
            self.count["told again after a kill"] += 1
            if not self._was_open(before.run, telling.run, where):
                self.wrong(f"{where}: told again, and its delivery record was not open", before,
                           telling)
            elif event["type"] in ALIVE and self.world.changed_between(
                    where, int(before.event["rv"]), int(event["rv"]), *telling.state):
                self.count["again: changed and back, with a run between"] += 1
                return
        if self._settled(before.run, telling.run):
            self.wrong(f"{where}: handled, and told again", f"first {before}", f"then {telling}")

    def _was_open(self, first, then, where):
        """Whether the delivery record of this key was ever open on disk between the two runs."""
        between = self.processes[first.process.number:then.process.number]
        return any((first.hook, *where) in process.open for process in between)

    def _content(self, run):
        """Checks that a run without changes has a reason: the snapshot is another one, or the last
        run failed."""
        before, self.contents[run.hook] = self.contents.get(run.hook), run
        if before is None or run.events or before.snapshot != run.snapshot or not before.ok:
            return
        if before.process is not run.process and (
                not self._is_kept(before, run) or self.world.changed_since(before.seen, run.at)):
            return
        self.wrong("a snapshot that was handled, again", before, run)

    def _is_kept(self, run, later):
        """Whether the state on disk says that a run was handled. A run without changes has no
        delivery record, so the state says nothing of it."""
        return bool(run.events) and not any(
            hook == run.hook
            for process in self.processes[run.process.number:later.process.number]
            for hook, _source, _key in process.open)

    # ---- When nothing is under way

    def check(self):
        """Checks that nothing was lost: each hook was told of the newest state of each object, and
        of the end of each object that is gone."""
        for hook, sources in self.hooks.items():
            for source, key in [where for where in self.world.states if where[0] in sources]:
                self._check_slot(hook, source, key)
            run = self.contents.get(hook)
            if run is not None and not (run.ok and self._is_now(run, sources)):
                self.wrong(f"{hook}: the last snapshot is not what is there", run, run.snapshot)

    def _is_now(self, run, sources):
        now = self.world.content()
        return run.snapshot == {source: now[source] for source in sources}

    def _check_slot(self, hook, source, key):
        slot, (uid, digest) = self.slots[hook, source, key], self.world.now((source, key))
        name, last = f"{hook} {source} {key}", slot.last
        if uid is not None:
            if last is None or not last.run.ok or last.state != (uid, digest):
                self.wrong(f"{name}: not told the newest state {uid[-4:]} {digest}", last)
        if hook in self.slow:
            return
        for other in slot.begun:
            if other != uid and other not in slot.ended:
                self.wrong(f"{name}: the end of {other[-4:]} was lost", last)
        if uid is None and last is not None and (last.event["type"] in ALIVE or not last.run.ok):
            self.wrong(f"{name}: it is gone, and the last run did not tell so", last)
