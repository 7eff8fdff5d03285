/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/catalog.h"

/* When so many requests for group versions got no answer in one round, the server counts as lost:
 * the rest would only wait for more timeouts. */
enum { MAX_LOST = 3 };

/* A longer Retry-After counts as an hour: a page that says "back in a day" must not keep a watch
 * dead for a day. */
enum { MAX_RETRY_AFTER_S = 3600 };

enum discovery_state {
    DISCOVERY_IDLE,
    DISCOVERY_CORE,     /* /api is next or under way */
    DISCOVERY_GROUPS,   /* /apis */
    DISCOVERY_VERSIONS, /* one group version after the other */
    DISCOVERY_COMPLETE,
};

/* The two documents where discovery starts: /api has the core group, /apis all others. */
enum root { ROOT_CORE, ROOT_GROUPS, ROOTS };

/* A name that this round shall find, and how it may be read. The readings point into text. */
struct want {
    char *text;
    struct catalog_name readings[2];
    size_t count;
};

struct discovery {
    enum discovery_state state;
    struct catalog catalog;
    struct err root[ROOTS]; /* why it could not be asked; kind OK = it could, or was not yet */
    struct want *wants;
    size_t want_count;
    struct catalog_version *asking; /* VERSIONS: the one that is being asked */
    struct buf target;
    unsigned lost; /* group versions whose request failed in this round */
    uint64_t retry_after_ms;
};

/* Asks for the aggregated form, new and old version, and takes plain JSON from servers that know
 * neither (docs/kubernetes-protocol.md "Discovery"). */
static const char aggregated[] = "application/json;g=apidiscovery.k8s.io;v=v2;as="
                                 "APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;"
                                 "v=v2beta1;as=APIGroupDiscoveryList,application/json";

struct discovery *discovery_create(void)
{
    return mem_zalloc(sizeof(struct discovery));
}

static void forget(struct discovery *d)
{
    catalog_fini(&d->catalog);
    for (size_t i = 0; i < d->want_count; i++)
        free(d->wants[i].text);
    free(d->wants);
    buf_free(&d->target);
    *d = (struct discovery){.state = DISCOVERY_IDLE};
}

void discovery_destroy(struct discovery **d)
{
    if (*d == NULL)
        return;
    forget(*d);
    free(*d);
    *d = NULL;
}

void discovery_begin(struct discovery *d)
{
    forget(d);
    d->state = DISCOVERY_CORE;
}

void discovery_want(struct discovery *d, const struct resource *want)
{
    struct want w = {.text = mem_strdup(want->text)};

    w.count = catalog_readings(w.text, w.readings);
    d->wants = mem_realloc(d->wants, (d->want_count + 1) * sizeof(w));
    d->wants[d->want_count++] = w;
}

/* May a name that is wanted be in this group? Groups without such a name are not worth a
 * request. */
static bool is_wanted(const struct discovery *d, const char *group)
{
    for (size_t i = 0; i < d->want_count; i++)
        for (size_t k = 0; k < d->wants[i].count; k++)
            if (catalog_may_be_in(&d->wants[i].readings[k], str_c(group)))
                return true;
    return false;
}

static struct catalog_version *unasked_in(struct catalog_group *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->versions[i].state == CATALOG_UNASKED)
            return &g->versions[i];
    return NULL;
}

/* Finds the next group version to ask, and writes its path to d->target. In the aggregated form
 * no version is UNASKED, so there is nothing to find. */
static bool next_version(struct discovery *d)
{
    d->asking = NULL;
    for (size_t i = 0; d->asking == NULL && i < d->catalog.count; i++) {
        struct catalog_group *g = &d->catalog.groups[i];

        if (unasked_in(g) == NULL || !is_wanted(d, g->name))
            continue;
        d->asking = unasked_in(g);
        if (g->name[0] != '\0')
            buf_printf(&d->target, "/apis/%s/%s", g->name, d->asking->name);
        else
            buf_printf(&d->target, "/api/%s", d->asking->name);
    }
    return d->asking != NULL;
}

