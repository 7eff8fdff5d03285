# SPDX-License-Identifier: Apache-2.0
"""Reads the query of a request: its kind, selection and form, and the errors in it."""
import re

from .objects import status_object
from .store import Selection

JSON_TYPES = ("application/json", "application/*", "*/*")
LIST_FORM, ITEM_FORM = ([(kind, "meta.k8s.io", version) for version in ("v1", "v1beta1")]
                        for kind in ("PartialObjectMetadataList", "PartialObjectMetadata"))


def classify(store, request):
    """Fills in kind (L, W, S, G or -), group, resource, namespace, name and the table."""
    match = re.fullmatch(r"/(?:api/([^/]+)|apis/([^/]+)/([^/]+))/(.+)", request.path)
    if not match:
        return
    request.group, version = match[2] or "", match[3] or match[1]
    parts = match[4].split("/")
    if parts[0] == "namespaces" and len(parts) >= 3:
        request.namespace, parts = parts[1], parts[2:]
    request.resource = parts[0]
    request.name = parts[1] if len(parts) > 1 else ""
    with store.lock:
        request.table = store.tables.get((request.group, version, parts[0]))
    if request.namespace and request.table and not request.table.resource.namespaced:
        request.table = None
    if request.method == "GET" and len(parts) <= 2:
        request.kind = "G" if request.name else _kind_of(request.query)


def _kind_of(query):
    if query.get("watch") not in ("1", "true", ""):
        return "L"
    return "S" if query.get("sendInitialEvents") in ("1", "true") else "W"


def selection(request):
    return Selection(request.namespace, request.query.get("labelSelector"),
                     request.query.get("fieldSelector"))


# The Accept header

def choose(accept, offers):
    """The first of (as, g, v) in offers that the header takes, "" for plain JSON, None = 406."""
    for clause in (accept or "*/*").split(","):
        kind, *rest = [part.strip() for part in clause.split(";")]
        params = dict(part.partition("=")[::2] for part in rest)
        wanted = (params.get("as"), params.get("g"), params.get("v"))
        if kind not in JSON_TYPES:
            continue
        if wanted[0] is None:
            return ""
        if wanted in offers:
            return wanted
    return None


def form_of(api, request):
    """(meta.k8s.io version or "" for whole objects, None), or ("", the Status of a 406). (None,
    None) for a watch whose Accept header asks for lists: such a watch starts, and ends at the first
    event."""
    right, wrong = (LIST_FORM, ITEM_FORM) if request.kind == "L" else (ITEM_FORM, LIST_FORM)
    chosen = choose(request.accept, [*right, *wrong] if api.partial_metadata else [])
    if chosen == "":
        return "", None
    if chosen in right:
        return f"{chosen[1]}/{chosen[2]}", None
    if chosen and request.kind in "WS":
        return None, None
    text = ("only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf")
    if chosen:
        text = (f"you requested {chosen[0]}, but the requested object is "
                f"{'' if request.kind == 'L' else 'not '}a list")
    return "", status_object(406, message=text)


# Validation, as apimachinery's internalversion/validation has it

def _invalid(problems):
    causes = [{"reason": reason, "message": message, "field": field}
              for reason, field, message in problems]
    text = ", ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
    if len(causes) > 1:
        text = f"[{text}]"
    return status_object(422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {text}', {
        "group": "meta.k8s.io", "kind": "ListOptions", "causes": causes})


def _forbidden(field, text):
    return "FieldValueForbidden", field, f"Forbidden: {text}"


def _bad_match(match, *good):
    names = ", ".join(f'"{name}"' for name in good)
    return ("FieldValueNotSupported", "resourceVersionMatch",
            f'Unsupported value: "{match}": supported values: {names}')


def _list_problems(query):
    match, rv = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    field = "resourceVersionMatch"
    if match and not rv:
        yield _forbidden(field, f"{field} is forbidden unless resourceVersion is provided")
    if match and query.get("continue"):
        yield _forbidden(field, f"{field} is forbidden when continue is provided")
    if match not in ("", "Exact", "NotOlderThan"):
        yield _bad_match(match, "Exact", "NotOlderThan", "")
    if match == "Exact" and rv == "0":
        yield _forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"')
    if "sendInitialEvents" in query:
        yield _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _watch_problems(query, watch_list):
    match, field = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    initial = "sendInitialEvents" in query
    if initial and match != "NotOlderThan":
        yield _forbidden(field, f"sendInitialEvents requires setting {field} to NotOlderThan")
    if initial and not watch_list:
        yield _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for watch unless "
                                              "the WatchList feature gate is enabled")
    if match and not initial:
        yield _forbidden(field, f"{field} is forbidden for watch unless sendInitialEvents is "
                                "provided")
    if match not in ("", "NotOlderThan"):
        yield _bad_match(match, "NotOlderThan")
    if match and query.get("continue"):
        yield _forbidden(field, f"{field} is forbidden when continue is provided")


def _bad_field(request):
    if request.table.resource.custom:
        for part in filter(None, request.query.get("fieldSelector", "").split(",")):
            label = re.split(r"!=|=", part)[0].strip()
            if label not in ("metadata.name", "metadata.namespace"):
                return status_object(400, message=f"field label not supported: {label}")
    return None


def refusal(api, request):
    """The Status for parameters that no server takes, or None."""
    query, rv = request.query, request.rv or ""
    watch = request.kind != "L"
    problems = list(_watch_problems(query, api.watch_list) if watch else _list_problems(query))
    if problems:
        return _invalid(problems)
    if rv and not rv.isdigit():
        text = f'resourceVersion: Invalid value: "{rv}": strconv.ParseUint: parsing "{rv}": ' \
               "invalid syntax"
        return status_object(500, "", text)
    if not watch and request.token and rv not in ("", "0"):
        return status_object(400, message="specifying resource version is not allowed when using "
                                          "continue")
    return _bad_field(request)
