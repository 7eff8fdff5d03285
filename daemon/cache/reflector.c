/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/reflector.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "kube/rv.h"

/* A watch that ends sooner and without an event was not really served, unless it was cut off
 * (docs/kubernetes-protocol.md "Very short watches"). */
#define VERY_SHORT_MS 1000

/* Watches that end sooner than HASTY_MS and before their time are resumed at once only so often in
 * a row, and less often if each next one needs a list first
 * (docs/kubernetes-protocol.md "Hot loops"). */
#define HASTY_MS      5000
#define HASTY_STREAMS 5
#define HASTY_LISTS   2 /* and if each next one needs a list first */

/* After so many watches in a row without an event or bookmark, the version may be one that the
 * server has not reached yet (docs/kubernetes-protocol.md "Versions of the future"). */
#define SILENT_STREAMS 2

/* So many refusals of a probe in a row make the watch go on without it. */
#define PROBE_REFUSALS 3

/* So many streaming lists in a row may break off before the reflector falls back to LIST: a proxy
 * may end every one early. */
#define BROKEN_STREAMS 3

/* So many looks in a row without room are followed by a list all the same. With the default backoff
 * that is every ten minutes. */
#define LOOKS_WITHOUT_ROOM 20

/* The least wait after a 405. An API that lacks a verb will not have it a minute later, but ten
 * minutes later another server may stand behind the API
 * (docs/decisions.md "An API without the verb watch is tried every 10 minutes"). */
#define NO_VERB_MS 600000

/* Which version the next list asks for (docs/kubernetes-protocol.md "Version of a list"). */
enum list_mode {
    LIST_FROM_RV,     /* "0" at first, else not older than the last version seen */
    LIST_FROM_RV_ALL, /* the same without limit, after a continue token expired */
    LIST_NEWEST,      /* no version, because the known one is expired, of the future or in doubt */
    LIST_NEWEST_ALL,  /* the same without limit */
};

struct reflector {
    struct reflector_params params;
    struct backoff backoff;
    struct rng rng;
    enum reflector_state state;
    enum reflector_do resume; /* the request that follows IDLE or BACKOFF */
    /* An earlier process has left the version, and no server has refused it yet. */
    bool untried;
    enum list_mode mode;
    /* The version to resume from; NULL before the first list, if no version was left; "" if the
     * server gives its lists none. */
    char *last_sync_rv;
    char *collection_rv; /* of the last list or bookmark: it stands for all objects of the server */
    char *list_rv;       /* of page 1 of the list under way ("" as above), NULL before page 1 */
    char *next;          /* continue token of the next page, NULL on page 1 */
    bool server_pages;   /* a list from "0" came in pages: no watch cache, keep paging */
    bool can_stream;     /* WATCH_LIST_AUTO: the server supports streaming lists */
    bool by_list;        /* this list failed as a streaming list, so it is asked for by LIST */
    unsigned broken;     /* streaming lists in a row that broke off */
    unsigned silent;     /* watches in a row without an event or bookmark */
    unsigned hasty;      /* watches in a row that ended before their time */
    unsigned cuts;       /* watches in a row that were cut off at once, without an event */
    unsigned holds;      /* lists in a row that the guard held */
    unsigned fulls;      /* stops by limits.memory since the cache was complete */
    unsigned looks;      /* for room, since the last of them */
    unsigned refusals;   /* of the probe, in a row */
    /* Requests in a row that went to another server without a wait, as the one before it failed,
     * and how many are allowed: so many other servers there were for the first of them. */
    unsigned switches;
    unsigned max_switches;
    uint64_t since_ms;        /* when the watch or streaming list was asked for */
    uint64_t timeout_ms;      /* how long it was to last */
    uint64_t second_since_ms; /* the same two of the second watch that reflector_renew() gave */
    uint64_t second_timeout_ms;
    /* The since_ms of the first of the watches that followed each other without a wait. */
    uint64_t well_ms;
    uint64_t events; /* in this watch or streaming list */
    /* Why the list due or under way is made; RELIST_REASONS = no list is, or the first. */
    enum relist_reason why;
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

/* Replaces a version or token by a copy of s; NULL if s is empty. */
static void set(char **slot, struct str s)
{
    free(*slot);
    *slot = s.n > 0 ? mem_strndup(s.p, s.n) : NULL;
}

/* The same for a version that a server gave: "" if it gave none, which is_unversioned() looks
 * for. */
static void set_version(char **slot, struct str rv)
{
    free(*slot);
    *slot = rv.n > 0 ? mem_strndup(rv.p, rv.n) : mem_strdup("");
}

/* Has the server given its last list no version
 * (docs/kubernetes-protocol.md "Lists without versions")? */
static bool is_unversioned(const struct reflector *r)
{
    return r->last_sync_rv != NULL && r->last_sync_rv[0] == '\0';
}

/* Counts a list that becomes due. A list that is tried again keeps its first reason, and a first
 * list has no reason: no cache was in sync. */
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

/* A limit together with a real version bypasses the server's watch cache. So it is sent only
 * without a version, with "0", if the user has chosen pages, or if the server has no watch cache
 * (docs/kubernetes-protocol.md "Pages"). */
static unsigned list_limit(const struct reflector *r)
{
    bool cheap = r->mode == LIST_NEWEST || r->last_sync_rv == NULL;

    if (r->mode == LIST_FROM_RV_ALL || r->mode == LIST_NEWEST_ALL)
        return 0;
    return cheap || r->params.page_always || r->server_pages ? r->params.page_size : 0;
}

/* The request for the next page of the list that is due. */
static struct reflector_action list_page(const struct reflector *r)
{
    const char *from = r->last_sync_rv != NULL ? r->last_sync_rv : "0";

