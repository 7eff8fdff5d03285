/* SPDX-License-Identifier: Apache-2.0 */
#include "body_pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

enum { MOST_BYTES = 11 };

enum err_kind body_pieces_feed(struct str body, size_t first, size_t piece,
                               enum err_kind (*feed)(void *reader, const char *data, size_t n,
                                                     struct err *err),
                               void *reader, struct err *err)
{
    enum err_kind kind = ERR_OK;

    for (size_t i = 0, n = first; kind == ERR_OK && i < body.n; i += n, n = piece) {
        if (n > body.n - i)
            n = body.n - i;
        char *copy = mem_dup(body.p + i, n);
        kind = feed(reader, copy, n, err);
        free(copy);
    }
    return kind;
}

void body_pieces_check(const char *body,
                       enum err_kind (*read)(struct str body, size_t first, size_t piece,
                                             struct err *err),
                       struct buf *said, const char *want)
{
    struct err err = {0};

    for (size_t cut = 1; cut <= strlen(body); cut++) {
        assert_int_equal(read(str_c(body), cut, strlen(body), &err), ERR_OK);
        assert_string_equal(buf_cstr(said), want);
    }
    for (size_t piece = 1; piece <= MOST_BYTES; piece++) {
        assert_int_equal(read(str_c(body), piece, piece, &err), ERR_OK);
        assert_string_equal(buf_cstr(said), want);
    }
}
