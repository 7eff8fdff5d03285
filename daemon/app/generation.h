/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generation - one configuration, with the clusters, the node's name and the warnings that belong to it on
 * this machine. A child of the helper reads and checks it with the helper's rights, and main makes the same
 * one of the same bytes (docs/decisions.md "A child of the helper reads the configuration").
 */
#ifndef APP_GENERATION_H
#define APP_GENERATION_H

#include <stdbool.h>

#include "app/cluster_access.h"
#include "app/reload_plan.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/file_set.h"
#include "conf/conf.h"
#include "helper/helper.h"

/* The input of a reading in the child of the helper. Borrowed; the helper has a copy of the memory. */
struct generation_source {
    const char *path; /* of the main file, absolute */
    const struct conf
        *conf; /* of the start: settings that only a restart changes stay as they are here */
    const char *node_name; /* of the start, too */
};

struct generation {
    struct conf *conf;   /* after conf_keep() */
    struct conf *wanted; /* as the files have it */
    struct cluster_access_list cluster_access;
    char *node_name;     /* as a restart would have it */
    struct buf warnings; /* problems that may be mended while informerd runs, one line each */
};

/* The checks of everything that a start or a reload refuses, but for check_kept(); both call this, so
 * they accept the same configurations. Loads cluster_access, which is empty, and adds the problems to
 * p. Needs the rights of the start: it looks at users and at files of root. */
void generation_check(const struct conf *conf, struct file_set *files,
                      struct cluster_access_list *cluster_access, struct problems *p);

/* Appends the problems that check_surroundings() finds, one line each. */
void generation_find_warnings(const struct conf *conf, struct buf *out);

/* Logs each of these lines as a warning, and the warnings of cluster_access_warn(). */
void generation_warn(const struct conf *conf, const struct cluster_access_list *cluster_access,
                     struct str warnings);

/* A helper_build_cb for the child of the helper; arg is a struct generation_source. bundle gets the
 * bytes that generation_create() reads. */
bool generation_build(void *arg, struct helper_params *params, struct buf *bundle,
                      struct buf *problems);

/* Cuts off the mark that generation_build() puts before problems of the configuration. False: there is
 * none, and the text says why the configuration could not be read at all. */
bool generation_take_invalid(struct str *text) MUST_CHECK;

/* Makes a generation of a bundle. in_use: as in conf_keep(). ERR_CONFIG, ERR_PROTOCOL: this process
 * finds another configuration in the bytes than the child did, which is a bug. Release with
 * generation_destroy(). */
enum err_kind generation_create(struct str bundle, const struct conf *in_use,
                                struct generation **out, struct err *err) MUST_CHECK;

/* Adds a problem for each cluster that has servers in `was` and whose kubeconfig does not exist any
 * more. Waiting for it, as for that of a new cluster, would leave open watches with credentials that
 * nobody renews. */
void generation_find_lost(const struct generation *g, const struct reload_side *was,
                          struct problems *p);

/* Is there a kubeconfig that a cluster of `was` awaited? */
bool generation_has_come(const struct generation *g, const struct reload_side *was) MUST_CHECK;

/* The plan from `was` to g, with the settings of the files that need a restart. Release with
 * reload_plan_destroy(). */
struct reload_plan *generation_plan(const struct generation *g,
                                    const struct reload_side *was) MUST_CHECK;

/* Frees *g, and sets it to NULL. NULL is fine. */
void generation_destroy(struct generation **g);

#endif
