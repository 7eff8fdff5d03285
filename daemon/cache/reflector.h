/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector - decides what to ask the server next so that a cache stays equal to it: LIST,
 * streaming list, watch, probe, or wait (client-go's ListAndWatch); pure.
 * docs/kubernetes-protocol.md says how servers behave. The reflector sees versions and outcomes,
 * never objects.
 */
#ifndef CACHE_REFLECTOR_H
#define CACHE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cache/reflector_params.h"
#include "cache/resume_point.h"

/* Why a cache that was in sync is listed anew: XX(identifier, name). */
#define RELIST_MAP(XX)                                                                   \
    XX(EXPIRED, "expired")         /* the server has forgotten our version */            \
    XX(FUTURE, "future")           /* our version is newer than the server's newest */   \
    XX(EMPTY, "empty")             /* a watch ended at once without an event */          \
    XX(ERROR, "error")             /* the watch or its start failed otherwise */         \
    XX(BACKWARDS, "backwards")     /* the server's version went backwards */             \
    XX(UNVERSIONED, "unversioned") /* a watch ended that has no version to go on from */ \
    XX(MANUAL, "manual")           /* informerctl relist */                              \
    XX(AUDIT, "audit")             /* an audit found differences */                      \
    XX(UNNAMED, "unnamed")         /* a list had an item without a readable name */      \
    XX(MEMORY, "memory")           /* limits.memory was reached */

#define RELIST_ENUM(id, name) RELIST_##id,
enum relist_reason { RELIST_MAP(RELIST_ENUM) RELIST_REASONS };
#undef RELIST_ENUM

enum reflector_state {
    REFLECTOR_IDLE, /* no request was made yet; start_jitter may run */
    REFLECTOR_LISTING,
    REFLECTOR_STREAMING, /* a streaming list whose initial events are not complete */
    /* Watching without a version: no LIST beside the watch has shown yet which objects were
     * deleted. */
    REFLECTOR_COMPARING,
    REFLECTOR_WATCHING,
    REFLECTOR_PROBING, /* before the next watch: is its version one of the future? */
    REFLECTOR_BACKOFF, /* a wait after a failure, or between hasty watches */
    REFLECTOR_HELD,    /* the guard holds a list; the next one comes later */
    REFLECTOR_FULL,    /* limits.memory is reached; a list comes when there is room */
};

enum reflector_do {
    REFLECTOR_LIST,
    REFLECTOR_STREAM,
    REFLECTOR_WATCH,
    REFLECTOR_PROBE, /* a LIST of which only the version counts */
    REFLECTOR_WAIT,
};

/* The next step. The strings are borrowed until the next call on the reflector. */
struct reflector_action {
    enum reflector_do what;
    const char *rv;     /* resourceVersion; NULL = leave the parameter out */
    const char *next;   /* LIST: continue token; NULL = page 1 of a new list: drop what is staged */
    unsigned limit;     /* LIST, PROBE: 0 = leave it out */
    unsigned timeout_s; /* WATCH, STREAM */
    uint64_t wait_ms;   /* WAIT: then call reflector_timer() */
};

struct reflector;

/* params are copied. seed makes its random choices repeatable. Never NULL. */
struct reflector *reflector_create(const struct reflector_params *params, uint64_t seed);

/* Frees it and sets *r to NULL. NULL is fine. */
void reflector_destroy(struct reflector **r);

/* Takes the resume point that an earlier process has left (copied), before the first action; may be
 * called again. WHOLE, which needs rv: the reflector watches from rv, and if the server refuses
 * that version at once, the list comes without a wait. Any other kind: it lists, not older than rv;
 * or the newest state if rv is not known, as a server may lag behind the remembered objects. */
void reflector_resume(struct reflector *r, const struct resume_point *resume);

/* Returns the first action. */
struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms);

/* A page of the list came whole. rv: the version of the list (empty: the server gives none). next:
 * its continue token, empty on the last page, after which the caller has committed the list.
 * PROBING: rv is the server's newest version. STREAMING: the initial events were committed as of
 * rv, and the response was dropped. */
struct reflector_action reflector_listed(struct reflector *r, struct str rv, struct str next,
                                         uint64_t now_ms);

/* The initial events have ended, with version rv, and were committed: the response goes on as the watch. */
void reflector_streamed(struct reflector *r, struct str rv, uint64_t now_ms);

/* COMPARING: the LIST that is to be asked for beside the watch, or its next page. It finds the
 * objects that were deleted before the watch began. The watch tells everything else itself, in any
 * order, and nothing shows when it has done so. No later watch can go on from its events, only from
 * a bookmark. */
struct reflector_action reflector_compare(const struct reflector *r);

