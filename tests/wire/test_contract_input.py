# SPDX-License-Identifier: Apache-2.0
"""The document on standard input has exactly the members of docs/hooks.md, in each mode, and so have the
objects of a view; settings that the other tests show only by their errors."""
import grp
import os
import pwd

import pytest
from confwriter import merge
from control import wait_until
from fakeapi import endpointslice, service, simple
from harness import NOBODY, TWO, hook_settings

EVENT = {"type", "cause", "cluster", "source", "api_version", "kind", "namespace", "name", "uid",
         "resource_version", "final_state_unknown", "received", "changed", "object"}
ALL = {"version", "hook", "run", "attempt", "reason", "sources"}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="starts programs as another user")


@pytest.mark.parametrize("mode, more", [("object", {"event"}), ("batch", {"events"}),
                                        ("snapshot", {"changes", "snapshot"})])
def test_the_members_of_the_document(handled, hook, mode, more):
    handled(mode=mode)
    run = hook.runs()[0]
    assert set(run.input) == ALL | more
    assert set(run.input["sources"]["services"]) == {"cluster", "synced", "stale", "age_s", "held"}
    for event in run.events:
        assert set(event) == (EVENT - {"object"} if mode == "snapshot" else EVENT)
        assert (event["changed"], event["type"], event["cause"]) == ([], "ADDED", "relist")


@pytest.mark.parametrize("mode", ["object", "batch"])
def test_with_include_old_an_event_has_one_member_more(handled, hook, mode):
    handled(mode=mode, include_old=True)
    [event] = hook.runs()[0].events
    assert set(event) == EVENT | {"old_object"} and event["old_object"] is None


def test_the_members_of_the_object_of_a_view(api, daemon, hook):
    made = endpointslice("n/a-1", "a", ["10.0.0.1"], port=8080)
    made["ports"][0]["name"] = "p80"    # as that of the Service
    api.apply(service("n/a", ports=[80]), made)
    views = {"backends": {"type": "service_endpoints", "services": "services", "slices": "slices"}}
    daemon(api, watches=TWO, views=views, hooks={"h": hook_settings(hook, sources=["backends"])})
    shown = hook.wait(1)[0].event["object"]
    assert {name: shown[name] for name in ("cluster", "namespace", "name", "ready", "local_ready", "held")} == {
        "cluster": "prod", "namespace": "n", "name": "a", "ready": 1, "local_ready": 0, "held": False}
    assert shown["uid"] == shown["service"]["metadata"]["uid"] == api.get("services", "n/a")["metadata"]["uid"]
    [port] = shown["ports"]
    assert set(port) == {"name", "protocol", "port", "node_port", "app_protocol", "use"}
    assert (port["protocol"], port["port"], port["node_port"], port["app_protocol"]) == ("TCP", 80, None, None)
    assert port["use"] == [{"address": "10.0.0.1", "family": "IPv4", "port": 8080, "node": "node-1",
                            "zone": "zone-a", "pod": "a-10-0-0-1", "hints": [], "state": "ready"}]


def test_an_audit_tells_what_the_watch_missed_with_its_cause(api, daemon, hook):
    watch = {"resource": "services", "namespaces": ["*"], "audit": "1s"}
    d = daemon(api, watches={"services": watch}, hooks={"h": hook}).synced()
    api.wait_watching("services")
    api.apply(service("n/missed"), silent=True)
    assert hook.wait_what("ADDED", "n/missed").event["cause"] == "audit"
    assert d.control.watch("services")["relists_by"] == {"audit": 1}


def test_files_from_data_writes_a_file_for_each_member(api, daemon, tmp_path):
    (tmp_path / "out").mkdir()
    api.apply(simple("ConfigMap", "n/a", data={"x.conf": "one\n", "y": "two\n"}))
    daemon(api, watches={"maps": {"resource": "configmaps", "namespaces": ["*"]}}, hooks={
        "h": {"sources": ["maps"], "files_from": "data", "output": tmp_path / "out" / "${name}-${key}"}})
    wait_until(lambda: {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "a-x.conf": "one\n", "a-y": "two\n"})


@needs_root
def test_user_and_group_of_a_hook_are_those_of_its_runs(api, daemon):
    name = pwd.getpwuid(NOBODY).pw_name
    other = next(entry for entry in grp.getgrall() if entry.gr_gid not in (0, NOBODY))
    common = {"sources": ["services"], "shell": "id -u; id -g", "user": name}
    api.apply(service("n/a"))
    d = daemon(api, hooks={"u": common, "g": merge(common, {"group": other.gr_name})})
    wait_until(lambda: len(d.ctl_json("runs")) == 2)
    stdout = {run["hook"]: run["stdout"] for run in d.ctl_json("runs")}
    assert stdout == {"u": f"{NOBODY}\n{NOBODY}\n", "g": f"{NOBODY}\n{other.gr_gid}\n"}


def test_a_server_gets_the_certificate_of_its_own_group(new_api, authority, daemon, factory):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns = {"system:node:node-1"}
    leaf = authority.client()
    cluster = factory.cluster_of([api], own=[{"client_cert_file": leaf.cert_file,
                                              "client_key_file": leaf.key_file}])
    d = daemon(clusters={"prod": cluster}).synced()
    [server] = cluster["server"].values()
    assert set(server) >= {"url", "client_cert_file", "client_key_file"}
    assert d.control.status()["clusters"]["prod"]["server"] == server["url"] == api.url


@needs_root
def test_a_credential_of_its_owner_is_read_and_of_others_is_not(api, daemon, factory, tmp_path):
    tmp_path.chmod(0o755)
    token = tmp_path / "token"
    token.write_text("tok-1\n")
    token.chmod(0o600)
    os.chown(token, NOBODY, NOBODY)
    api.tokens = {"tok-1"}
    name = pwd.getpwuid(NOBODY).pw_name
    cluster = factory.cluster(api, token_file=token)
    d = daemon(clusters={"prod": {**cluster, "credential_owner": name}}).synced()
    d.stop()
    assert daemon(clusters={"prod": cluster}, start=False).to_the_end() == 78
