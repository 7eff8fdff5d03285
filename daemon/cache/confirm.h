/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confirm - holds back each DELETED of a watch until the server was asked for the object once more:
 * an object that still exists has only LEFT the selection of the watch; pure
 * (docs/design.md "Confirmed deletes"). It stands between the store and the subscribers.
 * All other deltas pass at once; the order of the deltas of a key stays, and no key waits for
 * another one.
 */
#ifndef CACHE_CONFIRM_H
#define CACHE_CONFIRM_H

#include <stddef.h>
#include <stdint.h>

#include "cache/delta.h"

/* A DELETED that no GET has confirmed for so long goes out as it came. */
#define CONFIRM_PATIENCE_MS 30000

/* After a GET without an answer the next GET, for whatever object, waits for so long, and twice as
 * long after each further one without an answer, up to the maximum. */
#define CONFIRM_RETRY_MS     250
#define CONFIRM_RETRY_MAX_MS 4000

/* The outcome of a GET. */
enum confirm_answer {
    CONFIRM_SAME, /* the object is there, with the same uid */
    CONFIRM_GONE, /* no object is there, or one with another uid */
    CONFIRM_NO_ANSWER,
};

struct confirm;

/* Deltas go out by the sink, which runs inside confirm_take(), confirm_answer() and confirm_tick(),
 * and must not call back. Never NULL. */
struct confirm *confirm_create(delta_sink *sink, void *arg);

/* Frees it and sets *c to NULL. The deltas that are held back are dropped, and the sink does not
 * run. NULL is fine. */
void confirm_destroy(struct confirm **c);

/* Drops the deltas that are held back, and the sink does not run: they are those of another
 * cluster. */
void confirm_forget(struct confirm *c);

/* Takes a delta of the watch. If a DELETED of its key is held back, that goes out first: as LEFT
 * when d shows that the object is there with the same uid, else as it came. */
void confirm_take(struct confirm *c, const struct delta *d);

/* The object that a GET is due for now: in the order in which the DELETED came, but those whose GET
 * had no answer last. NULL: no GET is due, or one is under way. Borrowed until the next call that
 * changes c. */
const struct object *confirm_next(const struct confirm *c, uint64_t now_ms);

/* The GET of the object that confirm_next() returns is under way; confirm_answer() must follow. */
void confirm_started(struct confirm *c, uint64_t now_ms);

/* The GET is over. After SAME its DELETED goes out as LEFT with the last known state, after GONE as
 * it came; after NO_ANSWER another GET follows later. If the DELETED is not held back any more,
 * nothing goes out. */
void confirm_answer(struct confirm *c, enum confirm_answer answer, uint64_t now_ms);

/* Sends out each DELETED that was held back for CONFIRM_PATIENCE_MS, as it came. */
void confirm_tick(struct confirm *c, uint64_t now_ms);

/* The time in ms, perhaps in the past, at which confirm_tick() or confirm_next() has something to
 * do; UINT64_MAX = not before another call changes c. */
uint64_t confirm_due_ms(const struct confirm *c);

/* Calls fn for the object of each DELETED that is held back, in the state that subscribers still know: the
 * one before the final state. */
void confirm_each(const struct confirm *c, void (*fn)(void *arg, struct object *o), void *arg);

/* How many DELETED are held back. */
size_t confirm_count(const struct confirm *c);

#endif
