/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_rig - a folder for a state, and the rows of that state as text, for tests of state/ and
 * persist/.
 */
#ifndef UNIT_STATE_RIG_H
#define UNIT_STATE_RIG_H

#include <stdint.h>

#include "base/buf.h"
#include "state/loader.h"
#include "state/writer.h"

struct sqlite3;

struct state_rig {
    char path[64];
    struct folder *folder; /* open and locked */
    struct batch batch;
    struct writer *writer;
    struct err err; /* of the last call */
};

#define STATE_RIG_LIMIT ((uint64_t)1 << 30)

/* A new folder below the working directory, with a writer. The batch may hold objects. */
void state_rig_init(struct state_rig *r);

/* Deletes the folder with everything in it. */
void state_rig_fini(struct state_rig *r);

/* Writes the batch; fails the test if that does not work. */
void state_rig_apply(struct state_rig *r);

/* Writes the batch, which may fail; the batch stays as it is then. */
enum err_kind state_rig_try(struct state_rig *r);

/* A new writer with this limit; the one before ends as if killed. */
void state_rig_again(struct state_rig *r, uint64_t limit);

/* The loader's result, and each row as a line, sorted; a string to free. The table of delivery
 * records is called "mark". */
char *state_rig_load(struct state_rig *r, enum loader_found *found);

/* Is this in the result of state_rig_load()? */
bool state_rig_has(struct state_rig *r, const char *part);

/* state_rig_load() must return exactly these lines. */
void state_rig_expect(struct state_rig *r, const char *lines);

/* Adds an object to the batch: body NULL = digest only. */
void state_rig_object(struct state_rig *r, uint64_t stream, const char *key, const char *body);

/* Adds the delivery record of a run that was started. */
void state_rig_delivery(struct state_rig *r, uint64_t source, const char *key, uint64_t told);

/* Adds an item. */
void state_rig_item(struct state_rig *r, uint64_t id, enum row_kind kind, uint64_t parent,
                    const char *name);

/* Runs SQL on the file, unseen by the writer. */
void state_rig_sql(struct state_rig *r, const char *sql);

/* The same as another release of informerd does: the sum of the table is kept right. */
void state_rig_sql_kept(struct state_rig *r, const char *sql);

/* Reads a whole file; out is empty if there is none. */
void state_rig_read_file(const char *path, struct buf *out);

/* Makes the file, or replaces its content. */
void state_rig_write_file(const char *path, const struct buf *file);

/* Makes `to` a copy of `from`, which must exist. The mode of a new file is 0600. */
void state_rig_copy_file(const char *from, const char *to);

/* Another process (as far as SQLite can tell) begins to write and does not go on. */
struct sqlite3 *state_rig_hold(struct state_rig *r);

/* That process goes away. */
void state_rig_let_go(struct sqlite3 **db);

/* Deletes a folder with its files, and folders in it. */
void state_rig_remove(const char *path);

#endif
