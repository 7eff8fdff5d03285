/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed - one stream of a watch between bytes and store; pure: turns the reflector's actions into
 * requests, and response bytes into store changes and reflector inputs.
 */
#ifndef CACHE_FEED_H
#define CACHE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cache/guard.h"
#include "cache/intake.h"
#include "cache/reflector.h"
#include "cache/store.h"
#include "kube/resource.h"
#include "kube/shape.h"
#include "proto/http_in.h"

/* ns, name and selectors are copied; everything else borrowed must outlive the feed. */
struct feed_params {
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
    size_t part; /* of the store, filled by this feed alone */
};

enum feed_do {
    FEED_LIST,
    FEED_STREAM, /* on a connection whose server has just said that it is of the right cluster: there is no
                  * asking behind it, as it goes on as the watch */
    FEED_WATCH,
    FEED_IDENTIFY, /* is the server that has just answered of the right cluster? Then feed_identified() */
    FEED_WAIT,
};

/* What the driver does next. */
struct feed_action {
    enum feed_do what;
    const char *target;   /* LIST, STREAM, WATCH: request target; borrowed until the next call */
    const char *accept;   /* for its Accept header; NULL = application/json */
    uint64_t deadline_ms; /* STREAM, WATCH: the whole response must end within (PROTOCOL 2.8) */
    uint64_t wait_ms;     /* WAIT: then call feed_timer() */
};

struct feed;

/* Never NULL. */
struct feed *feed_create(const struct feed_params *params);

/* Frees it and sets *f to NULL. NULL is fine. */
void feed_destroy(struct feed **f);

/* What an earlier process has left, before the first action; for watch.c. */
void feed_resume(struct feed *f, const struct past *past);

/* The first action. A list that was ordered before comes in place of a watch that goes on. */
struct feed_action feed_start(struct feed *f, uint64_t now_ms);

/* The response head of the request came. */
void feed_head(struct feed *f, const struct http_head *head, uint64_t now_ms);

/* A piece of its body. The store's sink may run before return. False: the stream is over (an error
 * in it, or broken bytes); drop the request and call feed_end() with NULL. */
bool feed_body(struct feed *f, const char *data, size_t n, struct feed_now now) MUST_CHECK;

/* The request is over: err NULL = its body is complete (or feed_body() or feed_overdue() said
 * stop), else why it was not. A complete list is committed: the sink may run. Returns what to do
 * next. */
struct feed_action feed_end(struct feed *f, const struct err *err, struct feed_now now);

/* A FEED_IDENTIFY is over: err NULL = it is the right cluster; ERR_FOREIGN = it is not, and nothing is taken
 * from it; else nobody has said so. The sink may run. */
struct feed_action feed_identified(struct feed *f, const struct err *err, struct feed_now now);

/* The server at the other end of a FEED_WATCH, which has not been sent yet, said that its etcd has this
 * revision now ("" = not known): is the watch to go on from a later one? Then the server may have been
 * restored from a backup: drop the request and call feed_doubted(). */
bool feed_is_ahead(const struct feed *f, const char *revision);
/* See above. */
struct feed_action feed_doubted(struct feed *f, uint64_t now_ms);

/* The cluster is another one by now, and that is right: forgets all it knows, and orders a first list.
 * The store's part is empty. For watch.c. */
void feed_forget(struct feed *f);

/* A FEED_WAIT is over. */
struct feed_action feed_timer(struct feed *f, uint64_t now_ms);

/* Is a LIST wanted beside the watch under way, or its next page? The watch has no version, and
 * nobody else tells what was gone before it began. */
bool feed_wants_list(const struct feed *f);
/* That request, on a connection whose server has just said that it is of the right cluster. It ends with the
 * watch's: drop both then. */
struct feed_action feed_list(struct feed *f);
/* The head of its response, and a piece of its body. False: nothing more of it is needed; drop it
 * and call feed_list_end() with NULL. */
void feed_list_head(struct feed *f, const struct http_head *head);
/* See above. */
bool feed_list_body(struct feed *f, const char *data, size_t n, struct feed_now now) MUST_CHECK;
/* It is over, with err as in feed_end(). The store's sink may run. False: the watch is over, too;
 * drop its request and call feed_end() with NULL. */
bool feed_list_end(struct feed *f, const struct err *err, struct feed_now now) MUST_CHECK;

/* When the response's silence is to be looked at, UINT64_MAX = never; it may have moved on by then:
 * a timer that asks again when it fires is enough. */
uint64_t feed_due_ms(const struct feed *f);

/* That time has come; it may make the feed synced. True: too silent; drop the request and call
 * feed_end() with NULL. */
bool feed_overdue(struct feed *f, uint64_t now_ms) MUST_CHECK;

/* Was something ordered (watch_relist(), watch_guard()) that the driver must carry out? It drops
 * the request or the wait and calls feed_restart(). */
bool feed_is_ordered(const struct feed *f);
/* See above. */
struct feed_action feed_restart(struct feed *f, struct feed_now now);

/* Orders a list at once; for watch.c. */
void feed_order(struct feed *f, enum relist_reason why);

/* The resource has another path, version or kind now: lists that. For watch.c. */
void feed_move(struct feed *f);

/* A person decides about the held list; false: none is. For watch.c. */
bool feed_guard(struct feed *f, bool accept);

/* Whether the server can stream lists, as far as its version says (PROTOCOL 1.4). */
void feed_can_stream(struct feed *f, bool can);

/* Appends the target of a LIST of what the feed selects, without a version; for audits. limit 0 and
 * next NULL are left out. */
void feed_put_list_target(const struct feed *f, struct buf *out, unsigned limit, const char *next);

/* The Accept header for it; NULL = application/json. */
const char *feed_accept(const struct feed *f);

/* What list readers of this feed must be created with; borrowed. */
const struct object_rules *feed_rules(const struct feed *f);

/* Is it synced, and no other one on its way? One that the guard holds is not. */
bool feed_settled(const struct feed *f);

/* What people and hooks may know of it. */
struct feed_status {
    enum reflector_state state;
    bool synced;         /* the first list was committed, or was not needed */
    enum past_kind past; /* OVER: synced */
    bool connected;      /* a watch is established and not overdue */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
    uint64_t follow_ms;  /* while not connected: when it last was, or was listed; 0 = never */
    uint64_t event_ms;   /* when the last event, the last bookmark came; 0 = never */
    uint64_t bookmark_ms;
    const char *rv;
    const char *mark;        /* version of the last list or bookmark */
    enum relist_reason why;  /* of the list that is due or under way; RELIST_REASONS = none is */
    const uint64_t *relists; /* by reason */
    const struct guard *guard;
    uint64_t events;       /* of watches, bookmarks left out */
    const struct err *err; /* of the last failure; kind OK since the last success */
};

/* Borrowed until the next call on f. */
struct feed_status feed_status(const struct feed *f);

/* The time of the last call that brought one. */
uint64_t feed_now_ms(const struct feed *f);
/* "namespace/name" of what it selects, for logs; "" = everything. */
const char *feed_scope(const struct feed *f);

#endif
