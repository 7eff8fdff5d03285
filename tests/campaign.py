# SPDX-License-Identifier: Apache-2.0
"""How often tests try things that can be tried any number of times: a few times in each test run,
many times in a campaign (`./dev test --long`, which sets INFORMERD_LONG=1)."""
import os

LONG = os.environ.get("INFORMERD_LONG") == "1"


def size(short, long):
    """The number for this run: `long` in a campaign, else `short`."""
    return long if LONG else short
