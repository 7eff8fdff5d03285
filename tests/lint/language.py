#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""References lead somewhere, and words that the project has given up stay away.

- A document that is named exists, and so does the heading in quotes behind it: docs/design.md
  "Retry".
- A module or file of the tree that a comment or a document names exists: cache/store, sim/api.h.
- No comment says "See above.".
- No retired word: the glossary in ARCHITECTURE.md has the word to use instead.
- No sentence begins with What or Who, unless it is a question (sentences.py).
- The picture was drawn again after its text changed (docs/architecture.dot, ./dev picture)."""
import pathlib
import re

import csource
import sentences

FOLDERS = (".ci", "cmake", "config", "daemon", "docs", "packaging", "systemd", "tests")
TEXTS = (".c", ".h", ".py", ".md", ".sh", ".cmake", ".conf", ".example", ".service", ".txt", ".1", ".5",
         ".7", ".8", ".dot", ".yml", "")
# Documents that were never part of this repository.
ELSEWHERE = re.compile(r"\b(?:DESIGN|PROTOCOL|PERF|STYLE|PEERS)(?:\.md\b| \d)")
DOCUMENT = re.compile(r'(?<![\w/.-])((?:docs|tests)/(?:[\w-]+/)*[\w-]+\.md|ARCHITECTURE\.md)\b(?: "([^"]+)")?')
ALSO = re.compile(r'(?:,| and) "([^"]+)"')
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)")
SEE_ABOVE = re.compile(r"/\* See above\. \*/")
LAYERS = "base conf state proto kube cache hook admin io helper ctl app".split()
MODULE = re.compile(rf"(?<![\w/.*-])({'|'.join(LAYERS)}|sim|unit)/([a-z]\w*)(\.[ch])?(?![\w/*-])")
FILE = re.compile(r"(?<![\w/.<\"-])([a-z]\w+\.[ch])(?![\w.])")
# Old word: the new one. Only words that mean nothing else here.
RETIRED = {
    "auditor": "audit_driver", "bygone": "restore_status", "confirmer": "confirm_driver",
    "heir": "successor", "intake": "ingest", "keeper": "state_driver", "ladder": "backoff",
    "lane": "work queue", "ledger": "delivery_log", "roster": "ids", "sweeper": "strays_driver",
    "tally": "watch_status", "vouch": "server_identity", "warden": "hook_schedule_oracle",
    "whys": "explain",
}
RETIRED_WORD = re.compile(rf"(?i)(?<![a-z])({'|'.join(RETIRED)})(?:s|ed)?(?![a-z])")
# These must name the words that they forbid, or the messages of an older release.
EXEMPT = ("tests/lint/language.py", "tests/lint/test_language.py", "CHANGELOG.md")


def texts(top):
    """(path below top, text) of each file that people write."""
    paths = [p for p in top.iterdir() if p.is_file()]
    for folder in FOLDERS:
        paths += (top / folder).rglob("*")
    for path in sorted(paths):
        hidden = any(part.startswith(".") and part != ".ci" for part in path.relative_to(top).parts)
        if not path.is_file() or hidden or "__pycache__" in path.parts or path.suffix not in TEXTS:
            continue
        yield path.relative_to(top).as_posix(), path.read_text(encoding="utf-8", errors="replace")


def unwrapped(text):
    """The text with line breaks inside of sentences as spaces, every character at its place: a
    reference may go on behind the leader of the next line of its comment."""
    return re.sub(r"\n[ \t]*(?:\*(?!/)|#|//|\.\\\")?[ \t]*", lambda m: " " * len(m.group()), text)


def squeezed(text):
    """One blank for many, and where each character was."""
    places = [m.start() for m in re.finditer(r"\S|(?<=\S)\s", text)]
    return "".join(" " if text[i].isspace() else text[i] for i in places), places


def anchor(heading):
    """The name of a heading in links."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Documents:
    def __init__(self, top):
        self.top, self.known = top, {}

    def headings(self, name):
        """None: there is no such document."""
        if name not in self.known:
            path = self.top / name
            text = path.read_text(encoding="utf-8") if path.is_file() else None
            self.known[name] = None if text is None else [
                re.sub(r"[`*]", "", h).strip() for h in re.findall(r"^#+ (.+)$", text, re.M)]
        return self.known[name]


