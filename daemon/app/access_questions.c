/* SPDX-License-Identifier: Apache-2.0 */
#include "app/access_questions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cache/query.h"
#include "conf/conf.h"
#include "kube/access_review.h"

static void add(struct access_questions *q, const char *watch, const struct access_review *review)
{
    struct buf text = {0};
    struct buf body = {0};

    access_review_put_text(&text, review);
    access_review_put(&body, review);
    q->v = mem_grow(q->v, q->n, sizeof(*q->v));
    q->v[q->n++] = (struct access_question){
        .watch = watch,
        .text = mem_strdup(buf_cstr(&text)),
        .body = mem_strdup(buf_cstr(&body)),
    };
    buf_free(&text);
    buf_free(&body);
}

void access_questions_add_row(struct access_questions *q, const struct conf_watch *w,
                              enum access_verdict verdict, const char *text)
{
    q->v = mem_grow(q->v, q->n, sizeof(*q->v));
    q->v[q->n++] =
        (struct access_question){.watch = w->name.v, .text = mem_strdup(text), .verdict = verdict};
}

/* CLUSTER_IDENTITY_TARGET as an authorizer sees it. */
void access_questions_add_identity(struct access_questions *q)
{
    static const struct access_review identity = {
        .verb = "list",
        .group = "",
        .version = "v1",
        .plural = "namespaces",
        .ns = "",
        .name = "",
        .labels = "",
        .fields = "metadata.name=kube-system",
    };

    add(q, NULL, &identity);
}

/* The watch that questions are added for, and the parts that all its questions share. */
struct asker {
    struct access_questions *q;
    const struct conf_watch *watch;
    const struct resource *resource;
    char *labels; /* with node_name in it */
    char *fields;
};

/* Adds the questions of one scope. The selectors are those of the scope's requests (cache/query). A GET
 * of confirm_deletes has none. */
static void add_scope(const struct asker *a, const char *ns, const char *name)
{
    struct access_review review = {
        .group = a->resource->group,
        .version = a->resource->version,
        .plural = a->resource->plural,
        .namespaced = a->resource->scope != RESOURCE_CLUSTER_SCOPED,
        .ns = ns != NULL ? ns : "",
        .name = "",
        .labels = a->labels,
    };
    struct buf fields = {0};
    struct query query;

    query_init(&query, a->resource, ns, name);
    query_select(&query, a->labels, a->fields);
    query_put_fields(&query, &fields);
    review.fields = buf_cstr(&fields);
    review.verb = "list";
    add(a->q, a->watch->name.v, &review);
    review.verb = "watch";
    add(a->q, a->watch->name.v, &review);
    review.verb = "get";
    review.name = name != NULL ? name : "";
    review.labels = review.fields = "";
    if (a->watch->confirm_deletes.v)
        add(a->q, a->watch->name.v, &review);
    query_fini(&query);
    buf_free(&fields);
}

static void add_namespace(const struct asker *a, const char *ns)
{
    const struct conf_list *names = &a->watch->names;

    for (size_t i = 0; i < names->n; i++)
        add_scope(a, ns, names->v[i].v);
    if (names->n == 0)
        add_scope(a, ns, NULL);
}

void access_questions_add_watch(struct access_questions *q, const struct conf_watch *w,
                                const struct resource *r, const char *node_name)
{
    struct asker a = {
        .q = q,
        .watch = w,
        .resource = r,
        .labels = conf_expand(w->label_selector.v, node_name),
        .fields = conf_expand(w->field_selector.v, node_name),
    };
    bool everywhere = w->namespaces.n == 0 || strcmp(w->namespaces.v[0].v, "*") == 0;

    if (everywhere)
        add_namespace(&a, NULL);
    for (size_t i = 0; i < w->namespaces.n && !everywhere; i++)
        add_namespace(&a, w->namespaces.v[i].v);
    free(a.labels);
    free(a.fields);
}

void access_questions_fini(struct access_questions *q)
{
    for (size_t i = 0; i < q->n; i++) {
        free(q->v[i].text);
        free(q->v[i].body);
    }
    free(q->v);
    *q = (struct access_questions){0};
}
