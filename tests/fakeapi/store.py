# SPDX-License-Identifier: Apache-2.0
"""The content of the fake cluster: objects with one resourceVersion counter, history, selectors."""
import base64
import bisect
import copy
import json
import re
import threading

from .objects import BUILTIN, Resource, compact


def parse_labels(text):
    """A label selector as a predicate over a dict; =, ==, !=, in, notin, exists, !exists."""
    terms = []
    for part in re.findall(r"[^,(]+(?:\([^)]*\))?", text or ""):
        part = part.strip()
        group = re.fullmatch(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)", part)
        if group:
            values = {v.strip() for v in group[3].split(",")}
            terms.append((group[1], group[2], values))
        elif "!=" in part:
            key, value = part.split("!=", 1)
            terms.append((key.strip(), "notin", {value.strip()}))
        elif "=" in part:
            key, value = re.split(r"==?", part, maxsplit=1)
            terms.append((key.strip(), "in", {value.strip()}))
        elif part.startswith("!"):
            terms.append((part[1:].strip(), "absent", None))
        elif part:
            terms.append((part, "exists", None))

    def match(labels):
        for key, operator, values in terms:
            have = labels.get(key)
            good = {"in": have is not None and values is not None and have in values,
                    "notin": values is not None and (have is None or have not in values),
                    "exists": have is not None, "absent": have is None}[operator]
            if not good:
                return False
        return True
    return match


def parse_fields(text):
    """A field selector over the JSON itself: metadata.name=a,spec.type!=ClusterIP."""
    terms = []
    for part in filter(None, (text or "").split(",")):
        negative = "!=" in part
        path, value = re.split(r"!=|==?", part, maxsplit=1)
        terms.append((path.strip().split("."), value.strip(), negative))

    def match(obj):
        for path, value, negative in terms:
            have = obj
            for step in path:
                have = have.get(step, "") if isinstance(have, dict) else ""
            if (str(have) == value) == negative:
                return False
        return True
    return match


class Selection:
    """The objects that a request selects: namespace, label selector, field selector."""

    def __init__(self, namespace="", labels="", fields=""):
        self.namespace = namespace
        self._labels, self._fields = parse_labels(labels), parse_fields(fields)

    def __call__(self, obj):
        if obj is None:
            return False
        meta = obj["metadata"]
        if self.namespace and meta.get("namespace", "") != self.namespace:
            return False
        return self._labels(meta.get("labels") or {}) and self._fields(obj)


