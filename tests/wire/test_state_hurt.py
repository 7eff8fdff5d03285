# SPDX-License-Identifier: Apache-2.0
"""State files that were damaged while the daemon was down: it reports that once and begins anew. At
worst hooks run again for all objects; they never miss a change, and never get a false DELETED."""
import itertools
import os
import random
import shutil
import sqlite3

import pytest

import campaign
from control import wait_until
from hostile import ASIDE, COUNT, DB, LOCK, SHM, WAL, Patient, key, some, sweep

PAGE = 16384


@pytest.fixture
def patient(api, daemon, new_hook):
    return Patient(api, daemon, new_hook).learn()


def remake(path, make):
    """Puts something else in the place of this file."""
    path.unlink(missing_ok=True)
    make(path)


def foreign(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks(url TEXT)")
        db.execute("INSERT INTO bookmarks VALUES('https://example.com/')")
    db.close()


def a_folder(path):
    path.mkdir()
    (path / "inside").write_text("keep me")


def link_to(target):
    def make(path):
        if target == "file":
            (path.parent.parent / "treasure").write_text("keep me")
            path.symlink_to(path.parent.parent / "treasure")
        else:
            path.symlink_to(target)
    return make


IN_ITS_PLACE = {
    "text": lambda path: path.write_text("somebody left this here\n" * 100),
    "random bytes": lambda path: path.write_bytes(random.Random(1).randbytes(200000)),
    "zeros": lambda path: path.write_bytes(bytes(5 * PAGE)),
    "nothing": lambda path: path.write_bytes(b""),
    "one byte": lambda path: path.write_bytes(b"S"),
    "a folder": a_folder,
    "a link": link_to("file"),
    "a dangling link": link_to("/nonexistent/state.db"),
    "a link to null": link_to("/dev/null"),
    "a fifo": os.mkfifo,
    "another database": foreign,
}


@pytest.mark.parametrize("how, what", sweep(
    [(how, what) for how in ("stop", "kill") for what in IN_ITS_PLACE],
    [*[("stop", what) for what in IN_ITS_PLACE if what not in ("one byte", "a link to null")],
     ("kill", "random bytes"), ("kill", "nothing"), ("kill", "a folder")]))
def test_something_else_in_the_place_of_the_file(patient, how, what):
    p = patient.down(how).change()
    remake(p.path(DB), IN_ITS_PLACE[what])
    p.up()
    if how == "kill" and not p.warnings():
        p.well()  # the log has all pages that matter
    else:
        p.one_warning()
    p.well(forgot=True).follows().well(forgot=True)
    treasure = p.state.parent / "treasure"
    assert not treasure.exists() or treasure.read_text() == "keep me"
    if what == "a folder":
        assert [path for path in p.state.rglob("inside") if path.read_text() == "keep me"]
    p.remembers("kill").tidy()


BESIDE = ("text", "random bytes", "a folder", "a link", "a dangling link", "a fifo")


@pytest.mark.parametrize("name, what", sweep(
    [(name, what) for name in (WAL, SHM) for what in BESIDE],
    [(WAL, "random bytes"), (WAL, "a folder"), (WAL, "a link"), (WAL, "a fifo"),
     (SHM, "random bytes"), (SHM, "a folder"), (SHM, "a link")]))
def test_something_else_beside_the_file(patient, name, what):
    """After a kill the log has the changes that were not yet moved into the file."""
    p = patient.down("kill").change()
    remake(p.path(name), IN_ITS_PLACE[what])
    p.up()
    if name == WAL:
        p.one_warning()
    p.well(forgot=True).follows().well(forgot=True)
    treasure = p.state.parent / "treasure"
    assert not treasure.exists() or treasure.read_text() == "keep me"
    p.remembers("kill").tidy()


@pytest.mark.parametrize("what", sweep(
    ["text", "random bytes", "a folder", "a link", "a fifo"], ["text", "a folder", "a link"]))
def test_something_else_in_the_place_of_the_lock(patient, what):
    """The lock file has no content that matters."""
    p = patient.down("kill").change()
    remake(p.path(LOCK), IN_ITS_PLACE[what])
    p.up()
    p.well().follows().well()
    p.remembers("kill")


def test_a_damaged_state_while_the_servers_are_away(patient):
    """There is no state to start from, so hooks wait for the servers."""
    p = patient.down("stop")
    p.path(DB).write_bytes(b"garbage" * 9000)
    p.api.stop_listening()
    p.mark().d.start()
    wait_until(lambda: p.warnings(), what="it says so")
    wait_until(lambda: p.d.control.watch("services")["state"] == "backoff", what="it tries")
    assert len(p.objects.runs()) == p.run_from
    p.change()
    p.api.listen()
    p.d.caught_up(p.api)
    p.one_warning()
    p.well(forgot=True).follows().well(forgot=True).remembers("kill").tidy()


def test_one_damage_after_another(patient):
    """One damage after another: the file that was set aside first is removed for the next one."""
    p = patient
    for what in sweep(["a folder", "text", "a folder", "a fifo", "another database"],
                      ["a folder", "text", "a folder"]):
        p.d.stop()
        remake(p.path(DB), IN_ITS_PLACE[what])
        p.up()
        p.one_warning()
        p.well(forgot=True)
    p.follows().well(forgot=True).remembers("kill")


# ---- Versions


def set_version(p, number):
    db = sqlite3.connect(p.path(DB))
    db.execute(f"PRAGMA user_version = {number}")
    db.commit()
    db.close()


def test_a_state_of_a_release_that_is_too_new(patient):
    p = patient.down("stop").change()
    set_version(p, 9 << 16 | 9)
    p.up()
    p.one_warning("newer")
    p.well(forgot=True).follows().well(forgot=True).remembers("kill").tidy()
    db = sqlite3.connect(p.path(ASIDE))
    assert db.execute("PRAGMA user_version").fetchone()[0] == 9 << 16 | 9
    db.close()


def test_a_readable_state_of_a_newer_release(patient):
    p = patient.down("stop").change()
    db = sqlite3.connect(p.path(DB))
    db.execute("CREATE TABLE novelty(x TEXT)")
    db.execute("ALTER TABLE mark ADD COLUMN novelty TEXT")
    db.commit()
    db.close()
    set_version(p, 1 << 16 | 2)
    p.up().no_warning()
    assert len(p.objects.runs()) - p.run_from == 5
    p.well().follows().well().remembers("kill").tidy()


# tests/unit/test_state_damage.c tries all rows; here is one change of each kind.
BY_HAND = [
    "PRAGMA application_id = 7", "DROP TABLE mark", "DROP TABLE object", "DROP TABLE fact",
    "DROP TABLE item", "DELETE FROM mark", "DELETE FROM object", "DELETE FROM item",
    "DELETE FROM fact", "DELETE FROM object WHERE key = 'n/s7'",
    "DELETE FROM mark WHERE key = 'n/s7'", "UPDATE object SET rv = '1'",
    "UPDATE fact SET value = '1' WHERE what = 'version'",
    "DELETE FROM fact WHERE what = 'identity'", "UPDATE object SET uid = 'u'",
    "UPDATE mark SET open = 0, handled = NULL", "ALTER TABLE object RENAME TO objects",
    "PRAGMA user_version = 0", "PRAGMA user_version = -1"]


@pytest.mark.parametrize("sql", sweep(BY_HAND, [
    "PRAGMA application_id = 7", "DROP TABLE object", "DELETE FROM item",
    "DELETE FROM mark WHERE key = 'n/s7'", "UPDATE object SET rv = '1'",
    "DELETE FROM fact WHERE what = 'identity'", "PRAGMA user_version = 0"]))
def test_a_state_that_was_changed_by_hand(patient, sql):
    p = patient.down("stop").change()
    db = sqlite3.connect(p.path(DB))
    db.execute(sql)
    db.commit()
    db.close()
    p.up()
    p.one_warning()
    p.well(forgot=True).follows().well(forgot=True).remembers("kill").tidy()


def test_an_older_copy_of_the_file_is_put_back(patient):
    """Runs since the copy was made must not count as done."""
    p = patient.down("stop")
    shutil.copytree(p.state, p.state.parent / "copy")
    p.up()
    p.api.apply(some(3, 90))
    p.d.caught_up(p.api)
    p.down("stop")
    p.api.apply(some(3, 81))
    for name in os.listdir(p.state):
        if name != LOCK:
            p.path(name).unlink()
    shutil.copy(p.state.parent / "copy" / DB, p.path(DB))
    p.up()
    p.one_warning("older")
    p.well(forgot=True).follows().well(forgot=True).remembers("kill").tidy()


def test_a_copy_of_the_whole_folder_is_used(patient):
    """A node is set up anew from a backup, which has the lock as well."""
    p = patient.down("stop")
    shutil.copytree(p.state, p.state.parent / "copy")
    p.change().up().well()
    p.down("stop")
    shutil.rmtree(p.state)
    shutil.copytree(p.state.parent / "copy", p.state)
    p.up().no_warning()
    p.well().tidy()


GONE = [(DB,), (WAL,), (SHM,), (DB, WAL, SHM), (WAL, SHM), (LOCK,)]


@pytest.mark.parametrize("how, names", sweep(
    [(how, names) for how in ("stop", "kill") for names in GONE],
    [("stop", (DB,)), ("stop", (LOCK,)), *[("kill", names) for names in GONE]]),
    ids=lambda value: value if isinstance(value, str) else "+".join(value))
def test_files_of_the_state_are_missing(patient, how, names):
    """After an orderly stop there is no log that could be removed."""
    p = patient.down(how).change()
    for name in names:
        p.path(name).unlink(missing_ok=True)
    p.up()
    lost = DB in names or how == "kill" and WAL in names
    if lost:
        p.one_warning()
    else:
        p.no_warning()
    p.well(forgot=lost).follows().well(forgot=lost).remembers("kill").tidy()


def test_the_folder_of_the_state_is_missing(patient):
    p = patient.down("kill").change()
    shutil.rmtree(p.state)
    p.up().well(forgot=True).follows().well(forgot=True).remembers("kill").tidy()


def test_the_file_has_a_second_name(patient):
    """One file with two names, as after cp -al."""
    p = patient.down("stop").change()
    os.link(p.path(DB), p.state.parent / "second")
    p.up().well().follows().well().remembers("kill")


# ---- Bytes


def truncated(data, rng):
    return data[:rng.choice([1, 15, 100, 511, 4096, PAGE, len(data) // 2, len(data) - 1,
                             len(data) - PAGE, rng.randrange(len(data))])]


def with_zeros(data, rng):
    at = rng.randrange(max(1, len(data) // PAGE)) * PAGE
    return data[:at] + bytes(PAGE) + data[at + PAGE:]


def with_flips(data, rng):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def with_noise(data, rng):
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(min(3000, len(data) - at)) + data[at + 3000:]


def with_a_page_twice(data, rng):
    """As after a write to the wrong place."""
    here, there = (rng.randrange(max(1, len(data) // PAGE)) * PAGE for _ in range(2))
    return data[:here] + data[there:there + PAGE] + data[here + PAGE:]


HURTS = [truncated, with_zeros, with_flips, with_noise, with_a_page_twice]


class Fresh:
    """Makes changes on the server that no earlier round has made."""

    def __init__(self):
        self.port = 1000

    def __call__(self, p):
        self.port += 10
        p.api.apply(some(7, self.port))
        p.api.delete("services", key(9))
        p.gone.add(key(9))
        p.api.apply(some(9, self.port + 1))


def rounds(p, name):
    """Starts the daemon many times from the same copy of the files, with other damage each time.
    Returns how often the daemon noticed it."""
    copy, change, noticed = p.state.parent / "copy", Fresh(), 0
    shutil.copytree(p.state, copy)
    before = (copy / name).read_bytes()
    for hurt, seed in itertools.product(HURTS, range(campaign.size(2, 12))):
        case = f"{hurt.__name__}, seed {seed}"
        shutil.rmtree(p.state)
        shutil.copytree(copy, p.state)
        after = hurt(before, random.Random(seed))
        p.path(name).write_bytes(after)
        change(p)
        p.up()
        found = p.warnings()
        assert len(found) <= 1, f"{case}: {found}"
        assert not found or str(p.state) in str(found), case
        try:
            p.well(forgot=True)
        except AssertionError as wrong:
            raise AssertionError(f"{case}: {wrong}") from None
        noticed += bool(found) and after != before
        p.d.kill()
    p.d.start()
    return noticed


# tests/unit/test_state_damage.c damages each byte; here are damages of each kind.

@pytest.mark.slow
def test_the_file_is_damaged(patient):
    assert rounds(patient.down("stop"), DB) > campaign.size(2, 30)


@pytest.mark.slow
def test_the_log_is_damaged(patient):
    assert rounds(patient.down("kill"), WAL) > campaign.size(2, 30)


@pytest.mark.slow
def test_file_and_log_are_of_different_times(patient):
    """The log is from a kill; the file beside it is an older copy."""
    p = patient.down("stop")
    older = p.path(DB).read_bytes()
    p.up()
    for port in range(100, 100 + campaign.size(2, 20)):
        p.api.apply(*(some(number, port) for number in range(COUNT)))
        p.d.caught_up(p.api)
    p.down("kill")
    p.path(DB).write_bytes(older)
    Fresh()(p)
    p.up()
    p.well(forgot=True).follows().well(forgot=True).remembers("kill")
