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

/* Fills in the only cluster of c if the watch names none, and how its resource is kept unless that is
 * set; reports what only several settings together show. */
void watch_conf_check(const struct conf *c, struct conf_watch *watch, struct problems *p);

#endif
