/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_base - opens the fixed folder of an output file, which stands before the first variable of
 * the path, and follows no link that others than root could have put there; driver.
 */
#ifndef HELPER_OUTPUT_BASE_H
#define HELPER_OUTPUT_BASE_H

#include "base/compiler.h"

/* Opens the folder at an absolute path, close-on-exec; *fd is the caller's to close, -1 on errors.
 * As root it follows a link only if the link belongs to root and nobody else could have moved it to
 * its place; other users follow every link. Returns 0 or an errno: ELOOP for a link that root does
 * not follow, or for too many links (docs/decisions.md "The path of an output file is made by the
 * helper"). */
int output_base_open(const char *path, int *fd) MUST_CHECK;

#endif
