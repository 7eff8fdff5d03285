/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/json_member.h"

void json_member_text(struct json_out *j, const char *key, const char *value)
{
    json_out_key(j, key);
    json_out_cstr(j, value);
}

void json_member_str(struct json_out *j, const char *key, struct str value)
{
    json_out_key(j, key);
    if (value.n > 0)
        json_out_str(j, value);
    else
        json_out_null(j);
}

void json_member_count(struct json_out *j, const char *key, uint64_t value)
{
    json_out_key(j, key);
    json_out_u64(j, value);
}

void json_member_flag(struct json_out *j, const char *key, bool value)
{
    json_out_key(j, key);
    json_out_bool(j, value);
}

void json_member_seconds(struct json_out *j, const char *key, bool known, uint64_t ms)
{
    json_out_key(j, key);
    if (known)
        json_out_ms_as_s(j, ms);
    else
        json_out_null(j);
}

void json_member_age(struct json_out *j, const char *key, uint64_t then_ms, uint64_t now_ms)
{
    json_member_seconds(j, key, then_ms > 0, now_ms > then_ms ? now_ms - then_ms : 0);
}

void json_member_time(struct json_out *j, const char *key, uint64_t wall_ns)
{
    json_out_key(j, key);
    if (wall_ns > 0)
        json_out_time(j, wall_ns);
    else
        json_out_null(j);
}

/* Finds the control characters that JSON allows to stand in a string: DEL, and U+0080 to U+009F,
 * which are two bytes in UTF-8. Returns the number of bytes at i that are one, else 0, and sets
 * *code. text is valid UTF-8. */
static size_t control_at(struct str text, size_t i, unsigned *code)
{
    unsigned char c = (unsigned char)text.p[i];
    unsigned char next = i + 1 < text.n ? (unsigned char)text.p[i + 1] : 0;

    *code = c == 0x7f ? c : next;
    if (c == 0x7f)
        return 1;
    return c == 0xc2 && next < 0xa0 ? 2 : 0;
}

void json_member_raw(struct json_out *j, const char *key, struct str bytes)
{
    struct buf quoted = {0};

    /* Quoting comes first: it makes the bytes valid UTF-8, on which control_at() relies. */
    json_out_quote(&quoted, bytes);
    json_out_key(j, key);
    struct buf *out = json_out_raw(j);
    for (size_t i = 0; i < quoted.len;) {
        unsigned code;
        size_t n = control_at(buf_str(&quoted), i, &code);

        if (n > 0)
            buf_printf(out, "\\u%04x", code);
        else
            buf_putc(out, quoted.data[i]);
        i += n > 0 ? n : 1;
    }
    buf_free(&quoted);
}
