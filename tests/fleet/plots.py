# SPDX-License-Identifier: Apache-2.0
"""Draws the fleet model's pictures as SVG, in the style of the demo's."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "demo"))
from picture import FAINT, INK, STYLE, WIDTH, line, text  # noqa: E402

COLOURS = (INK, "#7a8a94", "#2a8f6d", "#c62828", "#e08a2e", "#3a6ea5")
LEFT, RIGHT, HEIGHT = 70, 20, 260
LOWEST = 0.01               # the lower end of logarithmic scales


def frame(body, height):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
        f"<style>{STYLE}</style>",
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="#fff" '
        f'stroke="{FAINT}"/>', *body, "</svg>", ""])


def polyline(points, colour):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def legend(top, names):
    """Three in a row; returns the lines and the height."""
    out = []
    for n, name in enumerate(names):
        x, y = 30 + (n % 3) * 285, top + 18 * (n // 3)
        out += [line(x, y - 4, x + 22, y - 4, COLOURS[n]).replace("/>", ' stroke-width="3"/>'),
                text(x + 30, y, name, "small")]
    return out, 18 * math.ceil(len(names) / 3)


def log_scale(highest):
    """Powers of ten from LOWEST up to above the highest value."""
    first, last = round(math.log10(LOWEST)), math.ceil(math.log10(max(highest, 10 * LOWEST)))
    return range(first, last + 1)


def megabytes(power):
    return f"{10 ** power:g} MB/s" if power < 3 else f"{10 ** (power - 3):g} GB/s"


class Axes:
    """A field of the picture with a logarithmic scale upwards."""

    def __init__(self, left, right, top, powers):
        self.left, self.right, self.top, self.powers = left, right, top, powers
        self.bottom = top + HEIGHT

    def y(self, value):
        share = (math.log10(max(value, LOWEST)) - self.powers[0]) / (len(self.powers) - 1)
        return self.bottom - HEIGHT * share

    def draw(self, labels):
        out = []
        for power in self.powers:
            y = self.y(10 ** power)
            out.append(line(self.left, y, self.right, y, FAINT, "none" if power == self.powers[0]
                            else "2 4"))
            if labels:
                out.append(text(self.left - 8, round(y + 4, 1), megabytes(power), "small", "end"))
        return out


def over_time(title, series, seconds):
    """series: [(name, {second: bytes})]."""
    peak = max(max(values.values()) for _name, values in series) / 1e6
    axes = Axes(LEFT, WIDTH - RIGHT, 50, log_scale(peak))

    def x(second):
        return axes.left + (axes.right - axes.left) * second / seconds
    body = [text(20, 28, title, "title"), *axes.draw(True)]
    for n, (_name, values) in enumerate(series):
        points = [(x(second + 0.5), axes.y(values.get(second, 0) / 1e6))
                  for second in range(seconds)]
        body.append(polyline(points, COLOURS[n]))
    body += [text(x(second), axes.bottom + 18, f"{second} s", "small", "middle")
             for second in range(0, seconds + 1, 5)]
    keys, height = legend(axes.bottom + 44, [name for name, _values in series])
    return frame(body + keys, axes.bottom + 44 + height)


def by_size(title, panels):
    """panels: [(name, sizes of fleets, [(name, values in MB/s)])], side by side, one scale."""
    peak = max(max(values) for _n, _s, series in panels for _name, values in series)
    each = (WIDTH - LEFT - RIGHT) / len(panels)
    body = [text(20, 28, title, "title")]
    for number, (name, sizes, series) in enumerate(panels):
        left = LEFT + each * number
        axes = Axes(left, left + each - 30, 70, log_scale(peak))
        body += [text(left, 58, name, "small"), *axes.draw(number == 0)]
        low, high = math.log10(sizes[0]), math.log10(sizes[-1])
        places = [axes.left + 15 + (axes.right - axes.left - 40) * (math.log10(size) - low)
                  / (high - low) for size in sizes]
        for n, (_name, values) in enumerate(series):
            points = list(zip(places, map(axes.y, values)))
            body.append(polyline(points, COLOURS[n]))
            body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[n]}"/>'
                     for x, y in points]
        body += [text(x, axes.bottom + 18, f"{size:,}".replace(",", " "), "small", "middle")
                 for x, size in zip(places, sizes)]
        bottom = axes.bottom
    keys, height = legend(bottom + 44, [name for name, _values in panels[0][2]])
    return frame(body + keys, bottom + 44 + height)
