# SPDX-License-Identifier: Apache-2.0
"""A state_dir that cannot be written, always or for a while: the daemon goes on, reports it once in
the log and in its health, and writes everything when it can."""
import os
import pathlib
import resource
import shutil
import stat
import tempfile

import pytest

from control import wait_until
from fakeapi import service
from harness import NOBODY, NOW, check_config, hook_settings
from hostile import (COUNT, DB, LOCK, WAL, Patient, empty, fill, key, of_state, remount, some,
                     tmpfs)
from proctree import few_descriptors

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def disk(tmp_path):
    """A small file system for this test alone; state_dir is a folder in it."""
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
    """Makes enough changes that the daemon must write to the disk."""
    for port in range(first, first + 2):
        p.api.apply(*(some(number, port) for number in range(COUNT)))
        p.d.caught_up(p.api)


def end(p, how):
    """Ends the daemon without waiting until its state is written, which is impossible here."""
    if how == "kill":
        p.d.kill()
    else:
        assert p.d.stop()[0] == 0


def is_well_again(p, well_again, how=None):
    """Makes the disk work again: while the daemon runs, which finds out by itself after a few
    seconds, or, with `how`, while it is down. Then checks that the daemon has recovered."""
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


def test_a_state_over_its_limit_drops_objects_and_says_so(api, daemon, hook):
    """It keeps which states the hook has handled, so it runs for no object again."""
    d = daemon(api, limits={"state": "1MiB"}, hooks={"h": hook_settings(hook, **NOW)}).synced()
    api.apply(*(service(f"n/s{n}", annotations={"x": "y" * 20000}) for n in range(100)))
    d.wait_problem("state is over its size limit", streams=1)
    d.settled(api)
    assert len(hook.what()) == 100 and (d.state / DB).stat().st_size <= 1 << 20
    hook.forget()
    api.forget()
    d.stop()
    d.start()
    d.settled(api)
    assert hook.runs() == [] and "L" in "".join(api.sequence("services"))


def test_a_disk_that_is_full_before_the_first_start(on_disk, disk):
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


def test_a_disk_that_becomes_full_and_has_space_again(on_disk, disk):
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
def test_a_disk_that_becomes_full_and_is_full_at_a_restart(on_disk, disk, how):
    """Hooks run again for states that could not be written; there are no other effects."""
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
def test_a_state_on_a_disk_that_is_full_at_a_restart_is_used(on_disk, disk, how):
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
def test_a_disk_that_is_read_only_at_a_restart(on_disk, disk, how):
    p = on_disk
    p.learn().down(how).change()
    remount(disk, "ro")
    p.up()
    p.well()
    assert len(p.objects.runs()) - p.run_from == 5
    assert "Read-only file system" in p.wait_degraded()
    p.one_warning("Read-only file system")
    is_well_again(p, lambda: remount(disk, "rw"), None if how == "kill" else how)


def test_a_disk_that_is_read_only_at_the_first_start(on_disk, disk):
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
    """The damaged file cannot even be set aside."""
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


def test_files_that_were_set_aside_do_not_pile_up(on_disk, disk):
    p = on_disk
    for _ in range(3):
        p.d.again(p.api)
        p.d.caught_up(p.api)
        p.d.stop()
        p.path(DB).write_bytes(os.urandom(30000))
    p.up().well(forgot=True).tidy()
    assert len(list(p.state.iterdir())) <= 4


# ---- Owners


def refused(d, code, *words):
    """Checks that --check and a start refuse the configuration with this exit code and these
    words."""
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


def test_a_folder_with_other_files_is_left_alone(patient):
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
def test_a_folder_with_other_files_is_not_given_away(other):
    """The message does not tell anybody to give it away either: that could mean a chown of /var/lib."""
    d = other.d
    d.state.mkdir()
    (d.state / "precious").write_text("keep me")
    refused(d, 78, "of its own")
    assert "chown" not in d.stderr()
    assert (d.state.stat().st_uid, stat.S_IMODE(d.state.stat().st_mode)) == (0, 0o755)


@needs_root
def test_a_link_of_another_user_gives_nothing_away(other):
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
def test_files_that_root_makes_belong_to_the_user(other, api):
    api.apply(service("n/a"))
    other.d.again(api)
    facts = other.d.state.stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o700, NOBODY)
    wait_until(lambda: DB in other.files())
    for name, facts in other.files().items():
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o600, NOBODY), name


@needs_root
def test_the_user_may_change(other, api, hook):
    """Files that root has left are given to the user, if only root could have put them there."""
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
    """In a folder of its own, the user could give any file of the disk the name state.db, by a
    link."""
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
    """Somebody has run informerd by hand, as root: files that the user cannot read are set
    aside."""
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
    """Files that cannot be opened for a while are opened later."""
    p = patient()
    p.learn().mark()
    with few_descriptors(p.d.pid, 3):   # 0, 1 and 2 are open, so there is none to open
        p.api.apply(*(some(number, 90) for number in range(COUNT)))
        p.d.wait_problem("Too many open files")
    p.d.caught_up(p.api)
    p.wait_writable()
    p.well().remembers("kill").tidy()
