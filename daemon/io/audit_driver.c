/* SPDX-License-Identifier: Apache-2.0 */
#include "io/audit_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cache/api_error.h"
#include "cache/audit.h"
#include "cache/pages.h"
#include "cache/watch.h"
#include "io/api_client.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "proto/http_in.h"

/* A comparison may begin anew once: without pages when its token expired, or after a stream of the
 * watch was lost meanwhile. */
enum attempt { ATTEMPT_FIRST, ATTEMPT_LAST };

/* Where a comparison is, audit_state() says. */
struct audit_driver {
    struct audit_driver_params params;
    const struct audit_driver_events *events;
    void *arg;
    struct deadline *next;  /* the next one that nobody asks for */
    struct deadline *grace; /* until audit_finish() at the latest */
    enum attempt attempt;
    unsigned limit;   /* of a page */
    uint64_t relists; /* of the watch, when the lists began */
    size_t scope;     /* whose list is under way */
    bool is_first_page;
    struct pages pages;
    struct request *request; /* NULL while not LISTING */
    struct list_reader *list;
    struct api_error api_error;
};

static struct audit *audit(const struct audit_driver *d)
{
    return watch_audit(d->params.watch);
}

static uint64_t now_ms(const struct audit_driver *d)
{
    return loop_now_ms(d->params.loop);
}

static uint64_t relists(const struct audit_driver *d)
{
    return watch_status(d->params.watch, now_ms(d)).relists;
}

static bool all_connected(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (!list_watch_status(watch_list_watch(w, i)).connected)
            return false;
    return true;
}

/* Can the watch be compared? */
static enum err_kind check(const struct audit_driver *d, struct err *err)
{
    const struct watch *w = d->params.watch;

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

static void end_request(struct audit_driver *d)
{
    request_dispose(&d->request);
    list_reader_destroy(&d->list);
    api_error_reset(&d->api_error);
}

/* Who asked for a comparison is told by audit_result(). */
static void tell_failed(const struct audit_driver *d, const struct err *err)
{
    log_emit(audit_applies(audit(d)) ? LOG_LVL_WARN : LOG_LVL_DEBUG, "audit failed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(d->params.watch)),
                        KV_STR("watch", watch_name(d->params.watch)), KV_ERR(err)));
}

/* The comparison cannot be ended. */
static void fail(struct audit_driver *d, const struct err *err)
{
    end_request(d);
    tell_failed(d, err);
    audit_failed(audit(d), err, now_ms(d));
    if (err->kind == ERR_UNAUTHORIZED)
        d->events->on_unauthorized(d->arg);
    else
        d->events->on_done(d->arg);
}

static void on_item(void *arg, struct object *o, bool selected)
{
    const struct audit_driver *d = arg;

    if (selected)
        audit_item(audit(d), d->scope, o);
}

/* It is not known what the server has there. */
static void on_unusable(void *arg, const struct unusable *u)
{
    const struct audit_driver *d = arg;

    if (u->key.n > 0)
        audit_unusable(audit(d), d->scope, u->key);
    else
        audit_unnamed(audit(d));
}

static void on_head(void *arg, const struct http_head *head);
static void on_body(void *arg, const char *data, size_t n);
static void on_end(void *arg, const struct err *err);

/* token NULL = the first page. */
static void ask(struct audit_driver *d, const char *token)
{
    static const struct request_events request_events = {
        .on_head = on_head, .on_body = on_body, .on_end = on_end};
    static const struct list_events list_events = {on_item, on_unusable};
    const struct list_watch *lw = watch_list_watch(d->params.watch, d->scope);
    struct buf target = {0};

    d->is_first_page = token == NULL;
    pages_ask(&d->pages, token);
    list_watch_put_list_target(lw, &target, d->limit, token);
    d->list = list_reader_create(list_watch_rules(lw), &list_events, d);
    d->request = api_client_request(d->params.client,
                                    &(struct request_params){.target = buf_cstr(&target),
                                                             .accept = list_watch_accept(lw),
                                                             .list = true},
                                    &request_events, d);
    buf_free(&target);
}

/* Does the server give its lists no version? Then it may give its objects none that means much. */
static bool is_unversioned(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (*list_watch_status(watch_list_watch(w, i)).rv == '\0')
            return true;
    return false;
}

static void begin(struct audit_driver *d, bool apply)
{
    audit_begin(audit(d), apply);
    if (is_unversioned(d->params.watch))
        audit_doubt(audit(d));
    d->relists = relists(d);
    d->scope = 0;
    ask(d, NULL);
}

/* False: it was the last attempt. */
static bool begin_anew(struct audit_driver *d)
{
    if (d->attempt == ATTEMPT_LAST)
        return false;
    d->attempt = ATTEMPT_LAST;
    end_request(d);
    begin(d, audit_applies(audit(d)));
    return true;
}

static void on_head(void *arg, const struct http_head *head)
{
    struct audit_driver *d = arg;

    api_error_head(&d->api_error, head);
}

