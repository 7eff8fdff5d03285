/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - changes of the state, gathered in memory in their order until the writer commits them in
 * one transaction; pure. A batch is one flat buffer of operations. It does not copy the bodies of
 * objects but holds references to them until it is cleared (docs/decisions.md "A batch holds bodies
 * of objects and does not copy them"). Of several changes of a row only the last one counts, so
 * compacting (batch_trim()) bounds a batch that waits for the disk by the number of rows.
 */
#ifndef STATE_BATCH_H
#define STATE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "state/row.h"

/* Drops one reference to a body. The batch calls it in the thread that owns the batch, so reference
 * counts need no atomics. */
typedef void batch_release(void *hold);

/* A zero-initialised batch is empty. Without a release function it calls nothing for its holds. */
struct batch {
    batch_release *release;
    struct buf buf;
    size_t count;        /* operations */
    size_t body_bytes;   /* size of all bodies that are held */
    size_t compact_from; /* size from which on batch_trim() compacts */
};

enum batch_what {
    BATCH_RESET, /* drops all rows */
    BATCH_ITEM,
    BATCH_DROP_ITEM, /* with its children, facts, objects and delivery records */
    BATCH_FACT,
    BATCH_DROP_FACT,
    BATCH_OBJECT,
    BATCH_DROP_OBJECT,
    BATCH_CLEAR, /* drops all objects of a scope */
    BATCH_DELIVERY,
    BATCH_DROP_DELIVERY,
};

/* One operation, as batch_next() returns it. Its strings and bytes are borrowed from the batch. */
struct batch_op {
    enum batch_what what;
    uint64_t id; /* DROP_ITEM: the item; OBJECT, DROP_OBJECT, CLEAR: the scope */
    union {
        struct row_item item;
        struct row_fact fact;         /* DROP_FACT: no value */
        struct row_object object;     /* DROP_OBJECT: only the key */
        struct row_delivery delivery; /* DROP_DELIVERY: only source, key, uid */
    } u;
};

/* Drops all rows that are on disk. Operations behind it fill the tables anew. */
void batch_reset(struct batch *b);

/* Inserts the item, or replaces the row with the same id. */
void batch_item(struct batch *b, const struct row_item *item);

/* Drops the item and its children (a watch's scopes, a hook's sources) with their facts, objects
 * and delivery records. */
void batch_drop_item(struct batch *b, uint64_t id);

/* Inserts the fact, or replaces its value. */
void batch_fact(struct batch *b, const struct row_fact *fact);

/* Drops the fact of this item with this word and key. */
void batch_drop_fact(struct batch *b, uint64_t item, enum row_what what, struct str key);

/* Inserts or replaces an object of a scope. hold keeps o->body where it is, and unchanged, until
 * the batch calls release with it. With hold NULL release is not called, and the body must outlive
 * the batch. */
void batch_object(struct batch *b, uint64_t scope, const struct row_object *o, void *hold);

/* Drops the object of a scope with this key. */
void batch_drop_object(struct batch *b, uint64_t scope, struct str key);

/* Drops all objects of the scope. */
void batch_clear_scope(struct batch *b, uint64_t scope);

/* Inserts or replaces a delivery record. hold is for the body of delivery->last, as in
 * batch_object(). */
void batch_delivery(struct batch *b, const struct row_delivery *delivery, void *hold);

/* Drops the delivery record of this incarnation (uid) of a key. */
void batch_drop_delivery(struct batch *b, uint64_t source, struct str key, struct str uid);

/* Reads the next operation into *op. *at must be 0 before the first call. False at the end. */
bool batch_next(const struct batch *b, size_t *at, struct batch_op *op);

/* Moves all operations of `later` behind those of b; `later` is empty then. Both must have the same
 * release function. */
void batch_join(struct batch *b, struct batch *later);

/* Drops each operation that a later one on the same row makes void. */
void batch_compact(struct batch *b);

/* Calls batch_compact() if the batch has grown enough since the last time to make that worth while,
 * so the caller may call it as often as it likes. */
void batch_trim(struct batch *b);

/* Releases all holds and empties the batch, which can be used again. */
void batch_clear(struct batch *b);

/* Releases all holds and the memory of the batch, which is empty and usable then. */
void batch_fini(struct batch *b);

#endif
