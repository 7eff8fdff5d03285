#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of the hooks in output.py: command, check and apply, as one script.

    hook.py command                  prints the file, slowly, so that a kill finds it half done
    hook.py check FILE NOTES         fails, and leaves a note, unless FILE is whole
    hook.py apply TARGET NOTE        notes the state of the file or folder TARGET

A file is a body of 1 byte to 300 kB and a line with its checksum.
"""
import hashlib
import json
import os
import sys
import time


def whole(body):
    """A body with its checksum."""
    return body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n"


def is_whole(data):
    body, _, checksum = data[:-1].rpartition(b"\n")
    return len(body) > 0 and data == whole(body) and len(checksum) == 64


def body_of(key, serial, size):
    """`size` bytes that differ from one serial to the next, if `size` has room for the serial."""
    word = f"{serial}.{key} ".encode()
    return (word * (size // len(word) + 1))[:size]


def file_of(obj):
    """The file of mode object, and that of mode batch for the newest object."""
    data = obj["data"]
    return whole(body_of(obj["metadata"]["name"], data["serial"], int(data["size"])))


def newest(objects):
    return max(objects, key=lambda obj: int(obj["data"]["serial"]))


def file_of_all(objects):
    """The file of mode snapshot: a line for each, and as much as the newest is large."""
    lines = [f"{obj['metadata']['name']} {obj['data']['serial']}\n" for obj in objects]
    filler = file_of(newest(objects)) if objects else b"none"
    return whole("".join(lines).encode() + filler)


def state_of(target):
    """The checksum of a file, or of all files below a folder with their names."""
    if os.path.isfile(target):
        with open(target, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    total = hashlib.sha256()
    for folder, folders, names in os.walk(target):
        folders.sort()
        for name in sorted(name for name in names if not name.startswith(".")):
            total.update(f"{name} {state_of(os.path.join(folder, name))}\n".encode())
    return total.hexdigest()


def command():
    told = json.load(sys.stdin)
    if "snapshot" in told:
        data = file_of_all(told["snapshot"]["maps"])
    elif "events" in told:
        data = file_of(newest([event["object"] for event in told["events"]]))
    else:
        data = file_of(told["event"]["object"])
    step = len(data) // 4 + 1
    for start in range(0, len(data), step):
        os.write(1, data[start:start + step])
        time.sleep(0.001)


def check(path, notes):
    with open(path, "rb") as file:
        data = file.read()
    time.sleep(0.003)
    if not is_whole(data):
        with open(notes, "a") as out:
            out.write(f"check was given {len(data)} bytes that are not whole: {path}\n")
        sys.exit(1)


def apply(target, note):
    state = state_of(target)
    time.sleep(0.003)
    with open(f"{note}.{os.getpid()}", "w") as out:
        out.write(state)
    os.replace(out.name, note)


if __name__ == "__main__":
    {"command": command, "check": check, "apply": apply}[sys.argv[1]](*sys.argv[2:])
