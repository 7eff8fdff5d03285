/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_ref - random JSON together with the tokens that it was made from, and a list of the tokens
 * that a reader saw, to compare with. For tests.
 */
#ifndef UNIT_JSON_REF_H
#define UNIT_JSON_REF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"
#include "proto/json_in.h"

/* A token with a text of its own. */
struct ref_token {
    enum json_type type;
    unsigned depth;
    uint64_t end;
    size_t text_at;
    size_t text_n;
};

struct ref_tokens {
    struct ref_token v[4096];
    size_t n;
    struct buf texts;
};

/* Adds a token; matches json_in_cb. */
bool ref_add(void *arg, const struct json_token *t);

/* Empties the list; keeps the memory of its texts, which buf_free(&l->texts) releases. */
void ref_clear(struct ref_tokens *l);

/* Fails the test unless both hold the same tokens. */
void ref_assert_same(const struct ref_tokens *a, const struct ref_tokens *b);

/* Text in the making. Zero-initialised; the seed goes into rng. */
struct gen {
    struct rng rng;
    struct buf text;
    struct ref_tokens tokens; /* of text */
};

/* A random number below n > 0. */
size_t gen_below(struct gen *g, size_t n);

/* Appends white space, or none. */
void gen_space(struct gen *g);

/* Appends one value at depth, at most height containers high. */
void gen_value(struct gen *g, unsigned depth, unsigned height);

/* Empties text and tokens. */
void gen_clear(struct gen *g);

/* Releases the memory. */
void gen_free(struct gen *g);

#endif
