/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Which words of a resource a name is compared with, the better match first. */
enum match { MATCH_PLURAL, MATCH_SHORT, MATCH_SINGULAR, MATCHES };

/* Makes room for one more item behind count. The array doubles when count reaches a power of two,
 * which is right only if count grows one by one. */
static void *make_room(void *items, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return items;
    return mem_realloc(items, (count == 0 ? 1 : 2 * count) * size);
}

void catalog_add_resource(struct catalog_version *to, struct catalog_resource *item)
{
    to->resources = make_room(to->resources, to->count, sizeof(*item));
    to->resources[to->count++] = *item;
    *item = (struct catalog_resource){0};
}

void catalog_add_version(struct catalog_group *to, struct catalog_version *item)
{
    to->versions = make_room(to->versions, to->count, sizeof(*item));
    to->versions[to->count++] = *item;
    *item = (struct catalog_version){0};
}

enum err_kind catalog_add_group(struct catalog *to, struct catalog_group *item, struct err *err)
{
    size_t resources = to->resources;

    for (size_t i = 0; i < item->count; i++)
        resources += item->versions[i].count;
    /* A group counts as one even without versions, so groups are bounded, too. Too many are an
     * error, because a catalog that is cut off would hide resources silently. */
    if (to->versions + item->count + 1 > CATALOG_MAX_VERSIONS ||
        resources > CATALOG_MAX_RESOURCES) {
        catalog_group_fini(item);
        return err_set(err, ERR_TOO_BIG, 0,
                       "the server lists more than %d groups and versions, or %d resources",
                       CATALOG_MAX_VERSIONS, CATALOG_MAX_RESOURCES);
    }
    to->versions += item->count + 1;
    to->resources = resources;
    to->groups = make_room(to->groups, to->count, sizeof(*item));
    to->groups[to->count++] = *item;
    *item = (struct catalog_group){0};
    return ERR_OK;
}

void catalog_resource_fini(struct catalog_resource *r)
{
    free(r->plural);
    free(r->kind);
    free(r->singular);
    free(r->shorts);
    *r = (struct catalog_resource){0};
}

void catalog_version_fini(struct catalog_version *v)
{
    for (size_t i = 0; i < v->count; i++)
        catalog_resource_fini(&v->resources[i]);
    free(v->resources);
    free(v->name);
    free(v->err);
    *v = (struct catalog_version){0};
}

void catalog_group_fini(struct catalog_group *g)
{
    for (size_t i = 0; i < g->count; i++)
        catalog_version_fini(&g->versions[i]);
    free(g->versions);
    free(g->name);
    *g = (struct catalog_group){0};
}

void catalog_fini(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        catalog_group_fini(&c->groups[i]);
    free(c->groups);
    *c = (struct catalog){0};
}

void catalog_set_failed(struct catalog_version *v, const struct err *why)
{
    free(v->err);
    v->state = CATALOG_FAILED;
    v->err = mem_dup(why, sizeof(*why));
}

size_t catalog_readings(const char *text, struct catalog_name out[2])
{
    struct catalog_name plain = {.name = str_of(text, strcspn(text, "."))};
    const char *rest = text + plain.name.n;

    if (*rest != '\0') {
        plain.has_group = true;
        plain.group = str_c(rest + 1);
    }
    /* The second word is a version or the beginning of a group such as apps or networking.k8s.io;
     * only the server knows which, so both readings are kept. */
    struct str second = str_of(plain.group.p, plain.has_group ? strcspn(rest + 1, ".") : 0);
    out[0] = plain;
    /* No second point: there is nothing behind a version. */
    if (second.n == plain.group.n)
        return 1;
    struct catalog_name full = plain;
    full.has_version = true;
    full.version = second;
    full.group = str_of(second.p + second.n + 1, plain.group.n - second.n - 1);
    bool first = resource_is_version(second);
    out[first ? 0 : 1] = full;
    out[first ? 1 : 0] = plain;
    return 2;
}

static bool begins(struct str text, struct str with)
{
    return text.n >= with.n && strncasecmp(text.p, with.p, with.n) == 0;
}

/* A version is written between NAME and GROUP only with the whole group, so the beginning of a
 * group counts only without one. */
bool catalog_may_be_in(const struct catalog_name *n, struct str group)
{
    if (!n->has_group)
        return true;
    return begins(group, n->group) && (group.n == n->group.n || !n->has_version);
}

static bool matches(const struct catalog_resource *r, struct str name, enum match as)
{
    switch (as) {
    case MATCH_PLURAL:
        return resource_is_word(name, r->plural);
    case MATCH_SHORT:
        return resource_has_short(r->shorts, name);
    case MATCH_SINGULAR:
        return resource_is_word(name, r->singular) || resource_is_word(name, r->kind);
    case MATCHES:
        break;
    }
    return false;
}

static const struct catalog_resource *find_in(const struct catalog_version *v, struct str name,
                                              enum match as, bool watchable)
{
    for (size_t i = 0; i < v->count; i++)
        if ((v->resources[i].watchable || !watchable) && matches(&v->resources[i], name, as))
            return &v->resources[i];
    return NULL;
}

/* Looks through the versions of a group, which stand in its order of preference, or at the one
 * that the name has. */
static bool find_in_group(const struct catalog_group *g, const struct catalog_name *n,
                          enum match as, bool watchable, struct catalog_hit *out)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct catalog_version *v = &g->versions[i];

        if (n->has_version && !resource_is_word(n->version, v->name))
            continue;
        *out = (struct catalog_hit){g, v, find_in(v, n->name, as, watchable)};
        if (out->resource != NULL)
            return true;
    }
    return false;
}

/* Looks through the groups. exact: only groups of exactly the name's group, and all of them if
 * the name has none; else only those that merely begin like it. The outer loop is over the words:
 * a plural in any group comes before a short name in the first one. */
static bool find_as(const struct catalog *c, const struct catalog_name *n, bool exact,
                    bool watchable, struct catalog_hit *out)
{
    for (int as = 0; as < MATCHES; as++)
        for (size_t i = 0; i < c->count; i++) {
            const struct catalog_group *g = &c->groups[i];
            struct str group = str_c(g->name);
            bool equal = !n->has_group || group.n == n->group.n;

            if (catalog_may_be_in(n, group) && equal == exact &&
                find_in_group(g, n, (enum match)as, watchable, out))
                return true;
        }
    return false;
}

bool catalog_find(const struct catalog *c, const struct catalog_name *n, bool watchable,
                  struct catalog_hit *out)
{
    return find_as(c, n, true, watchable, out) || find_as(c, n, false, watchable, out);
}
