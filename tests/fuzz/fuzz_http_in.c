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
    bool done;
    bool reusable;
};

static bool on_head(void *arg, const struct http_head *h)
{
    struct outcome *o = arg;

    buf_printf(&o->text, "%d %d %d\n", h->status, (int)h->retry_after_s, h->keep_alive);
    buf_append_str(&o->text, h->method);
    buf_append_str(&o->text, h->target);
    buf_append_str(&o->text, h->content_type);
    return true;
}

static bool on_body(void *arg, const char *data, size_t n)
{
    struct outcome *o = arg;

    ensure(n > 0);
    buf_append(&o->text, data, n);
    return true;
}

static void on_end(void *arg)
{
    struct outcome *o = arg;

    buf_puts(&o->text, "end");
}

static void run(struct outcome *o, enum http_in_kind kind, struct str bytes, size_t step)
{
    static const struct http_in_events events = {on_head, on_body, on_end};
    const struct http_limits limits = {200, 300};
    struct http_in *h = http_in_create(kind, &limits, &events, o);
    struct err err = {0};

    while (o->kind == ERR_OK && o->used < bytes.n && !http_in_done(h)) {
        size_t n = bytes.n - o->used < step ? bytes.n - o->used : step;
        size_t used = 0;

        o->kind = http_in_feed(h, bytes.p + o->used, n, &used, &err);
        ensure(used <= n && (used == n || o->kind != ERR_OK || http_in_done(h)));
        o->used += used;
    }
    if (o->kind == ERR_OK && !http_in_done(h))
        o->kind = http_in_eof(h, &err);
    ensure(o->kind == err.kind && (o->kind == ERR_OK) == (err.text[0] == '\0'));
    o->done = http_in_done(h);
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
    ensure(whole.kind == cut.kind && whole.done == cut.done && whole.reusable == cut.reusable);
    ensure(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
    ensure(whole.kind != ERR_OK || whole.used == cut.used);
    buf_free(&whole.text);
    buf_free(&cut.text);
    return 0;
}
