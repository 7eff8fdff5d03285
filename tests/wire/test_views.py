# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "Views": service_endpoints as hooks, readers and the configuration see it."""
import json
import time

import confwriter
import pytest
from control import at_least, wait_until
from fakeapi import Gate, endpointslice, service, simple
from harness import check_config, hook_settings
from test_config import expect_round_trip

WATCHES = {"services": {"resource": "services", "namespaces": ["*"]},
           "slices": {"resource": "endpointslices", "namespaces": ["*"]}}
VIEW = {"type": "service_endpoints", "services": "services", "slices": "slices"}


def slice_of(key, name, addresses, **more):
    made = endpointslice(key, name, addresses, **more)
    made["ports"][0]["name"] = "p80"
    return made


def used(obj):
    """Address, port and state of all endpoints that the object uses."""
    return [f"{use['address']}:{use['port']} {use['state']}"
            for port in obj["ports"] for use in port["use"]]


@pytest.fixture
def viewed(api, daemon):
    """A daemon with the view `backends` and these hooks, whose source is the view unless they have
    other settings."""
    def make(hooks=None, view=None, **more):
        groups = {name: hook_settings(entry, sources=["backends"]) if not isinstance(entry, dict)
                  else entry for name, entry in (hooks or {}).items()}
        return daemon(api, watches=more.pop("watches", WATCHES), hooks=groups,
                      views={"backends": confwriter.merge(VIEW, view or {})}, **more)
    return make


@pytest.fixture
def one(api, viewed, hook):
    """A daemon whose hook was told of Service n/a with one endpoint."""
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    d = viewed({"h": hook})
    hook.wait(1)
    d.caught_up(api)
    return d


def test_a_hook_is_told_the_service_with_its_endpoints(one, hook):
    run = hook.runs()[0]
    assert run.what == ("ADDED", "n/a")
    event = run.event
    assert (event["kind"], event["api_version"]) == ("ServiceEndpoints", "informerd/v1")
    assert (event["cluster"], event["source"]) == ("prod", "backends")
    assert run.env["INFORMERD_SOURCE"] == "backends"
    assert run.env["INFORMERD_CLUSTER"] == "prod"
    assert used(event["object"]) == ["10.0.0.1:8080 ready"]
    assert event["object"]["service"]["spec"]["clusterIP"] == "10.96.0.10"
    source = run.input["sources"]["backends"]
    assert (source["cluster"], source["synced"], source["stale"], source["held"]) == (
        "prod", True, False, False)
    assert source["age_s"] >= 0


def test_one_run_per_real_change_of_the_endpoints(one, api, hook):
    api.apply(slice_of("n/a-2", "a", ["10.0.0.1"]))
    api.apply(slice_of("n/a-2", "a", ["10.0.0.1"], labels={"x": "y"}))
    one.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(slice_of("n/a-2", "a", ["10.0.0.2", "10.0.0.1"]))
    assert used(hook.wait(2)[1].event["object"]) == ["10.0.0.1:8080 ready", "10.0.0.2:8080 ready"]
    api.delete("endpointslices", "n/a-1")
    one.caught_up(api)
    assert len(hook.runs()) == 2
    api.delete("endpointslices", "n/a-2")
    last = hook.wait(3)[2]
    assert last.what == ("MODIFIED", "n/a") and used(last.event["object"]) == []
    api.delete("services", "n/a")
    assert hook.wait(4)[3].what == ("DELETED", "n/a")
    one.caught_up(api)
    assert len(hook.runs()) == 4


def test_a_slice_that_is_relabelled_moves(one, api, hook):
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    api.apply(slice_of("n/a-1", "b", ["10.0.0.1"]))
    moved = hook.wait_what("MODIFIED", "n/b")
    left = hook.wait_what("MODIFIED", "n/a")
    assert used(moved.event["object"]) == ["10.0.0.1:8080 ready"]
    assert used(left.event["object"]) == []
    one.caught_up(api)
    assert len(hook.runs()) == 4


