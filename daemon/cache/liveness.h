/* SPDX-License-Identifier: Apache-2.0 */
/*
 * liveness - the signs of life of one scope: when its server was heard last, when its cache last was
 * equal to the server's objects, and when a response has been silent for too long
 * (docs/kubernetes-protocol.md "Dead connections"); pure. Used by list_watch only.
 */
#ifndef CACHE_LIVENESS_H
#define CACHE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

enum liveness_state {
    LIVENESS_NONE,    /* no response, or a LIST: its silence is limited elsewhere */
    LIVENESS_INITIAL, /* a streaming list that has not sent all its initial events */
    LIVENESS_RESUMED, /* an established watch that may still send old events */
    LIVENESS_FILLING, /* a watch without a version that may still send the existing objects */
    LIVENESS_FILLED,  /* the same after these objects: a LIST beside it finds the deleted ones */
    LIVENESS_FOLLOWS, /* an established watch that sends new events */
};

/* The creator sets the first two members; the others are zero-initialised. Read-only outside
 * liveness.c. */
struct liveness {
    uint64_t bookmark_timeout_ms;  /* a watch that had a bookmark may be silent so long */
    uint64_t list_idle_timeout_ms; /* and a streaming list that is not complete */
    enum liveness_state state;
    uint64_t since_ms;   /* when it became RESUMED, FILLING or FOLLOWS */
    uint64_t warn_ms;    /* INITIAL: when the pause is worth a warning */
    uint64_t follow_ms;  /* when the cache last was equal to the server's objects, 0 = never */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
};

/* A good response has begun; initial: it is a streaming list. */
void liveness_begin(struct liveness *p, bool initial, uint64_t now_ms);

/* From now on the response is an established watch that sends new events. */
void liveness_follow(struct liveness *p, uint64_t now_ms);

/* The same for a watch that goes on from the version that an earlier process has left
 * (docs/design.md "Synced"). */
void liveness_resume(struct liveness *p, uint64_t now_ms);

/* The same for a watch without a version. */
void liveness_fill(struct liveness *p, uint64_t now_ms);

/* RESUMED: the watch has sent all old events. Does nothing in other states. */
void liveness_settle(struct liveness *p, uint64_t now_ms);

/* Is a watch established that tells of all changes, deletes included? */
bool liveness_watches(const struct liveness *p);

/* Readable bytes came. */
void liveness_heard(struct liveness *p, uint64_t now_ms);

/* The cache is equal to the server's objects, or the difference is our own choice (a list that the guard
 * holds). */
void liveness_current(struct liveness *p, uint64_t now_ms);

/* The response is over. well: it did not end by an error in it; a watch that ends by one at once
 * has never followed the server. */
void liveness_end(struct liveness *p, bool well, uint64_t now_ms);

/* When to call liveness_look(), UINT64_MAX = never. had_bookmark: this response had one. */
uint64_t liveness_due_ms(const struct liveness *p, bool had_bookmark);

enum liveness_sign {
    LIVENESS_WELL,
    LIVENESS_PAUSED, /* INITIAL: silent for 10 s, or for 10 s more; worth a warning */
    LIVENESS_STUCK,  /* INITIAL: silent for list_idle_timeout */
    /* RESUMED, FILLING: silent for 500 ms, or open for 5 s: old events are over. */
    LIVENESS_SETTLED,
    LIVENESS_OVERDUE, /* FOLLOWS: silent for bookmark_timeout */
};

/* Judges the silence of the response. */
enum liveness_sign liveness_look(struct liveness *p, bool had_bookmark, uint64_t now_ms);

/* How long the response has been silent. */
uint64_t liveness_silent_ms(const struct liveness *p, uint64_t now_ms);

#endif
