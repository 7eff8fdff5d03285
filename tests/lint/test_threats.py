# SPDX-License-Identifier: Apache-2.0
"""threats.py passes the tree as it is, and finds promises without a test and tests that do not exist."""
import pathlib
import shutil

import pytest

import threats

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    top = tmp_path_factory.mktemp("tree")
    for folder in ("tests/unit", "tests/wire", "tests/system"):
        shutil.copytree(TOP / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("tests/mutation", "docs"):
        (top / folder).mkdir()
    return top


@pytest.fixture
def edited(tree):
    """edited(file, old, new): the problems of the tree with this edit."""
    def problems(file, old, new):
        for name in (threats.PAGE, threats.MUTATIONS, threats.GUARANTEES):
            shutil.copy(TOP / name, tree / name)
        path = tree / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return "\n".join(threats.problems(tree))
    return problems


def test_the_tree_passes():
    assert threats.problems(TOP) == []


def test_a_test_that_does_not_exist_is_found(edited):
    assert "promise 4: there is no test wire/test_hostile_server.py::test_a_dream" in edited(
        threats.PAGE, "test_hostile_server.py::test_a_redirect_is_told_and_not_followed",
        "test_hostile_server.py::test_a_dream")


def test_a_promise_without_a_test_is_found(edited):
    assert "promise 5 names no test" in edited(
        threats.PAGE, "5. Sizes that a peer chooses", "5. Good weather.\n6. Sizes that a peer chooses")


def test_promises_are_numbered(edited):
    assert "not numbered" in edited(threats.PAGE, "\n4. informerd follows", "\n44. informerd follows")


def test_a_mutation_with_a_test_that_does_not_exist_is_found(edited):
    assert "there is no test unit/test_dream.c" in edited(threats.MUTATIONS, "! test_gzip", "! test_dream")
    assert "there is no test wire/test_ctl.py::test_dream" in edited(
        threats.MUTATIONS, "! test_ctl.py::test_others_may_look_but_not_act", "! test_ctl.py::test_dream")


def test_a_row_of_the_guarantees_with_a_test_that_does_not_exist_is_found(edited):
    assert "there is no test unit/test_state_kill.c::test_a_dream" in edited(
        threats.GUARANTEES, "unit/test_state_kill.c::test_no_committed_delivery_is_lost",
        "unit/test_state_kill.c::test_a_dream")


def test_a_row_of_the_guarantees_without_a_test_is_found(edited):
    assert "Events of a key come in order, and no two runs of a hook for a key at a time: no test" in edited(
        threats.GUARANTEES, "for a key at a time | ", "for a key at a time | by hand | **day** |\n| More | ")


def test_a_row_of_the_guarantees_with_a_campaign_that_does_not_exist_is_found(edited):
    assert "there is no campaign **dreams**" in edited(
        threats.GUARANTEES, "**simulation**, **random hooks** |", "**dreams** |")
