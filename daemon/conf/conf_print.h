/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_print - the whole configuration as one file with every default filled in, and what it costs
 * in connections (docs/design.md "Printed configuration"); pure.
 */
#ifndef CONF_CONF_PRINT_H
#define CONF_CONF_PRINT_H

#include "conf/conf.h"

/* Appends all settings, those of included files united, so that reading the text gives the same
 * configuration; then, as comments, how many connections it keeps open. Values of environment are
 * shown. */
void conf_print(const struct conf *c, struct buf *out);

/* The connections to that cluster which stay open: one per stream. Watches that are equal but for
 * their names share theirs (conf_watch_equal()). */
size_t conf_print_streams(const struct conf *c, const char *cluster);

#endif
