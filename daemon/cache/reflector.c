/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* A stream that ends sooner without an event is a server that does not mean it (PROTOCOL 1.7). */
#define VERY_SHORT_MS 1000

/* What the next list may ask for (PROTOCOL 1.3). */
enum list_mode {
    LIST_FROM_RV,     /* "0" at first, else not older than the last version seen */
    LIST_FROM_RV_ALL, /* the same without limit: a continue token expired */
    LIST_NEWEST,      /* no version: the known one is expired or from the future */
    LIST_NEWEST_ALL,  /* the same without limit */
};

struct reflector {
    struct reflector_params params;
    struct backoff backoff;
    struct rng rng;
    enum reflector_state state;
    enum reflector_do resume; /* after BACKOFF */
    enum list_mode mode;
    char *rv;          /* NULL before the first list */
    char *list_rv;     /* of page 1 of the list under way, NULL before it came */
    char *next;        /* continue token of the next page, NULL on page 1 */
    bool server_pages; /* a list from "0" came in pages: no watch cache, keep paging */
    uint64_t since_ms; /* when the watch was asked for */
    uint64_t well_ms;  /* the same of the first in a row that followed each other without a wait */
    uint64_t events;   /* in this stream */
    uint64_t lists;
};

struct reflector *reflector_create(const struct reflector_params *params, uint64_t seed)
{
    struct reflector *r = mem_zalloc(sizeof(*r));

    ensure(params->watch_min_s > 0 && params->watch_min_s <= params->watch_max_s);
    r->params = *params;
    rng_seed(&r->rng, seed);
    return r;
}

void reflector_destroy(struct reflector **rp)
{
    struct reflector *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    free(r->rv);
    free(r->list_rv);
    free(r->next);
    free(r);
}

static void set(char **slot, struct str s)
{
    free(*slot);
    *slot = s.n > 0 ? mem_strndup(s.p, s.n) : NULL;
}

static const char *version_to_list(const struct reflector *r)
{
    if (r->mode == LIST_NEWEST || r->mode == LIST_NEWEST_ALL)
        return NULL;
    return r->rv != NULL ? r->rv : "0";
}

/* A limit with a real version goes past the server's watch cache (PROTOCOL 1.3). */
static unsigned list_limit(const struct reflector *r)
{
    bool cheap = r->mode == LIST_NEWEST || r->rv == NULL;

    if (r->mode == LIST_FROM_RV_ALL || r->mode == LIST_NEWEST_ALL)
        return 0;
    return cheap || r->params.page_always || r->server_pages ? r->params.page_size : 0;
}

static struct reflector_action ask_list(struct reflector *r)
{
    r->state = REFLECTOR_LISTING;
    if (r->next != NULL) /* version and continue token exclude each other */
        return (struct reflector_action){
            .what = REFLECTOR_LIST, .next = r->next, .limit = r->params.page_size};
    r->lists++;
    set(&r->list_rv, str_c(NULL));
    return (struct reflector_action){
        .what = REFLECTOR_LIST, .rv = version_to_list(r), .limit = list_limit(r)};
}

static struct reflector_action begin_list(struct reflector *r, enum list_mode mode)
{
    set(&r->next, str_c(NULL));
    r->mode = mode;
    return ask_list(r);
}

static struct reflector_action begin_watch(struct reflector *r, uint64_t now_ms)
{
    ensure(r->rv != NULL);
    r->state = REFLECTOR_WATCHING;
    r->since_ms = now_ms;
    r->events = 0;
    return (struct reflector_action){
        .what = REFLECTOR_WATCH,
        .rv = r->rv,
        .timeout_s = (unsigned)rng_between(&r->rng, r->params.watch_min_s, r->params.watch_max_s)};
}

/* The first watch behind a list or a wait. */
static struct reflector_action begin_watches(struct reflector *r, uint64_t now_ms)
{
    r->well_ms = now_ms;
    return begin_watch(r, now_ms);
}

static struct reflector_action wait_then(struct reflector *r, enum reflector_do resume,
                                         uint64_t at_least_ms)
{
    uint64_t ms = backoff_step(&r->backoff, &r->params.backoff, &r->rng);

    r->state = REFLECTOR_BACKOFF;
    r->resume = resume;
    return (struct reflector_action){.what = REFLECTOR_WAIT,
                                     .wait_ms = ms > at_least_ms ? ms : at_least_ms};
}

struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms)
{
    (void)now_ms;
    ensure(r->state == REFLECTOR_IDLE);
    return begin_list(r, LIST_FROM_RV);
}

struct reflector_action reflector_listed(struct reflector *r, struct str rv, struct str next,
                                         uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_LISTING && rv.n > 0);
    if (r->list_rv == NULL)
        set(&r->list_rv, rv); /* the version that counts is that of page 1 */
    if (next.n > 0) {
        if (r->rv == NULL && r->mode == LIST_FROM_RV)
            r->server_pages = true;
        set(&r->next, next);
        return ask_list(r);
    }
    set(&r->rv, str_c(r->list_rv));
    set(&r->next, str_c(NULL));
    r->mode = LIST_FROM_RV;
    return begin_watches(r, now_ms);
}

void reflector_seen(struct reflector *r, struct str rv)
{
    ensure(r->state == REFLECTOR_WATCHING && rv.n > 0);
    r->events++;
    set(&r->rv, rv);
}

/* Behind a proxy that ends every stream early, none alone would ever live long enough. */
static void note_health(struct reflector *r, uint64_t now_ms)
{
    if (now_ms - r->well_ms >= r->params.reset_after_ms)
        backoff_reset(&r->backoff);
}

static struct reflector_action wait_to_list(struct reflector *r, uint64_t at_least_ms)
{
    if (r->mode == LIST_FROM_RV_ALL)
        r->mode = LIST_FROM_RV;
    if (r->mode == LIST_NEWEST_ALL)
        r->mode = LIST_NEWEST;
    return wait_then(r, REFLECTOR_LIST, at_least_ms);
}

struct reflector_action reflector_ended(struct reflector *r, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_WATCHING);
    note_health(r, now_ms);
    if (r->events == 0 && now_ms - r->since_ms < VERY_SHORT_MS)
        return wait_to_list(r, 0);
    return begin_watch(r, now_ms);
}

static struct reflector_action list_failed(struct reflector *r, enum err_kind kind,
                                           uint64_t retry_after_ms)
{
    bool from_rv = r->mode == LIST_FROM_RV || r->mode == LIST_FROM_RV_ALL;

    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_FROM_RV)
        return begin_list(r, LIST_FROM_RV_ALL);
    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_NEWEST)
        return begin_list(r, LIST_NEWEST_ALL);
    if ((kind == ERR_EXPIRED || kind == ERR_FUTURE) && from_rv)
        return begin_list(r, LIST_NEWEST);
    return wait_to_list(r, retry_after_ms);
}

/* Does this error say nothing about the version we resume from? Then a list would only cost. */
static bool keeps_version(enum err_kind kind)
{
    switch (kind) {
    case ERR_IO:
    case ERR_CLOSED:
    case ERR_REFUSED:
    case ERR_TIMEOUT:
    case ERR_TLS:
    case ERR_CREDENTIAL:
    case ERR_BUSY:
    case ERR_UNAUTHORIZED: /* PROTOCOL 1.22, rule 10 */
    case ERR_FORBIDDEN:
        return true;
    case ERR_OK:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_NOT_FOUND:
    case ERR_EXPIRED:
    case ERR_FUTURE:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    return false;
}

struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, uint64_t now_ms)
{
    if (r->state == REFLECTOR_LISTING)
        return list_failed(r, err->kind, retry_after_ms);
    ensure(r->state == REFLECTOR_WATCHING);
    note_health(r, now_ms);
    if (keeps_version(err->kind))
        return wait_then(r, REFLECTOR_WATCH, retry_after_ms);
    if (err->kind == ERR_FUTURE)
        r->mode = LIST_NEWEST;
    return wait_to_list(r, retry_after_ms);
}

struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_BACKOFF);
    if (r->resume == REFLECTOR_WATCH)
        return begin_watches(r, now_ms);
    return begin_list(r, r->mode);
}

enum reflector_state reflector_state(const struct reflector *r)
{
    return r->state;
}

const char *reflector_rv(const struct reflector *r)
{
    return r->rv != NULL ? r->rv : "";
}

uint64_t reflector_lists(const struct reflector *r)
{
    return r->lists;
}
