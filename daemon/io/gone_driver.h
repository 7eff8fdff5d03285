/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gone_driver - has the helper remove the files of hooks that are not configured any more, when a
 * person wants that (hook/gone); driver.
 */
#ifndef IO_GONE_DRIVER_H
#define IO_GONE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "hook/gone.h"
#include "io/helper_link.h"

struct gone_driver;
struct loop;

/* Borrowed; must outlive the driver. */
struct gone_driver_params {
    struct loop *loop;
    struct helper_link *link;
    struct gone *gone;
    uint32_t number;     /* of the hook in helper_params that stands for all hooks that are gone */
    uint64_t timeout_ms; /* for one run of the helper */
};

/* on_swept runs when files that were due have been taken care of: from the loop, or inside
 * gone_driver_look(). Never NULL; release with gone_driver_dispose(). */
struct gone_driver *gone_driver_create(const struct gone_driver_params *params,
                                       void (*on_swept)(void *arg), void *arg);

/* Starts to remove the files that are due, of one hook after the other. */
void gone_driver_look(struct gone_driver *d);

/* Is a run of the helper under way? */
bool gone_driver_is_on(const struct gone_driver *d);

/* The end for the user: *d is NULL. NULL is fine. */
void gone_driver_dispose(struct gone_driver **d);

#endif
