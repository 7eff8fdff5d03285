/* SPDX-License-Identifier: Apache-2.0 */
#include "io/renewals.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "io/deadline.h"
#include "io/loop.h"

struct renewals {
    struct renewals_params params;
    struct list waiting;
    unsigned under_way;
    uint64_t renewed;    /* since the last line of the log that says how many */
    bool alone;          /* the last renewal has failed for all: one watch tries at a time */
    uint64_t resumes_ms; /* no renewal is started before */
    struct backoff backoff;
    struct rng rng;
    enum err_kind logged;   /* a failure for all, as logged last; OK = none */
    struct loop_task soon;  /* starts the renewals that can be started */
    struct deadline *later; /* the same, when the time of the next one has come */
};

/* Starts those whose time has come, as far as there is room, and sets the timer for the others. If
 * there is no room, a renewal that ends makes some. */
static void start_some(struct renewals *r)
{
    uint64_t now_ms = loop_now_ms(r->params.loop);
    uint64_t next_ms = UINT64_MAX;

    if (now_ms < r->resumes_ms) {
        deadline_start_at(r->later, r->resumes_ms);
        return;
    }
    list_each (pos, tmp, &r->waiting) {
        struct renewals_watch *w = list_entry(pos, struct renewals_watch, link);

        if (r->under_way >= (r->alone ? 1 : RENEWALS_AT_A_TIME))
            return;
        if (w->due_ms > now_ms) {
            next_ms = w->due_ms < next_ms ? w->due_ms : next_ms;
            continue;
        }
        list_remove(&w->link);
        w->state = RENEWALS_UNDER_WAY;
        r->under_way++;
        w->start(w->arg);
    }
    deadline_start_at(r->later, next_ms);
}

static void on_soon(struct loop_task *task)
{
    start_some(container_of(task, struct renewals, soon));
}

static void on_later(void *arg)
{
    start_some(arg);
}

struct renewals *renewals_create(const struct renewals_params *params)
{
    struct renewals *r = MEM_NEW(struct renewals, .params = *params);

    list_init(&r->waiting);
    rng_seed(&r->rng, params->seed);
    loop_task_init(&r->soon, on_soon);
    r->later = deadline_create(params->loop, on_later, r);
    return r;
}

void renewals_init(struct renewals_watch *w, void (*start)(void *arg), void *arg)
{
    *w = (struct renewals_watch){.start = start, .arg = arg};
    list_init(&w->link);
}

void renewals_join(struct renewals *r, struct renewals_watch *w)
{
    if (w->state != RENEWALS_OUT)
        return;
    w->state = RENEWALS_WAITING;
    w->due_ms = 0;
    list_append(&r->waiting, &w->link);
    loop_defer(r->params.loop, &r->soon);
}

/* The last one of a round says how many there were. */
static void look_round(struct renewals *r)
{
    if (r->under_way > 0 || !list_is_empty(&r->waiting) || r->renewed == 0)
        return;
    log_info("open watches renewed", KV_STR("cluster", r->params.cluster),
             KV_U64("watches", r->renewed));
    r->renewed = 0;
}

static void leave(struct renewals *r, struct renewals_watch *w)
{
    list_remove(&w->link);
    if (w->state == RENEWALS_UNDER_WAY)
        r->under_way--;
    w->state = RENEWALS_OUT;
    loop_defer(r->params.loop, &r->soon);
}

/* The last failure that was one for all says nothing any more. */
static void forget_failure(struct renewals *r)
{
    backoff_reset(&r->backoff);
    r->logged = ERR_OK;
    r->alone = false;
}

void renewals_done(struct renewals *r, struct renewals_watch *w)
{
    ensure(w->state == RENEWALS_UNDER_WAY);
    leave(r, w);
    backoff_reset(&w->backoff);
    w->logged = ERR_OK;
    forget_failure(r);
    r->renewed++;
    look_round(r);
}

/* Would every watch of the cluster fail in the same way? */
static bool is_for_all(enum err_kind kind)
{
    switch (kind) {
    case ERR_IO:
    case ERR_CLOSED:
    case ERR_REFUSED:
    case ERR_TIMEOUT:
    case ERR_TLS:
    case ERR_CREDENTIAL:
    case ERR_BUSY:
    case ERR_UNAUTHORIZED:
    case ERR_FOREIGN:
        return true;
    case ERR_OK:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_FORBIDDEN:
    case ERR_NOT_FOUND:
    case ERR_NO_VERB:
    case ERR_EXPIRED:
    case ERR_FUTURE:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    return false;
}

/* A failure is worth one line for each kind, not for each try. */
static enum log_level level_of(enum err_kind *logged, enum err_kind kind)
{
    enum log_level level = *logged == kind ? LOG_LVL_DEBUG : LOG_LVL_WARN;

    *logged = kind;
    return level;
}

/* The pause of all. Renewals that were under way together fail together: they are one failure. */
static uint64_t pause_all(struct renewals *r, uint64_t wait_ms)
{
    uint64_t now_ms = loop_now_ms(r->params.loop);

    if (now_ms >= r->resumes_ms)
        r->resumes_ms = now_ms + backoff_step(&r->backoff, &r->params.retry, &r->rng);
    if (r->resumes_ms < now_ms + wait_ms)
        r->resumes_ms = now_ms + wait_ms;
    r->alone = true;
    return r->resumes_ms - now_ms;
}

/* A watch that failed goes to the end of the line, so that another one finds out whether the failure
 * is one for all. */
struct renewals_retry renewals_failed(struct renewals *r, struct renewals_watch *w,
                                      const struct err *err, uint64_t wait_ms)
{
    bool for_all = is_for_all(err->kind);
    struct renewals_retry retry = {.level = level_of(for_all ? &r->logged : &w->logged, err->kind)};

    ensure(w->state == RENEWALS_UNDER_WAY);
    leave(r, w);
    renewals_join(r, w);
    if (for_all) {
        retry.in_ms = pause_all(r, wait_ms);
        return retry;
    }
    retry.in_ms = backoff_step(&w->backoff, &r->params.retry, &r->rng);
    if (retry.in_ms < wait_ms)
        retry.in_ms = wait_ms;
    w->due_ms = loop_now_ms(r->params.loop) + retry.in_ms;
    return retry;
}

void renewals_leave(struct renewals *r, struct renewals_watch *w)
{
    if (w->state == RENEWALS_OUT)
        return;
    leave(r, w);
    look_round(r);
}

void renewals_restart(struct renewals *r, const struct backoff_params *retry)
{
    r->params.retry = *retry;
    r->resumes_ms = 0;
    forget_failure(r);
    loop_defer(r->params.loop, &r->soon);
}

void renewals_dispose(struct renewals **rp)
{
    struct renewals *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    ensure(list_is_empty(&r->waiting) && r->under_way == 0);
    loop_cancel(&r->soon);
    deadline_dispose(&r->later);
    free(r);
}
