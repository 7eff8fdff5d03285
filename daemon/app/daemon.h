/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon - the composition root: builds the graph of all layers from the configuration, owns it,
 * and takes it down in reverse.
 */
#ifndef APP_DAEMON_H
#define APP_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/cluster_access.h"
#include "conf/conf.h"
#include "state/folder.h"

/* What main() prepared with the rights it was started with. Borrowed; must outlive daemon_run(). */
struct daemon_params {
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    const char *node_name;
    int helper_fd;               /* taken */
    int control_fd;              /* taken; -1 = nobody can ask */
    const struct folder *folder; /* of the state; NULL: nothing is kept */
    const char *folder_reason;   /* folder NULL: why nothing can be kept, if it should be */
    uid_t started_uid;
    bool dry_run;     /* hooks are not started */
    uint64_t once_ms; /* not 0: --once, and how long it may take */
};

/* Runs until a signal ends it or the helper is lost. Returns the exit code. */
int daemon_run(const struct daemon_params *params);

#endif
