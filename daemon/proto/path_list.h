/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_list - a set of JSON paths as text: one line for each path, sorted by their bytes, each
 * once; pure. An empty text is the empty set.
 */
#ifndef PROTO_PATH_LIST_H
#define PROTO_PATH_LIST_H

#include <stddef.h>

#include "base/buf.h"

/* The path of the whole document: all its members or elements. */
#define PATH_LIST_ALL "*\n"

/* Turns lines in any order into a set. Returns the number of paths in it. */
size_t path_list_sort(struct buf *list);

/* Turns lines in any order into a set of at most limit (>= 1) paths. If there are more, all are cut
 * to their first N steps, with the greatest N at which at most limit are left; if N is 0,
 * PATH_LIST_ALL is left. A line that is no path is kept whole. */
void path_list_limit(struct buf *list, size_t limit);

#endif
