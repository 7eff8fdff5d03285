/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity_check - looks at all pages of the file, whether they are sound, in a thread of its own beside
 * the one that reads the rows; driver of SQLite.
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
    bool is_beside; /* false: no thread could be had */
    atomic_bool has_failed;
    struct err err; /* the thread's until it has ended */
};

/* Begins. f is borrowed until the end, and nobody writes to it until then. */
void integrity_check_start(struct integrity_check *c, const struct folder *f);

/* Is it known by now that what is read is void? */
bool integrity_check_has_failed(const struct integrity_check *c);

/* Waits for the result: ERR_PROTOCOL when they are damaged, ERR_IO when they cannot be read. What
 * was read of the file before is only sound if this is ERR_OK. */
enum err_kind integrity_check_end(struct integrity_check *c, struct err *err) MUST_CHECK;

#endif
