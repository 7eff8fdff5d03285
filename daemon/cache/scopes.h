/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scopes - the namespaces and names that a watch selects, and the streams they make: one for each
 * pair; pure. The inner side of watch, and only its.
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
    struct scopes_texts namespaces; /* none, or "*" alone = all */
    struct scopes_texts names;      /* none = all */
    size_t count;                   /* how many there are */
};

/* Copies them. Release with scopes_fini(). */
void scopes_init(struct scopes *s, const struct watch_params *p);

/* Frees them. */
void scopes_fini(struct scopes *s);

/* ERR_CONFIG: "*" does not stand alone. */
enum err_kind scopes_check(const struct scopes *s, struct err *err) MUST_CHECK;

/* Does it fit the scope of the resource? One that is not known is taken to be what fits. ERR_CONFIG
 * says what does not. */
enum err_kind scopes_check_resource(const struct scopes *s, struct resource *r,
                                    struct err *err) MUST_CHECK;

/* What a stream asks for; NULL = all. */
const char *scopes_namespace(const struct scopes *s, size_t scope);
/* See above. */
const char *scopes_name(const struct scopes *s, size_t scope);

/* The stream that selects the object's namespace and name; the first one if none does. */
size_t scopes_find(const struct scopes *s, const struct object *o);

/* Appends "namespace/name" of a stream, or one of both; nothing = everything. */
void scopes_put_name(const struct scopes *s, size_t scope, struct buf *out);

#endif
