# SPDX-License-Identifier: Apache-2.0
"""/version, /api, /apis and their resource lists, plain and in the aggregated form."""
import re

from .queries import choose

VERSION = {"major": "1", "minor": "33", "gitVersion": "v1.33.1", "gitCommit": "fake",
           "gitTreeState": "clean", "buildDate": "2026-01-02T03:04:05Z", "goVersion": "go1.24",
           "compiler": "gc", "platform": "linux/amd64"}
AGGREGATED = [("APIGroupDiscoveryList", "apidiscovery.k8s.io", version)
              for version in ("v2", "v2beta1")]


class Broken:
    """A group whose own server does not answer; keep: discovery still lists its last known
    resources."""

    def __init__(self, versions, keep):
        self.versions, self.keep = list(versions), keep


def groups_of(api):
    """{group: {version: [Resource]}} in the order of their definition, broken ones included."""
    out = {}
    with api.store.lock:
        for table in api.store.tables.values():
            res = table.resource
            out.setdefault(res.group, {}).setdefault(res.version, []).append(res)
        for group, broken in api.broken_groups.items():
            for version in broken.versions:
                out.setdefault(group, {}).setdefault(version, [])
    return out


def _group_list(groups):
    out = []
    for group, versions in groups.items():
        if group:
            rows = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
            out.append({"name": group, "versions": rows, "preferredVersion": rows[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": out}


def _resource_list(group_version, resources):
    rows = []
    for res in resources:
        row = {"name": res.plural, "singularName": res.singular, "namespaced": res.namespaced,
               "kind": res.kind, "verbs": res.verbs}
        rows.append({**row, "shortNames": res.short} if res.short else row)
        if "list" in res.verbs:
            rows.append({"name": f"{res.plural}/status", "singularName": "", "kind": res.kind,
                         "namespaced": res.namespaced, "verbs": ["get", "patch", "update"]})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version,
            "resources": rows}


def _discovered(res):
    kind = {"group": res.group, "version": res.version, "kind": res.kind}
    if not res.custom:
        kind.update(group="", version="")
    row = {"resource": res.plural, "responseKind": kind,
           "scope": "Namespaced" if res.namespaced else "Cluster",
           "singularResource": res.singular, "verbs": res.verbs}
    if res.short:
        row["shortNames"] = res.short
    if "list" in res.verbs:
        row["subresources"] = [{"subresource": "status", "responseKind": kind,
                                "verbs": ["get", "patch", "update"]}]
    return row


def _aggregated(api, groups, version):
    items = []
    for group, versions in groups.items():
        broken = api.broken_groups.get(group)
        rows = []
        for number, resources in versions.items():
            stale = broken is not None and number in broken.versions
            row = {"version": number}
            if resources and not (stale and not broken.keep):
                row["resources"] = [_discovered(res) for res in resources]
            rows.append({**row, "freshness": "Stale" if stale else "Current"})
        meta = {"name": group} if group else {}
        items.append({"metadata": {**meta, "creationTimestamp": None}, "versions": rows})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {}, "items": items}


def document(api, request):
    """(document, content type) for a discovery path; (None, "") for any other path."""
    path, plain = request.path.rstrip("/"), "application/json"
    if path == "/version":
        return api.version, plain
    groups = groups_of(api)
    if path in ("/api", "/apis"):
        offers = AGGREGATED if api.aggregated_discovery else []
        chosen = choose(request.accept, offers)
        if chosen:
            core = path == "/api"
            asked = {name: rows for name, rows in groups.items() if (name == "") == core}
            return (_aggregated(api, asked, chosen[2]),
                    f"{plain};g={chosen[1]};v={chosen[2]};as={chosen[0]}")
        if path == "/apis":
            return _group_list(groups), plain
        return {"kind": "APIVersions", "versions": ["v1"]}, plain
    match = re.fullmatch(r"/api/([^/]+)|/apis/([^/]+)/([^/]+)", path)
    if not match:
        return None, ""
    group, version = match[2] or "", match[3] or match[1]
    resources = groups.get(group, {}).get(version)
    if resources is None:
        return None, ""
    return _resource_list(path.split("/", 2)[2], resources), plain


def broken(api, path):
    """Whether the path belongs to a group that was made broken."""
    match = re.match(r"/apis/([^/]+)/([^/]+)", path)
    group = api.broken_groups.get(match[1]) if match else None
    return group is not None and match[2] in group.versions
