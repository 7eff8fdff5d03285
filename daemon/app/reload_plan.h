/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_plan - compares two configurations that were checked: which clusters, watches, views and hooks
 * a reload keeps, adds, changes, replaces and drops, and which settings only a restart can change; pure.
 */
#ifndef APP_RELOAD_PLAN_H
#define APP_RELOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_access.h"
#include "conf/conf.h"

struct json_out;

enum reload_change {
    RELOAD_KEEP, /* nothing changes but perhaps its index */
    RELOAD_ADD,
    RELOAD_CHANGE,  /* goes on with other settings */
    RELOAD_REPLACE, /* a new one takes its place, with its objects or records */
    RELOAD_DROP,
};

/* The runs of a hook that a change brings about. */
enum reload_effect {
    RELOAD_NO_RUN,
    RELOAD_RUNS_FOR_UNHANDLED, /* ADD: it may have handled objects when it was configured before */
    RELOAD_RUNS_FOR_CHANGES,   /* REPLACE because of its sources: they may have other objects */
    RELOAD_RUNS_FOR_ALL,       /* REPLACE because a setting renews it */
};

#define RELOAD_NONE SIZE_MAX /* an index: there is none */

/* Texts, in the order in which they were found. */
struct reload_texts {
    char **v;
    size_t n;
};

/* A cluster, watch, view or hook. */
struct reload_entry {
    char *name;
    enum reload_change change;
    size_t was; /* its index in the old configuration; ADD: RELOAD_NONE */
    size_t now; /* its index in the new configuration; DROP: RELOAD_NONE */

    /* Watches: conf_watch.first in the new configuration, DROP: in the old one. If it is not the index
     * of this entry, the name is an alias, and `change` is the one that the hooks of this name notice.
     * With KEEP and CHANGE these hooks have the same struct watch as before. */
    size_t first;

    enum reload_effect effect; /* hooks */

    /* The keys that differ: those of its own table ("retry.max"), others with their whole path
     * ("limits.object_size"), and "kubeconfig content" and the like. */
    struct reload_texts settings;
    char *because; /* the change of another entry that made this one, for people: "watch services is
                    * replaced"; NULL = none did */
};

/* First all of the new configuration, in its order: v[i].now is i. Then those that are dropped. Each of
 * the old configuration has one entry. */
struct reload_entries {
    struct reload_entry *v;
    size_t n;
};

/* A setting that a reload cannot change. */
struct reload_restart {
    char *setting; /* "control.socket" */
    char *now;     /* the value that stays */
    char *wanted;
    char *at; /* "FILE:LINE"; NULL = the user has not written the new value */
};

struct reload_plan {
    struct reload_entries clusters; /* KEEP, ADD, CHANGE, DROP */

    /* A new struct watch is made for each entry with now == first and ADD or REPLACE; with REPLACE it
     * takes the objects of the struct watch that the name had: old watches[old watches[was].first]; with
     * ADD those of the first alias that was there. CHANGE: only `audit` is another one. A watch that has
     * moved to another cluster is dropped and added. */
    struct reload_entries watches;

    struct reload_entries views; /* KEEP, ADD, REPLACE, DROP */
    struct reload_entries hooks;

    struct reload_texts settings; /* of no cluster, watch, view or hook; they take effect at once */

    /* Programs and files of hooks are compared behind the reload with those that the state has. The plan
     * does not know the result. */
    bool compares_programs;
    struct reload_restart *restarts; /* of reload_plan_add_restarts() */
    size_t restart_count;
};

/* One of the configurations, with the facts that were found out for it on this machine. All is borrowed
 * for the time of the call. */
struct reload_side {
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    const char *node_name; /* cluster_access_node_name() */
};

/* Compares the configuration that is in use with the one that shall be, which has the settings of conf_keep()
 * and the name of the node from the one in use. The contents of programs, of `files` and of credential files
 * are not compared. Never NULL; release with reload_plan_destroy(). */
struct reload_plan *reload_plan_create(const struct reload_side *was,
                                       const struct reload_side *now) MUST_CHECK;

/* Adds the settings that only a restart changes and that differ. wanted: as the files have it. */
void reload_plan_add_restarts(struct reload_plan *p, const struct reload_side *was,
                              const struct reload_side *wanted);

/* Frees *p and sets it to NULL. NULL is fine. */
void reload_plan_destroy(struct reload_plan **p);

/* How many entries have this change. */
size_t reload_plan_count(const struct reload_entries *e, enum reload_change change) MUST_CHECK;

/* Writes the plan as one object: "clusters", "watches", "views" and "hooks" are arrays of objects with
 * name, change ("keep", "add", "change", "replace", "drop"), settings (an array of keys) and because
 * (null if there is nothing to say); a watch has same_as (the watch that it shares its connections
 * with, or null), a hook effect. "settings" is an array of keys, "needs_restart" one of objects with
 * setting, now, wanted and at (null: a default), "compares_programs" a bool. Values of other settings
 * are not shown: they may be secret. */
void reload_plan_put(const struct reload_plan *p, struct json_out *j);

#endif
