/* SPDX-License-Identifier: Apache-2.0 */
#include "base/amount.h"

#include <inttypes.h>
#include <string.h>

/* A number of 15 digits times 10 fits into 64 bits, so reading the digits cannot overflow. */
enum { DIGITS_MAX = 15 };

static const struct amount_unit durations[] = {
    {"ms",  1       },
    {"s",   1000    },
    {"min", 60000   },
    {"h",   3600000 },
    {"d",   86400000},
};

bool amount_parse(const char *text, const struct amount_unit *units, size_t count, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t n = 0;

    if (digits == 0 || digits > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text + digits, units[i].name) == 0 && n <= INT64_MAX / units[i].factor) {
            *out = n * units[i].factor;
            return true;
        }
    }
    return false;
}

void amount_put(struct buf *out, const struct amount_unit *units, size_t count, uint64_t n)
{
    size_t i = count - 1;

    while (i > 0 && n % units[i].factor != 0)
        i--;
    buf_printf(out, "%" PRIu64 "%s", n / units[i].factor, units[i].name);
}

bool amount_parse_duration(const char *text, uint64_t *ms)
{
    return amount_parse(text, durations, ARRAY_LEN(durations), ms);
}

void amount_put_duration(struct buf *out, uint64_t ms)
{
    if (ms == 0)
        buf_puts(out, "0s");
    else
        amount_put(out, durations, ARRAY_LEN(durations), ms);
}
