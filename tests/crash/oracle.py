# SPDX-License-Identifier: Apache-2.0
"""Judges what hooks were told over many kills, by the log of their starts and ends.

A *telling* is one event in one run. A *life* here is that of a process of informerd: from one start
to its kill. *In flight* is a run whose success informerd had no time to note: the hook's end line
is missing, or its mark in the state is still open when all is dead. Nothing else may be told twice.
The mark of a run that was started and not handled must be open; and what ended earlier is noted
earlier: no mark of a success is open when that of a later one is closed. On a machine that has
nothing else to do there is a bound, too: what informerd's own log (the hook's, if there is no line)
says to have ended `bound` seconds before the kill is noted.
"""
import collections

ALIVE = ("ADDED", "MODIFIED")


class Run:
    def __init__(self, line, life):
        self.id, self.hook, self.life = line["run"], line["hook"], life
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
        return f"run {self.id}, life {self.life.number} ({self.reason}, {self.at:.3f}, {end})"


class Telling(collections.namedtuple("Telling", "run event")):
    """One event of a run."""

    @property
    def state(self):
        return self.event["uid"], self.event["digest"] if self.event["type"] in ALIVE else None

    def __str__(self):
        e = self.event
        return f"{e['type']} {e['uid'][-4:]} rv {e['rv']} {e['digest']} ({e['cause']}), {self.run}"


class Life:
    """One process: when it was started and killed, and which ends of runs its log has."""

    def __init__(self, number, started_at):
        self.number, self.started_at = number, started_at
        self.killed_at = self.gone_at = None
        self.open = set()   # {(hook, source, key)} whose marks were open when it was dead
        self.noted = {}     # number of a run -> when its success was logged; in that order


class Slot:
    """What a hook was told of one key."""

    def __init__(self):
        self.last = None        # Telling of the last start
        self.newest = 0         # the highest version it was told of something alive
        self.begun = {}         # uid -> first Telling of it alive
        self.told = collections.defaultdict(set)    # uid -> digests it was told
        self.ended = {}         # uid -> Telling of its DELETED that succeeded
        self.handled = None     # last Telling that succeeded


class Oracle:
    """feed() all lines in their order, check() when nothing is under way. world: churn.World."""

    def __init__(self, world, hooks, bound, slow=()):
        """slow: hooks whose runs go on after the end of their command (output). bound: None for a
        machine that may be slow: then no time is too long."""
        self.world, self.hooks, self.bound, self.slow = world, hooks, bound, slow
        self.runs, self.slots = {}, collections.defaultdict(Slot)
        self.lives = []         # those that have died
        self.contents = {}      # hook -> its last Run with a snapshot
        self.problems = []
        self.count = collections.Counter()
        self.largest = collections.Counter()

    def wrong(self, what, *about):
        self.problems.append("; ".join([what, *map(str, about)]))

    # ---- The log

    def feed(self, line, life):
        if line["what"] == "start":
            if line["run"] in self.runs:
                self.wrong("two runs have one id", line["run"])
            run = self.runs[line["run"]] = Run(line, life)
            self.count["runs"] += 1
            self._start(run)
        elif line["what"] == "end":
            run = self.runs[line["run"]]
            run.ended_at, run.status = line["at"], line["status"]
            self.count["runs that failed"] += not run.ok
            if run.ok:
                self._success(run)

    def _start(self, run):
        over = set()    # uids that this very run tells the end of
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

    def died(self, life, at, gone, opened):
        """All lines of this life were fed. It was alive until it was killed, and not any more when
        it was seen to be gone."""
        life.killed_at, life.gone_at, life.open = at, gone, opened
        self.lives.append(life)
        for where, slot in self.slots.items():
            last = slot.last
            if last and last.run.life is life and not last.run.ok and where not in opened:
                self.wrong(f"{where}: was told, not handled, and its mark is not open", last)
        self._in_order(life)

    def _in_order(self, life):
        """What ended before something that is kept is kept, too; if no other run can have begun
        of it since."""
        ended = {number: place for place, number in enumerate(life.noted)}
        last = [(where, slot.last) for where, slot in self.slots.items() if slot.last
                and slot.last.run.life is life and slot.last.run.number in ended
                and slot.last.run.hook not in self.slow]
        newest = max((ended[told.run.number] for where, told in last if where not in life.open),
                     default=-1)
        for where, told in last:
            if where in life.open and ended[told.run.number] < newest and self.world.is_newest(
                    where[1:], int(told.event["rv"]), life.gone_at):
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
        """old_object is the state that was handled last."""
        event, last = telling.event, slot.handled
        if event["old"] is None:
            return
        if event["old_uid"] != event["uid"] or event["old"] not in slot.told[event["uid"]]:
            self.wrong("old_object is nothing that the hook was told", telling, last)
        elif last and last.run.life is telling.run.life and last.event["digest"] != event["old"]:
            self.wrong("old_object is not what was handled last", telling, last)

    def _hidden(self, telling):
        """Whether a kill can have hidden a run that informerd began to start for this object."""
        uid = telling.event["uid"]
        return self.world.born(uid) <= telling.run.life.started_at

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
        """Whether the success of a run was noted, as far as the one that started later knows."""
        if not run.ok:
            self.count["again: its run failed or was killed"] += later.life is not run.life
            return False
        if later.life is run.life:
            return True
        killed, noted = run.life.killed_at, run.life.noted.get(run.number)
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
        if before.run.life is not telling.run.life:
            self.count["told again after a kill"] += 1
            if not self._was_open(before.run, telling.run, where):
                self.wrong(f"{where}: told again, and its mark was not open", before, telling)
            elif event["type"] in ALIVE and self.world.changed_between(
                    where, int(before.event["rv"]), int(event["rv"]), *telling.state):
                self.count["again: changed and back, with a run between"] += 1
                return
        if self._settled(before.run, telling.run):
            self.wrong(f"{where}: handled, and told again", f"first {before}", f"then {telling}")

    def _was_open(self, first, then, where):
        """Whether the state ever said between the two that a run was not handled yet."""
        between = self.lives[first.life.number:then.life.number]
        return any((first.hook, *where) in life.open for life in between)

    def _content(self, run):
        """A run without changes is due when there is another snapshot, or the last run failed."""
        before, self.contents[run.hook] = self.contents.get(run.hook), run
        if before is None or run.events or before.snapshot != run.snapshot or not before.ok:
            return
        if before.life is not run.life and (
                not self._is_kept(before, run) or self.world.changed_since(before.seen, run.at)):
            return
        self.wrong("a snapshot that was handled, again", before, run)

    def _is_kept(self, run, later):
        """Whether the state says that a run was handled; of one without changes it has no mark."""
        return bool(run.events) and not any(
            hook == run.hook for life in self.lives[run.life.number:later.life.number]
            for hook, _source, _key in life.open)

    # ---- When nothing is under way

    def check(self):
        """At least once: everybody was told the newest state, and the end of all that is gone."""
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
