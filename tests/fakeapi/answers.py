# SPDX-License-Identifier: Apache-2.0
"""The unscripted answers: who may ask, discovery, GET, LIST with paging, errors."""
import base64

from . import discovery, reviews
from .objects import compact, simple, status_object
from .queries import form_of, refusal, selection
from .watching import reached, too_large_details, too_large_text, watch


def allowed(api, request):
    """Whether the test lets this credential in; True when the test names no credentials."""
    if api.tokens is None and api.client_cns is None and api.passwords is None:
        return True
    kind, _, value = request.header("authorization").partition(" ")
    if kind == "Bearer" and value in (api.tokens or ()):
        return True
    if kind == "Basic" and base64.b64decode(value).decode() in (api.passwords or ()):
        return True
    return request.conn.client_cn in (api.client_cns or ())


async def identity(api, exchange):
    """The namespace kube-system, by which clients tell clusters apart; see FakeApi.identity."""
    if api.identity_gate is not None:
        await api.identity_gate.pass_by()
    said = api.identity if allowed(api, exchange.request) else 401
    if said in ("rst", "eof", "close", "stall"):
        await exchange.finish(said)
    elif isinstance(said, int):
        await exchange.answer(said, body=status_object(said))
    else:
        item = [simple("Namespace", "kube-system", uid=said)] if said is not None else []
        await exchange.answer(body={"kind": "NamespaceList", "apiVersion": "v1",
                                    "metadata": {"resourceVersion": str(api.rv)}, "items": item})


def able(kind, verbs):
    return kind in "GLWS" and ("watch" if kind in "WS" else "list") in verbs


async def answer(api, exchange):
    request = exchange.request
    if not allowed(api, request):
        await exchange.answer(401, body=status_object(401, message="Unauthorized"))
    elif request.path == reviews.PATH:
        await reviews.answer(api, exchange)
    elif discovery.broken(api, request.path):
        await exchange.answer(503, body=b"service unavailable\n", type="text/plain; charset=utf-8",
                              headers={"X-Content-Type-Options": "nosniff"})
    elif request.table is None:
        await no_object(api, exchange)
    elif not able(request.kind, request.table.resource.verbs):
        await exchange.answer(405, body=status_object(
            405, message="the server does not allow this method on the requested resource"))
    else:
        await truth(api, exchange)


async def truth(api, exchange):
    """The resource is there; now its parameters, its form, its content."""
    request = exchange.request
    refused = refusal(api, request) if request.kind != "G" else None
    if refused is None:
        request.form, refused = form_of(api, request)
    if refused is not None:
        await exchange.answer(refused["code"], body=refused)
    elif request.form is None:
        await exchange.start_stream()
        await exchange.end_stream()
    else:
        await {"G": get, "L": list_, "W": watch, "S": watch}[request.kind](api, exchange)


async def no_object(api, exchange):
    """Discovery, health, and 404 for the rest."""
    doc, kind = discovery.document(api, exchange.request)
    if doc is not None:
        await exchange.answer(body=doc, type=kind)
    elif exchange.request.path in ("/livez", "/readyz", "/healthz"):
        await exchange.answer(body=b"ok", type="text/plain")
    else:
        await exchange.answer(404, body=b"404 page not found\n", type="text/plain")


async def get(api, exchange):
    request, table = exchange.request, exchange.request.table
    key = f"{request.namespace}/{request.name}" if request.namespace else request.name
    with api.store.lock:
        obj = table.objects.get(key)
        body = table.json_of(obj, form=request.form) if obj is not None else None
    if body is None:
        res = table.resource
        details = {"name": request.name, "group": res.group, "kind": res.plural}
        await exchange.answer(404, body=status_object(
            404, message=f'{res.full_name} "{request.name}" not found',
            details={name: value for name, value in details.items() if value}))
    else:
        await exchange.answer(body=body + b"\n")


def list_bytes(table, form, rv, items, token, left):
    """The XList document. Custom resources have sorted keys, so items stand before metadata. rv:
    None = the list has no resourceVersion."""
    res = table.resource
    meta = {"resourceVersion": str(rv)} if rv is not None else {}
    if token:
        meta = {"continue": token, "remainingItemCount": left, **meta}
    elif res.custom and not form:
        meta = {"continue": "", **meta}
    body = b",".join(table.json_of(item, in_list=True, form=form) for item in items)
    kind, version = f"{res.kind}List", res.api_version
    if form:
        kind, version = "PartialObjectMetadataList", form
    kind, version, meta = (compact(v) for v in (kind, version, meta))
    if res.custom and not form:
        return (b'{"apiVersion":%b,"items":[%b],"kind":%b,"metadata":%b}\n'
                % (version, body, kind, meta))
    return (b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[%b]}\n'
            % (kind, version, meta, body))


def _page(api, request):
    """The bytes of the answer, or a Status when the version or the continue token has expired."""
    store, table, rv = api.store, request.table, request.rv or ""
    exact = request.query.get("resourceVersionMatch") == "Exact"
    limit = 0 if rv == "0" and api.watch_cache else request.limit or 0
    with store.lock:
        if exact and int(rv) < table.oldest:
            return status_object(410, "Expired", "The resourceVersion for the provided list is "
                                                 "too old.")
        try:
            page = store.page(table, selection(request), limit, request.token,
                              int(rv) if exact else api.seen_rv)
        except KeyError:
            return status_object(410, "Expired", "The provided continue parameter is too old to "
                                 "display a consistent list result.", token="inconsistent")
        rv, *rest = page
        rv = api.unversioned.get(table.resource.plural, rv)
        return list_bytes(table, request.form, rv, *rest)


async def list_(api, exchange):
    request = exchange.request
    rv = request.rv or ""
    if rv not in ("", "0") and not await reached(api, rv):
        await exchange.answer(504, headers={"Retry-After": 1}, body=status_object(
            504, "Timeout", too_large_text(rv, api.rv), too_large_details()))
        return
    body = _page(api, request)
    if isinstance(body, dict):
        await exchange.answer(body["code"], body=body)
        return
    chunks = range(32768, len(body), 32768) if len(body) > 2048 else None
    members = 0
    if len(body) > api.gzip_above and request.header("accept-encoding") == "gzip":
        members = api.gzip_members
    await exchange.answer(body=body, chunks=chunks, gzip=members)
