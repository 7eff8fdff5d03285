/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest - carries the list items and events of one stream into the store, complete lists past the
 * guard, and their versions to the reflector; pure. The inner side of feed, and only its.
 */
#ifndef CACHE_INGEST_H
#define CACHE_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/guard.h"
#include "cache/reflector.h"
#include "cache/resume_point.h"
#include "cache/store.h"
#include "kube/event.h"
#include "kube/list.h"

/* Times of the bytes handed over. */
struct list_watch_now {
    uint64_t ms;      /* monotonic */
    uint64_t wall_ns; /* for "received" */
};

/* Why a response is ended although nothing failed. */
enum ingest_stop {
    INGEST_GOES_ON,
    INGEST_BACKWARDS, /* a list or bookmark of an older version; doubt says it in words */
    INGEST_HELD,      /* the guard holds the list */
    INGEST_OVERDUE,   /* too silent; for list_watch.c */
    INGEST_UNPROVEN, /* the list may not be committed before more is known: see struct intake, wants */
};

/* What is known beside the list that is staged: what it lacks may be another cluster's. */
enum ingest_proof {
    PROOF_NONE,
    PROOF_IDENTITY, /* the server that listed is of the right cluster */
    PROOF_EXISTENCE, /* it was looked up which objects exist that the list of an edited watch lacks, or that
                        cannot be found out */
};

/* Zero-initialise but for the first six. */
struct ingest {
    const char *cluster; /* with watch: for logs; borrowed as all else */
    const char *watch;
    struct store *store;
    size_t scope;
    struct reflector *reflector;
    struct guard_window *window;
    struct guard guard;
    struct list_watch_now now;
    /* Of the response under way; see ingest_reset(). */
    enum ingest_stop stop;
    struct err failure; /* an ERROR event; kind OK = none */
    int64_t retry_after_s;
    bool had_bookmark;
    /* Of the list that is staged; see ingest_begin(). */
    enum ingest_proof proof;
    enum ingest_proof wants; /* UNPROVEN: what is to be found out */
    char *rv;                /* UNPROVEN: the version of the list */
    /* For good. */
    struct err doubt;
    enum resume_kind resume; /* OVER: synced */
    uint64_t event_ms;
    uint64_t bookmark_ms;
    uint64_t events;
};

/* A response begins. */
void ingest_reset(struct ingest *in);

/* A list begins: nothing is staged, nothing is proven. */
void ingest_begin(struct ingest *in);

/* Frees what it owns. */
void ingest_fini(struct ingest *in);

/* The callbacks of list readers and event readers; arg is the struct intake. */
extern const struct list_events ingest_list_events;
/* For a list beside a watch without a version: it finds what is gone. */
extern const struct list_events ingest_present_events;
/* For a list of which only the version counts. */
extern const struct list_events ingest_no_events;
/* For a list of what exists (PROOF_EXISTENCE). */
extern const struct list_events ingest_existing_events;
/* One event, of the initial ones or of the watch, as the reflector's state says. False: see stop,
 * failure. */
bool ingest_event(void *arg, const struct event *e);

/* A list is complete, in any form, and has this version ("" = none): commits it, unless the answer
 * is another than GOES_ON. After UNPROVEN the caller finds out what is wanted, says so in proof, and calls it
 * again with in->rv. */
enum ingest_stop ingest_commit(struct ingest *in, struct str rv);

#endif
