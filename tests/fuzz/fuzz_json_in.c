/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON text, whole and cut: the same tokens, and the same verdict. */
#include "base/buf.h"
#include "fuzz_cut.h"
#include "proto/json_in.h"

static bool on_token(void *arg, const struct json_token *t)
{
    buf_printf(arg, "%d %u %llu %zu ", (int)t->type, t->depth, (unsigned long long)t->end,
               t->text.n);
    buf_append_str(arg, t->text);
    return true;
}

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    struct json_in *j = json_in_create(16, on_token, seen);
    enum err_kind kind = ERR_OK;
    struct str piece;
    struct err err;

    (void)arg;
    while (kind == ERR_OK && fuzz_pieces_next(pieces, &piece))
        kind = json_in_feed(j, piece.p, piece.n, &err);
    if (kind == ERR_OK)
        kind = json_in_finish(j, &err);
    json_in_destroy(&j);
    if (kind != ERR_OK) {
        buf_clear(seen); /* how many tokens came before the mistake was noticed */
        buf_printf(seen, "%d", kind == ERR_TOO_BIG);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_cut_compare(str_of((const char *)data, n), read_all, NULL);
    return 0;
}
