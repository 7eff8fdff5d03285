/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program - finds a program as shells do; driver.
 */
#ifndef HELPER_PROGRAM_H
#define HELPER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* Writes the path of the program `name` into out, which has size bytes: name itself if it has a slash;
 * else the first file in the folders of PATH that somebody may execute, as far as this process can see.
 * env holds NAME=VALUE, and ends with NULL. Folders that are not absolute are left out, as each process
 * may have another working folder. False: there is no such file, or no room for its path. */
bool program_find(const char *name, const char *const *env, char *out, size_t size) MUST_CHECK;

#endif
