# SPDX-License-Identifier: Apache-2.0
"""Reads the text format of Prometheus (0.0.4), strictly: what a scraper may guess at is an error here."""
import collections
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP ({NAME}) (\S.*)")
TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram)")
SAMPLE = re.compile(rf"({NAME})(?:\{{(.+)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)')
PARTS = ("_bucket", "_sum", "_count")

Family = collections.namedtuple("Family", "name type help samples")


def read_labels(text):
    """((name, value), ...) in their order."""
    found, at = [], 0
    while at < len(text or ""):
        match = LABEL.match(text, at)
        assert match, f"labels: {text}"
        value = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[2])
        found.append((match[1], value))
        at = match.end()
    names = [name for name, _value in found]
    assert len(set(names)) == len(names) and not (text or "").endswith(","), text
    return tuple(found)


def families(text):
    """{name: Family}; samples: {(name of the sample, labels): value}. Each family has HELP, then TYPE,
    then all of its samples, and no sample comes twice."""
    found, family = {}, None
    assert text.endswith("\n")
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            name, words = HELP.fullmatch(line).groups()
            typed = TYPE.fullmatch(next(lines))
            assert typed and typed[1] == name, f"TYPE behind {line}"
            assert name not in found, f"{name} comes twice"
            family = found[name] = Family(name, typed[2], words, {})
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        parts = PARTS if family.type == "histogram" else ("",)
        assert name in [family.name + part for part in parts], f"{line} in {family.name}"
        key = (name, read_labels(labels))
        assert key not in family.samples, f"{line} comes twice"
        family.samples[key] = float(value)
    return found


def check(family):
    """The rules of each type, and of names (prometheus.io/docs/practices/naming)."""
    assert family.help.endswith("."), family.name
    assert (family.type == "counter") == family.name.endswith("_total"), family.name
    assert not re.search(r"_(ms|milliseconds|minutes|kilobytes|kib)(_|$)", family.name)
    for key, value in family.samples.items():
        assert not math.isnan(value) and value >= 0, key
    if family.type == "histogram":
        assert family.name.endswith("_seconds")
        check_histogram(family)


def check_histogram(family):
    series = collections.defaultdict(list)
    for (name, labels), value in family.samples.items():
        if name.endswith("_bucket"):
            assert labels[-1][0] == "le"
            series[labels[:-1]].append((float(labels[-1][1]), value))
    counts = {labels: value for (name, labels), value in family.samples.items()
              if name.endswith("_count")}
    sums = {labels for name, labels in family.samples if name.endswith("_sum")}
    assert set(series) == set(counts) == sums
    for labels, buckets in series.items():
        assert buckets == sorted(buckets) and buckets[-1][0] == math.inf
        assert [count for _le, count in buckets] == sorted(count for _le, count in buckets)
        assert buckets[-1][1] == counts[labels], labels


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.text = text
        self.families = families(text)
        for family in self.families.values():
            check(family)

    def value(self, name, **labels):
        """The value of the one sample with these labels, among others; None = there is none."""
        stem = next((name[:-len(part)] for part in PARTS
                     if name.endswith(part) and name not in self.families), name)
        found = [value for (sample, has), value in self.families[stem].samples.items()
                 if sample == name and set(labels.items()) <= set(has)]
        assert len(found) <= 1, f"{name} {labels}: {len(found)} samples"
        return found[0] if found else None

    def counters(self):
        """{(name, labels): value} of all that may only grow."""
        return {key: value for family in self.families.values() if family.type != "gauge"
                for key, value in family.samples.items()}
