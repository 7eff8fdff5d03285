/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprints - asks the helper for digests of the programs and files of each hook, which change
 * when any content does that counts; driver (docs/design.md "Renewal").
 */
#ifndef IO_FINGERPRINTS_H
#define IO_FINGERPRINTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "io/helper_link.h"

struct fingerprints;
struct loop;

/* Called from the loop, each time in a turn of its own. Each may dispose the object. */
struct fingerprints_events {
    /* Once for each hook, in any order. digest NULL: the digest could not be made, and err says why;
     * else err is NULL. */
    void (*on_digest)(void *arg, size_t hook, const struct digest_forms *digest,
                      const struct err *err);
    /* Once: all hooks have been reported. Also if there is none. */
    void (*on_ready)(void *arg);
};

/* Borrowed; loop and link must outlive the object. */
struct fingerprints_params {
    struct loop *loop;
    struct helper_link *link;
    size_t hook_count; /* hooks 0 to hook_count - 1 of helper_params, all with files */
    /* for all hooks together; the hooks without a digest by then get an error */
    uint64_t timeout_ms;
};

/* Begins to ask in the next turn, for a few hooks at a time. Never NULL; release with
 * fingerprints_dispose(). events must outlive the object. */
struct fingerprints *fingerprints_create(const struct fingerprints_params *params,
                                         const struct fingerprints_events *events, void *arg);

/* The end for the user: *f is NULL, no event follows, and reads under way are killed.
 * NULL is fine. */
void fingerprints_dispose(struct fingerprints **f);

#endif
