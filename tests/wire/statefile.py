# SPDX-License-Identifier: Apache-2.0
"""Reads and changes the state file of a daemon while the daemon is down."""
import contextlib
import ctypes
import sqlite3
import struct
import time

from control import wait_until

NAME = "state.db"


def wait_noted(d, clusters=1):
    """Waits, during the daemon's first start, until its state names so many clusters: without them
    the next start does not use the state. d.settled() waits for that, too."""
    def noted():
        said = d.log(msg="cluster identity known")
        return len(said) >= clusters and d.control.status()["state"]["waiting"] == 0
    wait_until(noted, what="the state names its clusters")


class _Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _sum(item, word, key, value):
    """As row_fact_sum() of daemon/state/row.c."""
    packed = struct.pack("=Q", item)
    for part in (word.encode(), key.encode(), value):
        packed += struct.pack("=Q", len(part)) + part
    hash_of = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    hash_of.restype, hash_of.argtypes = _Hash, [ctypes.c_char_p, ctypes.c_size_t]
    found = hash_of(packed, len(packed))
    return ctypes.c_int64(found.low ^ found.high).value


class StateFile:
    """with StateFile(d) as state: ...; the end of the block commits the changes."""

    def __init__(self, d):
        self.path = d.state / NAME

    def __enter__(self):
        self._db = sqlite3.connect(self.path)
        return self

    def __exit__(self, *_exc):
        self._db.commit()
        self._db.close()

    def rows(self, sql, *values):
        return self._db.execute(sql, values).fetchall()

    def keys(self, table):
        """The keys in table `object` or `mark` (the delivery records), sorted."""
        return [key for key, in self.rows(f"SELECT key FROM {table} ORDER BY key")]

    def names(self):
        """The names of all items."""
        return {name for name, in self.rows("SELECT name FROM item")}

    def facts(self, word):
        """[(item, key, value), ...]"""
        return self.rows("SELECT item, key, value FROM fact WHERE what = ?", word)

    def change_fact(self, word, change):
        """Replaces the value of each such fact by change(value); there must be at least one."""
        found = self.facts(word)
        assert found, f"no fact {word} in {self.rows('SELECT item, what, key FROM fact')}"
        for item, key, value in found:
            new = change(value)
            here = (item, word, key)
            (total, before), = self.rows("SELECT total.sum, fact.sum FROM total, fact "
                                         "WHERE item = ? AND what = ? AND key = ?", *here)
            now = _sum(*here, new)
            self.rows("UPDATE fact SET value = ?, sum = ? WHERE item = ? AND what = ? AND key = ?",
                      new, now, *here)
            self.rows("UPDATE total SET sum = ?", ctypes.c_int64(total - before + now).value)

    def last_contact(self, seconds_ago):
        """Sets the time of the last contact with the servers to so many seconds ago."""
        then = time.time_ns() - int(seconds_ago * 1e9)
        self.change_fact("contact", lambda _old: str(then).encode())

    @property
    def version(self):
        return self.rows("PRAGMA user_version")[0][0]

    @version.setter
    def version(self, number):
        self._db.execute(f"PRAGMA user_version = {number}")


def everything(d):
    """The bytes of all files in the state folder, joined."""
    return b"\0".join(path.read_bytes() for path in sorted(d.state.iterdir()))


@contextlib.contextmanager
def untouched(d):
    """Checks that the block does not change the files in the state folder. The lock may change, as
    it names the process that had it last, and SQLite may leave an empty log when it reads."""
    def files():
        found = {path.name: path.read_bytes() for path in d.state.iterdir() if path.name != "lock"}
        return {name: kept for name, kept in found.items() if kept}
    before = files()
    yield
    after = files()
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert not changed, {name: [kept and len(kept) for kept in (before.get(name), after.get(name))]
                         for name in changed}
