# SPDX-License-Identifier: Apache-2.0
"""Which metrics and labels an expression of Prometheus uses. This is no parser: it knows as much of the
language as packaging/observability uses."""
import collections
import re

from harness import ROOT

SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}")
MATCHER = re.compile(r'\s*(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*(?:,|$)')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
RANGE = re.compile(r"\[[^\]]*\]")
BARE = re.compile(r"\b([a-zA-Z_:][\w:]*)\b(?!\s*\()")
OPERATORS = {"and", "or", "unless", "bool", "offset"}
OF_THE_SCRAPE = {"job", "instance"}     # Prometheus adds them to each series

# metrics: {name: [(label, operator, value), ...]}; grouping: names of labels
Use = collections.namedtuple("Use", "metrics grouping")


def uses(expr):
    found = Use({}, set())

    def selector(match):
        matchers = MATCHER.findall(match[2])
        assert re.sub(MATCHER, "", match[2]).strip() == "", match[0]
        found.metrics.setdefault(match[1], []).extend(matchers)
        return " "

    def grouping(match):
        found.grouping.update(re.findall(r"\w+", match[1]))
        return " "
    rest = RANGE.sub(" ", GROUPING.sub(grouping, SELECTOR.sub(selector, expr)))
    for name in BARE.findall(rest):
        if name not in OPERATORS:
            found.metrics.setdefault(name, [])
    return found


def documented():
    """{name of a series: its labels}, from the table in docs/metrics.md."""
    table = re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*?) ?\|", (ROOT / "docs/metrics.md").read_text(), re.M)
    known = {}
    for name, kind, labels in table:
        labels = set(re.findall(r"\w+", labels))
        if kind == "histogram":
            known |= {f"{name}_sum": labels, f"{name}_count": labels, f"{name}_bucket": labels | {"le"}}
        else:
            known[name] = labels
    return known


def labels_of(expr, known):
    """The labels that the series of an expression may have."""
    return OF_THE_SCRAPE.union(*(known[name] for name in uses(expr).metrics))


def problems(expr, known):
    """A line for each metric or label of the expression that does not exist."""
    found = uses(expr)
    unknown = set(found.metrics) - set(known)
    if unknown or not found.metrics:
        return [f"no metric: {name}" for name in sorted(unknown)] or ["no metric at all"]
    wrong = [f"{name} has no label {label}" for name, matchers in found.metrics.items()
             for label, _operator, _value in matchers if label not in known[name] | OF_THE_SCRAPE]
    return wrong + [f"no label {label}" for label in sorted(found.grouping - labels_of(expr, known))]
