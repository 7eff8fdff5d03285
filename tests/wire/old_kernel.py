# SPDX-License-Identifier: Apache-2.0
"""Starts a program on a kernel that seems to lack system calls: seccomp answers them with ENOSYS, as an older
Linux does.

    old_kernel.py openat2,pidfd_open PROGRAM ARG...
"""
import ctypes
import errno
import os
import platform
import struct
import sys

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# From 424 on every architecture has the same numbers.
CALLS = {"pidfd_send_signal": 424, "pidfd_open": 434, "close_range": 436, "openat2": 437,
         "landlock_create_ruleset": 444}
# These numbers differ.
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}
SECCOMP = {"x86_64": 317, "aarch64": 277}
# Not a call, but a flag that memfd_create() refuses with EINVAL before Linux 6.3.
NOEXEC_SEAL = "MFD_NOEXEC_SEAL"

LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER_AT, ARCH_AT, SECOND_ARGUMENT_AT = 0, 4, 24
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


def op(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


def program(calls):
    """The filter as bytes: an instruction after the other."""
    machine = platform.machine()
    out = [op(LOAD, ARCH_AT), op(EQUAL, AUDIT_ARCH[machine], 1, 0), op(RETURN, ALLOW),
           op(LOAD, NUMBER_AT)]
    for name in calls:
        if name != NOEXEC_SEAL:
            number = {"memfd_create": MEMFD_CREATE[machine], "seccomp": SECCOMP[machine],
                      **CALLS}[name]
            out += [op(EQUAL, number, 0, 1), op(RETURN, ERRNO | errno.ENOSYS)]
    if NOEXEC_SEAL in calls:
        out += [op(EQUAL, MEMFD_CREATE[machine], 0, 3), op(LOAD, SECOND_ARGUMENT_AT),
                op(SET, 8, 0, 1), op(RETURN, ERRNO | errno.EINVAL)]
    return b"".join([*out, op(RETURN, ALLOW)])


def install(calls):
    class Program(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    code = program(calls)
    if os.geteuid() != 0 and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_NO_NEW_PRIVS")
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER,
                  ctypes.byref(Program(len(code) // 8, code)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_SECCOMP")


if __name__ == "__main__":
    install(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])
