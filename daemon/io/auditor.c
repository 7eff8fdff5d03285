/* SPDX-License-Identifier: Apache-2.0 */
#include "io/auditor.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cache/audit.h"
#include "cache/pages.h"
#include "cache/refusal.h"
#include "cache/watch.h"
#include "io/cluster.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "proto/http_in.h"

/* A comparison may begin anew once: without pages when its token expired, or after a stream of the
 * watch was lost meanwhile. */
enum attempt { ATTEMPT_FIRST, ATTEMPT_LAST };

/* Where a comparison is, audit_state() says. */
struct auditor {
    struct auditor_params params;
    const struct auditor_events *events;
    void *arg;
    struct deadline *next;  /* the next one that nobody asks for */
    struct deadline *grace; /* until audit_finish() at the latest */
    enum attempt attempt;
    unsigned limit;   /* of a page */
    uint64_t relists; /* of the watch, when the lists began */
    size_t feed;      /* whose list is under way */
    bool is_first_page;
    struct pages pages;
    struct request *request; /* NULL while not LISTING */
    struct list_reader *list;
    struct refusal refusal;
};

static struct audit *audit(const struct auditor *a)
{
    return watch_audit(a->params.watch);
}

static uint64_t now_ms(const struct auditor *a)
{
    return loop_now_ms(a->params.loop);
}

static uint64_t relists(const struct auditor *a)
{
    return watch_status(a->params.watch, now_ms(a)).relists;
}

static bool all_connected(const struct watch *w)
{
    for (size_t i = 0; i < watch_feed_count(w); i++)
        if (!feed_status(watch_feed(w, i)).connected)
            return false;
    return true;
}

/* Can the watch be compared? */
static enum err_kind check(const struct auditor *a, struct err *err)
{
    const struct watch *w = a->params.watch;

    if (!watch_synced(w))
        return err_set(err, ERR_CLOSED, 0,
                       "watch %s is not synced yet: there is nothing to compare", watch_name(w));
    if (!all_connected(w))
        return err_set(err, ERR_CLOSED, 0,
                       "watch %s is not connected to its server: what it has cannot be compared "
                       "before it is; informerctl status says why",
                       watch_name(w));
    return ERR_OK;
}

static void end_request(struct auditor *a)
{
    request_dispose(&a->request);
    list_reader_destroy(&a->list);
    refusal_reset(&a->refusal);
}

/* Who asked for a comparison is told by audit_result(). */
static void tell_failed(const struct auditor *a, const struct err *err)
{
    log_emit(audit_applies(audit(a)) ? LOG_LVL_WARN : LOG_LVL_DEBUG, "audit failed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(a->params.watch)),
                        KV_STR("watch", watch_name(a->params.watch)), KV_ERR(err)));
}

/* The comparison cannot be ended. */
static void fail(struct auditor *a, const struct err *err)
{
    end_request(a);
    tell_failed(a, err);
    audit_failed(audit(a), err, now_ms(a));
    if (err->kind == ERR_UNAUTHORIZED)
        a->events->on_unauthorized(a->arg);
    else
        a->events->on_done(a->arg);
}

static void on_item(void *arg, struct object *o, bool selected)
{
    const struct auditor *a = arg;

    if (selected)
        audit_item(audit(a), a->feed, o);
}

/* It is not known what the server has there. */
static void on_unusable(void *arg, const struct unusable *u)
{
    const struct auditor *a = arg;

    if (u->key.n > 0)
        audit_unusable(audit(a), a->feed, u->key);
    else
        audit_unnamed(audit(a));
}

static void on_head(void *arg, const struct http_head *head);
static void on_body(void *arg, const char *data, size_t n);
static void on_end(void *arg, const struct err *err);

/* token NULL = the first page. */
static void ask(struct auditor *a, const char *token)
{
    static const struct request_events request_events = {
        .on_head = on_head, .on_body = on_body, .on_end = on_end};
    static const struct list_events list_events = {on_item, on_unusable};
    const struct feed *f = watch_feed(a->params.watch, a->feed);
    struct buf target = {0};

    a->is_first_page = token == NULL;
    pages_ask(&a->pages, token);
    feed_put_list_target(f, &target, a->limit, token);
    a->list = list_reader_create(feed_rules(f), &list_events, a);
    a->request =
        cluster_request(a->params.cluster,
                        &(struct request_params){
                            .target = buf_cstr(&target), .accept = feed_accept(f), .list = true},
                        &request_events, a);
    buf_free(&target);
}

/* Does the server give its lists no version? Then it may give its objects none that means much. */
static bool is_unversioned(const struct watch *w)
{
    for (size_t i = 0; i < watch_feed_count(w); i++)
        if (*feed_status(watch_feed(w, i)).rv == '\0')
            return true;
    return false;
}

static void begin(struct auditor *a, bool apply)
{
    audit_begin(audit(a), apply);
    if (is_unversioned(a->params.watch))
        audit_doubt(audit(a));
    a->relists = relists(a);
    a->feed = 0;
    ask(a, NULL);
}

/* False: it was the last attempt. */
static bool begin_anew(struct auditor *a)
{
    if (a->attempt == ATTEMPT_LAST)
        return false;
    a->attempt = ATTEMPT_LAST;
    end_request(a);
    begin(a, audit_applies(audit(a)));
    return true;
}

