/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_conf - the settings of watches.NAME; pure.
 */
#ifndef CONF_WATCH_CONF_H
#define CONF_WATCH_CONF_H

#include "conf/conf.h"
#include "conf/setting.h"

/* The table that fills a struct conf_watch. */
extern const struct setting watch_conf_settings[];

/* If the watch names no cluster, fills in the only one of c. If persist is not set, fills in its
 * default for the resource of the watch. Reports problems that only several settings together
 * show. */
void watch_conf_check(const struct conf *c, struct conf_watch *watch, struct problems *p);

#endif
