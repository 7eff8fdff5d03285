/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trusted - the end of a request to a server that says, when it is asked, that it is of the right
 * cluster; for tests in which it always is.
 */
#ifndef UNIT_TRUSTED_H
#define UNIT_TRUSTED_H

#include "cache/feed.h"

/* feed_end(), and feed_identified() where that is what comes next. */
static inline struct feed_action feed_end_trusted(struct feed *f, const struct err *err,
                                                  struct feed_now now)
{
    struct feed_action a = feed_end(f, err, now);

    return a.what == FEED_IDENTIFY ? feed_identified(f, NULL, now) : a;
}

#endif
