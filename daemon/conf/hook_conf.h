/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_conf - the settings of hooks.NAME; pure.
 */
#ifndef CONF_HOOK_CONF_H
#define CONF_HOOK_CONF_H

#include "conf/conf.h"
#include "conf/setting.h"

/* The table that fills a struct conf_hook. */
extern const struct setting hook_conf_settings[];

/* Fills in the default of settle, which depends on mode. Reports references to watches, views and
 * hooks that do not exist, and problems that only several settings together show. */
void hook_conf_check(const struct conf *c, struct conf_hook *hook, struct problems *p);

#endif
