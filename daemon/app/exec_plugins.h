/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_plugins - the exec plugins of all clusters as programs of the helper: as which user, with
 * which arguments and environment they run (docs/design.md "Exec plugins").
 */
#ifndef APP_EXEC_PLUGINS_H
#define APP_EXEC_PLUGINS_H

#include <stddef.h>
#include <stdint.h>

#include "app/cluster_access.h"
#include "base/err.h"
#include "conf/conf.h"
#include "helper/helper.h"

/* How many clusters have a plugin. */
size_t exec_plugins_count(const struct cluster_access_list *l);

/* The number of the plugin of cluster i in helper_params.hooks: plugins stand behind the hooks of
 * the configuration, in the order of the clusters. */
uint32_t exec_plugins_number(const struct conf *conf, const struct cluster_access_list *l,
                             size_t cluster);

/* Fills the helper's entry for the plugin of cluster i, which has one. Its arrays and the strings of
 * env are the caller's, as those of build_helper(); all other strings are borrowed. ERR_CONFIG: the
 * user does not exist. */
enum err_kind exec_plugins_fill(const struct conf *conf, const struct cluster_access_list *l,
                                size_t cluster, struct helper_hook *out,
                                struct err *err) MUST_CHECK;

/* Adds to p the problems that a start refuses: a plugin that would run as root; if started as root, one
 * that somebody else than root could change, or whose kubeconfig belongs to another user than root and
 * the one that main becomes; a cluster that does not fit into the environment. */
void exec_plugins_check(const struct conf *conf, const struct cluster_access_list *l,
                        struct problems *p);

/* Adds plugins that are not installed, with their install hints. */
void exec_plugins_check_installed(const struct conf *conf, const struct cluster_access_list *l,
                                  struct problems *p);

#endif