def test_a_slice_whose_service_is_unknown_waits_for_it(one, api, hook):
    api.apply(slice_of("n/late-1", "late", ["10.0.0.9"]))
    one.caught_up(api)
    assert len(hook.runs()) == 1
    api.apply(service("n/late"))
    assert used(hook.wait_what("ADDED", "n/late").event["object"]) == ["10.0.0.9:8080 ready"]


def test_a_relist_without_differences_starts_no_run(one, api, hook):
    assert one.ctl("relist", "slices").returncode == 0
    one.control.wait_watch("slices", relists=1, state="watching")
    assert one.ctl("relist", "services").returncode == 0
    one.control.wait_watch("services", relists=1, state="watching")
    one.caught_up(api)
    assert len(hook.runs()) == 1


def test_hold_empty_keeps_the_last_endpoints_for_so_long(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    d = viewed({"h": hook}, {"hold_empty": "300ms"})
    assert not hook.wait(1)[0].event["object"]["held"]
    api.wait_watching("endpointslices")
    d.caught_up(api)
    before = time.time()
    api.apply(slice_of("n/a-1", "a", []))
    empty = hook.wait_for(lambda run: used(run.event["object"]) == [])
    assert not empty.event["object"]["held"]
    assert at_least(0.3, d.starts("h")[-1][0] - before)
    d.caught_up(api)
    for run in hook.runs()[1:-1]:   # runs while the endpoints were held, if there were any
        assert run.event["object"]["held"] and used(run.event["object"]) == ["10.0.0.1:8080 ready"]
    assert len(hook.runs()) <= 3 and hook.runs()[-1] is empty


@pytest.fixture
def held(api, viewed, hook):
    """A daemon whose view holds the one endpoint of n/a, which the server has no more. Its hook was
    told twice: of the Service, and that the endpoint is held."""
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    d = viewed({"h": hook}, {"hold_empty": "1h"})
    hook.wait(1)
    api.wait_watching("endpointslices")
    api.apply(slice_of("n/a-1", "a", []))
    assert hook.wait(2)[1].event["object"]["held"]
    return d


def test_hold_empty_ends_when_endpoints_come_back(api, held, hook):
    api.apply(slice_of("n/a-1", "a", ["10.0.0.2"]))
    back = hook.wait(3)[2].event["object"]
    assert not back["held"] and used(back) == ["10.0.0.2:8080 ready"]
    held.caught_up(api)
    assert len(hook.runs()) == 3


def test_local_only_stores_the_endpoints_of_this_node(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"], node="here"),
              slice_of("n/a-2", "a", ["10.0.0.2"], node="there"))
    d = viewed({"h": hook}, {"local_only": True}, node_name="here")
    first = hook.wait(1)[0].event["object"]
    assert used(first) == ["10.0.0.1:8080 ready"]
    assert (first["ready"], first["local_ready"]) == (1, 1)
    api.wait_watching("endpointslices")
    api.apply(slice_of("n/a-2", "a", ["10.0.0.2"], node="here"))
    assert used(hook.wait(2)[1].event["object"]) == ["10.0.0.1:8080 ready", "10.0.0.2:8080 ready"]
    d.caught_up(api)
    assert len(hook.runs()) == 2


def test_a_snapshot_of_a_view_is_all_of_it_sorted(api, viewed, hook):
    api.apply(service("n/b"), service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    d = viewed({"h": hook_settings(hook, sources=["backends"], mode="snapshot")})
    first = hook.wait(1)[0]
    assert [obj["name"] for obj in first.snapshot["backends"]] == ["a", "b"]
    assert used(first.snapshot["backends"][0]) == ["10.0.0.1:8080 ready"]
    api.wait_watching("endpointslices")
    api.apply(slice_of("n/b-1", "b", ["10.0.0.2"]))
    second = hook.wait(2)[1]
    assert second.told == [("MODIFIED", "n/b")]
    assert used(second.snapshot["backends"][1]) == ["10.0.0.2:8080 ready"]
    d.caught_up(api)
    assert len(hook.runs()) == 2


@pytest.mark.parametrize("late", ["services", "endpointslices"])
def test_a_view_is_not_synced_before_both_watches_are(api, viewed, hook, late):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    gate = Gate()
    api.on_list(late).hold(gate)
    d = viewed({"h": hook})
    gate.wait_reached()
    early = "slices" if late == "services" else "services"
    d.synced(early)
    assert d.control.status()["views"]["backends"] == {"objects": 0, "synced": False,
                                                       "stale": False, "incomplete": False}
    assert not hook.runs()
    status, _headers, body = d.control.ask("/readyz")
    assert status == 503 and b"until these sources are synced: backends" in body
    why = d.ctl_json("why", "h")
    assert "backends not synced" in str(why)
    gate.open()
    assert used(hook.wait(1)[0].event["object"]) == ["10.0.0.1:8080 ready"]
    assert d.control.status()["views"]["backends"] == {"objects": 1, "synced": True,
                                                       "stale": False, "incomplete": False}


@pytest.mark.parametrize("code, state", [(403, "forbidden"), (404, "backoff")])
def test_a_view_waits_for_a_watch_that_is_refused_or_missing(api, viewed, new_hook, code, state):
    """The other watches go on meanwhile. The view has all Services as soon as the watch is
    there."""
    api.apply(slice_of("n/a-1", "a", ["10.0.0.1"]))
    rule = api.on_list("endpointslices", times=None).fail(code)
    hook, plain = new_hook(), new_hook()
    d = viewed({"h": hook, "plain": hook_settings(plain, sources=["services"])})
    d.control.wait_watch("slices", state=state, synced=False)
    api.apply(service("n/a"), service("n/b"))
    plain.wait(2)
    d.caught_up(api, "services")
    assert d.control.status()["views"]["backends"] == {"objects": 0, "synced": False,
                                                       "stale": False, "incomplete": False}
    assert not hook.runs() and "backends not synced" in str(d.ctl_json("why", "h"))
    rule.cancel()
    told = {run.key: used(run.event["object"]) for run in hook.wait(2)}
    assert told == {"n/a": ["10.0.0.1:8080 ready"], "n/b": []}
    d.caught_up(api)
    assert len(hook.runs()) == 2


def test_a_watch_that_becomes_forbidden_keeps_the_view(api, factory, viewed, hook):
    """While the watch lists anew, the view waits; it goes on once that watch is stale."""
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    d = viewed({"h": hook}, clusters={"prod": {**factory.cluster(api), "stale_after": "300ms"}})
    hook.wait(1)
    api.wait_watching("endpointslices")
    rule = api.on(resource="endpointslices", times=None).fail(403)
    api.drop("eof")
    d.control.wait_watch("slices", state="forbidden")
    api.apply(service("n/b"))
    assert used(hook.wait_what("ADDED", "n/b").event["object"]) == []
    wait_until(lambda: d.control.status()["views"]["backends"] == {"objects": 2, "synced": True,
                                                                   "stale": True, "incomplete": False})
    assert used(d.ctl_json("get", "backends", "n/a")) == ["10.0.0.1:8080 ready"]
    api.apply(slice_of("n/b-1", "b", ["10.0.0.2"]))
    rule.cancel()
    assert used(hook.wait_what("MODIFIED", "n/b").event["object"]) == ["10.0.0.2:8080 ready"]
    d.caught_up(api)
    assert len(hook.runs()) == 3


def test_endpoints_where_there_are_no_slices(api, viewed, hook):
    def endpoints(key, *ips):
        subsets = [{"addresses": [{"ip": ip, "nodeName": "here"} for ip in ips],
                    "notReadyAddresses": [{"ip": "10.0.0.99"}],
                    "ports": [{"name": "p80", "port": 8080, "protocol": "TCP"}]}]
        return simple("Endpoints", key, subsets=subsets)
    api.apply(service("n/a"), endpoints("n/a", "10.0.0.2", "10.0.0.1"))
    watches = {**WATCHES, "slices": {"resource": "endpoints", "namespaces": ["*"]}}
    d = viewed({"h": hook}, watches=watches, node_name="here")
    first = hook.wait(1)[0].event["object"]
    assert used(first) == ["10.0.0.1:8080 ready", "10.0.0.2:8080 ready"]
    assert (first["ready"], first["local_ready"]) == (2, 2)
    api.wait_watching("endpoints")
    api.apply(endpoints("n/a", "10.0.0.1", "10.0.0.2"))
    d.caught_up(api)
    assert len(hook.runs()) == 1
    api.delete("endpoints", "n/a")
    assert used(hook.wait(2)[1].event["object"]) == []


def test_held_endpoints_are_forgotten_at_a_restart(held, hook):
    held.stop()
    held.start()
    after = hook.wait(3)[2].event["object"]
    assert not after["held"] and used(after) == []


def test_a_view_is_stale_when_a_watch_is_and_hooks_hear_of_it(api, factory, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    cluster = {**factory.cluster(api), "stale_after": "300ms"}
    settings = hook_settings(hook, sources=["backends"], events=["stale", "fresh"])
    d = viewed({"h": settings}, clusters={"prod": cluster})
    for plural in ("services", "endpointslices"):
        api.wait_watching(plural)
    d.caught_up(api)
    wait_until(lambda: not d.control.status()["views"]["backends"]["stale"]
               and len(d.log(msg="view is stale")) == len(d.log(msg="view is fresh again")))
    d.control.wait_idle()
    hook.forget()   # a slow start counts as stale as well
    api.stop_listening()
    api.drop("rst")
    assert hook.wait(1)[0].what == ("STALE", "backends")
    assert d.control.status()["views"]["backends"] == {"objects": 1, "synced": True, "stale": True, "incomplete": False}
    api.listen()
    assert hook.wait(2)[1].what == ("FRESH", "backends")
    wait_until(lambda: not d.control.status()["views"]["backends"]["stale"])
    assert [line["msg"] for line in d.log(view="backends")][:3] == [
        "view synced", "view is stale", "view is fresh again"]


def test_both_sources_and_a_view_in_one_hook(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    sources = ["services", "backends", "slices"]
    d = viewed({"h": hook_settings(hook, sources=sources, mode="batch", settle=["0s", "0s"])})
    first = hook.wait(1)[0]
    assert sorted((e["source"], e["name"]) for e in first.events) == [
        ("backends", "a"), ("services", "a"), ("slices", "a-1")]
    assert set(first.input["sources"]) == set(sources)
    d.caught_up(api)
    api.apply(slice_of("n/a-1", "a", ["10.0.0.2"]))
    d.caught_up(api)
    told = [(e["source"], e["type"]) for run in hook.runs()[1:] for e in run.events]
    assert sorted(told) == [("backends", "MODIFIED"), ("slices", "MODIFIED")]


def test_the_watch_of_a_view_serves_hooks_and_other_views_too(api, daemon, new_hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"], node="there"))
    hooks = {name: new_hook() for name in ("backends", "mine", "services", "slices", "twin")}
    daemon(api, watches={**WATCHES, "twin": WATCHES["slices"]}, node_name="here",
           views={"backends": VIEW, "mine": {**VIEW, "slices": "twin", "local_only": True}},
           hooks={name: hook_settings(entry, sources=[name]) for name, entry in hooks.items()})
    for entry in hooks.values():
        entry.wait(1)
    assert used(hooks["backends"].runs()[0].event["object"]) == ["10.0.0.1:8080 ready"]
    assert used(hooks["mine"].runs()[0].event["object"]) == []
    api.wait_watching("endpointslices")
    assert len(api.of("endpointslices", "W")) == 1, "equal watches are one"
    api.apply(slice_of("n/a-1", "a", ["10.0.0.1"], node="here"))
    assert used(hooks["mine"].wait(2)[1].event["object"]) == ["10.0.0.1:8080 ready"]
    for name in ("backends", "slices", "twin"):
        hooks[name].wait(2)
    assert len(hooks["services"].runs()) == 1


def test_once_waits_for_views(api, viewed, hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]), service("n/b"))
    d = viewed({"h": hook}, start=False)
    assert d.to_the_end("--once") == 0
    assert sorted(run.key for run in hook.runs()) == ["n/a", "n/b"]


def test_once_waits_for_the_watch_that_is_late(api, viewed, hook):
    """The hook is told of each Service once, and never without its endpoints."""
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]), service("n/b"))
    api.on_list("endpointslices", times=3).fail(404)
    d = viewed({"h": hook}, start=False)
    assert d.to_the_end("--once") == 0
    assert sorted((run.key, used(run.event["object"])) for run in hook.runs()) == [
        ("n/a", ["10.0.0.1:8080 ready"]), ("n/b", [])]


