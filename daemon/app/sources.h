/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources - all sources of hooks: the watches of the configuration, of which equal ones are one,
 * and the views that are made of them.
 */
#ifndef APP_SOURCES_H
#define APP_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "admin/admin.h"
#include "app/cluster_runtime.h"
#include "base/digest.h"
#include "cache/delta.h"
#include "cache/source.h"
#include "conf/conf.h"

struct loop;
struct sources;

/* Everything is borrowed and must outlive the object. */
struct sources_params {
    struct loop *loop;
    const struct conf *conf; /* checked */
    const char *node_name;
};

/* The events of watches and views. For watches on_delta and on_stale run inside a call on the
 * watch. For views they run inside sources_progress(), or on the stack of a timer, which then calls
 * on_progress. */
struct sources_events {
    void (*on_delta)(void *arg, struct source from, const struct delta *d);
    /* An object of an earlier process is shown to hooks, inside sources_restore(). It is no news
     * for people. */
    void (*on_restored)(void *arg, struct source from, const struct delta *d);
    /* Comes before on_delta of a watch: see watch_events.on_kept. */
    void (*on_kept)(void *arg, const struct watch *w, size_t scope, struct object *o, bool gone);
    /* See watch_events.on_skipped. */
    void (*on_skipped)(void *arg, const struct watch *w, const struct skip *s, bool gone);
    void (*on_stale)(void *arg, struct source from, bool stale, uint64_t wall_ns);
    void (*on_progress)(void *arg); /* a view has changed because time has passed */
};

/* Makes all watches and views. Never NULL; release with sources_destroy(). events must outlive the
 * object. */
struct sources *sources_create(const struct sources_params *params,
                               const struct sources_events *events, void *arg);

/* Gives each watch to its cluster (in the order of conf->clusters): once, however many names it
 * has. */
void sources_follow(struct sources *s, struct cluster_runtime *const *clusters);

/* Something has come from a server, or a watch became stale or fresh: views look at their
 * watches. */
void sources_progress(struct sources *s);

/* A watch is empty now, as its objects were from another cluster: views of it begin anew, and
 * nothing is told to hooks. */
void sources_forget(struct sources *s, const struct watch *w);

/* Shows all objects that a watch has loaded to hooks (on_restored) and views, as if they had just
 * been added. Once for each watch, before the watch is followed. */
void sources_restore(struct sources *s, struct watch *w);

/* All sources_restore() calls of this moment are done: views compute their objects and tell of
 * them. */
void sources_restored(struct sources *s);

/* The digest of the settings (watch_digest()) of the watch conf->watches[i]. */
struct digest sources_settings(const struct sources *s, size_t i);

/* Have all watches and views synced with a server? Restored objects alone do not count. */
bool sources_read(const struct sources *s);

/* The watches, in the order of conf->watches; equal watches are one watch with several names.
 * Borrowed. */
const struct admin_watch *sources_watches(const struct sources *s);
/* How many sources_watches() returns. */
size_t sources_watch_count(const struct sources *s);

/* The views, in the order of conf->views. Borrowed. */
struct view *const *sources_views(const struct sources *s);

/* The watch or view of that name, which the configuration must have. */
struct source sources_find(const struct sources *s, const char *name);

/* Ends the timer: on_progress is not called any more. Before the end of the loop. */
void sources_close(struct sources *s);

/* Frees everything and sets *s to NULL. After sources_close(), and when the loop, hooks and readers
 * are gone. NULL is fine. */
void sources_destroy(struct sources **s);

#endif
