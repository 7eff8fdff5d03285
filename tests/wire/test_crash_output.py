# SPDX-License-Identifier: Apache-2.0
"""DESIGN 1.5: output files are the old or the new ones whatever is killed; tests/crash/output.py
does this a thousand times."""
import subprocess

from control import PATIENCE
from harness import BUILD, ROOT


def test_no_kill_leaves_a_half_file():
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/crash/output.py", "--build", BUILD,
                           "--kills", "30"], text=True, capture_output=True, timeout=20 * PATIENCE)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
