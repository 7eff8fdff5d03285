/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object - one Kubernetes object: identity, versions and its bytes; pure, immutable, counted. The
 * bytes are the JSON of the server without managedFields. The values of metadata.resourceVersion
 * and metadata.generation are kept beside them and spliced in when the object is written, so that
 * objects which differ only in these have equal bytes (docs/design.md "Objects"). Different bytes
 * may still say the same (proto/json_value): object_same() tells.
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

/* The values that object_create() copies. body holds the JSON without managedFields and without
 * the values of resourceVersion and generation; the *_at positions say where in body these values
 * belong (SIZE_MAX = the object has none). The quotes of the resourceVersion stay in body. */
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

/* Makes an object with one reference, the caller's. Never NULL. */
struct object *object_create(const struct object_parts *p);

/* The same for an object of a server; NULL if there is no memory for it. */
struct object *object_try_create(const struct object_parts *p);

/* The values that the object was made of, borrowed as long as it lives: for objects that are made
 * from another one. */
struct object_parts object_parts_of(const struct object *o);

/* Takes one more reference; returns o. */
struct object *object_ref(struct object *o);

/* Drops a reference and sets *o to NULL; the last reference frees the object. NULL is fine. */
void object_unref(struct object **o);

/* "namespace/name", or "name" of a cluster-scoped object, as in client-go. A view into the
 * object, valid as long as it lives, and followed by a NUL. */
struct str object_key(const struct object *o);
/* Compares two elements of an array of struct object * by their keys, for qsort(). */
int object_by_key(const void *a, const void *b);
/* metadata.namespace, empty for a cluster-scoped object. This and the views below are valid as
 * long as the object lives. */
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

/* Its JSON as struct object_parts has it; empty if the object is bare. */
struct str object_body(const struct object *o);

/* The bytes of memory that the object takes, for accounting. */
size_t object_bytes(const struct object *o);

/* Appends the object as JSON, with resourceVersion and generation in their places. A bare object
 * is written with the identity that is known. */
void object_put_json(struct buf *out, const struct object *o);

/* Appends the object as JSON with the resourceVersion "" and without generation, so that objects
 * which differ only in these give the same text. */
void object_put_unversioned(struct buf *out, const struct object *o);

/* A digest by which a state of an object is recognised (docs/design.md "Equality"), without
 * resourceVersion, generation and managedFields: hi is made of the bytes, lo of the value that
 * they say. Two states are equal if either half is: digest_either(). */
struct digest object_digest(const struct object *o);

/* The half hi of object_digest(), which costs less than lo. */
uint64_t object_digest_of_bytes(const struct object *o);

/* Does the object consist of its identity only? It has no bytes then. */
bool object_is_bare(const struct object *o);

/* Are the bytes of both equal, without resourceVersion, generation and managedFields? */
bool object_same_bytes(const struct object *a, const struct object *b);

/* Do both say the same, without these three, however it is written? */
bool object_same(const struct object *a, const struct object *b);

#endif
