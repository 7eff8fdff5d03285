/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once - decides when `informerd --once` is over, and with which exit code (docs/design.md "Once");
 * pure.
 */
#ifndef APP_ONCE_H
#define APP_ONCE_H

#include <stdbool.h>

#include "app/options.h"
#include "hook/hook.h"

enum { ONCE_GOES_ON = -1 };

/* The state that is judged. */
struct once_look {
    const struct hooks *hooks;
    /* Every watch and view has synced with a server, not with restored objects alone. */
    bool synced;
    bool over; /* --timeout has passed */
};

/* May informerd leave the servers? Yes when every source has synced and no source of a hook is
 * stale: a hook may be waiting until its source is fresh. */
bool once_has_all(const struct once_look *look);

/* Returns ONCE_GOES_ON or the exit code. EXIT_CODE_OK when every due work item is handled or
 * parked; EXIT_CODE_FAILED when a hook has used up its attempts, or work is left when the time is
 * over; EXIT_CODE_UNAVAILABLE when a source has not synced by then. Logs the hooks that were not
 * run because they are paused. */
int once_judge(const struct once_look *look);

#endif
