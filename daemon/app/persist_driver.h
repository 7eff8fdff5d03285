/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_driver - has the batches of persist/ written, asks clusters which one they are and the
 * helper which programs hooks have, and carries out the decisions of persist/ about the answers.
 */
#ifndef APP_PERSIST_DRIVER_H
#define APP_PERSIST_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_runtime.h"
#include "app/sources.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "io/state_driver.h"
#include "persist/contact.h"
#include "state/folder.h"

struct gone;
struct gone_hook;
struct helper_link;
struct loop;
struct persist;
struct persist_driver;
struct persist_watch;

/* Everything is borrowed and must outlive the object. */
struct persist_driver_params {
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
    uint32_t gone_number; /* build_gone_number() */
};

/* Called from the loop. */
struct persist_driver_events {
    /* Runs may start from now on: each hook knows whether its programs and files have changed. Called
     * after the start and after each persist_driver_change(). */
    void (*on_ready)(void *arg);
    /* Sources have got their objects of the earlier process, or begin stale with them; hooks may
     * have something to do. */
    void (*on_progress)(void *arg);
    /* Changes of objects are about to be written: if hooks or views have not looked at them yet,
     * they must now, so that persist_driver_look() puts the records of hooks beside the objects. */
    void (*on_batch)(void *arg);
};

/* Reads the state and gives it to the watches and hooks, none of which may have begun. Never NULL;
 * release with persist_driver_dispose(). events must outlive the object. */
struct persist_driver *persist_driver_create(const struct persist_driver_params *params,
                                             const struct persist_driver_events *events, void *arg);

/* Takes the clusters, in the order of conf->clusters. A watch with objects of an earlier process
 * then waits until its cluster has said which one it is. Call it after sources_follow() and before
 * the loop runs. */
void persist_driver_follow(struct persist_driver *d, struct cluster_runtime *const *clusters);

/* Puts the changes of watches and hooks since the last call into the batch of the state driver. haste:
 * of the records of hooks. Call it before the changes are written: at the latest in on_batch. */
void persist_driver_look(struct persist_driver *d, enum state_driver_haste haste);

/* Has a cluster sent first lists without having said yet which cluster it is? Then runs wait for
 * the answer, for a second at most: call this again in each turn in which something came from a
 * server. */
bool persist_driver_awaits(struct persist_driver *d);

/* For io/runner: a run starts when its delivery records are committed. */
struct state_driver *persist_driver_state(const struct persist_driver *d);

/* A person decides about the cluster of a watch, where another cluster answers and is held. accept:
 * everything that is known of the old cluster is forgotten, by hooks too; else it stays held.
 * Returns false if no cluster is held there. */
bool persist_driver_guard(struct persist_driver *d, const struct watch *w, bool accept);

/* The trouble with a cluster (index as in conf->clusters), for people: "cluster prod: another
 * cluster answers ..."; NULL = no trouble. Borrowed until the next turn of the loop. */
const char *persist_driver_trouble(struct persist_driver *d, size_t cluster);

/* The hooks that are not in the configuration any more, and their output files. Borrowed. */
const struct gone *persist_driver_gone(const struct persist_driver *d);

/* A person has such a hook forgotten, which is KEPT: its records, and with_files its files before. They
 * are removed in later turns. False: nothing can be written now (--dry-run). */
bool persist_driver_forget(struct persist_driver *d, struct gone_hook *gh, bool with_files);

/* Writes everything to disk. Then, or after timeout_ms, done is called once, in a later turn, with
 * the arg of persist_driver_create(); all = everything is on disk. */
void persist_driver_flush(struct persist_driver *d, uint64_t timeout_ms,
                          void (*done)(void *arg, bool all));

/* Has the hook retired only because its programs or files have changed? Then it is to be replaced by
 * itself, and persist_driver_renew() renews it. */
bool persist_driver_renews(const struct persist_driver *d, const struct hook *h);
/* Renews it: its new self, before it is attached. */
void persist_driver_renew(struct persist_driver *d, const struct hook *h);

/* Are programs and files of hooks being compared, since the start or a reload, or is a hook to be renewed
 * for that? */
bool persist_driver_compares(const struct persist_driver *d);

/* ---- For a reload (app/reload_switch). */

/* The core. Only app/reload_switch changes it. */
struct persist *persist_driver_persist(const struct persist_driver *d);
/* The batch of this turn, which is written soon. */
struct batch *persist_driver_batch(const struct persist_driver *d);
/* The time on all clocks. */
struct persist_now persist_driver_now(const struct persist_driver *d);

/* Does the helper remove files of hooks that are gone now, or read programs to compare them? A reload
 * waits for that: the helper would refuse to read a program that it reads already, and the hook would
 * not be renewed. */
bool persist_driver_is_busy(const struct persist_driver *d);

/* Ends all that knows hooks by their numbers with the helper; persist_driver_change() follows. */
void persist_driver_before_change(struct persist_driver *d);

/* Follows a new watch, before it changes. */
void persist_driver_follow_watch(struct persist_driver *d, struct persist_watch *mw);
/* Forgets the subscription of a watch that leaves, and is freed then. */
void persist_driver_forget_watch(struct persist_driver *d, const struct persist_watch *mw);

/* As persist_set_clusters(); persist_driver_follow_cluster() follows for each new one. */
void persist_driver_set_clusters(struct persist_driver *d, const size_t *was, size_t n);
/* As persist_driver_follow() for one cluster. */
void persist_driver_follow_cluster(struct persist_driver *d, size_t cluster,
                                   struct cluster_runtime *runtime);

/* Hooks and watches are those of conf now. Asks for the programs of all hooks anew: those that were
 * held (hook_hold()) serve when their answer has come; one whose programs have changed retires, and
 * persist_driver_renew() is to be called when another one has its place. */
void persist_driver_change(struct persist_driver *d, const struct conf *conf, uint32_t gone_number);

/* The end for the user: *d is NULL, and nothing is called any more. Call it before the end of the
 * loop. NULL is fine. */
void persist_driver_dispose(struct persist_driver **d);

#endif