static void refused(struct audit_driver *d)
{
    struct err err = {0};

    api_error_read(&d->api_error, &err);
    if (err.kind == ERR_EXPIRED && d->limit > 0) {
        d->limit = 0;
        if (begin_anew(d))
            return;
    }
    fail(d, &err);
}

static void on_body(void *arg, const char *data, size_t n)
{
    struct audit_driver *d = arg;
    struct err err;

    if (d->api_error.code != 200) {
        if (!api_error_body(&d->api_error, data, n))
            refused(d);
    } else if (list_reader_feed(d->list, data, n, &err) != ERR_OK) {
        fail(d, &err);
    }
}

/* Has the cache all that the lists have, and is no stream lost? */
static bool has_passed(const struct audit_driver *d)
{
    const struct watch *w = d->params.watch;

    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (!audit_is_passed(audit(d), i, str_c(list_watch_status(watch_list_watch(w, i)).rv)))
            return false;
    return all_connected(w);
}

static void all_listed(struct audit_driver *d)
{
    uint64_t grace_ms = d->params.grace_ms > 0 ? d->params.grace_ms : AUDIT_GRACE_MS;

    audit_listed(audit(d));
    bool over = has_passed(d) || (all_connected(d->params.watch) && audit_agrees(audit(d)));
    deadline_start(d->grace, over ? 0 : grace_ms);
}

static void list_complete(struct audit_driver *d)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(d->list, &page, &err) != ERR_OK ||
        pages_check(&d->pages, &page, &err) != ERR_OK) {
        fail(d, &err);
        return;
    }
    if (d->is_first_page)
        audit_version(audit(d), d->scope, page.rv);
    char *next = page.next.n > 0 ? mem_strndup(page.next.p, page.next.n) : NULL;
    end_request(d);
    d->scope += next == NULL;
    if (d->scope < watch_list_watch_count(d->params.watch))
        ask(d, next);
    else
        all_listed(d);
    free(next);
}

static void on_end(void *arg, const struct err *err)
{
    struct audit_driver *d = arg;

    if (err != NULL)
        fail(d, err);
    else if (d->api_error.code != 200)
        refused(d);
    else
        list_complete(d);
}

/* The comparison holds only for streams that followed the server all the while. */
static void on_grace_over(void *arg)
{
    struct audit_driver *d = arg;
    struct err err;

    if (all_connected(d->params.watch) && relists(d) == d->relists) {
        audit_finish(audit(d), now_ms(d));
        d->events->on_done(d->arg);
        return;
    }
    if (begin_anew(d))
        return;
    err_set(&err, ERR_CLOSED, 0,
            "watch %s lost its server while it was compared, and again the second time: try again "
            "when it is stable",
            watch_name(d->params.watch));
    fail(d, &err);
}

static bool start(struct audit_driver *d, bool apply, struct err *err)
{
    if (check(d, err) != ERR_OK)
        return false;
    d->attempt = ATTEMPT_FIRST;
    d->limit = d->params.page_size;
    begin(d, apply);
    return true;
}

static void on_next(void *arg)
{
    struct audit_driver *d = arg;
    struct err err;
    bool begun = audit_state(audit(d)) == AUDIT_IDLE && start(d, true, &err);
    bool soon = !begun && d->params.interval_ms > AUDIT_DRIVER_PUT_OFF_MS;

    deadline_start(d->next, soon ? AUDIT_DRIVER_PUT_OFF_MS : d->params.interval_ms);
}

struct audit_driver *audit_driver_create(const struct audit_driver_params *params,
                                         const struct audit_driver_events *events, void *arg)
{
    struct audit_driver *d =
        MEM_NEW(struct audit_driver, .params = *params, .events = events, .arg = arg);
    uint64_t interval_ms = params->interval_ms;
    struct rng rng;

    d->next = deadline_create(params->loop, on_next, d);
    d->grace = deadline_create(params->loop, on_grace_over, d);
    rng_seed(&rng, params->seed);
    if (interval_ms > 0)
        deadline_start(d->next, interval_ms + rng_between(&rng, 0, interval_ms));
    return d;
}

void audit_driver_verify(struct audit_driver *d)
{
    struct err err;

    if (audit_state(audit(d)) == AUDIT_IDLE && !start(d, false, &err))
        audit_failed(audit(d), &err, now_ms(d));
}

void audit_driver_kick(struct audit_driver *d)
{
    if (audit_state(audit(d)) == AUDIT_GRACE && has_passed(d))
        deadline_start(d->grace, 0);
}

void audit_driver_dispose(struct audit_driver **ap)
{
    struct audit_driver *d = *ap;
    struct err err;

    if (d == NULL)
        return;
    *ap = NULL;
    end_request(d);
    if (audit_state(audit(d)) != AUDIT_IDLE) {
        err_set(&err, ERR_CLOSED, 0, "the comparison was stopped with its watch");
        audit_failed(audit(d), &err, now_ms(d));
    }
    deadline_dispose(&d->next);
    deadline_dispose(&d->grace);
    pages_fini(&d->pages);
    free(d);
}
