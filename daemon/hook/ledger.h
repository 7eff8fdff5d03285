/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger - what of a queue outlives the process: marks of what its hook was told of each life
 * (DESIGN 1.4.5). They go out as they change, and come back before the first change of their
 * source. Who keeps them is not known here; pure.
 */
#ifndef HOOK_LEDGER_H
#define HOOK_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/queue.h"

/* Bits of ledger_mark.note. They are on disk: added to, never changed. */
enum ledger_note {
    LEDGER_LEFT = 1 << 0,     /* ended: not DELETED but LEFT */
    LEDGER_UNKNOWN = 1 << 1,  /* ended: the final state is unknown */
    LEDGER_TOLD_END = 1 << 2, /* the last run was about an end */
    LEDGER_YIELDS = 1 << 3,   /* the end waits behind the next life */
    LEDGER_PARKED = 1 << 4,   /* what was told last is not told again before it changes */
    LEDGER_HEIR = 1 << 5,     /* another life of the key was announced before this one */
    LEDGER_SKIPPED = 1 << 6,  /* handled without a run: existing = "skip" */
    LEDGER_RENEW = 1 << 7,    /* what was done for it is gone */
    LEDGER_RELIST = 1 << 8,   /* ended: a relist told of it; none of these: the watch did */
    LEDGER_AUDIT = 1 << 9,
    LEDGER_RESTART = 1 << 10,
    LEDGER_CONFIG = 1 << 11,
};

/* The bits above those: when the end was parked first, as ledger_minute() says; 0 = it was not. */
enum { LEDGER_PARKED_AT = 12 };

/* A minute of the wall clock, in 20 bits: 1, 2, ..., and after two years anew. */
uint32_t ledger_minute(uint64_t wall_ns);

/* How many minutes have passed since then; 0 if the clock is behind, or that was a year ago. */
uint32_t ledger_minutes_since(uint32_t minute, uint64_t wall_ns);

/* What a hook was told of one life of a key; at most two of a key are marked. */
struct ledger_mark {
    struct str key; /* empty: that the source is stale */
    struct str uid;
    bool is_handled; /* a run for it has succeeded, with a state of digest `handled` */
    bool is_told;    /* a run was started, with a state of digest `told` */
    bool open;       /* a run was started since the last success */
    bool is_ended;   /* it is over, and that is still to be told, with `last` */
    uint32_t note;
    struct digest handled; /* both by filter_digest() */
    struct digest told;
    struct object *last; /* recalled: NULL = not known; without a body: that is not known */
};

/* Where marks go. What they say is borrowed. */
struct ledger_sink {
    /* The mark of (source, key, uid) is this from now on. */
    void (*put)(void *arg, size_t source, const struct ledger_mark *m);
    /* There is none any more. */
    void (*drop)(void *arg, size_t source, struct str key, struct str uid);
    /* The hook has seen the source, and marks of what it skipped there were put before. To be kept
     * together with them or behind: else what is there is skipped again, or run as existing. */
    void (*seen)(void *arg, size_t source);
};

/* Puts what has changed since it was put last, and forgets keys of which nothing else is to be
 * known. What a run is about is put before it starts, and when it has ended. */
void ledger_put(struct queue *q, const struct ledger_sink *sink, void *arg);

/* All that was put is lost: the next time everything is. */
void ledger_touch_all(struct queue *q);

/* A mark that an earlier process has left, before the first change of the source; wall_ns: now.
 * False: it says nothing, or there are two of the key already; it is ignored. */
bool ledger_recall(struct queue *q, size_t source, const struct ledger_mark *m, uint64_t wall_ns);

/* An earlier process has seen the source. Before it is opened. */
void ledger_recall_seen(struct queue *q, size_t source);

/* What the hook did for what is recalled is gone, or the hook is another: all of it is due again,
 * ends are still owed. With keep_skipped nothing was done for what was skipped. Before sources are
 * opened. */
void ledger_renew(struct queue *q, bool keep_skipped);

/* What is recalled of the source, and what it has told so far, is of another one: nothing of it is
 * true. It is not open any more. Entries whose unit is not idle stay until it is. */
void ledger_forget(struct queue *q, size_t source);

/* Was what is due parked, and has nothing changed since? Asked once, when the source is open. */
bool ledger_was_parked(const struct queue *q, struct entry *e);

#endif
