/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message, whole and cut: the same head, body and end. The first byte chooses a response or a
 * request. */
#include <stddef.h>
#include <stdint.h>

#include "fuzz_cut.h"
#include "proto/http_in.h"

static void put_head(struct buf *out, const struct http_head *h)
{
    const struct str texts[] = {h->method,           h->target,   h->host,    h->content_type,
                                h->content_encoding, h->location, h->warnings};

    buf_printf(out, "%d %lld %lld %d\n", h->status, (long long)h->retry_after_s,
               (long long)h->date_s, h->keep_alive);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_printf(out, "%.*s\n", STR_ARG(texts[i]));
}

/* Takes the parts that one piece completes. */
static enum http_in_part read_piece(struct http_in *h, struct str *data, struct buf *seen,
                                    struct err *err)
{
    enum http_in_part part;
    struct str body;

    while ((part = http_in_read(h, data, &body, err)) == HTTP_IN_HEAD || part == HTTP_IN_BODY) {
        ensure(part == HTTP_IN_HEAD || body.n > 0);
        if (part == HTTP_IN_HEAD)
            put_head(seen, http_in_head(h));
        else
            buf_append_str(seen, body);
    }
    ensure(data->n == 0 || part != HTTP_IN_MORE);
    ensure((part == HTTP_IN_FAILED) == (err->text[0] != '\0'));
    return part;
}

static void read_all(void *arg, struct fuzz_pieces *pieces, struct buf *seen)
{
    const struct http_limits limits = {200, 300};
    const enum http_in_kind *kind = arg;
    struct http_in *h = http_in_create(*kind, &limits);
    enum http_in_part part = HTTP_IN_MORE;
    struct str piece = {0};
    struct err err = {0};

    while (part == HTTP_IN_MORE && fuzz_pieces_next(pieces, &piece))
        part = read_piece(h, &piece, seen, &err);
    if (part == HTTP_IN_END)
        buf_printf(seen, "%zu bytes are left\n", piece.n + pieces->rest.n);
    if (part == HTTP_IN_MORE)
        err.kind = http_in_eof(h, NULL);
    buf_printf(seen, "%d %d", (int)err.kind, http_in_reusable(h));
    http_in_destroy(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_of((const char *)data, n);
    enum http_in_kind kind = fuzz_take_below(&in, 2) == 0 ? HTTP_IN_RESPONSE : HTTP_IN_REQUEST;

    fuzz_cut_compare(in, read_all, &kind);
    return 0;
}
