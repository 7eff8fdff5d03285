/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector - decides what to ask the server next so that a cache stays equal to it: list, watch,
 * or wait; pure (PROTOCOL 1.2-1.9, 1.22). It sees versions and outcomes, never objects.
 */
#ifndef CACHE_REFLECTOR_H
#define CACHE_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/str.h"

struct reflector_params {
    struct backoff_params backoff;
    uint64_t reset_after_ms; /* streams that went on so long without a wait start a new ladder */
    unsigned page_size;      /* 0 = no paging */
    bool page_always;        /* the user chose the page size: lists from a known RV page too */
    unsigned watch_min_s;    /* timeoutSeconds is drawn from [min, max] for each watch */
    unsigned watch_max_s;
};

enum reflector_state {
    REFLECTOR_IDLE,
    REFLECTOR_LISTING,
    REFLECTOR_WATCHING,
    REFLECTOR_BACKOFF, /* the last error says why */
};

enum reflector_do { REFLECTOR_LIST, REFLECTOR_WATCH, REFLECTOR_WAIT };

/* What to do next. The strings are borrowed until the next call on the reflector. */
struct reflector_action {
    enum reflector_do what;
    const char *rv;     /* LIST, WATCH: resourceVersion; NULL = leave the parameter out */
    const char *next;   /* LIST: continue token; NULL = a new list begins, drop what is staged */
    unsigned limit;     /* LIST: 0 = leave it out */
    unsigned timeout_s; /* WATCH */
    uint64_t wait_ms;   /* WAIT: then call reflector_timer() */
};

struct reflector;

/* params are copied. seed makes its random choices repeatable. Never NULL. */
struct reflector *reflector_create(const struct reflector_params *params, uint64_t seed);

/* Frees it and sets *r to NULL. NULL is fine. */
void reflector_destroy(struct reflector **r);

/* The first action. */
struct reflector_action reflector_start(struct reflector *r, uint64_t now_ms);

/* A page of the list came whole: rv of the list, next = its continue token (empty on the last page,
 * after which the caller has committed the list). */
struct reflector_action reflector_listed(struct reflector *r, struct str rv, struct str next,
                                         uint64_t now_ms);

/* The watch delivered something with this version and it was applied (PROTOCOL 1.6). */
void reflector_seen(struct reflector *r, struct str rv);

/* An established watch ended: cleanly, cut off, or by a deadline (PROTOCOL 1.7). */
struct reflector_action reflector_ended(struct reflector *r, uint64_t now_ms);

/* The list, the start of the watch, or (by an ERROR event or broken bytes) the watch itself failed.
 * retry_after_ms: what the server asked for, 0 = nothing (PROTOCOL 1.8, 1.9). */
struct reflector_action reflector_failed(struct reflector *r, const struct err *err,
                                         uint64_t retry_after_ms, uint64_t now_ms);

/* The wait is over. */
struct reflector_action reflector_timer(struct reflector *r, uint64_t now_ms);

/* What it is doing. */
enum reflector_state reflector_state(const struct reflector *r);

/* The version it would resume from; "" before the first list. */
const char *reflector_rv(const struct reflector *r);

/* Lists begun so far, without further pages. */
uint64_t reflector_lists(const struct reflector *r);

#endif
