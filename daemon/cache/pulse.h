/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse - the signs of life of one stream: when it was heard last, when its cache was last what the
 * server has, and when its silence is too long; pure (PROTOCOL 2.8). The inner side of feed, and
 * only its.
 */
#ifndef CACHE_PULSE_H
#define CACHE_PULSE_H

#include <stdbool.h>
#include <stdint.h>

enum pulse_state {
    PULSE_NONE,    /* no response, or one whose silence is not looked at here */
    PULSE_INITIAL, /* a stream that has not sent all its initial events */
    PULSE_RESUMED, /* an established watch that may still bring what has long been so */
    PULSE_FILLING, /* a watch without a version that may still bring what there is */
    PULSE_FILLED,  /* the same, and that has come: a list beside it tells what is gone */
    PULSE_FOLLOWS, /* an established watch */
};

/* Zero-initialise but for the first two. Read-only outside pulse.c. */
struct pulse {
    uint64_t bookmark_timeout_ms;  /* a watch that had a bookmark may be silent so long */
    uint64_t list_idle_timeout_ms; /* and one that still sends its initial events */
    enum pulse_state state;
    uint64_t since_ms;   /* when it came to RESUMED or FOLLOWS */
    uint64_t warn_ms;    /* INITIAL: when a pause is worth a warning */
    uint64_t follow_ms;  /* when the cache last was what the server has, 0 = never */
    uint64_t contact_ms; /* when the last good byte came, 0 = never */
};

/* A good response has begun; initial = as a stream of initial events. */
void pulse_begin(struct pulse *p, bool initial, uint64_t now_ms);

/* From now on the response is an established watch. */
void pulse_follow(struct pulse *p, uint64_t now_ms);

/* The same of one that goes on from what an earlier process has left (DESIGN 1.4.1). */
void pulse_resume(struct pulse *p, uint64_t now_ms);

/* The same of one without a version. */
void pulse_fill(struct pulse *p, uint64_t now_ms);

/* RESUMED: it has told all that had happened before. */
void pulse_settle(struct pulse *p, uint64_t now_ms);

/* Is a watch established, and nothing gone that it does not tell of? */
bool pulse_watches(const struct pulse *p);

/* Bytes came, and could be read. */
void pulse_heard(struct pulse *p, uint64_t now_ms);

/* The cache is what the server has, or the difference is ours (a list that the guard holds). */
void pulse_current(struct pulse *p, uint64_t now_ms);

/* The response is over. well: it did not end by an error of its own; a watch that does so at once
 * never followed. */
void pulse_end(struct pulse *p, bool well, uint64_t now_ms);

/* When its silence is to be looked at, UINT64_MAX = never. had_bookmark: in this response. */
uint64_t pulse_due_ms(const struct pulse *p, bool had_bookmark);

enum pulse_sign {
    PULSE_WELL,
    PULSE_PAUSED,  /* INITIAL: silent for 10 s more; worth a warning (PROTOCOL 1.1) */
    PULSE_STUCK,   /* INITIAL: silent for list_idle_timeout */
    PULSE_SETTLED, /* RESUMED, FILLING: silent for 500 ms, or busy for 5 s: what was so has come */
    PULSE_OVERDUE, /* FOLLOWS: silent for bookmark_timeout */
};

/* Looks at its silence. */
enum pulse_sign pulse_look(struct pulse *p, bool had_bookmark, uint64_t now_ms);

/* So long it has been silent. */
uint64_t pulse_silent_ms(const struct pulse *p, uint64_t now_ms);

#endif
