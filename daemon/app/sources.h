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
#include "app/reload_plan.h"
#include "base/digest.h"
#include "cache/delta.h"
#include "cache/source.h"
#include "conf/conf.h"

struct loop;
struct sources;

/* A watch that a reload makes, or that leaves. */
struct sources_move {
    struct watch *from; /* `to` has its objects (watch_inherit()); NULL = there is none */
    struct watch *to;   /* new; NULL = none takes the place of `from` */
    size_t now;         /* the index of `to` in the new configuration */
    size_t kept; /* the name of `to` that its rows are kept under: one that `from` had, or `now` */
    bool leaves; /* `from` is in use no longer, and this move takes its place */
};

struct sources_moves {
    struct sources_move *v;
    size_t n;
    struct view **views; /* that leave */
    size_t view_count;
    bool *is_new_view; /* as conf->views */
};

/* Everything is borrowed and must outlive the object. */
struct sources_params {
    struct loop *loop;
    const struct conf *conf; /* checked */
    const char *node_name;
    /* A view may change because time has passed: call sources_progress(). Runs on the stack of a
     * timer. */
    void (*on_progress)(void *arg);
    void *arg;
};

/* Makes all watches and views. Never NULL; release with sources_destroy(). */
struct sources *sources_create(const struct sources_params *params);

/* Subscribes to each watch and view, once. For watches on_delta and on_stale run inside a call on
 * the watch, for views inside sources_progress(), persist_judge() or persist_tick(). */
void sources_subscribe(struct sources *s, const struct subscriber *to, void *arg);

/* Gives each watch to its cluster (in the order of conf->clusters): once, however many names it
 * has. */
void sources_follow(struct sources *s, struct cluster_runtime *const *clusters);

/* Something has come from a server, or a watch became stale or fresh: views look at their
 * watches. */
void sources_progress(struct sources *s);

/* Will a view change by itself, because time passes? */
bool sources_wait(const struct sources *s);

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

/* Changes over to another configuration as the plan says: makes the watches and views that are new, and
 * subscribes all to them that sources_subscribe() knows. The watches and views that leave live until
 * sources_moves_end(): before that, hooks and clusters must let go of them. */
void sources_change(struct sources *s, const struct conf *conf, const struct reload_plan *plan,
                    struct now now, struct sources_moves *m);

/* Destroys the watches and views that leave, and frees *m. */
void sources_moves_end(struct sources_moves *m);

/* Ends the timer: on_progress is not called any more. Before the end of the loop. */
void sources_close(struct sources *s);

/* Frees everything and sets *s to NULL. After sources_close(), and when the loop, hooks and readers
 * are gone. NULL is fine. */
void sources_destroy(struct sources **s);

#endif
