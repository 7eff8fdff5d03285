/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_tree - one JSON text as a flat array of its values, parents before their children; pure.
 * Whole subtrees are skipped or compared by their bytes.
 */
#ifndef PROTO_JSON_TREE_H
#define PROTO_JSON_TREE_H

#include "base/buf.h"
#include "base/err.h"
#include "proto/json_in.h"

struct json_value {
    enum json_type type;
    /* Behind the last value in this one: its next sibling, or where those of its parent's end. The
     * first child of a container stands right behind it. */
    unsigned next;
    struct str name;  /* of a member of an object: decoded; else empty */
    struct str bytes; /* STRING: decoded; NUMBER: as written; container: with its brackets */
};

/* Zero-initialised but for text, which is borrowed: names and bytes point into it and decoded. */
struct json_tree {
    struct str text;
    struct json_value *v;
    unsigned n;
    unsigned cap;
    struct buf decoded; /* strings with escapes in them; never moves */
};

/* Reads t->text. ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan(); ERR_TOO_BIG also for
 * more than a million values. Release with json_tree_free() in any case. */
enum err_kind json_tree_read(struct json_tree *t, struct err *err) MUST_CHECK;

/* Releases the memory. */
void json_tree_free(struct json_tree *t);

#endif
