/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch - makes the requests of one scope of a watch and reads the answers: turns the reflector's
 * actions into requests, and response bytes into store changes and reflector inputs; pure.
 */
#ifndef CACHE_LIST_WATCH_H
#define CACHE_LIST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/list_watch_params.h"
#include "cache/list_watch_status.h"
#include "cache/reflector.h"
#include "cache/renewal.h"
#include "proto/http_in.h"

enum list_watch_do {
    LW_LIST,
    /* A streaming list, on a connection whose server has just said that it is of the right cluster:
     * the server cannot be asked behind the list, which goes on as the watch. */
    LW_STREAM,
    LW_WATCH,
    LW_IDENTIFY, /* ask the server that answered for its cluster, then list_watch_identified() */
    LW_WAIT,
};

struct list_watch_action {
    enum list_watch_do what;
    const char *target;   /* LIST, STREAM, WATCH: request target; borrowed until the next call */
    const char *accept;   /* for its Accept header; NULL = application/json */
    uint64_t deadline_ms; /* STREAM, WATCH: the whole response must end within so many ms */
    uint64_t wait_ms;     /* WAIT: then call list_watch_timer() */
};

struct list_watch;

/* A list_watch that has asked for nothing yet. Never NULL. */
struct list_watch *list_watch_create(const struct list_watch_params *params);

/* Frees it and sets *lw to NULL. NULL is fine. */
void list_watch_destroy(struct list_watch **lw);

/* The limit that it shares with others, as list_watch_params.memory. For watch.c. */
void list_watch_limit_memory(struct list_watch *lw, const struct memory_limit *memory);

/* Takes the resume point that an earlier process has left, before the first action. For watch.c. */
void list_watch_resume(struct list_watch *lw, const struct resume_point *resume);

/* Returns the first action. A list that was ordered before comes in place of a watch that goes
 * on. */
struct list_watch_action list_watch_start(struct list_watch *lw, uint64_t now_ms);

/* Takes the head of the response to the request. */
void list_watch_head(struct list_watch *lw, const struct http_head *head, uint64_t now_ms);

/* Takes a piece of its body. The store's sink may run before this returns. False: the response is
 * over (by an error in it, by broken bytes, or as ingest has stopped it); drop the request and call
 * list_watch_end() with NULL. */
bool list_watch_body(struct list_watch *lw, const char *data, size_t n, struct now now) MUST_CHECK;

/* A server took the request, and sent no head within response_timeout; comes before the end. */
void list_watch_unanswered(struct list_watch *lw);

/* The request is over. err NULL: its body is complete, or list_watch_body() or list_watch_overdue()
 * has ended it; else err says why it failed. others: as in reflector_ended(). A complete list is
 * committed, so the sink may run. Returns what to do next. */
struct list_watch_action list_watch_end(struct list_watch *lw, const struct err *err,
                                        unsigned others, struct now now);

/* An LW_IDENTIFY is over. err NULL: it is the right cluster. ERR_FOREIGN: it is another one; nothing
 * is taken from it. Other errors: the server has not said. others: as above. The sink may run. */
struct list_watch_action list_watch_identified(struct list_watch *lw, const struct err *err,
                                               unsigned others, struct now now);

/* The server of an LW_WATCH that has not been sent yet said that its etcd has this revision now (""
 * = not known). Is the watch to go on from a later one? Then the server lags behind others. If no
 * other server is left, etcd may have been restored from a backup: drop the request and call
 * list_watch_doubted(). */
bool list_watch_is_ahead(const struct list_watch *lw, const char *revision);
/* Puts a probe in the place of that watch; returns what to do next. */
struct list_watch_action list_watch_doubted(struct list_watch *lw, uint64_t now_ms);

/* Another cluster is followed from now on: forgets everything and orders a first list. The scope of
 * the store must be empty. For watch.c. */
void list_watch_forget(struct list_watch *lw);

/* The wait of an LW_WAIT is over; returns what to do next. */
struct list_watch_action list_watch_timer(struct list_watch *lw, uint64_t now_ms);

/* Must the driver ask for a LIST beside the watch under way, or for its next page? That watch has
 * no version, so only a LIST shows which objects were deleted before it began. */
bool list_watch_wants_compare(const struct list_watch *lw);
/* Returns that request, for a connection whose server has just said that it is of the right cluster.
 * It ends with the request of the watch: drop both then. */
struct list_watch_action list_watch_compare(struct list_watch *lw);
/* Takes the head of its response. */
void list_watch_compare_head(struct list_watch *lw, const struct http_head *head);
/* Takes a piece of its body. False: no more of it is needed; drop the request and call
 * list_watch_compare_end() with NULL. */
bool list_watch_compare_body(struct list_watch *lw, const char *data, size_t n,
                             struct now now) MUST_CHECK;
/* It is over, with err as in list_watch_end(). The store's sink may run. False: the watch is over,
 * too; drop its request and call list_watch_end() with NULL. */
