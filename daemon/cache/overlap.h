/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap - the events that two watches of one scope have in common; pure. The second watch is asked
 * for with the version that the scope has then, while the first one goes on. So the second one begins
 * by repeating the events that the first one sends in the meantime, and these must not be taken twice
 * (docs/kubernetes-protocol.md "Two watches at a time").
 *
 * The repeated events are recognised by the last one of them, and where the versions of the first
 * watch grew also by any newer version. A server whose versions cannot be compared is served by the
 * first rule alone.
 */
#ifndef CACHE_OVERLAP_H
#define CACHE_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* The fields by which the same event of both watches is known. A DELETED may have the version of the
 * MODIFIED before it, as some servers give it no version of its own. */
struct overlap_event {
    struct str rv; /* empty = not known */
    struct str key;
    bool deleted;
};

/* Zero-initialised: there is no second watch. */
struct overlap {
    char *from; /* the version that the second watch is asked for with; NULL = no second watch */
    char *
        collection; /* the version of the last list or bookmark then; NULL = bookmarks are in order */
    char *rv;       /* the last event of the first watch since then; of no event: from */
    char *key;
    bool deleted;
    size_t count; /* how many events the first watch has sent since then; 0 = nothing is repeated */
    size_t skipped; /* so many of the second one were recognised */
    bool grows;     /* each version of the first watch was not older than the one before it */
    bool unknown;   /* an event had no version */
};

/* A second watch is asked for with version rv, while the last list or bookmark had version
 * collection_rv. */
void overlap_begin(struct overlap *o, const char *rv, const char *collection_rv);

/* The first watch has sent an event, which was taken. Does nothing before overlap_begin(). */
void overlap_note(struct overlap *o, struct overlap_event e);

/* Can the repeated events be recognised? Not if one had no version: then the first watch has to
 * go on. */
bool overlap_is_known(const struct overlap *o);

enum overlap_verdict {
    OVERLAP_NEW,      /* the event is to be taken */
    OVERLAP_REPEATED, /* the first watch has brought it */
    /* The second watch does not repeat the events of the first one, so nobody knows which of its
     * events are new. A watch from the version of the last event that was taken does know. */
    OVERLAP_MISFIT,
};

/* Judges an event of the second watch, from the first one on; the first watch is over. */
enum overlap_verdict overlap_judge(struct overlap *o, struct overlap_event e);

/* The second watch has sent a bookmark with version rv, while the last list or bookmark has version
 * collection_rv. False: it belongs to the time in which the first watch was heard, so it tells
 * nothing and may be older than collection_rv. */
bool overlap_bookmark(struct overlap *o, struct str rv, const char *collection_rv);

/* Frees the texts; there is no second watch any more. */
void overlap_end(struct overlap *o);

#endif
