/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_walk - the place in a shape while the tokens of one object stream by: which members are
 * cut, and whether match holds; pure. The walk is given tokens and says what to do with their
 * bytes.
 */
#ifndef KUBE_SHAPE_WALK_H
#define KUBE_SHAPE_WALK_H

#include <stdbool.h>

#include "kube/shape.h"
#include "proto/json_in.h"

struct shape_walk; /* one per stream, for one object after the other */

/* Facts about a member that the caller knows and that go before the shape. */
enum shape_walk_say {
    SHAPE_WALK_ASK,    /* no such fact: the shape decides */
    SHAPE_WALK_STAYS,  /* it stays; the shape decides about members inside of it */
    SHAPE_WALK_GOES,   /* it is cut */
    SHAPE_WALK_HIDDEN, /* it is cut, and match does not see it */
};

/* The meaning of a token for the bytes of the object, and so the call of object_cut that
 * follows. */
enum shape_walk_do {
    SHAPE_WALK_PASS, /* nothing */
    SHAPE_WALK_OPEN, /* the '{' of an object whose members may be cut */
    SHAPE_WALK_KEEP_KEY,
    SHAPE_WALK_CUT_KEY,
    SHAPE_WALK_KEEP_VALUE, /* the value of a kept member ends here */
    SHAPE_WALK_CUT_VALUE,  /* the value of a cut member ends here */
};

/* Makes a walk that follows a shape, which must outlive it. NULL = a shape that keeps and selects
 * everything. Never NULL. */
struct shape_walk *shape_walk_create(const struct shape *s);

/* Frees the walk and sets *w to NULL. NULL is fine. */
void shape_walk_destroy(struct shape_walk **w);

/* Begins a new object. */
void shape_walk_begin(struct shape_walk *w);

/* How deep, counted from the object's own braces (its members: 1), tokens matter next. Deeper ones
 * must not be handed over. */
unsigned shape_walk_deepest(const struct shape_walk *w);

/* Takes one token in the object, at this depth >= 1. say counts for a KEY only. */
enum shape_walk_do shape_walk_token(struct shape_walk *w, const struct json_token *t,
                                    unsigned depth, enum shape_walk_say say);

/* Shows match one more member of the object, a string, after the last token. */
void shape_walk_add(struct shape_walk *w, struct str key, struct str value);

/* Does match hold, as far as the object was seen? */
bool shape_walk_selected(const struct shape_walk *w);

#endif
