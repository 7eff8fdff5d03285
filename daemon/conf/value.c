/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/value.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/amount.h"
#include "base/panic.h"

enum { CPU_PERCENT_MAX = 100000 /* a thousand CPUs */ };

static const struct amount_unit percents = {"%", 1};

static const struct amount_unit sizes[] = {
    {"B",   1         },
    {"KiB", 1024      },
    {"MiB", 1048576   },
    {"GiB", 1073741824},
};

/* Signals that programs use to end or to reload. */
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

bool value_size(const char *text, uint64_t *out)
{
    return amount_parse(text, sizes, ARRAY_LEN(sizes), out);
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

/* At most 0777: no set-user-ID, set-group-ID or sticky bit for an output file or from a umask. */
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
    uint64_t n;

    if (!amount_parse(text, &percents, 1, &n) || n > 100)
        return false;
    *out = (int64_t)n;
    return true;
}

bool value_cpu_max(const char *text, int64_t *out)
{
    uint64_t n = 0;

    if (strcmp(text, "infinity") != 0 &&
        (!amount_parse(text, &percents, 1, &n) || n < 1 || n > CPU_PERCENT_MAX))
        return false;
    *out = (int64_t)n;
    return true;
}

void value_put_cpu_max(struct buf *out, int64_t percent)
{
    if (percent == 0)
        buf_puts(out, "infinity");
    else
        value_put_percent(out, percent);
}

void value_put_size(struct buf *out, uint64_t bytes)
{
    amount_put(out, sizes, ARRAY_LEN(sizes), bytes);
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
