/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - the checks of a configuration that only the layers themselves can make: runs their own
 * parsers over the settings, and reports each problem with its file and line.
 */
#ifndef APP_CHECK_H
#define APP_CHECK_H

#include "app/cluster_access.h"
#include "conf/conf.h"

/* Adds the problems that the configuration has on any machine to p: in resources, scopes, selectors and
 * paths in objects. */
void check_settings(const struct conf *conf, struct problems *p);

/* Reports capabilities and limits of hooks that this process cannot give. In app/check_rights.c. */
void check_rights(const struct conf *conf, struct problems *p);

/* Adds to p the problems that would keep the daemon from starting on this machine: users and groups of
 * hooks, the name of the node in paths; if started as root, also files that root may not trust. Asks no
 * server. */
void check_machine(const struct conf *conf, const struct cluster_access_list *cluster_access,
                   struct problems *p);

/* Adds to p a user or a control.group that this machine does not have, or that the daemon cannot use.
 * To be called before conf_keep(): a reload keeps the ones in use, but the next start would fail. */
void check_kept(const struct conf *conf, struct problems *p);

/* Adds to p each credential that would keep the daemon from starting: the missing token of a pod; if
 * started as root, each credential file that the helper would open as root and that root may not trust
 * (docs/design.md "Trusted files"). */
void check_credentials(const struct conf *conf, const struct cluster_access_list *cluster_access,
                       struct problems *p);

/* For --check: adds to p that the daemon would not start with this state folder, or to warnings that it
 * would start without state. A start finds that out when it opens the folder. */
void check_state_folder(const struct conf *conf, struct problems *p, struct problems *warnings);

/* Adds to p the problems that may be mended while informerd runs: missing or not executable programs,
 * missing files and folders of hooks. A start and --check accept a configuration with these problems,
 * and warn (docs/decisions.md "A missing program is a warning"). */
void check_surroundings(const struct conf *conf, struct problems *p);

/* For --check: adds to p each hook of which a field takes data of a Secret. */
void check_secret_fields(const struct conf *conf, struct problems *p);

/* For --check: adds to p the other warnings of a start, or of the daemon when it runs: exec plugins that
 * are not installed, and the warnings of cluster_access_warn(). */
void check_clusters(const struct conf *conf, const struct cluster_access_list *cluster_access,
                    struct problems *p);

#endif
