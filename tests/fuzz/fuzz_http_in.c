/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message, in one piece and in portions: the same head, body and end. The first byte
 * chooses the kind, the second the size of the portions. */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/panic.h"
#include "proto/http_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct buf text;
    enum err_kind kind;
    size_t used;
    bool reusable;
};

static void put_head(struct outcome *o, const struct http_head *h)
{
    buf_printf(&o->text, "%d %d %d\n", h->status, (int)h->retry_after_s, h->keep_alive);
    buf_append_str(&o->text, h->method);
    buf_append_str(&o->text, h->target);
    buf_append_str(&o->text, h->content_type);
    buf_append_str(&o->text, h->content_encoding);
    buf_append_str(&o->text, h->location);
}

static enum http_in_part read_portion(struct outcome *o, struct http_in *h, struct str data)
{
    enum http_in_part part;
    struct str piece;
    struct err err = {0};

    o->used += data.n;
    while ((part = http_in_read(h, &data, &piece, &err)) == HTTP_IN_HEAD || part == HTTP_IN_BODY) {
        ensure(part == HTTP_IN_HEAD || piece.n > 0);
        if (part == HTTP_IN_HEAD)
            put_head(o, http_in_head(h));
        else
            buf_append_str(&o->text, piece);
    }
    ensure(data.n == 0 || part != HTTP_IN_MORE);
    ensure((part == HTTP_IN_FAILED) == (err.text[0] != '\0'));
    o->used -= data.n;
    o->kind = err.kind;
    return part;
}

static void run(struct outcome *o, enum http_in_kind kind, struct str bytes, size_t step)
{
    const struct http_limits limits = {200, 300};
    struct http_in *h = http_in_create(kind, &limits);
    enum http_in_part part = HTTP_IN_MORE;

    while (part == HTTP_IN_MORE && o->used < bytes.n) {
        size_t n = bytes.n - o->used < step ? bytes.n - o->used : step;

        part = read_portion(o, h, str_of(bytes.p + o->used, n));
    }
    if (part == HTTP_IN_MORE)
        o->kind = http_in_eof(h, NULL);
    o->reusable = http_in_reusable(h);
    http_in_destroy(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = {0};
    struct outcome cut = {0};

    if (size < 2)
        return 0;
    enum http_in_kind kind = data[0] % 2 == 0 ? HTTP_IN_RESPONSE : HTTP_IN_REQUEST;
    struct str bytes = str_of((const char *)data + 2, size - 2);

    run(&whole, kind, bytes, SIZE_MAX);
    run(&cut, kind, bytes, data[1] == 0 ? 1 : data[1]);
    ensure(whole.kind == cut.kind && whole.reusable == cut.reusable);
    ensure(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
    ensure(whole.kind != ERR_OK || whole.used == cut.used);
    buf_free(&whole.text);
    buf_free(&cut.text);
    return 0;
}
