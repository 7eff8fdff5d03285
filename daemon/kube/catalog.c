/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "proto/json_in.h"

/* ---- Groups, versions and resources */

/* Adds *item at the end of its version, which takes it over: *item is zeroed. */
static void add_resource(struct catalog_version *to, struct catalog_resource *item)
{
    to->resources = mem_grow(to->resources, to->count, sizeof(*item));
    to->resources[to->count++] = *item;
    *item = (struct catalog_resource){0};
}

static void add_version(struct catalog_group *to, struct catalog_version *item)
{
    to->versions = mem_grow(to->versions, to->count, sizeof(*item));
    to->versions[to->count++] = *item;
    *item = (struct catalog_version){0};
}

static void fini_resource(struct catalog_resource *r)
{
    free(r->plural);
    free(r->kind);
    free(r->singular);
    free(r->shorts);
    *r = (struct catalog_resource){0};
}

static void fini_version(struct catalog_version *v)
{
    for (size_t i = 0; i < v->count; i++)
        fini_resource(&v->resources[i]);
    free(v->resources);
    free(v->name);
    free(v->err);
    *v = (struct catalog_version){0};
}

static void fini_group(struct catalog_group *g)
{
    for (size_t i = 0; i < g->count; i++)
        fini_version(&g->versions[i]);
    free(g->versions);
    free(g->name);
    *g = (struct catalog_group){0};
}

void catalog_fini(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        fini_group(&c->groups[i]);
    free(c->groups);
    *c = (struct catalog){0};
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
        fini_group(item);
        return err_set(err, ERR_TOO_BIG, 0,
                       "the server lists more than %d groups and versions, or %d resources",
                       CATALOG_MAX_VERSIONS, CATALOG_MAX_RESOURCES);
    }
    to->versions += item->count + 1;
    to->resources = resources;
    to->groups = mem_grow(to->groups, to->count, sizeof(*item));
    to->groups[to->count++] = *item;
    *item = (struct catalog_group){0};
    return ERR_OK;
}

void catalog_set_failed(struct catalog_version *v, const struct err *why)
{
    free(v->err);
    v->state = CATALOG_FAILED;
    v->err = mem_dup(why, sizeof(*why));
}

/* ---- Reading a document
 *
 * The body of an answer has the aggregated form (APIGroupDiscoveryList v2, v2beta1) or one of the
 * three older kinds (docs/kubernetes-protocol.md "Discovery"). */

/* DEPTHS: the deepest value that counts, the kind in a responseKind of the aggregated form,
 * stands at depth 8. The other numbers bound names: a DNS label, a DNS subdomain, and all short
 * names of one resource together. */
enum { DEPTHS = 10, LABEL_MAX = 63, NAME_MAX_BYTES = 253, SHORTS_MAX_BYTES = 1024 };

/* Where in a document a value stands. The aggregated form and the older kinds share a place if it
 * has the same meaning in both. */
enum place {
    NOWHERE,
    TOP,
    KIND,
    GROUPS,
    GROUP,
    GROUP_META,
    GROUP_NAME,
    VERSIONS,
    VERSION,
    VERSION_NAME,
    FRESHNESS,
    PREFERRED,
    PREFERRED_NAME,
    CORE_VERSIONS,
    CORE_VERSION,
    RESOURCES,
    RESOURCE,
    PLURAL,
    SINGULAR,
    SCOPE,
    NAMESPACED,
    RESPONSE_KIND,
    RESOURCE_KIND,
    VERBS,
    VERB,
    SHORTS,
    SHORT,
};

/* How the reader gets from one place to the next: by the key of a member, or by "" for an element
 * of an array. Every other key leads NOWHERE. */
