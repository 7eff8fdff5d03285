# SPDX-License-Identifier: Apache-2.0
"""Strays: files that no hook names any more, as output or a watch was edited while informerd was
down."""
import os
import pathlib
import shutil
import tempfile

import pytest
from control import wait_until
from fakeapi import service, simple
from outputs import each, port, whole

REMOVED = "obsolete output file removed"
STAYS = "obsolete output file left in place: remove it if not needed"
GONE = ("output file of a hook that is not configured any more stays: informerctl forget HOOK --files "
        "removes it")
RENAMED = {"others": {"resource": "services", "namespaces": ["*"]}}
WATCHES = {"services": {"resource": "services", "namespaces": ["*"]}}


@pytest.fixture
def lister(new_program, place):
    """An apply that records, at each run, which files there are."""
    program = new_program(f"n=$(ls \"$d\" | wc -l); cd {place.folder}\n"
                          'find . -type f | sort >"$d/seen.$n.new"; mv "$d/seen.$n.new" "$d/seen.$n"')

    def seen():
        files = program.folder.glob("seen.*")
        ordered = sorted(files, key=lambda file: int(file.name.split(".")[1]))
        return [file.read_text().replace("./", "").split() for file in ordered]
    program.seen = seen
    return program


def edit(d, api, settled=True, **hook):
    """Restarts the daemon with changed settings of hook "h"."""
    d.stop()
    d.settings["hooks"]["h"].update(hook)
    d.write_config()
    return d.again(api) if settled else d.start()


def applied(d):
    wait_until(lambda: d.control.hook("h")["apply"] == "handled", what="apply has ended")


def logged(d, msg):
    return sorted(line["file"] for line in d.log(msg=msg))


@pytest.mark.parametrize("new", ["${namespace}.${name}.conf", "deep/${namespace}/${name}.conf",
                                 "${namespace}/${name}.cfg"])
def test_files_of_an_edited_template_go_before_the_first_apply(api, daemon, place, lister, new):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    (place / "deep").mkdir()
    d = daemon(api, hooks={"h": each(place, apply=[lister.path])}).settled(api)
    applied(d)
    before = len(lister.seen())
    edit(d, api, output=place / new)
    applied(d)
    now = {new.replace("${namespace}", "n").replace("${name}", name): port(number)
           for name, number in (("a", 81), ("b", 82))}
    assert place.files() == now
    assert lister.seen()[before:] == [sorted(now)]
    assert "n" in place.folders() or not new.startswith("${namespace}/")
    assert logged(d, REMOVED) == [str(place / "n/a.conf"), str(place / "n/b.conf")]
    d.stop()
    d.again(api)
    assert place.files() == now and len(lister.seen()) == before + 1
    assert len(logged(d, REMOVED)) == 2, "once"


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_the_one_file_of_an_edited_template_goes(api, daemon, place, lister, mode):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, mode=mode, shell="echo text",
                                      apply=[lister.path])}).settled(api)
    applied(d)
    edit(d, api, output=place / "other.cfg")
    applied(d)
    assert place.files() == {"other.cfg": "text\n"} and lister.seen()[-1] == ["other.cfg"]


def test_a_hook_that_has_another_mode_leaves_no_file_of_the_old_one(api, daemon, place):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    d.stop()
    d.settings["hooks"]["h"] = whole(place)
    d.write_config()
    d.again(api)
    place.wait({"all.cfg": '"port":81\n"port":82\n'})
    wait_until(lambda: place.folders() == [], what="the folders are removed behind their files")
    d.stop()
    d.settings["hooks"]["h"] = each(place)
    d.write_config()
    d.again(api)
    place.wait({"n/a.conf": port(81), "n/b.conf": port(82)})


@pytest.mark.parametrize("template", ["${namespace}/${name}.conf", "${name}"])
def test_files_of_a_renamed_watch_go_if_their_object_did(api, daemon, place, lister, template):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, watches=WATCHES, hooks={"h": each(place, apply=[lister.path])}).settled(api)
    applied(d)
    api.delete("services", "n/b")
    d.settings["watches"] = RENAMED
    edit(d, api, sources=["others"], output=place / template)
    applied(d)
    name = template.replace("${namespace}", "n").replace("${name}", "a")
    assert place.files() == {name: port(81)} and lister.seen()[-1] == [name]


