# SPDX-License-Identifier: Apache-2.0
"""A state_dir that cannot be written, all the time or for a while: the daemon goes on, says so once
and in its health, and catches up when it can."""
import os
import pathlib
import resource
import shutil
import stat
import tempfile

import pytest

from control import wait_until
from fakeapi import service
from harness import check_config, hook_settings
from hostile import (COUNT, DB, LOCK, WAL, Patient, empty, fill, key, of_state, remount, some,
                     tmpfs)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534


@pytest.fixture
def disk(tmp_path):
    """A small file system of our own; state_dir is a folder in it."""
    with tmpfs(tmp_path / "disk") as folder:
        yield folder


@pytest.fixture
def patient(api, daemon, new_hook):
    def make(**settings):
        return Patient(api, daemon, new_hook, **settings)
    return make


@pytest.fixture
def on_disk(patient, disk):
    """A patient whose state is on that file system."""
    made = patient(state_dir=disk / "state")
    made.d.state = disk / "state"
    yield made
    if made.d.running():
        made.d.stop()


def churn(p, first=80):
    """Enough changes that whatever is kept of them must be written."""
    for port in range(first, first + 2):
        p.api.apply(*(some(number, port) for number in range(COUNT)))
        p.d.caught_up(p.api)


def end(p, how):
    """Without waiting that all is written: it cannot be."""
    if how == "kill":
        p.d.kill()
    else:
        assert p.d.stop()[0] == 0


def is_well_again(p, well_again, how=None):
    """The disk works again while the daemon runs, which finds out by itself (a few seconds later);
    or, with how, while it is down."""
    if how is None:
        well_again()
        p.wait_writable()
        p.follows()
    else:
        p.follows()
        end(p, how)
        well_again()
        p.up().no_warning()
    p.well().remembers("kill").tidy()


def test_full_before_the_first_start(on_disk, disk):
    p = on_disk
    fill(disk)
    p.mark().learn()
    text = p.wait_degraded()
    assert "No space left" in text
    p.one_warning("No space left on device", "free some space")
    p.well().follows().well()
    empty(disk)
    p.wait_writable()
    p.follows_more().well()
    p.remembers("kill").tidy()


def test_it_becomes_full_and_space_comes_back(on_disk, disk):
    p = on_disk
    p.learn().mark()
    fill(disk)
    churn(p)
    p.wait_degraded()
    p.one_warning("No space left on device", "free some space")
    p.well()
    empty(disk)
    p.wait_writable()
    p.well().remembers("kill").remembers("stop").tidy()


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_it_becomes_full_and_stays_so_over_a_restart(on_disk, disk, how):
    """What could not be written is told again, nothing else is made of it."""
    p = on_disk
    p.learn()
    fill(disk)
    churn(p)
    p.wait_degraded()
    end(p, how)
    p.change().up()
    p.well()
    text = p.wait_degraded()
    assert "No space left" in text
    p.one_warning("No space left on device")
    is_well_again(p, lambda: empty(disk), None if how == "kill" else how)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_full_at_a_restart_what_is_there_is_used(on_disk, disk, how):
    p = on_disk
    p.learn().down(how)
    fill(disk)
    p.change().up()
    p.well()
    told = [run.what for run in p.objects.runs()[p.run_from:]]
    assert sorted(told) == sorted([("MODIFIED", key(7)), ("DELETED", key(8)), ("DELETED", key(9)),
                                   ("ADDED", key(9)), ("ADDED", key(COUNT))])
    is_well_again(p, lambda: empty(disk), how)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_read_only_at_a_restart(on_disk, disk, how):
    p = on_disk
    p.learn().down(how).change()
    remount(disk, "ro")
    p.up()
    p.well()
    assert len(p.objects.runs()) - p.run_from == 5
    assert "Read-only file system" in p.wait_degraded()
    p.one_warning("Read-only file system")
    is_well_again(p, lambda: remount(disk, "rw"), None if how == "kill" else how)


def test_read_only_at_the_first_start(on_disk, disk):
    p = on_disk
    remount(disk, "ro")
    p.mark().learn()
    assert "Read-only file system" in p.wait_degraded()
    p.one_warning("Read-only file system")
    p.well().follows().well()
    p.d.stop()
    remount(disk, "rw")
    p.up().well().remembers("kill").tidy()


