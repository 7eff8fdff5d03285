# SPDX-License-Identifier: Apache-2.0
"""State files that are removed or changed while the daemon runs; two daemons with one state_dir; a
state that belongs to another cluster."""
import itertools
import os
import shutil
import sqlite3
import subprocess

import pytest

import campaign
import proctree
from control import PATIENCE, Control, wait_until
from fakeapi import service
from harness import INFORMERD
from hostile import COUNT, DB, LOCK, SHM, WAL, Patient, key, of_state, some, sweep


@pytest.fixture
def patient(api, daemon, new_hook):
    return Patient(api, daemon, new_hook).learn()


def committed(p):
    """The number of objects in the running daemon's state file. The daemon locks the file, so a copy
    is read; one that was made during a write may be unusable, and the caller asks again."""
    copy = p.state.parent / "copy"
    copy.mkdir(exist_ok=True)
    try:
        for name in (DB, WAL):
            shutil.copy(p.path(name), copy / name)
        db = sqlite3.connect(copy / DB)
        try:
            return db.execute("SELECT count(*) FROM object").fetchone()[0]
        finally:
            db.close()
    except (sqlite3.Error, OSError):
        return 0
    finally:
        shutil.rmtree(copy)


# ---- While the daemon runs

TAKEN = {
    "file deleted": lambda p: p.path(DB).unlink(),
    "all deleted": lambda p: [p.path(name).unlink() for name in (DB, WAL, LOCK)],
    "log deleted": lambda p: p.path(WAL).unlink(),
    "file renamed": lambda p: p.path(DB).rename(p.path("mine")),
    "file moved out": lambda p: p.path(DB).rename(p.state.parent / "mine"),
    "another file": lambda p: other_file(p),
    "a copy of it": lambda p: copy_of_it(p),
    "a folder": lambda p: (p.path(DB).unlink(), p.path(DB).mkdir()),
    "a fifo": lambda p: (p.path(DB).unlink(), os.mkfifo(p.path(DB))),
}


def other_file(p):
    (p.state / "new").write_bytes(b"x" * 40000)
    (p.state / "new").rename(p.path(DB))


def copy_of_it(p):
    shutil.copy(p.path(DB), p.state / "new")
    (p.state / "new").rename(p.path(DB))


@pytest.mark.parametrize("what, then", sweep(
    [(what, then) for what in TAKEN for then in ("stop", "kill")],
    [(what, ("stop", "kill")[number % 2]) for number, what in enumerate(TAKEN)]))
def test_files_are_taken_away_while_the_daemon_runs(patient, what, then):
    """The daemon finds out at its next write, and writes all that it knows anew."""
    p = patient.mark()
    TAKEN[what](p)
    p.change()
    p.d.caught_up(p.api)
    wait_until(lambda: p.warnings(), what="it says so")
    wait_until(lambda: committed(p) == COUNT, what="all is written anew")
    p.one_warning()
    p.well().wait_writable()
    p.follows().well()
    p.remembers(then)


@pytest.mark.parametrize("what", sweep(
    list(TAKEN), ["file deleted", "all deleted", "log deleted", "another file", "a copy of it"]))
def test_files_are_taken_away_just_before_a_kill(patient, what):
    """No change comes before the kill. At worst hooks run again for all objects."""
    p = patient.mark()
    TAKEN[what](p)
    p.d.kill()
    p.change().up().well(forgot=True).follows().well(forgot=True)
    p.remembers("kill")


@pytest.mark.parametrize("name, then", sweep(
    [(name, then) for name in (DB, WAL) for then in ("stop", "kill")],
    [(DB, "stop"), (WAL, "stop"), (WAL, "kill")]))
def test_files_are_truncated_while_the_daemon_runs(patient, name, then):
    """By truncate -s 0, as people empty log files."""
    p = patient.mark()
    os.truncate(p.path(name), 0)
    p.change()
    p.d.caught_up(p.api)
    p.well()
    if then == "kill":
        p.d.kill()
    else:
        p.d.stop()
    p.api.apply(some(10, 55), some(11, 56))
    p.up().well(forgot=True).follows().well(forgot=True)
    p.remembers("kill")


