/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/reflector.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "kube/rv.h"

/* A watch that ends sooner, without an event, was not really served
 * (docs/kubernetes-protocol.md "Very short watches"). */
#define VERY_SHORT_MS 1000

/* Streams that end sooner, and before their time, are resumed at once only so often in a row. */
#define HASTY_MS      5000
#define HASTY_STREAMS 5
#define HASTY_LISTS   2 /* and if each next one needs a list first */

/* After so many watches in a row without an event or bookmark the version may be one that the
 * server has not reached yet (docs/kubernetes-protocol.md "Versions of the future"). */
#define SILENT_STREAMS 2

/* So often in a row a probe is refused before the watch goes on without it. */
#define PROBE_REFUSALS 3

/* So often in a row a list as a stream may break off before it falls back to LIST. */
#define BROKEN_STREAMS 3

/* What an API cannot do it cannot do a minute later; another server may come to stand behind it. */
#define NO_VERB_MS 600000

/* Which version the next list asks for (docs/kubernetes-protocol.md "Version of a list"). */
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
    enum reflector_do resume; /* after IDLE, BACKOFF */
    bool untried;             /* the version is an earlier process's, and was not refused yet */
    enum list_mode mode;
    char *last_sync_rv;  /* to resume from; NULL before the first list, if nothing was left; "": the
                            server gives none */
    char *collection_rv; /* of the last list or bookmark: what the server said of all that it has */
    char *list_rv;       /* of page 1 of the list under way ("" as above), NULL before it came */
    char *next;          /* continue token of the next page, NULL on page 1 */
    bool server_pages;   /* a list from "0" came in pages: no watch cache, keep paging */
    bool can_stream;     /* WATCH_LIST_AUTO: as far as is known */
    bool by_list;        /* the stream of this list was refused: LIST */
    unsigned broken;     /* streams in a row that broke off before the end of the initial events */
    unsigned silent;     /* in a row, without an event or bookmark */
    unsigned hasty;      /* in a row, over before their time */
    unsigned holds;      /* lists in a row that were held */
    unsigned refusals;   /* of the probe, in a row */
    uint64_t since_ms;   /* when the stream was asked for */
    uint64_t timeout_ms; /* that it was to last */
    uint64_t well_ms; /* since_ms of the first in a row that followed each other without a wait */
    uint64_t events;  /* in this stream */
    enum relist_reason why; /* of the list due or under way; RELIST_REASONS = none, or the first */
    uint64_t relists[RELIST_REASONS];
};

struct reflector *reflector_create(const struct reflector_params *params, uint64_t seed)
{
    struct reflector *r = mem_zalloc(sizeof(*r));

    ensure(params->watch_min_s > 0 && params->watch_min_s <= params->watch_max_s);
    r->params = *params;
    r->why = RELIST_REASONS;
    rng_seed(&r->rng, seed);
    return r;
}

void reflector_destroy(struct reflector **rp)
{
    struct reflector *r = *rp;

    if (r == NULL)
        return;
    *rp = NULL;
    free(r->last_sync_rv);
    free(r->collection_rv);
    free(r->list_rv);
    free(r->next);
    free(r);
}

static void set(char **slot, struct str s)
{
    free(*slot);
    *slot = s.n > 0 ? mem_strndup(s.p, s.n) : NULL;
}

/* The like for what a server said of a version: that it gives none, too. */
static void set_version(char **slot, struct str rv)
{
    free(*slot);
    *slot = rv.n > 0 ? mem_strndup(rv.p, rv.n) : mem_strdup("");
}

/* Has the server listed, and given no version? */
static bool is_unversioned(const struct reflector *r)
{
    return r->last_sync_rv != NULL && r->last_sync_rv[0] == '\0';
}

/* A list is due that was not before. A list that is tried again keeps its first reason. */
static void need_list(struct reflector *r, enum relist_reason why)
{
    if (r->why != RELIST_REASONS || r->last_sync_rv == NULL)
        return;
    r->why = why;
    r->relists[why]++;
}

bool reflector_is_newest(const struct reflector *r)
{
    return r->mode == LIST_NEWEST || r->mode == LIST_NEWEST_ALL;
}

/* A limit together with a real version bypasses the server's watch cache
 * (docs/kubernetes-protocol.md "Pages"). */
static unsigned list_limit(const struct reflector *r)
{
    bool cheap = r->mode == LIST_NEWEST || r->last_sync_rv == NULL;

    if (r->mode == LIST_FROM_RV_ALL || r->mode == LIST_NEWEST_ALL)
        return 0;
    return cheap || r->params.page_always || r->server_pages ? r->params.page_size : 0;
}

