/* SPDX-License-Identifier: Apache-2.0 */
#include "app/access_reviews.h"

#include <stdlib.h>

#include "app/access_questions.h"
#include "app/build.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/discovery_driver.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "kube/access_review.h"

/* From the head of an answer to its end. */
enum { HARD_DEADLINE_MS = 60000 };

#define REMEDY \
    "; an administrator of the cluster can grant it: informerd --print-rbac prints the roles"

/* The resource of a watch. */
struct wanted {
    struct access_reviews *of;
    const struct conf_watch *watch;
    struct resource known; /* of the table; zeroed = only the server knows it */
    struct resource found; /* zeroed = not found */
    struct err err;        /* why not */
};

struct access_reviews {
    struct access_reviews_params params;
    struct wanted *wanted; /* of the watches of the cluster */
    size_t n_wanted;
    size_t n_answered;
    struct access_questions questions;
    size_t at;          /* the question that is asked */
    struct err unknown; /* why the server cannot be asked such questions; OK = it can */
    struct fetch *fetch;
    void (*done)(void *arg);
    void *arg;
};

static void add(const struct access_reviews *r, enum access_verdict verdict, const char *what,
                const char *text)
{
    access_report_add(r->params.report, r->params.block, verdict, what, text);
}

/* ---- The questions */

static void ask(struct access_reviews *r);

/* Names the row: the watch, or the identity of the cluster. Frees the text. */
static void add_answer(const struct access_reviews *r, enum access_verdict verdict,
                       struct buf *text)
{
    const struct access_question *q = &r->questions.v[r->at];
    char *what = q->watch != NULL ? mem_printf("watch %s", q->watch) : mem_strdup("identity");

    add(r, verdict, what, buf_cstr(text));
    buf_free(text);
    free(what);
}

/* Without its identity a cluster is told from others by its CA, so informerd works without that right. */
static void add_refusal(const struct access_reviews *r, struct buf *text, const char *why)
{
    bool is_identity = r->questions.v[r->at].watch == NULL;

    buf_puts(text, ": not allowed");
    if (why[0] != '\0')
        buf_printf(text, " (%s)", why);
    if (is_identity)
        buf_puts(text, "; without it the cluster is identified by its CA at most");
    buf_puts(text, REMEDY);
    add_answer(r, is_identity ? ACCESS_WARNING : ACCESS_NOT_OK, text);
}

/* The question itself has failed; the others would, too. */
static void give_up(struct access_reviews *r, struct buf *text, const struct err *err)
{
    buf_printf(text, ": cannot be asked: %s", err->text);
    if (err->kind == ERR_FORBIDDEN)
        buf_puts(text,
                 " (every authenticated user may ask, by ClusterRole system:basic-user: is the "
                 "credential sent?)");
    add_answer(r, ACCESS_NOT_OK, text);
    if (r->at + 1 < r->questions.n)
        add(r, ACCESS_SKIPPED, "watches", "the other rights were not asked for");
    r->done(r->arg);
}

static void on_review(void *arg, const struct fetch_answer *a)
{
    struct access_reviews *r = arg;
    struct access_answer answer = {0};
    struct err err = a->err;
    struct buf text = {0};

    buf_puts(&text, r->questions.v[r->at].text);
    if (a->outcome == FETCH_GOOD && access_review_read(a->body, &answer, &err) == ERR_OK)
        err.kind = ERR_OK;
    fetch_dispose(&r->fetch);
    if (a->outcome == FETCH_REFUSED && access_review_is_unknown(&err)) {
        r->unknown = err;
        buf_free(&text);
        ask(r); /* it and the others get their rows */
        return;
    }
    if (err.kind != ERR_OK) {
        give_up(r, &text, &err);
        return;
    }
    if (answer.allowed)
        add_answer(r, ACCESS_OK, &text);
    else
        add_refusal(r, &text, answer.why);
    r->at++;
    ask(r);
}

/* Adds the row at r->at if nothing has to be asked for it. */
static bool add_known(const struct access_reviews *r)
{
    const struct access_question *q = &r->questions.v[r->at];
    struct buf text = {0};

    buf_puts(&text, q->text);
    if (q->body == NULL) {
        add_answer(r, q->verdict, &text);
        return true;
    }
    if (r->unknown.kind == ERR_OK) {
        buf_free(&text);
        return false;
    }
    buf_printf(&text, ": the server does not know such questions (%d)", r->unknown.code);
    add_answer(r, ACCESS_UNKNOWN, &text);
    return true;
}

/* Asks the next question, or ends. */
static void ask(struct access_reviews *r)
{
    while (r->at < r->questions.n && add_known(r))
        r->at++;
    if (r->at == r->questions.n) {
        r->done(r->arg);
        return;
    }
    const struct fetch_params params = {
        .request = {.target = ACCESS_REVIEW_TARGET,
                    .post = r->questions.v[r->at].body,
                    .hard_deadline_ms = HARD_DEADLINE_MS},
        .max_bytes = ACCESS_REVIEW_BODY_BYTES,
    };

    r->fetch = fetch_start(r->params.loop, r->params.client, &params, on_review, r);
}

