/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/api_doc.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "proto/json_in.h"

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
    struct catalog_version version; /* under way; for API_DOC_RESOURCES the whole document */
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
    catalog_add_version(&s->group, &v);
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
        catalog_resource_fini(&s->resource);
        s->resource.scope = RESOURCE_SCOPE_UNKNOWN;
        buf_clear(&s->shorts);
        s->can_list = false;
        s->can_watch = false;
    } else if (at == VERSION) {
        catalog_version_fini(&s->version);
        s->stale = false;
    } else if (at == GROUP) {
        catalog_group_fini(&s->group);
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
    catalog_add_resource(&s->version, r);
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
    catalog_add_version(&s->group, &s->version);
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

static void scan_fini(struct scan *s)
{
    catalog_fini(&s->groups);
    catalog_group_fini(&s->group);
    catalog_version_fini(&s->version);
    catalog_resource_fini(&s->resource);
    free(s->preferred);
    free(s->kind);
    buf_free(&s->shorts);
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

static void take_groups(struct scan *s, struct api_doc *out)
{
    out->groups = s->groups;
    s->groups = (struct catalog){0};
    if (out->kind == API_DOC_GROUP_DISCOVERY)
        set_listed(&out->groups);
}

/* Moves the part that the kind of the document has out of the scan. The kind may be the last
 * member, so this waits for the end of the body. */
static void take(struct scan *s, struct api_doc *out)
{
    static const char *const kinds[] = {"APIGroupDiscoveryList", "APIGroupList", "APIVersions",
                                        "APIResourceList"};
    size_t kind = 0;

    while (kind < ARRAY_LEN(kinds) && (s->kind == NULL || strcmp(s->kind, kinds[kind]) != 0))
        kind++;
    *out = (struct api_doc){.kind = (enum api_doc_kind)kind};
    if (kind == ARRAY_LEN(kinds)) {
        err_set(&s->err, ERR_PROTOCOL, 0, "the answer is no list of groups or resources");
    } else if (out->kind == API_DOC_VERSIONS) {
        put(&s->group.name, str_c(""), true);
        if (catalog_add_group(&out->groups, &s->group, &s->err) != ERR_OK)
            api_doc_fini(out);
    } else if (out->kind == API_DOC_RESOURCES) {
        out->version = s->version;
        out->version.state = CATALOG_LISTED;
        s->version = (struct catalog_version){0};
    } else {
        take_groups(s, out);
    }
}

enum err_kind api_doc_parse(struct str body, struct api_doc *out, struct err *err)
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
    scan_fini(&s);
    return kind;
}

void api_doc_fini(struct api_doc *doc)
{
    catalog_fini(&doc->groups);
    catalog_version_fini(&doc->version);
}
