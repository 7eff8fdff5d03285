#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SECURITY.md, the threat model, and docs/guarantees.md: each promise names tests below tests/, and each of these exists.
The tests that tests/mutation/security.txt names exist, too."""
import pathlib
import re
import sys

import contract

PAGE, MUTATIONS = "SECURITY.md", "tests/mutation/security.txt"
GUARANTEES, LIST = "docs/guarantees.md", "Every promise, its tests and its figure"
LEAST_PROMISES, LEAST_MUTATIONS, LEAST_ROWS = 20, 20, 80


def promises_of(text):
    """{number: text} of the list under "### Promises"."""
    part = text.split("\n### Promises\n", 1)[-1].split("\n### ", 1)[0]
    found = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^\S|\Z)", part, re.M | re.S)
    return {int(number): body for number, body in found}


def named(text):
    return re.findall(r"`((?:unit|wire|system|sim)/\w+\.(?:c|py)::\w+)`", text)


def file_of(test):
    """The name by which security.txt means a test, as a path below tests/."""
    return f"wire/{test}" if "::" in test else f"unit/{test}.c"


def rows_of(text):
    """{heading: rows of cells} of the list of all promises, without the two lines above each table."""
    part = text.split(f"\n## {LIST}\n", 1)[-1].split("\n## ", 1)[0]
    tables = {}
    for section in part.split("\n### ")[1:]:
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")]
                for line in section.splitlines() if line.startswith("|")]
        tables[section.splitlines()[0]] = rows[2:]
    return tables


def table_problems(top, tests):
    """Those of docs/guarantees.md: rows without tests, tests and campaigns that do not exist."""
    tables = rows_of((top / GUARANTEES).read_text(encoding="utf-8"))
    campaigns = {row[0] for row in tables.pop("Campaigns", [])}
    rows = [row for table in tables.values() for row in table]
    out = [f"{GUARANTEES}: fewer than {LEAST_ROWS} promises"] if len(rows) < LEAST_ROWS else []
    for row in rows:
        if len(row) != 3:
            out.append(f"{GUARANTEES}: {row[0]}: a row has a promise, tests and a figure")
            continue
        promise, proof, figure = row
        if not named(proof):
            out.append(f"{GUARANTEES}: {promise}: no test")
        out += [f"{GUARANTEES}: {promise}: there is no test {test}" for test in named(proof)
                if tests.source(test) is None]
        out += [f"{GUARANTEES}: {promise}: there is no campaign {name}" for name in
                re.findall(r"\*\*[\w ]+\*\*", figure) if name not in campaigns]
    return out


def problems(top):
    tests = contract.Tests(top)
    out = table_problems(top, tests)
    promises = promises_of((top / PAGE).read_text(encoding="utf-8"))
    if sorted(promises) != list(range(1, len(promises) + 1)) or len(promises) < LEAST_PROMISES:
        out.append(f"{PAGE}: the promises are not numbered from 1 to {LEAST_PROMISES} or more")
    for number, body in promises.items():
        if not named(body):
            out.append(f"{PAGE}: promise {number} names no test")
        out += [f"{PAGE}: promise {number}: there is no test {test}" for test in named(body)
                if tests.source(test) is None]
    weakened = re.findall(r"^! (.*)$", (top / MUTATIONS).read_text(encoding="utf-8"), re.M)
    if len(weakened) < LEAST_MUTATIONS:
        out.append(f"{MUTATIONS}: fewer than {LEAST_MUTATIONS} mutations")
    for test in weakened:
        path = file_of(test)
        known = tests.source(path) is not None if "::" in path else (top / "tests" / path).is_file()
        if not known:
            out.append(f"{MUTATIONS}: there is no test {path}")
    return out


def main():
    found = problems(pathlib.Path(__file__).resolve().parents[2])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
