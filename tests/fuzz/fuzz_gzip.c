/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a compressed body, whole and cut: both are complete with the same content, or neither is
 * complete. */
#include <stddef.h>
#include <stdint.h>

#include "fuzz_cut.h"
#include "proto/gzip.h"

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    struct gzip *g = gzip_create();
    enum gzip_part part = GZIP_MORE;
    struct err err = {0};
    struct str content;
    struct str piece;
    size_t read = 0;

    (void)arg;
    while (part == GZIP_MORE && fuzz_pieces_next(pieces, &piece)) {
        read += piece.n;
        while ((part = gzip_read(g, &piece, &content, &err)) == GZIP_PIECE) {
            ensure(content.n > 0);
            buf_append_str(seen, content);
        }
        ensure(part == GZIP_FAILED || piece.n == 0);
    }
    ensure((part == GZIP_FAILED) == (err.kind != ERR_OK));
    ensure(seen->len <= read * GZIP_RATIO + GZIP_ALLOWANCE_BYTES);
    if (part == GZIP_MORE)
        (void)!gzip_end(g, &err);
    gzip_destroy(&g);
    if (err.kind != ERR_OK) {
        buf_clear(seen); /* how much content came before the mistake was noticed */
        buf_printf(seen, "%d", (int)err.kind);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_cut_compare(str_of((const char *)data, n), read_all, NULL);
    return 0;
}
