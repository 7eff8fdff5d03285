/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_conf - the settings of clusters.NAME; pure.
 */
#ifndef CONF_CLUSTER_CONF_H
#define CONF_CLUSTER_CONF_H

#include "conf/conf.h"
#include "conf/setting.h"

/* The table that fills a struct conf_cluster. */
extern const struct setting cluster_conf_settings[];

/* Reports problems that only several settings of the cluster together show. */
void cluster_conf_check(const struct conf_cluster *cluster, struct problems *p);

#endif