def test_once_is_1_when_a_hook_of_a_view_fails(api, viewed, new_hook):
    api.apply(service("n/a"), slice_of("n/a-1", "a", ["10.0.0.1"]))
    hook = new_hook()
    hook.exits(3)
    d = viewed({"h": hook_settings(hook, sources=["backends"],
                                     retry={"attempts": 1})}, start=False)
    assert d.to_the_end("--once") == 1
    assert [run.what for run in hook.runs()] == [("ADDED", "n/a")]


@pytest.mark.parametrize("code", [403, 404])
def test_once_is_69_when_a_view_cannot_sync(api, viewed, hook, code):
    api.apply(service("n/a"))
    api.on_list("endpointslices", times=None).fail(code)
    d = viewed({"h": hook}, start=False)
    assert d.to_the_end("--once", "--timeout", "500ms") == 69
    assert not hook.runs()


# ---- Views in informerctl

def test_get_shows_the_objects_of_a_view(one):
    shown = one.ctl_json("get", "backends")
    assert [obj["name"] for obj in shown] == ["a"]
    assert one.ctl_json("get", "backends", "n/a") == shown[0]
    assert one.ctl("get", "backends", "-o", "name").stdout == "n/a\n"
    assert "n/none" not in one.ctl("get", "backends").stdout
    missing = one.ctl("get", "backends", "n/none")
    assert missing.returncode == 1 and "no object" in missing.stderr
    unknown = one.ctl("get", "nothing")
    assert unknown.returncode == 1 and "no watch or view" in unknown.stderr


