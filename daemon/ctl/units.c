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
