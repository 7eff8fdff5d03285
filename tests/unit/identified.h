/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identified - the end of a request to a server that is always of the right cluster, for tests in
 * which the identity does not matter.
 */
#ifndef UNIT_IDENTIFIED_H
#define UNIT_IDENTIFIED_H

#include "cache/list_watch.h"

/* list_watch_end(), then list_watch_identified() if that must come next. */
static inline struct list_watch_action
list_watch_end_identified(struct list_watch *f, const struct err *err, struct now now)
{
    struct list_watch_action a = list_watch_end(f, err, 0, now);

    return a.what == LW_IDENTIFY ? list_watch_identified(f, NULL, 0, now) : a;
}

#endif