/* The page of the list that is due. */
static struct reflector_action list_page(const struct reflector *r)
{
    const char *from = r->last_sync_rv != NULL ? r->last_sync_rv : "0";

    if (r->next != NULL) /* version and continue token exclude each other */
        return (struct reflector_action){
            .what = REFLECTOR_LIST, .next = r->next, .limit = r->params.page_size};
    return (struct reflector_action){
        .what = REFLECTOR_LIST, .rv = reflector_is_newest(r) ? NULL : from, .limit = list_limit(r)};
}

static struct reflector_action ask_list(struct reflector *r)
{
    r->state = REFLECTOR_LISTING;
    if (r->next == NULL)
        set(&r->list_rv, str_c(NULL));
    return list_page(r);
}

/* A request for a stream of events, which brings it to this state. */
static struct reflector_action ask_events(struct reflector *r, enum reflector_state state,
                                          const char *rv, uint64_t now_ms)
{
    unsigned timeout_s =
        (unsigned)rng_between(&r->rng, r->params.watch_min_s, r->params.watch_max_s);

    enum reflector_do what = state == REFLECTOR_STREAMING ? REFLECTOR_STREAM : REFLECTOR_WATCH;

    r->state = state;
    r->since_ms = now_ms;
    r->timeout_ms = (uint64_t)timeout_s * 1000;
    r->events = 0;
    return (struct reflector_action){.what = what, .rv = rv, .timeout_s = timeout_s};
}

static bool wants_stream(const struct reflector *r)
{
    if (is_unversioned(r)) /* the end of its initial events would be a version */
        return false;
    switch (r->params.watch_list) {
    case WATCH_LIST_ON:
        return !r->by_list;
    case WATCH_LIST_AUTO:
        return !r->by_list && r->can_stream && r->last_sync_rv != NULL;
    case WATCH_LIST_OFF:
        break;
    }
    return false;
}

static struct reflector_action begin_list(struct reflector *r, enum list_mode mode, uint64_t now_ms)
{
    set(&r->next, str_c(NULL));
    r->mode = mode;
    if (!wants_stream(r))
        return ask_list(r);
    return ask_events(r, REFLECTOR_STREAMING, reflector_is_newest(r) ? NULL : r->last_sync_rv,
                      now_ms);
}

static struct reflector_action begin_watch(struct reflector *r, uint64_t now_ms)
{
    ensure(r->last_sync_rv != NULL);
    set(&r->next, str_c(NULL));
    return is_unversioned(r) ? ask_events(r, REFLECTOR_COMPARING, NULL, now_ms)
                             : ask_events(r, REFLECTOR_WATCHING, r->last_sync_rv, now_ms);
}

/* The first watch behind a list or a wait. */
static struct reflector_action begin_watches(struct reflector *r, uint64_t now_ms)
{
    r->well_ms = now_ms;
    return begin_watch(r, now_ms);
}

/* Is no wait: the streams before and behind it follow each other. */
static struct reflector_action begin_probe(struct reflector *r)
{
    r->state = REFLECTOR_PROBING;
    return (struct reflector_action){.what = REFLECTOR_PROBE, .limit = 1};
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

/* Ends the attempt to list: the next one begins afresh. */
static struct reflector_action wait_to_list(struct reflector *r, uint64_t at_least_ms)
{
    struct reflector_action a = wait_then(r, REFLECTOR_LIST, at_least_ms);

    r->mode = reflector_is_newest(r) ? LIST_NEWEST : LIST_FROM_RV;
    r->by_list = false;
    r->broken = 0;
    if (r->last_sync_rv != NULL)
        a.wait_ms += rng_between(&r->rng, 0, r->params.relist_jitter_ms);
    return a;
}

void reflector_resume(struct reflector *r, const struct resume_point *resume)
{
    bool lags = resume->kind != RESUME_NONE && resume->rv == NULL;

    ensure(r->state == REFLECTOR_IDLE && (resume->kind != RESUME_WHOLE || resume->rv != NULL));
    set(&r->last_sync_rv, str_c(resume->rv));
    set(&r->collection_rv, str_c(resume->collection_rv));
    r->untried = resume->kind == RESUME_WHOLE;
    r->resume = r->untried ? REFLECTOR_WATCH : REFLECTOR_LIST;
    r->mode = lags ? LIST_NEWEST : LIST_FROM_RV;
}

static struct reflector_action begin(struct reflector *r, uint64_t now_ms)
{
    return r->resume == REFLECTOR_WATCH ? begin_watches(r, now_ms) : begin_list(r, r->mode, now_ms);
}

/* If anything was left, the question which cluster it is has waited. */
struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms)
{
    bool is_new = r->last_sync_rv == NULL && !reflector_is_newest(r);
    uint64_t ms = is_new ? rng_between(&r->rng, 0, r->params.start_jitter_ms) : 0;

    ensure(r->state == REFLECTOR_IDLE);
    return ms > 0 ? (struct reflector_action){.what = REFLECTOR_WAIT, .wait_ms = ms}
                  : begin(r, now_ms);
}

