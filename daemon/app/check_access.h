/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_access - `informerd --check-access`: checks each server of each cluster, side by side, and
 * prints the results. No hook runs, and no file is written.
 */
#ifndef APP_CHECK_ACCESS_H
#define APP_CHECK_ACCESS_H

#include "app/cluster_access.h"
#include "conf/conf.h"

struct check_access_params {
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    const char *node_name;
    char **nodes;  /* check_access_nodes() */
    int helper_fd; /* of helper_start(); is taken over */
};

/* As whose kubelet informerd works with the credential of each server, as far as that is known: one
 * name or NULL for each server of each cluster in turn. Reads credential files, so it is to be called
 * with the rights that informerd was started with. The caller releases the names with
 * check_access_free_nodes(). */
char **check_access_nodes(const struct cluster_access_list *l) MUST_CHECK;

/* Frees the names of these clusters and sets *nodes to NULL. */
void check_access_free_nodes(const struct cluster_access_list *l, char ***nodes);

/* Returns the exit code: EXIT_CODE_OK, EXIT_CODE_NO_PERMISSION (something is not ok), or
 * EXIT_CODE_FAILED (the helper has ended, or stdout cannot be written). */
int check_access_run(const struct check_access_params *p);

#endif
