/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte is the size of the pieces: tokens must not depend on it. */
#include "base/buf.h"
#include "base/panic.h"
#include "proto/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool on_token(void *arg, const struct json_token *t)
{
    buf_printf(arg, "%d %u %llu %zu ", (int)t->type, t->depth, (unsigned long long)t->end,
               t->text.n);
    buf_append_str(arg, t->text);
    return true;
}

static bool read_all(struct str text, size_t piece, struct buf *seen)
{
    struct json_in *j = json_in_create(16, on_token, seen);
    enum err_kind kind = ERR_OK;
    struct err err;

    for (size_t i = 0; kind == ERR_OK && i < text.n; i += piece)
        kind = json_in_feed(j, text.p + i, piece < text.n - i ? piece : text.n - i, &err);
    if (kind == ERR_OK)
        kind = json_in_finish(j, &err);
    json_in_destroy(&j);
    return kind == ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf whole = {0};
    struct buf pieces = {0};

    if (n < 2 || data[0] == 0)
        return 0;
    struct str text = str_of((const char *)data + 1, n - 1);
    bool ok = read_all(text, text.n, &whole);
    ensure(ok == read_all(text, data[0], &pieces));
    ensure(!ok || str_eq(buf_str(&whole), buf_str(&pieces)));
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
