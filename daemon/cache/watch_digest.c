/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* A release that makes other bytes from the same settings must have another number here: digests that an
 * earlier release has kept would not compare. */
#define FORM "1"

/* With its NUL, so that two settings never look like two others. */
static void put(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text) + 1);
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a;
    const char *const *y = b;

    return strcmp(*x, *y);
}

/* The order in the file has no meaning, so the texts are sorted. */
static void put_set(struct buf *b, const char *const *v, size_t n)
{
    const char **sorted = mem_array(n + 1, sizeof(*sorted));

    for (size_t i = 0; i < n; i++)
        sorted[i] = v[i];
    qsort(sorted, n, sizeof(*sorted), by_text);
    buf_printf(b, "%zu:", n);
    for (size_t i = 0; i < n; i++)
        put(b, sorted[i]);
    free(sorted);
}

/* Frees the buffer, too. */
static uint64_t number_of(struct buf *b)
{
    struct digest d = digest_of(b->data, b->len);

    buf_free(b);
    return d.hi;
}

/* The half that says which objects are selected (watch_digest_selects_same()). */
static uint64_t selection_of(const struct watch_params *p)
{
    struct buf b = {0};

    put(&b, p->resource);
    put(&b, p->label_selector);
    put(&b, p->field_selector);
    put_set(&b, p->shape.match, p->shape.match_count);
    return number_of(&b);
}

/* The half that says which parts of objects are kept, and of which namespaces and names: other
 * namespaces and names do not change the selection in those that stay, and scopes are known by name. */
static uint64_t extent_of(const struct watch_params *p)
{
    struct buf b = {0};

    put(&b, FORM);
    put_set(&b, p->namespaces, p->namespace_count);
    put_set(&b, p->names, p->name_count);
    put_set(&b, p->shape.keep, p->shape.keep_count);
    put_set(&b, p->shape.drop, p->shape.drop_count);
    buf_printf(&b, "%zu", p->object_size);
    return number_of(&b);
}

struct digest watch_digest(const struct watch_params *p)
{
    return (struct digest){.lo = extent_of(p), .hi = selection_of(p)};
}

bool watch_digest_selects_same(struct digest a, struct digest b)
{
    return a.hi == b.hi;
}
