/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - one watch and its rows: gives the watch the objects and versions that an earlier
 * process has left, and puts its changes into batches; a part of persist.
 */
#ifndef PERSIST_WATCH_H
#define PERSIST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/list.h"
#include "cache/watch.h"
#include "kube/cluster_identity.h"
#include "persist/contact.h"
#include "persist/restore.h"
#include "persist/row.h"

/* One watch, as the configuration has it. */
struct persist_watch_params {
    struct watch *watch;    /* borrowed; the same for all names of equal watches */
    const char *name;       /* borrowed; the name that the rows are kept under */
    struct digest settings; /* watch_digest() */
    enum persist_bytes bytes;
    size_t cluster; /* the place of its cluster in persist.clusters */
};

struct persist_scope {
    /* On the dirty list: objects were put into a batch, and their version was not yet. */
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
    PERSIST_WATCH_ADDED,  /* by a reload: hooks may still tell which keys they know */
};

struct persist_watch {
    struct watch *watch;
    char *name; /* that its rows are kept under */
    struct digest settings;
    enum persist_bytes bytes;
    size_t cluster;
    uint64_t item;
    struct list *dirty; /* scopes whose versions follow, of all watches */
    struct persist_scope *scopes;
    enum persist_watch_state state;
    char *was_of; /* the name of the cluster that the rows are from; NULL = not known */
    /* Of the cluster that the objects are from, as far as it is known (persist/cluster). */
    struct cluster_identity identity;
};

/* Finds the rows of the watch and of its scopes in the state, and makes those that are missing.
 * Gives the watch the objects, skips and versions that the state has of it, before its first
 * list_watch starts. Rows that the configuration does not want to be kept any more are dropped from
 * the state. Scopes whose version is to be put (persist_watch_put_scope()) go on the list dirty,
 * which is borrowed. Release with persist_watch_fini(). */
void persist_watch_load(struct persist_watch *mw, const struct persist_watch_params *params,
                        struct list *dirty, const struct restore *r, struct batch *b);

/* A reload has put params->watch in the place of the watch, which still lives, and has given it the
 * objects (watch_inherit()): the rows follow. With edited settings they say so until a list has shown
 * which objects that changes. */
void persist_watch_replaced(struct persist_watch *mw, const struct persist_watch_params *params,
                            struct ids *ids, struct batch *b);

/* The same where the watch `from` stays, as it has other names: the new one gets rows of its own. */
void persist_watch_split(struct persist_watch *mw, const struct persist_watch *from,
                         const struct persist_watch_params *params, struct ids *ids,
                         struct batch *b);

/* Frees the memory of the struct. */
void persist_watch_fini(struct persist_watch *mw);

/* A hook knows this incarnation of a key. Call it after persist_watch_load(). If the cache has no
 * object for the key, and the watch is to be listed or skips the key, an object without bytes is
 * loaded: a list that lacks it then ends it, and the guard counts it
 * (docs/decisions.md "A delivery record without its object counts in the guard"). */
void persist_watch_know(struct persist_watch *mw, struct str key, struct str uid);

/* How long ago the earlier process heard of the server last; of several scopes the longest. *age_ms
 * is set if the result is CONTACT_KNOWN. */
enum contact_age persist_watch_age(const struct persist_watch *mw, struct persist_now now,
                                   uint64_t *age_ms) MUST_CHECK;

/* The objects of the watch are from another cluster, or from an unknown one: drops them from the
 * watch and from the state. */
void persist_watch_forget(struct persist_watch *mw, struct batch *b);

/* Puts or drops the row of an object. The version of its scope follows: behind all objects that
 * the batch has, so a version is never on disk without the objects that it stands
 * for. */
void persist_watch_delta(struct persist_watch *mw, const struct delta *d, struct batch *b);

/* Puts or drops the row of a skipped object; the version of its scope follows. */
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
