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
#include "cache/reflector.h"
#include "cache/store.h"
#include "kube/resource.h"
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
    size_t object_size;
    struct reflector_params reflector;
    uint64_t seed;
    struct store *store;
    size_t part; /* of the store, filled by this feed alone */
};

enum feed_do { FEED_LIST, FEED_WATCH, FEED_WAIT };

/* What the driver does next. */
struct feed_action {
    enum feed_do what;
    const char *target;   /* LIST, WATCH: request target; borrowed until the next call */
    uint64_t deadline_ms; /* WATCH: the whole response must end within (PROTOCOL 2.8) */
    uint64_t wait_ms;     /* WAIT: then call feed_timer() */
};

struct feed;

/* Never NULL. */
struct feed *feed_create(const struct feed_params *params);

/* Frees it and sets *f to NULL. NULL is fine. */
void feed_destroy(struct feed **f);

/* The first action. */
struct feed_action feed_start(struct feed *f, uint64_t now_ms);

/* The response head of the request came. */
void feed_head(struct feed *f, const struct http_head *head, uint64_t now_ms);

/* Times of the bytes handed over. */
struct feed_now {
    uint64_t ms;      /* monotonic */
    uint64_t wall_ns; /* for "received" */
};

/* A piece of its body. The store's sink may run before return. False: the stream is over (an error in it, or broken bytes); drop the
 * request and call feed_end() with NULL. */
bool feed_body(struct feed *f, const char *data, size_t n, struct feed_now now) MUST_CHECK;

/* The request is over: err NULL = its body is complete (or feed_body() said stop), else why it was not. A complete list
 * is committed: the sink may run. Returns what to do next. */
struct feed_action feed_end(struct feed *f, const struct err *err, struct feed_now now);

/* A FEED_WAIT is over. */
struct feed_action feed_timer(struct feed *f, uint64_t now_ms);

/* What people and hooks may know of it. */
struct feed_status {
    enum reflector_state state;
    bool synced;         /* the first list was committed */
    bool connected;      /* a watch is established and not overdue */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
    uint64_t follow_ms;  /* while not connected: when it last was, or was listed; 0 = never */
    const char *rv;
    uint64_t lists;
    uint64_t events;       /* of watches, bookmarks left out */
    uint64_t skipped;      /* events of a wrong kind, list items over object_size */
    const struct err *err; /* of the last failure; kind OK since the last success */
};

/* Borrowed until the next call on f. */
struct feed_status feed_status(const struct feed *f);

/* "namespace/name" of what it selects, for logs; "" = everything. */
const char *feed_scope(const struct feed *f);

#endif
