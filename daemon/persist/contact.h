/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contact - when a server was heard last, kept so that a later process can tell how long ago that
 * was; pure. The wall clock may be set back, or be wrong after a boot, which must not make old
 * objects young: it counts only where the clock since the boot cannot be compared.
 */
#ifndef PERSIST_CONTACT_H
#define PERSIST_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* One moment on all clocks. */
struct persist_now {
    uint64_t ms;
    uint64_t wall_ns;
    uint64_t boot_ns;
    /* The boot that boot_ns counts from, which outlives all users; "" = not known. */
    const char *boot_id;
};

/* A moment that is kept. */
struct contact {
    uint64_t wall_ns;   /* the wall clock; 0 = not known */
    uint64_t boot_ns;   /* since the boot boot_id, with the time that the machine slept */
    struct str boot_id; /* borrowed; empty = not known */
};

/* Appends a moment as the value of a fact: "WALL BOOT BOOT_ID", or "WALL" if the boot is not
 * known. */
void contact_put(struct buf *out, const struct contact *c);

/* Reads such a value, or a wall clock alone, which is all that earlier releases wrote. boot_id is
 * borrowed from text. */
struct contact contact_read(struct str text);

enum contact_age {
    CONTACT_KNOWN,
    CONTACT_NEVER, /* there is no earlier moment */
    /* The boot is another one, and the wall clock is behind the earlier moment. */
    CONTACT_CLOCK_BACK
};

/* How long ago `then` is; *age_ms is set if the result is CONTACT_KNOWN. */
enum contact_age contact_age(const struct contact *then, const struct contact *now,
                             uint64_t *age_ms) MUST_CHECK;

#endif
