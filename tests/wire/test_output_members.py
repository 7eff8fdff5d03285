# SPDX-License-Identifier: Apache-2.0
"""files_from: the members of ConfigMaps and Secrets become files without a program."""
import base64
import os
import pathlib
import signal

import pytest
from control import wait_until
from fakeapi import simple
from harness import RETRY, check_config
from outputs import identity, starts

WATCHES = {"configmaps": {"resource": "configmaps", "namespaces": ["*"]},
           "secrets": {"resource": "secrets", "namespaces": ["*"]}}
ANY_BYTES = bytes(range(256)) * 8


def encoded(data):
    return base64.b64encode(data).decode()


def configmap(key, data=None, **more):
    return simple("ConfigMap", key, data=data or {}, **more)


def secret(key, **data):
    return simple("Secret", key, type="Opaque",
                  data={name.replace("_", "."): encoded(value) for name, value in data.items()})


def members(place, **more):
    """The settings of a hook that writes the members of ConfigMaps."""
    return {"sources": ["configmaps"], "files_from": "data", "retry": RETRY,
            "settle": ["20ms", "100ms"], "output": place / "${namespace}/${name}/${key}", **more}


@pytest.fixture
def writer(daemon, api):
    """writer(hook settings..., more=daemon settings): a daemon with this hook "h"."""
    def make(hook, **more):
        return daemon(api, watches={name: WATCHES[name] for name in hook["sources"]},
                      hooks={"h": hook}, **more).caught_up(api)
    return make


def last(d):
    return d.ctl_json("runs", "h")[-1]


# ---- Members and files

def test_members_become_files_and_are_applied_once(api, writer, place, applier):
    api.apply(configmap("n/a", {"x.conf": "one\n", "y": ""}),
              configmap("m/b", {"x.conf": "two"}, binaryData={"z": encoded(ANY_BYTES)}))
    d = writer(members(place, apply=[applier.path], output_mode="0640"))
    assert (place / "m/b/z").read_bytes() == ANY_BYTES
    (place / "m/b/z").unlink()
    assert place.files() == {"n/a/x.conf": "one\n", "n/a/y": "", "m/b/x.conf": "two"}
    assert (place / "n/a/y").stat().st_mode & 0o7777 == 0o640
    assert starts(applier) == 1
    refused = d.ctl("input", "h", "n/a")
    assert refused.returncode == 1 and "no program runs" in refused.stderr
    assert "file=" not in d.ctl("events").stdout
    runs = {run["key"]: run for run in d.ctl_json("runs", "h") if run["program"] == "write"}
    assert runs["n/a"]["result"] == "files written: 2" and runs["n/a"]["became"] == "written"


def test_only_members_that_changed_are_written(api, writer, place, applier):
    api.apply(configmap("n/a", {"x": "1", "y": "2", "z": "3"}))
    d = writer(members(place, apply=[applier.path]))
    before = {name: identity(place / "n/a" / name) for name in "xyz"}
    api.apply(configmap("n/a", {"x": "1", "y": "new", "w": "4"}))
    d.caught_up(api)
    assert place.files() == {"n/a/x": "1", "n/a/y": "new", "n/a/w": "4"}
    assert identity(place / "n/a/x") == before["x"] and identity(place / "n/a/y") != before["y"]
    assert starts(applier) == 2
    wrote = [run for run in d.ctl_json("runs", "h") if run["program"] == "write"][-1]
    assert wrote["result"] == "files written: 3"    # y and w were written, z was removed
    api.apply(configmap("n/a", {"x": "1", "y": "new", "w": "4"}, labels={"l": "m"}))
    d.caught_up(api)
    assert last(d)["result"] == "files same" and starts(applier) == 2


