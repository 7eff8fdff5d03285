/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object - one Kubernetes object: identity, versions and its bytes; pure, immutable, counted.
 * The bytes are the server's own JSON without managedFields. The values of metadata.resourceVersion
 * and metadata.generation are kept beside them and spliced in when the object is written, so that
 * objects which differ only there are equal bytes (docs/design.md "Objects"). Other bytes may still
 * say the same (proto/json_value): object_same().
 */
#ifndef KUBE_OBJECT_H
#define KUBE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/str.h"

struct object;

/* What object_create() copies. body holds the JSON without managedFields, RV and generation values;
 * the *_at positions say where those go in (SIZE_MAX = the object has none). rv is spliced in
 * without quotes, which stay in body. */
struct object_parts {
    struct str ns; /* empty = cluster-scoped */
    struct str name;
    struct str uid;
    struct str rv;
    struct str generation; /* as written */
    struct str api_version;
    struct str kind;
    struct str body;
    size_t rv_at;
    size_t generation_at;
};

/* One reference for the caller. Never NULL. */
struct object *object_create(const struct object_parts *p);

/* What it was made of, borrowed as long as it lives: for one that holds another. */
struct object_parts object_parts_of(const struct object *o);

/* One more reference; returns o. */
struct object *object_ref(struct object *o);

/* Drops a reference and sets *o to NULL; the last one frees. NULL is fine. */
void object_unref(struct object **o);

/* "namespace/name", or "name" of a cluster-scoped object, as in client-go; ends in NUL. */
struct str object_key(const struct object *o);
/* Views into the object, valid as long as it lives. */
struct str object_namespace(const struct object *o);
/* metadata.name. */
struct str object_name(const struct object *o);
/* metadata.uid. */
struct str object_uid(const struct object *o);
/* metadata.resourceVersion. */
struct str object_rv(const struct object *o);
/* apiVersion. */
struct str object_api_version(const struct object *o);
/* kind. */
struct str object_kind(const struct object *o);

/* Bytes it holds, for accounting. */
size_t object_bytes(const struct object *o);

/* Appends the object as JSON, RV and generation in their places; of a bare one what is known. */
void object_put_json(struct buf *out, const struct object *o);

/* The like with the same RV for all objects, "", and without generation. */
void object_put_unversioned(struct buf *out, const struct object *o);

/* By this a state is known again, without RV, generation, managedFields
 * (docs/design.md "Equality"): hi by its bytes, lo by what they say. Either one is enough:
 * digest_either(). */
struct digest object_digest(const struct object *o);

/* The first half of it, which costs less. */
uint64_t object_digest_of_bytes(const struct object *o);

/* The other half: json_value_digest(), found once for each object. */
uint64_t object_digest_of_value(const struct object *o);

/* Is no more known of it than whose state it was? It has no bytes. */
bool object_is_bare(const struct object *o);

/* Equal bytes but for RV, generation, managedFields? */
bool object_same_bytes(const struct object *a, const struct object *b);

/* Do they say the same but for that, however it is written? */
bool object_same(const struct object *a, const struct object *b);

#endif
