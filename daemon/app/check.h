/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - the checks of a configuration that only the layers themselves can make: runs their own
 * parsers over the settings, and reports each problem with its file and line.
 */
#ifndef APP_CHECK_H
#define APP_CHECK_H

#include "app/cluster_access.h"
#include "conf/conf.h"

/* Adds to p all that would keep the daemon from starting: resources, scopes, paths, users; if
 * started as root, also files that root may not trust. Looks at users and files of this machine,
 * asks no server. */
void check_settings(const struct conf *conf, struct problems *p);

/* If started as root: adds to p each credential file that the helper would open as root and that
 * root may not trust (docs/design.md "Trusted files"). */
void check_credentials(const struct cluster_access_list *cluster_access, struct problems *p);

/* Adds to p what is wrong outside of the configuration and may be mended while informerd runs:
 * missing or not executable programs, missing files and folders, a state folder that is not usable.
 * --check prints these as errors, a start only warns
 * (docs/decisions.md "A missing program is a warning at a start"). */
void check_surroundings(const struct conf *conf, struct problems *p);

#endif
