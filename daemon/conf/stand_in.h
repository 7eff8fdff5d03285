/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in - a configuration in which one file takes the place of another one, before it is put there:
 * `informerd --check --with` (docs/design.md "Checked before it is installed"); pure.
 */
#ifndef CONF_STAND_IN_H
#define CONF_STAND_IN_H

#include "base/file_set.h"
#include "conf/conf.h"

/* Reads the configuration of main_file as conf_read() does, with one file in the place of another one.
 * with is "FILE": FILE stands for the file of the configuration with the same base name, and messages name
 * FILE; or "NAME=FILE": FILE stands for the one whose path or base name is NAME, and messages name that one.
 * A name that no file has is added if a pattern of include matches it. It is a problem if there is none,
 * if two files have the name, or if FILE cannot be read. */
struct conf *stand_in_read(struct file_set *files, const char *main_file, const char *with,
                           struct problems *p) MUST_CHECK;

#endif
