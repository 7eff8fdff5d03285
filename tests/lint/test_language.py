# SPDX-License-Identifier: Apache-2.0
"""The lint of references and words passes a good tree and names each bad place."""
import pathlib
import subprocess
import sys

import pytest

LINT = pathlib.Path(__file__).parent / "language.py"
BARE = "a sentence begins with"

GOOD = {
    "ARCHITECTURE.md": "# Architecture\n\n## Event in\n\ncache/store keeps [the rules](docs/design.md#retry).\n",
    "docs/design.md": "# Design\n\n## Retry\n\n### What a `hook` gets\n\nSee [here](#retry) and [there](design.md).\n",
    "docs/architecture.dot": '// The picture.\ndigraph { a [label="cache/store\\nobjects"]; }\n',
    "docs/architecture.svg": "<svg><text>cache/store</text>\n<text>objects</text></svg>\n",
    "daemon/cache/store.c": "/* It follows docs/design.md \"Retry\" and \"What a hook gets\"; store.h says more. */\n"
                            "/* A reference may be broken over lines: docs/design.md \"What a\n * hook gets\". */\n"
                            "const char *name; /* cache/store.h, sim/api, proto/(any) */\n"
                            "#include \"gone/gone.h\"\n",
    "daemon/cache/store.h": "/* ARCHITECTURE.md \"Event in\", and tests/wire/SCENARIOS.md. */\n",
    "daemon/proto/url.c": "/* ACME's topology.go is no file of ours. */\n",
    "tests/sim/api.c": "/* Blames and planes are words; so is the verb feed. */\n",
    "tests/wire/SCENARIOS.md": "SCENARIOS 18 is a row.\n",
    # Questions, code, quotations, headings and the heads of tables are no bare sentences.
    "daemon/cache/view.c": "/* What does it have? Who asks, and\n * why? It says what it has. \"What is it\". */\n"
                           "const char *text = \"What is it\";\n",
    "tests/wire/test_b.py": 'TEXT = "Good. What is it."\n\n\ndef a():\n    """What does it have?"""\n',
    "docs/questions.md": "## What it has\n\n| who | What it has |\n|---|---|\n| it | what |\n\n"
                         "```sh\nWhat is it\n```\n",
    "packaging/man/informerd.8": ".Sh What it has\n.Bd -literal\nWhat is it\n.Ed\nIt says\n.Nm\nwhat it has.\n",
}


@pytest.fixture(name="top")
def good_tree(tmp_path):
    for name, text in GOOD.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(top):
    done = subprocess.run([sys.executable, str(LINT), "--top", str(top)], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def test_a_good_tree_passes(top):
    assert run(top) == (0, "")


@pytest.mark.parametrize("file,text,line,says", [
    ("daemon/cache/store.c", '/* a */\n/* docs/gone.md "Retry". */\n', 2, "there is no docs/gone.md"),
    ("daemon/cache/store.c", '/* docs/design.md "Again". */\n', 1, 'docs/design.md has no heading "Again"'),
    ("daemon/cache/store.c", '/* docs/design.md "Retry", "Again". */\n', 1,
     'docs/design.md has no heading "Again"'),
    ("daemon/cache/store.c", '/* docs/design.md "Retry" and\n * "Again". */\n', 1,
     'docs/design.md has no heading "Again"'),
    ("tests/wire/test_a.py", '"""docs/design.md "Again"."""\n', 1, 'docs/design.md has no heading "Again"'),
    ("docs/hooks.md", "\n\nSee [x](#tour).\n", 3, "docs/hooks.md has no heading #tour"),
    ("docs/hooks.md", "See [x](design.md#tour).\n", 1, "docs/design.md has no heading #tour"),
    ("docs/hooks.md", "See [x](../gone.md).\n", 1, "there is no docs/../gone.md"),
    ("daemon/cache/store.c", "int a; /* as DESIGN 1.4 says */\n", 1, "DESIGN 1 is not in this repository"),
    ("daemon/cache/store.c", "/* PROTOCOL.md */\n", 1, "PROTOCOL.md is not in this repository"),
    ("daemon/cache/store.c", "/* See above. */\nint f(void);\n", 1, '"See above." is no comment'),
    ("daemon/cache/store.c", "int a;\n/* as cache/shop does */\n", 2, "there is no cache/shop"),
    ("daemon/cache/store.c", "/* as shop.h does */\n", 1, "there is no shop.h"),
    ("ARCHITECTURE.md", "# A\n\n`sim/gone` plays it.\n\n## Event in\n", 3, "there is no sim/gone"),
    ("daemon/cache/store.c", "int ledger_free;\n", 1, '"ledger" is a retired word: delivery_log'),
    ("daemon/cache/store.c", "/* Both lanes wait. */\n", 1, '"lanes" is a retired word: work queue'),
    ("config/informerd.conf", "# The ladder.\n", 1, '"ladder" is a retired word: backoff'),
    ("daemon/cache/store.c", "int a;\n/* What it has. */\n", 2, f'{BARE} "What"'),
    ("daemon/cache/store.c", "/* It is full. What\n * is left is freed. */\n", 1, f'{BARE} "What"'),
    ("daemon/cache/store.c", "/*\n * store - a cache; pure.\n *\n * Who owns it is known.\n */\n", 4, f'{BARE} "Who"'),
    ("daemon/cache/store.c", "/* Why? Whatever is left. */\n", 1, f'{BARE} "Whatever"'),
    ("tests/wire/test_a.py", 'def a():\n    """What it has."""\n', 2, f'{BARE} "What"'),
    ("tests/wire/test_a.py", "A = 1\n# What it has.\n", 2, f'{BARE} "What"'),
    ("config/informerd.conf", "# Two\n# lines. Who runs it.\n", 2, f'{BARE} "Who"'),
    ("docs/hooks.md", "# A\n\nIt runs. **What runs** is\nnamed.\n", 3, f'{BARE} "What"'),
    ("docs/hooks.md", "Two:\n- Whoever asks.\n", 2, f'{BARE} "Whoever"'),
    ("docs/hooks.md", "| a | b |\n|---|---|\n| c | Good. What is bad goes. |\n", 3, f'{BARE} "What"'),
    ("packaging/man/informerd.8", ".It Cm user\nWho runs\n.Nm .\n", 2, f'{BARE} "Who"'),
    ("docs/architecture.svg", "<svg><text>cache/store</text></svg>\n", 1,
     '"objects" of docs/architecture.dot is missing: ./dev picture'),
])
def test_each_bad_place_is_named(top, file, text, line, says):
    path = top / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    code, output = run(top)
    assert code == 1
    assert [p for p in output.splitlines() if p.startswith(f"{file}:{line}: {says}")], output
    assert len(output.splitlines()) == 1, output
