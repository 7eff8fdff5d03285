# SPDX-License-Identifier: Apache-2.0
"""The samples of a soak: rows of a CSV file, whether they stay flat, and their curves as a picture."""
import collections
import csv
import pathlib
import statistics
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "fleet"), str(TESTS / "demo")]

from picture import FAINT, WIDTH, line, text  # noqa: E402
from plots import COLOURS, LEFT, RIGHT, frame, legend, polyline  # noqa: E402

WARM_UP = 10        # the first of so many parts is not judged: caches and buffers get their size then
HEIGHT, COLUMNS = 110, 240
Limit = collections.namedtuple("Limit", "more why")

# By how much the median of the last third may be above that of the first one.
LIMITS = {
    "main_kb": Limit(1536, "the heap has holes of other sizes when objects come and go, and the lists of the last runs "
                           "and events fill in the first minutes"),
    "helper_kb": Limit(1024, "as main_kb: the helper holds the environments and the output of runs"),
    "main_fds": Limit(16, "more runs may be under way, of ten at most; none is left at the end, which is exact"),
    "helper_fds": Limit(16, "as main_fds"),
    "processes": Limit(9, "as main_fds"),
    "leaves": Limit(9, "as main_fds"),
    "state_kb": Limit(1024, "pages that are free again"),
    "log_kb": Limit(8192, "the write-ahead log moves into the database when it has grown by 8 MiB"),
}


class Samples:
    """The rows, which are also written to a CSV file. names: of the daemons; more: further columns."""

    def __init__(self, path, names, more):
        self.names, self.rows = names, []
        self.columns = ["seconds", *more, *(f"{name} {what}" for name in names for what in LIMITS)]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "w", encoding="ascii", newline="")
        self._csv = csv.DictWriter(self._file, self.columns, lineterminator="\n")
        self._csv.writeheader()

    def add(self, row):
        """row: {column: number}. Columns of a daemon that is down are missing."""
        self.rows.append(row)
        self._csv.writerow(row)
        self._file.flush()

    def close(self):
        self._file.close()

    def values(self, column):
        return [row[column] for row in self.rows if row.get(column) is not None]

    def peak_and_end(self, column):
        values = self.values(column) or [0]
        return max(values), values[-1]

    def problems(self):
        """The curves that grow, as texts."""
        found = []
        for name in self.names:
            for what, limit in LIMITS.items():
                first, last = thirds(self.values(f"{name} {what}"))
                if last > first + limit.more:
                    found.append(f"{name} {what} grows: {first:g} in the first third, {last:g} in the "
                                 f"last one; {limit.more} more is allowed ({limit.why})")
        return found


def thirds(values):
    """The medians of the first and of the last third of what comes after the warm-up."""
    rest = values[len(values) // WARM_UP:]
    third = len(rest) // 3
    if third == 0:
        return 0, 0
    return statistics.median(rest[:third]), statistics.median(rest[-third:])


# The picture

PANELS = [("resident memory, MiB", 1024, ["main_kb", "helper_kb"]),
          ("open descriptors", 1, ["main_fds", "helper_fds"]),
          ("processes below main", 1, ["processes"]),
          ("cgroups of runs", 1, ["leaves"]),
          ("state.db and its write-ahead log, MiB", 1024, ["state_kb", "log_kb"])]


def peaks(points, seconds):
    """At most COLUMNS points: the highest one of each piece of the time."""
    found = {}
    for at, value in points:
        column = int(at * COLUMNS / seconds)
        if column not in found or value > found[column][1]:
            found[column] = at, value
    return [found[column] for column in sorted(found)]


def panel(top, title, seconds, series):
    """A field with a linear scale from 0. series: [(colour, [(second, value), ...])]."""
    highest = max((value for _colour, points in series for _at, value in points), default=0) or 1
    bottom = top + 14 + HEIGHT
    out = [text(LEFT, top, title, "small"),
           line(LEFT, bottom, WIDTH - RIGHT, bottom, FAINT),
           line(LEFT, bottom - HEIGHT, WIDTH - RIGHT, bottom - HEIGHT, FAINT, "2 4"),
           text(LEFT - 8, bottom + 4, "0", "small", "end"),
           text(LEFT - 8, bottom - HEIGHT + 4, f"{highest:.3g}", "small", "end")]
    for colour, points in series:
        out.append(polyline([(LEFT + (WIDTH - LEFT - RIGHT) * at / seconds, bottom - HEIGHT * value / highest)
                             for at, value in peaks(points, seconds)], colour))
    return out, bottom


def picture(samples, title):
    """The curves of all daemons as SVG."""
    seconds = max((row["seconds"] for row in samples.rows), default=0) + 1
    names = [f"{name}{end}" for name in samples.names for end in (": main; runs; state.db", ": helper; write-ahead log")]
    body, top = [text(20, 28, title, "title")], 56
    for panel_title, unit, columns in PANELS:
        series = [(COLOURS[2 * n + m], [(row["seconds"], row[f"{name} {what}"] / unit) for row in samples.rows
                                        if row.get(f"{name} {what}") is not None])
                  for n, name in enumerate(samples.names) for m, what in enumerate(columns)]
        out, bottom = panel(top, panel_title, seconds, series)
        body, top = body + out, bottom + 30
    step = max(1, round(seconds / 60 / 9))
    body += [text(LEFT + (WIDTH - LEFT - RIGHT) * minute * 60 / seconds, top - 12, f"{minute} min", "small", "middle")
             for minute in range(0, int(seconds // 60) + 1, step)]
    keys, height = legend(top + 14, names)
    return frame(body + keys, top + 14 + height)
