/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/value.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/panic.h"

/* From small to large. */
struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {"ms",  1       },
    {"s",   1000    },
    {"min", 60000   },
    {"h",   3600000 },
    {"d",   86400000},
};

static const struct unit sizes[] = {
    {"B",   1         },
    {"KiB", 1024      },
    {"MiB", 1048576   },
    {"GiB", 1073741824},
};

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"TERM",  SIGTERM },
    {"KILL",  SIGKILL },
    {"INT",   SIGINT  },
    {"HUP",   SIGHUP  },
    {"QUIT",  SIGQUIT },
    {"USR1",  SIGUSR1 },
    {"USR2",  SIGUSR2 },
    {"ABRT",  SIGABRT },
    {"ALRM",  SIGALRM },
    {"PIPE",  SIGPIPE },
    {"WINCH", SIGWINCH},
};

/* The leading digits of text as a number; *rest is what follows. 15 digits are plenty. */
static bool leading_number(const char *text, uint64_t *n, const char **rest)
{
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 15)
        return false;
    *n = 0;
    for (size_t i = 0; i < digits; i++)
        *n = *n * 10 + (uint64_t)(text[i] - '0');
    *rest = text + digits;
    return true;
}

static bool with_unit(const char *text, const struct unit *units, size_t count, uint64_t *out)
{
    const char *rest = NULL;
    uint64_t n = 0;

    if (!leading_number(text, &n, &rest))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rest, units[i].name) == 0 && n <= UINT64_MAX / units[i].factor) {
            *out = n * units[i].factor;
            return true;
        }
    }
    return false;
}

static void put_with_unit(struct buf *out, const struct unit *units, size_t count, uint64_t n)
{
    size_t i = count - 1;

    while (i > 0 && n % units[i].factor != 0)
        i--;
    buf_printf(out, "%" PRIu64 "%s", n / units[i].factor, units[i].name);
}

bool value_duration(const char *text, uint64_t *out)
{
    return with_unit(text, durations, ARRAY_LEN(durations), out);
}

bool value_size(const char *text, uint64_t *out)
{
    return with_unit(text, sizes, ARRAY_LEN(sizes), out);
}

bool value_signal(const char *text, int64_t *out)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;

    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (strcmp(name, signals[i].name) == 0) {
            *out = signals[i].number;
            return true;
        }
    }
    return false;
}

bool value_umask(const char *text, int64_t *out)
{
    size_t n = strspn(text, "01234567");
    int64_t mode = 0;

    if (n == 0 || n > 4 || text[n] != '\0')
        return false;
    for (size_t i = 0; i < n; i++)
        mode = mode * 8 + (text[i] - '0');
    if (mode > 0777)
        return false;
    *out = mode;
    return true;
}

bool value_percent(const char *text, int64_t *out)
{
    const char *rest = NULL;
    uint64_t n = 0;

    if (!leading_number(text, &n, &rest) || n > 100 || strcmp(rest, "%") != 0)
        return false;
    *out = (int64_t)n;
    return true;
}

void value_put_duration(struct buf *out, uint64_t ms)
{
    if (ms == 0)
        buf_puts(out, "0s");
    else
        put_with_unit(out, durations, ARRAY_LEN(durations), ms);
}

void value_put_size(struct buf *out, uint64_t bytes)
{
    put_with_unit(out, sizes, ARRAY_LEN(sizes), bytes);
}

void value_put_signal(struct buf *out, int64_t number)
{
    size_t i = 0;

    while (i < ARRAY_LEN(signals) && signals[i].number != number)
        i++;
    ensure(i < ARRAY_LEN(signals));
    buf_puts(out, signals[i].name);
}

void value_put_umask(struct buf *out, int64_t mode)
{
    buf_printf(out, "%04o", (unsigned)mode);
}

void value_put_percent(struct buf *out, int64_t percent)
{
    buf_printf(out, "%" PRId64 "%%", percent);
}