static const struct {
    enum place from;
    const char *key;
    enum place to;
} ways[] = {
    {TOP,           "kind",             KIND          },
    {TOP,           "items",            GROUPS        },
    {TOP,           "groups",           GROUPS        },
    {TOP,           "versions",         CORE_VERSIONS },
    {TOP,           "resources",        RESOURCES     },
    {GROUPS,        "",                 GROUP         },
    {GROUP,         "metadata",         GROUP_META    },
    {GROUP,         "name",             GROUP_NAME    },
    {GROUP_META,    "name",             GROUP_NAME    },
    {GROUP,         "versions",         VERSIONS      },
    {GROUP,         "preferredVersion", PREFERRED     },
    {PREFERRED,     "version",          PREFERRED_NAME},
    {VERSIONS,      "",                 VERSION       },
    {VERSION,       "version",          VERSION_NAME  },
    {VERSION,       "freshness",        FRESHNESS     },
    {VERSION,       "resources",        RESOURCES     },
    {CORE_VERSIONS, "",                 CORE_VERSION  },
    {RESOURCES,     "",                 RESOURCE      },
    {RESOURCE,      "resource",         PLURAL        },
    {RESOURCE,      "name",             PLURAL        },
    {RESOURCE,      "singularResource", SINGULAR      },
    {RESOURCE,      "singularName",     SINGULAR      },
    {RESOURCE,      "scope",            SCOPE         },
    {RESOURCE,      "namespaced",       NAMESPACED    },
    {RESOURCE,      "responseKind",     RESPONSE_KIND },
    {RESOURCE,      "kind",             RESOURCE_KIND },
    {RESPONSE_KIND, "kind",             RESOURCE_KIND },
    {RESOURCE,      "verbs",            VERBS         },
    {VERBS,         "",                 VERB          },
    {RESOURCE,      "shortNames",       SHORTS        },
    {SHORTS,        "",                 SHORT         },
};

struct scan {
    enum place place[DEPTHS]; /* [d]: where the next value at depth d stands */
    char *kind;
    struct catalog groups;
    struct catalog_group group; /* under way */
    char *preferred;
    struct catalog_version version; /* under way; for CATALOG_DOC_RESOURCES the whole document */
    bool stale;
    struct catalog_resource resource; /* under way */
    bool can_list;
    bool can_watch;
    struct buf shorts;
    size_t resources;
    struct err err;
};

static enum place go(enum place from, struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(ways); i++)
        if (ways[i].from == from && str_is(key, ways[i].key))
            return ways[i].to;
    return NOWHERE;
}

/* Kinds, singulars and short names are compared and shown, but stand in no path. So any printable
 * ASCII will do, except for bytes that would break a log line or a quoted text. */
static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("\"\\/", s.p[i]) != NULL)
            return false;
    return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

/* Replaces *to by a copy of text, or by NULL if text is not valid there. */
static void put(char **to, struct str text, bool valid)
{
    free(*to);
    *to = valid ? mem_strndup(text.p, text.n) : NULL;
}

/* Adds a short name to those of the resource. A bad one, or one too many, is left out without an
 * error: the resource can be named by its plural all the same. */
static void put_short(struct scan *s, struct str text)
{
    if (!is_word(text) || s->shorts.len + text.n > SHORTS_MAX_BYTES)
        return;
    if (s->shorts.len > 0)
        buf_putc(&s->shorts, ' ');
    buf_append_str(&s->shorts, text);
}

/* APIVersions lists bare names of versions, all of the core group. They are collected in
 * s->group, which take() completes. */
static void add_core_version(struct scan *s, struct str name)
{
    struct catalog_version v = {0};

    if (!resource_is_dns(name, "-", LABEL_MAX) || s->group.count >= CATALOG_MAX_VERSIONS)
        return;
    put(&v.name, name, true);
    add_version(&s->group, &v);
}

static void take_verb(struct scan *s, struct str verb)
{
    s->can_list |= str_is(verb, "list");
    s->can_watch |= str_is(verb, "watch");
}

/* Takes a string for the place where it stands. A name that is not valid becomes NULL, and an
 * owner that cannot do without it is left out by end_resource(), end_version() or end_group(). */
static void take_string(struct scan *s, enum place at, struct str text)
{
    if (at == KIND)
        put(&s->kind, text, is_word(text));
    else if (at == GROUP_NAME) /* empty = core */
        put(&s->group.name, text, text.n == 0 || resource_is_dns(text, "-.", NAME_MAX_BYTES));
    else if (at == VERSION_NAME)
        put(&s->version.name, text, resource_is_dns(text, "-", LABEL_MAX));
    else if (at == PREFERRED_NAME)
        put(&s->preferred, text, true);
    else if (at == FRESHNESS)
        s->stale = str_is(text, "Stale");
    else if (at == CORE_VERSION)
        add_core_version(s, text);
    else if (at == PLURAL) /* with a slash: a subresource */
        put(&s->resource.plural, text, resource_is_dns(text, "-.", NAME_MAX_BYTES));
    else if (at == SINGULAR)
        put(&s->resource.singular, text, is_word(text));
    else if (at == RESOURCE_KIND)
        put(&s->resource.kind, text, is_word(text));
    else if (at == SCOPE && str_is(text, "Cluster"))
        s->resource.scope = RESOURCE_CLUSTER_SCOPED;
    else if (at == SCOPE && str_is(text, "Namespaced"))
        s->resource.scope = RESOURCE_NAMESPACED;
    else if (at == VERB)
        take_verb(s, text);
    else if (at == SHORT)
        put_short(s, text);
}

