/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes - the paths at which two states of an object differ, for the member `changed` of an event
 * (docs/design.md "Changed paths"); pure. A list of paths is text: paths as json_diff() gives them,
 * each followed by a newline, sorted by their bytes, each once, at most CHANGES_MAX. An empty text
 * is an empty list.
 */
#ifndef HOOK_CHANGES_H
#define HOOK_CHANGES_H

#include "base/buf.h"
#include "kube/object.h"

enum { CHANGES_MAX = 100 };

/* The paths at which two states of an object differ, without metadata.resourceVersion,
 * metadata.generation and managedFields, as object_same() sees it; empty if one of the states is
 * NULL. More than CHANGES_MAX paths are shortened to their first steps; if even these are too many,
 * the list is "*". The caller owns the result: release it with buf_free(). */
struct buf changes_between(const struct object *was, const struct object *is) MUST_CHECK;

/* Adds the list more to the list in lines, and shortens the union in the same way. */
void changes_unite(struct buf *lines, struct str more);

#endif
