# SPDX-License-Identifier: Apache-2.0
"""informerctl record and informerd --replay: recorded changes reach hooks again, without a server."""
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from datetime import datetime

import pytest
from control import PATIENCE, wait_until
from fakeapi import endpointslice, service
from harness import INFORMERCTL, INFORMERD, NOBODY, NOW, TWO, hook_settings

AT_ONCE = {"settle": ["0s", "0s"]}
NOWHERE = {"prod": {"kubeconfig": "/nonexistent/kubeconfig"}}


class Recording:
    """informerctl record, with its file: with Recording(d, file, "services") as r."""

    def __init__(self, d, path, *words):
        self.path = path
        with open(path, "wb") as out:
            self.process = subprocess.Popen(
                [INFORMERCTL, "--socket", d.control.path, "record", *words], stdout=out,
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def lines(self):
        text = self.path.read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def told(self):
        """[(type, name), ...] of the lines that have both."""
        return [(line["type"], line.get("name")) for line in self.lines() if "type" in line]

    def wait(self, kind, name=None, times=1):
        wait_until(lambda: self.told().count((kind, name)) >= times, PATIENCE, f"{kind} {name}")
        return self

    def wait_end(self):
        """(exit code, text on stderr)."""
        code = self.process.wait(PATIENCE)
        return code, self.process.stderr.read()


@pytest.fixture
def files(tmp_path):
    tmp_path.chmod(0o755)
    return tmp_path


def text_of(*lines):
    return "".join(json.dumps(line) + "\n" for line in lines)


def recording(*changes, source="services"):
    """The text of a recording of Services: lists of (at in seconds, type, object)."""
    head = [{"at": "2026-01-01T00:00:00Z", "recording": 1},
            {"type": "WATCH", "source": source, "resource": "services"}]
    return text_of(*head, *({"at": f"2026-01-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z", "type": kind,
                             "source": source, "object": obj} for at, kind, obj in changes))


def a_service(port=80):
    """The same incarnation of Service n/a, with this port."""
    return service("n/a", ports=(port,), uid="u1")


def a_slice(*addresses):
    made = endpointslice("n/s", "a", addresses, uid="u2")
    made["ports"][0]["name"] = "p80"
    return made


def plain(run):
    """The input of a run, without the members that differ from one process to the next."""
    value = copy.deepcopy(run.input)
    del value["run"]
    for source in value["sources"].values():
        del source["age_s"]
    for event in [value["event"]] if "event" in value else value["changes"]:
        del event["received"]
    return value


def inputs(hook):
    return [plain(run) for run in hook.runs()]


# ---- Record, then replay

def test_a_replay_gives_the_hook_what_it_got_when_it_was_recorded(api, daemon, new_hook, files):
    real, again = new_hook(), new_hook()
    watches = {"services": {**TWO["services"], "match": ["spec.type!=ExternalName"],
                            "drop": ["spec.clusterIP"]}, "slices": TWO["slices"]}
    api.apply(service("n/a"), service("n/b"), endpointslice("n/s", "a", ["10.0.0.1"]))
    hooks = {"h": hook_settings(real, sources=["services", "slices"], concurrency=1, **AT_ONCE)}
    d = daemon(api, watches=watches, hooks=hooks).caught_up(api)
    real.wait(3)
    with Recording(d, files / "r", "services", "slices") as r:
        r.wait("SYNCED", times=2)
        steps = [lambda: api.apply(service("n/a", ports=(81,))),
                 lambda: api.apply(service("n/c")),
                 lambda: api.apply(service("n/a", ports=(81,), type="ExternalName")),
                 lambda: api.delete("endpointslices", "n/s"),
                 lambda: api.delete("services", "n/b")]
        for number, step in enumerate(steps):
            step()
            real.wait(4 + number)
            d.caught_up(api)
        api.delete("services", "n/c", silent=True)
        d.ctl("relist", "services")
        r.wait("DELETED", "c")
        real.wait(9)
    d.stop()
    hooks["h"]["command"] = [again.path]
    replay = daemon(clusters=NOWHERE, watches=watches, hooks=hooks, start=False)
    before = sorted(os.listdir(replay.folder))
    assert replay.to_the_end("--replay", files / "r", "--speed", "max") == 0
    first, then = inputs(again)[:3], inputs(again)[3:]
    assert sorted(map(json.dumps, first)) == sorted(map(json.dumps, inputs(real)[:3]))
    assert then == inputs(real)[3:]
    assert [run.event["type"] for run in again.runs()][-6:] == [
        "MODIFIED", "ADDED", "LEFT", "DELETED", "DELETED", "DELETED"]
    assert again.runs()[-1].event["final_state_unknown"] is True
    assert sorted(set(os.listdir(replay.folder)) - set(before)) == ["stderr.log"], "no state"
    assert not replay.control.alive()


def test_a_view_is_made_again_of_its_recorded_watches(api, daemon, new_hook, files):
    """Also where it changes by itself after the last line: hold_empty."""
    real, again = new_hook(), new_hook()
    views = {"web": {"type": "service_endpoints", "services": "services", "slices": "slices",
                     "hold_empty": "300ms"}}
    hooks = {"h": hook_settings(real, sources=["web"], **AT_ONCE)}
    api.apply(service("n/a"), a_slice("10.0.0.1"))
    d = daemon(api, watches=TWO, views=views, hooks=hooks).caught_up(api)
    real.wait(1)
    refused = d.ctl("record", "web")
    assert refused.returncode == 1 and "is a view: record the two watches" in refused.stderr
    with Recording(d, files / "r", "services", "slices") as r:
        r.wait("SYNCED", times=2)
        for number, addresses in enumerate([["10.0.0.1", "10.0.0.2"], ["10.0.0.3"], []], 1):
            api.apply(a_slice(*addresses))
            r.wait("MODIFIED", "s", times=number)
            real.wait(1 + number)
        real.wait(5)    # the port that ran empty is held, and then is not
    hooks["h"]["command"] = [again.path]
    replay = daemon(clusters=NOWHERE, watches=TWO, views=views, hooks=hooks, start=False)
    assert replay.to_the_end("--replay", files / "r", "--speed", "max") == 0
    assert inputs(again) == inputs(real)


def test_stale_and_fresh_are_recorded_and_played(api, daemon, new_hook, files):
    real, again = new_hook(), new_hook()
    hooks = {"h": hook_settings(real, events=["stale", "fresh"], **AT_ONCE)}
    clusters = {"prod": {**NOWHERE["prod"], "stale_after": "1h"}}
    d = daemon(api, hooks=hooks, tuning={"backoff": {"initial": "20ms", "max": "20ms"}},
               start=False)
    d.settings["clusters"]["prod"]["stale_after"] = "1ms"
    d.write_config()
    d.start().caught_up(api)
    # A slow start makes the watch stale as well. The recording begins when it is fresh.
    wait_until(lambda: len(d.log(msg="watch is stale")) == len(d.log(msg="watch is fresh again")))
    d.control.wait_idle()
    real.forget()
    with Recording(d, files / "r", "services") as r:
        r.wait("SYNCED")
        api.on_watch("services", times=3).fail(500)
        api.end_watches()
        r.wait("STALE")
        real.wait(1)
        r.wait("FRESH")
        real.wait(2)
    hooks["h"]["command"] = [again.path]
    replay = daemon(clusters=clusters, hooks=hooks, start=False)
    assert replay.to_the_end("--replay", files / "r", "--speed", "max") == 0
    assert [run.event["type"] for run in again.runs()][:2] == ["STALE", "FRESH"]


def test_a_watch_that_was_stale_when_the_recording_began_is_stale(daemon, hook, files):
    head, fresh = recording(A), recording((1, "FRESH", None)).splitlines(True)[-1]
    (files / "r").write_text(head + text_of(
        {"type": "SYNCED", "source": "services", "stale": True}) + fresh)
    d = daemon(clusters=NOWHERE, start=False, hooks={
        "h": hook_settings(hook, when_stale="wait", **AT_ONCE)})
    assert d.to_the_end("--replay", files / "r") == 0
    assert len(d.log(msg="watch is stale")) == len(d.log(msg="watch is fresh again")) == 1
    assert hook.what() == [("ADDED", "n/a")]
    assert d.starts("h")[0][0] >= seconds(d.log(msg="watch is fresh again")[0])


# ---- The end of a recording

def test_a_restart_of_informerd_cuts_the_recording_visibly(api, daemon, hook, files):
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    with Recording(d, files / "r", "services") as r:
        r.wait("SYNCED")
        d.stop()
        code, complaint = r.wait_end()
    assert code == 2 and "ended the stream" in complaint
    last = r.lines()[-1]
    assert (last["type"], last["source"]) == ("CUT", "services") and "ended" in last["why"]
    hook.forget()
    assert d.to_the_end("--replay", files / "r") == 0
    assert d.wait_problem("cut off")["line"] == f"{files}/r:5"
    assert hook.what() == [("ADDED", "n/a")]


def test_a_last_line_that_is_cut_short_is_left_out(daemon, hook, files):
    whole = recording((0, "ADDED", service("n/a")), (0, "SYNCED", None))
    (files / "r").write_text(whole + '{"type":"MODIFI')
    d = daemon(clusters=NOWHERE, hooks={"h": hook}, start=False)
    assert d.to_the_end("--replay", files / "r") == 0
    assert hook.what() == [("ADDED", "n/a")]
    assert d.wait_problem("cut short")["line"] == f"{files}/r:5"


def test_a_recording_of_nothing_that_there_is(api, daemon):
    d = daemon(api)
    for words, text in [(["nope"], "there is no watch nope"),
                        (["services", "services"], "named twice")]:
        done = d.ctl("record", *words)
        assert done.returncode in (1, 64) and text in done.stderr and not done.stdout
    assert d.ctl("record").returncode == 64
    assert "has no --with-secrets" in d.ctl("status", "--with-secrets").stderr


def test_the_reader_of_a_recording_may_go(api, daemon):
    api.apply(service("n/a"))
    d = daemon(api).caught_up(api)
    with subprocess.Popen([INFORMERCTL, "--socket", d.control.path, "record", "services"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert json.loads(process.stdout.readline())["recording"] == 1
        process.stdout.close()
        assert process.wait(PATIENCE) in (0, -signal.SIGPIPE)


# ---- Secrets

SECRETS = {"services": TWO["services"],
           "secrets": {"resource": "secrets", "namespaces": ["*"]}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
          "data": {"password": "aHVudGVyMg=="}}


def test_secrets_are_recorded_only_when_asked_for(api, daemon, files):
    api.apply(SECRET)
    d = daemon(api, watches=SECRETS).caught_up(api)
    done = d.ctl("record", "services", "secrets")
    assert done.returncode == 1 and "--with-secrets" in done.stderr and not done.stdout
    with Recording(d, files / "r", "--with-secrets", "secrets") as r:
        r.wait("SYNCED")
        assert [line["object"]["data"] for line in r.lines() if "object" in line] \
            == [SECRET["data"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_secrets_need_the_rights_that_get_needs(api, daemon):
    api.apply(SECRET)
    d = daemon(api, watches=SECRETS).caught_up(api)
    done = d.ctl_of_nobody("record", "--with-secrets", "secrets")
    assert done.returncode == 77 and not done.stdout


# ---- A folder of objects

def test_a_folder_of_objects_goes_to_the_watches_of_their_kinds(daemon, new_hook, files):
    one, two = new_hook(), new_hook()
    (files / "1.json").write_text(json.dumps(service("n/a", labels={"app": "web"})))
    (files / "2.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [
        service("n/b", labels={"app": "db"}), service("x/c", labels={"app": "web"}),
        {"apiVersion": "example.com/v1", "kind": "Widget",
         "metadata": {"name": "w", "namespace": "n"}}]}))
    (files / "3.yaml").write_text("kind: Service\n")
    (files / "4.json").write_text(json.dumps(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
    watches = {"services": {"resource": "svc", "namespaces": ["n"], "label_selector": "app=web",
                            "keep": ["spec.ports"]},
               "widgets": {"resource": "widgets.example.com", "namespaces": ["*"]}}
    d = daemon(clusters=NOWHERE, watches=watches, start=False,
               hooks={"one": hook_settings(one), "two": hook_settings(two, sources=["widgets"])})
    assert d.to_the_end("--replay", files) == 0
    assert one.what() == [("ADDED", "n/a")] and two.what() == [("ADDED", "n/w")]
    assert "ports" in one.runs()[0].event["object"]["spec"]
    assert "clusterIP" not in one.runs()[0].event["object"]["spec"]
    assert d.wait_problem("no watch is of the kind")["kind"] == "Node"
    assert d.wait_problem("YAML")["file"] == "3.yaml"


@pytest.mark.parametrize("text, words", [
    ("{", ""), ('{"kind":"Service"}', "apiVersion"), ("[]", "no JSON object"),
    ('{"items":[1]}', "item 1")])
def test_garbage_in_a_folder_is_told_with_its_file(daemon, hook, files, text, words):
    (files / "bad.json").write_text(text)
    d = daemon(clusters=NOWHERE, hooks={"h": hook}, start=False)
    assert d.to_the_end("--replay", files) == 78
    assert f"{files}/bad.json: " in d.wait_problem("cannot start", words)["err"]


def test_a_folder_without_objects_is_refused(daemon, hook, files):
    d = daemon(clusters=NOWHERE, hooks={"h": hook}, start=False)
    assert d.to_the_end("--replay", files) == 78
    assert "*.json" in d.wait_problem("cannot start")["err"]


# ---- The file and the configuration do not fit

A = (0, "ADDED", a_service())
SYNCED = (0, "SYNCED", None)


@pytest.mark.parametrize("text, line, words", [
    ("", None, "no whole line"),
    ("garbage\n", 1, "json"),
    (text_of({"type": "SYNCED", "source": "services"}), 1, "no recording"),
    (text_of({"recording": 2}), 1, "version 2"),
    (recording(A, SYNCED) + "x\n", 5, "json"),
    (recording(A, SYNCED) + recording(A), 5, "second recording"),
    (recording(A, (0, "GONE", a_service())), 4, "type"),
    (recording(A, (0, "ADDED", SECRET)), 4, "the object is a Secret of v1, and the watch services "),
    (recording(A), None, "ends before the list"),
    (recording(A, SYNCED, source="others"), None, "hooks need the watches services"),
])
def test_garbage_is_told_with_its_line_before_anything_runs(daemon, hook, files, text, line, words):
    (files / "r").write_text(text)
    d = daemon(clusters=NOWHERE, hooks={"h": hook}, start=False)
    assert d.to_the_end("--replay", files / "r") == 78
    said = d.wait_problem("cannot start")["err"]
    assert words in said and said.startswith(f"{files}/r:{line}: " if line else f"{files}/r: ")
    assert not hook.runs()


def test_a_recorded_watch_that_is_not_configured_is_an_error_without_hook(daemon, new_hook, files):
    one, two = new_hook(), new_hook()
    more = text_of({"type": "WATCH", "source": "slices"}, {"type": "SYNCED", "source": "slices"},
                   {"type": "WATCH", "source": "pods"}, {"type": "SYNCED", "source": "pods"})
    (files / "r").write_text(recording(A, SYNCED) + more)
    d = daemon(clusters=NOWHERE, watches=TWO, start=False, hooks={
        "one": hook_settings(one), "two": hook_settings(two, sources=["slices"], after=["one"])})
    assert d.to_the_end("--replay", files / "r") == 78
    assert "pods are not in the configuration" in d.wait_problem("cannot start")["err"]
    assert d.to_the_end("--replay", files / "r", "--hook", "one") == 0
    assert one.what() == [("ADDED", "n/a")] and not two.runs()


def test_one_hook_does_not_wait_for_the_others(daemon, new_hook, files):
    """--hook takes away `after`, and the needs of the other hooks."""
    one, two = new_hook(), new_hook()
    (files / "r").write_text(recording(A, SYNCED))
    d = daemon(clusters=NOWHERE, watches=TWO, start=False, hooks={
        "one": hook_settings(one, sources=["slices"]), "two": hook_settings(two, after=["one"])})
    assert d.to_the_end("--replay", files / "r") == 78
    assert "slices" in d.wait_problem("hooks need the watches")["err"]
    assert d.to_the_end("--replay", files / "r", "--hook", "two") == 0
    assert two.what() == [("ADDED", "n/a")] and not one.runs()
    assert d.to_the_end("--replay", files / "r", "--hook", "three") == 78
    assert "there are: one, two" in d.wait_problem("there is no such hook")["err"]


@pytest.mark.parametrize("flags", [
    ["--speed", "fast"], ["--speed", "-1"], ["--speed", ""], ["--speed", "nan"]])
def test_a_speed_is_a_number_or_max(daemon, files, flags):
    (files / "r").write_text(recording(A, SYNCED))
    d = daemon(clusters=NOWHERE, start=False)
    assert d.to_the_end("--replay", files / "r", *flags) == 64


@pytest.mark.parametrize("flags", [
    ["--speed", "1"], ["--hook", "h"], ["--replay", "r", "--once"], ["--replay", "r", "--check"]])
def test_flags_that_do_not_go_together(daemon, flags):
    assert daemon(clusters=NOWHERE, start=False).to_the_end(*flags) == 64


# ---- Time, and the end

def test_with_max_speed_each_change_waits_until_the_one_before_is_handled(daemon, hook, files):
    ports = range(1, 30)
    (files / "r").write_text(recording(A, SYNCED, *(
        (600 * n, "MODIFIED", a_service(n)) for n in ports)))
    hook.exits(0, 1)
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook_settings(hook, **AT_ONCE)})
    assert d.to_the_end("--replay", files / "r", "--speed", "max") == 0
    assert [(run.port, run.attempt) for run in hook.runs()] == [
        (80, 1), (1, 1), (1, 2), *((n, 1) for n in ports[1:])], "the second one failed once"


def test_changes_come_at_the_recorded_times_divided_by_the_speed(daemon, hook, files):
    (files / "r").write_text(recording(A, SYNCED, (2, "MODIFIED", a_service(1)),
                                       (4, "DELETED", a_service(1))))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook_settings(hook, **AT_ONCE)})
    assert d.to_the_end("--replay", files / "r", "--speed", "10") == 0
    # The first line of the log comes before the replay begins: a slow machine only adds to the difference.
    began, played = d.log()[0], d.log(msg="replay: all is played")[0]
    assert seconds(played) - seconds(began) >= 0.39 and played["lines"] == 6


