/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_base - opens the folder that stands before the first variable of an output file's path, by
 * no link that others than root could have put there; driver.
 */
#ifndef HELPER_OUTPUT_BASE_H
#define HELPER_OUTPUT_BASE_H

#include "base/compiler.h"

/* Opens an absolute path, close-on-exec; *fd is the caller's. For root a link counts only if it is
 * root's and nobody else could have moved it to where it is; for others any does. Returns 0 or an
 * errno: ELOOP is such a link, or too many. */
int output_base_open(const char *path, int *fd) MUST_CHECK;

#endif
