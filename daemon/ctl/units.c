/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/units.h"

#include <inttypes.h>

#define MINUTE_S INT64_C(60)
#define HOUR_S   INT64_C(3600)
#define DAY_S    INT64_C(86400)

void units_put_duration(struct buf *out, uint64_t seconds)
{
    int64_t s = seconds < INT64_MAX ? (int64_t)seconds : INT64_MAX;

    if (s < 2 * MINUTE_S)
        buf_printf(out, "%" PRId64 "s", s);
    else if (s < 2 * HOUR_S)
        buf_printf(out, "%" PRId64 "m", s / MINUTE_S);
    else if (s < 2 * DAY_S)
        buf_printf(out, "%" PRId64 "h", s / HOUR_S);
    else
        buf_printf(out, "%" PRId64 "d", s / DAY_S);
}

void units_put_size(struct buf *out, uint64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB"};
    double value = (double)bytes / 1024;
    size_t i = 0;

    if (bytes < 1024) {
        buf_printf(out, "%" PRIu64 "B", bytes);
        return;
    }
    /* From here on "%.1f" would print "1024.0": the next unit is used instead. */
    while (value >= 1023.95 && i + 1 < ARRAY_LEN(names)) {
        value /= 1024;
        i++;
    }
    buf_printf(out, "%.1f%s", value, names[i]);
}

/* The number that n digits make; -1 = not all of them are digits. */
static int64_t digits(const char *p, size_t n)
{
    int64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

/* Days since 1970 of a date in the Gregorian calendar. Years begin in March here, so that the leap
 * day is the last day of its year, and the lengths of the months before it follow the formula with
 * 153. 719468 is the number of days from the first of March of the year 0 to 1970. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t month_from_march = (month + 9) % 12;

    return y * 365 + y / 4 - y / 100 + y / 400 + (month_from_march * 153 + 2) / 5 + day - 1 -
           719468;
}

bool units_parse_time(struct str text, int64_t *seconds)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    enum { LEN = sizeof(form) - 1 };

    if (text.n <= LEN || text.p[text.n - 1] != 'Z')
        return false;
    for (size_t i = 0; i < LEN; i++)
        if (form[i] == 'd' ? digits(text.p + i, 1) < 0 : text.p[i] != form[i])
            return false;
    for (size_t i = LEN; i < text.n - 1; i++)
        if (i == LEN ? text.p[i] != '.' : digits(text.p + i, 1) < 0)
            return false;
    int64_t days = days_since_1970(digits(text.p, 4), digits(text.p + 5, 2), digits(text.p + 8, 2));
    *seconds = days * DAY_S + digits(text.p + 11, 2) * HOUR_S + digits(text.p + 14, 2) * MINUTE_S +
               digits(text.p + 17, 2);
    return true;
}

/* The length of a UTF-8 sequence with this first byte; 0 = no sequence begins with it. */
static size_t announced(unsigned char c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c < 0xe0)
        return 2;
    if (c >= 0xe0 && c < 0xf0)
        return 3;
    return c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

/* Decodes the UTF-8 sequence at p, and returns its length; 0 = it is not well-formed. An encoding
 * that is longer than necessary, a surrogate and a number above U+10FFFF are not well-formed. */
static size_t decode(const unsigned char *p, size_t n, uint32_t *out)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t len = announced(p[0]);
    uint32_t c = p[0] & bits[len];

    if (len > n)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fU);
    }
    *out = c;
    return len > 0 && c >= smallest[len] && c <= 0x10ffff && (c & 0x1ff800) != 0xd800 ? len : 0;
}

/* Texts come from the cluster: control characters could move the cursor of the terminal, and marks
 * of direction and zero width could make a name look like another one. */
static bool is_visible(uint32_t c)
{
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    bool line_end = c == 0x2028 || c == 0x2029;
    bool direction = (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
                     (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x061c;

    return !control && !line_end && !direction;
}

void units_put_visible(struct buf *out, struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;

    for (size_t i = 0; i < text.n;) {
        uint32_t c = 0;
        size_t len = decode(p + i, text.n - i, &c);
        bool as_it_is = len > 0 && is_visible(c);

        if (len == 0)
            len = 1;
        for (size_t k = 0; k < len; k++) {
            if (as_it_is)
                buf_putc(out, text.p[i + k]);
            else
                buf_printf(out, "\\x%02x", p[i + k]);
        }
        i += len;
    }
}

size_t units_width(struct str text)
{
    size_t width = 0;

    for (size_t i = 0; i < text.n; i++)
        width += (text.p[i] & 0xc0) != 0x80;
    return width;
}
