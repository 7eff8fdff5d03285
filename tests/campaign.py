# SPDX-License-Identifier: Apache-2.0
"""How often tests try things that can be tried any number of times: a few times in each test run,
many times in a campaign (`./dev test --long`, which sets INFORMERD_LONG=1)."""
import argparse
import os
import re

LONG = os.environ.get("INFORMERD_LONG") == "1"
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def size(short, long):
    """The number for this run: `long` in a campaign, else `short`."""
    return long if LONG else short


def seconds(text):
    """"90", "90s", "5m", "1h": how long a campaign lasts."""
    match = re.fullmatch(r"([0-9]+)([smh]?)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 90, 90s, 5m or 1h")
    return int(match[1]) * UNITS[match[2]]
