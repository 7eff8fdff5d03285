/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffering - does a proxy on the way to the server hold the responses of watches back, so that events
 * come late (docs/kubernetes-protocol.md "Other proxies")? Judges the watches of one scope by when
 * their bytes come; pure. Used by list_watch only.
 */
#ifndef CACHE_BUFFERING_H
#define CACHE_BUFFERING_H

#include <stdbool.h>
#include <stdint.h>

/* One held response may be an accident, such as a machine that stood still; so many in a row are
 * none. */
enum { BUFFERING_IN_A_ROW = 3 };

/* Zero-initialised: nothing is known. Read-only outside buffering.c. */
struct buffering {
    unsigned unanswered; /* watches in a row that the server took, and whose head never came */
    bool lists;          /* the last LIST was answered, and no head of a watch came since */
    unsigned late;       /* bursts in a row that were held back */
    uint64_t begun_ms;   /* when the head of the watch came */
    /* The burst under way: bytes that come within a second. */
    uint64_t burst_ms;  /* when it began; 0 = none is under way */
    unsigned bookmarks; /* in it */
};

/* The head of a watch came. */
void buffering_begin(struct buffering *b, uint64_t now_ms);

/* Bytes of its body came, with so many bookmarks. */
void buffering_heard(struct buffering *b, unsigned bookmarks, uint64_t now_ms);

/* Its response is over. */
void buffering_end(struct buffering *b, uint64_t now_ms);

/* The server took the request of a watch, and sent no head within response_timeout. */
void buffering_unanswered(struct buffering *b);

/* A LIST is over: did its head come? */
void buffering_listed(struct buffering *b, bool answered);

enum buffering_sign {
    BUFFERING_NONE,
    BUFFERING_HEADS,  /* heads of watches do not come, those of lists do */
    BUFFERING_BODIES, /* events and bookmarks come late and together */
};

/* The sign of buffering that the counts give at this time. */
enum buffering_sign buffering_look(const struct buffering *b, uint64_t now_ms);

#endif
