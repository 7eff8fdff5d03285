/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_print - writes what a settings table has filled in as a file that, read again, fills in
 * the same; pure.
 */
#ifndef CONF_SETTING_PRINT_H
#define CONF_SETTING_PRINT_H

#include "conf/setting.h"

/* Appends every setting of base, defaults included, one to a line and indented by so many
 * spaces. */
void setting_print(const struct setting *table, const void *base, int indent, struct buf *out);

#endif
