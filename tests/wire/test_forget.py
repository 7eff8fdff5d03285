# SPDX-License-Identifier: Apache-2.0
"""Hooks that are gone from the configuration: their files and records stay until they come back, or
until informerctl forget."""
import os
import pathlib
import shutil
import tempfile

import pytest
from control import wait_until
from fakeapi import service
from outputs import Place, each, identity, port, whole
from harness import NOBODY

STAYS = ("output file of a hook that is not configured any more stays: informerctl forget HOOK --files "
         "removes it")
MARK = "user.informerd.hook"
WATCHES = {"services": {"resource": "services", "namespaces": ["*"]},
           "maps": {"resource": "configmaps", "namespaces": ["*"]}}


def left_files(d):
    return sorted((entry["hook"], entry["file"]) for entry in d.control.status()["left_files"])


def without(d, api, *names, section="hooks"):
    """Restarts the daemon without these hooks (or watches); returns their settings."""
    d.stop()
    taken = {name: d.settings[section].pop(name) for name in names}
    d.write_config()
    d.again(api)
    return taken


def bring_back(d, api, hooks, watches=()):
    d.stop()
    d.settings["hooks"].update(hooks)
    d.settings["watches"].update(watches)
    d.write_config()
    d.again(api)


@pytest.fixture
def gone(api, daemon, place, hook):
    """A daemon whose hook "h" has written n/a.conf and n/b.conf, and is not configured any more."""
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    other = {"sources": ["maps"], "command": [hook.path]}
    d = daemon(api, watches=WATCHES, hooks={"h": each(place), "other": other}).settled(api)
    d.was = without(d, api, "h")
    return d


BOTH = {"n/a.conf": port(81), "n/b.conf": port(82)}


def test_a_hook_that_is_lost_for_a_minute_goes_on_where_it_was(api, gone, place):
    files = [place / name for name in BOTH]
    assert place.files() == BOTH and left_files(gone) == [("h", str(file)) for file in files]
    assert gone.control.status()["degraded"] == []
    assert sorted(line["file"] for line in gone.log(msg=STAYS)) == [str(file) for file in files]
    watch = {"services": gone.settings["watches"].pop("services")}
    gone.stop()
    gone.write_config()
    gone.again(api)
    before = [identity(file) for file in files]
    api.apply(service("n/b", ports=[83]))
    bring_back(gone, api, gone.was, watch)
    place.wait({"n/a.conf": port(81), "n/b.conf": port(83)})
    assert identity(files[0]) == before[0] and left_files(gone) == []
    assert [(run["hook"], run["key"], run["reason"]) for run in gone.ctl_json("runs")] == [
        ("h", "n/b", "change")]


def test_forget_removes_the_files_that_are_as_informerd_wrote_them(api, gone, place):
    (place / "n/b.conf").write_text("mine\n")
    done = gone.ctl("forget", "h", "--files")
    assert done.returncode == 1 and done.stdout == "h: 1 file removed\n"
    assert done.stderr == (f"informerctl: h: 1 file stays:\n  {place / 'n/b.conf'}: its bytes are not "
                           "those that informerd wrote\n")
    assert place.files() == {"n/b.conf": "mine\n"}
    for _ in range(2):
        assert left_files(gone) == [("h", str(place / "n/b.conf"))]
        gone.stop()
        gone.again(api)
    (place / "n/b.conf").write_text(port(82))
    done = gone.ctl("forget", "h", "--files")
    assert (done.returncode, done.stdout, done.stderr) == (0, "h: 1 file removed\n", "")
    assert place.files() == {} and left_files(gone) == []
    assert gone.ctl("forget", "h").returncode == 1, "forgotten already"
    gone.stop()
    gone.again(api)
    assert left_files(gone) == [] and gone.ctl("forget", "h").returncode == 1, "not known"


