/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprints - asks the helper for a digest of the programs and files of each hook, which changes
 * when any of their contents does; driver (docs/design.md "Renewal").
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

/* Called once for each hook, in any order, each time in a turn of its own. digest NULL: the digest
 * could not be made, and err says why; else err is NULL. May dispose the object. */
typedef void fingerprints_cb(void *arg, size_t hook, const struct digest *digest,
                             const struct err *err);

/* Borrowed; loop and link must outlive the object. */
struct fingerprints_params {
    struct loop *loop;
    struct helper_link *link;
    size_t hook_count; /* hooks 0 to hook_count - 1 of helper_params, all with files */
    /* for all hooks together; the hooks without a digest by then get an error */
    uint64_t timeout_ms;
};

/* Begins to ask in the next turn, for a few hooks at a time. Never NULL; release with
 * fingerprints_dispose(). */
struct fingerprints *fingerprints_create(const struct fingerprints_params *params,
                                         fingerprints_cb *cb, void *arg);

/* To be given the end of each run of the link. False: the run is not one of these. After
 * fingerprints_dispose() f is NULL: ends that still come are recognised all the same. No other run
 * may have an id of 2^63 or more. */
bool fingerprints_exited(struct fingerprints *f, const struct helper_link_exit *end);

/* The end for the user: *f is NULL, the callback never runs again, and reads under way are killed.
 * NULL is fine. */
void fingerprints_dispose(struct fingerprints **f);

#endif
