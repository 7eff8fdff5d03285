# SPDX-License-Identifier: Apache-2.0
"""How long a test waits for what must come before it counts as hanging.

This is a limit for hangs only: no test may pass or fail by how fast the machine is. A machine that
is slow when the tests begin gets more of it. INFORMERD_PATIENCE=SECONDS sets it, e.g. to 20 while
a test is being written that is expected to fail."""
import os
import subprocess
import tempfile
import time

import campaign

BASE_S = 300            # on a machine that calibrates as below, or faster
USUAL_S = 0.1           # what calibrate() takes on two idle cores of 2024, with room
VARIABLE = "INFORMERD_PATIENCE"


def calibrate():
    """The seconds that a few process starts and syncs take: what tests of the daemon wait for."""
    began = time.monotonic()
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(10):
            subprocess.run(["/bin/true"], check=True)
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    return time.monotonic() - began


def seconds():
    """The limit; child processes of the first caller get the same."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(round(BASE_S * max(1.0, calibrate() / USUAL_S)))
    return float(os.environ[VARIABLE])


PATIENCE = seconds()


def limit_tests(config):
    """To be called early in pytest_configure(). A test that hangs where it has no limit of its own,
    say in Popen.wait(), fails after three times the limit, and the tests after it run
    (pytest-timeout). The long form of a campaign may take as long as it likes."""
    if getattr(config.option, "timeout", None) is None:
        config.option.timeout = 0 if campaign.LONG else 3 * PATIENCE
