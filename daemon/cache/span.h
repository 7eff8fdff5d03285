/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - the namespaces and names that a watch selects, and the streams they make: one for each
 * pair; pure. The inner side of watch, and only its.
 */
#ifndef CACHE_SPAN_H
#define CACHE_SPAN_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "kube/object.h"
#include "kube/resource.h"

struct watch_params;

struct span_texts {
    char **v;
    size_t n;
};

/* Read-only outside span.c. */
struct span {
    struct span_texts namespaces; /* none, or "*" alone = all */
    struct span_texts names;      /* none = all */
    size_t streams;               /* how many there are */
};

/* Copies them. Release with span_fini(). */
void span_init(struct span *s, const struct watch_params *p);

/* Frees them. */
void span_fini(struct span *s);

/* ERR_CONFIG: "*" does not stand alone. */
enum err_kind span_check(const struct span *s, struct err *err) MUST_CHECK;

/* Does it fit the scope of the resource? One that is not known is taken to be what fits. ERR_CONFIG
 * says what does not. */
enum err_kind span_check_scope(const struct span *s, struct resource *r,
                               struct err *err) MUST_CHECK;

/* What a stream asks for; NULL = all. */
const char *span_namespace(const struct span *s, size_t stream);
/* See above. */
const char *span_name(const struct span *s, size_t stream);

/* The stream that selects the object's namespace and name; the first one if none does. */
size_t span_find(const struct span *s, const struct object *o);

/* Appends "namespace/name" of a stream, or one of both; nothing = everything. */
void span_put_scope(const struct span *s, size_t stream, struct buf *out);

#endif
