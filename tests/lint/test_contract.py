# SPDX-License-Identifier: Apache-2.0
"""contract.py passes the tree as it is, and finds items without a row, rows without an item or a test, and
documents that promise what the source does not have."""
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
TOP = HERE.parent.parent
TABLE = "tests/contract.txt"
READ = ["daemon", "docs", "packaging/man", "tests/wire", "tests/unit"]


def run(top):
    done = subprocess.run([sys.executable, str(HERE / "contract.py"), "--top", str(top)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    top = tmp_path_factory.mktemp("tree")
    for folder in READ:
        shutil.copytree(TOP / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TOP / TABLE, top / TABLE)
    return top


def row(item):
    """The row of an item as it stands in the table."""
    return next(line for line in (TOP / TABLE).read_text().splitlines() if line.startswith(f"{item} | "))


def test_the_tree_passes():
    assert run(TOP) == (0, "")


@pytest.mark.parametrize("name, old, new, message", [
    (TABLE, row("flag informerd --once") + "\n", "", "no row for 'flag informerd --once'"),
    (TABLE, row("json hooks pending") + "\n", "", "no row for 'json hooks pending'"),
    (TABLE, "verb why | ", "verb whence | ", "verb whence: neither the source nor the documents have it"),
    (TABLE, row("verb why"), row("verb why") + "\n" + row("verb why"), "verb why: a second row"),
    (TABLE, row("verb why"), row("verb wait") + "\n" + row("verb why"), "verb wait: not sorted"),
    (TABLE, row("event LEFT"), "event LEFT | wire/test_none.py::test_none",
     "event LEFT: there is no test tests/wire/test_none.py::test_none"),
    (TABLE, row("event LEFT"), "event LEFT | wire/test_ctl.py::test_ctl_get", "test_ctl_get does not say 'LEFT'"),
    (TABLE, row("event LEFT"), "event LEFT | wire/test_ctl.py::test_ctl_get | gone west",
     "test_ctl_get does not contain 'gone west'"),
    (TABLE, row("event LEFT"), "event LEFT |", "event LEFT: no test"),
    (TABLE, row("why starting"), row("why starting").replace("::test_", "::"), "why starting: there is no test"),
    ("daemon/app/options.c", '{"speed",  ', '{"pace",  ', "no row for 'flag informerd --pace'"),
    ("daemon/app/options.c", '{"speed",  ', '{"pace",  ',
     "packaging/man/informerd.8: 'flag informerd --speed' is not"),
    ("daemon/app/options.h", "EXIT_CODE_UNAVAILABLE = 69", "EXIT_CODE_UNAVAILABLE = 70",
     "docs/design.md: 'exit informerd 69' is not in the source"),
    ("daemon/ctl/command.c", '.name = "why"', '.name = "whence"', "no row for 'verb whence'"),
    ("daemon/ctl/args.c", '{"wait",  ', '{"await", ', "no row for 'flag informerctl --await'"),
    ("daemon/conf/main_conf.c", "SETTING_ROW(MS, pending", "SETTING_ROW(MS, pends",
     "no row for 'setting limits.pends'"),
    ("daemon/conf/main_conf.c", "SETTING_ROW(MS, pending", "SETTING_ROW(MS, pends",
     "docs/design.md: 'setting limits.pending' is not in the source"),
    ("daemon/hook/payload.c", '"INFORMERD_NODE"', '"INFORMERD_HOST"', "no row for 'env hook INFORMERD_HOST'"),
    ("daemon/hook/payload.c", '"INFORMERD_NODE"', '"INFORMERD_HOST"',
     "docs/hooks.md: 'env hook INFORMERD_NODE' is not in the source"),
    ("daemon/ctl/terminal.c", 'getenv("NO_COLOR")', 'getenv("NO_COLOUR")', "no row for 'env read NO_COLOUR'"),
    ("daemon/hook/event_json.c", '{"uid", ', '{"uuid",', "no row for 'input event.uuid'"),
    ("daemon/hook/payload.c", '"changes", run', '"differences", run', "no row for 'input differences'"),
    ("daemon/cache/delta.c", '"FRESH"', '"FINE"', "no row for 'event FINE'"),
    ("daemon/hook/run.c", '"rerun"', '"again"', "no row for 'reason again'"),
    ("daemon/hook/why.c", '"strays"', '"loose"', "'why loose' is not there"),
    ("daemon/app/daemon.c", "SIGHUP, SIGCHLD}", "SIGUSR1, SIGCHLD}", "no row for 'signal SIGUSR1'"),
    ("daemon/admin/report.c", '"skipped_objects"', '"unusable"',
     "'json watches skipped_objects' is not in the source"),
    ("packaging/man/informerctl.1", ".Cm pending , running ,", ".Cm pending , napping ,",
     "no row for 'json hooks napping'"),
    ("docs/design.md", "`informerctl wait`", "`informerctl await`",
     "docs/design.md: 'verb await' is not in the source"),
    ("docs/design.md", "`--dry-run` does", "`--rehearse` does", "'flag informerd --rehearse' is not in the source"),
    ("docs/hooks.md", "`hook`, `run`, `attempt`, `reason` |", "`hook`, `run`, `trial`, `reason` |",
     "docs/hooks.md: 'input trial' is not in the source"),
])
def test_a_difference_is_found(copy, name, old, new, message):
    text = (copy / name).read_text()
    assert old in text, "the test no longer fits the tree"
    (copy / name).write_text(text.replace(old, new, 1))
    try:
        code, output = run(copy)
    finally:
        (copy / name).write_text(text)
    assert code == 1
    assert message in output
