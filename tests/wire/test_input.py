# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 38, 40: the changes that count, and the input of a run: changed, old_object,
fields."""
import json
import time

import pytest
from fakeapi import STALL, Gate, ev, service, simple
from harness import MODES, NOW, check_config, hook_settings
from hooks import port_of

PORT = {"spec.ports[0].name", "spec.ports[0].port", "spec.ports[0].targetPort"}


# ---- 38, 40: changes_in

@pytest.mark.parametrize("mode", MODES)
def test_s38_changes_of_other_paths_start_no_run(api, hook, handled, mode):
    d = handled(service("n/a"), mode=mode, changes_in=["spec"], **NOW)
    for number in range(10):
        obj = service("n/a", labels={"v": str(number)})
        obj["status"] = {"loadBalancer": {"ingress": [{"ip": f"10.0.0.{number}"}]}}
        obj["metadata"]["managedFields"][0]["manager"] = f"m{number}"
        api.apply(obj)
    d.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(service("n/a", ports=[81]))
    assert hook.wait(2)[1].told == [("MODIFIED", "n/a")]


ODD = [{}, {"a": None}, {"a": "text"}, {"a": 7}, {"a": {}}, {"a": []}, {"a": {"b": 1}},
       {"a": ["x", "y"]}, {"a": [{"c": 1}]}, {"a": [{"b": None}]}, {"a": True}, {"a": [[]]}]


def test_s40_a_path_that_leads_nowhere_is_null_and_no_change(api, hook, handled):
    def odd(spec):
        return simple("Service", "n/a", spec=spec)
    d = handled(odd(ODD[0]), changes_in=["spec.a[0].b"])
    for spec in ODD[1:]:
        api.apply(odd(spec))
    d.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(odd({"a": [{"b": 5}]}))
    hook.wait(2)
    d.caught_up(api)
    api.apply(odd({"a": "text"}))
    hook.wait(3)
    d.caught_up(api)
    assert [kind for kind, _key in hook.what()] == ["ADDED", "MODIFIED", "MODIFIED"]


@pytest.mark.parametrize("path", ["spec.[", "spec..a", "spec.ports[", "spec.ports[x]", "a['b"])
def test_s40_text_that_is_not_a_path_is_refused_with_its_line(api, daemon, hook, path):
    d = daemon(api, hooks={"h": hook_settings(hook, changes_in=["spec", path])}, start=False)
    lines = d.config.read_text().splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "changes_in" in line)
    done = check_config(d.config)
    assert done.returncode == 78
    assert any(line.startswith(f"{d.config}:{number}: ") and "changes_in" in line
               for line in (done.stdout + done.stderr).splitlines()), done


# ---- changed

def test_changed_names_the_paths_that_differ_from_the_handled_state(api, hook, handled):
    notes = {"example.com/x": "1", "plain": "1"}
    d = handled(service("n/a", annotations=notes))
    assert hook.runs()[0].event["changed"] == []
    api.apply(service("n/a", ports=[81], annotations=notes))
    assert set(hook.wait(2)[1].event["changed"]) == PORT
    d.caught_up(api)
    api.apply(service("n/a", ports=[81], annotations={**notes, "example.com/x": "2"}))
    assert hook.wait(3)[2].event["changed"] == ["metadata.annotations['example.com/x']"]
    d.caught_up(api)
    api.apply(service("n/a", ports=[81, 82], annotations={"example.com/x": "2"}))
    changed = hook.wait(4)[3].event["changed"]
    assert "metadata.annotations.plain" in changed, "what is gone has changed too"
    assert any(path.startswith("spec.ports") for path in changed) and len(changed) <= 5
    d.caught_up(api)
    api.delete("services", "n/a")
    assert hook.wait(5)[4].event["changed"] == []


@pytest.mark.parametrize("mode", MODES)
def test_changed_unites_the_changes_of_failed_runs(api, hook, handled, mode):
    d = handled(service("n/a", labels={"v": "1"}), mode=mode, **NOW)
    hook.block()
    hook.exits(1)
    api.apply(service("n/a", labels={"v": "2"}))
    assert hook.wait(2)[1].events[0]["changed"] == ["metadata.labels.v"]
    api.apply(service("n/a", ports=[81], labels={"v": "1"}))
    d.seen(api)
    hook.release()
    assert set(hook.wait(3)[2].events[0]["changed"]) == PORT | {"metadata.labels.v"}
    d.caught_up(api)
    api.apply(service("n/a", ports=[81], labels={"v": "3"}))
    assert hook.wait(4)[3].events[0]["changed"] == ["metadata.labels.v"], "success ends it"


def test_many_changed_paths_are_shortened_to_a_hundred(api, hook, handled):
    handled(service("n/a", annotations={f"k{i}": "1" for i in range(300)}))
    api.apply(service("n/a", ports=[81], annotations={f"k{i}": "2" for i in range(300)}))
    changed = hook.wait(2)[1].event["changed"]
    assert 1 <= len(changed) <= 100 and len(set(changed)) == len(changed)
    for path in ["metadata.annotations.k17", *PORT]:
        assert any(path.startswith(known) for known in changed), (path, changed)


# ---- old_object

@pytest.mark.parametrize("mode", ["object", "batch"])
def test_old_object_is_the_handled_state(api, hook, handled, mode):
    d = handled(service("n/a", ports=[80]), mode=mode, include_old=True, **NOW)
    assert hook.runs()[0].events[0]["old_object"] is None
    hook.exits(1)
    hook.block()
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    api.apply(service("n/a", ports=[82]))
    d.seen(api)
    hook.release()
    d.caught_up(api)
    assert [(port_of(e), port_of({"object": e["old_object"]})) for run in hook.runs()[1:]
            for e in run.events] == [(81, 80), (82, 80)]
    api.delete("services", "n/a")
    gone = hook.wait(4)[3].events[0]
    assert gone["type"] == "DELETED" and gone["old_object"] is None, "`object` has the last state"
    assert port_of(gone) == 82
    d.caught_up(api)
    api.apply(service("n/a", ports=[83]))
    assert hook.wait(5)[4].events[0]["old_object"] is None, "a new uid has no old state"


def test_the_old_object_is_the_servers_bytes(api, hook, handled):
    handled(service("n/a"), include_old=True)
    before = hook.runs()[0].event["object"]
    api.apply(service("n/a", ports=[81]))
    assert hook.wait(2)[1].event["old_object"] == before


@pytest.mark.parametrize("mode", MODES)
def test_without_include_old_there_is_no_old_object(api, hook, handled, mode):
    handled(service("n/a"), mode=mode, **NOW)
    api.apply(service("n/a", ports=[81]))
    assert "old_object" not in hook.wait(2)[1].events[0]


# ---- fields

RAW = ('{"type":"ADDED","object":{"kind":"Service","apiVersion":"v1","metadata":{"name":"raw",'
       '"namespace":"n","uid":"u","resourceVersion":"7"},"spec":{"f":1.0E+2,"z":-0.0,'
       '"big":12345678901234567890,"o":{"b": 1,  "a":[1, 2]},"l":["x",{"y":null},2]}}}\n')


def fields_of(run):
    return {name.removeprefix("INFORMERD_FIELD_"): value for name, value in run.env.items()
            if name.startswith("INFORMERD_FIELD_")}


def test_fields_put_values_into_the_environment(api, hook, handled):
    notes = {"example.com/x": "tab\there \"q\" ü \\ /"}
    handled(service("n/a", ports=[80, 443], labels={"app": "w"}, annotations=notes, flag=False,
                    nulled=None),
            fields={"PORT": "spec.ports[0].port", "PORTS": "spec.ports[*].port",
                    "NAMES": "spec.ports[*].name", "NOTE": "metadata.annotations['example.com/x']",
                    "FLAG": "spec.flag", "NULLED": "spec.nulled", "NONE": "spec.no.such",
                    "LABELS": "metadata.labels", "FAMILIES": "spec.ipFamilies"})
    assert fields_of(hook.runs()[0]) == {
        "PORT": "80", "PORTS": "80 443", "NAMES": "p80 p443", "NOTE": notes["example.com/x"],
        "FLAG": "false", "NULLED": "", "NONE": "", "LABELS": '{"app":"w"}',
        "FAMILIES": '["IPv4"]'}


def test_numbers_and_objects_in_fields_are_the_servers_bytes(api, daemon, hook):
    api.on_watch("services").stream(RAW.encode(), STALL)
    daemon(api, hooks={"h": hook_settings(hook, fields={
        "F": "spec.f", "Z": "spec.z", "BIG": "spec.big", "O": "spec.o", "L": "spec.l"})})
    assert fields_of(hook.wait(1)[0]) == {
        "F": "1.0E+2", "Z": "-0.0", "BIG": "12345678901234567890", "O": '{"b": 1,  "a":[1, 2]}',
        "L": '["x",{"y":null},2]'}


def test_fields_follow_the_state_and_a_delete_has_the_last_one(api, hook, handled):
    d = handled(service("n/a", ports=[80]), fields={"PORT": "spec.ports[0].port"})
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    d.caught_up(api)
    api.delete("services", "n/a")
    assert [fields_of(run) for run in hook.wait(3)] == [{"PORT": p} for p in ("80", "81", "81")]


def test_events_of_a_source_have_empty_fields(api, factory, hook):
    cluster = {**factory.cluster(api), "stale_after": "200ms"}
    factory.daemon(clusters={"prod": cluster}, hooks={"h": hook_settings(
        hook, events=["stale"], fields={"PORT": "spec.ports[0].port"})})
    api.wait_watching("services")
    api.stop_listening()
    api.drop("rst")
    run = hook.wait(1)[0]
    assert run.event["type"] == "STALE" and fields_of(run).get("PORT", "") == ""


# ---- All modes

@pytest.mark.parametrize("mode", MODES)
def test_the_input_names_its_version_and_the_state_of_its_sources(api, hook, handled, mode):
    began = time.monotonic()
    handled(service("n/a"), mode=mode, input_version=1, **NOW)
    run = hook.runs()[0]
    assert list(run.input)[:5] == ["version", "hook", "run", "attempt", "reason"]
    assert run.input["version"] == 1 and run.input["hook"] == "h"
    source = run.input["sources"]["services"]
    assert source == {"cluster": "prod", "synced": True, "stale": False, "held": False,
                      "age_s": source["age_s"]}
    assert 0 <= source["age_s"] < time.monotonic() - began + 1
    json.loads(run.raw)


@pytest.mark.parametrize("mode", MODES)
def test_causes_and_kinds_are_always_there(api, hook, handled, mode):
    d = handled(service("n/a"), mode=mode, **NOW)
    api.apply(service("n/a", ports=[81]))
    hook.wait(2)
    d.caught_up(api)
    api.apply(service("n/a", ports=[82]), silent=True)
    api.compact()
    api.end_watches(how="rst")
    hook.wait(3)
    assert [run.events[0]["cause"] for run in hook.runs()[1:]] == ["watch", "relist"]
    for run in hook.runs():
        assert (run.events[0]["api_version"], run.events[0]["kind"]) == ("v1", "Service")
        assert set(run.events[0]) >= {"type", "cause", "cluster", "source", "namespace", "name",
                                      "uid", "resource_version", "final_state_unknown",
                                      "received", "changed"}
    if mode == "snapshot":
        assert hook.runs()[0].snapshot["services"][0]["kind"] == "Service"


def test_frames_of_one_object_before_the_first_run_are_one_added(api, daemon, hook):
    obj, gate = service("n/a", uid="11111111-1111-1111-1111-111111111111"), Gate()
    api.on_watch("services").stream(*[ev("MODIFIED", obj, rv=10 + i) for i in range(3)], gate,
                                    STALL)
    d = daemon(api, hooks={"h": hook_settings(hook, mode="batch", **NOW)})
    hook.wait(1)
    d.control.wait_idle()
    assert [e for run in hook.told() for e in run] == [("ADDED", "n/a")]
    gate.open()
