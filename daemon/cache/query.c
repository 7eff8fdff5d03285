/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/selector.h"
#include "proto/json_in.h"
#include "proto/url.h"

static char *scope_text(const char *ns, const char *name)
{
    if (ns != NULL && name != NULL)
        return mem_printf("%s/%s", ns, name);
    if (ns != NULL)
        return mem_strdup(ns);
    return mem_strdup(name != NULL ? name : "");
}

void query_init(struct query *q, const struct resource *resource, const char *ns, const char *name)
{
    *q = (struct query){
        .resource = resource,
        .ns = mem_strdup(ns),
        .name = mem_strdup(name),
        .scope = scope_text(ns, name),
    };
}

/* An empty selector is none: it must not become an empty parameter. */
static char *selector(const char *s)
{
    return s != NULL && *s != '\0' ? mem_strdup(s) : NULL;
}

void query_select(struct query *q, const char *labels, const char *fields)
{
    q->labels = selector(labels);
    q->fields = selector(fields);
}

void query_fini(struct query *q)
{
    free(q->ns);
    free(q->name);
    free(q->labels);
    free(q->fields);
    free(q->scope);
    *q = (struct query){0};
}

/* Appends a parameter unless its value is NULL. */
static void put_param(struct buf *b, const char *key, const char *value)
{
    if (value == NULL)
        return;
    buf_putc(b, memchr(b->data, '?', b->len) != NULL ? '&' : '?');
    buf_puts(b, key);
    buf_putc(b, '=');
    url_put_escaped(b, str_c(value));
}

/* 0 leaves the parameter out. */
static void put_number(struct buf *b, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    put_param(b, key, value > 0 ? text : NULL);
}

/* A name is a field selector, too: lists and watches cannot select one object by path. */
void query_put_fields(const struct query *q, struct buf *out)
{
    if (q->name != NULL)
        buf_printf(out, "metadata.name=%s", q->name);
    if (q->fields != NULL)
        buf_printf(out, "%s%s", q->name != NULL ? "," : "", q->fields);
}

static void put_field_selector(struct buf *b, const struct query *q)
{
    struct buf all = {0};

    query_put_fields(q, &all);
    put_param(b, "fieldSelector", all.len > 0 ? buf_cstr(&all) : NULL);
    buf_free(&all);
}

void query_put_target(const struct query *q, struct buf *out, const struct reflector_action *a)
{
    bool events = a->what == REFLECTOR_WATCH || a->what == REFLECTOR_STREAM;

    resource_put_path(out, q->resource, q->ns);
    if (events) {
        put_param(out, "watch", "true");
        put_param(out, "allowWatchBookmarks", "true");
        put_number(out, "timeoutSeconds", a->timeout_s);
    }
    /* sendInitialEvents needs this resourceVersionMatch, which other watches must not have
     * (docs/kubernetes-protocol.md "Streaming lists"). */
    if (a->what == REFLECTOR_STREAM) {
        put_param(out, "sendInitialEvents", "true");
        put_param(out, "resourceVersionMatch", "NotOlderThan");
    }
    put_param(out, "resourceVersion", a->rv);
    put_number(out, "limit", a->limit);
    put_param(out, "continue", a->next);
    put_param(out, "labelSelector", q->labels);
    put_field_selector(out, q);
}

/* application/json is the second choice, for servers that cannot give PartialObjectMetadata. */
const char *query_accept(enum reflector_do what, bool partial)
{
    bool events = what == REFLECTOR_WATCH || what == REFLECTOR_STREAM;

    if (!partial)
        return NULL;
    return events ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
                  : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                    "application/json";
}

/* Looks for one string in an object: a label (metadata.labels.KEY), or a field by its path. */
struct finding {
    struct str json;
    bool is_whole;
    const char *path[8]; /* the members on the way to the string */
    size_t lengths[8];
    size_t steps;
    size_t at; /* how many of them the token stands in */
    struct selector_value found;
    struct buf text; /* the text of found */
};

/* Keeps f->at, the number of members on the path that the current token stands in, and notes the
 * value at the end of the path. */
static bool on_token(void *arg, const struct json_token *t)
{
    struct finding *f = arg;

    if (t->type == JSON_KEY) {
        size_t i = t->depth - 1;

        if (i < f->at)
            f->at = i;
        if (i == f->at && i < f->steps && str_eq(str_of(f->path[i], f->lengths[i]), t->text))
            f->at = i + 1;
    } else if (t->type == JSON_STRING && t->depth == f->steps && f->at == f->steps) {
        buf_clear(&f->text);
        buf_append(&f->text, t->text.p, t->text.n);
        f->found.is = SELECTOR_PRESENT;
    } else if (t->depth == f->steps && f->at == f->steps && f->found.is == SELECTOR_ABSENT) {
        f->found.is = SELECTOR_UNKNOWN; /* not a string: only the server knows its value */
    }
    return true;
}

/* A member that is absent in a pruned object may be there on the server. */
static struct selector_value find(struct finding *f)
{
    struct err err;

    f->at = 0;
    f->found = (struct selector_value){.is = SELECTOR_ABSENT};
    if (json_in_scan(f->json, on_token, f, &err) != ERR_OK)
        f->found.is = SELECTOR_UNKNOWN;
    else if (f->found.is == SELECTOR_ABSENT && !f->is_whole)
        f->found.is = SELECTOR_UNKNOWN;
    f->found.text = buf_str(&f->text);
    return f->found;
}

static struct selector_value find_label(void *arg, struct str key)
{
    struct finding *f = arg;

    f->path[0] = "metadata";
    f->path[1] = "labels";
    f->path[2] = key.p;
    f->lengths[0] = strlen("metadata");
    f->lengths[1] = strlen("labels");
    f->lengths[2] = key.n;
    f->steps = 3;
    return find(f);
}

static struct selector_value find_field(void *arg, struct str path)
{
    struct finding *f = arg;
    const char *end = path.p + path.n;
    const char *from = path.p;

    for (f->steps = 0; from <= end && f->steps < 8; f->steps++) {
        const char *dot = memchr(from, '.', (size_t)(end - from));
        const char *to = dot != NULL ? dot : end;

        f->path[f->steps] = from;
        f->lengths[f->steps] = (size_t)(to - from);
        from = to + 1;
    }
    return find(f);
}

/* Namespace and name are known of every object, a bare one included. */
static bool is_elsewhere(const struct query *q, const struct object *o)
{
    return (q->ns != NULL && !str_is(object_namespace(o), q->ns)) ||
           (q->name != NULL && !str_is(object_name(o), q->name));
}

bool query_rejects(const struct query *q, const struct object *o, bool is_whole)
{
    struct buf json = {0};

    if (is_elsewhere(q, o))
        return true;
    /* A bare object has no labels and fields to look at. */
    if (object_is_bare(o))
        return false;
    object_put_json(&json, o);
    struct finding f = {.json = buf_str(&json), .is_whole = is_whole};
    bool rejects = (q->labels != NULL && selector_rejects_labels(q->labels, find_label, &f)) ||
                   (q->fields != NULL && selector_rejects_fields(q->fields, find_field, &f));
    buf_free(&f.text);
    buf_free(&json);
    return rejects;
}

const char *query_scope(const struct query *q)
{
    return q->scope;
}
