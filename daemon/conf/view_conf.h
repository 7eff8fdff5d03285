/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_conf - the settings of views.NAME; pure.
 */
#ifndef CONF_VIEW_CONF_H
#define CONF_VIEW_CONF_H

#include "conf/conf.h"
#include "conf/setting.h"

/* The table that fills a struct conf_view. */
extern const struct setting view_conf_settings[];

/* Reports a name that a watch has, too, and names of watches that do not exist. Whether the watches
 * have the right resources only the cache can say: app/check.h asks it. */
void view_conf_check(const struct conf *c, const struct conf_view *view, struct problems *p);

#endif
