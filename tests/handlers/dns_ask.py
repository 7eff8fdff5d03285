# SPDX-License-Identifier: Apache-2.0
"""A DNS client: one question over UDP, its answer."""
import socket
import struct

from control import PATIENCE

TYPES = {"A": (1, socket.AF_INET), "AAAA": (28, socket.AF_INET6)}
NOERROR, NXDOMAIN = 0, 3


def _question(name, number):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return labels + b"\0" + struct.pack(">HH", number, 1)


def ask(name, kind="A", server="127.0.0.1", port=53, timeout=PATIENCE):
    """(response code, sorted addresses). The parser relies on dnsmasq's answers, in which the name
    of each record is a pointer of two bytes."""
    number, family = TYPES[kind]
    question = _question(name, number)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect((server, port))
        sock.send(struct.pack(">6H", 4711, 0x0100, 1, 0, 0, 0) + question)
        answer = sock.recv(65535)
    count, at, found = struct.unpack_from(">H", answer, 6)[0], 12 + len(question), []
    for _ in range(count):
        got, _class, _ttl, size = struct.unpack_from(">HHIH", answer, at + 2)
        if got == number:
            found.append(socket.inet_ntop(family, answer[at + 12:at + 12 + size]))
        at += 12 + size
    return answer[3] & 15, sorted(found)
