# SPDX-License-Identifier: Apache-2.0
"""Makes the PNG of a screenshot small enough for the repository: a picture of text has few colours, and
256 of them are a third of the bytes."""
import struct
import zlib


def chunks(png):
    at = 8
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + size]
        at += 12 + size


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def unfiltered(line, before, kind, n):
    """A row of bytes without its filter (PNG 9.2); n = bytes of a pixel."""
    out = bytearray(line)
    if kind == 2:
        return bytearray((x + b) & 255 for x, b in zip(line, before))
    for i in range(len(out) if kind else 0):
        a = out[i - n] if i >= n else 0
        b, c = before[i], before[i - n] if i >= n else 0
        out[i] = out[i] + (a, b, (a + b) // 2, paeth(a, b, c))[kind - 1] & 255
    return out


def rows(png):
    """(width, height, n, rows): the rows of pixels of n bytes, 8 bits each, not interlaced."""
    parts = list(chunks(png))
    width, height, depth, colour, *_, interlace = struct.unpack(">IIBBBBB", parts[0][1])
    assert (depth, interlace) == (8, 0) and colour in (2, 6)
    n = 3 if colour == 2 else 4
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    out, before = [], bytearray(width * n)
    for at in range(0, len(data), width * n + 1):
        before = unfiltered(data[at + 1:at + 1 + width * n], before, data[at], n)
        out.append(before)
    return width, height, n, out


def palette(lines, n):
    """({colour: its place}, [colour, ...]): the colours are made coarser until 256 are enough; of those
    that become one, the most frequent one stays."""
    count = {}
    for line in lines:
        for at in range(0, len(line), n):
            colour = bytes(line[at:at + 3])
            count[colour] = count.get(colour, 0) + 1
    for bits in range(8):
        best = {}
        for colour in sorted(count, key=count.get):
            best[bytes(part >> bits for part in colour)] = colour
        if len(best) <= 256:
            place = {key: i for i, key in enumerate(best)}
            return ({colour: place[bytes(part >> bits for part in colour)] for colour in count},
                    list(best.values()))
    raise AssertionError("eight bits are one colour at last")


def small(png):
    width, height, n, lines = rows(png)
    places, colours = palette(lines, n)
    data = b"".join(b"\0" + bytes(places[bytes(line[at:at + 3])] for at in range(0, len(line), n))
                    for line in lines)
    out = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
                       (b"PLTE", b"".join(colours)), (b"IDAT", zlib.compress(data, 9)), (b"IEND", b"")]:
        out.append(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
    return b"".join(out)
