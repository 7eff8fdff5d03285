#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The load of fleets of agents on three API servers, in virtual time, from measure.py's figures.

    model.py                   the tables, as docs/fleet.md has them
    model.py --write           puts them into docs/fleet.md, and draws its pictures
    model.py --check           ends with 1 when the page has other tables
    model.py --fleets 100,1000 --only start,lose        fewer tables, faster

The same figures and seeds give the same tables. world.py has the simulated events, clients.py the
clients, apf.py the servers.
"""
import argparse
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import apf  # noqa: E402
import clients  # noqa: E402
import plots  # noqa: E402
import world  # noqa: E402

DOCS = HERE.parents[1] / "docs"
FLEETS = (100, 1000, 5000, 15000)
JITTERS = (0, 5, 10, 30, 60, 120, 300, 600)
ALL_DOWN, AWAY, SHARE, SPAN, STEADY = 20, 10, 0.05, 3600, 600
OWN_SHARES, OWN_QUEUES, OWN_LENGTH, OWN_HAND = 20, 64, 100, 4
WARM_JITTER = 10
EVERY = ("informerd", "client-go", "client-go-list", "kube-proxy")
STARTED = ("cold", "advised", "warm", "warm-advised", *EVERY[1:])
DRAWN = ("cold", "advised", "warm", *EVERY[1:])
SCENARIOS = {       # name: (clients, the events, the wait that is shown)
    "start": (STARTED, lambda w: w.start(), "last"),
    "upgrade": (STARTED, lambda w: w.upgrade(SHARE, AWAY), "p99"),
    "trickle": (STARTED, lambda w: w.trickle(SPAN, AWAY), "p99"),
    "steady": (EVERY, lambda w: w.steady(STEADY), None),
    "lose": (EVERY, lambda w: w.lose(), "last"),
    "restart": (("informerd", "advised", *EVERY[1:]), lambda w: w.restart_all(ALL_DOWN), "last"),
}


def number(value):
    """The number with two significant digits, in groups of three: 26431 is "26 000"."""
    if value < 0.05:
        return "0"
    rounded = round(value, 1 - math.floor(math.log10(value)))
    return f"{rounded:,.0f}".replace(",", " ") if rounded >= 10 else f"{round(rounded, 1):g}"


def parallel_rate(level, client):
    """The bytes of lists per second that one server sends under this level when all clients
    list."""
    width = max(level.width(stream.stored) for stream in client.streams)
    lists = max(1, level.seats // width)
    encode = min(stream.encode for stream in client.streams)
    return min(lists * min(encode, apf.CLIENT_NETWORK), apf.CORES * encode, apf.NETWORK)


def advised_jitter(fleet, level, client):
    """Twice the seconds that the servers need for the lists of all agents, as a round number."""
    total = fleet * sum(stream.list_bytes for stream in client.streams)
    seconds = 2 * total / (world.SERVERS * parallel_rate(level, client))
    return next((step for step in JITTERS if seconds <= max(step, 1)), JITTERS[-1])


def own_level():
    return apf.Level("node-agents", OWN_SHARES, waiting=OWN_QUEUES * OWN_LENGTH, hand=OWN_HAND)


class Model:
    """The tables; runs each simulation once."""

    def __init__(self, measured, fleets=FLEETS):
        self.measured, self.fleets = measured, fleets
        self.clients = clients.clients(measured)
        self.clients["informerd"] = self.clients["cold"].with_settings("informerd")
        self.level = apf.Level("system")
        self.done = {}

    def client(self, word, fleet):
        if not word.endswith("advised"):
            return self.clients[word]
        cold, warm = self.clients["cold"], self.clients["warm"]
        jitter = advised_jitter(fleet, self.level, cold)
        if word == "warm-advised":
            return warm.with_settings(f"{warm.name}, advised settings", relist_jitter=jitter,
                                      start_jitter=min(jitter, WARM_JITTER), list_concurrency=1)
        return cold.with_settings("informerd, cold, advised settings", start_jitter=jitter,
                                  relist_jitter=jitter, list_concurrency=1)

    def run(self, scenario, word, fleet, level=None):
        level = level or self.level
        key = scenario, word, fleet, level.name
        if key not in self.done:
            made = world.World(self.client(word, fleet), fleet, level)
            self.done[key] = SCENARIOS[scenario][1](made)
        return self.done[key]

    # Tables: lists of rows of cells

    def agent(self):
        """The requests of one agent."""
        phases = self.measured["phases"]
        rows = [["", "requests", "bytes sent", "bytes received", "TLS handshakes"]]
        names = {"cold": "cold start", "warm": "warm start",
                 "server_lost": "its API server dies, two others are there",
                 "server_restarted": "its only API server restarts with an empty watch cache"}
        for phase, words in names.items():
            one = phases[phase]
            counts = ", ".join(f"{n} {kind}" for kind, n in one["requests"].items())
            shakes = one["handshakes_full"] + one["handshakes_resumed"]
            rows.append([words, counts, number(one["sent"]), number(one["received"]), str(shakes)])
        units = self.measured["units"]
        rows.append(["a stream is renewed (every 5 to 10 min)", "1 watch",
                     number(units["renewal"]["sent"]), number(units["renewal"]["received"]), "0"])
        for unit, words in (("bookmark", "a bookmark (every minute and stream)"),
                            ("event", "a change of an EndpointSlice")):
            rows.append([words, "", "0", number(units[unit]), "0"])
        return rows

    def scenario(self, name):
        words, _act, wait = SCENARIOS[name]
        rows = [["", *(f"{number(fleet)} agents" for fleet in self.fleets)]]
        for word in words:
            cells = [self.cell(self.run(name, word, fleet).figures(), wait)
                     for fleet in self.fleets]
            shown = self.client(word, self.fleets[0]).name
            if "informerd" in words:    # here the agents run already: they do not start cold
                shown = shown.replace(", cold", "")
            rows.append([shown, *cells])
        return rows

    @staticmethod
    def cell(figures, wait):
        parts = [f"{number(figures['peak_requests'])} req/s",
                 f"{number(figures['peak_megabytes'])} MB/s"]
        if wait:
            parts.append(f"{number(figures[wait])} s")
        if figures["rejected"]:
            parts.append(f"{number(figures['rejected'])} × 429")
        return ", ".join(parts)

    def handshakes(self):
        rows = [["", *(f"{number(fleet)} agents" for fleet in self.fleets)]]
        for word in STARTED:
            rows.append([self.client(word, self.fleets[0]).name,
                         *(number(self.run("start", word, fleet).figures()["peak_handshakes"])
                           for fleet in self.fleets)])
        return rows

    def levels(self):
        """The largest fleet starts under different priority levels."""
        fleet = self.fleets[-1]
        rows = [["level", "seats of a server", "lists at a time", "cold start",
                 "cold start, advised settings"]]
        for level in (apf.Level("system"), apf.Level("workload-high"), apf.Level("workload-low"),
                      apf.Level("global-default"), own_level()):
            width = level.width(max(s.stored for s in self.clients["cold"].streams))
            cells = [self.cell(self.run("start", word, fleet, level).figures(), "last")
                     for word in ("cold", "advised")]
            rows.append([level.name, str(level.seats), str(level.seats // width), *cells])
        return rows

    def advice(self):
        rows = [["agents", "relist_jitter", "start_jitter, state kept",
                 "start_jitter, state_dir none", "all lists together", "the servers need"]]
        cold = self.clients["cold"]
        size = sum(stream.list_bytes for stream in cold.streams)
        for fleet in self.fleets:
            seconds = fleet * size / (world.SERVERS * parallel_rate(self.level, cold))
            jitter = advised_jitter(fleet, self.level, cold)
            rows.append([number(fleet), f"{jitter} s", f"{min(jitter, WARM_JITTER)} s",
                         f"{jitter} s", f"{number(fleet * size / 1e9)} GB",
                         f"{number(seconds)} s"])
        return rows

    def table(self, name):
        return getattr(self, name)() if hasattr(Model, name) else self.scenario(name)


TABLES = ("agent", *SCENARIOS, "handshakes", "levels", "advice")


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def block(name):
    """The place of a table in the page."""
    return re.compile(rf"(?<=<!-- model: {name} -->\n)((?!<!--).)*(?=<!-- end -->)", re.S)


def pictures(model):
    """{file name: text} of the pictures in docs/fleet.md."""
    fleet = 5000
    starts = [(model.client(word, fleet).name, model.run("start", word, fleet).meter.bytes)
              for word in DRAWN]
    sizes = {name: [(model.client(word, fleet).name,
                     [model.run(name, word, n).figures()["peak_megabytes"] for n in model.fleets])
                    for word in DRAWN] for name in ("start", "upgrade")}
    return {"fleet-start.svg": plots.over_time(
                f"{number(fleet)} agents begin at once: what three API servers send", starts, 65),
            "fleet-size.svg": plots.by_size("Peak of what three API servers send", [
                ("all agents begin at once", model.fleets, sizes["start"]),
                (f"rolling upgrade, {SHARE * 100:.0f} % at a time", model.fleets,
                 sizes["upgrade"])])}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--measured", type=pathlib.Path, default=HERE / "measured.json")
    options.add_argument("--fleets", default=",".join(map(str, FLEETS)))
    options.add_argument("--only", default=",".join(TABLES))
    options.add_argument("--write", action="store_true")
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    fleets = tuple(int(word) for word in options.fleets.split(","))
    model = Model(json.loads(options.measured.read_text()), fleets)
    tables = {name: markdown(model.table(name)) for name in options.only.split(",")}
    for name, text in tables.items():
        print(f"{name}\n\n{text}\n")
    if options.check:
        page = (DOCS / "fleet.md").read_text()
        other = [name for name, text in tables.items() if f"{text}\n<!-- end -->" not in page]
        sys.exit(f"docs/fleet.md has other tables: {', '.join(other)}" if other else 0)
    if options.write:
        page = DOCS / "fleet.md"
        whole = page.read_text()
        for name, text in tables.items():
            whole = block(name).sub(lambda _match, new=text: new + "\n", whole)
        page.write_text(whole)
        for name, text in pictures(model).items():
            (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()
