/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - changes of the state, gathered in memory in their order and written in one transaction;
 * pure. One flat buffer; bodies of objects are not copied but held until the batch is cleared. Of
 * several changes of a row only the last one counts, so what waits is bounded by rows
 * (batch_trim()).
 */
#ifndef STATE_BATCH_H
#define STATE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "state/row.h"

/* Lets go of what was held for a body: of the thread that owns the batch. */
typedef void batch_release(void *hold);

/* Zero-initialised is empty, without a release. */
struct batch {
    batch_release *release;
    struct buf buf;
    size_t count;        /* operations */
    size_t body_bytes;   /* of bodies that are held */
    size_t compact_from; /* bytes at which compacting is worth while */
};

enum batch_what {
    BATCH_RESET, /* everything is forgotten */
    BATCH_ITEM,
    BATCH_DROP_ITEM, /* and what is below it */
    BATCH_FACT,
    BATCH_DROP_FACT,
    BATCH_OBJECT,
    BATCH_DROP_OBJECT,
    BATCH_CLEAR, /* all objects of a stream */
    BATCH_DELIVERY,
    BATCH_DROP_DELIVERY,
};

/* One operation, borrowed from the batch. */
struct batch_op {
    enum batch_what what;
    uint64_t id; /* DROP_ITEM: the item; OBJECT, DROP_OBJECT, CLEAR: the stream */
    union {
        struct row_item item;
        struct row_fact fact;         /* DROP_FACT: without value */
        struct row_object object;     /* DROP_OBJECT: the key only */
        struct row_delivery delivery; /* DROP_DELIVERY: source, key, uid only */
    } u;
};

/* Everything that is on disk is forgotten first. */
void batch_reset(struct batch *b);

/* An item is new, or has changed. */
void batch_item(struct batch *b, const struct row_item *item);

/* An item is forgotten with its parts, facts, objects and marks. */
void batch_drop_item(struct batch *b, uint64_t id);

/* A fact is so from now on. */
void batch_fact(struct batch *b, const struct row_fact *fact);

/* It is so no more. */
void batch_drop_fact(struct batch *b, uint64_t item, enum row_what what, struct str key);

/* The state of an object of a stream. hold keeps its body where it is, and unchanged, until release
 * is called with it (NULL: not called). */
void batch_object(struct batch *b, uint64_t scope, const struct row_object *o, void *hold);

/* The object is gone. */
void batch_drop_object(struct batch *b, uint64_t scope, struct str key);

/* All objects of the stream are gone. */
void batch_clear_scope(struct batch *b, uint64_t scope);

/* What a hook was told. hold is for the body of the last state, as above. */
void batch_delivery(struct batch *b, const struct row_delivery *delivery, void *hold);

/* Nothing is left to know about this life. */
void batch_drop_delivery(struct batch *b, uint64_t source, struct str key, struct str uid);

/* Walks the operations: *at begins as 0. False at the end. */
bool batch_next(const struct batch *b, size_t *at, struct batch_op *op);

/* Bytes in memory, bodies left out. */
size_t batch_bytes(const struct batch *b);

/* All of `later` comes behind b's own; later is empty then. Both with the same release. */
void batch_join(struct batch *b, struct batch *later);

/* Drops operations that a later one on the same row makes void. */
void batch_compact(struct batch *b);

/* The same when the batch has grown enough since the last time for that to be worth while: call it
 * as often as you like. */
void batch_trim(struct batch *b);

/* Lets go of everything; empty and usable again. */
void batch_clear(struct batch *b);

/* The same, and releases its memory. */
void batch_fini(struct batch *b);

#endif
