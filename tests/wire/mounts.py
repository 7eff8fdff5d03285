# SPDX-License-Identifier: Apache-2.0
"""Daemons in a mount namespace of their own: they see other files than the rest of the machine."""
import ctypes
import os
import subprocess
import threading

import pytest

CLONE_NEWNS, MS_REC_PRIVATE = 0x20000, 0x44000
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def enter_own_mounts():
    """Gives this thread, and the processes that it starts from now on, mounts of their own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def start_with_mounts(start, *mounts):
    """Calls start() in a mount namespace with these mounts; each one is the arguments of mount(8).
    Skips the test where the machine does not allow that."""
    failed = []

    def work():
        try:
            enter_own_mounts()
            for mount in mounts:
                subprocess.run(["mount", *map(str, mount)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            failed.append(error)
            return
        try:
            start()
        except BaseException as error:
            started.append(error)
    started = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        pytest.skip(f"no mounts here: {failed[0]}")
    if started:
        raise started[0]


def boot(d, boot_id):
    """Starts the daemon as if the machine had been booted with this boot id."""
    if os.geteuid() != 0:
        pytest.skip("needs root for a mount")
    file = d.folder / "boot_id"
    file.write_text(f"{boot_id}\n")
    start_with_mounts(d.start, ["--bind", file, BOOT_ID])
    return d
