# SPDX-License-Identifier: Apache-2.0
"""Objects as an API server writes them, and the resources that the fake server knows."""
import base64
import itertools
import json
import re
import uuid

STAMP = "2026-01-02T03:04:05Z"
_seed = itertools.count(1)


VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


class Resource:
    """One row of discovery: the path of a resource, and how its lists are written."""

    def __init__(self, plural, kind, group="", version="v1", namespaced=True, custom=False,
                 short=(), singular=None, verbs=VERBS):
        self.plural, self.kind, self.group, self.version = plural, kind, group, version
        self.namespaced, self.custom, self.short = namespaced, custom, list(short)
        self.singular = kind.lower() if singular is None else singular
        self.verbs = list(verbs)

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self):
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def full_name(self):
        """The name as error messages write it: widgets.example.com."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @classmethod
    def named(cls, name, kind, **more):
        """From "plural.version.group", or "plural.version" in the core group."""
        plural, version, *group = name.split(".", 2)
        if not re.fullmatch(r"v[0-9]+((alpha|beta)[0-9]+)?", version):
            raise ValueError(f"{name}: wanted plural.version.group")
        return cls(plural, kind, group[0] if group else "", version, **more)


BUILTIN = [
    Resource("services", "Service", short=["svc"]),
    Resource("endpoints", "Endpoints", short=["ep"]),
    Resource("configmaps", "ConfigMap", short=["cm"]),
    Resource("secrets", "Secret"),
    Resource("pods", "Pod", short=["po"]),
    Resource("namespaces", "Namespace", namespaced=False, short=["ns"]),
    Resource("nodes", "Node", namespaced=False, short=["no"]),
    Resource("bindings", "Binding", verbs=["create"]),
    Resource("endpointslices", "EndpointSlice", group="discovery.k8s.io"),
    Resource("deployments", "Deployment", group="apps", short=["deploy"]),
]


def new_uid():
    """A uid that is unique in this process, and the same in every run of the tests."""
    return str(uuid.UUID(int=0x5eed << 96 | next(_seed)))


def managed_fields(manager="kube-controller-manager", fields=("f:spec", "f:metadata")):
    return [{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": STAMP,
             "fieldsType": "FieldsV1", "fieldsV1": {name: {"f:ports": {}} for name in fields}}]


def simple(kind, key, api_version="v1", labels=None, annotations=None, uid=None, **body):
    """An object of any kind; key is "namespace/name", or "name" for cluster-scoped kinds."""
    namespace, _, name = key.rpartition("/")
    meta = {"name": name}
    if namespace:
        meta["namespace"] = namespace
    meta["uid"] = uid or new_uid()
    meta["resourceVersion"] = "0"
    meta["creationTimestamp"] = STAMP
    if labels:
        meta["labels"] = dict(labels)
    if annotations:
        meta["annotations"] = dict(annotations)
    meta["managedFields"] = managed_fields()
    return {"kind": kind, "apiVersion": api_version, "metadata": meta, **body}


def service(key, ports=(80,), labels=None, annotations=None, uid=None, ip="10.96.0.10", **spec):
    """A v1 Service; more spec fields as keywords (externalTrafficPolicy="Local")."""
    name = key.rpartition("/")[2]
    ports = [{"name": f"p{port}", "protocol": "TCP", "port": port, "targetPort": port}
             for port in ports]
    spec = {"ports": ports, "selector": {"app": name}, "clusterIP": ip, "clusterIPs": [ip],
            "type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", **spec}
    return simple("Service", key, labels=labels, annotations=annotations, uid=uid, spec=spec,
                  status={"loadBalancer": {}})


def endpointslice(key, service_name, addresses, port=8080, ready=True, node="node-1", labels=None,
                  uid=None):
    """A discovery.k8s.io/v1 EndpointSlice of a Service, one endpoint per address."""
    endpoints = [{"addresses": [addr], "conditions": {"ready": ready, "serving": ready,
                                                      "terminating": False},
                  "targetRef": {"kind": "Pod", "namespace": key.partition("/")[0],
                                "name": f"{service_name}-{addr.replace('.', '-')}",
                                "uid": new_uid()},
                  "nodeName": node, "zone": "zone-a"} for addr in addresses]
    labels = {"kubernetes.io/service-name": service_name, **(labels or {})}
    ports = [{"name": "http", "protocol": "TCP", "port": port}]
    return simple("EndpointSlice", key, "discovery.k8s.io/v1", labels=labels, uid=uid,
                  addressType="IPv4", endpoints=endpoints, ports=ports)


def custom_object(kind, key, group="example.com", version="v1", labels=None, uid=None, **body):
    return simple(kind, key, f"{group}/{version}", labels=labels, uid=uid, **body)


def compact(value, sort=False):
    """JSON on one line, as the server writes it; custom resources come with sorted keys."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=sort)
    return text.encode()


def ev(kind, obj, rv=None):
    """A watch event; rv replaces the object's resourceVersion."""
    if rv is not None:
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(rv)}}
    return {"type": kind, "object": obj}


def blueprint(kind="Service", api_version="v1", custom=False):
    """The annotation of the bookmark that ends the initial events: an empty list of the kind."""
    empty = {"kind": f"{kind}List", "apiVersion": api_version, "metadata": {}, "items": None}
    if custom:
        empty = {"apiVersion": api_version, "items": [], "kind": f"{kind}List"}
    return base64.b64encode(compact(empty) + b"\n").decode()


def bookmark(rv, kind="Service", api_version="v1", initial_end=False, custom=False):
    meta = {"resourceVersion": str(rv)}
    if not custom:
        meta["creationTimestamp"] = None
    if initial_end:
        meta["annotations"] = {"k8s.io/initial-events-end": "true",
                               "kubernetes.io/initial-events-list-blueprint":
                                   blueprint(kind, api_version, custom)}
    return ev("BOOKMARK", {"kind": kind, "apiVersion": api_version, "metadata": meta})


REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound",
           405: "MethodNotAllowed", 406: "NotAcceptable", 410: "Expired", 422: "Invalid",
           429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


def status_object(code, reason=None, message=None, details=None, token=None):
    """A meta/v1 Status as every error answer carries it; token = metadata.continue."""
    reason = REASONS.get(code, "Unknown") if reason is None else reason
    out = {"kind": "Status", "apiVersion": "v1", "metadata": {"continue": token} if token else {},
           "status": "Failure",
           "message": message or f"{reason} from the fake server"}
    if reason:
        out["reason"] = reason
    if details is not None:
        out["details"] = details
    out["code"] = code
    return out


def error_event(code, reason=None, message=None, details=None):
    return {"type": "ERROR", "object": status_object(code, reason, message, details)}