def test_a_view_stands_in_status_and_watches(one):
    assert one.ctl_json("status")["views"] == {
        "backends": {"objects": 1, "synced": True, "stale": False, "incomplete": False}}
    assert one.ctl_json("watches")["views"].keys() == {"backends"}
    for command in ("status", "watches"):
        lines = [line.split() for line in one.ctl(command).stdout.splitlines()]
        assert ["VIEW", "SYNCED", "STALE", "OBJECTS"] in lines
        assert ["backends", "yes", "no", "1"] in lines
    assert one.ctl("watches", "-o", "name").stdout == "services\nslices\nbackends\n"


def test_a_view_is_no_watch_to_act_on(one):
    for command in (("relist", "backends"), ("verify", "backends"),
                    ("guard", "accept", "backends")):
        done = one.ctl(*command)
        assert done.returncode == 1 and "no watch of this name" in done.stderr


def test_a_stream_of_a_view_is_its_objects_and_then_its_changes(one, api):
    with one.follow("stream", "backends") as f:
        first, sync = f.wait(2)[:2]
        assert (first["type"], first["name"], first["source"]) == ("ADDED", "a", "backends")
        assert used(first["object"]) == ["10.0.0.1:8080 ready"]
        assert sync == {"type": "SYNCED", "cluster": "prod", "source": "backends", "objects": 1,
                        "stale": False}
        api.apply(slice_of("n/a-2", "a", ["10.0.0.1"]))
        api.apply(slice_of("n/a-1", "a", ["10.0.0.2"]))
        change = f.wait(3)[2]
    assert (change["type"], change["kind"]) == ("MODIFIED", "ServiceEndpoints")
    assert used(change["object"]) == ["10.0.0.1:8080 ready", "10.0.0.2:8080 ready"]