def test_every_file_of_the_folder_is_truncated_while_the_daemon_runs(patient):
    """As by truncate -s 0 *. If one were mapped into memory, it would end the process by SIGBUS."""
    p = patient.mark()
    for path in p.state.iterdir():
        os.truncate(path, 0)
    p.change()
    p.d.caught_up(p.api)
    wait_until(lambda: p.warnings(), what="it says so")
    wait_until(lambda: committed(p) == COUNT, what="all is written anew")
    p.one_warning()
    p.follows().well().remembers("kill")


def test_the_index_that_an_older_release_left_is_deleted(patient):
    """Up to now SQLite kept the index of its log in a file, which a kill left behind."""
    p = patient.down("kill")
    p.path(SHM).write_bytes(bytes(32768))
    p.change().up().well().remembers("kill")
    assert not p.path(SHM).exists()


@pytest.mark.parametrize("then", ["stop", "kill"])
def test_the_folder_is_deleted_while_running(patient, then):
    p = patient.mark()
    shutil.rmtree(p.state)
    p.change()
    p.d.caught_up(p.api)
    text = p.wait_degraded()
    assert "No such file" in text or "gone" in text or "deleted" in text, text
    p.well()
    assert all(str(p.state) in str(line) for line in p.warnings()) and len(p.warnings()) <= 2
    if then == "kill":
        p.d.kill()
    else:
        p.d.stop()
    p.up().well(forgot=True).follows().well(forgot=True)
    p.remembers("kill").tidy()


def test_the_folder_is_moved_while_running_and_comes_back(patient):
    p = patient.mark()
    away = p.state.parent / "away"
    p.state.rename(away)
    p.change()
    p.d.caught_up(p.api)
    p.wait_degraded()
    away.rename(p.state)
    p.wait_writable()
    p.well().follows().well()
    p.remembers("kill")


def test_another_folder_takes_the_place_of_the_state(patient):
    """An administrator has put an older copy, or an empty folder, in its place by rename."""
    p = patient.mark()
    other = p.state.parent / "other"
    other.mkdir(mode=0o700)
    p.state.rename(p.state.parent / "away")
    other.rename(p.state)
    p.change()
    p.d.caught_up(p.api)
    wait_until(lambda: p.warnings(), what="it says so")
    p.wait_writable()
    code, text = second(p)
    assert code == 1 and "in use" in text and str(p.d.pid) in text, text
    p.well().follows().well().remembers("kill")


def test_a_copy_of_the_folder_takes_its_place(patient):
    p = patient
    p.wait_kept()
    copy = p.state.parent / "copy"
    shutil.copytree(p.state, copy)
    copy.chmod(0o700)
    p.change()
    p.d.caught_up(p.api)
    p.mark()
    p.state.rename(p.state.parent / "away")
    copy.rename(p.state)
    p.follows().well()
    wait_until(lambda: p.warnings(), what="it says so")
    p.wait_writable()
    p.follows_more().well().remembers("kill")