/* An object begins at this place: the values of the one before it, which was moved away or left
 * out, must not leak into it. */
static void begin(struct scan *s, enum place at)
{
    if (at == RESOURCE) {
        fini_resource(&s->resource);
        s->resource.scope = RESOURCE_SCOPE_UNKNOWN;
        buf_clear(&s->shorts);
        s->can_list = false;
        s->can_watch = false;
    } else if (at == VERSION) {
        fini_version(&s->version);
        s->stale = false;
    } else if (at == GROUP) {
        fini_group(&s->group);
        put(&s->preferred, str_c(""), false);
    } else if (at == GROUP_META && s->group.name == NULL) {
        put(&s->group.name, str_c(""), true); /* the core group has no name */
    }
}

/* Adds the resource to the version under way. A resource without a name, kind or scope could not
 * be watched and is left out, as are subresources, whose name is not valid. False stops the
 * reader. */
static bool end_resource(struct scan *s)
{
    struct catalog_resource *r = &s->resource;

    if (r->plural == NULL || r->kind == NULL || r->scope == RESOURCE_SCOPE_UNKNOWN)
        return true;
    /* Resources are counted over the whole body while it is read, so that they are bounded before
     * they cost memory (docs/design.md "Limits"). */
    if (++s->resources > CATALOG_MAX_RESOURCES) {
        err_set(&s->err, ERR_TOO_BIG, 0, "the server lists more than %d resources",
                CATALOG_MAX_RESOURCES);
        return false;
    }
    r->listable = s->can_list;
    r->watchable = s->can_list && s->can_watch;
    put(&r->shorts, buf_str(&s->shorts), s->shorts.len > 0);
    add_resource(&s->version, r);
    return true;
}

/* Adds the version to the group under way. A Stale version is FAILED and not LISTED: a resource
 * that is missing in it may exist all the same (docs/kubernetes-protocol.md "Discovery"). */
static bool end_version(struct scan *s)
{
    const struct err stale = {ERR_SERVER, 0, "the server behind it does not answer (Stale)"};

    if (s->version.name == NULL)
        return true;
    if (s->group.count >= CATALOG_MAX_VERSIONS) {
        err_set(&s->err, ERR_TOO_BIG, 0, "the server lists more than %d versions of one group",
                CATALOG_MAX_VERSIONS);
        return false;
    }
    if (s->stale)
        catalog_set_failed(&s->version, &stale);
    add_version(&s->group, &s->version);
    return true;
}

/* Moves the preferred version to the front. Only APIGroup names it; the aggregated form has no
 * such member and lists versions in order of preference. */
static void prefer(struct catalog_group *g, const char *name)
{
    for (size_t i = 1; name != NULL && i < g->count; i++) {
        struct catalog_version v = g->versions[i];

        if (strcmp(v.name, name) != 0)
            continue;
        memmove(g->versions + 1, g->versions, i * sizeof(v));
        g->versions[0] = v;
        return;
    }
}

/* Adds the group to the catalog. A group without a valid name or without versions serves nothing
 * and is left out. */
static bool end_group(struct scan *s)
{
    if (s->group.name == NULL || s->group.count == 0)
        return true;
    prefer(&s->group, s->preferred);
    return catalog_add_group(&s->groups, &s->group, &s->err) == ERR_OK;
}

/* An object that began at this place is complete. False stops the reader; s->err then has the
 * reason. */
static bool end(struct scan *s, enum place at)
{
    if (at == RESOURCE)
        return end_resource(s);
    if (at == VERSION)
        return end_version(s);
    return at != GROUP || end_group(s);
}

/* Follows the document through the places: a key sets the place of its value, the start of a
 * container that of the values in it. */
