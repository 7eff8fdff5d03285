/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scopes - the scopes of a watch, one for each pair of a namespace and a name that it selects;
 * pure. Used by watch only.
 */
#ifndef CACHE_SCOPES_H
#define CACHE_SCOPES_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "kube/object.h"
#include "kube/resource.h"

struct watch_params;

struct scopes_texts {
    char **v;
    size_t n;
};

/* Read-only outside scopes.c. */
struct scopes {
    struct scopes_texts namespaces; /* empty, or "*" alone = all */
    struct scopes_texts names;      /* empty = all */
    size_t count;                   /* how many scopes there are */
};

/* Copies namespaces and names of the watch. Release with scopes_fini(). */
void scopes_init(struct scopes *s, const struct watch_params *p);

/* Frees the copies. */
void scopes_fini(struct scopes *s);

/* ERR_CONFIG: "*" does not stand alone in namespaces. */
enum err_kind scopes_check(const struct scopes *s, struct err *err) MUST_CHECK;

/* Do the namespaces fit the resource, be it namespaced or cluster-scoped? If it is not known which
 * of the two *r is, *r becomes the one that fits. ERR_CONFIG says what does not fit. */
enum err_kind scopes_check_resource(const struct scopes *s, struct resource *r,
                                    struct err *err) MUST_CHECK;

/* The namespace that a scope asks for; NULL = all. */
const char *scopes_namespace(const struct scopes *s, size_t scope);
/* The name that a scope asks for; NULL = all. */
const char *scopes_name(const struct scopes *s, size_t scope);

/* The scope that selects the namespace and name of the object; the first scope if none does. */
size_t scopes_find(const struct scopes *s, const struct object *o);

/* Appends "namespace/name" of a scope, or one of both; nothing if it selects all objects. */
void scopes_put_name(const struct scopes *s, size_t scope, struct buf *out);

#endif
