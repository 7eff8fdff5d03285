/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

bool buf_try_room(struct buf *b, size_t n)
{
    /* So that no sum or doubling below can overflow. */
    ensure(n <= SIZE_MAX / 4 && b->len <= SIZE_MAX / 4);
    if (b->cap - b->len >= n)
        return true;
    size_t cap = b->cap < 128 ? 128 : b->cap;

    while (cap - b->len < n)
        cap *= 2;
    char *data = mem_try_realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

char *buf_reserve(struct buf *b, size_t n)
{
    /* So that no sum or doubling below can overflow. */
    ensure(n <= SIZE_MAX / 4 && b->len <= SIZE_MAX / 4);
    if (b->cap - b->len < n) {
        size_t cap = b->cap < 128 ? 128 : b->cap;

        while (cap - b->len < n)
            cap *= 2;
        b->data = mem_realloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_make_room(struct buf *b, size_t n)
{
    char *at = buf_reserve(b, n);

    (void)at;
}

void buf_append(struct buf *b, const void *data, size_t n)
{
    if (n == 0)
        return;
    memcpy(buf_reserve(b, n), data, n);
    b->len += n;
}

void buf_append_str(struct buf *b, struct str s)
{
    buf_append(b, s.p, s.n);
}

void buf_puts(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    *buf_reserve(b, 1) = c;
    b->len++;
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    char *at = digits + sizeof(digits);

    do
        *--at = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    buf_append(b, at, (size_t)(digits + sizeof(digits) - at));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->cap - b->len;
    va_list ap;
    va_list again;

    va_start(ap, fmt);
    va_copy(again, ap);
    /* Tries with the room that is there, which mostly is enough. */
    int n = vsnprintf(room > 0 ? b->data + b->len : NULL, room, fmt, ap);
    va_end(ap);
    ensure(n >= 0);
    if ((size_t)n >= room)
        vsnprintf(buf_reserve(b, (size_t)n + 1), (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
    ensure(n <= b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

const char *buf_cstr(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->data;
}

struct str buf_str(const struct buf *b)
{
    return str_of(b->data, b->len);
}

void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}