def test_a_stream_of_a_view_begins_once_it_is_synced(api, viewed):
    api.apply(service("n/a"))
    gate = Gate()
    api.on_list("endpointslices").hold(gate)
    d = viewed()
    gate.wait_reached()
    d.synced("services")
    with d.follow("stream", "backends") as f:
        gate.open()
        assert [line["type"] for line in f.wait(2)] == ["ADDED", "SYNCED"]


def test_events_show_what_a_view_makes_of_changes(one, api, hook):
    api.apply(slice_of("n/a-1", "a", ["10.0.0.2"]))
    hook.wait(2)

    def lines():
        printed = one.ctl("events", "-o", "json").stdout.splitlines()
        return [line for line in map(json.loads, printed) if line.get("view") == "backends"]
    told = wait_until(lambda: [e for e in lines() if e["what"] == "view"] and lines())
    assert [(e["what"], e.get("type", e.get("state")), e.get("key")) for e in told
            if e["what"] == "change"] == [("change", "ADDED", "n/a"), ("change", "MODIFIED", "n/a")]
    assert [e["state"] for e in told if e["what"] == "view"] == ["synced"]


def test_input_is_what_a_run_would_get(one, hook):
    shown = one.ctl_json("input", "h", "n/a")
    assert shown["event"]["object"] == hook.runs()[0].event["object"]


