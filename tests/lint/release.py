#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tree is ready for a release: release.py VERSION. ./dev release runs it before it builds
anything."""
import datetime
import re

import csource

HEADING = re.compile(r"^## (\S+) - (\S+)$", re.M)


def version_of(top):
    match = re.search(r"^project\(informerd VERSION (\S+)", (top / "CMakeLists.txt").read_text(), re.M)
    return match.group(1) if match else None


def check_version(top, version):
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"{version}: a version is MAJOR.MINOR.PATCH, such as 0.2.0"
    elif version_of(top) != version:
        yield f"CMakeLists.txt: project(informerd VERSION ...) says {version_of(top)}, not {version}"


def key(version):
    return tuple(int(part) for part in version.split("."))


def check_changelog(top, version):
    """The newest section is that of the release: with its date, with entries, and above older versions."""
    text = (top / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = list(HEADING.finditer(text))
    if not heads or heads[0].group(1) != version:
        found = heads[0].group(1) if heads else "nothing"
        yield f"CHANGELOG.md: the first section is of {found}, not of {version}"
        return
    date = heads[0].group(2)
    try:
        if datetime.date.fromisoformat(date) > datetime.date.today():
            yield f"CHANGELOG.md: the date of {version} is in the future: {date}"
    except ValueError:
        yield f"CHANGELOG.md: write the date of the release in place of \"{date}\": ## {version} - YYYY-MM-DD"
    end = heads[1].start() if len(heads) > 1 else len(text)
    if not re.search(r"^- ", text[heads[0].end():end], re.M):
        yield f"CHANGELOG.md: {version} has no entry"
    for head in heads[1:]:
        if head.group(2) == "unreleased":
            yield f"CHANGELOG.md: {head.group(1)} is below {version}, and still unreleased"
        elif re.fullmatch(r"\d+\.\d+\.\d+", head.group(1)) and key(head.group(1)) >= key(version):
            yield f"CHANGELOG.md: {head.group(1)} is not older than {version}"


# Where the version is written, besides its one place: file, pattern, whether without the PATCH.
COPIES = [("README.md", r"^\*\*Status: (\S+)\.\*\*", True),
          ("packaging/container/informerd.yaml", r"^\s*image: \S+/informerd:(\S+)", False)]


def check_copies(top, version):
    """./dev container gives the image the whole version as its tag."""
    for name, pattern, is_short in COPIES:
        wanted = version.rpartition(".")[0] if is_short else version
        match = re.search(pattern, (top / name).read_text(encoding="utf-8"), re.M)
        if not match or match.group(1) != wanted:
            yield f"{name}: the version is {match.group(1) if match else 'missing'}, not {wanted}"


def check(top, arguments):
    problems = list(check_version(top, arguments.version))
    return problems or [*check_changelog(top, arguments.version), *check_copies(top, arguments.version)]


if __name__ == "__main__":
    csource.main(check, lambda parser: parser.add_argument("version"))
