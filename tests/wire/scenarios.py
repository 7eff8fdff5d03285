# SPDX-License-Identifier: Apache-2.0
"""Keeps SCENARIOS.md, which says which test plays which black-box scenario. `scenarios.py --write`
fills in its column of tests from the names in the files. You write the numbers, titles and remarks
by hand."""
import ast
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "SCENARIOS.md"
GAPS = {10, 22, 33, 44, 53, 61, 66, 71, 78, 100, 108}
CREDENTIALS = [112, 113, 115, 116, 117, 118, 119, 120, 121, 122]
TRANSPORT = [123, 125]
NUMBERS = [number for number in range(1, 112) if number not in GAPS] + CREDENTIALS + TRANSPORT
LEFT_OUT = ("Left out here: ", "There is no such setting: ")


def tests(prefix="s"):
    """{number: [(file, test), ...]} of all functions test_sNN_... in this folder. With prefix
    "peers_": of all functions test_peers_NN_..., each of which shows a feature that peers lack."""
    out = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            match = re.match(rf"test_{prefix}(\d+)_", getattr(node, "name", ""))
            if match:
                out.setdefault(int(match[1]), []).append((path.name, node.name))
    return out


def rows(text):
    """[[number, title, tests, remark], ...] of the table."""
    out = []
    for line in text.splitlines():
        if re.match(r"\| *\d", line):
            out.append([cell.strip() for cell in line.strip("| ").split(" | ")])
            out[-1] += [""] * (4 - len(out[-1]))
    return out


def features(text):
    """The numbers of the table of features that other runners lack."""
    return [int(number) for number in re.findall(r"^\| P(\d+) ", text, re.M)]


def cell(found):
    """The column of tests: by file, then name."""
    by_file = {}
    for file, name in found:
        by_file.setdefault(file, []).append(f"`{name}`")
    return "<br>".join(f"{file}: {', '.join(names)}" for file, names in by_file.items())


def is_left_out(remark):
    return remark.startswith(LEFT_OUT)


def filled(text):
    """The text of SCENARIOS.md with the tests of this folder."""
    found, lines = tests(), []
    for line in text.splitlines():
        if re.match(r"\| *\d", line):
            number, title, _tests, remark = rows(line)[0]
            line = f"| {number} | {title} | {cell(found.get(int(number), [])) or '-'} | {remark} |"
        lines.append(line.replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def main():
    text = TABLE.read_text()
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(filled(text))
    elif text != filled(text):
        sys.exit("SCENARIOS.md is not up to date: run scenarios.py --write")


if __name__ == "__main__":
    main()
