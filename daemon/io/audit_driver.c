/* SPDX-License-Identifier: Apache-2.0 */
#include "io/audit_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cache/audit.h"
#include "cache/pages.h"
#include "cache/watch.h"
#include "io/deadline.h"
#include "io/fetch.h"
#include "io/loop.h"

/* An audit may begin anew once: without pages if its continue token expired, or if a scope of the
 * watch lost its server or was listed meanwhile. */
enum attempt { ATTEMPT_FIRST, ATTEMPT_LAST };

/* The state of an audit is audit_state() of the watch's audit; the driver has none of its own. */
struct audit_driver {
    struct audit_driver_params params;
    const struct audit_driver_events *events;
    void *arg;
    struct deadline *next;  /* until the next audit that the interval starts */
    struct deadline *grace; /* AUDIT_GRACE: until audit_finish() at the latest */
    enum attempt attempt;
    unsigned limit;     /* objects in a page; 0 = no paging */
    uint64_t relists;   /* how often the watch had been listed when the LISTs began */
    size_t scope;       /* the scope whose LIST is under way */
    bool is_first_page; /* the fetch under way is for the first page of that LIST */
    struct pages pages;
    struct fetch *fetch; /* NULL while not LISTING */
    struct list_reader *list;
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
        if (!list_watch_connected(watch_list_watch(w, i)))
            return false;
    return true;
}

static void end_fetch(struct audit_driver *d)
{
    fetch_dispose(&d->fetch);
    list_reader_destroy(&d->list);
}

/* Ends the audit without a comparison. An audit of the interval has nobody who reads audit_result(),
 * so it warns in the log. The person who asked for a comparison gets the reason as the answer. */
static void fail(struct audit_driver *d, const struct err *err)
{
    end_fetch(d);
    log_emit(audit_applies(audit(d)) ? LOG_LVL_WARN : LOG_LVL_DEBUG, "audit failed",
             LOG_FIELDS(KV_STR("cluster", watch_cluster(d->params.watch)),
                        KV_STR("watch", watch_name(d->params.watch)), KV_ERR(err)));
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

/* The LIST has an object that cannot be used, so its state at the server is not known
 * (docs/design.md "Skipped objects"). */
static void on_unusable(void *arg, const struct unusable *u)
{
    const struct audit_driver *d = arg;

    if (u->key.n > 0)
        audit_unusable(audit(d), d->scope, u->key);
    else
        audit_unnamed(audit(d));
}

static enum err_kind on_body(void *arg, const char *data, size_t n, struct err *err)
{
    struct audit_driver *d = arg;
    enum err_kind kind = list_reader_feed(d->list, data, n, err);

    if (kind == ERR_OK && !watch_may_compare(d->params.watch))
        return err_set(err, ERR_TOO_BIG, 0,
                       "limits.memory is reached: there is no room for the keys of the list");
    return kind;
}

static void on_answer(void *arg, const struct fetch_answer *a);

/* Asks for a page of the LIST of d->scope; token NULL = the first page. The LIST is asked for
 * without a version, as only such a list is consistent. Nothing of it enters the cache, so it
 * needs no proof of its own of which cluster it is from. */
static void ask(struct audit_driver *d, const char *token)
{
    static const struct list_events list_events = {on_item, on_unusable};
    const struct list_watch *lw = watch_list_watch(d->params.watch, d->scope);
    struct buf target = {0};

    d->is_first_page = token == NULL;
    pages_ask(&d->pages, token);
    list_watch_put_list_target(lw, &target, d->limit, token);
    d->list = list_reader_create(list_watch_rules(lw), &list_events, d);
    const struct fetch_params params = {
        .request = {.target = buf_cstr(&target), .accept = list_watch_accept(lw), .list = true},
        .on_body = on_body,
    };
    d->fetch = fetch_start(d->params.loop, d->params.client, &params, on_answer, d);
    buf_free(&target);
}

/* Does the server give its lists no version? Then resourceVersions of its objects prove nothing,
 * and the audit compares bytes
 * (docs/decisions.md "Lists asked for without a version are compared by bytes"). */
static bool is_unversioned(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (*list_watch_status(watch_list_watch(w, i)).rv == '\0')
            return true;
    return false;
}

/* The scopes are listed one after the other. audit_begin() comes first: from then on the audit
 * notes the keys that change meanwhile. */
static void begin(struct audit_driver *d, bool apply)
{
    audit_begin(audit(d), apply);
    if (is_unversioned(d->params.watch))
        audit_doubt(audit(d));
    d->relists = relists(d);
    d->scope = 0;
    ask(d, NULL);
}

/* Begins the audit anew, in the same mode. False: this was the second attempt already. */
static bool begin_anew(struct audit_driver *d)
{
    if (d->attempt == ATTEMPT_LAST)
        return false;
    d->attempt = ATTEMPT_LAST;
    end_fetch(d);
    begin(d, audit_applies(audit(d)));
    return true;
}

/* Is the cache of each scope as new as its LIST, or newer, and is each scope connected? */
static bool has_passed(const struct audit_driver *d)
{
    const struct watch *w = d->params.watch;

    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (!audit_is_passed(audit(d), i, str_c(list_watch_status(watch_list_watch(w, i)).rv)))
            return false;
    return all_connected(w);
}

/* Events from before the LISTs may still be on their way: the audit waits for them, for the grace at
 * most, unless nothing differs or all of them have come (docs/decisions.md "An audit lists beside the
 * running watches"). */
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
    /* All pages are of the version of the first one (docs/kubernetes-protocol.md "Pages"). */
    if (d->is_first_page)
        audit_version(audit(d), d->scope, page.rv);
    /* The token is copied, as end_fetch() frees the page. */
    char *next = page.next.n > 0 ? mem_strndup(page.next.p, page.next.n) : NULL;
    end_fetch(d);
    d->scope += next == NULL;
    if (d->scope < watch_list_watch_count(d->params.watch))
        ask(d, next);
    else
        all_listed(d);
    free(next);
}

