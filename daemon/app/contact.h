/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contact - when something was heard last, so that a later process can tell how long ago that was;
 * pure. The wall clock may be set back, or be wrong after a boot, which must not make old things
 * young: it is compared only where the clock that counts since the boot cannot be.
 */
#ifndef APP_CONTACT_H
#define APP_CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"

/* A moment on both clocks. */
struct contact {
    uint64_t wall_ns;   /* 0 = not known */
    uint64_t boot_ns;   /* since the boot, with the time that the machine slept; of boot_id */
    struct str boot_id; /* borrowed; empty = not known */
};

/* Appends it as the value of a fact. */
void contact_put(struct buf *out, const struct contact *c);

/* Reads that, or the wall clock alone, which is all that earlier releases wrote; borrowed. */
struct contact contact_read(struct str text);

enum contact_age {
    CONTACT_KNOWN,
    CONTACT_NEVER,     /* nothing was noted */
    CONTACT_CLOCK_BACK /* the machine was booted since, and the wall clock is behind then */
};

/* How long then is ago; *age_ms is set if it is KNOWN. */
enum contact_age contact_age(const struct contact *then, const struct contact *now,
                             uint64_t *age_ms) MUST_CHECK;

#endif
