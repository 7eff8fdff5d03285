/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_pick - members and elements of a json_tree by name, for readers of documents whose shape is
 * known; pure. What is absent, null or of another type gives what the reader says for "none".
 */
#ifndef PROTO_JSON_PICK_H
#define PROTO_JSON_PICK_H

#include <limits.h>
#include <stdbool.h>

#include "base/str.h"
#include "proto/json_tree.h"

/* No value. Everything asked of it is none again. 0 is the whole document. */
#define JSON_PICK_NONE UINT_MAX

/* The member of that name of value `in`; NONE if it has none. */
unsigned json_pick(const struct json_tree *t, unsigned in, const char *name);

/* The first value in an object or array, NONE if there is none. */
unsigned json_pick_first(const struct json_tree *t, unsigned in);

/* The value behind `at` in the same container, NONE at its end. */
unsigned json_pick_next(const struct json_tree *t, unsigned in, unsigned at);

/* Value `at` as decoded text, borrowed from the tree; empty unless it is a string. */
struct str json_pick_text(const struct json_tree *t, unsigned at);

/* The like for a member. */
struct str json_pick_str(const struct json_tree *t, unsigned in, const char *name);

/* A member that is true or false; else `none`. */
bool json_pick_bool(const struct json_tree *t, unsigned in, const char *name, bool none);

/* A member that is a whole number from 0 to max; else 0. */
unsigned json_pick_number(const struct json_tree *t, unsigned in, const char *name, unsigned max);

#endif