    if (r->next != NULL) /* the server refuses a version beside a continue token */
        return (struct reflector_action){
            .what = REFLECTOR_LIST, .next = r->next, .limit = r->params.page_size};
    return (struct reflector_action){
        .what = REFLECTOR_LIST, .rv = reflector_is_newest(r) ? NULL : from, .limit = list_limit(r)};
}

/* Asks for page 1, or for the page that next names. Each list has the version of its own page 1. */
static struct reflector_action ask_list(struct reflector *r)
{
    r->state = REFLECTOR_LISTING;
    if (r->next == NULL)
        set(&r->list_rv, str_c(NULL));
    return list_page(r);
}

/* timeoutSeconds is random, so that the watches of a fleet do not end together
 * (docs/kubernetes-protocol.md "Watch requests"). */
static unsigned draw_timeout_s(struct reflector *r)
{
    return (unsigned)rng_between(&r->rng, r->params.watch_min_s, r->params.watch_max_s);
}

/* Asks for a watch or a streaming list; state says for which. */
static struct reflector_action ask_events(struct reflector *r, enum reflector_state state,
                                          const char *rv, uint64_t now_ms)
{
    unsigned timeout_s = draw_timeout_s(r);
    enum reflector_do what = state == REFLECTOR_STREAMING ? REFLECTOR_STREAM : REFLECTOR_WATCH;

    r->state = state;
    r->since_ms = now_ms;
    r->timeout_ms = (uint64_t)timeout_s * 1000;
    r->events = 0;
    return (struct reflector_action){.what = what, .rv = rv, .timeout_s = timeout_s};
}

/* Is the next list to be a streaming list
 * (docs/decisions.md "watch_list auto lists first and streams later")? */
static bool wants_stream(const struct reflector *r)
{
    if (is_unversioned(r)) /* the end of its initial events needs a version */
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

/* Begins a list at page 1, whatever was left of the one before. */
static struct reflector_action begin_list(struct reflector *r, enum list_mode mode, uint64_t now_ms)
{
    set(&r->next, str_c(NULL));
    r->mode = mode;
    if (!wants_stream(r))
        return ask_list(r);
    return ask_events(r, REFLECTOR_STREAMING, reflector_is_newest(r) ? NULL : r->last_sync_rv,
                      now_ms);
}

/* Resumes from last_sync_rv. Without a version the watch sends all objects, and a LIST beside it
 * must find the deleted ones: COMPARING. */
static struct reflector_action begin_watch(struct reflector *r, uint64_t now_ms)
{
    ensure(r->last_sync_rv != NULL);
    set(&r->next, str_c(NULL));
    return is_unversioned(r) ? ask_events(r, REFLECTOR_COMPARING, NULL, now_ms)
                             : ask_events(r, REFLECTOR_WATCHING, r->last_sync_rv, now_ms);
}

/* The first watch after a list or a wait: here the time begins after which the backoff is reset. */
static struct reflector_action begin_watches(struct reflector *r, uint64_t now_ms)
{
    r->well_ms = now_ms;
    return begin_watch(r, now_ms);
}

/* Asks for the server's newest version. A probe is no wait: the watches before and after it count
 * as following each other. */
static struct reflector_action begin_probe(struct reflector *r)
{
    r->state = REFLECTOR_PROBING;
    return (struct reflector_action){.what = REFLECTOR_PROBE, .limit = 1};
}

/* Waits for the backoff, or longer if the server asked for that, and makes the request of kind
 * resume then. */
static struct reflector_action wait_then(struct reflector *r, enum reflector_do resume,
                                         uint64_t at_least_ms)
{
    uint64_t ms = backoff_step(&r->backoff, &r->params.backoff, &r->rng);

    r->state = REFLECTOR_BACKOFF;
    r->resume = resume;
    r->switches = 0;
    return (struct reflector_action){.what = REFLECTOR_WAIT,
                                     .wait_ms = ms > at_least_ms ? ms : at_least_ms};
}

/* Ends the attempt to list: after the wait the next one begins afresh, as a streaming list again if
 * the server may have those. The jitter keeps the nodes of a fleet apart; a first list has
 * start_jitter. */
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

/* The server of a request has failed. Is the next request to go to another server, without a wait?
 * Only as often in a row as there were other servers: no answer, however wrong, makes a hot loop. */
static bool goes_elsewhere(struct reflector *r, unsigned others)
{
    if (r->switches == 0)
        r->max_switches = others;
    if (others == 0 || r->switches >= r->max_switches)
        return false;
    r->switches++;
    return true;
}

/* The list failed: it begins afresh at another server, or after a wait. */
static struct reflector_action list_again(struct reflector *r, uint64_t retry_after_ms,
                                          unsigned others, uint64_t now_ms)
{
    if (retry_after_ms > 0 || !goes_elsewhere(r, others))
        return wait_to_list(r, retry_after_ms);
    r->by_list = false;
    r->broken = 0;
    return begin_list(r, reflector_is_newest(r) ? LIST_NEWEST : LIST_FROM_RV, now_ms);
}

void reflector_resume(struct reflector *r, const struct resume_point *resume)
{
    /* Objects without a version: a list from "0" could be older than these, as a server may lag
     * behind (docs/kubernetes-protocol.md "Version of a list"). */
    bool lags = resume->kind != RESUME_NONE && resume->rv == NULL;

    ensure(r->state == REFLECTOR_IDLE && (resume->kind != RESUME_WHOLE || resume->rv != NULL));
    set(&r->last_sync_rv, str_c(resume->rv));
    set(&r->collection_rv, str_c(resume->collection_rv));
    r->untried = resume->kind == RESUME_WHOLE;
    r->resume = r->untried ? REFLECTOR_WATCH : REFLECTOR_LIST;
    r->mode = lags ? LIST_NEWEST : LIST_FROM_RV;
}

/* After IDLE: the watch from a resume point, or the first list. */
static struct reflector_action begin(struct reflector *r, uint64_t now_ms)
{
    return r->resume == REFLECTOR_WATCH ? begin_watches(r, now_ms) : begin_list(r, r->mode, now_ms);
}

/* start_jitter spreads the first lists of a fleet. Where an earlier process has left something, the
 * question which cluster this is has made the scope wait already. */
struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms)
{
    bool is_new = r->last_sync_rv == NULL && !reflector_is_newest(r);
    uint64_t ms = is_new ? rng_between(&r->rng, 0, r->params.start_jitter_ms) : 0;

    ensure(r->state == REFLECTOR_IDLE);
    return ms > 0 ? (struct reflector_action){.what = REFLECTOR_WAIT, .wait_ms = ms}
                  : begin(r, now_ms);
}

/* The cache is equal to the server's state at version rv. If the server gives no version, each
 * later list asks for the newest state, and in pages if this one could. */
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
    r->fulls = 0;
}

