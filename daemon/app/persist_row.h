/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_row - objects, marks and facts as rows of the state, and back; pure. Values of facts are
 * text: a later release may read what an earlier one wrote.
 */
#ifndef APP_PERSIST_ROW_H
#define APP_PERSIST_ROW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "cache/skips.h"
#include "conf/conf_watch.h"
#include "hook/delivery_log.h"
#include "hook/files.h"
#include "kube/object.h"
#include "state/batch.h"
#include "state/row.h"

/* Puts the object into the batch as a row of the stream, with its bytes (a reference is held) or
 * without them. */
void persist_row_put(struct batch *b, uint64_t scope, struct object *o, enum conf_persist how);

/* The object of a row; one of which the bytes were not kept has an empty body, and no
 * resourceVersion, as nothing is known of that state. One reference for the caller. */
struct object *persist_row_object(const struct row_object *row);

/* Puts a mark into the batch as a row of a source; how: what is kept of its last state. */
void persist_row_put_delivery(struct batch *b, uint64_t source, const struct delivery_record *m,
                              enum conf_persist how);

/* The mark of a row, strings borrowed from it; `last` is a reference for the caller. */
struct delivery_record persist_row_delivery(const struct row_delivery *row);

/* Lets go of what the two above hold: for state_driver_params.release. */
batch_release persist_row_release;

/* What is known of the version of a stream. */
struct persist_version {
    struct digest settings; /* of the watch, when that was kept */
    struct str rv;          /* empty: the objects stand, their version does not */
    struct str delivery;
};

/* Appends it as the value of a fact. */
void persist_row_put_version(struct buf *out, const struct persist_version *v);

/* Reads that; borrowed. False: it is none. */
bool persist_row_version(struct str text, struct persist_version *v);

/* Appends a mark of an object that is skipped, as the value of a fact; the fact's key is its id. */
void persist_row_put_skip(struct buf *out, const struct skip *s);

/* Reads that, but for the id and the part; borrowed. False: it is none. */
bool persist_row_skip(struct str text, struct skip *s);

/* Appends a digest as the value of a fact. */
void persist_row_put_digest(struct buf *out, struct digest d);

/* Reads that. False: it is none. */
bool persist_row_digest(struct str text, struct digest *d);

/* Is the value of the fact this digest? */
bool persist_row_is_digest(struct str text, struct digest d);

/* What was seen in a file; the path is the fact's key. source: its name, empty in modes batch and
 * snapshot. */
void persist_row_put_file(struct buf *out, const struct files_seen *seen, struct str source);

/* Reads that, but for seen->path and seen->source; *source is borrowed. False: it is none. */
bool persist_row_file(struct str text, struct files_seen *seen, struct str *source);

#endif
