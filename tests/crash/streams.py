# SPDX-License-Identifier: Apache-2.0
"""Judges a daemon's requests over many kills: it sends no LIST while the server still knows the
resourceVersion that the daemon has kept."""
import collections


class Ask:
    """A LIST or WATCH: its request, whether the server refused it, whether the answer is
    complete."""

    def __init__(self, request, server):
        """server: the number of the server process that got the request."""
        self.kind, self.resource, self.server = request.kind, request.resource, server
        self.rv, self.token = request.rv or "", request.token
        self.refused = self.done = False

    def __repr__(self):
        return f"{self.kind}({self.rv}){' refused' if self.refused else ''}"


class Streams:
    """Stands between the server and its answers, and notes each request. plurals: {watch:
    resource}."""

    def __init__(self, api, plurals):
        self.api, self.plurals = api, plurals
        self.asked, self.problems = [], []
        self.server = 0     # add 1 when the server restarts: an answer may be lost then
        self.count = collections.Counter()
        self.kept, self.expired, self.first = {}, set(), set(plurals)
        for plural in plurals.values():
            for kind in "LWS":
                api.on(kind=kind, resource=plural, times=None).run(self._serve)

    async def _serve(self, exchange):
        ask = Ask(exchange.request, self.server)
        self.asked.append(ask)
        send = exchange.event

        async def event(obj):
            ask.refused = ask.refused or obj["type"] == "ERROR"
            await send(obj)
        exchange.event = event
        await self.api.truth(exchange)
        ask.done = True

    def begin(self, versions):
        """To be called while the daemon is down: judges the requests of the process that has ended.
        versions: the {watch: resourceVersion} from which the next process has to go on."""
        asked, self.asked = self.asked, []
        self.judge(asked)
        self.kept = versions
        for watch in self.plurals:
            if watch not in self.kept and watch not in self.first | self.expired:
                self.problems.append(f"{watch}: its version is not in the state any more")
            if watch in self.kept:
                self.first.discard(watch)
                self.expired.discard(watch)

    def judge(self, asked):
        """Judges the requests of one process."""
        for watch, plural in self.plurals.items():
            before = None
            for ask in [ask for ask in asked if ask.resource == plural]:
                self._judge(watch, before, ask)
                before = ask
                if ask.refused:
                    self.expired.add(watch)

    def _judge(self, watch, before, ask):
        kept = self.kept.get(watch)
        self.count[{"L": "LISTs", "W": "WATCHes"}.get(ask.kind, ask.kind)] += 1
        self.count["watches whose version was refused"] += ask.refused
        if before is None:
            if kept and (ask.kind != "W" or ask.rv != kept):
                self.problems.append(f"{watch}: {ask} after a restart, its version was {kept}")
            elif kept:
                self.count["streams resumed, no LIST" if not ask.refused else
                           "streams resumed, but the version was gone"] += 1
            elif ask.kind != "L":
                self.problems.append(f"{watch}: {ask}, but it had no version")
            else:
                self.count["LISTs for want of a version"] += 1
        elif ask.kind == "L" and not (before.refused or before.kind == "L" and
                                      (not before.done or before.server != ask.server)):
            self.problems.append(f"{watch}: {ask} after {before}, which had gone well")
        elif ask.kind == "W" and before.refused:
            self.problems.append(f"{watch}: {ask} after {before}, and no LIST between")
