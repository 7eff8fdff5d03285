/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspection - the findings of informerctl doctor about this machine and the configuration: programs of
 * hooks, the file system of the state, descriptors, units of systemd, the name of the node, other
 * daemons. It reads local files and asks nobody. Files that informerd may not see are no findings.
 */
#ifndef APP_INSPECTION_H
#define APP_INSPECTION_H

#include "admin/finding.h"
#include "conf/conf.h"

struct admin_watch;

/* Calls cb for each finding. watches are those of conf, in its order. */
void inspection_run(const struct conf *conf, const struct admin_watch *watches,
                    const char *node_name, finding_cb *cb, void *arg);

#endif
