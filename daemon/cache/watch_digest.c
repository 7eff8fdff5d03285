/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/watch_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* What this release makes of the settings: a release that keeps other bytes has another number. */
#define FORM "1"

/* With its NUL, so that no two settings run into each other. */
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

static uint64_t number_of(struct buf *b)
{
    struct digest d = digest_of(b->data, b->len);

    buf_free(b);
    return d.hi;
}

static uint64_t selection_of(const struct watch_params *p)
{
    struct buf b = {0};

    put(&b, p->resource);
    put(&b, p->label_selector);
    put(&b, p->field_selector);
    put_set(&b, p->shape.match, p->shape.match_count);
    return number_of(&b);
}

/* What is read of each, and of which namespaces and names: streams say that, too. */
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