def test_the_end_of_an_object_removes_all_of_its_files(api, writer, place, applier):
    api.apply(configmap("n/a", {"x": "1", "y": "2"}), configmap("n/b", {"x": "3"}))
    d = writer(members(place, apply=[applier.path]))
    api.delete("configmaps", "n/a")
    d.caught_up(api)
    assert place.files() == {"n/b/x": "3"} and place.folders() == ["n", "n/b"]
    assert starts(applier) == 2
    removed = [run for run in d.ctl_json("runs", "h") if run["program"] == "remove"][-1]
    assert (removed["became"], removed["result"]) == ("removed", "files removed: 2")
    api.apply(configmap("n/b", {}))
    d.caught_up(api)
    assert place.files() == {} and starts(applier) == 3


def test_an_object_without_members_has_no_files(api, writer, place, applier):
    api.apply(configmap("n/a"))
    writer(members(place, apply=[applier.path]))
    assert place.files() == {} and starts(applier) == 0


def test_an_immutable_object_is_replaced(api, writer, place, applier):
    api.apply(configmap("n/a", {"x": "1"}, immutable=True))
    d = writer(members(place))
    api.delete("configmaps", "n/a")
    api.apply(configmap("n/a", {"y": "2"}, immutable=True))
    d.caught_up(api)
    assert place.files() == {"n/a/y": "2"}


def test_hundreds_of_members_and_large_ones(api, writer, place, applier):
    many = {f"member-{number}": f"{number}\n" for number in range(700)}
    api.apply(configmap("n/many", many), configmap("n/large", {"large": "x" * 1024 * 1024}))
    d = writer(members(place, apply=[applier.path]))
    files = place.files()
    assert len(files) == 701 and files["n/many/member-699"] == "699\n"
    assert len(files["n/large/large"]) == 1024 * 1024 and starts(applier) == 1
    api.delete("configmaps", "n/many")
    d.caught_up(api)
    assert list(place.files()) == ["n/large/large"]


# ---- All or none

def test_one_member_that_fails_its_check_keeps_all_old_files(api, writer, place, applier):
    api.apply(configmap("n/a", {"x": "good 1", "y": "good 1", "z": "good 1"}))
    d = writer(members(place, apply=[applier.path],
                       check=["/bin/grep", "-q", "good", "${file}"]))
    old = place.files()
    api.apply(configmap("n/a", {"w": "good 2", "x": "good 2", "y": "bad 2"}))
    wait_until(lambda: d.control.hook("h")["runs_failed"] > 0, what="a failed run")
    assert d.control.hook("h")["last_error"] == \
        f"check: {place / 'n/a/y'}: exit status 1 (the old files stay)"
    assert {name: text for name, text in place.files().items() if "informerd" not in name} == old
    assert starts(applier) == 1
    api.apply(configmap("n/a", {"w": "good 3", "y": "good 3"}))
    d.caught_up(api)
    place.wait({"n/a/w": "good 3", "n/a/y": "good 3"})
    assert starts(applier) == 2


def test_members_of_two_objects_with_one_path(api, writer, place):
    api.apply(configmap("n/a", {"x": "a", "own-a": "a"}))
    d = writer(members(place, output=place / "${key}"))
    api.apply(configmap("n/b", {"x": "b", "own-b": "b"}))
    wait_until(lambda: d.control.hook("h")["parked"] == 1, what="a parked key")
    assert place.files() == {"x": "a", "own-a": "a"}    # none of n/b
    assert f"files_from: {place / 'x'} is the file of n/a/x of source configmaps already: " \
        "put ${namespace} and ${name} into output as folders" in d.control.hook("h")["last_error"]
    api.apply(configmap("n/a", {"own-a": "a"}))
    place.wait({"own-a": "a", "x": "b", "own-b": "b"})


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../b", "", ".informerd-x", "a\0b", "x" * 256])
def test_names_that_are_no_file_names_park_the_object(api, writer, place, name):
    api.apply(configmap("n/a", {"x": "1", name: "2"}))
    d = writer(members(place), state_dir="none")
    assert d.control.hook("h")["parked"] == 1 and place.files() == {}
    assert "output: " in d.control.hook("h")["last_error"] or \
        "files_from: " in d.control.hook("h")["last_error"]
    api.apply(configmap("n/a", {"x": "1"}))
    place.wait({"n/a/x": "1"})