/* The probe's answer. A server that is older than our version would be silent until it has caught
 * up, so only a list helps; the same holds if nobody can compare because the answer has no
 * version. */
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
        /* The proof for its commit has ended the response, so a watch has to be asked for. */
        ensure(next.n == 0);
        in_sync(r, rv);
        return begin_watches(r, now_ms);
    }
    ensure(r->state == REFLECTOR_LISTING);
    if (r->list_rv == NULL)
        set_version(&r->list_rv, rv); /* the version that counts is that of page 1 */
    if (next.n > 0) {
        if (r->last_sync_rv == NULL && r->mode == LIST_FROM_RV)
            /* A server with a watch cache answers a list from "0" in one page, so this one has
             * none. */
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
    /* Deletes are known now: the scope is in sync, and the version of a bookmark counts. */
    r->state = REFLECTOR_WATCHING;
    r->why = RELIST_REASONS;
    r->holds = 0;
    r->fulls = 0;
}

void reflector_streamed(struct reflector *r, struct str rv, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_STREAMING && rv.n > 0);
    in_sync(r, rv);
    r->state = REFLECTOR_WATCHING;
    r->well_ms = now_ms;
    /* The end of the initial events is a sign of life: this watch is not a silent one. */
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
    /* Lists that are held one after the other must not become a hot loop, whatever guard.hold is
     * set to. */
    uint64_t ms = r->holds++ > 0 ? wait_then(r, REFLECTOR_LIST, wait_ms).wait_ms : wait_ms;

    r->state = REFLECTOR_HELD;
    /* Only the newest state may confirm a held list (docs/design.md "Guard"). */
    r->mode = LIST_NEWEST;
    set(&r->next, str_c(NULL));
    return (struct reflector_action){.what = REFLECTOR_WAIT, .wait_ms = ms};
}

