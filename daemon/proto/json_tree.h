/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_tree - one JSON text as a flat array of its values, parents before their children; pure.
 * Readers skip whole subtrees, or compare them by their bytes.
 */
#ifndef PROTO_JSON_TREE_H
#define PROTO_JSON_TREE_H

#include "base/buf.h"
#include "base/err.h"
#include "proto/json_in.h"

struct json_value {
    enum json_type type;
    /* The index behind the last value inside this one: of its next sibling, or the `next` of its
     * parent if it is the last child. The first child of a container stands right behind it. */
    unsigned next;
    struct str name;  /* decoded name of a member of an object; else empty */
    struct str bytes; /* STRING: decoded; NUMBER: as written; container: with its brackets */
};

/* Zero-initialised except for text, which is borrowed: names and bytes point into text and into
 * decoded. */
struct json_tree {
    struct str text;
    struct json_value *v;
    unsigned n;
    unsigned cap;
    struct buf decoded; /* strings that had escapes; never moves */
};

/* Reads t->text. ERR_PROTOCOL, ERR_CLOSED or ERR_TOO_BIG as json_in_scan(); ERR_TOO_BIG also for
 * more than a million values. Release with json_tree_free(), after an error, too. */
enum err_kind json_tree_read(struct json_tree *t, struct err *err) MUST_CHECK;

/* Releases the memory and zeroes the tree. t->text stays the caller's. */
void json_tree_free(struct json_tree *t);

#endif
