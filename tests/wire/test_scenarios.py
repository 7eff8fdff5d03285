# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md has each number once, with tests that exist, or with the reason why it has no
test."""
import re

import scenarios

ROWS = scenarios.rows(scenarios.TABLE.read_text())


def test_each_number_stands_in_the_table_once():
    assert [int(row[0]) for row in ROWS] == scenarios.NUMBERS


def test_each_row_has_tests_or_says_why_not():
    found = scenarios.tests()
    bare = [number for number, _title, _tests, remark in ROWS
            if not scenarios.is_left_out(remark) and not found.get(int(number))]
    assert not bare, "no test_sNN_... and no reason"


def test_each_test_in_the_table_exists_and_none_is_missing():
    text = scenarios.TABLE.read_text()
    names = {name for found in scenarios.tests().values() for _file, name in found}
    gone = set(re.findall(r"`(test_s\d\w+)`", text)) - names
    assert not gone, "in the table, but not in the files"
    assert text == scenarios.filled(text), "run scenarios.py --write"


def test_a_scenario_that_is_left_out_has_no_test():
    found = scenarios.tests()
    both = [number for number, _title, _tests, remark in ROWS
            if scenarios.is_left_out(remark) and found.get(int(number))]
    assert not both, "left out, and yet there is a test: which is true?"


def test_each_feature_that_peers_lack_has_a_test():
    listed = scenarios.features(scenarios.TABLE.read_text())
    assert listed and sorted(scenarios.tests("peers_")) == listed
