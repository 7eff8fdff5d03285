/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes - what is different in an object, as a list of paths: member `changed` of an event
 * (docs/design.md "Changed paths"); pure. A list is text: paths as json_diff() gives them, each
 * followed by a newline, sorted by their bytes, each once, at most CHANGES_MAX. An empty text is an
 * empty list.
 */
#ifndef HOOK_CHANGES_H
#define HOOK_CHANGES_H

#include "base/buf.h"
#include "kube/object.h"

enum { CHANGES_MAX = 100 };

/* The paths at which two states of an object differ, without metadata.resourceVersion,
 * metadata.generation and managedFields, as object_same() sees it; empty if one of them is NULL.
 * Shortened to their first steps if there are more than CHANGES_MAX; "*" if not even their first
 * steps are few enough. The caller's: release with buf_free(). */
struct buf changes_between(const struct object *was, const struct object *is) MUST_CHECK;

/* Adds the list more to the list in lines. Shortened likewise. */
void changes_unite(struct buf *lines, struct str more);

#endif
