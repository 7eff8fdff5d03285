/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_list - a set of JSON paths as text: each is followed by '\n', they are sorted by their
 * bytes, each stands there once; pure. An empty text is the empty set.
 */
#ifndef PROTO_PATH_LIST_H
#define PROTO_PATH_LIST_H

#include <stddef.h>

#include "base/buf.h"

/* What stands for the whole document: all its members or elements. */
#define PATH_LIST_ALL "*\n"

/* Makes a set of lines in any order. Returns how many paths it holds. */
size_t path_list_sort(struct buf *list);

/* Makes a set of lines in any order, of at most limit (>= 1) paths: if there are more, none keeps
 * more than its first N steps, with the greatest N at which they are at most limit; PATH_LIST_ALL
 * if N is 0. A line that is no path is kept whole. */
void path_list_limit(struct buf *list, size_t limit);

#endif
