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

/* Appends what of base differs from defaults, a struct that setting_defaults() has filled in: a line
 * for each, of dotted names, in the order of the table. So a setting that a later release adds leaves
 * the text as it is. For comparing, not for reading back; without NAMED settings. */
void setting_print_changed(const struct setting *table, const void *base, const void *defaults,
                           struct buf *out);

#endif
