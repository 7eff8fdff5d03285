/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_conf - the settings and sections at the top of the files; pure.
 */
#ifndef CONF_MAIN_CONF_H
#define CONF_MAIN_CONF_H

#include "conf/conf.h"
#include "conf/setting.h"

/* The table that fills a struct conf. */
extern const struct setting main_conf_settings[];

/* Reports problems that only several of the single settings together show. */
void main_conf_check(const struct conf *c, struct problems *p);

#endif
