# SPDX-License-Identifier: Apache-2.0
"""Reads C files of this tree well enough for the lints; relies on what clang-format guarantees."""
import argparse
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


class Declaration:
    """A function prototype, or a function with its body, at file scope."""

    def __init__(self, name, head, line, end, is_definition):
        self.name, self.line, self.end, self.is_definition = name, line, end, is_definition
        self.params = count_params(head[head.index(name + "(") + len(name):])


class Source:
    def __init__(self, path, top):
        self.path = path
        self.rel = path.relative_to(top).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.code = blank(self.text)

    def includes(self):
        """(line number, '"' or '<', name) of each #include."""
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
            if match:
                yield number, match.group(1), match.group(2)

    def comment_before(self, line):
        """Whether a comment ends on the line above this one."""
        return line > 1 and self.lines[line - 2].rstrip().endswith("*/")

    def declarations(self):
        depth, start, body_of = 0, 0, None
        for match in re.finditer(r"[{};]", self.code):
            mark, at = match.group(), match.start()
            if mark == "{":
                if depth == 0:
                    body_of = self._declaration(start, at, is_definition=True)
                depth += 1
            elif mark == "}":
                depth -= 1
                if depth == 0 and body_of:
                    body_of.end = self._line(at)
                    yield body_of
                    body_of, start = None, at + 1
            elif depth == 0:
                prototype = self._declaration(start, at, is_definition=False)
                if prototype:
                    yield prototype
                start = at + 1

    def _line(self, offset):
        return self.code.count("\n", 0, offset) + 1

    def _declaration(self, start, end, is_definition):
        head = self.code[start:end]
        start += len(head) - len(head.lstrip())
        flat = re.sub(r"\s*\(", "(", " ".join(head.split()))
        if "=" in flat or re.match(r"(typedef|struct \w+$|_Static_assert|static_assert)\b", flat):
            return None
        if is_definition and not flat.endswith(")"):
            return None
        names = [n for n in re.findall(r"(\w+)\(", flat)
                 if not n.isupper() and n != "__attribute__"]
        if not names or "(*" in flat[:flat.index(names[0] + "(") + len(names[0]) + 2]:
            return None
        line = self._line(start)
        return Declaration(names[0], flat, line, line, is_definition)


def blank(text):
    """The text without comments, literals and preprocessor lines; every line keeps its number."""
    def newlines(match):
        return re.sub(r"[^\n]", " ", match.group())

    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    text = re.sub(pattern, newlines, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", newlines, text, flags=re.M)


def count_params(text):
    """Parameters in "(...)..." up to the bracket that closes the first one."""
    depth, commas = 0, 0
    for at, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                inside = text[1:at].strip()
                return 0 if inside in ("", "void") else commas + 1
        elif char == "," and depth == 1:
            commas += 1
    return commas + 1


def sources(top, folders, pattern="*.[ch]"):
    for folder in folders:
        for path in sorted((top / folder).rglob(pattern)):
            yield Source(path, top)


def main(check, add_arguments=lambda parser: None):
    """Runs check(top, arguments) -> problems, prints each, exits 1 if there is one."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--top", type=pathlib.Path, default=TOP, help="the checkout")
    add_arguments(parser)
    arguments = parser.parse_args()
    problems = check(arguments.top.resolve(), arguments)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