static void on_head(void *arg, const struct http_head *head)
{
    struct auditor *a = arg;

    refusal_head(&a->refusal, head);
}

static void refused(struct auditor *a)
{
    struct err err = {0};

    refusal_read(&a->refusal, &err);
    if (err.kind == ERR_EXPIRED && a->limit > 0) {
        a->limit = 0;
        if (begin_anew(a))
            return;
    }
    fail(a, &err);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct auditor *a = arg;
    struct err err;

    if (a->refusal.code != 200) {
        if (!refusal_body(&a->refusal, data, n))
            refused(a);
    } else if (list_reader_feed(a->list, data, n, &err) != ERR_OK) {
        fail(a, &err);
    }
}

/* Has the cache all that the lists have, and is no stream lost? */
static bool has_passed(const struct auditor *a)
{
    const struct watch *w = a->params.watch;

    for (size_t i = 0; i < watch_feed_count(w); i++)
        if (!audit_is_passed(audit(a), i, str_c(feed_status(watch_feed(w, i)).rv)))
            return false;
    return all_connected(w);
}

static void all_listed(struct auditor *a)
{
    uint64_t grace_ms = a->params.grace_ms > 0 ? a->params.grace_ms : AUDIT_GRACE_MS;

    audit_listed(audit(a));
    bool over = has_passed(a) || (all_connected(a->params.watch) && audit_agrees(audit(a)));
    deadline_start(a->grace, over ? 0 : grace_ms);
}

static void list_complete(struct auditor *a)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(a->list, &page, &err) != ERR_OK ||
        pages_check(&a->pages, &page, &err) != ERR_OK) {
        fail(a, &err);
        return;
    }
    if (a->is_first_page)
        audit_version(audit(a), a->feed, page.rv);
    char *next = page.next.n > 0 ? mem_strndup(page.next.p, page.next.n) : NULL;
    end_request(a);
    a->feed += next == NULL;
    if (a->feed < watch_feed_count(a->params.watch))
        ask(a, next);
    else
        all_listed(a);
    free(next);
}

static void on_end(void *arg, const struct err *err)
{
    struct auditor *a = arg;

    if (err != NULL)
        fail(a, err);
    else if (a->refusal.code != 200)
        refused(a);
    else
        list_complete(a);
}

/* The comparison holds only for streams that followed the server all the while. */
static void on_grace_over(void *arg)
{
    struct auditor *a = arg;
    struct err err;

    if (all_connected(a->params.watch) && relists(a) == a->relists) {
        audit_finish(audit(a), now_ms(a));
        a->events->on_done(a->arg);
        return;
    }
    if (begin_anew(a))
        return;
    err_set(&err, ERR_CLOSED, 0,
            "watch %s lost its server while it was compared, and again the second time: try again "
            "when it is stable",
            watch_name(a->params.watch));
    fail(a, &err);
}

static bool start(struct auditor *a, bool apply, struct err *err)
{
    if (check(a, err) != ERR_OK)
        return false;
    a->attempt = ATTEMPT_FIRST;
    a->limit = a->params.page_size;
    begin(a, apply);
    return true;
}

static void on_next(void *arg)
{
    struct auditor *a = arg;
    struct err err;
    bool begun = audit_state(audit(a)) == AUDIT_IDLE && start(a, true, &err);
    bool soon = !begun && a->params.interval_ms > AUDITOR_PUT_OFF_MS;

    deadline_start(a->next, soon ? AUDITOR_PUT_OFF_MS : a->params.interval_ms);
}

struct auditor *auditor_create(const struct auditor_params *params,
                               const struct auditor_events *events, void *arg)
{
    struct auditor *a = MEM_NEW(struct auditor, .params = *params, .events = events, .arg = arg);
    uint64_t interval_ms = params->interval_ms;
    struct rng rng;

    a->next = deadline_create(params->loop, on_next, a);
    a->grace = deadline_create(params->loop, on_grace_over, a);
    rng_seed(&rng, params->seed);
    if (interval_ms > 0)
        deadline_start(a->next, interval_ms + rng_between(&rng, 0, interval_ms));
    return a;
}

void auditor_verify(struct auditor *a)
{
    struct err err;

    if (audit_state(audit(a)) == AUDIT_IDLE && !start(a, false, &err))
        audit_failed(audit(a), &err, now_ms(a));
}

void auditor_kick(struct auditor *a)
{
    if (audit_state(audit(a)) == AUDIT_GRACE && has_passed(a))
        deadline_start(a->grace, 0);
}

void auditor_dispose(struct auditor **ap)
{
    struct auditor *a = *ap;
    struct err err;

    if (a == NULL)
        return;
    *ap = NULL;
    end_request(a);
    if (audit_state(audit(a)) != AUDIT_IDLE) {
        err_set(&err, ERR_CLOSED, 0, "the comparison was stopped with its watch");
        audit_failed(audit(a), &err, now_ms(a));
    }
    deadline_dispose(&a->next);
    deadline_dispose(&a->grace);
    pages_fini(&a->pages);
    free(a);
}
