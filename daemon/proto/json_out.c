/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_out.h"

#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "base/visible.h"

struct json_out json_out_to(struct buf *buf)
{
    return (struct json_out){.buf = buf};
}

/* Runs before each key and each value. Behind a key no comma is due, so the value of a member gets
 * none. */
static void put_comma(struct json_out *j)
{
    if (j->comma)
        buf_putc(j->buf, ',');
    j->comma = true;
}

void json_out_open(struct json_out *j, char bracket)
{
    put_comma(j);
    buf_putc(j->buf, bracket);
    j->comma = false;
}

void json_out_close(struct json_out *j, char bracket)
{
    buf_putc(j->buf, bracket);
    j->comma = true;
}

void json_out_key(struct json_out *j, const char *key)
{
    put_comma(j);
    json_out_quote(j->buf, str_c(key));
    buf_putc(j->buf, ':');
    j->comma = false;
}

void json_out_str(struct json_out *j, struct str s)
{
    put_comma(j);
    json_out_quote(j->buf, s);
}

void json_out_cstr(struct json_out *j, const char *s)
{
    if (s == NULL)
        json_out_null(j);
    else
        json_out_str(j, str_c(s));
}

void json_out_u64(struct json_out *j, uint64_t v)
{
    put_comma(j);
    buf_put_u64(j->buf, v);
}

void json_out_ms_as_s(struct json_out *j, uint64_t ms)
{
    unsigned rest = (unsigned)(ms % 1000);

    json_out_u64(j, ms / 1000);
    if (rest == 0)
        return;
    buf_printf(j->buf, ".%03u", rest);
    /* rest is not 0, so a digit other than 0 stops this loop. */
    while (j->buf->data[j->buf->len - 1] == '0')
        j->buf->len--;
}

void json_out_bool(struct json_out *j, bool v)
{
    put_comma(j);
    buf_puts(j->buf, v ? "true" : "false");
}

void json_out_null(struct json_out *j)
{
    put_comma(j);
    buf_puts(j->buf, "null");
}

struct buf *json_out_raw(struct json_out *j)
{
    put_comma(j);
    return j->buf;
}

/* Escapes the character at p and returns its length. JSON demands escapes for control characters of ASCII,
 * quotes and backslashes; others that cannot be seen are escaped as well, as people read this JSON, too. */
static size_t put_escape(struct buf *out, const unsigned char *p, size_t n)
{
    static const char plain[] = "\"\\\r\t";
    static const char letters[] = "\"\\rt";
    const char *short_form = p[0] != '\0' ? strchr(plain, p[0]) : NULL;

    if (short_form != NULL)
        buf_printf(out, "\\%c", letters[short_form - plain]);
    else if (utf8_len(p, n) > 0)
        return visible_escape(out, p, n);
    else
        buf_puts(out, "\xef\xbf\xbd");
    return 1;
}

/* Whether a byte is of ASCII and can be written as it is. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void json_out_quote(struct buf *out, struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t plain = 0; /* start of the bytes that are copied as they are */

    buf_make_room(out, s.n + 2);
    buf_putc(out, '"');
    for (size_t i = 0; i < s.n;) {
        size_t len = is_plain(p[i]) ? 1 : p[i] < 0x80 ? 0 : visible_len(p + i, s.n - i);

        i += len;
        if (len > 0)
            continue;
        buf_append(out, s.p + plain, i - plain);
        i += put_escape(out, p + i, s.n - i);
        plain = i;
    }
    buf_append(out, s.n > 0 ? s.p + plain : NULL, s.n - plain);
    buf_putc(out, '"');
}

/* Writes the last n decimal digits of v, with zeros in front. */
static void put_digits(char *at, size_t n, unsigned v)
{
    while (n-- > 0) {
        at[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

void json_out_time(struct json_out *j, uint64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / 1000000000U);
    char text[] = "YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ";
    struct tm tm;

    gmtime_r(&s, &tm);
    put_digits(text, 4, (unsigned)tm.tm_year + 1900);
    put_digits(text + 5, 2, (unsigned)tm.tm_mon + 1);
    put_digits(text + 8, 2, (unsigned)tm.tm_mday);
    put_digits(text + 11, 2, (unsigned)tm.tm_hour);
    put_digits(text + 14, 2, (unsigned)tm.tm_min);
    put_digits(text + 17, 2, (unsigned)tm.tm_sec);
    put_digits(text + 20, 9, (unsigned)(wall_ns % 1000000000U));
    json_out_cstr(j, text);
}