/* The cache is what the server had at this version. Without one each later list asks for the newest
 * state, in pages or not as the last one could. */
static void in_sync(struct reflector *r, struct str rv)
{
    bool all = r->mode == LIST_FROM_RV_ALL || r->mode == LIST_NEWEST_ALL;

    if (rv.n > 0)
        set(&r->collection_rv, rv);
    set_version(&r->last_sync_rv, rv);
    set(&r->next, str_c(NULL));
    r->mode = rv.n > 0 ? LIST_FROM_RV : all ? LIST_NEWEST_ALL : LIST_NEWEST;
    r->why = RELIST_REASONS;
    r->untried = false;
    r->by_list = false;
    r->broken = 0;
    r->silent = 0;
    r->holds = 0;
}

static struct reflector_action probed(struct reflector *r, struct str rv, uint64_t now_ms)
{
    r->silent = 0;
    r->refusals = 0;
    if (rv.n > 0 && !reflector_is_older(r, rv))
        return begin_watch(r, now_ms);
    need_list(r, rv.n > 0 ? RELIST_FUTURE : RELIST_UNVERSIONED);
    return begin_list(r, LIST_NEWEST, now_ms);
}

struct reflector_action reflector_listed(struct reflector *r, struct str rv, struct str next,
                                         uint64_t now_ms)
{
    if (r->state == REFLECTOR_PROBING)
        return probed(r, rv, now_ms);
    if (r->state == REFLECTOR_STREAMING) {
        ensure(next.n == 0);
        in_sync(r, rv);
        return begin_watches(r, now_ms);
    }
    ensure(r->state == REFLECTOR_LISTING);
    if (r->list_rv == NULL)
        set_version(&r->list_rv, rv); /* the version that counts is that of page 1 */
    if (next.n > 0) {
        if (r->last_sync_rv == NULL && r->mode == LIST_FROM_RV)
            r->server_pages = true;
        set(&r->next, next);
        return ask_list(r);
    }
    in_sync(r, str_c(r->list_rv));
    return begin_watches(r, now_ms);
}

struct reflector_action reflector_compare(const struct reflector *r)
{
    ensure(r->state == REFLECTOR_COMPARING);
    return list_page(r);
}

void reflector_compared(struct reflector *r, struct str next)
{
    ensure(r->state == REFLECTOR_COMPARING);
    set(&r->next, next);
    if (next.n > 0)
        return;
    r->state = REFLECTOR_WATCHING;
    r->why = RELIST_REASONS;
    r->holds = 0;
}

void reflector_streamed(struct reflector *r, struct str rv, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_STREAMING && rv.n > 0);
    in_sync(r, rv);
    r->state = REFLECTOR_WATCHING;
    r->well_ms = now_ms;
    r->events++;
}

bool reflector_is_older(const struct reflector *r, struct str rv)
{
    return r->last_sync_rv != NULL && rv_order(rv, str_c(r->last_sync_rv)) == RV_OLDER;
}

bool reflector_goes_back(const struct reflector *r, struct str rv)
{
    return r->collection_rv != NULL && rv_order(rv, str_c(r->collection_rv)) == RV_OLDER;
}

struct str reflector_list_rv(const struct reflector *r, struct str rv)
{
    return r->list_rv != NULL ? str_c(r->list_rv) : rv;
}

struct reflector_action reflector_held(struct reflector *r, uint64_t wait_ms)
{
    ensure(r->state == REFLECTOR_LISTING || r->state == REFLECTOR_STREAMING ||
           r->state == REFLECTOR_COMPARING);
    /* Holds that follow each other must not become a hot loop, whatever hold is set to. */
    uint64_t ms = r->holds++ > 0 ? wait_then(r, REFLECTOR_LIST, wait_ms).wait_ms : wait_ms;

    r->state = REFLECTOR_HELD;
    r->mode = LIST_NEWEST;
    set(&r->next, str_c(NULL));
    return (struct reflector_action){.what = REFLECTOR_WAIT, .wait_ms = ms};
}