def test_damage_on_a_read_only_disk(on_disk, disk):
    """It cannot even be set aside."""
    p = on_disk
    p.learn().down("stop").change()
    p.path(DB).write_bytes(b"garbage" * 5000)
    remount(disk, "ro")
    p.up()
    assert all(str(p.state) in str(line) for line in p.warnings()) and p.warnings()
    p.well(forgot=True)
    p.wait_degraded()
    remount(disk, "rw")
    p.wait_writable()
    p.follows().well(forgot=True).remembers("kill").tidy()


def test_what_was_set_aside_does_not_pile_up(on_disk, disk):
    p = on_disk
    for _ in range(3):
        p.d.again(p.api)
        p.d.caught_up(p.api)
        p.d.stop()
        p.path(DB).write_bytes(os.urandom(30000))
    p.up().well(forgot=True).tidy()
    assert len(list(p.state.iterdir())) <= 4


# ---- Whose it is


def refused(d, code, *words):
    """At the start, and by --check before."""
    checked = check_config(d.config)
    assert checked.returncode == code
    assert d.to_the_end() == code
    for text in (checked.stderr, d.stderr()):
        for word in (str(d.state), *words):
            assert word in text, text


@needs_root
def test_a_folder_of_another_user_is_refused(patient):
    p = patient()
    p.state.mkdir(mode=0o700)
    os.chown(p.state, 4242, 4242)
    refused(p.d, 78, "4242", "chown")
    assert not list(p.state.iterdir())


def test_a_missing_parent_is_refused(patient, tmp_path):
    p = patient(state_dir=tmp_path / "none" / "state")
    p.d.state = tmp_path / "none" / "state"
    refused(p.d, 78, "does not exist")


def test_a_file_in_the_place_of_the_folder_is_refused(patient):
    p = patient()
    p.state.write_text("keep me")
    refused(p.d, 78, "not a folder")
    assert p.state.read_text() == "keep me"


def test_a_dangling_link_in_the_place_of_the_folder(patient):
    p = patient()
    p.state.symlink_to(p.state.parent / "nowhere")
    refused(p.d, 78, "link")


def test_a_folder_of_other_things_is_left_alone(patient):
    """state_dir = "/var/lib" by mistake must not close /var/lib to everybody else."""
    p = patient()
    p.state.mkdir()
    p.state.chmod(0o755)
    (p.state / "dpkg").mkdir()
    (p.state / "precious").write_text("keep me")
    refused(p.d, 78, "of its own")
    assert stat.S_IMODE(p.state.stat().st_mode) == 0o755
    assert {path.name for path in p.state.iterdir()} == {"dpkg", "precious"}


def test_an_open_folder_is_closed_to_others(patient):
    p = patient()
    p.state.mkdir()
    p.state.chmod(0o777)
    p.learn().no_warning()
    p.well().tidy()


def test_a_link_to_the_folder_is_fine(patient, tmp_path):
    p = patient()
    (tmp_path / "real").mkdir(mode=0o700)
    p.state.symlink_to(tmp_path / "real")
    p.learn().down("kill").change().up().well().no_warning()
    p.tidy()
    assert (tmp_path / "real" / DB).exists()


class Other:
    """A daemon that is started as root and becomes another user."""

    def __init__(self, daemon, api, hook):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
        self.top.chmod(0o755)
        self.run = self.top / "run"
        self.run.mkdir()
        os.chown(self.run, NOBODY, NOBODY)
        self.d = daemon(api, start=False, user="nobody", state_dir=self.top / "state",
                        hooks={"h": hook_settings(hook, user="root")},
                        control={"socket": self.run / "sock"})
        self.d.state = self.top / "state"
        self.d.control.path = self.run / "sock"

    def files(self):
        return {path.name: path.lstat() for path in self.d.state.iterdir()}


@pytest.fixture
def other(daemon, api, hook):
    made = Other(daemon, api, hook)
    yield made
    if made.d.running():
        made.d.stop()
    shutil.rmtree(made.top)


@needs_root
def test_a_folder_of_other_things_is_not_given_away(other):
    """Nor is anybody told to do that: chown of /var/lib."""
    d = other.d
    d.state.mkdir()
    (d.state / "precious").write_text("keep me")
    refused(d, 78, "of its own")
    assert "chown" not in d.stderr()
    assert (d.state.stat().st_uid, stat.S_IMODE(d.state.stat().st_mode)) == (0, 0o755)


@needs_root
def test_a_link_of_somebody_else_gives_nothing_away(other):
    d = other.d
    theirs = other.top / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    (other.top / "roots").mkdir()
    (theirs / "state").symlink_to(other.top / "roots")
    os.chown(theirs / "state", NOBODY, NOBODY, follow_symlinks=False)
    d.state = theirs / "state"
    d.settings["state_dir"] = str(d.state)
    d.write_config()
    assert d.to_the_end() == 78
    assert (other.top / "roots").stat().st_uid == 0 and not list((other.top / "roots").iterdir())


