/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check - what only the layers themselves can say of a configuration: runs their own parsers over
 * it and reports in place.
 */
#ifndef APP_CHECK_H
#define APP_CHECK_H

#include "app/cluster_access.h"
#include "conf/conf.h"

/* What would keep the daemon from starting: resources, scopes, paths, users, trust in files (when
 * started as root). */
void check_settings(const struct conf *conf, struct problems *p);

/* Started as root: the files that the helper opens as root are ones that root may trust. */
void check_credentials(const struct conf *conf, const struct cluster_access_list *cluster_access,
                       struct problems *p);

/* What is wrong around it but may be mended while it runs: programs that are missing or not
 * executable. --check prints these too; a start only warns. */
void check_surroundings(const struct conf *conf, struct problems *p);

#endif
