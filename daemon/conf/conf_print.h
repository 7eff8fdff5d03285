/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_print - the whole configuration as one file with every default filled in, and the number of
 * connections that it keeps open (docs/design.md "Printed configuration"); pure.
 */
#ifndef CONF_CONF_PRINT_H
#define CONF_CONF_PRINT_H

#include "conf/conf.h"

/* Appends all settings, with those of included files, so that reading the text gives the same
 * configuration. Behind them, as comments of the file, stands how many connections stay open: one for
 * each scope of each watch, and watches that are equal except for their names share theirs. The values
 * of environment are shown in plain text. */
void conf_print(const struct conf *c, struct buf *out);

#endif
