# SPDX-License-Identifier: Apache-2.0
"""Reads the state on disk while the daemon is down; the files stay as they are."""
import pathlib
import re
import shutil
import tempfile
import types

import statefile

NAMED = "SELECT 1 FROM fact WHERE what = 'identity'"
VERSIONS = """SELECT watch.name, fact.value FROM fact JOIN item stream ON fact.item = stream.id
              JOIN item watch ON stream.parent = watch.id WHERE fact.what = 'version'"""
OPEN = """SELECT hook.name, source.name, mark.key FROM mark
          JOIN item source ON mark.source = source.id JOIN item hook ON source.parent = hook.id
          WHERE mark.open"""


class Kept:
    """versions: {watch: resourceVersion}; open: {(hook, source, key)} for which a run was started
    and no run has succeeded since."""

    def __init__(self, versions=None, opened=()):
        self.versions, self.open = versions or {}, set(opened)


def version_of(value):
    """The resourceVersion in the value of a fact, or None."""
    parts = bytes(value).split(b"\n")
    return parts[1].decode() if re.fullmatch(rb"[0-9]+", parts[1]) else None


def read(folder):
    """The state in a folder. It is read from a copy, as SQLite would tidy up the files it opens."""
    with tempfile.TemporaryDirectory() as copy:
        if not (folder / statefile.NAME).exists():
            return Kept()
        for path in folder.glob(f"{statefile.NAME}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copy)
        with statefile.StateFile(types.SimpleNamespace(state=pathlib.Path(copy))) as state:
            if not state.rows("SELECT 1 FROM sqlite_master WHERE name = 'fact'"):
                return Kept()
            if not state.rows(NAMED):
                return Kept()   # without the cluster's identity the next start drops the state
            versions = {watch: version_of(value) for watch, value in state.rows(VERSIONS)}
            return Kept({watch: rv for watch, rv in versions.items() if rv}, state.rows(OPEN))