def test_no_other_process_opens_the_file(patient):
    """SQLite refuses a person who looks at the file of a running daemon, and the daemon does not
    notice. docs/decisions.md "The index of the log is on the heap" says how to look at a copy."""
    p = patient.mark()
    db = sqlite3.connect(p.path(DB), timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        db.execute("SELECT count(*) FROM object").fetchall()
    p.change()
    p.d.caught_up(p.api)
    db.close()
    p.well().follows().well()
    assert committed(p) > 0
    p.no_warning()
    p.remembers("kill").tidy()


@pytest.mark.slow
def test_another_process_has_locked_the_file_before(patient):
    """A sqlite3 shell of before the start holds a lock: hooks run, health reports it after a while,
    and in the end all is written."""
    p = patient.down("stop")
    db = sqlite3.connect(p.path(DB), isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    p.change().up()
    p.well().wait_degraded()
    p.one_warning("another process")
    db.execute("ROLLBACK")
    db.close()
    p.wait_writable()
    p.follows().well().remembers("kill").tidy()


# ---- Two daemons


def second_socket(p):
    return p.d.short / "second.sock"


def second_config(p):
    """The same configuration once more, with another control socket."""
    text = p.d.config.read_text().replace(str(p.d.control.path), str(second_socket(p)))
    config = p.d.folder / "second.conf"
    config.write_text(text)
    config.chmod(0o600)
    return config


def second(p, *flags):
    """Runs a second daemon; returns (exit code, output)."""
    done = subprocess.run([INFORMERD, "-c", second_config(p), *flags], capture_output=True,
                          text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_a_second_daemon_is_refused(patient):
    p = patient.mark()
    before = len(p.objects.runs())
    code, text = second(p)
    assert code == 1 and str(p.state) in text and str(p.d.pid) in text, text
    assert "of its own" in text
    p.follows().well().no_warning()
    assert len(p.objects.runs()) == before + 3
    p.remembers("kill").tidy()


def test_of_two_that_start_together_one_is_refused(api, daemon, new_hook):
    """Neither the folder nor the lock exist yet."""
    for _ in range(campaign.size(2, 4)):
        p = Patient(api, daemon, new_hook)
        config = second_config(p)
        sockets = {"first": p.d.control, "second": Control(second_socket(p))}
        p.d.start(wait=False)
        other = subprocess.Popen([INFORMERD, "-c", config], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        both = {"first": p.d.process, "second": other}
        wait_until(lambda: [one for one in both.values() if one.poll() is not None],
                   what="one ends")
        loser = "first" if p.d.process.poll() is not None else "second"
        name = "second" if loser == "first" else "first"
        winner = both[name]
        wait_until(sockets[name].alive, what="the other one runs")
        assert both[loser].returncode == 1 and winner.poll() is None
        winner.terminate()
        said = other.communicate(timeout=PATIENCE)[1] if loser == "second" else p.d.stderr()
        assert str(p.state) in said and "in use" in said, said
        other.wait(PATIENCE)
        p.d.process.wait(PATIENCE)
        p.d.expected_exit = p.d.process.returncode
        assert (winner.returncode, both[loser].returncode) == (0, 1)


@pytest.mark.parametrize("how", ["link", "lock deleted", "lock replaced"])
def test_a_second_daemon_is_refused_by_another_path_or_lock_file(patient, how):
    p = patient.mark()
    if how == "link":
        (p.state.parent / "other").symlink_to(p.state)
        p.d.config.write_text(p.d.config.read_text().replace(str(p.state),
                                                             str(p.state.parent / "other")))
    else:
        p.path(LOCK).unlink()
        if how == "lock replaced":
            p.path(LOCK).write_text("1\n")
    code, text = second(p)
    assert code == 1 and "in use" in text, text
    p.follows().well().no_warning()


def test_the_lock_ends_with_a_kill(patient):
    p = patient.down("kill")
    p.change().up().no_warning()
    p.well().tidy()


def test_only_main_has_the_state_open(patient):
    """The helper, and processes that hooks leave behind, must not hold the lock."""
    def files(pid):
        return {target for target in proctree.fds(pid).values() if str(patient.state) in target}
    assert str(patient.path(LOCK)) in files(patient.d.pid)
    assert not files(patient.d.helper)


# ---- Another cluster


def test_the_state_of_another_cluster(patient):
    """The objects in the state are those of another cluster: no hook is told that they are
    deleted."""
    p = patient.down("stop")
    p.api.identity = "0a0a0a0a-0000-4000-8000-0000000000ff"
    for number in range(10):
        p.api.delete("services", key(number))
    p.api.apply(some(60, 33))
    p.up()
    assert not [run for run in p.objects.runs()[p.run_from:]
                if run.event["type"] in ("DELETED", "LEFT")]
    said = of_state(p.d.problems())
    assert len(said) == 1 and "another cluster" in said[0]["msg"], said
    assert said[0]["cluster"] == "prod"
    snapshot = p.snapshots.runs()[-1].snapshot["services"]
    assert len(snapshot) == COUNT - 9
    p.remembers("kill")


def test_the_file_does_not_grow_for_ever(api, daemon):
    """The same objects change again and again: SQLite starts its log anew, and an orderly stop
    leaves one file."""
    size, count = 400_000, 4
    d = daemon(api).settled(api)
    letters = itertools.cycle("abcdefgh")

    def times_begun():
        """How often SQLite has started the log anew, from the head of the log."""
        with open(d.state / WAL, "rb") as log:
            return int.from_bytes(log.read(16)[12:], "big")

    def more():
        note = {"note": next(letters) * size}
        api.apply(*(service(key(number), annotations=note) for number in range(count)))
        d.caught_up(api)
        return times_begun()
    for times in range(campaign.size(1, 10)):
        wait_until(lambda: more() > times, what="the log begins anew")
    d.stop()
    assert (d.state / DB).stat().st_size < 3 * size * count
    assert sorted(path.name for path in d.state.iterdir()) == [LOCK, DB]
