/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector - decides what to ask the server next so that a cache stays equal to it: list, stream,
 * watch, probe, or wait; pure. docs/kubernetes-protocol.md says how servers behave. It sees
 * versions and outcomes, never objects.
 */
#ifndef CACHE_REFLECTOR_H
#define CACHE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/str.h"
#include "cache/relist.h"
#include "cache/resume_point.h"

/* How a list may come: by LIST alone, or as a streaming list, which goes on as the watch
 * (docs/kubernetes-protocol.md "Streaming lists"). */
enum watch_list {
    WATCH_LIST_AUTO, /* the first by LIST, later ones, not older than a version, as a stream if the
                        server is known to be able */
    WATCH_LIST_ON,   /* each as a stream, by LIST only when the server refuses */
    WATCH_LIST_OFF,
};

struct reflector_params {
    struct backoff_params backoff;
    uint64_t reset_after_ms; /* streams that went on so long without a wait start a new ladder */
    unsigned page_size;      /* 0 = no paging */
    bool page_always;        /* the user chose the page size: lists from a known RV page too */
    unsigned watch_min_s;    /* timeoutSeconds is drawn from [min, max] for each watch */
    unsigned watch_max_s;
    uint64_t start_jitter_ms;  /* before the first request: drawn from [0, this] */
    uint64_t relist_jitter_ms; /* the same, on top of the wait before a later list */
    enum watch_list watch_list;
};

enum reflector_state {
    REFLECTOR_IDLE, /* nothing was asked yet; start_jitter may run */
    REFLECTOR_LISTING,
    REFLECTOR_STREAMING, /* a list as a stream whose end-of-initial-events has not come */
    REFLECTOR_COMPARING, /* watching without a version: no list beside it has told yet what is gone */
    REFLECTOR_WATCHING,
    REFLECTOR_PROBING, /* watching, but asks first whether its version is one of the future */
    REFLECTOR_BACKOFF, /* the last error says why */
    REFLECTOR_HELD,    /* a list was held back (guard); the next one comes later */
};

enum reflector_do {
    REFLECTOR_LIST,
    REFLECTOR_STREAM,
    REFLECTOR_WATCH,
    REFLECTOR_PROBE, /* a list of which only the version counts */
    REFLECTOR_WAIT,
};

/* What to do next. The strings are borrowed until the next call on the reflector. */
struct reflector_action {
    enum reflector_do what;
    const char *rv;     /* resourceVersion; NULL = leave the parameter out */
    const char *next;   /* LIST: continue token; NULL = a new list begins, drop what is staged */
    unsigned limit;     /* LIST, PROBE: 0 = leave it out */
    unsigned timeout_s; /* WATCH, STREAM */
    uint64_t wait_ms;   /* WAIT: then call reflector_timer() */
};

struct reflector;

/* params are copied. seed makes its random choices repeatable. Never NULL. */
struct reflector *reflector_create(const struct reflector_params *params, uint64_t seed);

/* Frees it and sets *r to NULL. NULL is fine. */
void reflector_destroy(struct reflector **r);

/* What an earlier process has left (copied), before the first action. WHOLE (rv is known): it
 * watches from rv; when the server refuses that at once, the list comes without a wait. Else it
 * lists: what is not older than rv, or the newest if that is not known, as servers may lag behind
 * what was left. May be called again. */
void reflector_resume(struct reflector *r, const struct resume_point *resume);

/* The first action. */
struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms);

/* A page of the list came whole: rv of the list (empty: the server gives none), next = its continue token (empty
 * on the last page, after which the caller has committed the list). PROBE: rv is the server's newest. STREAM: the
 * initial events were committed as of rv, and the stream was dropped. */
struct reflector_action reflector_listed(struct reflector *r, struct str rv, struct str next,
                                         uint64_t now_ms);

/* The end of the initial events came, with their version, and the caller has committed them: the
 * same stream goes on as the watch. */
void reflector_streamed(struct reflector *r, struct str rv, uint64_t now_ms);

/* COMPARING: the list that is to be asked for beside the watch, or its next page. It finds what was
 * gone before the watch began. A watch without a version tells all else itself, in any order, and
 * nothing shows when it has done so; from what it tells no later one can go on, but from a bookmark. */
struct reflector_action reflector_compare(const struct reflector *r);

/* A page of it came; next as above: behind the last page the watch is one as any other, until it
 * ends. What the list says of its version is not looked at: the watch began elsewhere. */
void reflector_compared(struct reflector *r, struct str next);

/* The version that counts of a list whose last page says rv: that of page 1. */
struct str reflector_list_rv(const struct reflector *r, struct str rv);

/* Is this version of a list or bookmark older than that of the last list or bookmark? Versions of
 * events do not count: some servers number objects and collections apart
 * (docs/kubernetes-protocol.md "Order of versions"). */
bool reflector_goes_back(const struct reflector *r, struct str rv);

/* Is it older than the version to resume from, that of an event maybe? */
bool reflector_is_older(const struct reflector *r, struct str rv);

/* Was the list under way asked for without a version? Then it shows the server's newest state. */
bool reflector_is_newest(const struct reflector *r);

/* The caller commits none of this list: lists anew after wait_ms, without a version, in the same
 * form. */
struct reflector_action reflector_held(struct reflector *r, uint64_t wait_ms);

/* The watch delivered an event of this version (empty: not known), and it was applied or its object was skipped
 * (docs/kubernetes-protocol.md "Event types"). Initial events of a streaming list count as life,
 * but their versions are not remembered, nor those of a watch without a version before its first
 * bookmark. */
void reflector_seen(struct reflector *r, struct str rv);

/* The same of a bookmark; false: its version goes back, so the stream cannot be trusted
 * (docs/kubernetes-protocol.md "Versions of the future"): end it with reflector_relist(). */
bool reflector_bookmark(struct reflector *r, struct str rv) MUST_CHECK;

/* An established watch or stream ended: cleanly, cut off, or by a deadline
 * (docs/kubernetes-protocol.md "End of a watch"). */
struct reflector_action reflector_ended(struct reflector *r, uint64_t now_ms);

/* The list, the start of the watch, or (by an ERROR event or broken bytes) the watch itself failed.
 * retry_after_ms: what the server asked for, 0 = nothing
 * (docs/kubernetes-protocol.md "Start of a watch", "Retry-After"). */
struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, uint64_t now_ms);

/* The wait is over. */
struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms);

/* A watch was about to be asked for, and its version may be one of the future, by what the server has said:
 * asks that first. */
struct reflector_action reflector_doubted(struct reflector *r, uint64_t now_ms);

/* Whatever is under way was dropped: lists anew at once, without a version. BACKWARDS waits for the
 * backoff first. */
struct reflector_action reflector_relist(struct reflector *r, enum relist_reason why,
                                         uint64_t now_ms);

/* Whether the server can stream lists, for WATCH_LIST_AUTO. Not known = it cannot. */
void reflector_can_stream(struct reflector *r, bool can);

/* What it is doing. */
enum reflector_state reflector_state(const struct reflector *r);

/* The version it would resume from; "" before the first list, and when the server gives none. */
const char *reflector_last_sync_rv(const struct reflector *r);
/* That of the last list or bookmark; "" before the first one. */
const char *reflector_collection_rv(const struct reflector *r);

/* Times that a cache in sync had to be listed anew, by reason: RELIST_REASONS numbers. */
const uint64_t *reflector_relists(const struct reflector *r);

/* Why the list that is due or under way is made; RELIST_REASONS = it is the first, or none is. */
enum relist_reason reflector_why(const struct reflector *r);

#endif