class Table:
    """One resource: its objects, and its changes since RV `begin`. A watch from an RV below
    `oldest` is too old."""

    write = staticmethod(compact)   # the way in which this release of the server writes an object

    def __init__(self, resource):
        self.resource = resource
        self.objects = {}
        self.history = []
        self.oldest = 0
        self.begin = 0
        self.encoded = {}

    def key_of(self, obj):
        meta = obj["metadata"]
        return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]

    def json_of(self, obj, in_list=False, form=""):
        """The object's bytes; items of built-in lists come without kind and apiVersion; form =
        the meta.k8s.io version of PartialObjectMetadata."""
        cache_key = (id(obj), in_list and not form, form)
        if cache_key not in self.encoded:
            shown = obj
            if form:
                shown = {"kind": "PartialObjectMetadata", "apiVersion": form,
                         "metadata": obj["metadata"]}
            elif in_list and not self.resource.custom:
                shown = {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
            sort = self.resource.custom and not form
            self.encoded[cache_key] = (obj, self.write(shown, sort=sort))
        return self.encoded[cache_key][1]

    def upgrade(self, write):
        """From now on the server writes objects in another way."""
        self.write = write
        self.encoded.clear()

    def state_at(self, rv):
        """The objects as they were at rv: later changes are undone."""
        if rv < self.begin:
            raise ValueError(f"{self.resource.plural}: no history back to {rv}")
        objects = dict(self.objects)
        for number, _kind, obj, old in reversed(self.history):
            if number <= rv:
                break
            if old is None:
                objects.pop(self.key_of(obj), None)
            else:
                objects[self.key_of(old)] = old
        return objects

    def start_of(self, rv):
        """Index in history of the first change after rv."""
        return bisect.bisect_right(self.history, rv, key=lambda change: change[0])


class Store:
    """All tables under one lock; `changed` is called, locked, after each change. It tells the
    listeners, of which each API server that serves this store is one."""

    def __init__(self):
        self.lock = threading.RLock()
        self.rv = 1
        self.tables = {}
        self.snapshots = {}
        self.listeners = []
        for resource in BUILTIN:
            self.add_resource(resource)

    def changed(self, table):
        for listener in self.listeners:
            listener(table)

    def add_resource(self, resource):
        with self.lock:
            self.tables[(resource.group, resource.version, resource.plural)] = Table(resource)
        return resource

    def remove_resource(self, plural):
        """Removes the resource; its open watches get no event. Returns its table."""
        with self.lock:
            table = self.table(plural)
            res = table.resource
            del self.tables[(res.group, res.version, res.plural)]
            return table

    def undefine(self, plural):
        """As when a CRD is deleted: each object first. Returns the table."""
        with self.lock:
            for key in sorted(self.table(plural).objects):
                self.delete(plural, key)
            return self.remove_resource(plural)

    def table(self, plural):
        """The table of a plural name, "plural.group", "plural.version.group", or a Resource."""
        if isinstance(plural, Resource):
            plural = f"{plural.plural}.{plural.version}.{plural.group}"
        for (group, version, name), table in self.tables.items():
            if plural in (name, f"{name}.{group}", f"{name}.{version}.{group}"):
                return table
        raise KeyError(f"no such resource: {plural}")

    def table_of(self, obj):
        for table in self.tables.values():
            res = table.resource
            if (res.kind, res.api_version) == (obj["kind"], obj["apiVersion"]):
                return table
        raise KeyError(f"no resource for {obj['apiVersion']} {obj['kind']}")

    def _next(self, rv):
        self.rv = self.rv + 1 if rv is None else int(rv)
        return self.rv

    def apply(self, obj, rv=None, silent=False):
        """Creates an object, or replaces one and keeps its uid. Returns the stored copy."""
        with self.lock:
            table = self.table_of(obj)
            obj = copy.deepcopy(obj)
            key = table.key_of(obj)
            old = table.objects.get(key)
            if old is not None:
                obj["metadata"]["uid"] = old["metadata"]["uid"]
            number = self._next(rv)
            obj["metadata"]["resourceVersion"] = str(number)
            table.objects[key] = obj
            self._record(table, number, "MODIFIED" if old else "ADDED", obj, old, silent)
            return obj

    def delete(self, plural, key, rv=None, silent=False):
        """Removes an object; the DELETED event has the last state with the new resourceVersion."""
        with self.lock:
            table = self.table(plural)
            old = table.objects.pop(key)
            number = self._next(rv)
            gone = copy.deepcopy(old)
            gone["metadata"]["resourceVersion"] = str(number)
            self._record(table, number, "DELETED", gone, old, silent)
            return gone

    def _record(self, table, rv, kind, obj, old, silent):
        table.history.append((rv, None if silent else kind, obj, old))
        if not silent:
            self.changed(table)

    def compact(self, plural=None):
        """From now on a watch from an earlier version is too old; continue tokens expire too."""
        with self.lock:
            self.snapshots.clear()
            for table in [self.table(plural)] if plural else self.tables.values():
                table.oldest = self.rv

    def expire(self):
        """The state of an API server that has just started: its watch cache knows nothing older."""
        with self.lock:
            for table in self.tables.values():
                table.oldest = self.rv

    def snapshot(self):
        """A backup for restore()."""
        with self.lock:
            return self.rv, {key: dict(table.objects) for key, table in self.tables.items()}

    def restore(self, backup):
        """Goes back to a snapshot, or to an RV of the history; later changes are forgotten."""
        with self.lock:
            if isinstance(backup, int):
                backup = backup, {k: table.state_at(backup) for k, table in self.tables.items()}
            self.rv, contents = backup
            self.snapshots.clear()
            for key, table in self.tables.items():
                table.objects = dict(contents.get(key, {}))
                table.history = []
                table.oldest = table.begin = self.rv

    def listing(self, table, select, rv=None):
        """(RV, objects), now or as they were at rv."""
        with self.lock:
            objects = table.objects if rv is None else table.state_at(rv)
            found = [objects[key] for key in sorted(objects) if select(objects[key])]
            return self.rv if rv is None else rv, found

    def page(self, table, select, limit, token, exact=None):
        """(rv, items, next token, items left). token: None = the first page; exact: the RV, None =
        now. KeyError: the token has expired."""
        with self.lock:
            if token:
                rv, items = self.snapshots[token]
            else:
                rv, items = self.listing(table, select, exact)
            if not limit or len(items) <= limit:
                return rv, items, "", 0
            rest = items[limit:]
            meta = {"v": "meta.k8s.io/v1", "rv": rv, "start": table.key_of(rest[0]),
                    "n": len(self.snapshots)}
            next_token = base64.urlsafe_b64encode(json.dumps(meta).encode()).decode()
            self.snapshots[next_token] = (rv, rest)
            return rv, items[:limit], next_token, len(rest)

    def event_for(self, change, select):
        """(type, object) as a watcher with this selection sees a change, or None."""
        rv, kind, obj, old = change
        if kind is None:
            return None
        now, before = select(obj) and kind != "DELETED", select(old)
        if now:
            return ("MODIFIED" if before else "ADDED"), obj
        if not before:
            return None
        if kind == "DELETED":
            return "DELETED", obj
        gone = copy.deepcopy(old)
        gone["metadata"]["resourceVersion"] = str(rv)
        return "DELETED", gone
