# SPDX-License-Identifier: Apache-2.0
"""Draws the events that record.py has seen, as SVG."""
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 900, 150, 20
ROW, GAP = 30, 6
BIN = 0.05      # seconds
OLD, NEW, BAD, INK, FAINT = "#8fa3b8", "#2a8f6d", "#c62828", "#263238", "#b0bec5"
STYLE = f"""text {{ font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: {INK}; }}
.title {{ font-size: 15px; font-weight: 600; }} .small {{ font-size: 11px; fill: #607d8b; }}
.row {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace; }}"""


class Panel:
    """One run: a row for each server, a mark for each event.

    rows: [(label, new: bool, [times of requests])]; marks: [(time, row or None, kind)] with kind
    "in", "out", "end" of a row, or "reload"; answers: [(time, ok)] of all clients; all times are
    seconds from the beginning, up to `seconds`.
    """

    def __init__(self, title, seconds, rows, marks, answers):
        self.title, self.rows, self.marks, self.answers = title, rows, marks, answers
        self.seconds = int(seconds / BIN) * BIN
        self.height = 62 + len(rows) * (ROW + GAP) + 26

    def x(self, when):
        return LEFT + (WIDTH - LEFT - RIGHT) * when / self.seconds

    def draw(self, top):
        failed = sum(not ok for _when, ok in self.answers)
        out = [text(20, top + 26, self.title, "title"),
               text(20, top + 44, f"{len(self.answers)} requests, {failed} failed", "small")]
        first = top + 62
        bottom = first + len(self.rows) * (ROW + GAP)
        for when, _row, kind in self.marks:
            if kind == "reload":
                out.append(line(self.x(when), first - 8, self.x(when), bottom, FAINT, "3 3"))
                out.append(text(self.x(when), first - 11, "reload", "small", "middle"))
        peak = max(max(self.bins(times), default=1) for _label, _new, times in self.rows)
        for n, (label, new, times) in enumerate(self.rows):
            out += self.row(first + n * (ROW + GAP), label, NEW if new else OLD, times, peak)
            out += [self.mark(first + n * (ROW + GAP), when, kind)
                    for when, row, kind in self.marks if row == n]
        return out + self.axis(bottom)

    def bins(self, times):
        counts = [0] * round(self.seconds / BIN)
        for when in times:
            if 0 <= when < self.seconds:
                counts[min(int(when / BIN), len(counts) - 1)] += 1
        return counts

    def row(self, top, label, colour, times, peak):
        base = top + ROW
        path, before = [f"M{self.x(0):.1f} {base}"], 0
        for n, count in enumerate(self.bins(times)):
            if count != before:
                path.append(f"H{self.x(n * BIN):.1f}V{base - (ROW - 4) * count / peak:.1f}")
            before = count
        path.append(f"H{self.x(self.seconds):.1f}V{base}Z")
        return [text(LEFT - 12, base - 8, label, "row", "end"),
                f'<path d="{"".join(path)}" fill="{colour}"/>',
                line(LEFT, base, WIDTH - RIGHT, base, FAINT)]

    def mark(self, top, when, kind):
        x, y = self.x(when), top + ROW
        if kind == "in":
            return f'<path d="M{x:.1f} {y - 9}l6 9h-12z" fill="{INK}"/>'
        if kind == "out":
            return f'<path d="M{x:.1f} {y}l6 -9h-12z" fill="{INK}"/>'
        return (f'<path d="M{x - 5:.1f} {y - 10}l10 10m0 -10l-10 10" stroke="{BAD}" '
                'stroke-width="2.5"/>')

    def axis(self, y):
        return [text(self.x(second), y + 16, f"{second} s", "small", "middle")
                for second in range(int(self.seconds) + 1)]


def text(x, y, what, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(what)}</text>'


def line(x1, y1, x2, y2, colour, dash="none"):
    return (f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" stroke="{colour}" '
            f'stroke-dasharray="{dash}"/>')


def legend(y):
    marks = Panel("", 1.0, [], [], [])
    out, x = [], 20
    for kind, words in (("in", "endpoint is ready"), ("out", "endpoint is terminating"),
                        ("end", "its process has ended")):
        marks.x = lambda _when, at=x + 6: at
        out += [marks.mark(y - ROW, 0, kind), text(x + 18, y, words, "small")]
        x += 60 + 6 * len(words)
    return out + [text(WIDTH - RIGHT, y, f"requests per {BIN * 1000:.0f} ms and server", "small",
                       "end")]


def svg(panels):
    """The whole picture."""
    body, top = [], 6
    for panel in panels:
        body += panel.draw(top)
        top += panel.height + 8
    body += legend(top + 12)
    height = top + 30
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="#fff" '
        f'stroke="{FAINT}"/>', *body, "</svg>", ""])
