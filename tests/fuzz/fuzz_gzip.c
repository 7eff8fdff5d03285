/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a compressed body, in one piece and in portions: both are complete with the same
 * content, or neither is complete. The first byte chooses the size of the portions. */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/panic.h"
#include "proto/gzip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct buf content;
    struct err err;
};

static void run(struct outcome *o, struct str body, size_t step)
{
    struct gzip *g = gzip_create();
    enum gzip_part part = GZIP_MORE;
    struct str piece;

    for (size_t at = 0; part == GZIP_MORE && at < body.n;) {
        struct str data = str_of(body.p + at, body.n - at < step ? body.n - at : step);

        at += data.n;
        while ((part = gzip_read(g, &data, &piece, &o->err)) == GZIP_PIECE) {
            ensure(piece.n > 0);
            buf_append_str(&o->content, piece);
        }
        ensure(part == GZIP_FAILED || data.n == 0);
    }
    ensure((part == GZIP_FAILED) == (o->err.kind != ERR_OK));
    ensure(o->content.len <= body.n * GZIP_RATIO + GZIP_ALLOWANCE_BYTES);
    if (part == GZIP_MORE)
        (void)!gzip_end(g, &o->err);
    gzip_destroy(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = {0};
    struct outcome cut = {0};

    if (size < 1)
        return 0;
    struct str body = str_of((const char *)data + 1, size - 1);

    run(&whole, body, SIZE_MAX);
    run(&cut, body, data[0] == 0 ? 1 : data[0]);
    ensure(whole.err.kind == cut.err.kind);
    ensure(whole.err.kind != ERR_OK || str_eq(buf_str(&whole.content), buf_str(&cut.content)));
    buf_free(&whole.content);
    buf_free(&cut.content);
    return 0;
}
