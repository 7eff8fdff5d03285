#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API on loopback whose objects are the JSON files of a folder. See ./dev api.

    api.py FOLDER

When a file appears in FOLDER/objects, its object is created; when the file changes, the object
changes; when the file is removed, the object is deleted. The server fills in uid, resourceVersion
and creationTimestamp. FOLDER is made if it is not there, and gets a kubeconfig. Ends with Ctrl-C.
"""
import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from fakeapi import Authority, FakeApi  # noqa: E402
from fakeapi.objects import STAMP, new_uid  # noqa: E402

PERIOD = 0.1  # seconds between two looks at the folder


def say(text):
    print(text, flush=True)


class Folder:
    """Keeps the API's objects equal to the files in a folder."""

    def __init__(self, api, folder):
        self.api, self.folder = api, folder
        self.seen = {}      # path -> its stat() when the file was read
        self.shown = {}     # path -> (plural, key)
        self.refused = {}   # path -> its stat() when the file could not be read

    def look(self):
        """Looks at the folder once: carries new, changed and removed files over into the API."""
        files = {path: self._mark(path) for path in sorted(self.folder.glob("*.json"))}
        for path in [path for path in self.shown if files.get(path) is None]:
            self._remove(path)
        for path, mark in files.items():
            if mark is not None and self.seen.get(path) != mark:
                self._read(path, mark)

    @staticmethod
    def _mark(path):
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def _read(self, path, mark):
        try:
            self._apply(path, json.loads(path.read_text()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            # An editor may still be writing the file: only a file that stays wrong is worth a line.
            if self.refused.get(path) != mark:
                self.refused[path] = mark
                return
            say(f"{path.name}: {error}")
        self.seen[path] = mark

    def _apply(self, path, obj):
        table = self.api.store.table_of(obj)
        meta = obj["metadata"]
        if table.resource.namespaced:
            meta.setdefault("namespace", "default")
        where = table.resource.plural, table.key_of(obj)
        if self.shown.get(path, where) != where:
            self._remove(path)
        before = table.objects.get(where[1])
        kept = before["metadata"] if before else {"uid": new_uid(), "creationTimestamp": STAMP}
        for name in ("uid", "creationTimestamp"):
            meta[name] = kept[name]
        meta["resourceVersion"] = before["metadata"]["resourceVersion"] if before else "0"
        self.shown[path] = where
        if obj != before:
            rv = self.api.apply(obj)["metadata"]["resourceVersion"]
            say(f"{' '.join(where)} {'changed' if before else 'created'}, resourceVersion {rv}")

    def _remove(self, path):
        plural, key = self.shown.pop(path)
        self.seen.pop(path, None)
        self.api.delete(plural, key)
        say(f"{plural} {key} deleted")


def serve(folder, certificates, done):
    (folder / "objects").mkdir(parents=True, exist_ok=True)
    ca = Authority(certificates)
    with FakeApi(tls=ca.server()) as api:
        api.identity = str(uuid.uuid4())    # its versions begin anew, so it must be a new cluster
        objects = Folder(api, folder / "objects")
        objects.look()
        api.kubeconfig(folder / "kubeconfig", ca=ca)
        say(f"serving {folder / 'objects'}/*.json at {api.url}; kubeconfig: {folder / 'kubeconfig'}")
        while not done.wait(PERIOD):
            objects.look()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    certificates = tempfile.mkdtemp(prefix="informerd-api-")
    try:
        serve(args.folder, certificates, done)
    finally:
        shutil.rmtree(certificates)


if __name__ == "__main__":
    main()