# ---- Wrong configurations

PROBLEMS = {
    "type is required": ({"type": None}, "type is required"),
    "unknown type": ({"type": "pods"}, "views.backends.type"),
    "services is required": ({"services": None}, "services is required"),
    "no such watch": ({"slices": "nowhere"}, 'views.backends.slices: there is no watch "nowhere"'),
    "a view of a view": ({"services": "backends"}, "a view is made of watches"),
    "of another resource": ({"slices": "services"}, "views.backends.slices: watch services is of"),
    "the wrong way round": ({"services": "slices", "slices": "services"},
                            "views.backends.services: watch slices is of"),
    "unknown setting": ({"hold": "1s"}, "views.backends.hold"),
    "bad unit": ({"hold_empty": "1"}, "views.backends.hold_empty"),
    "off": ({"hold_empty": "off"}, "views.backends.hold_empty"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_problem_of_a_view_is_told_with_file_and_line(viewed, hook, name):
    view, text = PROBLEMS[name]
    d = viewed({"h": hook}, view, start=False)
    expect_problem(d, text)


def expect_problem(d, text):
    done = check_config(d.config)
    told = done.stdout + done.stderr
    lines = [line for line in told.splitlines() if text in line]
    assert done.returncode == 78 and len(lines) == 1, told
    file, number, _rest = lines[0].split(":", 2)
    assert file == str(d.config), told
    assert 1 <= int(number) <= len(d.config.read_text().splitlines())


def test_a_view_needs_what_its_watches_do_not_drop(viewed, hook):
    watches = {**WATCHES, "slices": {**WATCHES["slices"], "drop": ["endpoints[*].conditions"]}}
    d = viewed({"h": hook}, watches=watches, start=False)
    expect_problem(d, "views.backends.slices: keep and drop of watch slices leave out")


def test_a_view_and_a_watch_cannot_have_one_name(viewed, hook):
    d = viewed({"h": hook}, watches={**WATCHES, "backends": WATCHES["services"]}, start=False)
    expect_problem(d, "views.backends: a watch has this name already")


def test_a_hook_of_an_unknown_view_is_refused(viewed, hook):
    d = viewed({"h": hook_settings(hook, sources=["backend"])}, start=False)
    expect_problem(d, 'there is no watch or view "backend"')


def test_a_printed_view_is_the_view(viewed, hook, tmp_path):
    d = viewed({"h": hook}, {"hold_empty": "90s", "local_only": True}, start=False)
    text = expect_round_trip(d.config, tmp_path)
    for part in ('type = "service_endpoints";', 'slices = "slices";', "local_only = true;",
                 'hold_empty = "90s";'):
        assert part in text