bool discovery_next(struct discovery *d, struct discovery_request *out)
{
    buf_clear(&d->target);
    if (d->state == DISCOVERY_IDLE || d->state == DISCOVERY_COMPLETE)
        return false;
    if (d->state == DISCOVERY_CORE)
        buf_puts(&d->target, "/api");
    if (d->state == DISCOVERY_GROUPS)
        buf_puts(&d->target, "/apis");
    /* The path of a group version depends on the answers of /api and /apis, so it is made only now. */
    if (d->state == DISCOVERY_VERSIONS && !next_version(d)) {
        d->state = DISCOVERY_COMPLETE;
        return false;
    }
    *out = (struct discovery_request){
        .target = buf_cstr(&d->target),
        .accept = d->state == DISCOVERY_VERSIONS ? "application/json" : aggregated,
    };
    return true;
}

/* Takes the core group from /api only, and the other groups from /apis only, so that no group is
 * in the catalog twice. */
static enum err_kind take_groups(struct discovery *d, struct catalog *from, struct err *err)
{
    bool core = d->state == DISCOVERY_CORE;
    enum err_kind kind = ERR_OK;

    for (size_t i = 0; kind == ERR_OK && i < from->count; i++)
        if ((from->groups[i].name[0] == '\0') == core)
            kind = catalog_add_group(&d->catalog, &from->groups[i], err);
    return kind;
}

/* Moves the resources of an APIResourceList into the version that was asked. That version keeps
 * its own name, as the list was read without one. */
static void take_resources(struct discovery *d, struct catalog_version *from)
{
    struct catalog_version *to = d->asking;

    d->catalog.resources += from->count;
    to->state = CATALOG_LISTED;
    to->resources = from->resources;
    to->count = from->count;
    *from = (struct catalog_version){0};
}

static enum err_kind read_answer(struct discovery *d, struct str body, struct err *err)
{
    struct catalog_doc doc;
    enum err_kind kind = catalog_doc_parse(body, &doc, err);

    if (kind != ERR_OK)
        return kind;
    bool resources = doc.kind == CATALOG_DOC_RESOURCES;
    /* A proxy may answer with a document of another path; it must not become part of the
     * catalog. */
    if (resources != (d->state == DISCOVERY_VERSIONS))
        kind = err_set(err, ERR_PROTOCOL, 0, "the answer is another list than was asked for");
    else if (!resources)
        kind = take_groups(d, &doc.groups, err);
    else if (d->catalog.resources + doc.version.count > CATALOG_MAX_RESOURCES)
        kind = err_set(err, ERR_TOO_BIG, 0, "the server lists more than %d resources",
                       CATALOG_MAX_RESOURCES);
    else
        take_resources(d, &doc.version);
    catalog_doc_fini(&doc);
    return kind;
}

/* The request is over: notes its failure, if err is not NULL, and goes on to the next state. A
 * failed /api does not keep /apis from being asked: servers that have aggregated APIs only may
 * answer 404 to /api. */
static void finish(struct discovery *d, const struct err *err)
{
    switch (d->state) {
    case DISCOVERY_CORE:
        if (err != NULL)
            d->root[ROOT_CORE] = *err;
        d->state = DISCOVERY_GROUPS;
        break;
    case DISCOVERY_GROUPS:
        if (err != NULL)
            d->root[ROOT_GROUPS] = *err;
        d->state = DISCOVERY_VERSIONS;
        break;
    case DISCOVERY_VERSIONS:
        if (err != NULL)
            catalog_set_failed(d->asking, err);
        break;
    case DISCOVERY_IDLE:
    case DISCOVERY_COMPLETE:
        panic("discovery: an answer without a request");
    }
}

void discovery_answer(struct discovery *d, struct str body)
{
    struct err err;

    if (read_answer(d, body, &err) == ERR_OK) {
        finish(d, NULL);
        return;
    }
    err_wrap(&err, "GET %s", buf_cstr(&d->target));
    finish(d, &err);
}