void reflector_seen(struct reflector *r, struct str rv)
{
    bool counts = r->state == REFLECTOR_WATCHING || r->state == REFLECTOR_COMPARING;

    ensure(counts || r->state == REFLECTOR_STREAMING);
    r->events++;
    /* As a version to start from, "0" means any. */
    if (counts && rv.n > 0 && !is_unversioned(r) && !str_is(rv, "0"))
        set(&r->last_sync_rv, rv);
}

/* A bookmark moves last_sync_rv on, but never back behind an event: events would come twice. */
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

void reflector_repeated(struct reflector *r)
{
    r->events++;
}

struct reflector_action reflector_renew(struct reflector *r, uint64_t now_ms)
{
    unsigned timeout_s = draw_timeout_s(r);

    ensure(r->state == REFLECTOR_WATCHING && !is_unversioned(r));
    r->second_since_ms = now_ms;
    r->second_timeout_ms = (uint64_t)timeout_s * 1000;
    return (struct reflector_action){
        .what = REFLECTOR_WATCH, .rv = r->last_sync_rv, .timeout_s = timeout_s};
}

/* The first watch was not ended by the server, so it says nothing about proxies or a version of the
 * future: it is neither hasty nor silent. The events of the second one are counted anew: alone they
 * show whether it was really served. */
void reflector_renewed(struct reflector *r)
{
    ensure(r->state == REFLECTOR_WATCHING);
    r->since_ms = r->second_since_ms;
    r->timeout_ms = r->second_timeout_ms;
    r->untried = false;
    if (r->events > 0)
        r->silent = 0;
    r->events = 0;
}

/* The backoff begins anew after a time without waits. The watches of that time count together:
 * behind a proxy that ends every watch early no single one would live so long
 * (docs/decisions.md "The backoff resets after two minutes without a wait"). */
static void note_health(struct reflector *r, uint64_t now_ms)
{
    if (now_ms - r->well_ms >= r->params.reset_after_ms)
        backoff_reset(&r->backoff);
    if (now_ms - r->since_ms >= HASTY_MS)
        r->switches = 0;
}

/* The streaming list has failed: the same list by LIST, at once. */
static struct reflector_action list_instead(struct reflector *r)
{
    r->by_list = true;
    return ask_list(r);
}

/* The streaming list ended before its initial events were complete
 * (docs/kubernetes-protocol.md "Failed streaming lists"). */
