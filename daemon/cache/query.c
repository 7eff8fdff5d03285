/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

static void put_param(struct buf *b, const char *key, const char *value)
{
    if (value == NULL)
        return;
    buf_putc(b, memchr(b->data, '?', b->len) != NULL ? '&' : '?');
    buf_puts(b, key);
    buf_putc(b, '=');
    url_put_escaped(b, str_c(value));
}

static void put_number(struct buf *b, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    put_param(b, key, value > 0 ? text : NULL);
}

static void put_field_selector(struct buf *b, const struct query *q)
{
    struct buf all = {0};

    if (q->name != NULL)
        buf_printf(&all, "metadata.name=%s", q->name);
    if (q->fields != NULL)
        buf_printf(&all, "%s%s", all.len > 0 ? "," : "", q->fields);
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

const char *query_accept(enum reflector_do what, bool partial)
{
    bool events = what == REFLECTOR_WATCH || what == REFLECTOR_STREAM;

    if (!partial)
        return NULL;
    return events ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
                  : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                    "application/json";
}

const char *query_scope(const struct query *q)
{
    return q->scope;
}
