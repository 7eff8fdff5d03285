/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_print - writes the values that a settings table has filled in as a file that gives the
 * same values when it is read again; pure.
 */
#ifndef CONF_SETTING_PRINT_H
#define CONF_SETTING_PRINT_H

#include "conf/setting.h"

/* Appends the value that is in slot, as a file has it: values with the same text are the same, but for the
 * order of maps. The setting is no GROUP and not NAMED. */
void setting_print_value(const struct setting *s, const void *slot, struct buf *out);

/* Appends every setting of base, defaults included, one on each line, indented by so many spaces.
 * Of a NAMED setting all elements are printed. */
void setting_print(const struct setting *table, const void *base, int indent, struct buf *out);

/* Appends the settings of base that differ from defaults, a struct that setting_defaults() has
 * filled in: a line with the dotted name and the value of each, in the order of the table. Only those
 * of this class; SETTING_NO_CLASS: all. As defaults are left out, a setting that a later release adds
 * does not change the text. The text is for comparing, not for reading back. The table must have no
 * NAMED settings. */
void setting_print_changed(const struct setting *table, enum setting_change class, const void *base,
                           const void *defaults, struct buf *out);

#endif