bool list_watch_compare_end(struct list_watch *lw, const struct err *err,
                            struct now now) MUST_CHECK;

/* Is a watch established that follows the server from a version, and that has no second one beside
 * it? Then it can be renewed without a gap, when its connection has older credentials
 * (docs/design.md "New credentials"). */
bool list_watch_can_renew(const struct list_watch *lw);
/* Returns the request of a second watch from the present version. The first one goes on. The second
 * request ends with it: drop both then. */
struct list_watch_action list_watch_renew(struct list_watch *lw, uint64_t now_ms);
/* As list_watch_is_ahead(), for the second request and the version that it asks for: end it with
 * list_watch_renewal_end(). */
bool list_watch_renewal_is_ahead(const struct list_watch *lw, const char *revision);
/* Takes the head of the second response. True: the second watch is on trial; call
 * list_watch_renewed() when it has lived for RENEWAL_TRIAL_MS. */
bool list_watch_renewal_head(struct list_watch *lw, const struct http_head *head);
/* Takes a piece of its body. SERVED: call list_watch_renewed() now, then list_watch_body() without
 * bytes for the events that have come. REFUSED: drop the second request and end it. */
enum renewal_outcome list_watch_renewal_body(struct list_watch *lw, const char *data, size_t n);
/* The second watch takes the place of the first one: from now on its response is the one of
 * list_watch_body() and list_watch_end(); drop the request of the first one. The events that the
 * second one repeats are passed over. False: the first watch has to go on, as nobody could tell
 * which events are repeated; drop the second request and end it. */
bool list_watch_renewed(struct list_watch *lw, struct now now) MUST_CHECK;
/* The second request is over, with err as in list_watch_end(), and the first watch goes on. *why
 * says why. Returns for how many ms the server wants to be left alone. */
uint64_t list_watch_renewal_end(struct list_watch *lw, const struct err *err, struct err *why);

/* When to call list_watch_overdue(), UINT64_MAX = never. Bytes move this time on, so a timer that
 * asks again when it fires is enough. */
uint64_t list_watch_due_ms(const struct list_watch *lw);

/* That time has come; the scope may become synced. True: the response has been silent for too long;
 * drop the request and call list_watch_end() with NULL. */
bool list_watch_overdue(struct list_watch *lw, uint64_t now_ms) MUST_CHECK;

/* Was a list ordered (list_watch_order()) that the driver must ask for? The driver drops the
 * request or the wait and calls list_watch_restart(). */
bool list_watch_is_ordered(const struct list_watch *lw);
/* Returns what to do first for the ordered list. */
struct list_watch_action list_watch_restart(struct list_watch *lw, struct now now);

/* Orders a list at once. For watch.c. */
void list_watch_order(struct list_watch *lw, enum relist_reason why);

/* The resource has another path, version or kind now: orders a list of that. For watch.c. */
void list_watch_move(struct list_watch *lw);

/* A person decides about the held list; false: no list is held. For watch.c. */
bool list_watch_guard(struct list_watch *lw, bool accept);

/* Does the server's version support streaming lists
 * (docs/kubernetes-protocol.md "Streaming lists")? */
void list_watch_can_stream(struct list_watch *lw, bool can);

/* Appends the target of a LIST of the scope without a version, for audits. limit 0 and next NULL
 * are left out. */
void list_watch_put_list_target(const struct list_watch *lw, struct buf *out, unsigned limit,
                                const char *next);

/* The Accept header for that LIST; NULL = application/json. */
const char *list_watch_accept(const struct list_watch *lw);

/* The rules for the reader of that LIST; borrowed. */
const struct object_rules *list_watch_rules(const struct list_watch *lw);

/* Is the scope synced, and no list due or under way? A list that the guard holds does not count. */
bool list_watch_settled(const struct list_watch *lw);

/* Has the scope caught up with its server once: was the first list committed, or not needed? */
bool list_watch_synced(const struct list_watch *lw);
/* Is a watch established, and not overdue? */
bool list_watch_connected(const struct list_watch *lw);
/* When the last good byte came; 0 = never. */
uint64_t list_watch_contact_ms(const struct list_watch *lw);
/* When the scope, which hooks see, makes its watch stale; UINT64_MAX = it does not. */
uint64_t list_watch_stale_from_ms(const struct list_watch *lw, uint64_t stale_after_ms);
/* Does the guard hold a list of the scope back, or everything of another cluster? */
bool list_watch_is_held(const struct list_watch *lw);

/* Has limits.memory kept objects out of the cache, and no list was committed since
 * (docs/design.md "Memory")? */
bool list_watch_is_incomplete(const struct list_watch *lw);

/* All of the status. Borrowed until the next call on lw. */
struct list_watch_status list_watch_status(const struct list_watch *lw);

/* The time of the last call that brought a struct now. */
uint64_t list_watch_now_ms(const struct list_watch *lw);

/* "namespace/name" of the scope, for logs; "" = all objects. */
const char *list_watch_scope_name(const struct list_watch *lw);

#endif
