/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_files - a folder of configuration files for one test, which works in there, so that names
 * in messages are short.
 */
#ifndef UNIT_CONF_FILES_H
#define UNIT_CONF_FILES_H

#include "conf/conf.h"

/* The setup of a test with cmocka: an empty folder, which becomes the working directory. */
int conf_files_enter(void **state);

/* Its teardown: removes the folder, in which main.conf and conf.d/[abc].conf may be. */
int conf_files_leave(void **state);

/* Lines 1 and 2 of a configuration: a cluster and the watch "w". */
#define CONF_FILES_WATCH                              \
    "clusters : { c : { kubeconfig = \"/k\"; }; };\n" \
    "watches : { w : { resource = \"nodes\"; }; };\n"

/* The settings that a hook of that watch needs. */
#define CONF_FILES_HOOK "sources = [ \"w\" ]; shell = \"x\";"

/* Settings, and the problem that is found in them. */
struct conf_files_mistake {
    const char *settings;
    const char *problem; /* without file and line */
};

/* Writes one of these files. */
void conf_files_write(const char *path, const char *text);

/* Reads a configuration from the disk, as conf_read() does. */
struct conf *conf_files_try(const char *path, struct problems *p) MUST_CHECK;

/* Reads a configuration that must be right. */
struct conf *conf_files_read(const char *path) MUST_CHECK;

/* Reads text, which must be right, and puts the printed configuration into out, which is empty.
 * Reading that and printing it again must give the same. */
void conf_files_print(const char *text, struct buf *out);

/* Reads path and expects exactly these problems. */
void conf_files_expect(const char *path, const char *problems);

/* For each mistake, reads CONF_FILES_WATCH, then a line of `before`, the settings, and `behind`, and
 * expects that problem in that line alone. */
void conf_files_expect_each(const struct conf_files_mistake *mistakes, size_t n, const char *before,
                            const char *behind);

#endif
