# SPDX-License-Identifier: Apache-2.0
"""tidy.py checks each file that has changed since it was good, and no other."""
import json
import pathlib
import subprocess
import sys

import pytest

TIDY = pathlib.Path(__file__).with_name("tidy.py")
# Stands in for clang-tidy: notes the file that it was given, and complains of the word "bad".
TOOL = """#!/bin/sh
[ "$1" != --version ] || {{ echo {version}; exit; }}
for source; do :; done
echo "${{source##*/}}" >>{top}/looked
! grep -n bad "$source" /dev/null
"""


class Tree:
    """Two files of C, of which one includes a header."""

    def __init__(self, top):
        self.top, self.options = top, "-DX=1"
        (top / "one.c").write_text('#include "one.h"\nint one(void) { return X; }\n')
        (top / "one.h").write_text("int one(void);\n")
        (top / "two.c").write_text("int two(void);\nint two(void) { return 2; }\n")
        self.tool("1")

    def tool(self, version):
        (self.top / "tool").write_text(TOOL.format(top=self.top, version=version))
        (self.top / "tool").chmod(0o755)

    def tidy(self):
        """(exit status, the files that were checked)"""
        sources = [self.top / "one.c", self.top / "two.c"]
        (self.top / "compile_commands.json").write_text(json.dumps([
            {"directory": str(self.top), "file": str(source),
             "command": f"cc {self.options} -o {source.stem}.o -c {source}"}
            for source in sources]))
        (self.top / "looked").write_text("")
        done = subprocess.run(
            [sys.executable, TIDY, "--build", self.top, "--cache", self.top / "cache", "--tool",
             self.top / "tool"], input="\n".join(map(str, sources)), text=True)
        return done.returncode, sorted((self.top / "looked").read_text().split())


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path)
    assert made.tidy() == (0, ["one.c", "two.c"])
    return made


def test_a_good_file_is_not_checked_again_while_it_is_the_same(tree):
    assert tree.tidy() == (0, [])


def test_a_file_that_has_changed_is_checked(tree):
    (tree.top / "two.c").write_text("int two(void);\nint two(void) { return 3; }\n")
    assert tree.tidy() == (0, ["two.c"])


def test_a_header_that_has_changed_checks_the_files_that_include_it(tree):
    (tree.top / "one.h").write_text("int one(void);\nint more(void);\n")
    assert tree.tidy() == (0, ["one.c"])


def test_another_compile_command_or_tool_checks_all_files(tree):
    tree.options = "-DX=2"
    assert tree.tidy() == (0, ["one.c", "two.c"])
    tree.tool("2")
    assert tree.tidy() == (0, ["one.c", "two.c"])


def test_a_bad_file_is_checked_until_it_is_good(tree):
    good = (tree.top / "two.c").read_text()
    (tree.top / "two.c").write_text(good + "/* bad */\n")
    assert tree.tidy() == (1, ["two.c"])
    assert tree.tidy() == (1, ["two.c"])
    (tree.top / "two.c").write_text(good)
    assert tree.tidy() == (0, [])


def test_without_the_cache_all_files_are_checked(tree):
    for mark in (tree.top / "cache").iterdir():
        mark.unlink()
    assert tree.tidy() == (0, ["one.c", "two.c"])
