/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist - the memory of informerd over restarts (docs/design.md "State"): gives watches and hooks
 * the rows that an earlier process has left, and has their changes written. No other module knows
 * both the watches and hooks and the rows of state/.
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
struct loop;
struct persist;

/* Everything is borrowed and must outlive the object. */
struct persist_params {
    struct loop *loop;
    struct helper_link *link;
    const struct conf *conf; /* checked */
    const char *node_name;
    /* NULL: nothing is read or written. */
    const struct folder *folder;
    /* If folder is NULL: why, when the state should be kept; NULL when it should not be. */
    const char *reason;
    bool forgets; /* --dry-run: the state is read and used, but nothing is written */
    struct sources *sources;
    struct hooks *hooks;
};

/* Called from the loop. */
struct persist_events {
    /* Runs may start from now on: each hook knows whether its programs and files have changed.
     * Called once. */
    void (*on_ready)(void *arg);
    /* Sources have got their objects of the earlier process, or begin stale with them; hooks may
     * have something to do. */
    void (*on_progress)(void *arg);
};

/* Reads the state and gives it to the watches and hooks, none of which may have begun. Never NULL;
 * release with persist_dispose(). events must outlive the object. */
struct persist *persist_create(const struct persist_params *params,
                               const struct persist_events *events, void *arg);

/* Takes the clusters, in the order of conf->clusters. A watch with objects of an earlier process
 * then waits until its cluster has said which one it is. Call it after sources_follow() and before
 * the loop runs. */
void persist_follow(struct persist *m, struct cluster_runtime *const *clusters);

/* Puts what has changed in watches and hooks since the last call into the batch of the state
 * driver. Call it in the same turn of the loop as the change. */
void persist_look(struct persist *m, enum state_driver_haste haste);

/* Has a cluster sent first lists without having said yet which cluster it is? Then runs wait for
 * the answer, for a second at most: call this again in each turn in which something came from a
 * server. */
bool persist_awaits(struct persist *m);

/* For io/runner: a run starts when its delivery records are committed. */
struct state_driver *persist_state_driver(const struct persist *m);

/* A person decides about the cluster of a watch, where another cluster answers and is held. accept:
 * everything that is known of the old cluster is forgotten, by hooks too. Returns false if no
 * cluster is held there. */
bool persist_guard(const struct persist *m, const struct watch *w, bool accept);

/* Whether the state is kept and can be written, and how much waits to be written. */
struct state_driver_status persist_status(const struct persist *m);

/* The trouble with a cluster (index as in conf->clusters), for people: "another cluster ..."; NULL
 * = no trouble. Borrowed until the next turn of the loop. */
const char *persist_trouble(const struct persist *m, size_t cluster);

/* The output files of hooks that are not in the configuration any more. Borrowed. */
const struct persist_removed *persist_removed(const struct persist *m);

/* Writes everything to disk. Then, or after timeout_ms, done is called once, in a later turn, with
 * the arg of persist_create(); all = everything is on disk. */
void persist_flush(struct persist *m, uint64_t timeout_ms, void (*done)(void *arg, bool all));

/* The end for the user: *m is NULL, and nothing is called any more. Call it before the end of the
 * loop. NULL is fine. */
void persist_dispose(struct persist **m);

#endif
