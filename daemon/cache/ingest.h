/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest - carries the list items and events of one scope into the store, complete lists past the
 * guard, and their versions to the reflector; pure. Used by list_watch only.
 */
#ifndef CACHE_INGEST_H
#define CACHE_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/delta.h"
#include "cache/guard.h"
#include "cache/memory_limit.h"
#include "cache/overlap.h"
#include "cache/reflector.h"
#include "cache/resume_point.h"
#include "cache/store.h"
#include "kube/event.h"
#include "kube/list.h"

/* Why a response is ended although nothing failed. */
enum ingest_stop {
    INGEST_GOES_ON,
    /* A list or bookmark is older than the one before it; doubt says so in words. */
    INGEST_BACKWARDS,
    INGEST_HELD,    /* the guard holds the list */
    INGEST_OVERDUE, /* the response is too silent; set by list_watch.c */
    INGEST_MISFIT, /* a renewed watch does not repeat the events that the watch before it has sent */
    INGEST_FULL,   /* limits.memory is reached: the store may not grow */
    INGEST_UNPROVEN, /* the list may be committed only after the proof in wants */
};

/* The proof of the staged list, beside its items: the objects that it lacks are perhaps only
 * those of another cluster. Each proof includes the ones before it. */
enum ingest_proof {
    PROOF_NONE,
    PROOF_IDENTITY, /* the server that sent the list is of the right cluster */
    /* It was looked up which objects exist that the list of an edited watch lacks, or the lookup
     * has failed for good. */
    PROOF_EXISTENCE,
};

/* The creator sets the first seven members and guard.params; everything else is zero-initialised. */
struct ingest {
    const char *cluster; /* with watch: for logs; borrowed, as the pointers below are */
    const char *watch;
    struct store *store;
    size_t scope;
    struct reflector *reflector;
    struct guard_window *window;
    const struct memory_limit *memory; /* NULL = none */
    struct guard guard;
    struct now now;
    /* Of the response under way; ingest_reset() clears these. */
    enum ingest_stop stop;
    struct err failure;    /* from an ERROR event; kind OK = none came */
    int64_t retry_after_s; /* <= 0 = the server gave none */
    bool had_bookmark;
    struct overlap noted;    /* this watch is being renewed: the part that the next one repeats */
    struct overlap repeated; /* this watch has renewed another one: the part that it repeats */
    /* Of the list that is staged; ingest_begin() clears proof. */
    enum ingest_proof proof;
    enum ingest_proof wants; /* UNPROVEN: the proof that the commit needs */
    char *rv;                /* UNPROVEN: the version of the list; owned */
    /* Of all responses. */
    struct err doubt;
    enum resume_kind
        resume; /* the kind of resume point that the scope goes on from; OVER = it is synced */
    uint64_t event_ms;
    uint64_t bookmark_ms;
    uint64_t events;
    uint64_t wanted;    /* after FULL: how much has to be free before it begins again */
    unsigned bookmarks; /* without those that end initial events */
    uint64_t events_by[EVENT_TYPES]; /* all that came, also initial, repeated and unusable ones */
};

/* A response begins: clears the members that describe the last one. */
void ingest_reset(struct ingest *in);

/* A second watch is asked for with the present version: notes the events of the first one from here
 * on. */
void ingest_begin_renewal(struct ingest *in);

/* There will be no second watch. */
void ingest_end_renewal(struct ingest *in);

/* The second watch takes the place of the first one: the events that it repeats are passed over. */
void ingest_renewed(struct ingest *in);

/* A list begins: drops what is staged, of which nothing is proven. */
void ingest_begin(struct ingest *in);

/* Is there room now for a list, after FULL? */
bool ingest_has_room(const struct ingest *in);

/* Frees what it owns. */
void ingest_fini(struct ingest *in);

/* For the reader of an ordinary LIST: stages its items. For all four the callbacks' arg is the
 * struct ingest. */
extern const struct list_events ingest_list_events;
/* For a LIST beside a watch without a version: stages which objects are there, so that the commit
 * finds the deleted ones. */
extern const struct list_events ingest_present_events;
/* For a LIST of which only the version counts (a probe). */
extern const struct list_events ingest_no_events;
/* For a LIST that looks up which objects exist (PROOF_EXISTENCE). */
extern const struct list_events ingest_existing_events;
/* Takes one event; the state of the reflector says whether it is an initial event or one of the
 * watch. False: the response has to end, and stop or failure says why. */
bool ingest_event(struct ingest *in, const struct event *e);

/* Takes a change of a recording, as list_watch_replay() does. */
void ingest_replay(struct ingest *in, struct object *o, struct delta as);

/* A list of any form is complete and has this version ("" = none): commits it, so the sink of the
 * store may run, and returns GOES_ON; else returns why it is not committed. After UNPROVEN the
 * caller gets the proof in wants, sets proof to it, and calls this again with in->rv. */
enum ingest_stop ingest_commit(struct ingest *in, struct str rv);

#endif