void reflector_seen(struct reflector *r, struct str rv)
{
    bool counts = r->state == REFLECTOR_WATCHING || r->state == REFLECTOR_COMPARING;

    ensure(counts || r->state == REFLECTOR_STREAMING);
    r->events++;
    if (counts && rv.n > 0 && !is_unversioned(r) && !str_is(rv, "0")) /* as a start: any version */
        set(&r->last_sync_rv, rv);
}

bool reflector_bookmark(struct reflector *r, struct str rv)
{
    if (reflector_goes_back(r, rv))
        return false;
    set(&r->collection_rv, rv);
    r->events++;
    if (!reflector_is_older(r, rv) && !str_is(rv, "0")) /* events must not come twice */
        set(&r->last_sync_rv, rv);
    return true;
}

/* Behind a proxy that ends every stream early, none alone would ever live long enough. */
static void note_health(struct reflector *r, uint64_t now_ms)
{
    if (now_ms - r->well_ms >= r->params.reset_after_ms)
        backoff_reset(&r->backoff);
}

static struct reflector_action list_instead(struct reflector *r)
{
    r->by_list = true;
    return ask_list(r);
}

static struct reflector_action stream_broken(struct reflector *r, uint64_t now_ms)
{
    bool very_short = r->events == 0 && now_ms - r->since_ms < VERY_SHORT_MS;

    if (very_short || ++r->broken >= BROKEN_STREAMS)
        return list_instead(r);
    return begin_list(r, r->mode, now_ms);
}

/* The list beside the watch never came: what is gone is not known, so a bookmark's version does not
 * count. */
static void end_comparing(struct reflector *r)
{
    if (r->state == REFLECTOR_COMPARING)
        set_version(&r->last_sync_rv, str_c(""));
}

/* Beside the next watch, if not before it, there will be a list. */
static void note_unversioned(struct reflector *r)
{
    if (is_unversioned(r))
        need_list(r, RELIST_UNVERSIONED);
}

/* A watch that has ended goes on from its version. Without one another watch begins, and a list
 * beside it; if the list beside this one is not complete, a list comes first: so what is gone is
 * found however soon streams end. */
static enum reflector_do after_watch(struct reflector *r)
{
    bool compared = r->state == REFLECTOR_WATCHING;

    ensure(compared || r->state == REFLECTOR_COMPARING);
    end_comparing(r);
    if (is_unversioned(r))
        return compared ? REFLECTOR_WATCH : REFLECTOR_LIST;
    return r->silent >= SILENT_STREAMS ? REFLECTOR_PROBE : REFLECTOR_WATCH;
}

static struct reflector_action begin_next(struct reflector *r, enum reflector_do next,
                                          uint64_t now_ms)
{
    if (next == REFLECTOR_LIST)
        return begin_list(r, r->mode, now_ms);
    return next == REFLECTOR_PROBE ? begin_probe(r) : begin_watch(r, now_ms);
}

struct reflector_action reflector_ended(struct reflector *r, uint64_t now_ms)
{
    uint64_t lived_ms = now_ms - r->since_ms;
    bool early = lived_ms < HASTY_MS && lived_ms + VERY_SHORT_MS < r->timeout_ms;

    if (r->state == REFLECTOR_STREAMING)
        return stream_broken(r, now_ms);
    r->untried = false;
    note_health(r, now_ms);
    r->silent = r->events == 0 ? r->silent + 1 : 0;
    r->hasty = early ? r->hasty + 1 : 0;
    enum reflector_do next = after_watch(r);
    if (r->events == 0 && lived_ms < VERY_SHORT_MS) {
        need_list(r, RELIST_EMPTY);
        return wait_to_list(r, 0);
    }
    note_unversioned(r);
    if (r->hasty > (next == REFLECTOR_LIST ? HASTY_LISTS : HASTY_STREAMS))
        return wait_then(r, next, 0);
    return begin_next(r, next, now_ms);
}

static struct reflector_action list_failed(struct reflector *r, enum err_kind kind,
                                           uint64_t retry_after_ms, uint64_t now_ms)
{
    bool from_rv = !reflector_is_newest(r);

    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_FROM_RV)
        return begin_list(r, LIST_FROM_RV_ALL, now_ms);
    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_NEWEST)
        return begin_list(r, LIST_NEWEST_ALL, now_ms);
    if ((kind == ERR_EXPIRED || kind == ERR_FUTURE) && from_rv)
        return begin_list(r, LIST_NEWEST, now_ms);
    return wait_to_list(r, retry_after_ms);
}

static struct reflector_action stream_failed(struct reflector *r, const struct err *err,
                                             uint64_t retry_after_ms, uint64_t now_ms)
{
    enum relist_way way = relist_way_of(err->kind);
    bool has_rv = !reflector_is_newest(r) && r->last_sync_rv != NULL;

    if (way == RELIST_NEWEST && has_rv)
        return begin_list(r, LIST_NEWEST, now_ms);
    if (way != RELIST_BY_LIST)
        return wait_to_list(r, retry_after_ms);
    if (relist_is_refusal(err))
        r->can_stream = false;
    return list_instead(r);
}

