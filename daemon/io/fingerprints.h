/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprints - asks the helper what the programs and files of each hook are like now: one digest
 * for a hook, equal as long as their content is; driver.
 */
#ifndef IO_FINGERPRINTS_H
#define IO_FINGERPRINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "io/helper_link.h"

struct fingerprints;
struct loop;

/* Comes once for each hook, in any order, each in a turn of its own. digest NULL: it could not be
 * found out, and err says why; else err is NULL. May dispose the object. */
typedef void fingerprints_cb(void *arg, size_t hook, const struct digest *digest,
                             const struct err *err);

/* Borrowed; loop and link must outlive the object. */
struct fingerprints_params {
    struct loop *loop;
    struct helper_link *link;
    size_t hook_count;   /* hooks 0 to hook_count - 1 of helper_params, all with files */
    uint64_t timeout_ms; /* for all of them together */
};

/* Asks in the next turn, for a few hooks at a time. Never NULL. */
struct fingerprints *fingerprints_create(const struct fingerprints_params *params,
                                         fingerprints_cb *cb, void *arg);

/* The end of a run: false if it is another's. After dispose f is NULL; ends that are still to come are
 * told apart all the same. No other run may have an id of 2^63 or more. */
bool fingerprints_exited(struct fingerprints *f, const struct helper_link_exit *end);

/* The end for the user: *f is NULL, nothing is called any more; reads under way are killed. NULL is
 * fine. */
void fingerprints_dispose(struct fingerprints **f);

#endif
