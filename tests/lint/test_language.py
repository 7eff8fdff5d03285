# SPDX-License-Identifier: Apache-2.0
"""The lint of references and words passes a good tree and names each bad place."""
import pathlib
import subprocess
import sys

import pytest

LINT = pathlib.Path(__file__).parent / "language.py"

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
