/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_cut - for targets of readers that get their text in pieces: a text that is cut must be read as the
 * same text in one piece.
 */
#ifndef FUZZ_CUT_H
#define FUZZ_CUT_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "fuzz_input.h"

/* A text on its way to a reader. */
struct fuzz_pieces {
    struct str rest;
    size_t next;   /* bytes of the next piece */
    size_t others; /* bytes of those behind it */
    char *
        copy; /* of the last piece: in memory of its own, so that ASan sees a read behind its end */
};

/* Gives the next piece, which is valid until the next call. False: there is none. */
static inline bool fuzz_pieces_next(struct fuzz_pieces *p, struct str *piece)
{
    size_t n = p->rest.n < p->next ? p->rest.n : p->next;

    free(p->copy);
    p->copy = n > 0 ? mem_dup(p->rest.p, n) : NULL;
    *piece = str_of(p->copy, n);
    p->rest = str_of(p->rest.p + n, p->rest.n - n);
    p->next = p->others;
    return n > 0;
}

/* Reads the pieces until there are no more or the text is refused, and appends all that it has understood, and
 * its verdict. (Readers of JSON throw the end of a string away that is longer than 8 KiB; libFuzzer's inputs are
 * shorter.) */
typedef void fuzz_reader(void *arg, struct fuzz_pieces *pieces, struct buf *seen);

/* Reads the input behind its first three bytes twice: in one piece, and cut. The first two bytes are the
 * length of the first piece, the third one that of the others; 0 = all that is left. */
static inline void fuzz_cut_compare(struct str in, fuzz_reader *read, void *arg)
{
    size_t first = fuzz_take_byte(&in);
    struct buf whole = {0};
    struct buf cut = {0};

    first |= (size_t)fuzz_take_byte(&in) << 8;
    size_t others = fuzz_take_byte(&in);
    if (others == 0)
        others = SIZE_MAX;
    struct fuzz_pieces one = {.rest = in, .next = SIZE_MAX, .others = SIZE_MAX};
    struct fuzz_pieces many = {.rest = in, .next = first > 0 ? first : others, .others = others};
    read(arg, &one, &whole);
    read(arg, &many, &cut);
    if (!str_eq(buf_str(&whole), buf_str(&cut)))
        panic("whole: %.*s\ncut: %.*s", (int)whole.len, whole.data, (int)cut.len, cut.data);
    free(one.copy);
    free(many.copy);
    buf_free(&whole);
    buf_free(&cut);
}

#endif