def test_a_file_that_stayed_is_the_hooks_again_when_it_comes_back(api, gone, place):
    (place / "n/b.conf").write_text("mine\n")
    gone.ctl("forget", "h", "--files")
    api.delete("services", "n/b")
    (place / "n/b.conf").write_text(port(82))
    bring_back(gone, api, gone.was)
    place.wait({"n/a.conf": port(81)})
    assert left_files(gone) == []


def test_forget_without_files_leaves_them(api, gone, place):
    done = gone.ctl("forget", "h")
    assert (done.returncode, done.stdout) == (0, "h: is forgotten; its files stay\n")
    for _ in range(2):
        assert place.files() == BOTH and left_files(gone) == []
        gone.stop()
        gone.again(api)
    bring_back(gone, api, gone.was)
    assert {run["reason"] for run in gone.ctl_json("runs")} == {"existing"}


def test_only_a_hook_that_is_gone_can_be_forgotten(api, gone, place):
    for name, text in (("other", "then informerctl reload"), ("none", "nothing is known of a hook")):
        done = gone.ctl("forget", name, "--files")
        assert done.returncode == 1 and text in done.stderr
    assert gone.ctl("forget", "h", "--timeout", "1s").returncode == 64
    assert place.files() == BOTH


@pytest.mark.parametrize("mode", ["object", "snapshot"])
def test_a_renamed_hook_has_the_files_of_its_old_name(api, daemon, place, mode):
    api.apply(service("n/a", ports=[81]))
    settings = each(place) if mode == "object" else whole(place)
    d = daemon(api, hooks={"old": settings}).settled(api)
    files = place.files()
    api.stop_listening()    # the hook with the new name cannot run yet
    d.stop()
    d.settings["hooks"] = {"new": settings}
    d.write_config()
    d.start()
    wait_until(lambda: d.control.status()["hooks"])
    assert left_files(d) == [] and not d.log(msg=STAYS)
    assert d.ctl("forget", "old", "--files").stdout == "old: 0 files removed\n"
    assert place.files() == files
    api.listen()
    d.settled(api)
    assert place.files() == files


@pytest.fixture
def top():
    """A folder that everybody may enter, with folders for informerd as user nobody in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-", dir="/var/tmp"))
    folder.chmod(0o755)
    (folder / "run").mkdir()
    os.chown(folder / "run", NOBODY, NOBODY)
    probe = folder / "probe"
    probe.touch()
    try:
        os.setxattr(probe, MARK, b"x")
    except OSError as err:
        pytest.skip(f"no extended attributes here: {err}")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root and another user")
def test_a_main_without_rights_has_only_files_with_the_mark_removed(api, daemon, hook, top):
    """A broken main could lie about the files of hooks that are gone."""
    place = Place(top / "place")
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, start=False, user="nobody", state_dir=top / "state", watches=WATCHES,
               hooks={"h": {**each(place), "user": "root"},
                      "other": {"sources": ["maps"], "command": [hook.path], "user": "root"}},
               control={"socket": top / "run/sock"})
    d.state, d.control.path = top / "state", top / "run/sock"
    d.start().settled(api)
    assert place.files() == BOTH
    assert os.getxattr(place / "n/a.conf", MARK) == b"h"
    os.removexattr(place / "n/b.conf", MARK)
    without(d, api, "h")
    done = d.ctl("forget", "h", "--files")
    assert done.returncode == 1 and done.stdout == "h: 1 file removed\n"
    assert "nothing shows that informerd wrote it" in done.stderr
    assert place.files() == {"n/b.conf": port(82)}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root and another user")
def test_an_equal_file_of_an_older_release_gets_the_mark(api, daemon, top):
    place = Place(top / "place")
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, user="nobody", state_dir=top / "state",
               hooks={"h": {**each(place), "user": "root"}}, control={"socket": top / "run/sock"})
    d.state, d.control.path = top / "state", top / "run/sock"
    d.start().settled(api)
    file = place / "n/a.conf"
    os.removexattr(file, MARK)
    before = identity(file)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0
    assert os.getxattr(file, MARK) == b"h" and identity(file) == before
