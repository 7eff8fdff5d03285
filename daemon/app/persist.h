/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist - what informerd knows over restarts (docs/design.md "State"): gives watches and hooks
 * back what an earlier process has left, and has kept what they learn; the only one who knows both
 * them and the rows of state/.
 */
#ifndef APP_PERSIST_H
#define APP_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_runtime.h"
#include "app/persist_removed.h"
#include "app/sources.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "io/state_driver.h"
#include "state/folder.h"

struct helper_link;
struct helper_link_exit;
struct loop;
struct persist;

/* Everything is borrowed and must outlive it. */
struct persist_params {
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
struct persist_events {
    /* Runs may start from now on: it is known whether the hooks are still what they were. Once. */
    void (*on_ready)(void *arg);
    /* Sources have got what they had, or are stale from the start. */
    void (*on_progress)(void *arg);
};

/* Reads what there is into the watches and hooks, none of which may have begun. Never NULL. */
struct persist *persist_create(const struct persist_params *params,
                               const struct persist_events *events, void *arg);

/* The sites, as conf->clusters, after sources_follow() and before the loop runs: watches with
 * objects of an earlier process wait there until it is known which cluster it is. */
void persist_follow(struct persist *m, struct cluster_runtime *const *clusters);

/* Inside sources_events.on_kept. */
void persist_kept(struct persist *m, const struct watch *w, size_t scope, struct object *o,
                  bool gone);

/* Inside sources_events.on_skipped. */
void persist_skipped(struct persist *m, const struct watch *w, const struct skip *s, bool gone);

/* At the end of whatever has changed watches or hooks, in the same turn: what they know now is to be
 * kept. */
void persist_look(struct persist *m, enum state_driver_haste haste);

/* Have first lists come of a cluster that has not said yet which one it is? Runs wait for that, for a
 * second at most. */
bool persist_awaits(struct persist *m);

/* For io/runner: what a run is about must be kept before it starts. */
struct state_driver *persist_state_driver(const struct persist *m);

/* The end of a run: false if it is another's (fingerprints_exited()). */
bool persist_exited(struct persist *m, const struct helper_link_exit *end);

/* A person decides about the cluster of a watch, where another one answers and is held; accepted: all that is
 * known of the one before is forgotten, by hooks too. False: none is held. */
bool persist_guard(const struct persist *m, const struct watch *w, bool accept);

/* How well it is kept. */
struct state_driver_status persist_status(const struct persist *m);

/* What is wrong with a cluster (as conf->clusters), for people: "another cluster ..."; NULL =
 * nothing. Borrowed until the next turn. */
const char *persist_trouble(const struct persist *m, size_t cluster);

/* Files of hooks that are not in the configuration any more. Borrowed. */
const struct persist_removed *persist_removed(const struct persist *m);

/* Brings all to disk; then, or after timeout_ms, done is called once with the arg of
 * persist_create(). */
void persist_flush(struct persist *m, uint64_t timeout_ms, void (*done)(void *arg, bool all));

/* The end for the user: *m is NULL, nothing is called any more. Before the loop's end. NULL is
 * fine. */
void persist_dispose(struct persist **m);

#endif