def test_a_member_that_is_no_base64_parks_the_object_and_is_not_shown(api, writer, place):
    api.apply(simple("Secret", "n/a", data={"x": encoded(b"1"), "y": "not!base64"}))
    d = writer(members(place, sources=["secrets"]))
    assert d.control.hook("h")["parked"] == 1 and place.files() == {}
    assert d.control.hook("h")["last_error"] == 'files_from: data["y"] is no base64'
    assert "not!base64" not in d.stderr()


def test_a_member_in_data_and_in_binary_data_parks_the_object(api, writer, place):
    api.apply(configmap("n/a", {"x": "1"}, binaryData={"x": encoded(b"2")}))
    d = writer(members(place))
    assert d.control.hook("h")["last_error"] == 'files_from: the object has two members "x"'


def test_a_dry_run_says_how_many_files_it_would_write(api, daemon, place):
    api.apply(configmap("n/a", {"x": "1", "y": "2"}))
    d = daemon(api, watches={"configmaps": WATCHES["configmaps"]}, hooks={"h": members(place)},
               start=False)
    assert d.to_the_end("--dry-run", "--once") == 0
    assert [line["files"] for line in d.log(msg="would write files", key="n/a")] == [2]
    assert place.files() == {}


# ---- Restarts

def test_after_a_restart_only_what_changed_is_written(api, writer, place, applier):
    api.apply(configmap("n/a", {"x": "1", "y": "2"}), configmap("n/b", {"x": "3"}),
              configmap("n/c", {"x": "4", "y": "5"}))
    d = writer(members(place, apply=[applier.path]))
    d.settled(api)
    before = identity(place / "n/b/x"), identity(place / "n/a/x")
    d.stop()
    api.apply(configmap("n/a", {"x": "1", "z": "6"}))
    api.delete("configmaps", "n/c")
    d.again(api).caught_up(api)
    place.wait({"n/a/x": "1", "n/a/z": "6", "n/b/x": "3"})
    assert (identity(place / "n/b/x"), identity(place / "n/a/x")) == before
    keys = {run["key"] for run in d.ctl_json("runs", "h") if run["program"] != "apply"}
    assert keys == {"n/a", "n/c"}


@pytest.mark.parametrize("output", ["${name}.${key}", "sub/${namespace}/${name}/${key}"])
def test_files_of_an_edited_template_are_removed(api, writer, place, output):
    api.apply(configmap("n/a", {"x": "1", "y": "2"}))
    (place / "sub").mkdir()
    d = writer(members(place))
    d.settled(api)
    d.stop()
    api.apply(configmap("n/a", {"x": "1", "z": "3"}))
    d.settings["hooks"]["h"]["output"] = place / output
    d.write_config()
    d.again(api)
    new = output.replace("${namespace}", "n").replace("${name}", "a")
    place.wait({new.replace("${key}", "x"): "1", new.replace("${key}", "z"): "3"})


def test_files_of_a_command_give_way_to_those_of_members(api, writer, place):
    api.apply(configmap("n/a", {"x": "1"}))
    d = writer({"sources": ["configmaps"], "shell": "echo hello", "retry": RETRY,
                "output": place / "${name}.txt"})
    assert place.files() == {"a.txt": "hello\n"}
    d.settled(api)
    d.stop()
    d.settings["hooks"]["h"] = members(place)
    d.write_config()
    d.again(api)
    place.wait({"n/a/x": "1"})
    d.settled(api)
    d.stop()
    d.settings["hooks"]["h"] = {"sources": ["configmaps"], "shell": "echo hello", "retry": RETRY,
                                "output": place / "${name}.txt"}
    d.write_config()
    d.again(api)
    place.wait({"a.txt": "hello\n"})


# ---- Crashes

