/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_type - one reader per kind of value, for the engine in setting.c; pure.
 */
#ifndef CONF_SETTING_TYPE_H
#define CONF_SETTING_TYPE_H

#include "conf/setting.h"

/* Reads the element into the value at slot, of any type except GROUP and NAMED. A bad element is
 * reported and leaves the old value. Sets the place in both cases. */
void setting_type_read(const struct setting_reader *r, const struct setting *s, void *slot,
                       const struct config_setting_t *e);

/* Frees what the value at slot owns. */
void setting_type_fini(const struct setting *s, void *slot);

#endif
