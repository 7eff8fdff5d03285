/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_watch - one stream of a watch between bytes and store; pure: turns the reflector's actions into
 * requests, and response bytes into store changes and reflector inputs.
 */
#ifndef CACHE_LIST_WATCH_H
#define CACHE_LIST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/guard.h"
#include "cache/ingest.h"
#include "cache/reflector.h"
#include "cache/store.h"
#include "kube/resource.h"
#include "kube/shape.h"
#include "proto/http_in.h"

/* ns, name and selectors are copied; everything else borrowed must outlive the feed. */
struct list_watch_params {
    const char *cluster; /* with watch: for logs */
    const char *watch;
    const struct resource *resource;
    const char *ns;             /* NULL = all namespaces, or cluster-scoped */
    const char *name;           /* NULL = all names */
    const char *label_selector; /* "" = none */
    const char *field_selector;
    const struct shape *shape; /* NULL = everything is kept */
    size_t object_size;
    struct reflector_params reflector;
    struct guard_params guard;
    struct guard_window *window;   /* of the watch */
    uint64_t bookmark_timeout_ms;  /* a stream that had a bookmark may be silent so long */
    uint64_t list_idle_timeout_ms; /* and one that still sends its initial events */
    uint64_t seed;
    struct store *store;
    size_t scope; /* of the store, filled by this feed alone */
};

enum list_watch_do {
    LW_LIST,
    LW_STREAM, /* on a connection whose server has just said that it is of the right cluster: there is no
                  * asking behind it, as it goes on as the watch */
    LW_WATCH,
    LW_IDENTIFY, /* is the server that has just answered of the right cluster? Then list_watch_identified() */
    LW_WAIT,
};

/* What the driver does next. */
struct list_watch_action {
    enum list_watch_do what;
    const char *target;   /* LIST, STREAM, WATCH: request target; borrowed until the next call */
    const char *accept;   /* for its Accept header; NULL = application/json */
    uint64_t deadline_ms; /* STREAM, WATCH: the whole response must end within so many ms:
                             docs/kubernetes-protocol.md "Dead connections" */
    uint64_t wait_ms;     /* WAIT: then call list_watch_timer() */
};

struct list_watch;

/* Never NULL. */
struct list_watch *list_watch_create(const struct list_watch_params *params);

/* Frees it and sets *f to NULL. NULL is fine. */
void list_watch_destroy(struct list_watch **lw);

/* What an earlier process has left, before the first action; for watch.c. */
void list_watch_resume(struct list_watch *lw, const struct resume_point *resume);

/* The first action. A list that was ordered before comes in place of a watch that goes on. */
struct list_watch_action list_watch_start(struct list_watch *lw, uint64_t now_ms);

/* The response head of the request came. */
void list_watch_head(struct list_watch *lw, const struct http_head *head, uint64_t now_ms);

/* A piece of its body. The store's sink may run before return. False: the stream is over (an error
 * in it, or broken bytes); drop the request and call list_watch_end() with NULL. */
bool list_watch_body(struct list_watch *lw, const char *data, size_t n,
                     struct list_watch_now now) MUST_CHECK;

/* The request is over: err NULL = its body is complete (or list_watch_body() or list_watch_overdue() said
 * stop), else why it was not. A complete list is committed: the sink may run. Returns what to do
 * next. */
struct list_watch_action list_watch_end(struct list_watch *lw, const struct err *err,
                                        struct list_watch_now now);

/* A LW_IDENTIFY is over: err NULL = it is the right cluster; ERR_FOREIGN = it is not, and nothing is taken
 * from it; else nobody has said so. The sink may run. */
struct list_watch_action list_watch_identified(struct list_watch *lw, const struct err *err,
                                               struct list_watch_now now);

/* The server at the other end of a LW_WATCH, which has not been sent yet, said that its etcd has this
 * revision now ("" = not known): is the watch to go on from a later one? Then the server may have been
 * restored from a backup: drop the request and call list_watch_doubted(). */
bool list_watch_is_ahead(const struct list_watch *lw, const char *revision);
/* See above. */
struct list_watch_action list_watch_doubted(struct list_watch *lw, uint64_t now_ms);

/* The cluster is another one by now, and that is right: forgets all it knows, and orders a first list.
 * The store's part is empty. For watch.c. */
