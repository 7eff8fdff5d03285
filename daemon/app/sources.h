/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources - all that hooks may look at: the watches of the configuration, of which equal ones are
 * one, and the views that are made of them.
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

/* Everything is borrowed and must outlive it. */
struct sources_params {
    struct loop *loop;
    const struct conf *conf; /* checked */
    const char *node_name;
};

/* What watches and views tell. on_delta and on_stale run inside calls on a watch, for views inside
 * sources_progress() or on the stack of a timer, behind which on_progress runs. */
struct sources_events {
    void (*on_delta)(void *arg, struct source from, const struct delta *d);
    /* An object that an earlier process had is there: inside sources_restore(). No news to people. */
    void (*on_restored)(void *arg, struct source from, const struct delta *d);
    /* Before on_delta of a watch: watch_events.on_kept. */
    void (*on_kept)(void *arg, const struct watch *w, size_t scope, struct object *o, bool gone);
    /* watch_events.on_skipped. */
    void (*on_skipped)(void *arg, const struct watch *w, const struct skip *s, bool gone);
    void (*on_stale)(void *arg, struct source from, bool stale, uint64_t wall_ns);
    void (*on_progress)(void *arg); /* time has changed a view */
};

/* Never NULL. */
struct sources *sources_create(const struct sources_params *params,
                               const struct sources_events *events, void *arg);

/* Gives each watch, once under whatever names it has, to its site (as conf->clusters). */
void sources_follow(struct sources *s, struct cluster_runtime *const *clusters);

/* Something has come from a server, or a watch became stale or fresh: views look. */
void sources_progress(struct sources *s);

/* A watch is empty, as it is another cluster's by now: views of it begin anew. Nobody is told. */
void sources_forget(struct sources *s, const struct watch *w);

/* Hooks and views get all that a watch has loaded, as if it was added just now. Once, before the
 * watch is followed. */
void sources_restore(struct sources *s, struct watch *w);

/* That was all for now: views tell of what they have made of it. */
void sources_restored(struct sources *s);

/* The digest of the settings of a watch, by its place in conf->watches. */
struct digest sources_settings(const struct sources *s, size_t i);

/* Is all of it synced, by what a server has said and not by what an earlier process has left? */
bool sources_read(const struct sources *s);

/* As conf->watches, sources_watch_count() of them; equal ones are one watch with several names. */
const struct admin_watch *sources_watches(const struct sources *s);
/* See above. */
size_t sources_watch_count(const struct sources *s);

/* As conf->views. */
struct view *const *sources_views(const struct sources *s);

/* What the configuration calls so. */
struct source sources_find(const struct sources *s, const char *name);

/* Time changes nothing any more. */
void sources_close(struct sources *s);

/* Frees it and sets *s to NULL; after sources_close(), once the loop, hooks and readers are gone.
 * NULL is fine. */
void sources_destroy(struct sources **s);

#endif
