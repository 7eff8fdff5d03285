/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - what informerd knows over restarts (DESIGN 1.4.5, 1.4.6, 1.6): gives watches and hooks
 * back what an earlier process has left, and has kept what they learn; the only one who knows both
 * them and the rows of state/.
 */
#ifndef APP_MEMORY_H
#define APP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_runtime.h"
#include "app/memory_gone.h"
#include "app/sources.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "io/state_driver.h"
#include "state/folder.h"

struct helper_link;
struct helper_link_exit;
struct loop;
struct memory;

/* Everything is borrowed and must outlive it. */
struct memory_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf *conf; /* checked */
    const char *node_name;
    const struct folder
        *folder; /* NULL: nothing is read or kept; reason says why, if it should be */
    const char *reason;
    bool forgets; /* what is kept is read and used, but nothing is written (--dry-run) */
    struct sources *sources;
    struct hooks *hooks;
};

/* Called from the loop. */
struct memory_events {
    /* Runs may start from now on: it is known whether the hooks are still what they were. Once. */
    void (*on_ready)(void *arg);
    /* Sources have got what they had, or are stale from the start. */
    void (*on_progress)(void *arg);
};

/* Reads what there is into the watches and hooks, none of which may have begun. Never NULL. */
struct memory *memory_create(const struct memory_params *params, const struct memory_events *events,
                             void *arg);

/* The sites, as conf->clusters, after sources_follow() and before the loop runs: watches with
 * objects of an earlier process wait there until it is known which cluster it is. */
void memory_follow(struct memory *m, struct cluster_runtime *const *clusters);

/* Inside sources_events.on_kept. */
void memory_kept(struct memory *m, const struct watch *w, size_t scope, struct object *o,
                 bool gone);

/* Inside sources_events.on_skipped. */
void memory_skipped(struct memory *m, const struct watch *w, const struct skip *s, bool gone);

/* At the end of whatever has changed watches or hooks, in the same turn: what they know now is to be
 * kept. */
void memory_look(struct memory *m, enum state_driver_haste haste);

/* Have first lists come of a cluster that has not said yet which one it is? Runs wait for that, for a
 * second at most. */
bool memory_awaits(struct memory *m);

/* For io/runner: what a run is about must be kept before it starts. */
struct state_driver *memory_keeper(const struct memory *m);

/* The end of a run: false if it is another's (fingerprints_exited()). */
bool memory_exited(struct memory *m, const struct helper_link_exit *end);

/* A person decides about the cluster of a watch, where another one answers and is held; accepted: all that is
 * known of the one before is forgotten, by hooks too. False: none is held. */
bool memory_guard(const struct memory *m, const struct watch *w, bool accept);

/* How well it is kept. */
struct state_driver_status memory_status(const struct memory *m);

/* What is wrong with a cluster (as conf->clusters), for people: "another cluster ..."; NULL =
 * nothing. Borrowed until the next turn. */
const char *memory_trouble(const struct memory *m, size_t cluster);

/* Files of hooks that are not in the configuration any more. Borrowed. */
const struct memory_gone *memory_gone(const struct memory *m);

/* Brings all to disk; then, or after timeout_ms, done is called once with the arg of
 * memory_create(). */
void memory_flush(struct memory *m, uint64_t timeout_ms, void (*done)(void *arg, bool all));

/* The end for the user: *m is NULL, nothing is called any more. Before the loop's end. NULL is
 * fine. */
void memory_dispose(struct memory **m);

#endif
