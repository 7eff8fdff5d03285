/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a digit, or -1. strchr() would find the NUL that ends the digits, so that byte is
 * checked first. */
static int digit_of(char c)
{
    const char *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

bool base64_decode(struct str text, struct buf *out)
{
    uint32_t bits = 0;
    unsigned have = 0;  /* how many of bits are not written yet */
    unsigned count = 0; /* of digits */
    unsigned padding = 0;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '\n' || c == '\r')
            continue;
        if (c == '=') {
            padding++;
            continue;
        }
        int digit = digit_of(c);
        if (digit < 0 || padding > 0)
            return false;
        /* At most 6 bits are left over from the digits before, so 12 bits hold them and this
         * digit. */
        bits = (bits << 6 | (uint32_t)digit) & 0xfff;
        have += 6;
        count++;
        if (have >= 8) {
            have -= 8;
            buf_putc(out, (char)(bits >> have & 0xff));
        }
    }
    /* Digits come in groups of four, and bits that do not fill a byte are 0 in a correct text. */
    return padding <= 2 && (count + padding) % 4 == 0 && (bits & ((1u << have) - 1)) == 0;
}

void base64_encode(struct str bytes, struct buf *out)
{
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n = bytes.n - i < 3 ? bytes.n - i : 3; /* so many bytes are left for this group */
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)bytes.p[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            buf_putc(out, (char)(k <= n ? digits[bits >> (18 - 6 * k) & 63] : '='));
    }
}
