/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape - which parts of an object are kept, left out, and looked at: the paths of keep, drop and
 * match as one tree, immutable, and the walk that follows it while the tokens of an object stream
 * by; pure. The walk is given tokens and says what to do with their bytes.
 */
#ifndef KUBE_SHAPE_H
#define KUBE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "proto/json_in.h"

struct shape;

/* The entries of a watch (docs/design.md "Selection and pruning"). keep and drop have paths as in
 * json_path.h, without numeric indices. match has PATH=VALUE, PATH!=VALUE, PATH (present, not
 * null), !PATH (absent or null); a VALUE may stand in ' or ", with \ before such a quote inside.
 * All of them are copied. */
struct shape_params {
    const char *const *keep;
    size_t keep_count;
    const char *const *drop;
    size_t drop_count;
    const char *const *match;
    size_t match_count;
    const char *label_selector; /* labels that it names always stay; NULL or "" = none */
};

/* Makes a shape, which many readers may share. ERR_CONFIG says which entry is wrong, at which
 * character, and what was expected there; *out is then NULL. */
enum err_kind shape_create(const struct shape_params *p, struct shape **out,
                           struct err *err) MUST_CHECK;

/* Frees the shape and sets *s to NULL. NULL is fine. */
void shape_destroy(struct shape **s);

/* Checks an entry of keep or drop. ERR_CONFIG says at which character it is wrong, and what was
 * expected there. */
enum err_kind shape_check_path(const char *text, struct err *err) MUST_CHECK;

/* The same for an entry of match. */
enum err_kind shape_check_match(const char *text, struct err *err) MUST_CHECK;

/* Does the shape have paths of keep, and are all paths of keep and match in metadata? Then the
 * server may be asked for PartialObjectMetadata
 * (docs/kubernetes-protocol.md "PartialObjectMetadata"). */
bool shape_is_metadata_only(const struct shape *s);

struct shape_walk; /* one per stream, for one object after the other */

/* Facts about a member that the caller knows and that go before the shape. */
enum shape_walk_say {
    SHAPE_WALK_ASK,    /* no such fact: the shape decides */
    SHAPE_WALK_STAYS,  /* it stays; the shape decides about members inside of it */
    SHAPE_WALK_GOES,   /* it is cut */
    SHAPE_WALK_HIDDEN, /* it is cut, and match does not see it */
};

/* The meaning of a token for the bytes of the object, and so which cut_*() of
 * kube/object_scan follows. */
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
