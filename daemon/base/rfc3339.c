/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rfc3339.h"

#include <time.h>

enum { MS_PER_S = 1000, S_PER_MINUTE = 60, S_PER_HOUR = 3600 };

/* The text that is still to be read. */
struct rest {
    struct str text;
    bool is_bad;
};

/* Takes one byte if it is one of those in `any`: its index there. Else the text is bad. */
static int take(struct rest *r, const char *any)
{
    const char *found = NULL;

    if (r->text.n > 0 && r->text.p[0] != '\0')
        found = strchr(any, r->text.p[0]);
    if (found == NULL) {
        r->is_bad = true;
        return 0;
    }
    r->text = str_of(r->text.p + 1, r->text.n - 1);
    return (int)(found - any);
}

/* Takes a number of exactly n digits, from low to high; else the text is bad. */
static int take_number(struct rest *r, int n, int low, int high)
{
    int value = 0;

    for (int i = 0; i < n && !r->is_bad; i++)
        value = value * 10 + take(r, "0123456789");
    r->is_bad = r->is_bad || value < low || value > high;
    return value;
}

/* Takes ".5" and the like, if there is one: the milliseconds. */
static int take_fraction(struct rest *r)
{
    int unit = MS_PER_S / 10;
    int ms = 0;

    if (r->text.n == 0 || r->text.p[0] != '.')
        return 0;
    (void)take(r, ".");
    do {
        ms += unit * take_number(r, 1, 0, 9);
        unit /= 10;
    } while (!r->is_bad && r->text.n > 0 && r->text.p[0] >= '0' && r->text.p[0] <= '9');
    return ms;
}

/* Takes "Z" or "+01:00": how many seconds the clock there is ahead of UTC. */
static int take_offset(struct rest *r)
{
    static const int signs[] = {0, 0, 1, -1};
    int sign = signs[take(r, "Zz+-")];

    if (sign == 0)
        return 0;
    int s = take_number(r, 2, 0, 23) * S_PER_HOUR;
    (void)take(r, ":");
    s += take_number(r, 2, 0, 59) * S_PER_MINUTE;
    return sign * s;
}

bool rfc3339_read(struct str text, int64_t *ms)
{
    struct rest r = {.text = text};
    struct tm tm = {0};

    tm.tm_year = take_number(&r, 4, 0, 9999) - 1900;
    (void)take(&r, "-");
    tm.tm_mon = take_number(&r, 2, 1, 12) - 1;
    (void)take(&r, "-");
    int day = tm.tm_mday = take_number(&r, 2, 1, 31);
    (void)take(&r, "Tt");
    tm.tm_hour = take_number(&r, 2, 0, 23);
    (void)take(&r, ":");
    tm.tm_min = take_number(&r, 2, 0, 59);
    (void)take(&r, ":");
    int second = take_number(&r, 2, 0, 60);
    int fraction = take_fraction(&r);
    int offset = take_offset(&r);
    if (r.is_bad || r.text.n > 0)
        return false;
    /* Without the second: timegm() changes the day only if the month has no such day. */
    int64_t s = timegm(&tm);
    if (tm.tm_mday != day)
        return false;
    *ms = (s + second - offset) * MS_PER_S + fraction;
    return true;
}
