# SPDX-License-Identifier: Apache-2.0
"""config/conf.d/*.conf.example: each is a whole configuration but for its clusters, and says which
access it needs."""
import re

import access_blocks
import pytest
from authorizer import Roles
from harness import check_config

EXAMPLES = access_blocks.examples()
each = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)


def shown(path):
    """The documents in the comment, cluster by cluster."""
    block = access_blocks.split(path.read_text())[1]
    text = "".join(line.removeprefix(access_blocks.INDENT) for line in block.splitlines(True))
    return [part for part in re.split(r"^(?=# cluster )", text, flags=re.MULTILINE) if part]


@each
def test_an_example_has_no_problem(path, tmp_path):
    done = check_config(access_blocks.prepare(path, tmp_path))
    assert done.returncode == 0, done.stderr


@each
def test_an_example_says_which_access_it_needs(path):
    assert path.read_text() == access_blocks.wanted(path), "run access_blocks.py --write"


@each
def test_the_access_in_the_comment_can_be_pasted(path):
    parts = shown(path)
    assert len(parts) == len(access_blocks.clusters_of(path.read_text()))
    for part in parts:
        assert {grant[4] for grant in Roles(part).grants()} <= {"get", "list", "watch"}


def test_there_are_examples():
    assert EXAMPLES


def test_an_example_that_needs_more_than_it_says_is_noticed(tmp_path):
    path = tmp_path / "x.conf.example"
    text = "\n".join(["# x", access_blocks.MARK, "#   old", "#   older", "#", "# more", "",
                      'watches : { p : { resource = "pods"; namespaces = [ "a" ]; }; };', ""])
    path.write_text(text)
    good = access_blocks.wanted(path)
    assert "old" not in good and "\n#\n# more\n\nwatches" in good
    assert '#     namespace: "a"\n' in good
    path.write_text(good)
    assert access_blocks.wanted(path) == good
    path.write_text(good.replace('resource = "pods"', 'resource = "secrets"'))
    assert access_blocks.wanted(path) != path.read_text()
