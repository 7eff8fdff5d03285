/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_model - random JSON values as trees, which can be changed a little and written in different
 * ways, and a naive diff of two of them. For tests.
 */
#ifndef UNIT_JSON_MODEL_H
#define UNIT_JSON_MODEL_H

#include "json_ref.h"

/* How a value is written as text. */
enum model_style {
    MODEL_LOOSE, /* white space, escapes and the order of members as the generator likes it */
    MODEL_EXACT, /* equal values are equal bytes; null is a string that no other value has */
};

struct model;

/* A value at most height containers high. Never NULL. */
struct model *model_random(struct gen *g, unsigned height);

/* Frees the value and sets *m to NULL. */
void model_free(struct model **m);

/* A copy with changes in some places, or in none. Never NULL. */
struct model *model_changed(const struct model *m, struct gen *g);

/* Appends it as JSON; g is for LOOSE alone. */
void model_put(const struct model *m, enum model_style style, struct gen *g, struct buf *out);

/* Appends a line "PATH\tTEXT\n" for each scalar of the value. */
void model_put_leaves(const struct model *m, struct buf *out);

/* Appends the paths that json_diff() finds, one a line, in any order, some of them more than once;
 * none with more than max steps. */
void model_diff(const struct model *a, const struct model *b, size_t max, struct buf *lines);

#endif
