/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_mark - a mark on output files which shows that the helper wrote them: an extended attribute;
 * driver. main, which has fewer rights, can set it only on files that it may write, and so could empty.
 * That is why the helper may remove files of hooks that are not configured any more, although only
 * main knows their paths (docs/decisions.md "The helper marks output files").
 */
#ifndef HELPER_OUTPUT_MARK_H
#define HELPER_OUTPUT_MARK_H

#include <stdbool.h>

/* Marks an open file as written for the hook, unless it has a mark. A file system without such
 * attributes leaves it without, which is no error. */
void output_mark_set(int fd, const char *hook);

/* Has the open file a mark? */
bool output_mark_is(int fd);

#endif
