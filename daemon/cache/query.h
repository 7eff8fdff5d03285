/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - what one stream of a watch selects, and the request targets that ask for it; pure.
 */
#ifndef CACHE_QUERY_H
#define CACHE_QUERY_H

#include "base/buf.h"
#include "cache/reflector.h"
#include "kube/object.h"
#include "kube/resource.h"

/* Texts are owned; NULL = none. */
struct query {
    const struct resource *resource; /* borrowed */
    char *ns;
    char *name;
    char *labels;
    char *fields;
    char *scope;
};

/* Copies the texts; "" counts as none for selectors. The resource must outlive *q. Release with
 * query_fini(). */
void query_init(struct query *q, const struct resource *resource, const char *ns, const char *name);

/* Copies the selectors ("" or NULL = none). */
void query_select(struct query *q, const char *labels, const char *fields);

/* Frees the texts. */
void query_fini(struct query *q);

/* Appends the target of a request (docs/kubernetes-protocol.md "Version of a list", "Pages",
 * "Watch requests", "Streaming lists"). */
void query_put_target(const struct query *q, struct buf *out, const struct reflector_action *a);

/* The Accept header for what is asked; NULL = application/json. partial: PartialObjectMetadata. */
const char *query_accept(enum reflector_do what, bool partial);

/* Is it known that it does not select the object, by namespace, name and selectors? is_whole: the object has all
 * that the server has of it, so that a label it lacks is none. */
bool query_rejects(const struct query *q, const struct object *o, bool is_whole);

/* "namespace/name" of what it selects, for logs; "" = everything. */
const char *query_scope(const struct query *q);

#endif
