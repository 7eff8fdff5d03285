/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_watch - one watch and its rows: gives it what an earlier process has left, and puts what
 * it has into batches; for memory.
 */
#ifndef APP_PERSIST_WATCH_H
#define APP_PERSIST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/contact.h"
#include "app/restore.h"
#include "base/digest.h"
#include "base/list.h"
#include "cache/watch.h"
#include "conf/conf.h"

struct persist_scope {
    struct list dirty; /* on memory's list: objects were put, and their version was not */
    struct persist_watch *of;
    size_t index;
    uint64_t item;
    char *version;       /* as it was put last; NULL = it was not */
    uint64_t contact_ms; /* of the loop's clock, the same */
    char *contact;       /* that of the earlier process, as it was loaded; NULL = none was */
};

enum persist_watch_state {
    PERSIST_WATCH_EMPTY,  /* nothing was left of it, or that was another cluster's */
    PERSIST_WATCH_LOADED, /* it has what was left; nobody has been told */
    PERSIST_WATCH_SHOWN,  /* hooks and views have it, too */
};

struct persist_watch {
    struct watch *watch;
    const struct conf_watch *conf; /* under the name that it is kept by */
    struct digest settings;
    uint64_t item;
    struct persist_scope *scopes;
    enum persist_watch_state state;
    char *was_of; /* the cluster that what is kept is from, by name; NULL = not known */
};

/* The clocks of now. */
struct persist_now {
    uint64_t ms;
    uint64_t wall_ns;
    uint64_t boot_ns;
    const char *boot_id; /* of boot_ns; NULL or "" = not known */
};

/* conf, settings and watch are set. Finds its items, and makes those that are missing. */
void persist_watch_init(struct persist_watch *mw, struct ids *ids, struct batch *b);

/* Frees what it has. */
void persist_watch_fini(struct persist_watch *mw);

/* Gives the watch what is left of it, before its first feed starts. What the configuration does not
 * want to be kept any more is taken from the rows. */
void persist_watch_load(struct persist_watch *mw, const struct restore *r, struct batch *b);

/* A hook knows a life of a key: behind the load. One that there is no row of, though the watch is to
 * be listed or skips the key, is loaded as an object without bytes: if the list does not have it, it
 * is gone, as one that the guard counts. */
void persist_watch_know(struct persist_watch *mw, struct str key, struct str uid);

/* How long ago the earlier process heard of the server last, of the oldest stream. */
enum contact_age persist_watch_age(const struct persist_watch *mw, struct persist_now now,
                                   uint64_t *age_ms) MUST_CHECK;

/* What it has loaded is another cluster's. */
void persist_watch_forget(struct persist_watch *mw, struct batch *b);

/* watch_events.on_kept; the stream is then dirty. */
void persist_watch_kept(struct persist_watch *mw, size_t scope, struct object *o, bool gone,
                        struct batch *b);

/* watch_events.on_skipped; the stream is then dirty. */
void persist_watch_skipped(struct persist_watch *mw, const struct skip *s, bool gone,
                           struct batch *b);

/* Puts what a dirty stream stands at, if that has changed since. */
void persist_watch_put_stream(struct persist_scope *s, struct persist_now now, struct batch *b);

/* The same for all its streams, and when they were in contact last, if that is a minute old, or
 * (all) anyway. */
void persist_watch_sweep(struct persist_watch *mw, struct persist_now now, bool all,
                         struct batch *b);

/* All there is, for a file that begins anew. */
void persist_watch_put_all(struct persist_watch *mw, struct persist_now now, struct batch *b);

#endif