static struct reflector_action stream_broken(struct reflector *r, unsigned others, uint64_t now_ms)
{
    if (goes_elsewhere(r, others)) /* that was the server's fault, not that of streaming */
        return begin_list(r, r->mode, now_ms);
    bool very_short = r->events == 0 && now_ms - r->since_ms < VERY_SHORT_MS;

    if (very_short || ++r->broken >= BROKEN_STREAMS)
        return list_instead(r);
    return begin_list(r, r->mode, now_ms);
}

/* The LIST beside the watch was not completed, so deletes are not known. A watch that went on from
 * a bookmark's version would never tell them: that version is forgotten. */
static void end_comparing(struct reflector *r)
{
    if (r->state == REFLECTOR_COMPARING)
        set_version(&r->last_sync_rv, str_c(""));
}

/* A watch without a version has ended: a list will come beside the next one, if not before it. It
 * is counted here. */
static void note_unversioned(struct reflector *r)
{
    if (is_unversioned(r))
        need_list(r, RELIST_UNVERSIONED);
}

/* The request after a watch that has ended. With a version the next watch resumes from it, after a
 * probe if watches were silent. Without a version another watch begins, with a LIST beside it; but
 * if the LIST beside this one was not completed, a list comes first, so that deletes are found
 * however soon watches end
 * (docs/decisions.md "An unfinished comparison is followed by an ordinary LIST"). */
static enum reflector_do after_watch(struct reflector *r)
{
    bool compared = r->state == REFLECTOR_WATCHING;

    ensure(compared || r->state == REFLECTOR_COMPARING);
    end_comparing(r);
    if (is_unversioned(r))
        return compared ? REFLECTOR_WATCH : REFLECTOR_LIST;
    return r->silent >= SILENT_STREAMS ? REFLECTOR_PROBE : REFLECTOR_WATCH;
}

/* Was the watch over at once, without an event? The network may have cut it off, which says nothing
 * about the version; but if it does so again and again, a proxy may have spoilt an empty answer. */
static bool was_unserved(struct reflector *r, bool is_cut, uint64_t lived_ms)
{
    bool at_once = r->events == 0 && lived_ms < VERY_SHORT_MS;

    r->cuts = at_once && is_cut ? r->cuts + 1 : 0;
    return at_once && (!is_cut || r->cuts > HASTY_STREAMS);
}

struct reflector_action reflector_ended(struct reflector *r, bool is_cut, unsigned others,
                                        uint64_t now_ms)
{
    uint64_t lived_ms = now_ms - r->since_ms;
    /* A watch that the server ends at its timeoutSeconds, or up to a second sooner, is not
     * early. */
    bool early = lived_ms < HASTY_MS && lived_ms + VERY_SHORT_MS < r->timeout_ms;

    if (r->state == REFLECTOR_STREAMING)
        return stream_broken(r, others, now_ms);
    bool unserved = was_unserved(r, is_cut, lived_ms);
    r->untried = false;
    note_health(r, now_ms);
    /* A watch whose server died says nothing about the version, however short it was; nor does one
     * that the network cut. */
    bool elsewhere = goes_elsewhere(r, others);
    if ((!elsewhere && !is_cut) || lived_ms >= HASTY_MS)
        r->silent = r->events == 0 ? r->silent + 1 : 0;
    if (!elsewhere)
        r->hasty = early ? r->hasty + 1 : 0;
    enum reflector_do next = after_watch(r);
    /* This needs after_watch() first, which forgets the version of a watch that was not
     * compared. */
    if (!elsewhere && unserved) {
        need_list(r, RELIST_EMPTY);
        return wait_to_list(r, 0);
    }
    note_unversioned(r);
    if (!elsewhere && r->hasty > (next == REFLECTOR_LIST ? HASTY_LISTS : HASTY_STREAMS))
        return wait_then(r, next, 0);
    if (next == REFLECTOR_LIST)
        return begin_list(r, r->mode, now_ms);
    return next == REFLECTOR_PROBE ? begin_probe(r) : begin_watch(r, now_ms);
}

/* A LIST failed. An expired token: the complete list at once, from the version that it began
 * with (docs/kubernetes-protocol.md "Expired continue token"). An expired or too large version:
 * the newest state at once, as that version would be refused again. After any other failure it
 * waits. */
