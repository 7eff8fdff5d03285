/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/utf8.h"

struct range {
    uint32_t from;
    uint32_t to;
};

/* In order, the first one above ASCII. C1; U+2028 and U+2029, which end a line; U+FFF9 to U+FFFB, which
 * hide a text behind another one; all others are Default_Ignorable_Code_Point (The Unicode Standard,
 * DerivedCoreProperties.txt). */
static const struct range hidden[] = {
    {0x80,    0x9f   },
    {0xad,    0xad   },
    {0x34f,   0x34f  },
    {0x61c,   0x61c  },
    {0x115f,  0x1160 },
    {0x17b4,  0x17b5 },
    {0x180b,  0x180f },
    {0x200b,  0x200f },
    {0x2028,  0x202e },
    {0x2060,  0x206f },
    {0x3164,  0x3164 },
    {0xfe00,  0xfe0f },
    {0xfeff,  0xfeff },
    {0xffa0,  0xffa0 },
    {0xfff0,  0xfffb },
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

/* Scripts and signs that terminals draw two columns wide: the blocks of East Asian Width W and F, and
 * emojis. */
static const struct range wide[] = {
    {0x1100,  0x115f },
    {0x2e80,  0x303e },
    {0x3041,  0xa4cf },
    {0xa960,  0xa97f },
    {0xac00,  0xd7a3 },
    {0xf900,  0xfaff },
    {0xfe30,  0xfe6f },
    {0xff00,  0xff60 },
    {0xffe0,  0xffe6 },
    {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
};

/* The blocks of marks that combine with the letter before them. */
static const struct range combining[] = {
    {0x300,  0x36f },
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},
    {0xfe20, 0xfe2f},
};

static bool is_in(const struct range *ranges, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n && c >= ranges[i].from; i++)
        if (c <= ranges[i].to)
            return true;
    return false;
}

#define IS_IN(ranges, c) is_in((ranges), ARRAY_LEN(ranges), (c))

/* The code point of a well-formed sequence of len bytes. */
static uint32_t code_point(const unsigned char *p, size_t len)
{
    static const unsigned char bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = p[0] & bits[len];

    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3fU);
    return c;
}

size_t visible_len(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return visible_ascii(p[0]);
    size_t len = utf8_len(p, n);
    return len > 0 && !IS_IN(hidden, code_point(p, len)) ? len : 0;
}

size_t visible_escape(struct buf *out, const unsigned char *p, size_t n)
{
    size_t len = utf8_len(p, n);
    uint32_t c = len > 0 ? code_point(p, len) : p[0];

    if (c == '\n')
        buf_puts(out, "\\n");
    else if (c < 0x10000)
        buf_printf(out, "\\u%04x", c);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
    return len > 0 ? len : 1;
}

void visible_put(struct buf *out, struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t plain = 0; /* where the bytes begin that are shown as they are */

    for (size_t i = 0; i < text.n;) {
        size_t len = visible_ascii(p[i]) ? 1 : visible_len(p + i, text.n - i);

        i += len;
        if (len > 0)
            continue;
        buf_append(out, p + plain, i - plain);
        i += visible_escape(out, p + i, text.n - i);
        plain = i;
    }
    if (text.n > plain)
        buf_append(out, p + plain, text.n - plain);
}

void visible_put_lines(struct buf *out, struct str text)
{
    while (text.n > 0) {
        const char *newline = memchr(text.p, '\n', text.n);
        size_t n = newline != NULL ? (size_t)(newline - text.p) : text.n;

        visible_put(out, str_of(text.p, n));
        n += newline != NULL;
        buf_puts(out, newline != NULL ? "\n" : "");
        text = str_of(text.p + n, text.n - n);
    }
}

void visible_put_json(struct buf *out, struct str json)
{
    while (json.n > 0) {
        size_t n = 0;

        while (n < json.n && json.p[n] != '\t' && json.p[n] != '\r' && json.p[n] != '\n')
            n++;
        visible_put(out, str_of(json.p, n));
        if (n < json.n)
            buf_putc(out, json.p[n] == '\n' ? '\n' : ' ');
        n += n < json.n;
        json = str_of(json.p + n, json.n - n);
    }
}

size_t visible_width(struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t width = 0;

    for (size_t i = 0; i < text.n;) {
        size_t len = utf8_len(p + i, text.n - i);
        uint32_t c = len > 1 ? code_point(p + i, len) : p[i];

        width += IS_IN(wide, c) ? 2 : !IS_IN(combining, c);
        i += len > 0 ? len : 1;
    }
    return width;
}
