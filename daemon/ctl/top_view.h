/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_view - the screen of `informerctl top` as text, made from two answers of /v1/status; pure.
 */
#ifndef CTL_TOP_VIEW_H
#define CTL_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A value that is not known. */
#define TOP_UNKNOWN UINT64_MAX

enum top_sort {
    TOP_BY_NAME,
    TOP_BY_ACTIVITY, /* events per second; runs and keys that wait */
    TOP_BY_SIZE,     /* bytes; keys that wait */
    TOP_BY_AGE,      /* of the last byte; of the oldest key */
    TOP_BY_FAILURES, /* not watching, stale or held; failed runs */
    TOP_BY_LATENCY,  /* hooks only */
};

/* The order of a row, in both tables; the first member of each. */
struct top_row {
    struct buf name;
    uint64_t weight; /* a larger one comes first; TOP_UNKNOWN last */
    bool reverse;
};

struct top_watch {
    struct top_row row;
    struct buf state;
    bool stale;
    bool held;
    uint64_t events;
    uint64_t rate;       /* events in 1000 s; TOP_UNKNOWN before the second answer */
    uint64_t contact_ms; /* age of the last byte */
    uint64_t objects;
    uint64_t bytes;
};

struct top_hook {
    struct top_row row;
    bool paused;
    uint64_t running;
    uint64_t pending;
    uint64_t parked;
    uint64_t failed;
    uint64_t oldest_ms;
    uint64_t p50_ms;
    uint64_t p99_ms;
};

/* One answer of /v1/status. Zero-initialised is empty. */
struct top {
    uint64_t at_ms; /* when it came, monotonic */
    struct buf version;
    struct buf started;
    bool ready;
    size_t faults;
    struct top_watch *watches;
    size_t watch_count;
    struct top_hook *hooks;
    size_t hook_count;
};

/* How the screen is to look. */
struct top_look {
    size_t rows; /* of the terminal; 0 = as many as there are */
    size_t columns;
    enum top_sort sort;
    bool reverse;
    bool colour;
    const char *trouble; /* shown in the first line: why the figures are old; NULL = they are not */
    int64_t now_s;       /* wall clock */
};

/* Reads an answer of /v1/status into *t, which is overwritten and has to be released with top_fini()
 * whatever is returned. Events per second are counted from `before`, the answer before (its at_ms 0:
 * there is none). ERR_PROTOCOL: json is no JSON. */
enum err_kind top_read(struct top *t, struct str json, uint64_t at_ms, const struct top *before,
                       struct err *err) MUST_CHECK;

/* Frees its memory, and empties it. */
void top_fini(struct top *t);

/* Appends the screen: lines of at most look->columns, look->rows at most, each with a line end. Sorts
 * the rows of t. */
void top_put(struct buf *out, struct top *t, const struct top_look *look);

/* Changes the order for a key of the keyboard: n, a, s, o, f, l, or r. False: the key is none of
 * these. */
bool top_take_key(struct top_look *look, char key);

#endif
