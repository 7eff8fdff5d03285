/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_file - the main file and the files it includes, read one by one into a struct conf; driver.
 */
#ifndef CONF_CONF_FILE_H
#define CONF_CONF_FILE_H

#include "conf/conf.h"

/* Reads the main file at path and all files that it includes into c, which is zeroed, and fills in
 * defaults. A file that cannot be read or parsed is reported and passed over. Then the function
 * returns false, and the caller does not check references between settings: the cluster, watch or
 * hook that a reference names may stand in the file that is missing. */
bool conf_file_read(struct conf *c, const char *path, struct problems *p);

#endif
