/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon - the composition root: builds the objects of all layers from the configuration, owns
 * them, and takes them down in reverse order.
 */
#ifndef APP_DAEMON_H
#define APP_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/cluster_access.h"
#include "app/monitoring.h"
#include "app/replay_plan.h"
#include "conf/conf.h"
#include "state/folder.h"

/* The configuration, and the descriptors that were opened with the rights that informerd was
 * started with. Borrowed; must outlive daemon_run(). */
struct daemon_params {
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    const char *node_name;
    int helper_fd;  /* main's end of the socket to the helper; taken */
    int control_fd; /* of listener_bind(), taken; -1 = no control socket */
    /* Of metrics.listen, taken; NULL = none, whatever the configuration says. */
    struct monitoring_sockets *sockets;
    struct folder *folder; /* of the state, which daemon_run() closes; NULL: nothing is kept */
    /* If folder is NULL: why, when the state should be kept; else NULL. */
    const char *folder_reason;
    uid_t started_uid;
    bool dry_run; /* no hook is started */
    /* Of --log-level: the level of the log does not follow the configuration. */
    bool log_is_fixed;
    uint64_t
        once_ms; /* not 0: --once, and after how many ms it is given up; --timeout of a replay */
    /* The recording that is played in the place of all clusters; NULL = no replay. At its end
     * informerd ends as with --once. */
    struct replay_plan *replay;
    double replay_speed; /* as in struct replay_player_params */
};

/* Runs until a signal ends it, --once is done, or the helper is lost. Returns the exit code
 * (docs/design.md "Exit codes"). */
int daemon_run(const struct daemon_params *params);

#endif