void discovery_refused(struct discovery *d, const struct err *why, int64_t retry_after_s)
{
    int64_t s = retry_after_s < MAX_RETRY_AFTER_S ? retry_after_s : MAX_RETRY_AFTER_S;
    struct err err = *why;

    if (s > 0 && d->retry_after_ms < (uint64_t)s * 1000)
        d->retry_after_ms = (uint64_t)s * 1000;
    err_wrap(&err, "GET %s", buf_cstr(&d->target));
    finish(d, &err);
}

/* Ends the round because the server is lost. Everything that was not asked yet has failed for the
 * same reason. */
static void give_up(struct discovery *d, const struct err *err)
{
    if (d->state == DISCOVERY_CORE)
        d->root[ROOT_CORE] = *err;
    if (d->state == DISCOVERY_CORE || d->state == DISCOVERY_GROUPS)
        d->root[ROOT_GROUPS] = *err;
    for (size_t i = 0; i < d->catalog.count; i++) {
        struct catalog_version *v;

        while ((v = unasked_in(&d->catalog.groups[i])) != NULL)
            catalog_set_failed(v, err);
    }
    d->state = DISCOVERY_COMPLETE;
}

void discovery_fail(struct discovery *d, const struct err *why)
{
    bool root = d->state != DISCOVERY_VERSIONS;
    struct err err = *why;

    err_wrap(&err, "GET %s", buf_cstr(&d->target));
    /* An answer that is too big or unreadable is a fault of that document; the connection works,
     * and the next request may succeed. */
    if (why->kind == ERR_TOO_BIG || why->kind == ERR_PROTOCOL || (!root && ++d->lost < MAX_LOST))
        finish(d, &err);
    else
        give_up(d, &err);
}

/* A name that is being looked up, and the ways to read it. */
struct lookup {
    const struct discovery *d;
    const struct resource *want;
    struct catalog_name readings[2];
    size_t count;
};

/* The error of the root that may have the name and could not be asked; NULL if there is none. A
 * name without a group may be in either. */
static const struct err *lost_root(const struct lookup *l)
{
    const struct catalog_name *n = &l->readings[0];
    bool core = !n->has_group || n->group.n == 0;
    bool groups = !n->has_group || n->group.n > 0;

    if (groups && l->d->root[ROOT_GROUPS].kind != ERR_OK)
        return &l->d->root[ROOT_GROUPS];
    if (core && l->d->root[ROOT_CORE].kind != ERR_OK)
        return &l->d->root[ROOT_CORE];
    return NULL;
}

/* May the resource be in this version of this group? */
static bool may_be_in(const struct lookup *l, const struct catalog_group *g,
                      const struct catalog_version *v)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct catalog_name *n = &l->readings[i];

        if (catalog_may_be_in(n, str_c(g->name)) &&
            (!n->has_version || str_is(n->version, v->name)))
            return true;
    }
    return false;
}

/* Finds the first version in this state that may have the resource. */
static bool first_in(const struct lookup *l, enum catalog_state state, struct catalog_hit *out)
{
    for (size_t i = 0; i < l->d->catalog.count; i++) {
        const struct catalog_group *g = &l->d->catalog.groups[i];

        for (size_t k = 0; k < g->count; k++) {
            *out = (struct catalog_hit){.group = g, .version = &g->versions[k]};
            if (g->versions[k].state == state && may_be_in(l, g, &g->versions[k]))
                return true;
        }
    }
    return false;
}

/* Looks the name up in the catalog, the better reading first. */
static bool find(const struct lookup *l, bool watchable, struct catalog_hit *out)
{
    for (size_t i = 0; i < l->count; i++)
        if (catalog_find(&l->d->catalog, &l->readings[i], watchable, out))
            return true;
    return false;
}

/* Does the server refuse discovery to us, or have none? A proxy may let nothing else through than
 * lists and watches. Then the catalog says nothing about what exists. */
