# SPDX-License-Identifier: Apache-2.0
"""SelfSubjectAccessReview: would the server allow a request?"""
import json
import re

from .objects import status_object

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
MEMBERS = {"verb", "group", "version", "resource", "namespace", "name", "labelSelector",
           "fieldSelector"}


class Review:
    """The question: verb, group, resource, namespace, name ("" = none); fields and labels are the
    selectors as their texts; user is the one who is impersonated, or None."""

    def __init__(self, request, attributes, selectors):
        assert set(attributes) <= MEMBERS, attributes
        self.request = request
        self.verb, self.resource = attributes["verb"], attributes["resource"]
        self.group, self.version = attributes.get("group", ""), attributes.get("version", "")
        self.namespace, self.name = attributes.get("namespace", ""), attributes.get("name", "")
        self.fields, self.labels = (
            attributes.get(key, {}).get("rawSelector", "") if selectors else ""
            for key in ("fieldSelector", "labelSelector"))
        self.user = request.header("impersonate-user", None)

    def field(self, path):
        """The value that the field selector asks for, or None."""
        match = re.search(rf"(?:^|,){re.escape(path)}==?([^,!=]*)", self.fields)
        return match[1] if match else None

    def __repr__(self):
        return f"<{self.verb} {self.resource} {self.namespace} {self.name} {self.fields}>"


def _wrong(review):
    """The error that the validation of an API server finds in it, or None."""
    spec = review.get("spec", {})
    attributes = spec.get("resourceAttributes")
    if (review.get("apiVersion"), review.get("kind")) != (
            "authorization.k8s.io/v1", "SelfSubjectAccessReview"):
        return status_object(400, message="the object provided is unrecognized")
    if review.get("metadata") or not attributes:
        return status_object(422, message="metadata: must be empty, resourceAttributes: needed")
    for key in ("labelSelector", "fieldSelector"):
        selector = attributes.get(key, {"rawSelector": "a"})
        if bool(selector.get("rawSelector")) == bool(selector.get("requirements")):
            return status_object(422, message=f"{key}: either rawSelector or requirements")
    return None


async def answer(api, exchange):
    """Answers as FakeApi.access says."""
    request = exchange.request
    if isinstance(api.access, int) or request.method != "POST":
        code = api.access if isinstance(api.access, int) else 405
        await exchange.answer(code, body=status_object(code))
        return
    if request.header("content-type") != "application/json":
        await exchange.answer(415, body=status_object(415))
        return
    body = json.loads(request.body)
    refused = _wrong(body)
    if refused is not None:
        await exchange.answer(refused["code"], body=refused)
        return
    review = Review(request, body["spec"]["resourceAttributes"], api.selectors)
    api.reviews.append(review)
    said = api.access(review) if api.access is not None else True
    allowed, reason = said if isinstance(said, tuple) else (said, "")
    status = {"allowed": allowed, **({"reason": reason} if reason else {})}
    await exchange.answer(201, body={**body, "metadata": {"creationTimestamp": None},
                                     "status": status})
