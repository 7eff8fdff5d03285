/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity_check - checks all pages of the database file, in a thread and on a connection of its
 * own, while the loader reads the rows; driver of SQLite (docs/decisions.md "Pages are checked
 * while rows are read").
 */
#ifndef STATE_INTEGRITY_CHECK_H
#define STATE_INTEGRITY_CHECK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "state/folder.h"

struct integrity_check {
    const struct folder *folder;
    pthread_t thread;
    bool is_beside; /* the check runs in `thread`; false: it ran in the call */
    atomic_bool has_failed;
    struct err err; /* belongs to the thread until it has ended */
};

/* Starts the check. f is borrowed until integrity_check_end(), and nobody may write to the file
 * until then. If no thread can be started, the whole check runs inside this call. */
void integrity_check_start(struct integrity_check *c, const struct folder *f);

/* Whether the check has already failed, so that the loader can stop reading. Any thread may ask. */
bool integrity_check_has_failed(const struct integrity_check *c);

/* Waits for the result: ERR_PROTOCOL when the pages are damaged, ERR_IO when they cannot be read.
 * Rows that were read from the file before are sound only if this is ERR_OK. Call it once for each
 * start. */
enum err_kind integrity_check_end(struct integrity_check *c, struct err *err) MUST_CHECK;

#endif
