/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confirm - holds back each DELETED of a watch until the server was asked for the object once more:
 * an object that still exists has only LEFT the selection of the watch; pure
 * (docs/design.md "Confirmed deletes"). Stands between the store's sink and the consumer.
 * Everything else passes at once; the order per key stays, and no key waits for another.
 */
#ifndef CACHE_CONFIRM_H
#define CACHE_CONFIRM_H

#include <stddef.h>
#include <stdint.h>

#include "cache/delta.h"

/* A DELETED that nobody could confirm for so long goes out as it came. */
#define CONFIRM_PATIENCE_MS 30000

/* After a GET without an answer the next one, of whatever object, waits for so long at first, twice
 * as long after each further one, up to the maximum. */
#define CONFIRM_RETRY_MS     250
#define CONFIRM_RETRY_MAX_MS 4000

/* What a GET said. */
enum confirm_answer {
    CONFIRM_SAME, /* the object is there, with the same uid */
    CONFIRM_GONE, /* there is none, or one with another uid */
    CONFIRM_NO_ANSWER,
};

struct confirm;

/* The sink runs inside confirm_take(), confirm_answer() and confirm_tick(), and must not call back.
 * Never NULL. */
struct confirm *confirm_create(delta_sink *sink, void *arg);

/* Frees it and sets *c to NULL; what is held back is dropped without a word. NULL is fine. */
void confirm_destroy(struct confirm **c);

/* What is held back is dropped without a word: it is another cluster's. */
void confirm_forget(struct confirm *c);

/* A delta of the watch. A held DELETED of its key goes out before it: as LEFT when the object is
 * there with the same uid, else as it came. */
void confirm_take(struct confirm *c, const struct delta *d, uint64_t now_ms);

/* Whose GET is due now, in the order in which they came, those that had no answer last; NULL: none
 * is, or one is under way. Borrowed until the next call that changes c. */
const struct object *confirm_next(const struct confirm *c, uint64_t now_ms);

/* The GET of the object that confirm_next() gives is under way; confirm_answer() must follow. */
void confirm_started(struct confirm *c, uint64_t now_ms);

/* The GET is over. Its DELETED goes out, as LEFT with the last known state if the answer is SAME;
 * NO_ANSWER: it is asked again later. If it is not held any more, nothing goes out. */
void confirm_answer(struct confirm *c, enum confirm_answer answer, uint64_t now_ms);

/* Sends out what was held back for CONFIRM_PATIENCE_MS. */
void confirm_tick(struct confirm *c, uint64_t now_ms);

/* When confirm_tick() or confirm_next() has something to do (it may be past), UINT64_MAX = not
 * before something else happens. */
uint64_t confirm_due_ms(const struct confirm *c);

/* How many are held back. */
size_t confirm_count(const struct confirm *c);

#endif
