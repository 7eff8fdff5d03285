/* SPDX-License-Identifier: Apache-2.0 */
/*
 * once - when `informerd --once` is over, and how (docs/design.md "Once"); pure.
 */
#ifndef APP_ONCE_H
#define APP_ONCE_H

#include <stdbool.h>

#include "app/options.h"
#include "hook/hook.h"

enum { ONCE_GOES_ON = -1 };

/* What there is to judge. */
struct once_look {
    const struct hooks *hooks;
    bool synced; /* every watch and view is, by what a server has said */
    bool over;   /* --timeout has passed */
};

/* May the servers be left alone? Every source is synced, and none that a hook sees is stale: the
 * hook may wait until it is fresh. */
bool once_has_all(const struct once_look *look);

/* ONCE_GOES_ON, or the exit code: OK once every due unit is handled or parked, FAILED if one is
 * not, or has used up its attempts; UNAVAILABLE if a source is not synced when the time is over. */
int once_judge(const struct once_look *look);

#endif