/* A continue token that expired (410) shows a list that takes longer than etcd keeps versions: one
 * request for everything cannot expire on the way. */
static void on_answer(void *arg, const struct fetch_answer *a)
{
    struct audit_driver *d = arg;

    if (a->outcome == FETCH_GOOD) {
        list_complete(d);
        return;
    }
    if (a->outcome == FETCH_REFUSED && a->err.kind == ERR_EXPIRED && d->limit > 0) {
        d->limit = 0;
        if (begin_anew(d))
            return;
    }
    fail(d, &a->err);
}

/* The comparison is good only if each scope followed the server from the first LIST until now: a
 * scope that was lost has missed events, and one that was listed has a state of another time. */
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

/* Begins an audit, with both attempts left. False: the watch cannot be compared now, and *err says
 * why. A cache that is not complete, or not up to date, would differ for no fault of its own. */
static bool start(struct audit_driver *d, bool apply, struct err *err)
{
    const struct watch *w = d->params.watch;

    if (!watch_synced(w)) {
        err_set(err, ERR_CLOSED, 0, "watch %s is not synced yet: there is nothing to compare",
                watch_name(w));
        return false;
    }
    if (!all_connected(w)) {
        err_set(err, ERR_CLOSED, 0,
                "watch %s is not connected to its server, so it cannot be compared now: "
                "informerctl status says why",
                watch_name(w));
        return false;
    }
    d->attempt = ATTEMPT_FIRST;
    d->limit = d->params.page_size;
    begin(d, apply);
    return true;
}

/* The interval is over. If no audit can begin, the next try comes in a minute: with an interval of
 * a day a watch that is lost just now would not be compared for two days. */
static void on_next(void *arg)
{
    struct audit_driver *d = arg;
    struct err err;
    bool begun = audit_state(audit(d)) == AUDIT_IDLE && start(d, true, &err);
    bool soon = !begun && d->params.interval_ms > AUDIT_DRIVER_PUT_OFF_MS;

    deadline_start(d->next, soon ? AUDIT_DRIVER_PUT_OFF_MS : d->params.interval_ms);
}

/* The first audit comes at a random time, so that not all nodes list at once. */
static void await_first(struct audit_driver *d)
{
    uint64_t interval_ms = d->params.interval_ms;
    struct rng rng;

    rng_seed(&rng, d->params.seed);
    if (interval_ms > 0)
        deadline_start(d->next, interval_ms + rng_between(&rng, 0, interval_ms));
}

struct audit_driver *audit_driver_create(const struct audit_driver_params *params,
                                         const struct audit_driver_events *events, void *arg)
{
    struct audit_driver *d =
        MEM_NEW(struct audit_driver, .params = *params, .events = events, .arg = arg);

    d->next = deadline_create(params->loop, on_next, d);
    d->grace = deadline_create(params->loop, on_grace_over, d);
    await_first(d);
    return d;
}

void audit_driver_set_interval(struct audit_driver *d, uint64_t interval_ms)
{
    if (interval_ms == d->params.interval_ms)
        return;
    d->params.interval_ms = interval_ms;
    deadline_stop(d->next);
    await_first(d);
}

void audit_driver_move(struct audit_driver *d, struct api_client *client, unsigned page_size)
{
    d->params.client = client;
    d->params.page_size = page_size;
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

void audit_driver_dispose(struct audit_driver **dp)
{
    struct audit_driver *d = *dp;
    struct err err;

    if (d == NULL)
        return;
    *dp = NULL;
    end_fetch(d);
    /* The audit belongs to the watch, which may live on: it must not wait for LISTs for ever. */
    if (audit_state(audit(d)) != AUDIT_IDLE) {
        err_set(&err, ERR_CLOSED, 0, "the comparison was stopped with its watch");
        audit_failed(audit(d), &err, now_ms(d));
    }
    deadline_dispose(&d->next);
    deadline_dispose(&d->grace);
    pages_fini(&d->pages);
    free(d);
}
