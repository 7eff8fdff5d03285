/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_files - a folder of configuration files for one test, which works in there, so that names
 * in messages are short.
 */
#ifndef UNIT_CONF_FILES_H
#define UNIT_CONF_FILES_H

#include "conf/conf.h"

/* Setup and teardown of a test: the folder holds main.conf and conf.d/[abc].conf at most. */
int conf_files_enter(void **state);
/* See above. */
int conf_files_leave(void **state);

/* Writes one of them. */
void conf_files_write(const char *path, const char *text);

/* Reads a configuration that must be right. */
struct conf *conf_files_read(const char *path) MUST_CHECK;

/* Reads text, which must be right, and puts what is printed of it into out, which is empty: read
 * again, that is printed the same. */
void conf_files_print(const char *text, struct buf *out);

/* Reads path and expects exactly these problems. */
void conf_files_expect(const char *path, const char *problems);

#endif
