/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_walk - the place in a shape while the tokens of one object stream by: which members are
 * cut, and whether match holds; pure. It is told of tokens and tells what to do with their bytes.
 */
#ifndef KUBE_SHAPE_WALK_H
#define KUBE_SHAPE_WALK_H

#include <stdbool.h>

#include "kube/shape.h"
#include "proto/json_in.h"

struct shape_walk; /* reusable: one per stream */

/* What is known of a member from elsewhere. */
enum shape_walk_say {
    SHAPE_WALK_ASK,    /* nothing: the shape decides */
    SHAPE_WALK_STAYS,  /* it stays, if it has members not all of them */
    SHAPE_WALK_GOES,   /* it is cut */
    SHAPE_WALK_HIDDEN, /* it is cut, and match does not see it */
};

/* What a token means for the bytes of the object: what object_cut is told then. */
enum shape_walk_do {
    SHAPE_WALK_PASS, /* nothing */
    SHAPE_WALK_OPEN, /* the '{' of an object whose members may be cut */
    SHAPE_WALK_KEEP_KEY,
    SHAPE_WALK_CUT_KEY,
    SHAPE_WALK_KEEP_VALUE, /* the value of a member ends here ... */
    SHAPE_WALK_CUT_VALUE,  /* ... of one that was to be cut */
};

/* Follows a shape (NULL = all is kept and selected), which must outlive it. Never NULL. */
struct shape_walk *shape_walk_create(const struct shape *s);

/* Frees the walk and sets *w to NULL. NULL is fine. */
void shape_walk_destroy(struct shape_walk **w);

/* A new object begins. */
void shape_walk_begin(struct shape_walk *w);

/* How deep, counted from the object's own braces (its members: 1), tokens matter next. Deeper ones
 * must not be handed over. */
unsigned shape_walk_deepest(const struct shape_walk *w);

/* One token at this depth >= 1, in the object. say counts with a KEY only. */
enum shape_walk_do shape_walk_token(struct shape_walk *w, const struct json_token *t,
                                    unsigned depth, enum shape_walk_say say);

/* Behind the last token: match is to see one more member of the object, a string. */
void shape_walk_add(struct shape_walk *w, struct str key, struct str value);

/* Does match hold, as far as the object was seen? */
bool shape_walk_selected(const struct shape_walk *w);

#endif