@needs_root
def test_what_root_makes_belongs_to_the_user(other, api):
    api.apply(service("n/a"))
    other.d.again(api)
    facts = other.d.state.stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o700, NOBODY)
    wait_until(lambda: DB in other.files())
    for name, facts in other.files().items():
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o600, NOBODY), name


@needs_root
def test_the_user_may_change(other, api, hook):
    """What root has left is given to the user, if root alone could have put it there."""
    api.apply(service("n/a"))
    d = other.d
    d.settings["user"] = "root"
    d.write_config()
    d.again(api)
    d.stop()
    d.settings["user"] = "nobody"
    d.write_config()
    d.again(api)
    d.stop()
    assert len(hook.runs()) == 1 and not of_state(d.problems())
    assert {facts.st_uid for facts in other.files().values()} == {NOBODY}


@needs_root
def test_another_user_cannot_have_files_given_to_him(other, api, hook):
    """In a folder of his he could name any file on the disk state.db."""
    treasure = other.top / "treasure"
    treasure.write_text("of root")
    treasure.chmod(0o600)
    other.d.state.mkdir(mode=0o700)
    os.link(treasure, other.d.state / DB)
    os.link(treasure, other.d.state / LOCK)
    os.chown(other.d.state, NOBODY, NOBODY)
    api.apply(service("n/a"))
    other.d.again(api)
    hook.wait(1)
    assert treasure.stat().st_uid == 0 and treasure.read_text() == "of root"


@needs_root
@pytest.mark.parametrize("mode", [0o500, 0o300, 0o000])
def test_a_folder_that_its_owner_may_not_use(other, api, hook, mode):
    api.apply(service("n/a"))
    d = other.d
    d.state.mkdir()
    d.state.chmod(mode)
    os.chown(d.state, NOBODY, NOBODY)
    d.start()
    hook.wait(1)
    wait_until(lambda: [text for text in d.control.status()["degraded"] if "state" in text])
    lines = of_state(d.problems())
    assert len(lines) == 1 and str(d.state) in str(lines[0]) and "chmod" in str(lines[0]), lines


@needs_root
def test_files_of_root_in_a_folder_of_the_user(other, api, hook):
    """Somebody ran it by hand, as root: what cannot be read is set aside."""
    api.apply(service("n/a"))
    d = other.d
    d.again(api)
    d.stop()
    for path in d.state.iterdir():
        os.chown(path, 0, 0)
    api.apply(service("n/b"))
    d.again(api)
    hook.wait(3)
    lines = of_state(d.problems())
    assert len(lines) == 1 and str(d.state) in str(lines[0]) and "uid 0" in str(lines[0]), lines
    d.stop()
    d.again(api)
    assert len(hook.runs()) == 3 and of_state(d.problems()) == lines


# ---- Limits of the process


def test_a_file_may_not_grow(patient):
    """ulimit -f, or LimitFSIZE= of the unit: no signal may end the daemon."""
    p = patient()
    p.learn().mark()
    soft, hard = resource.prlimit(p.d.pid, resource.RLIMIT_FSIZE)
    full = p.path(WAL).stat().st_size
    resource.prlimit(p.d.pid, resource.RLIMIT_FSIZE, (full, hard))
    p.change()
    p.d.caught_up(p.api)
    assert "File too large" in p.wait_degraded()
    p.one_warning("File too large")
    p.well()
    resource.prlimit(p.d.pid, resource.RLIMIT_FSIZE, (soft, hard))
    p.wait_writable()
    p.follows().well().remembers("kill").tidy()


def test_no_descriptors_left_while_running(patient):
    """What cannot be opened for a while is opened later."""
    p = patient()
    p.learn().mark()
    soft, hard = resource.prlimit(p.d.pid, resource.RLIMIT_NOFILE)
    used = len(os.listdir(f"/proc/{p.d.pid}/fd"))
    resource.prlimit(p.d.pid, resource.RLIMIT_NOFILE, (used, hard))
    p.api.apply(*(some(number, 90) for number in range(COUNT)))
    p.d.wait_problem("Too many open files")
    resource.prlimit(p.d.pid, resource.RLIMIT_NOFILE, (soft, hard))
    p.d.caught_up(p.api)
    p.wait_writable()
    p.well().remembers("kill").tidy()