static struct reflector_action watch_failed(struct reflector *r, enum err_kind kind,
                                            uint64_t retry_after_ms, uint64_t now_ms)
{
    enum relist_reason why = relist_reason_of(kind);

    note_health(r, now_ms);
    end_comparing(r);
    if (why == RELIST_REASONS) {
        note_unversioned(r);
        return wait_then(r, REFLECTOR_WATCH, retry_after_ms);
    }
    need_list(r, why);
    if (kind == ERR_FUTURE)
        r->mode = LIST_NEWEST;
    if (r->untried && (kind == ERR_FUTURE || kind == ERR_EXPIRED))
        return begin_list(r, r->mode, now_ms);
    return wait_to_list(r, retry_after_ms);
}

static bool is_refusal(const struct err *err)
{
    return err->kind == ERR_FORBIDDEN || err->kind == ERR_NOT_FOUND || relist_is_refusal(err);
}

/* A watch from the future would be silent for its whole time, so the probe is asked again. Only who may not
 * ask watches on, and the version is as good as it was. One refusal does not show that: a server whose
 * authorizer is not ready yet, as after a restart, answers 403 too. */
static struct reflector_action probe_failed(struct reflector *r, const struct err *err,
                                            uint64_t retry_after_ms)
{
    r->refusals = is_refusal(err) ? r->refusals + 1 : 0;
    if (r->refusals < PROBE_REFUSALS)
        return wait_then(r, REFLECTOR_PROBE, retry_after_ms);
    r->refusals = 0;
    return wait_then(r, REFLECTOR_WATCH, retry_after_ms);
}

struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, uint64_t now_ms)
{
    if (err->kind == ERR_NO_VERB && retry_after_ms < NO_VERB_MS)
        retry_after_ms = NO_VERB_MS;
    switch (r->state) {
    case REFLECTOR_LISTING:
        return list_failed(r, err->kind, retry_after_ms, now_ms);
    case REFLECTOR_STREAMING:
        return stream_failed(r, err, retry_after_ms, now_ms);
    case REFLECTOR_PROBING:
        return probe_failed(r, err, retry_after_ms);
    case REFLECTOR_COMPARING:
    case REFLECTOR_WATCHING:
        return watch_failed(r, err->kind, retry_after_ms, now_ms);
    case REFLECTOR_IDLE:
    case REFLECTOR_BACKOFF:
    case REFLECTOR_HELD:
        break;
    }
    panic("a reflector that asked for nothing has failed");
}

struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms)
{
    if (r->state == REFLECTOR_IDLE)
        return begin(r, now_ms);
    if (r->state == REFLECTOR_BACKOFF && r->resume == REFLECTOR_WATCH)
        return begin_watches(r, now_ms);
    if (r->state == REFLECTOR_BACKOFF && r->resume == REFLECTOR_PROBE) {
        r->well_ms = now_ms;
        return begin_probe(r);
    }
    ensure(r->state == REFLECTOR_BACKOFF || r->state == REFLECTOR_HELD);
    return begin_list(r, r->mode, now_ms);
}

struct reflector_action reflector_doubted(struct reflector *r, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_WATCHING);
    note_health(r, now_ms);
    return begin_probe(r);
}

struct reflector_action reflector_relist(struct reflector *r, enum relist_reason why,
                                         uint64_t now_ms)
{
    bool first = r->last_sync_rv == NULL && !reflector_is_newest(r);

    need_list(r, why);
    r->mode = LIST_NEWEST;
    r->by_list = false;
    r->broken = 0;
    if (why == RELIST_BACKWARDS)
        return wait_to_list(r, 0);
    return begin_list(r, first ? LIST_FROM_RV : LIST_NEWEST, now_ms);
}

void reflector_can_stream(struct reflector *r, bool can)
{
    r->can_stream = can;
}

enum reflector_state reflector_state(const struct reflector *r)
{
    return r->state;
}

const char *reflector_last_sync_rv(const struct reflector *r)
{
    return r->last_sync_rv != NULL ? r->last_sync_rv : "";
}

const char *reflector_collection_rv(const struct reflector *r)
{
    return r->collection_rv != NULL ? r->collection_rv : "";
}

const uint64_t *reflector_relists(const struct reflector *r)
{
    return r->relists;
}

enum relist_reason reflector_why(const struct reflector *r)
{
    return r->why;
}
