/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload_switch - switches the running daemon over to another configuration, as a plan says
 * (app/reload_plan). The hooks that are replaced or dropped retire first: they start no runs, and their
 * runs have stop_timeout to end. Then everything changes in one turn of the loop, so there is no
 * moment at which one half of the daemon works with the old configuration and one with the new.
 */
#ifndef APP_RELOAD_SWITCH_H
#define APP_RELOAD_SWITCH_H

#include <stdbool.h>

#include "app/cluster_access.h"
#include "app/reload_plan.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "io/runner.h"

struct cluster_runtime;
struct control;
struct helper_link;
struct loop;
struct persist_driver;
struct sources;

/* The parts of the daemon that change, all of them its own. */
struct reload_parts {
    struct loop *loop;
    struct helper_link *link;
    struct sources *sources;
    struct hooks *hooks;
    struct persist_driver *persist;
    struct runner *runner;
    struct runner_hook **runner_hooks;
    struct cluster_runtime ***clusters;
    size_t *cluster_count;
    struct control *control;
    const char *node_name; /* stays: only a restart changes it */
    /* Makes the cluster of that index in conf->clusters, or gives `c` its settings (c not NULL).
     * Returns the cluster. */
    struct cluster_runtime *(*build_cluster)(void *arg, const struct conf *conf,
                                             const struct cluster_access_list *cluster_access,
                                             size_t index, struct cluster_runtime *c);
    void *arg;
};

/* The hooks that the plan replaces or drops start no run any more. */
void reload_switch_retire(const struct reload_parts *p, const struct reload_plan *plan);

/* The reload is given up: these hooks start runs again. */
void reload_switch_give_up(const struct reload_parts *p, const struct reload_plan *plan);

/* A hook that has not retired yet; NULL = all of them have. */
const struct hook *reload_switch_waits_for(const struct reload_parts *p,
                                           const struct reload_plan *plan);

/* The number of their runs under way. */
size_t reload_switch_running(const struct reload_parts *p, const struct reload_plan *plan);

/* Their runs are killed (runner_kill()). */
void reload_switch_kill(const struct reload_parts *p, const struct reload_plan *plan);

/* Have they retired, and does the helper neither remove files nor compare programs now? Then
 * reload_switch_over() may come. */
bool reload_switch_is_possible(const struct reload_parts *p, const struct reload_plan *plan);

/* Switches over. Nothing of the old configuration is used any more afterwards. */
void reload_switch_over(const struct reload_parts *p, const struct conf *was,
                        const struct conf *conf, const struct cluster_access_list *cluster_access,
                        const struct reload_plan *plan);

/* Renews hooks that have retired because a reload has found other programs or files. conf is the
 * configuration in use; plan is the one that waits for its switch, or NULL. */
void reload_switch_renew(const struct reload_parts *p, const struct conf *conf,
                         const struct reload_plan *plan);

#endif
