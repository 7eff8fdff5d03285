# SPDX-License-Identifier: Apache-2.0
"""The capabilities of a process, as /proc/PID/status has them."""
import pathlib

NAMES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME""".split()


def bits(*names):
    """The set of these capabilities as a number."""
    return sum(1 << NAMES.index(name) for name in names)


def names(number):
    """The known names in a set, to compare sets with a message that can be read."""
    return {name for i, name in enumerate(NAMES) if number >> i & 1}


def parse(text):
    """{"CapEff": number, ..., "NoNewPrivs": number} of the text of a status file."""
    rows = (line.split(":") for line in text.splitlines())
    return {row[0]: int(row[1], 16) for row in rows
            if row[0].startswith("Cap") or row[0] == "NoNewPrivs"}


def of(pid):
    return parse(pathlib.Path(f"/proc/{pid}/status").read_text())
