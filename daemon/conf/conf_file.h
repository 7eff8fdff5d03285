/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_file - the main file and the files it includes, read one by one into a struct conf; driver.
 */
#ifndef CONF_CONF_FILE_H
#define CONF_CONF_FILE_H

#include "conf/conf.h"

/* Reads all of them into c, which is zeroed, and fills in defaults. A file that cannot be read or
 * parsed is reported and passed over; then it returns false, and references between settings are
 * not worth checking. */
bool conf_file_read(struct conf *c, const char *path, struct problems *p);

#endif
