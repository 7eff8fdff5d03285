#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/contract.txt maps each flag, verb, exit code, setting, variable, member and word of the
contract to tests that show it. contract_items.py finds them in the source and the documents."""
import ast
import re

import contract_items as items
import csource

TABLE = "tests/contract.txt"
LEAST = 450  # items that the source and informerctl(1) had when this lint was written
# Where a person finds the items of a kind.
PAGES = {
    "flag informerd": "packaging/man/informerd.8", "flag informerctl": "packaging/man/informerctl.1",
    "verb": "packaging/man/informerctl.1", "setting": "packaging/man/informerd.conf.5",
    "exit": "docs/design.md", "env hook": "docs/hooks.md", "env plugin": "docs/design.md",
    "env read": "packaging/man", "input": "docs/hooks.md", "event": "docs/design.md",
    "cause": "docs/design.md", "reason": "docs/hooks.md", "program": "packaging/man/informerctl.1",
    "state": "docs/design.md", "why": "packaging/man/informerctl.1", "line": "packaging/man/informerctl.1",
    "field": "docs/design.md", "signal": "packaging/man/informerd.8", "output": "packaging/man/informerctl.1",
}


class Row:
    """ITEM | TEST ... [| TEXT]: the tests have the words of the item, or TEXT, in their source."""

    def __init__(self, number, line):
        self.where = f"{TABLE}:{number}"
        cells = [cell.strip() for cell in re.split(r" \|(?: |$)", line, maxsplit=2)]
        self.item, self.tests = cells[0], cells[1].split() if len(cells) > 1 else []
        self.text = cells[2] if len(cells) > 2 else None


def read_table(top):
    lines = items.text_of(top, TABLE).splitlines()
    return [Row(n, line) for n, line in enumerate(lines, 1) if line and not line.startswith("#")]


class Tests:
    """The sources of tests, each file read once."""

    def __init__(self, top):
        self.top, self.files = top, {}

    def _python(self, path):
        lines = path.read_text(encoding="utf-8").splitlines()
        return {node.name: "\n".join(lines[min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1:
                                           node.end_lineno])
                for node in ast.parse("\n".join(lines)).body
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}

    def _c(self, path):
        source = csource.Source(path, self.top)
        return {d.name: "\n".join(source.lines[d.line - 1:d.end]) for d in source.declarations()
                if d.is_definition and d.name.startswith("test_")
                and re.search(rf"(?:^\s+|{{)\w+\({d.name}\b", source.text, re.M)}     # in the table of main()

    def source(self, name):
        """The text of FILE::TEST below tests/; None: there is none."""
        file, _, test = name.partition("::")
        if file not in self.files:
            path = self.top / "tests" / file
            read = self._python if file.endswith(".py") else self._c
            self.files[file] = read(path) if path.is_file() else {}
        return self.files[file].get(test)


def has_word(text, word):
    """Whether the word, or the flag, stands in the text, not as a part of another one."""
    before = r"(?<![\w-])" if word.startswith("-") else r"(?<!\w)"
    return re.search(before + re.escape(word) + r"(?!\w)", text) is not None


def words_of(item, groups):
    """The text that a test of the item has to have."""
    kind, _, name = item.partition(" ")
    if kind == "setting":
        parts = name.split(".")
        return parts[1:] if parts[0] in groups and len(parts) > 1 else parts
    if kind in ("verb", "json"):
        return name.split()
    if kind == "input":
        return [name.split(".")[-1]]
    if item == "env hook INFORMERD_FIELD_NAME":
        return ["fields"]
    return [name.split()[-1]]


def check_row(row, tests):
    out = [] if row.tests else [f"{row.where}: {row.item}: no test"]
    for name in row.tests:
        text = tests.source(name)
        wanted = [row.text] if row.text else words_of(row.item, NAMED)
        if text is None:
            out.append(f"{row.where}: {row.item}: there is no test tests/{name}")
        elif row.text:
            out += [f"{row.where}: {row.item}: {name} does not contain {row.text!r}"] \
                if row.text not in text else []
        else:
            out += [f"{row.where}: {row.item}: {name} does not say {word!r}"
                    for word in wanted if not has_word(text, word)]
    return out


NAMED = ("clusters", "watches", "views", "hooks")  # a setting of these stands behind a name


def check_table(rows, wanted, tests):
    bad, seen = [], set()
    for before, row in zip([None] + rows[:-1], rows):
        if row.item in seen:
            bad.append(f"{row.where}: {row.item}: a second row")
        if before and row.item < before.item:
            bad.append(f"{row.where}: {row.item}: not sorted")
        seen.add(row.item)
        if row.item not in wanted:
            bad.append(f"{row.where}: {row.item}: neither the source nor the documents have it")
        bad += check_row(row, tests)
    return bad + [f"{TABLE}: no row for {item!r}" for item in sorted(wanted - seen)]


def page_text(top, page):
    if (top / page).is_dir():
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted((top / page).iterdir()))
    text = items.text_of(top, page)
    return items.built(text) if page.endswith("design.md") else text


def stands_in(text, item):
    """Whether a page that people read names the item; "also in lower case" is enough for a variable."""
    word = item.split()[-1].split(".")[-1].removeprefix("-")
    spellings = {word, word.removeprefix("SIG"), word.removesuffix("NAME") + "NAME"}
    if item.startswith("why "):
        spellings.add(word.replace("_", " "))
    if word.endswith("_proxy"):
        spellings.add(word.upper())
    return any(re.search(rf"(?<!\w){spelling}(?!\w)", text) for spelling in spellings)


def check_documented(top, found):
    """Each item of the source stands in the page of its kind."""
    texts = {page: page_text(top, page) for page in set(PAGES.values())}
    pages = {item: next(page for kind, page in PAGES.items() if item.startswith(kind + " "))
             for item in found}
    return [f"{page}: {item!r} is not there" for item, page in sorted(pages.items())
            if not stands_in(texts[page], item)]


def check_promised(top, found):
    """The source has each item that a document names."""
    bad = [f"{page}: {item!r} is not in the source" for page, item in items.of_pages(top)
           if item not in found]
    bad += [f"docs/hooks.md: {item!r} is not in the source" for item in items.of_hooks_page(top)
            if item not in found]
    bad += [f"docs/design.md: {item!r} is not in the source: mend one of them, or name it under "
            f"\"{items.NOT_YET}\"" for item in sorted(items.of_contract(top, found))]
    return bad


def check_json(top, members):
    """The source writes each member that informerctl(1) promises."""
    written = "\n".join(s.text for s in csource.sources(top, ["daemon"], "*.c"))
    return [f"packaging/man/informerctl.1: {item!r} is not in the source" for item in sorted(members)
            if f'"{item.split()[-1]}"' not in written]


def check(top, _arguments):
    found, members = items.of_source(top), set(items.json_members(top))
    bad = check_table(read_table(top), found | members, Tests(top))
    bad += check_promised(top, found) + check_documented(top, found) + check_json(top, members)
    if len(found | members) < LEAST:
        bad.append(f"only {len(found | members)} items found: is the source still read?")
    return bad


if __name__ == "__main__":
    csource.main(check)
