/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness - the signs of life of one stream: when it was heard last, when its cache was last what the
 * server has, and when its silence is too long (docs/kubernetes-protocol.md "Dead connections");
 * pure. The inner side of list_watch, and used by nothing else.
 */
#ifndef CACHE_LIVENESS_H
#define CACHE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

enum liveness_state {
    LIVENESS_NONE,    /* no response, or one whose silence is not looked at here */
    LIVENESS_INITIAL, /* a stream that has not sent all its initial events */
    LIVENESS_RESUMED, /* an established watch that may still bring what has long been so */
    LIVENESS_FILLING, /* a watch without a version that may still bring what there is */
    LIVENESS_FILLED,  /* the same, and that has come: a list beside it tells what is gone */
    LIVENESS_FOLLOWS, /* an established watch */
};

/* Zero-initialise but for the first two. Read-only outside liveness.c. */
struct liveness {
    uint64_t bookmark_timeout_ms;  /* a watch that had a bookmark may be silent so long */
    uint64_t list_idle_timeout_ms; /* and one that still sends its initial events */
    enum liveness_state state;
    uint64_t since_ms;   /* when it came to RESUMED or FOLLOWS */
    uint64_t warn_ms;    /* INITIAL: when a pause is worth a warning */
    uint64_t follow_ms;  /* when the cache last was what the server has, 0 = never */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
};

/* A good response has begun; initial = as a stream of initial events. */
void liveness_begin(struct liveness *p, bool initial, uint64_t now_ms);

/* From now on the response is an established watch. */
void liveness_follow(struct liveness *p, uint64_t now_ms);

/* The same for a watch that goes on from a version that an earlier process has left
 * (docs/design.md "Synced"). */
void liveness_resume(struct liveness *p, uint64_t now_ms);

/* The same of one without a version. */
void liveness_fill(struct liveness *p, uint64_t now_ms);

/* RESUMED: it has told all that had happened before. */
void liveness_settle(struct liveness *p, uint64_t now_ms);

/* Is a watch established, and nothing gone that it does not tell of? */
bool liveness_watches(const struct liveness *p);

/* Bytes came, and could be read. */
void liveness_heard(struct liveness *p, uint64_t now_ms);

/* The cache is what the server has, or the difference is ours (a list that the guard holds). */
void liveness_current(struct liveness *p, uint64_t now_ms);

/* The response is over. well: it did not end by an error of its own; a watch that does so at once
 * never followed. */
void liveness_end(struct liveness *p, bool well, uint64_t now_ms);

/* When its silence is to be looked at, UINT64_MAX = never. had_bookmark: in this response. */
uint64_t liveness_due_ms(const struct liveness *p, bool had_bookmark);

enum liveness_sign {
    LIVENESS_WELL,
    LIVENESS_PAUSED, /* INITIAL: silent for 10 s more; worth a warning */
    LIVENESS_STUCK,  /* INITIAL: silent for list_idle_timeout */
    LIVENESS_SETTLED, /* RESUMED, FILLING: silent for 500 ms, or busy for 5 s: what was so has come */
    LIVENESS_OVERDUE, /* FOLLOWS: silent for bookmark_timeout */
};

/* Looks at its silence. */
enum liveness_sign liveness_look(struct liveness *p, bool had_bookmark, uint64_t now_ms);

/* So long it has been silent. */
uint64_t liveness_silent_ms(const struct liveness *p, uint64_t now_ms);

#endif
