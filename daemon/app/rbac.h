/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac - prints which rights the watches of a configuration need, and who gets them (--print-rbac).
 */
#ifndef APP_RBAC_H
#define APP_RBAC_H

#include "app/cluster_access.h"
#include "app/options.h"
#include "conf/conf.h"
#include "kube/rbac.h"

/* Prints the smallest roles and bindings to stdout, cluster by cluster; asks no server. subject
 * NULL: those whom the credential of each cluster names. Returns the exit code.
 * EXIT_CODE_CONFIG: only a server knows the group of a resource; stderr says what to write
 * instead. EXIT_CODE_USAGE: a credential names nobody, and no subject is given.
 * EXIT_CODE_FAILED: stdout cannot be written. */
int rbac_print(const struct conf *conf, const struct cluster_access_list *cluster_access,
               const struct rbac_subject *subject);

#endif