def seconds(entry):
    """When a line was logged, since 1970."""
    return datetime.fromisoformat(entry["time"].replace("Z", "+00:00")).timestamp()


def test_a_hook_that_gives_up_makes_the_exit_code_1(daemon, hook, files):
    hook.exit_with(1)
    (files / "r").write_text(recording(A, SYNCED))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook_settings(
        hook, retry={"initial": "10ms", "max": "20ms", "attempts": 2})})
    assert d.to_the_end("--replay", files / "r") == 1
    assert len(hook.runs()) == 2


def test_a_timeout_ends_a_replay(daemon, hook, files):
    (files / "r").write_text(recording(A, SYNCED, (3600, "DELETED", a_service())))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook})
    assert d.to_the_end("--replay", files / "r", "--timeout", "100ms") == 69
    assert "timeout" in d.log(msg="stopping")[0]["because"]


def test_a_signal_ends_a_replay_with_1(daemon, hook, files):
    (files / "r").write_text(recording(A, SYNCED, (3600, "DELETED", a_service())))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook})
    d.start(wait=False, flags=["--replay", files / "r"])
    hook.wait(1)
    d.signal(signal.SIGINT)
    d.expected_exit = d.wait_exit()
    assert d.expected_exit == 1


def test_dry_run_starts_nothing(daemon, hook, files):
    (files / "r").write_text(recording(A, SYNCED, (0, "DELETED", a_service())))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": hook})
    assert d.to_the_end("--replay", files / "r", "--speed", "max", "--dry-run") == 0
    assert [(line["event"], line["key"]) for line in d.log(msg="would run hook")] \
        == [("ADDED", "n/a"), ("DELETED", "n/a")]
    assert not hook.runs()


