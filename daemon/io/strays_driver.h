/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strays_driver - has the helper remove the stray files that are due (hook/strays); driver
 * (docs/design.md "Stray files").
 */
#ifndef IO_STRAYS_DRIVER_H
#define IO_STRAYS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/hook.h"
#include "io/helper_link.h"

struct loop;
struct strays_driver;

/* Borrowed; must outlive the driver. */
struct strays_driver_params {
    struct loop *loop;
    struct helper_link *link;
    struct hooks *hooks;
    uint64_t timeout_ms; /* for one run of the helper */
    bool dry_run;        /* only logs which files it would remove */
};

/* For the hooks that there are now. swept runs when stray files that were due have been taken care of:
 * from the loop, or inside strays_driver_look(). Never NULL; release with strays_driver_dispose(). */
struct strays_driver *strays_driver_create(const struct strays_driver_params *params,
                                           void (*swept)(void *arg), void *arg);

/* Starts to remove the stray files that are due, of hooks that are not paused and have no run under
 * way. */
void strays_driver_look(struct strays_driver *d);

/* Is a run of the helper under way? */
bool strays_driver_is_on(const struct strays_driver *d);

/* The end for the user: *d is NULL. NULL is fine. */
void strays_driver_dispose(struct strays_driver **d);

#endif
