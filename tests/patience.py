# SPDX-License-Identifier: Apache-2.0
"""How long a test waits for an event that must come, before the test counts as hanging.

This is a limit for hangs only: no test may pass or fail by how fast the machine is. On a machine
that is slow when the tests begin, the limit is longer. INFORMERD_PATIENCE=SECONDS sets it, e.g. to
20 while you write a test that you expect to fail."""
import os
import subprocess
import tempfile
import time

import campaign

BASE_S = 300            # on a machine that calibrates as below, or faster
USUAL_S = 0.1           # calibrate() takes less than this on two idle cores of 2024
VARIABLE = "INFORMERD_PATIENCE"


def calibrate():
    """The seconds that a few process starts and syncs take, on which tests of the daemon wait
    most."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(10):
            subprocess.run(["/bin/true"], check=True)
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    return time.monotonic() - began


def seconds():
    """The limit; child processes of the first caller get the same one."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(round(BASE_S * max(1.0, calibrate() / USUAL_S)))
    return float(os.environ[VARIABLE])


PATIENCE = seconds()


def limit_tests(config):
    """To be called early in pytest_configure(). A test that hangs where no other limit applies, say
    in Popen.wait(), fails after three times the limit, and the tests after it run (pytest-timeout).
    The long form of a campaign has no limit."""
    if getattr(config.option, "timeout", None) is None:
        config.option.timeout = 0 if campaign.LONG else 3 * PATIENCE
