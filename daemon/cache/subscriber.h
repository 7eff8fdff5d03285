/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscriber - hears of the changes of a watch or a view: hooks, the journal and the streams of the
 * control socket, persistence, and the views that are made of a watch; pure. Each watch
 * and view has a list of its subscribers.
 */
#ifndef CACHE_SUBSCRIBER_H
#define CACHE_SUBSCRIBER_H

#include <stdbool.h>
#include <stddef.h>

#include "cache/delta.h"
#include "cache/source.h"

struct skip;

/* The callbacks of a kind of subscriber; NULL = it does not want to know. They run inside the call
 * that made the change (of a list_watch, a confirm, a watch or a view), in the order of the
 * subscriptions, and must not change the source. */
struct subscriber {
    /* The cache has changed. */
    void (*on_delta)(void *arg, struct source from, const struct delta *d);
    /* An object of an earlier process is shown, as an ADDED. The journal and the streams
     * do not report it. */
    void (*on_restored)(void *arg, struct source from, const struct delta *d);
    /* The source became stale, or fresh again. */
    void (*on_stale)(void *arg, struct source from, bool stale, struct now now);
    /* limits.memory keeps objects out of the source from now on, or no longer. */
    void (*on_incomplete)(void *arg, struct source from, bool incomplete, struct now now);
    /* Of a watch: one of its objects is skipped from now on, or (gone) no longer. */
    void (*on_skipped)(void *arg, struct source from, const struct skip *s, bool gone);
};

/* The subscriptions of one source; zero-initialised. */
struct subscribers {
    struct subscription {
        const struct subscriber *to;
        void *arg;
    } * v;
    size_t n;
};

/* Adds a subscription at the end. The callbacks get arg; to must outlive the source. */
void subscribers_add(struct subscribers *s, const struct subscriber *to, void *arg);

/* Removes that subscription, which must be there. */
void subscribers_remove(struct subscribers *s, const struct subscriber *to, const void *arg);

/* Shows the object to each of them as one of an earlier process, at this time (on_restored). */
void subscribers_restored(const struct subscribers *s, struct source from, struct object *o,
                          struct now now);

/* Calls on_stale of each. */
void subscribers_stale(const struct subscribers *s, struct source from, bool stale, struct now now);

/* Calls on_incomplete of each. */
void subscribers_incomplete(const struct subscribers *s, struct source from, bool incomplete,
                            struct now now);

/* Calls on_skipped of each. */
void subscribers_skipped(const struct subscribers *s, struct source from, const struct skip *skip,
                         bool gone);

/* Frees the list. */
void subscribers_fini(struct subscribers *s);

#endif