def dead_references(text, documents):
    """(offset, problem) of each reference to a document or heading that does not exist."""
    flat, places = squeezed(unwrapped(text))
    for match in DOCUMENT.finditer(flat):
        name, headings = match.group(1), documents.headings(match.group(1))
        if headings is None:
            yield places[match.start()], f"there is no {name}"
            continue
        cited, at = ([match.group(2)] if match.group(2) else []), match.end()
        while cited and (more := ALSO.match(flat, at)):
            cited.append(more.group(1))
            at = more.end()
        for heading in cited:
            if heading not in headings:
                yield places[match.start()], f'{name} has no heading "{heading}"'


def dead_links(rel, text, documents):
    """The same of Markdown links to other files and headings of this tree."""
    for match in LINK.finditer(re.sub(r"```.*?```", lambda m: " " * len(m.group()), text, flags=re.S)):
        to = match.group(1)
        path = (pathlib.PurePosixPath(rel).parent / to).as_posix() if to else rel
        if not (documents.top / path).exists():
            yield match.start(), f"there is no {path}"
        elif match.group(2) and match.group(2) not in map(anchor, documents.headings(path) or []):
            yield match.start(), f"{path} has no heading #{match.group(2)}"


def comments_of(rel, text):
    """The part of the text that is read by people: of a C file its comments, in their places."""
    if not rel.endswith((".c", ".h")):
        return text
    kept, at = [], 0
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    for match in re.finditer(pattern, text, flags=re.S):
        kept.append(re.sub(r"[^\n]", " ", text[at:match.start()]))
        kept.append(match.group() if match.group().startswith("/") else " " * len(match.group()))
        at = match.end()
    return "".join(kept) + re.sub(r"[^\n]", " ", text[at:])


def dead_modules(top, text):
    for match in FILE.finditer(text):
        if not any(any((top / d).rglob(match.group(1))) for d in ("daemon", "tests")):
            yield match.start(), f"there is no {match.group(1)}"
    for match in MODULE.finditer(text):
        folder, name, suffix = match.groups()
        base = top / ("tests" if folder in ("sim", "unit") else "daemon") / folder
        if base.is_dir() and not any((base / (name + s)).exists()
                                     for s in ([suffix] if suffix else (".c", ".h"))):
            yield match.start(), f"there is no {match.group()}"


def old_words(text):
    for match in RETIRED_WORD.finditer(text):
        word = match.group(1).lower()
        yield match.start(), f'"{match.group()}" is a retired word: {RETIRED[word]} (ARCHITECTURE.md, glossary)'


def of_text(top, rel, text, documents):
    yield from ((m.start(), f"{m.group()} is not in this repository") for m in ELSEWHERE.finditer(text))
    yield from ((m.start(), '"See above." is no comment') for m in SEE_ABOVE.finditer(text))
    yield from dead_references(text, documents)
    if rel.endswith((".c", ".h", ".md", ".dot")):
        yield from dead_modules(top, comments_of(rel, text))
    if rel.endswith(".md"):
        yield from dead_links(rel, text, documents)
    yield from old_words(text)
    yield from sentences.without_subject(pathlib.PurePosixPath(rel).suffix, text)


def old_picture(top):
    """Each line of a label in the picture's text stands in the picture."""
    source, picture = top / "docs/architecture.dot", top / "docs/architecture.svg"
    if not source.exists():
        return
    drawn = picture.read_text(encoding="utf-8") if picture.exists() else ""
    for label in re.findall(r'label="([^"]*)"', source.read_text(encoding="utf-8")):
        for line in label.split("\\n"):
            if f">{line}</text>" not in drawn:
                yield f'docs/architecture.svg:1: "{line}" of docs/architecture.dot is missing: ./dev picture'
                return


def check(top, _arguments):
    documents, problems = Documents(top), []
    for rel, text in texts(top):
        if rel in EXEMPT:
            continue
        found = sorted(set(of_text(top, rel, text, documents)))
        problems += [f"{rel}:{text.count(chr(10), 0, at) + 1}: {what}" for at, what in found]
    return problems + list(old_picture(top))


if __name__ == "__main__":
    csource.main(check)