def test_a_watch_of_something_else_leaves_no_file_of_the_first(api, daemon, place):
    api.apply(service("n/a", ports=[81]), simple("ConfigMap", "n/c"))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    d.settings["watches"] = {"maps": {"resource": "configmaps", "namespaces": ["*"]}}
    edit(d, api, sources=["maps"])
    place.wait({"n/c.conf": "port \n"})


def test_a_renamed_watch_keeps_the_files_that_are_skipped(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    d.settings["watches"] = RENAMED
    edit(d, api, sources=["others"], existing="skip")
    assert place.files() == {"n/a.conf": port(81)}
    api.delete("services", "n/a")
    place.wait({})


def test_a_file_that_somebody_changed_is_left_and_reported(api, daemon, place):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    (place / "n/a.conf").write_text("mine\n")
    edit(d, api, output=place / "${name}")
    wait_until(lambda: logged(d, STAYS) and logged(d, REMOVED))
    left = place / "n/a.conf"
    assert place.files() == {"n/a.conf": "mine\n", "a": port(81), "b": port(82)}
    assert logged(d, STAYS) == [str(left)] and logged(d, REMOVED) == [str(place / "n/b.conf")]
    for _ in range(2):
        [entry] = d.control.status()["left_files"]
        assert (entry["hook"], entry["file"]) == ("h", str(left)) and "bytes" in entry["because"]
        assert str(left) in d.ctl("status").stdout
        d.stop()
        d.again(api)
        wait_until(lambda: d.control.status()["left_files"])
    left.unlink()
    d.stop()
    d.again(api)
    wait_until(lambda: not d.control.status()["left_files"])


def test_the_old_file_stays_until_the_new_one_is_there(api, daemon, place):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    edit(d, api, settled=False, output=place / "${name}", check=["/bin/grep", "-q", "82", "${file}"])
    place.wait({"n/a.conf": port(81), "b": port(82)})
    api.apply(service("n/a", ports=[8283]))
    place.wait({"a": port(8283), "b": port(82)})


def test_files_of_a_hook_that_is_gone_stay_and_are_named(api, daemon, place, hook):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place), "other": hook}).settled(api)
    d.stop()
    settings = d.settings["hooks"].pop("h")
    d.write_config()
    d.again(api)
    file = str(place / "n/a.conf")
    assert place.files() == {"n/a.conf": port(81)} and logged(d, GONE) == [file]
    [entry] = d.control.status()["left_files"]
    assert (entry["hook"], entry["file"]) == ("h", file)
    assert file in d.ctl("status").stdout and d.control.status()["degraded"] == []
    d.stop()
    d.settings["hooks"]["h"] = settings
    d.write_config()
    api.delete("services", "n/a")
    d.again(api)
    place.wait({})
    assert d.control.status()["left_files"] == []


def test_another_hook_that_writes_the_file_keeps_it(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    d.settings["hooks"]["next"] = each(place)
    edit(d, api, output=place / "${name}")
    place.wait({"n/a.conf": port(81), "a": port(81)})
    assert not logged(d, REMOVED)


def test_once_removes_them_and_a_dry_run_does_not(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place)}).settled(api)
    d.stop()
    d.settings["hooks"]["h"]["output"] = place / "${name}"
    d.write_config()
    assert d.to_the_end("--once", "--dry-run") == 0
    assert place.files() == {"n/a.conf": port(81)}
    assert d.to_the_end("--once") == 0
    assert place.files() == {"a": port(81)}


@pytest.fixture
def top():
    """A folder that everybody may enter, with a folder for the socket of user nobody in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    folder.chmod(0o755)
    (folder / "run").mkdir()
    os.chown(folder / "run", 65534, 65534)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root and another user")
def test_a_main_without_rights_has_only_files_of_its_folders_removed(api, daemon, place, tmp_path, top):
    """A broken main could lie about earlier files: the helper, which is root, removes files only in
    the folder that the configuration names."""
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, user="nobody", state_dir=top / "state",
               hooks={"h": {**each(place), "user": "root"}}, control={"socket": top / "run/sock"})
    d.state, d.control.path = top / "state", top / "run/sock"
    d.start().settled(api)
    edit(d, api, output=place / "${name}")
    place.wait({"a": port(81)})
    wait_until(lambda: logged(d, REMOVED))  # the next process must not ask for that file again
    other = tmp_path / "other"
    other.mkdir()
    edit(d, api, output=other / "${name}")
    wait_until(lambda: logged(d, STAYS))
    assert place.files() == {"a": port(81)} and (other / "a").read_text() == port(81)
    assert [entry["file"] for entry in d.control.status()["left_files"]] == [str(place / "a")]