void list_watch_forget(struct list_watch *lw);

/* A LW_WAIT is over. */
struct list_watch_action list_watch_timer(struct list_watch *lw, uint64_t now_ms);

/* Is a LIST wanted beside the watch under way, or its next page? The watch has no version, and
 * nobody else tells what was gone before it began. */
bool list_watch_wants_compare(const struct list_watch *lw);
/* That request, on a connection whose server has just said that it is of the right cluster. It ends with the
 * watch's: drop both then. */
struct list_watch_action list_watch_compare(struct list_watch *lw);
/* The head of its response, and a piece of its body. False: nothing more of it is needed; drop it
 * and call list_watch_compare_end() with NULL. */
void list_watch_compare_head(struct list_watch *lw, const struct http_head *head);
/* See above. */
bool list_watch_compare_body(struct list_watch *lw, const char *data, size_t n,
                             struct list_watch_now now) MUST_CHECK;
/* It is over, with err as in list_watch_end(). The store's sink may run. False: the watch is over, too;
 * drop its request and call list_watch_end() with NULL. */
bool list_watch_compare_end(struct list_watch *lw, const struct err *err,
                            struct list_watch_now now) MUST_CHECK;

/* When the response's silence is to be looked at, UINT64_MAX = never; it may have moved on by then:
 * a timer that asks again when it fires is enough. */
uint64_t list_watch_due_ms(const struct list_watch *lw);

/* That time has come; it may make the feed synced. True: too silent; drop the request and call
 * list_watch_end() with NULL. */
bool list_watch_overdue(struct list_watch *lw, uint64_t now_ms) MUST_CHECK;

/* Was something ordered (watch_relist(), watch_guard()) that the driver must carry out? It drops
 * the request or the wait and calls list_watch_restart(). */
bool list_watch_is_ordered(const struct list_watch *lw);
/* See above. */
struct list_watch_action list_watch_restart(struct list_watch *lw, struct list_watch_now now);

/* Orders a list at once; for watch.c. */
void list_watch_order(struct list_watch *lw, enum relist_reason why);

/* The resource has another path, version or kind now: lists that. For watch.c. */
void list_watch_move(struct list_watch *lw);

/* A person decides about the held list; false: none is. For watch.c. */
bool list_watch_guard(struct list_watch *lw, bool accept);

/* Whether the server can stream lists, as far as its version says
 * (docs/kubernetes-protocol.md "Streaming lists"). */
void list_watch_can_stream(struct list_watch *lw, bool can);

/* Appends the target of a LIST of what the feed selects, without a version; for audits. limit 0 and
 * next NULL are left out. */
void list_watch_put_list_target(const struct list_watch *lw, struct buf *out, unsigned limit,
                                const char *next);

/* The Accept header for it; NULL = application/json. */
const char *list_watch_accept(const struct list_watch *lw);

/* What list readers of this feed must be created with; borrowed. */
const struct object_rules *list_watch_rules(const struct list_watch *lw);

/* Is it synced, and no other one on its way? One that the guard holds is not. */
bool list_watch_settled(const struct list_watch *lw);

/* What people and hooks may know of it. */
struct list_watch_status {
    enum reflector_state state;
    bool synced;             /* the first list was committed, or was not needed */
    enum resume_kind resume; /* OVER: synced */
    bool connected;          /* a watch is established and not overdue */
    uint64_t contact_ms;     /* when the last good byte came, 0 = never */
    uint64_t follow_ms;      /* while not connected: when it last was, or was listed; 0 = never */
    uint64_t event_ms;       /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv;
    const char *collection_rv; /* version of the last list or bookmark */
    enum relist_reason why;    /* of the list that is due or under way; RELIST_REASONS = none is */
    const uint64_t *relists;   /* by reason */
    const struct guard *guard;
    uint64_t events;       /* of watches, bookmarks left out */
    const struct err *err; /* of the last failure; kind OK since the last success */
};

/* Borrowed until the next call on f. */
struct list_watch_status list_watch_status(const struct list_watch *lw);

/* The time of the last call that brought one. */
uint64_t list_watch_now_ms(const struct list_watch *lw);
/* "namespace/name" of what it selects, for logs; "" = everything. */
const char *list_watch_scope_name(const struct list_watch *lw);

#endif
