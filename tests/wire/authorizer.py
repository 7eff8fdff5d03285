# SPDX-License-Identifier: Apache-2.0
"""Authorizers of API servers: RBAC, which decides which printed role allows which request, and the
one for kubelets."""
import re

import yaml

GROUP = "rbac.authorization.k8s.io"
VERBS = {"G": "get", "L": "list", "W": "watch", "S": "watch"}


class Roles:
    """The output of `informerd --print-rbac` for one cluster. It is an error if a role has no
    binding, or a binding has no role or another subject."""

    def __init__(self, text):
        self.documents = list(yaml.safe_load_all(text))
        roles, bindings = {}, {}
        for document in self.documents:
            assert document["apiVersion"] == f"{GROUP}/v1"
            meta, kind = document["metadata"], document["kind"]
            into = bindings if kind.endswith("Binding") else roles
            into[kind.removesuffix("Binding"), meta.get("namespace"), meta["name"]] = document
        assert len(roles) + len(bindings) == len(self.documents)
        assert {(kind, space, b["roleRef"]["name"]) for (kind, space, _), b in bindings.items()} \
            == set(roles)
        for (kind, space, _name), binding in bindings.items():
            assert binding["roleRef"]["kind"] == kind and binding["roleRef"]["apiGroup"] == GROUP
            assert (kind == "Role") == (space is not None)
        subjects = [binding["subjects"] for binding in bindings.values()]
        assert all(entry == subjects[0] and len(entry) == 1 for entry in subjects)
        self.subject = subjects[0][0] if subjects else None
        self.names = {name for _kind, _space, name in roles}
        self.rules = [(space, rule) for (_kind, space, _name), role in roles.items()
                      for rule in role["rules"]]

    def grants(self):
        """{(namespace or None, group, resource, name or None, verb)}; each may stand only once."""
        out = [(space, group, resource, name, verb) for space, rule in self.rules
               for group in rule["apiGroups"] for resource in rule["resources"]
               for name in rule.get("resourceNames", [None]) for verb in rule["verbs"]]
        assert len(out) == len(set(out))
        return set(out)

    def allow(self, review):
        """For FakeApi.access."""
        return any(space in (None, review.namespace or None)
                   and (group, resource, verb) == (review.group, review.resource, review.verb)
                   and name in (None, review.name)
                   for space, group, resource, name, verb in self.grants())

    def allowing(self, request):
        """The grants that allow this request of the fake server, each on its own."""
        name = request.name or name_selected(request.query.get("fieldSelector", ""))
        return {grant for grant in self.grants()
                if grant[0] in (None, request.namespace or None)
                and grant[1:3] == (request.group, request.resource)
                and grant[3] in (None, name) and grant[4] == VERBS[request.kind]}


def name_selected(selector):
    """The object's name for which RBAC counts a list or watch, from its field selector: as in
    k8s.io/apiserver, RequestInfoFactory."""
    match = re.search(r"(?:^|,)metadata\.name==?([^,!=]+)", selector)
    return match[1] if match else None


class NodeAuthorizer:
    """The resources that an API server of Kubernetes 1.32 or newer lets a kubelet list and watch
    (kubernetes/kubernetes plugin/pkg/auth/authorizer/node, and NodeRules of rbac/bootstrappolicy).
    used: "namespace/name" of the secrets, configmaps and pods that belong to its node."""

    ALL = {"services", "runtimeclasses", "csidrivers", "certificatesigningrequests",
           "clustertrustbundles"}
    OF_NODE = {"pods": "spec.nodeName", "nodes": "metadata.name", "resourceslices": "nodeName"}
    NAMED = {"secrets", "configmaps", "pods"}

    def __init__(self, node, used=()):
        self.node, self.used = node, set(used)

    def allows(self, resource, namespace="", selector=""):
        """Whether it may list and watch this plural, in this namespace ("" = all), with this field
        selector."""
        name = name_selected(selector)
        own = f"{self.OF_NODE.get(resource)}={self.node}"
        is_used = bool(namespace) and f"{namespace}/{name}" in self.used
        return (resource in self.ALL or own in selector.replace("==", "=").split(",")
                or (resource in self.NAMED and is_used))

    def review(self, review):
        """For FakeApi.access."""
        selector = ",".join(filter(None, [review.name and f"metadata.name={review.name}",
                                          review.fields]))
        reasons = {
            "pods": "can only list/watch pods with spec.nodeName field selector",
            "nodes": f"node '{self.node}' cannot read '{review.name}', only its own Node object"}
        return (self.allows(review.resource, review.namespace, selector),
                reasons.get(review.resource,
                            f"no relationship found between node '{self.node}' and this object"))

    def allows_request(self, request):
        return request.table is None or self.allows(request.resource, request.namespace,
                                                    request.query.get("fieldSelector", ""))
