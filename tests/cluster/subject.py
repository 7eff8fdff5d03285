# SPDX-License-Identifier: Apache-2.0
"""A real API server that kubectl changes, the resources that the tests watch, and the daemon."""
import json
import os
import secrets
import subprocess
import time

import confwriter
from control import wait_until
from harness import TUNING, hook_settings

PATIENCE = 60
MARK = "informerd-test"


class Cluster:
    """kubectl with one kubeconfig and one namespace."""

    def __init__(self, config):
        self.config = config
        self.run_id = secrets.token_hex(3)
        self.namespace = f"informerd-test-{self.run_id}"
        self._own_namespace = False

    def run(self, *args, stdin=None, check=True):
        done = subprocess.run(["kubectl", *args], input=stdin, text=True, capture_output=True,
                              env={**os.environ, "KUBECONFIG": str(self.config)}, timeout=120)
        assert done.returncode == 0 or not check, f"kubectl {args}: {done.stderr}"
        return done

    def json(self, *args):
        return json.loads(self.run(*args, "-o", "json").stdout)

    def create(self, obj):
        """Creates or replaces an object; returns it as the server has it now."""
        return json.loads(self.run("apply", "--server-side", "--force-conflicts", "-o", "json",
                                   "--validate=false", "-f", "-", stdin=json.dumps(obj)).stdout)

    def has(self, resource):
        """Whether the server serves this resource: some servers have custom resources only."""
        return self.run("get", resource, "-n", self.namespace, "-o", "name",
                        check=False).returncode == 0

    def begin(self):
        self._own_namespace = self.has("namespaces")
        if self._own_namespace:
            self.run("create", "namespace", self.namespace)

    def end(self):
        if self._own_namespace:
            self.run("delete", "namespace", self.namespace, "--wait=false")

    def streams(self):
        """Whether the server supports streaming lists (WatchList)."""
        path = ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?watch=1&timeoutSeconds=1"
                "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                "&allowWatchBookmarks=true")
        return self.run("get", "--raw", path, check=False).returncode == 0

    def wait_ready(self, timeout=120):
        wait_until(lambda: self.run("get", "--raw", "/readyz", check=False).returncode == 0,
                   timeout, "the server is ready", interval=0.2)

    def command(self, name):
        """Runs the command in an environment variable, and waits until the server is ready."""
        subprocess.run(os.environ[name], shell=True, check=True, timeout=300)
        self.wait_ready()


class Subject:
    """One resource in the run's namespace."""

    resource = kind = api_version = ""

    def __init__(self, cluster):
        self.cluster = cluster

    def body(self, value):
        raise NotImplementedError

    def value_of(self, obj):
        raise NotImplementedError

    def put(self, name, value="1", namespace=None, **labels):
        """Creates an object, or changes it to have just this value, these labels, and MARK=1."""
        meta = {"name": name, "namespace": namespace or self.cluster.namespace,
                "labels": {MARK: "1", **labels}}
        return self.cluster.create({"apiVersion": self.api_version, "kind": self.kind,
                                    "metadata": meta, **self.body(value)})

    def delete(self, *names):
        self.cluster.run("delete", self.resource, *names, "-n", self.cluster.namespace)

    def wipe(self):
        self.cluster.run("delete", self.resource, "-l", f"{MARK}=1", "-n",
                         self.cluster.namespace, check=False)

    def present(self, *flags):
        """{name: resourceVersion} of the objects on the server."""
        doc = self.cluster.json("get", self.resource, "-n", self.cluster.namespace, *flags)
        return {i["metadata"]["name"]: i["metadata"]["resourceVersion"] for i in doc["items"]}


class ConfigMaps(Subject):
    resource, kind, api_version = "configmaps", "ConfigMap", "v1"

    def body(self, value):
        return {"data": {"value": value}}

    def value_of(self, obj):
        return obj["data"]["value"]


class Widgets(Subject):
    kind = "Widget"

    def __init__(self, cluster):
        super().__init__(cluster)
        self.group = f"t{cluster.run_id}.informerd.example"
        self.api_version = f"{self.group}/v1"
        self.resource = f"widgets.v1.{self.group}"

    def body(self, value):
        return {"spec": {"value": value}}

    def value_of(self, obj):
        return obj["spec"]["value"]

    def define(self):
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget",
                 "listKind": "WidgetList", "shortNames": [f"wd{self.cluster.run_id}"]}
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        self.cluster.create({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{self.group}"},
            "spec": {"group": self.group, "scope": "Namespaced", "names": names,
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}}]}})
        wait_until(lambda: self.cluster.has(self.resource), PATIENCE, "the CRD is served",
                   interval=0.2)

    def remove(self):
        self.cluster.run("delete", "customresourcedefinitions", f"widgets.{self.group}",
                         check=False)


class Watched:
    """A daemon that watches the objects with label MARK (or by another selector), and its hook."""

    def __init__(self, factory, cluster, hook, subject):
        self.factory, self.cluster, self.hook, self.subject = factory, cluster, hook, subject
        self.daemon, self._selection = None, []

    def start(self, tuning, settings):
        watch = {"resource": self.subject.resource, "namespaces": [self.cluster.namespace]}
        if not {"label_selector", "field_selector"} & settings.keys():
            settings = {**settings, "label_selector": f"{MARK}=1"}
        for name, flag in (("label_selector", "-l"), ("field_selector", "--field-selector")):
            if name in settings:
                self._selection += [flag, settings[name]]
        self.daemon = self.factory.daemon(
            clusters={"real": {"kubeconfig": self.cluster.config,
                               "tuning": confwriter.merge(TUNING, tuning)}},
            watches={"w": {**watch, **settings}},
            hooks={"h": hook_settings(self.hook, sources=["w"])})
        return self

    def clear(self):
        self.subject.wipe()

    def key(self, name):
        return f"{self.cluster.namespace}/{name}"

    def cached(self):
        rows = self.daemon.control.objects("w")
        return {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in rows}

    def same(self, timeout=PATIENCE):
        """Waits until the cache equals the server's objects, and the hook is idle."""
        self.daemon.synced(timeout=timeout)
        end = time.monotonic() + timeout
        while True:
            want, have = self.subject.present(*self._selection), self.cached()
            if want == have:
                break
            assert time.monotonic() < end, f"server {want}, cache {have}"
            time.sleep(0.1)
        self.daemon.control.wait_idle(timeout)
        return self

    def saw(self, kind, name):
        """Waits for the hook's run with this event."""
        return self.hook.wait_what(kind, self.key(name), PATIENCE)

    def heard(self):
        """[(type, name), ...] of all runs so far, in order."""
        return [(kind, key.rpartition("/")[2]) for kind, key in self.hook.what()]
