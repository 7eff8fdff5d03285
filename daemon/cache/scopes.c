/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch_params.h"

static struct scopes_texts copy(const char *const *v, size_t n)
{
    struct scopes_texts t = {.v = mem_array(n + 1, sizeof(char *)), .n = n};

    for (size_t i = 0; i < n; i++)
        t.v[i] = mem_strdup(v[i]);
    return t;
}

static void free_texts(struct scopes_texts *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
}

/* All namespaces (or names) make one scope. */
static size_t texts_count(const struct scopes_texts *t)
{
    return t->n > 0 ? t->n : 1;
}

void scopes_init(struct scopes *s, const struct watch_params *p)
{
    s->namespaces = copy(p->namespaces, p->namespace_count);
    s->names = copy(p->names, p->name_count);
    s->count = texts_count(&s->namespaces) * texts_count(&s->names);
}

void scopes_fini(struct scopes *s)
{
    free_texts(&s->namespaces);
    free_texts(&s->names);
}

static bool all_namespaces(const struct scopes *s)
{
    return s->namespaces.n == 1 && strcmp(s->namespaces.v[0], "*") == 0;
}

enum err_kind scopes_check(const struct scopes *s, struct err *err)
{
    for (size_t i = 0; i < s->namespaces.n; i++)
        if (s->namespaces.n > 1 && strcmp(s->namespaces.v[i], "*") == 0)
            return err_set(err, ERR_CONFIG, 0, "namespaces: \"*\" stands alone");
    return ERR_OK;
}

/* For a resource that is not known, the user's settings say whether it is namespaced. */
enum err_kind scopes_check_resource(const struct scopes *s, struct resource *r, struct err *err)
{
    size_t n = s->namespaces.n;

    if (r->scope == RESOURCE_SCOPE_UNKNOWN)
        r->scope = n > 0 ? RESOURCE_NAMESPACED : RESOURCE_CLUSTER_SCOPED;
    if (r->scope == RESOURCE_CLUSTER_SCOPED && n > 0 && !all_namespaces(s))
        return err_set(err, ERR_CONFIG, 0, "%s is cluster-scoped: leave namespaces out", r->plural);
    if (r->scope == RESOURCE_NAMESPACED && n == 0)
        return err_set(err, ERR_CONFIG, 0,
                       "%s is namespaced: set namespaces to names, or to [ \"*\" ] for all",
                       r->plural);
    return ERR_OK;
}

/* Scopes are numbered by namespace, and within each by name. */
const char *scopes_namespace(const struct scopes *s, size_t scope)
{
    ensure(scope < s->count);
    if (s->namespaces.n == 0 || all_namespaces(s))
        return NULL;
    return s->namespaces.v[scope / texts_count(&s->names)];
}

const char *scopes_name(const struct scopes *s, size_t scope)
{
    ensure(scope < s->count);
    return s->names.n > 0 ? s->names.v[scope % s->names.n] : NULL;
}

static bool selects(const char *wanted, struct str is)
{
    return wanted == NULL || str_is(is, wanted);
}

size_t scopes_find(const struct scopes *s, const struct object *o)
{
    for (size_t i = 0; i < s->count; i++)
        if (selects(scopes_namespace(s, i), object_namespace(o)) &&
            selects(scopes_name(s, i), object_name(o)))
            return i;
    return 0;
}

void scopes_put_name(const struct scopes *s, size_t scope, struct buf *out)
{
    const char *ns = scopes_namespace(s, scope);
    const char *name = scopes_name(s, scope);

    buf_printf(out, "%s%s%s", ns != NULL ? ns : "", ns != NULL && name != NULL ? "/" : "",
               name != NULL ? name : "");
}
