# SPDX-License-Identifier: Apache-2.0
"""Sentences that name no subject, because they begin with What or Who and are no questions: in comments of C,
Python and configuration files, in Markdown and in man pages."""
import ast
import re

# Ends a sentence where no full stop does. No file has this character.
BREAK = "\0"
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASHES = re.compile(r"(?m)^[ \t]*#[^\n]*(?:\n[ \t]*#[^\n]*)*|(?<=  )# [^\n]*")
# Code, headings, and the heads of tables, which may be questions without a question mark.
MARKDOWN = re.compile(r"(?ms)^ *```.*?```|^#+ [^\n]*|^\|[^\n]*(?=\n\|-)")
MAN = re.compile(r"(?ms)^\.Bd -literal.*?^\.Ed|^\.(?:(?:S[hs]|It|Bl)\b|\\\")[^\n]*|^\.(?:Pp|El|Bd|Ed)\b")
# The end of a paragraph, or the beginning of an item of a list.
APART = re.compile(r"\0|\n[ \t]*(?=\n)|(?:^|\n)[ \t]*(?:[-*]|\d+\.) ")
BEGINS = re.compile(r"(?:^|(?<=[.!?:])[)*_]*\s)[\s(*_]*((?:What|Who)(?:ever)?)\b")
ENDS = re.compile(r"[.!?](?=[\s)*_]|$)|$")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def broken(match):
    return BREAK + blank(match)[1:]


def of_c(text):
    """(offset, prose) of each comment. These functions leave each character of the prose in its place."""
    for match in C_TOKEN.finditer(text):
        if match.group().startswith("/"):
            inside = re.sub(r"^/[*/]|\*/$", blank, match.group())
            yield match.start(), re.sub(r"(?<=\n)([ \t]*)\*(?=\s)", r"\1 ", inside)


def of_hashes(text):
    for match in HASHES.finditer(text):
        yield match.start(), re.sub(r"(?m)^([ \t]*)#", r"\1 ", match.group())


def of_python(text):
    yield from of_hashes(text)
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            docstring = node.body[0]
            yield (at := starts[docstring.lineno - 1]), re.sub(
                r'^\s*r?"+|"+\s*$', blank, text[at:starts[docstring.end_lineno]])


def of_markdown(text):
    yield 0, MARKDOWN.sub(broken, text).replace("|", BREAK)


def of_man(text):
    yield 0, re.sub(r"(?m)^\.(?:[A-Z][a-z]\b)?", blank, MAN.sub(broken, text))


READERS = {".c": of_c, ".h": of_c, ".py": of_python, ".conf": of_hashes, ".example": of_hashes,
           ".service": of_hashes, ".md": of_markdown, ".1": of_man, ".5": of_man, ".7": of_man, ".8": of_man}


def paragraphs(prose):
    """(offset, text) of each part in which sentences follow each other."""
    at = 0
    for match in APART.finditer(prose):
        yield at, prose[at:match.start()]
        at = match.end()
    yield at, prose[at:]


def without_subject(suffix, text):
    """(offset, problem) of each such sentence."""
    for base, prose in READERS.get(suffix, lambda _: ())(text):
        for at, paragraph in paragraphs(prose):
            for match in BEGINS.finditer(paragraph):
                if not paragraph.startswith("?", ENDS.search(paragraph, match.end()).start()):
                    yield base + at + match.start(1), f'a sentence begins with "{match.group(1)}": name its subject'
