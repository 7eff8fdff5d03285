# SPDX-License-Identifier: Apache-2.0
"""Puts the test run that imports this module under the reaper of tests/wire/reaper.py, so that no
process which a test starts outlives the run. It also gives the run its limit for tests that hang.

A conftest.py imports this module before all others of the tests: the reaper has to be there before
the first thread and the first process, and patience.py starts processes when it is imported."""
import pytest

import reaper

reaper.stand_guard()

import patience  # noqa: E402
import proctree  # noqa: E402

proctree.become_subreaper()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    patience.limit_tests(config)