# ---- Beside the service

def test_the_state_and_the_socket_of_the_service_are_left_alone(api, daemon, hook, files):
    api.apply(service("n/a"), service("n/b"))
    (files / "r").write_text(recording(A, SYNCED, (0, "DELETED", a_service())))
    d = daemon(api, hooks={"h": hook}).settled(api)
    hook.wait(2)
    d.stop()
    before = {f: (d.state / f).read_bytes() for f in sorted(os.listdir(d.state))}
    assert d.to_the_end("--replay", files / "r", "--speed", "max") == 0
    assert hook.what()[2:] == [("ADDED", "n/a"), ("DELETED", "n/a")]
    assert {f: (d.state / f).read_bytes() for f in sorted(os.listdir(d.state))} == before
    hook.forget()
    d.again(api)
    assert not hook.runs(), "the service goes on as if there had been no replay"
    assert d.ctl_json("get", "services", "n/a")["metadata"]["name"] == "a"
    d.expected_exit = 0


def test_output_files_are_written_and_removed(daemon, files):
    out = files / "out"
    out.mkdir()
    (files / "r").write_text(recording(A, (0, "ADDED", service("n/b")), SYNCED,
                                       (0, "DELETED", a_service())))
    d = daemon(clusters=NOWHERE, start=False, hooks={"h": {
        "sources": ["services"], "shell": "echo $INFORMERD_NAME",
        "output": f"{out}/${{name}}.cfg", **NOW}})
    assert d.to_the_end("--replay", files / "r", "--speed", "max") == 0
    assert {f.name: f.read_text() for f in out.iterdir()} == {"b.cfg": "b\n"}


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_an_ordinary_user_can_play(daemon):
    """From a folder that others may read, as the build folder may be closed to them."""
    d = daemon(clusters=NOWHERE, start=False,
               hooks={"h": {"sources": ["services"], "shell": "echo user=$(id -u)"}})
    d.settings["user"] = "informerd-is-not-here"
    d.write_config()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        shutil.copy(INFORMERD, folder)
        (folder / "c.conf").write_text(d.config.read_text())
        (folder / "r").write_text(recording(A, SYNCED))
        done = subprocess.run(
            [folder / INFORMERD.name, "-c", folder / "c.conf", "--replay", folder / "r"],
            text=True, cwd="/", capture_output=True, timeout=PATIENCE, user=NOBODY, group=NOBODY,
            extra_groups=[], stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and f"user={NOBODY}" in done.stderr, done.stderr