def blocked(tmp_path):
    """A check that waits until the test opens the gate, and the calls that tell of it."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    os.mkfifo(gate)
    return begun, gate, ["/bin/sh", "-c", f"echo x >>{begun}; read x <{gate}", "sh", "${file}"]


def test_new_files_of_a_crash_are_removed_with_their_object(api, daemon, place, tmp_path):
    begun, _, check = blocked(tmp_path)
    api.apply(configmap("n/a", {"x": "1", "y": "2"}))
    d = daemon(api, watches={"configmaps": WATCHES["configmaps"]},
               hooks={"h": members(place, check=check)})
    wait_until(begun.exists, what="a check")
    assert len(place.files()) == 2      # both are complete, under their hidden names
    d.kill()
    api.delete("configmaps", "n/a")
    d.again(api)
    place.wait({})


def test_files_that_were_written_while_main_hung_are_removed_with_their_object(api, daemon, place,
                                                                             tmp_path):
    begun, gate, check = blocked(tmp_path)
    api.apply(configmap("n/a", {"x": "1"}))
    d = daemon(api, watches={"configmaps": WATCHES["configmaps"]},
               hooks={"h": members(place, check=check)})
    wait_until(begun.exists, what="a check")
    d.process.send_signal(signal.SIGSTOP)
    gate.write_text("go\n")
    place.wait({"n/a/x": "1"})
    d.kill()
    api.delete("configmaps", "n/a")
    d.again(api)
    place.wait({})
    wait_until(lambda: place.folders() == [], what="the folders are removed behind their files")


# ---- Secrets

def test_the_bytes_of_secrets_are_in_their_files_only(api, writer, place, tmp_path):
    needle = b"needle-4f1c09-haystack"
    api.apply(secret("n/a", tls_crt=b"public", tls_key=needle))
    look = tmp_path / "look"
    check = ["/bin/sh", "-c", f"cat /proc/$PPID/cmdline /proc/$PPID/environ /proc/$$/cmdline "
             f"/proc/$$/environ >>{look}", "sh", "${file}"]
    d = writer(members(place, sources=["secrets"], output_mode="0600", check=check,
                       apply=["/bin/true"]), log={"level": "trace"})
    assert place.files() == {"n/a/tls.crt": "public", "n/a/tls.key": needle.decode()}
    d.settled(api)
    api.apply(secret("n/a", tls_crt=b"!", tls_key=needle))
    d.caught_up(api)
    for pid in (d.pid, d.helper):
        for name in ("cmdline", "environ"):
            (tmp_path / f"{pid}.{name}").write_bytes(pathlib.Path(f"/proc/{pid}/{name}").read_bytes())
    (place / "n/a/tls.key").unlink()
    d.settled(api)
    found = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert b"INFORMERD_NAME=a" in found[look]
    assert any(b"tls.key" in data for path, data in found.items() if path.is_relative_to(d.state))
    for path, data in found.items():
        assert needle not in data and base64.b64encode(needle) not in data, path


# ---- The configuration

@pytest.mark.parametrize("change, problem", [
    ({"mode": "snapshot"}, 'files_from needs mode "object": each object has files of its own'),
    ({"output": None}, "files_from needs output: the path of each file"),
    ({"shell": "true"}, "shell cannot stand beside files_from"),
    ({"fields": {"A": "data.a"}}, "fields cannot stand beside files_from"),
    ({"output": "/etc/${name}"}, "needs ${key} with files_from"),
    ({"files_from": "spec"}, 'must be "data"'),
    ({"files_from": None, "shell": "true"}, "${key} needs files_from"),
    ({"sources": ["services"]}, '"services" is no watch of configmaps or secrets'),
    ({"sources": ["metadata"]}, "keep or drop of watch metadata (line "),
])
def test_a_setting_that_cannot_be_is_an_error_at_start(api, daemon, place, change, problem):
    watches = {**WATCHES, "services": {"resource": "services", "namespaces": ["*"]},
               "metadata": {"resource": "secrets", "namespaces": ["*"], "keep": ["metadata"]}}
    hook = {name: value for name, value in {**members(place), **change}.items()
            if value is not None}
    d = daemon(api, watches=watches, hooks={"h": hook}, start=False)
    done = check_config(d.config)
    assert done.returncode == 78 and problem in done.stderr, done.stderr