/* ---- The resources */

/* Fits the resource the watch? The watch is built as at a start of the daemon, and resolved with the
 * resource that discovery has found. */
static bool fits(const struct access_reviews *r, const struct wanted *w, struct err *err)
{
    struct watch *watch = NULL;
    struct digest settings;
    bool good = build_watch(r->params.conf, w->watch, r->params.node_name, &watch, &settings,
                            err) == ERR_OK &&
                watch_resolve(watch, &w->found, err) == ERR_OK;

    watch_destroy(&watch);
    return good;
}

/* Adds the questions of a watch, or a row that says why there are none. Kubernetes' own resources are
 * followed without discovery, so its failure means nothing for them. informerd waits for a resource
 * that is not there yet, so that is a warning. */
static void take_resource(struct access_reviews *r, const struct wanted *w)
{
    bool is_known = w->known.text != NULL;
    struct err err = w->err;

    if (w->found.text != NULL && (is_known || fits(r, w, &err)))
        access_questions_add_watch(&r->questions, w->watch, &w->found, r->params.node_name);
    else if (is_known && err.kind != ERR_NOT_FOUND)
        access_questions_add_watch(&r->questions, w->watch, &w->known, r->params.node_name);
    else
        access_questions_add_row(&r->questions, w->watch,
                                 err.kind == ERR_NOT_FOUND ? ACCESS_WARNING : ACCESS_NOT_OK,
                                 err.text);
}

static void count_answer(struct access_reviews *r)
{
    if (++r->n_answered < r->n_wanted)
        return;
    for (size_t i = 0; i < r->n_wanted; i++)
        take_resource(r, &r->wanted[i]);
    ask(r);
}

static void on_found(void *who, const struct resource *found)
{
    struct wanted *w = who;

    resource_copy(&w->found, found);
    count_answer(w->of);
}

/* One round of discovery is enough. */
static void on_missing(void *who, const struct err *err, uint64_t retry_ms)
{
    struct wanted *w = who;

    (void)retry_ms;
    w->err = *err;
    discovery_driver_forget(w->of->params.discovery_driver, w);
    count_answer(w->of);
}

/* The name that discovery is to look up. A resource of the table is known by its group and version:
 * the server must have just that one. */
static void put_name(struct buf *out, const struct wanted *w)
{
    if (w->known.text != NULL)
        buf_printf(out, "%s.%s.%s", w->known.plural, w->known.version, w->known.group);
    else
        buf_puts(out, w->watch->resource.v);
}

static void look_up_resource(struct access_reviews *r, struct wanted *w)
{
    static const struct discovery_driver_events events = {on_found, on_missing};
    struct resource parsed;
    struct resource want;
    struct buf name = {0};

    /* app/check has parsed both. */
    ensure(resource_parse(w->watch->resource.v, &parsed, NULL) == ERR_OK);
    if (resource_is_known(&parsed))
        resource_copy(&w->known, &parsed);
    put_name(&name, w);
    ensure(resource_parse(buf_cstr(&name), &want, NULL) == ERR_OK);
    discovery_driver_resolve(r->params.discovery_driver, &want, &events, w);
    resource_fini(&want);
    resource_fini(&parsed);
    buf_free(&name);
}

/* ---- Begin and end */

struct access_reviews *access_reviews_create(const struct access_reviews_params *params,
                                             void (*done)(void *arg), void *arg)
{
    struct access_reviews *r =
        MEM_NEW(struct access_reviews, .params = *params, .done = done, .arg = arg);
    const struct conf *conf = params->conf;

    access_questions_add_identity(&r->questions);
    r->wanted = mem_array(conf->n_watches + 1, sizeof(*r->wanted));
    for (size_t i = 0; i < conf->n_watches; i++)
        if (conf_find_cluster(conf, conf->watches[i].cluster.v) == params->cluster)
            r->wanted[r->n_wanted++] = (struct wanted){.of = r, .watch = &conf->watches[i]};
    for (size_t i = 0; i < r->n_wanted; i++)
        look_up_resource(r, &r->wanted[i]);
    if (r->n_wanted == 0)
        ask(r);
    return r;
}

void access_reviews_dispose(struct access_reviews **rp)
{
    struct access_reviews *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    for (size_t i = 0; i < r->n_wanted; i++) {
        discovery_driver_forget(r->params.discovery_driver, &r->wanted[i]);
        resource_fini(&r->wanted[i].known);
        resource_fini(&r->wanted[i].found);
    }
    fetch_dispose(&r->fetch);
    access_questions_fini(&r->questions);
    free(r->wanted);
    free(r);
}