static bool on_token(void *arg, const struct json_token *t)
{
    struct scan *s = arg;

    if (t->depth >= DEPTHS)
        return true;
    enum place at = s->place[t->depth];
    switch (t->type) {
    case JSON_KEY:
        s->place[t->depth] = t->depth > 0 ? go(s->place[t->depth - 1], t->text) : NOWHERE;
        return true;
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (t->depth + 1 < DEPTHS)
            s->place[t->depth + 1] = t->type == JSON_ARRAY ? go(at, str_c("")) : NOWHERE;
        begin(s, t->type == JSON_OBJECT ? at : NOWHERE);
        return true;
    case JSON_OBJECT_END:
        return end(s, at);
    case JSON_STRING:
        take_string(s, at, t->text);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        if (at == NAMESPACED)
            s->resource.scope =
                t->type == JSON_TRUE ? RESOURCE_NAMESPACED : RESOURCE_CLUSTER_SCOPED;
        return true;
    case JSON_ARRAY_END:
    case JSON_NUMBER:
    case JSON_NULL:
        break;
    }
    return true;
}

/* The aggregated form has all resources of a version, so a version that did not fail needs no
 * request of its own. */
static void set_listed(struct catalog *c)
{
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->groups[i].count; k++)
            if (c->groups[i].versions[k].state == CATALOG_UNASKED)
                c->groups[i].versions[k].state = CATALOG_LISTED;
}

/* Moves the part that the kind of the document has out of the scan. The kind may be the last
 * member, so this waits for the end of the body. */
static void take(struct scan *s, struct catalog_doc *out)
{
    static const char *const kinds[] = {"APIGroupDiscoveryList", "APIGroupList", "APIVersions",
                                        "APIResourceList"};
    size_t kind = 0;

    while (kind < ARRAY_LEN(kinds) && (s->kind == NULL || strcmp(s->kind, kinds[kind]) != 0))
        kind++;
    *out = (struct catalog_doc){.kind = (enum catalog_doc_kind)kind};
    if (kind == ARRAY_LEN(kinds)) {
        err_set(&s->err, ERR_PROTOCOL, 0, "the answer is no list of groups or resources");
    } else if (out->kind == CATALOG_DOC_VERSIONS) {
        put(&s->group.name, str_c(""), true);
        if (catalog_add_group(&out->groups, &s->group, &s->err) != ERR_OK)
            catalog_doc_fini(out);
    } else if (out->kind == CATALOG_DOC_RESOURCES) {
        out->version = s->version;
        out->version.state = CATALOG_LISTED;
        s->version = (struct catalog_version){0};
    } else {
        out->groups = s->groups;
        s->groups = (struct catalog){0};
        if (out->kind == CATALOG_DOC_GROUP_DISCOVERY)
            set_listed(&out->groups);
    }
}

enum err_kind catalog_doc_parse(struct str body, struct catalog_doc *out, struct err *err)
{
    struct scan s = {.place = {TOP}};
    struct err json_err;
    enum err_kind kind = json_in_scan(body, on_token, &s, &json_err);

    /* If a callback has stopped the scan, its own error says more than that of the JSON reader. */
    if (kind != ERR_OK && s.err.kind == ERR_OK)
        s.err = json_err;
    if (s.err.kind == ERR_OK)
        take(&s, out);
    kind = s.err.kind;
    if (kind != ERR_OK && err != NULL)
        *err = s.err;
    catalog_fini(&s.groups);
    fini_group(&s.group);
    fini_version(&s.version);
    fini_resource(&s.resource);
    free(s.preferred);
    free(s.kind);
    buf_free(&s.shorts);
    return kind;
}

void catalog_doc_fini(struct catalog_doc *doc)
{
    catalog_fini(&doc->groups);
    fini_version(&doc->version);
}

/* ---- Finding a resource */

/* Which words of a resource a name is compared with, the better match first. */
enum match { MATCH_PLURAL, MATCH_SHORT, MATCH_SINGULAR, MATCHES };

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

/* A version is written between NAME and GROUP only with the whole group, so the beginning of a
 * group counts only without one. */
bool catalog_may_be_in(const struct catalog_name *n, struct str group)
{
    if (!n->has_group)
        return true;
    return group.n >= n->group.n && strncasecmp(group.p, n->group.p, n->group.n) == 0 &&
           (group.n == n->group.n || !n->has_version);
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