static struct reflector_action list_failed(struct reflector *r, enum err_kind kind,
                                           uint64_t retry_after_ms, unsigned others,
                                           uint64_t now_ms)
{
    bool from_rv = !reflector_is_newest(r);

    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_FROM_RV)
        return begin_list(r, LIST_FROM_RV_ALL, now_ms);
    if (kind == ERR_EXPIRED && r->next != NULL && r->mode == LIST_NEWEST)
        return begin_list(r, LIST_NEWEST_ALL, now_ms);
    if ((kind == ERR_EXPIRED || kind == ERR_FUTURE) && from_rv)
        return begin_list(r, LIST_NEWEST, now_ms);
    return list_again(r, retry_after_ms, others, now_ms);
}

/* Does the server say by this error, a 4xx, that it does not support the request
 * (docs/kubernetes-protocol.md "Failed streaming lists")? */
static bool is_unsupported(const struct err *err)
{
    return err->kind == ERR_NO_VERB ||
           (err->kind == ERR_SERVER && err->code >= 400 && err->code < 500);
}

/* A streaming list was refused, or ended by an error
 * (docs/kubernetes-protocol.md "Failed streaming lists"). */
static struct reflector_action stream_failed(struct reflector *r, const struct err *err,
                                             uint64_t retry_after_ms, unsigned others,
                                             uint64_t now_ms)
{
    bool has_rv = !reflector_is_newest(r) && r->last_sync_rv != NULL;

    switch (err->kind) {
    case ERR_IO:
    case ERR_CLOSED:
    case ERR_REFUSED:
    case ERR_TLS:
    case ERR_CREDENTIAL:
    case ERR_BUSY:
    case ERR_UNAUTHORIZED:
    case ERR_FOREIGN:
        /* A LIST would fail in the same way. */
        return list_again(r, retry_after_ms, others, now_ms);
    case ERR_EXPIRED:
    case ERR_FUTURE:
        /* The version was refused, not the streaming list. It is asked for only once; if the
         * request had none, only a wait can help. */
        return has_rv ? begin_list(r, LIST_NEWEST, now_ms) : wait_to_list(r, retry_after_ms);
    case ERR_OK:
    case ERR_TIMEOUT:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_FORBIDDEN:
    case ERR_NOT_FOUND:
    case ERR_NO_VERB:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    /* The streaming list itself may be the trouble: the server or a proxy does not support it. */
    if (is_unsupported(err))
        r->can_stream = false;
    return list_instead(r);
}

/* Why a watch that ended with this error must be followed by a list. RELIST_REASONS: the error says
 * nothing about the version to resume from, so a list would only cost
 * (docs/kubernetes-protocol.md "Start of a watch"). */
static enum relist_reason reason_of(enum err_kind kind)
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
    case ERR_FORBIDDEN:
    case ERR_FOREIGN:
    case ERR_NO_VERB:
        /* The server could not be reached, is busy or foreign, or refuses this client: its version
         * may be as good as before (docs/kubernetes-protocol.md "Start of a watch"). */
        return RELIST_REASONS;
    case ERR_EXPIRED:
        return RELIST_EXPIRED;
    case ERR_FUTURE:
        return RELIST_FUTURE;
    case ERR_OK:
    case ERR_PROTOCOL:
    case ERR_TOO_BIG:
    case ERR_NOT_FOUND:
    case ERR_SERVER:
    case ERR_CONFIG:
    case ERR_KINDS:
        break;
    }
    return RELIST_ERROR;
}

/* A watch could not be started, or ended by an error in it. */
static struct reflector_action watch_failed(struct reflector *r, enum err_kind kind,
                                            uint64_t retry_after_ms, unsigned others,
                                            uint64_t now_ms)
{
    enum relist_reason why = reason_of(kind);

    note_health(r, now_ms);
    end_comparing(r);
    /* The error says nothing about the version, so the watch keeps it and no list is needed
     * (docs/decisions.md "A failed start of a watch keeps the resourceVersion"). */
    if (why == RELIST_REASONS) {
        note_unversioned(r);
        if (retry_after_ms == 0 && goes_elsewhere(r, others))
            return begin_watch(r, now_ms);
        return wait_then(r, REFLECTOR_WATCH, retry_after_ms);
    }
    need_list(r, why);
    /* A list from that version would be refused in the same way, after 3 s. */
    if (kind == ERR_FUTURE)
        r->mode = LIST_NEWEST;
    /* The version that an earlier process has left is often too old; as nothing has failed, no wait
     * is needed. */
    if (r->untried && (kind == ERR_FUTURE || kind == ERR_EXPIRED))
        return begin_list(r, r->mode, now_ms);
    return wait_to_list(r, retry_after_ms);
}

