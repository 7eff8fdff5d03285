# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "New credentials": a few random rotations under load here, a thousand in a long
run."""
import subprocess

import campaign
from harness import BUILD, ROOT


def test_s113_random_rotations_under_load_cost_no_event_and_no_list():
    pace = campaign.size(["--pace", "8"], [])
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/soak/rotation.py", "--build", BUILD,
                           "--rotations", str(campaign.size(20, 1000)), *pace], text=True,
                          capture_output=True)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
