/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac - what the watches of a configuration need to be allowed, and to whom (--print-rbac).
 */
#ifndef APP_RBAC_H
#define APP_RBAC_H

#include "app/cluster_access.h"
#include "app/options.h"
#include "conf/conf.h"
#include "kube/rbac.h"

/* Prints the smallest roles and bindings, cluster by cluster, to stdout; asks no server. subject
 * NULL: whom the credential of each cluster names. Returns the exit code; EXIT_CODE_CONFIG, with
 * what to write printed to stderr: the group of a resource is not known; EXIT_CODE_USAGE: a
 * credential names nobody, and nobody is given. */
int rbac_print(const struct conf *conf, const struct cluster_access_list *cluster_access,
               const struct rbac_subject *subject);

#endif
