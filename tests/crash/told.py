#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of the hooks in state.py, as one script: each writes its start and its end to a log.

    told.py command LOG [FAILS]      FAILS: how many of 100 first or second attempts fail
    told.py apply LOG FOLDER         logs the state of all files in FOLDER

A line of the log is one write with O_APPEND, so lines are whole and stand in the order of events.
The start line has all that the run was told; a run without an end line was killed.
"""
import hashlib
import json
import os
import sys
import time

UNKEPT = ("resourceVersion", "generation", "managedFields")


def digest(obj):
    """The digest by which informerd compares objects: without the resourceVersion and the like."""
    meta = {name: value for name, value in obj["metadata"].items() if name not in UNKEPT}
    text = json.dumps({**obj, "metadata": meta}, sort_keys=True)
    return hashlib.md5(text.encode()).hexdigest()[:12]


def key_of(meta):
    return f"{meta['namespace']}/{meta['name']}"


def event_of(event, shown):
    """An event as the log has it. shown: {(source, uid): object} of the snapshot, or None."""
    obj, old = event.get("object"), event.get("old_object")
    if shown is not None:
        obj = shown.get((event["source"], event["uid"]))
    return {"type": event["type"], "cause": event["cause"], "source": event["source"],
            "key": key_of(event), "uid": event["uid"], "rv": event["resource_version"],
            "unknown": event["final_state_unknown"], "digest": obj and digest(obj),
            "old": old and digest(old), "old_uid": old and old["metadata"]["uid"]}


def told_of(doc):
    """The events and the snapshot of a run's document, as members of the start line."""
    out = {"snapshot": None}
    if "snapshot" in doc:
        shown = {(source, obj["metadata"]["uid"]): obj
                 for source, objects in doc["snapshot"].items() for obj in objects}
        out["events"] = [event_of(event, shown) for event in doc["changes"]]
        out["snapshot"] = {
            source: {key_of(obj["metadata"]): [obj["metadata"]["uid"], digest(obj)]
                     for obj in objects} for source, objects in doc["snapshot"].items()}
        out["seen"] = {source: max((int(obj["metadata"]["resourceVersion"]) for obj in objects),
                                   default=0) for source, objects in doc["snapshot"].items()}
    else:
        events = doc["events"] if "events" in doc else [doc["event"]]
        out["events"] = [event_of(event, None) for event in events]
    return out


def state_of(folder):
    """The checksum of all files in a folder, with their names."""
    total = hashlib.md5()
    for name in sorted(name for name in os.listdir(folder) if not name.startswith(".")):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                total.update(name.encode() + b"\n" + file.read())
        except FileNotFoundError:
            pass
    return total.hexdigest()[:12]


def file_of(obj):
    """The file of an object, which the command prints."""
    return f"{obj['metadata']['name']} {obj['metadata']['uid']} {digest(obj)}\n"


def note(log, **members):
    line = json.dumps({"at": time.time(), "hook": os.environ["INFORMERD_HOOK"],
                       "run": os.environ["INFORMERD_RUN"], **members})
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(fd, line.encode() + b"\n")
    os.close(fd)


def chance(percent):
    return int.from_bytes(os.urandom(2), "big") % 100 < percent


def command(log, fails="0"):
    doc = json.load(sys.stdin)
    attempt = int(os.environ["INFORMERD_ATTEMPT"])
    note(log, what="start", reason=os.environ["INFORMERD_REASON"], attempt=attempt, **told_of(doc))
    time.sleep(int.from_bytes(os.urandom(1), "big") / 255 * 0.02)
    obj = doc.get("event", {}).get("object")
    if obj:
        os.write(1, file_of(obj).encode())
    status = 1 if attempt <= 2 and chance(int(fails)) else 0
    note(log, what="end", status=status)
    sys.exit(status)


def apply(log, folder):
    note(log, what="apply", state=state_of(folder))
    time.sleep(0.003)
    note(log, what="applied")


if __name__ == "__main__":
    {"command": command, "apply": apply}[sys.argv[1]](*sys.argv[2:])
