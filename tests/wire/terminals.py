# SPDX-License-Identifier: Apache-2.0
"""The output of informerctl on a terminal."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

from harness import INFORMERCTL


def on_terminal(daemon, columns, *args):
    """The lines that informerctl prints on a terminal of this width, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([INFORMERCTL, "--socket", daemon.control.path, *args], stdin=slave,
                               stdout=slave, stderr=slave,
                               env={**os.environ, "NO_COLOR": "1"})
    os.close(slave)
    seen = b""
    try:
        while piece := os.read(master, 65536):
            seen += piece
    except OSError:     # the other end is closed
        pass
    process.wait()
    os.close(master)
    return seen.decode().splitlines()
