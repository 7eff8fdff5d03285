/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* The second byte must lie between low and high. That keeps out characters that are written too
 * long (c0, c1, e0, f0), surrogates (ed), and values beyond U+10FFFF (f4). */
size_t utf8_len(const unsigned char *p, size_t n)
{
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t len = 0;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        len = 2;
    else if ((p[0] & 0xf0) == 0xe0)
        len = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        len = 4;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (len > n || (len > 1 && (p[1] < low || p[1] > high)))
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

struct str utf8_cut(struct str text, size_t max)
{
    size_t least = max > 3 ? max - 3 : 0; /* a character has at most 3 bytes after its first one */

    if (text.n <= max)
        return text;
    /* text.p[max] is the first byte that is cut off: it must begin a character. */
    while (max > least && ((unsigned char)text.p[max] & 0xc0) == 0x80)
        max--;
    return str_of(text.p, max);
}
