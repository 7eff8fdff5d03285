/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_pick - finds members and elements of a json_tree, for readers of documents whose shape is
 * known; pure. A value that is absent, null or of another type gives the same result as no value.
 */
#ifndef PROTO_JSON_PICK_H
#define PROTO_JSON_PICK_H

#include <limits.h>
#include <stdbool.h>

#include "base/str.h"
#include "proto/json_tree.h"

/* No value. All functions but json_pick_next() take it, and give no value again. Index 0 is the
 * whole document. */
#define JSON_PICK_NONE UINT_MAX

/* The member `name` of object `in`; NONE if there is no such member, or `in` is no object. */
unsigned json_pick(const struct json_tree *t, unsigned in, const char *name);

/* The first value in an object or array; NONE if it is empty. */
unsigned json_pick_first(const struct json_tree *t, unsigned in);

/* The value behind `at` in the same container `in`; NONE at its end. Neither may be NONE. */
unsigned json_pick_next(const struct json_tree *t, unsigned in, unsigned at);

/* The text of string `at`, decoded and borrowed from the tree; empty if `at` is no string. */
struct str json_pick_text(const struct json_tree *t, unsigned at);

/* The text of the member `name`, as json_pick_text(). */
struct str json_pick_str(const struct json_tree *t, unsigned in, const char *name);

/* The member `name` if it is true or false; else `none`. */
bool json_pick_bool(const struct json_tree *t, unsigned in, const char *name, bool none);

/* The member `name` if it is a whole number from 0 to max, written in digits only; else 0. */
unsigned json_pick_number(const struct json_tree *t, unsigned in, const char *name, unsigned max);

#endif