static bool is_refused(const struct lookup *l)
{
    const struct err *root = lost_root(l);
    struct catalog_hit hit;

    if (root != NULL)
        return root->kind == ERR_UNAUTHORIZED || root->kind == ERR_FORBIDDEN ||
               root->kind == ERR_NOT_FOUND;
    return first_in(l, CATALOG_FAILED, &hit) &&
           (hit.version->err->kind == ERR_UNAUTHORIZED || hit.version->err->kind == ERR_FORBIDDEN);
}

static void fill(struct resource *out, const char *text, const struct catalog_hit *hit)
{
    *out = (struct resource){
        .text = mem_strdup(text),
        .plural = mem_strdup(hit->resource->plural),
        .group = mem_strdup(hit->group->name),
        .version = mem_strdup(hit->version->name),
        .kind = mem_strdup(hit->resource->kind),
        .scope = hit->resource->scope,
    };
}

/* The error for a resource that the server does not have. A resource of that name in another
 * group is most likely the one that was meant, so the text shows it. */
static enum err_kind no_such(const struct lookup *l, struct err *err)
{
    struct catalog_name bare = {.name = l->readings[0].name};
    struct catalog_hit hit;
    char hint[160] = "";

    if (l->readings[0].has_group && catalog_find(&l->d->catalog, &bare, true, &hit))
        snprintf(hint, sizeof(hint), " (it has %.60s.%s.%.60s)", hit.resource->plural,
                 hit.version->name, hit.group->name);
    return err_set(err, ERR_NOT_FOUND, 0,
                   "the server has no resource \"%.100s\"%s: kubectl api-resources lists what it "
                   "has; informerd looks again by itself",
                   l->want->text, hint);
}

/* The error for a resource that exists but lacks the verb watch, or list. */
static enum err_kind cannot_follow(const char *text, const struct catalog_hit *hit, struct err *err)
{
    const struct resource r = {
        .plural = hit->resource->plural, .group = hit->group->name, .version = hit->version->name};

    if (hit->resource->listable)
        return resource_no_verb(&r, RESOURCE_WATCH, err);
    return err_set(err, ERR_NOT_FOUND, 0,
                   "\"%.100s\" is %.60s.%s.%.60s, which cannot be listed and watched", text,
                   r.plural, r.version, r.group);
}

/* Says why nothing was found. A resource that exists and cannot be watched is certain. Next come
 * failures to ask, as the resource may be in a document that could not be read. Only then is it certain
 * that the server has no such resource. */
static enum err_kind explain(const struct lookup *l, struct err *err)
{
    const struct err *root = lost_root(l);
    const char *text = l->want->text;
    struct catalog_hit hit;

    if (find(l, false, &hit))
        return cannot_follow(text, &hit, err);
    if (root != NULL)
        return err_set(err, root->kind, root->code, "\"%.60s\" cannot be looked up: %s", text,
                       root->text);
    if (first_in(l, CATALOG_FAILED, &hit))
        return err_set(err, hit.version->err->kind, hit.version->err->code,
                       "\"%.60s\" is not in the API groups that answered; %.60s/%s failed: %s",
                       text, hit.group->name, hit.version->name, hit.version->err->text);
    return no_such(l, err);
}

enum err_kind discovery_find(const struct discovery *d, const struct resource *want,
                             struct resource *found, struct err *err)
{
    struct lookup l = {.d = d, .want = want};
    struct catalog_hit hit;

    l.count = catalog_readings(want->text, l.readings);
    /* Until every version that may have the resource was asked, a match in another one need not
     * be the best. */
    if (d->state != DISCOVERY_COMPLETE || first_in(&l, CATALOG_UNASKED, &hit))
        return err_set(err, ERR_BUSY, 0, "\"%.100s\" was not looked up yet", want->text);
    if (find(&l, true, &hit)) {
        fill(found, want->text, &hit);
        return ERR_OK;
    }
    /* Group and version are in the name, so the server can be asked for that resource without
     * discovery. */
    if (resource_has_path(want) && is_refused(&l)) {
        resource_copy(found, want);
        return ERR_OK;
    }
    return explain(&l, err);
}

uint64_t discovery_retry_after_ms(const struct discovery *d)
{
    return d->retry_after_ms;
}
