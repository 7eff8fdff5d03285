# SPDX-License-Identifier: Apache-2.0
"""The size of what can be tried any number of times: short in each test run, long in a campaign
(`./dev test --long`, which sets INFORMERD_LONG=1)."""
import os

LONG = os.environ.get("INFORMERD_LONG") == "1"


def size(short, long):
    """How often this run tries it."""
    return long if LONG else short