/* A watch from a version of the future would be silent until it ends, so a probe that failed is
 * repeated. A client that is not allowed to probe has to watch without it, and its version is as
 * good as before. One refusal does not show that: a server whose authorizer is not ready yet, as
 * after a restart, answers 403, too. */
static struct reflector_action probe_failed(struct reflector *r, const struct err *err,
                                            uint64_t retry_after_ms, unsigned others)
{
    /* Is it refused, or has the server only failed to answer? */
    bool refused = err->kind == ERR_FORBIDDEN || err->kind == ERR_NOT_FOUND || is_unsupported(err);

    r->refusals = refused ? r->refusals + 1 : 0;
    if (r->refusals < PROBE_REFUSALS) {
        if (retry_after_ms == 0 && goes_elsewhere(r, others))
            return begin_probe(r);
        return wait_then(r, REFLECTOR_PROBE, retry_after_ms);
    }
    r->refusals = 0;
    return wait_then(r, REFLECTOR_WATCH, retry_after_ms);
}

struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, unsigned others, uint64_t now_ms)
{
    if (err->kind == ERR_NO_VERB && retry_after_ms < NO_VERB_MS)
        retry_after_ms = NO_VERB_MS;
    switch (r->state) {
    case REFLECTOR_LISTING:
        return list_failed(r, err->kind, retry_after_ms, others, now_ms);
    case REFLECTOR_STREAMING:
        return stream_failed(r, err, retry_after_ms, others, now_ms);
    case REFLECTOR_PROBING:
        return probe_failed(r, err, retry_after_ms, others);
    case REFLECTOR_COMPARING:
    case REFLECTOR_WATCHING:
        return watch_failed(r, err->kind, retry_after_ms, others, now_ms);
    case REFLECTOR_IDLE:
    case REFLECTOR_BACKOFF:
    case REFLECTOR_HELD:
    case REFLECTOR_FULL:
        break;
    }
    panic("a reflector that asked for nothing has failed");
}

struct reflector_action reflector_full(struct reflector *r)
{
    ensure(r->state == REFLECTOR_LISTING || r->state == REFLECTOR_STREAMING ||
           r->state == REFLECTOR_COMPARING || r->state == REFLECTOR_WATCHING);
    end_comparing(r);
    need_list(r, RELIST_MEMORY);
    r->fulls++;
    r->looks = 0;
    struct reflector_action a = wait_to_list(r, 0);
    r->state = REFLECTOR_FULL;
    set(&r->next, str_c(NULL));
    return a;
}

struct reflector_action reflector_look(struct reflector *r, bool room, uint64_t now_ms)
{
    ensure(r->state == REFLECTOR_FULL);
    if (room || ++r->looks >= LOOKS_WITHOUT_ROOM)
        return begin_list(r, r->mode, now_ms);
    struct reflector_action a = wait_then(r, REFLECTOR_LIST, 0);
    r->state = REFLECTOR_FULL;
    return a;
}

bool reflector_is_incomplete(const struct reflector *r)
{
    return r->fulls > 0;
}

struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms)
{
    if (r->state == REFLECTOR_IDLE)
        return begin(r, now_ms);
    if (r->state == REFLECTOR_BACKOFF && r->resume == REFLECTOR_WATCH)
        return begin_watches(r, now_ms);
    /* After a wait the time without waits begins anew. */
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

    /* A first list that was dropped begins again from "0", as nothing was in sync. */
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

const char *relist_reason_name(enum relist_reason why)
{
#define RELIST_NAME(id, name) name,
    static const char *const names[] = {RELIST_MAP(RELIST_NAME)};
#undef RELIST_NAME

    return names[why];
}
