/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row - objects, delivery records and facts as rows of the state, and back; pure. The
 * values of facts are text, so that a later release can read the values of an earlier one.
 */
#ifndef PERSIST_ROW_H
#define PERSIST_ROW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/digest.h"
#include "cache/skips.h"
#include "hook/delivery_log.h"
#include "hook/files.h"
#include "kube/object.h"
#include "state/batch.h"
#include "state/row.h"

/* How much the state keeps of objects. The order counts: a larger value keeps less. */
enum persist_bytes {
    PERSIST_FULL,   /* the objects as they are */
    PERSIST_DIGEST, /* a digest of each: enough to tell whether an object has changed */
    PERSIST_NONE
};

/* Puts the object into the batch as a row of the scope: with its bytes (the batch holds a
 * reference), or, as `how` says, with their digest only. The caller has sorted out PERSIST_NONE. */
void persist_row_put(struct batch *b, uint64_t scope, struct object *o, enum persist_bytes how);

/* The object of a row. If its bytes were not kept, the object has an empty body and no
 * resourceVersion, as nothing is known of its state. The caller gets one reference. */
struct object *persist_row_object(const struct row_object *row);

/* Puts a delivery record into the batch as a row of a source of a hook. how: whether the bytes of
 * its last state are kept. */
void persist_row_put_delivery(struct batch *b, uint64_t source, const struct delivery_record *m,
                              enum persist_bytes how);

/* The delivery record of a row. Its strings are borrowed from the row; `last` is a reference for
 * the caller. */
struct delivery_record persist_row_delivery(const struct row_delivery *row);

/* Drops the reference that the batch holds to an object: for state_driver_params.release. */
batch_release persist_row_release;

/* The version of a scope. */
struct persist_version {
    struct digest settings;   /* of the watch, when the version was put */
    struct str rv;            /* empty: the objects are good, but no watch can resume from them */
    struct str collection_rv; /* of the last list or bookmark */
};

/* Appends a version as the value of a fact. */
void persist_row_put_version(struct buf *out, const struct persist_version *v);

/* Reads the value of such a fact; strings are borrowed from text. False: text is no version. */
bool persist_row_version(struct str text, struct persist_version *v);

/* Appends the known fields of a skipped object, as the value of a fact; the key of that fact is
 * s->id. */
void persist_row_put_skip(struct buf *out, const struct skip *s);

/* Reads the value of such a fact into *s, except id and scope; strings are borrowed from text.
 * False: text is no such value. */
bool persist_row_skip(struct str text, struct skip *s);

/* Appends a digest as the value of a fact. */
void persist_row_put_digest(struct buf *out, struct digest d);

/* Reads such a digest. False: text is no digest. */
bool persist_row_digest(struct str text, struct digest *d);

/* Appends the digest of this release and the former one, with a space between them. */
void persist_row_put_digest_beside(struct buf *out, const struct digest_forms *d);

/* Reads the digest of this release. False: text is no such value (text.p NULL: there is none), or it
 * was written beside another former digest than this one. */
bool persist_row_digest_beside(struct str text, struct digest former, struct digest *now);

/* Appends the content that a file was last seen to have, as the value of a fact; the key of that fact is
 * the path. source: the name of the source, empty in modes batch and snapshot. */
void persist_row_put_file(struct buf *out, const struct files_seen *seen, struct str source);

/* Reads the value of such a fact into *seen, except path and source; strings, *source too, are
 * borrowed from text. False: text is no such value. */
bool persist_row_file(struct str text, struct files_seen *seen, struct str *source);

#endif
