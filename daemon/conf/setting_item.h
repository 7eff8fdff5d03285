/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setting_item - one scalar as it stands in a file: its text, place and meaning, and the messages
 * when it is wrong; pure.
 */
#ifndef CONF_SETTING_ITEM_H
#define CONF_SETTING_ITEM_H

#include "conf/setting.h"

/* The place of the element. While defaults are read there is no file: line 0. */
struct where setting_item_place(const struct setting_reader *r, const struct config_setting_t *e);

/* Adds a problem at the line of the element: its dotted path, and the text right behind that. */
void setting_item_report(const struct setting_reader *r, const struct config_setting_t *e,
                         const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Reports that the element has the wrong type; expected is the right one ("a group { }"). */
void setting_item_mismatch(const struct setting_reader *r, const struct config_setting_t *e,
                           const char *expected);

/* The bytes of a string, borrowed from libconfig; NULL after a report if e is no string. */
const char *setting_item_text(const struct setting_reader *r, const struct setting *s,
                              const struct config_setting_t *e, const char *expected);

/* Does the text keep the row's own rule (check)? Reports if not. */
bool setting_item_passes(const struct setting_reader *r, const struct setting *s,
                         const struct config_setting_t *e, const char *text);

/* Reads a whole number within the row's range; false after a report. */
bool setting_item_whole(const struct setting_reader *r, const struct setting *s,
                        const struct config_setting_t *e, int64_t *out);

/* Reads a duration within the row's range, in ms; false after a report. */
bool setting_item_duration(const struct setting_reader *r, const struct setting *s,
                           const struct config_setting_t *e, uint64_t *out);

/* Reads a size within the row's range, in bytes; false after a report. */
bool setting_item_size(const struct setting_reader *r, const struct setting *s,
                       const struct config_setting_t *e, uint64_t *out);

/* The index of the element in the row's words, or -1 after a report. */
int setting_item_word(const struct setting_reader *r, const struct setting *s,
                      const struct config_setting_t *e);

#endif
