/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/span.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch_params.h"

static struct span_texts copy(const char *const *v, size_t n)
{
    struct span_texts t = {.v = mem_array(n + 1, sizeof(char *)), .n = n};

    for (size_t i = 0; i < n; i++)
        t.v[i] = mem_strdup(v[i]);
    return t;
}

static void free_texts(struct span_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
}

/* All is one stream. */
static size_t streams_of(const struct span_texts *t)
{
    return t->n > 0 ? t->n : 1;
}

void span_init(struct span *s, const struct watch_params *p)
{
    s->namespaces = copy(p->namespaces, p->namespace_count);
    s->names = copy(p->names, p->name_count);
    s->streams = streams_of(&s->namespaces) * streams_of(&s->names);
}

void span_fini(struct span *s)
{
    free_texts(&s->namespaces);
    free_texts(&s->names);
}

static bool all_namespaces(const struct span *s)
{
    return s->namespaces.n == 1 && strcmp(s->namespaces.v[0], "*") == 0;
}

enum err_kind span_check(const struct span *s, struct err *err)
{
    for (size_t i = 0; i < s->namespaces.n; i++)
        if (s->namespaces.n > 1 && strcmp(s->namespaces.v[i], "*") == 0)
            return err_set(err, ERR_CONFIG, 0, "namespaces: \"*\" stands alone");
    return ERR_OK;
}

enum err_kind span_check_scope(const struct span *s, struct resource *r, struct err *err)
{
    size_t n = s->namespaces.n;

    if (r->scope == SCOPE_UNKNOWN)
        r->scope = n > 0 ? SCOPE_NAMESPACED : SCOPE_CLUSTER;
    if (r->scope == SCOPE_CLUSTER && n > 0 && !all_namespaces(s))
        return err_set(err, ERR_CONFIG, 0, "%s is cluster-scoped: leave namespaces out", r->plural);
    if (r->scope == SCOPE_NAMESPACED && n == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "%s is namespaced: set namespaces to names, or to [ \"*\" ] for all",
                       r->plural);
    return ERR_OK;
}

const char *span_namespace(const struct span *s, size_t stream)
{
    ensure(stream < s->streams);
    if (s->namespaces.n == 0 || all_namespaces(s))
        return NULL;
    return s->namespaces.v[stream / streams_of(&s->names)];
}

const char *span_name(const struct span *s, size_t stream)
{
    ensure(stream < s->streams);
    return s->names.n > 0 ? s->names.v[stream % s->names.n] : NULL;
}

static bool selects(const char *wanted, struct str is)
{
    return wanted == NULL || str_is(is, wanted);
}

size_t span_find(const struct span *s, const struct object *o)
{
    for (size_t i = 0; i < s->streams; i++)
        if (selects(span_namespace(s, i), object_namespace(o)) &&
            selects(span_name(s, i), object_name(o)))
            return i;
    return 0;
}

void span_put_scope(const struct span *s, size_t stream, struct buf *out)
{
    const char *ns = span_namespace(s, stream);
    const char *name = span_name(s, stream);

    buf_printf(out, "%s%s%s", ns != NULL ? ns : "", ns != NULL && name != NULL ? "/" : "",
               name != NULL ? name : "");
}
