/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - the selection of one scope of a watch, and the request targets that ask for it; pure.
 */
#ifndef CACHE_QUERY_H
#define CACHE_QUERY_H

#include "base/buf.h"
#include "cache/reflector.h"
#include "kube/object.h"
#include "kube/resource.h"

/* Texts are owned; NULL = all, or no selector. */
struct query {
    const struct resource *resource; /* borrowed */
    char *ns;
    char *name;
    char *labels;
    char *fields;
    char *scope;
};

/* Copies the texts. The resource must outlive *q. Release with query_fini(). */
void query_init(struct query *q, const struct resource *resource, const char *ns, const char *name);

/* Copies the selectors; "" or NULL = none. */
void query_select(struct query *q, const char *labels, const char *fields);

/* Frees the texts. */
void query_fini(struct query *q);

/* Appends the target of the request for an action (docs/kubernetes-protocol.md "Version of a list",
 * "Pages", "Watch requests", "Streaming lists"). */
void query_put_target(const struct query *q, struct buf *out, const struct reflector_action *a);

/* Appends the field selector of these requests, as it is before it is escaped; nothing if there is
 * none. */
void query_put_fields(const struct query *q, struct buf *out);

/* The Accept header for such a request; NULL = application/json. partial: as
 * PartialObjectMetadata. */
const char *query_accept(enum reflector_do what, bool partial);

/* Do namespace, name or selectors certainly not select the object? is_whole: the object has all
 * that the server has of it, so a label that it lacks is absent there, too. */
bool query_rejects(const struct query *q, const struct object *o, bool is_whole);

/* "namespace/name" of the scope, for logs; "" = all objects. */
const char *query_scope(const struct query *q);

#endif