/* A page of that LIST came; next as in reflector_listed(). Behind the last page the watch is one
 * like any other until it ends. The version of this LIST is not looked at: the watch began at
 * another one. */
void reflector_compared(struct reflector *r, struct str next);

/* The version that counts for a list whose last page says rv: that of page 1. */
struct str reflector_list_rv(const struct reflector *r, struct str rv);

/* Is rv, of a list or bookmark, older than that of the last list or bookmark? Versions of events do
 * not count: some servers number objects and collections apart
 * (docs/kubernetes-protocol.md "Order of versions"). */
bool reflector_goes_back(const struct reflector *r, struct str rv);

/* Is rv older than the version to resume from, which may be that of an event? */
bool reflector_is_older(const struct reflector *r, struct str rv);

/* Was the list under way asked for without a version? Then it shows the server's newest state. */
bool reflector_is_newest(const struct reflector *r);

/* The guard holds this list, and the caller has committed none of it: the next list comes after
 * wait_ms, without a version, in the same form. */
struct reflector_action reflector_held(struct reflector *r, uint64_t wait_ms);

/* limits.memory is reached, and the caller has dropped the request under way. */
struct reflector_action reflector_full(struct reflector *r);

/* FULL, and the wait is over (instead of reflector_timer()): lists if there is room; else mostly waits. */
struct reflector_action reflector_look(struct reflector *r, bool room, uint64_t now_ms);

/* Has limits.memory kept objects out of the cache, and no list was committed since? */
bool reflector_is_incomplete(const struct reflector *r);

/* The watch sent an event with version rv (empty: not known), and it was applied or its object was
 * skipped (docs/kubernetes-protocol.md "Event types"). Some versions are not remembered, though
 * their events are signs of life: those of initial events, and those of a watch without a version
 * before its first bookmark. */
void reflector_seen(struct reflector *r, struct str rv);

/* The same for a bookmark. False: its version goes back, so the watch cannot be trusted
 * (docs/kubernetes-protocol.md "Versions of the future"): end it with reflector_relist(). */
bool reflector_bookmark(struct reflector *r, struct str rv) MUST_CHECK;

/* The watch repeats an event or bookmark that the watch before it has brought
 * (reflector_renewed()): a sign of life, and nothing else. */
void reflector_repeated(struct reflector *r);

/* WATCHING, with a version: returns a second watch from that version. The first one goes on, as if
 * this had not been called, unless reflector_renewed() follows. May be called again, for another
 * second watch in place of the last one. */
struct reflector_action reflector_renew(struct reflector *r, uint64_t now_ms);

/* That second watch has taken the place of the first one: both count as one watch that goes on, and
 * is to end when the second one was asked to. */
void reflector_renewed(struct reflector *r);

/* An established watch or streaming list ended (docs/kubernetes-protocol.md "End of a watch"). is_cut: its
 * answer is not complete. others: its server has failed, and so many others can be tried, without a
 * wait, and each once at most; 0 = none, or the server is well. */
struct reflector_action reflector_ended(struct reflector *r, bool is_cut, unsigned others,
                                        uint64_t now_ms);

/* The list or the start of the watch failed, or the watch did by an ERROR event or broken bytes.
 * retry_after_ms: what the server asked for, 0 = nothing
 * (docs/kubernetes-protocol.md "Start of a watch", "Retry-After"). others: as above. */
struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, unsigned others, uint64_t now_ms);

/* The wait is over; returns the next action. */
struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms);

/* The watch to be asked for may have a version of the future: returns a probe in its place. */
struct reflector_action reflector_doubted(struct reflector *r, uint64_t now_ms);

/* The caller has dropped whatever was under way: lists anew at once, without a version. BACKWARDS
 * waits for the backoff first. */
struct reflector_action reflector_relist(struct reflector *r, enum relist_reason why,
                                         uint64_t now_ms);

/* Does the server support streaming lists? For WATCH_LIST_AUTO; not known = it does not. */
void reflector_can_stream(struct reflector *r, bool can);

/* The state that it is in. */
enum reflector_state reflector_state(const struct reflector *r);

/* The version to resume from; "" before the first list, and when the server gives none. */
const char *reflector_last_sync_rv(const struct reflector *r);
/* The version of the last list or bookmark; "" before the first one. */
const char *reflector_collection_rv(const struct reflector *r);

/* How often a cache that was in sync had to be listed anew, by reason: RELIST_REASONS numbers. */
const uint64_t *reflector_relists(const struct reflector *r);

/* Why the list due or under way is made; RELIST_REASONS = it is the first list, or no list is
 * due. */
enum relist_reason reflector_why(const struct reflector *r);

/* "expired", ...: the word of a reason in status and logs. */
const char *relist_reason_name(enum relist_reason why);

#endif
