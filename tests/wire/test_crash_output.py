# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "Output files": the old or the new one, whatever is killed: a few times here, a
thousand times in a long run."""
import subprocess

import campaign
from harness import BUILD, ROOT


def test_no_kill_leaves_a_half_file():
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/crash/output.py", "--build", BUILD,
                           "--kills", str(campaign.size(8, 1000))], text=True, capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
