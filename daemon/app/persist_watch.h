/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_watch - one watch and its rows: gives the watch the objects and versions that an earlier
 * process has left, and puts its changes into batches; a part of persist.
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

struct persist;

struct persist_scope {
    /* On the list of persist: objects were put into a batch, and their version was not yet. */
    struct list dirty;
    struct persist_watch *of;
    size_t index;
    uint64_t item;
    char *version; /* the text of its fact as it was put last; NULL = not put yet */
    /* When the contact was that was put last, on the clock of the loop; 0 = none yet. */
    uint64_t contact_ms;
    char *contact; /* the text of the contact that was loaded; NULL = there was none */
};

enum persist_watch_state {
    PERSIST_WATCH_EMPTY,  /* nothing was loaded, or the objects were from another cluster */
    PERSIST_WATCH_LOADED, /* objects were loaded, and no hook or view has them yet */
    PERSIST_WATCH_SHOWN,  /* hooks and views have them, or get them from a cluster that is known */
};

struct persist_watch {
    struct persist *persist; /* that has it on its list; only persist.c looks at this */
    struct watch *watch;
    const struct conf_watch *conf; /* the one of its names under which the rows are kept */
    struct digest settings;        /* watch_digest() */
    uint64_t item;
    struct persist_scope *scopes;
    enum persist_watch_state state;
    char *was_of; /* the name of the cluster that the rows are from; NULL = not known */
};

/* One moment on all clocks. */
struct persist_now {
    uint64_t ms;
    uint64_t wall_ns;
    uint64_t boot_ns;
    const char *boot_id; /* the boot that boot_ns counts from; NULL or "" = not known */
};

/* Finds the rows of the watch and of its scopes, and makes those that are missing. The caller has
 * set watch, conf and settings. */
void persist_watch_init(struct persist_watch *mw, struct ids *ids, struct batch *b);

/* Frees what the struct owns. */
void persist_watch_fini(struct persist_watch *mw);

/* Gives the watch the objects, skips and versions that the state has of it, before its first
 * list_watch starts. Rows that the configuration does not want to be kept any more are dropped from
 * the state. */
void persist_watch_load(struct persist_watch *mw, const struct restore *r, struct batch *b);

/* A hook knows this incarnation of a key. Call it after persist_watch_load(). If the cache has no
 * object for the key, and the watch is to be listed or skips the key, an object without bytes is
 * loaded: a list that lacks it then ends it, and the guard counts it
 * (docs/decisions.md "A delivery record without its object counts in the guard"). */
void persist_watch_know(struct persist_watch *mw, struct str key, struct str uid);

/* How long ago the earlier process heard of the server last; of several scopes the longest. *age_ms
 * is set if the result is CONTACT_KNOWN. */
enum contact_age persist_watch_age(const struct persist_watch *mw, struct persist_now now,
                                   uint64_t *age_ms) MUST_CHECK;

/* The objects of the watch are from another cluster: drops them from the watch and from the
 * state. */
void persist_watch_forget(struct persist_watch *mw, struct batch *b);

/* Puts or drops the row of an object of the scope. The caller then puts the scope on its dirty
 * list. */
void persist_watch_delta(struct persist_watch *mw, size_t scope, const struct delta *d,
                         struct batch *b);

/* Puts or drops the row of a skipped object. The caller then puts the scope on its dirty list. */
void persist_watch_skipped(struct persist_watch *mw, const struct skip *s, bool gone,
                           struct batch *b);

/* Takes a scope off the dirty list, and puts its version if that has changed since it was put
 * last. */
void persist_watch_put_scope(struct persist_scope *s, struct persist_now now, struct batch *b);

/* The same for all scopes of the watch, and also puts the time of the last contact of each: if that
 * put last is a minute old, or with `all` in any case. */
void persist_watch_sweep(struct persist_watch *mw, struct persist_now now, bool all,
                         struct batch *b);

/* Puts all rows of the watch, for a file that begins anew. */
void persist_watch_put_all(struct persist_watch *mw, struct persist_now now, struct batch *b);

#endif
