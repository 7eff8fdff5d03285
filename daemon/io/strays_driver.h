/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strays_driver - has the helper remove the strays of hooks that are due (hook/strays); driver.
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

/* Borrowed; must outlive the sweeper. */
struct strays_driver_params {
    struct loop *loop;
    struct helper_link *link;
    struct hooks *hooks;
    uint64_t timeout_ms; /* of one run of the helper's */
    bool dry_run;        /* says what it would remove */
};

/* on_swept: some of what was due is over; from the loop. Never NULL. */
struct strays_driver *strays_driver_create(const struct strays_driver_params *params,
                                           void (*on_swept)(void *arg), void *arg);

/* Begins with what is due, of hooks of which nothing runs. */
void strays_driver_look(struct strays_driver *d);

/* The end of a run: false if it is another's. No other run may have an id from 2^62 up to 2^63. */
bool strays_driver_exited(struct strays_driver *d, const struct helper_link_exit *end);

/* The end for the user: *s is NULL. NULL is fine. */
void strays_driver_dispose(struct strays_driver **d);

#endif
