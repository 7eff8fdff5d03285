/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/rlimits_conf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/amount.h"
#include "base/mem.h"
#include "conf/value.h"

/* Reads one of the two parts. */
typedef bool read_amount(const char *text, uint64_t *out);

static bool read_number(const char *text, uint64_t *out)
{
    static const struct amount_unit none = {"", 1};

    return amount_parse(text, &none, 1, out);
}

/* The kernel counts in seconds. It takes 0 for 1, which nobody would expect. */
static bool read_seconds(const char *text, uint64_t *out)
{
    uint64_t ms;

    if (!amount_parse_duration(text, &ms) || ms == 0 || ms % 1000 != 0)
        return false;
    *out = ms / 1000;
    return true;
}

static bool read_part(const char *text, read_amount *read, uint64_t *out)
{
    if (strcmp(text, "infinity") != 0)
        return read(text, out);
    *out = CONF_RLIMIT_INFINITY;
    return true;
}

/* One value is for both limits, as in a unit of systemd. */
static bool read_limit(const char *text, read_amount *read, uint64_t *soft, uint64_t *hard)
{
    size_t n = strcspn(text, ":");
    char *first = mem_strndup(text, n);

    *soft = 0;
    bool ok = read_part(first, read, soft);
    free(first);
    *hard = *soft;
    return ok && (text[n] == '\0' || read_part(text + n + 1, read, hard));
}

static const char *fault(const char *text, read_amount *read, const char *wrong)
{
    uint64_t soft;
    uint64_t hard;

    if (!read_limit(text, read, &soft, &hard))
        return wrong;
    return soft > hard ? "has a soft limit above the hard one" : NULL;
}

static const char *size_fault(const char *text)
{
    return fault(text, value_size,
                 "is no limit: a size, \"SOFT:HARD\" or \"infinity\", such as \"512MiB\"");
}

static const char *seconds_fault(const char *text)
{
    return fault(text, read_seconds,
                 "is no limit: whole seconds with their unit, \"SOFT:HARD\" or \"infinity\", such "
                 "as \"30s\"");
}

static const char *number_fault(const char *text)
{
    return fault(text, read_number,
                 "is no limit: a number, \"SOFT:HARD\" or \"infinity\", such as \"1024\"");
}

#define ROW_STRUCT struct conf_rlimits
const struct setting rlimits_conf_settings[] = {
    SETTING_ROW(STR, as, SETTING_DEFAULT("\"\""), .check = size_fault),
    SETTING_ROW(STR, core, SETTING_DEFAULT("\"\""), .check = size_fault),
    SETTING_ROW(STR, cpu, SETTING_DEFAULT("\"\""), .check = seconds_fault),
    SETTING_ROW(STR, fsize, SETTING_DEFAULT("\"\""), .check = size_fault),
    SETTING_ROW(STR, memlock, SETTING_DEFAULT("\"\""), .check = size_fault),
    SETTING_ROW(STR, nofile, SETTING_DEFAULT("\"\""), .check = number_fault),
    SETTING_ROW(STR, nproc, SETTING_DEFAULT("\"\""), .check = number_fault),
    SETTING_ROW(STR, stack, SETTING_DEFAULT("\"\""), .check = size_fault),
    {.key = NULL},
};
#undef ROW_STRUCT

size_t rlimits_conf_list(const struct conf_rlimits *r, struct conf_rlimit out[CONF_RLIMITS])
{
    const struct {
        const struct conf_str *text;
        const char *key;
        int resource;
        read_amount *read;
    } all[] = {
        {&r->as,      "as",      RLIMIT_AS,      value_size  },
        {&r->core,    "core",    RLIMIT_CORE,    value_size  },
        {&r->cpu,     "cpu",     RLIMIT_CPU,     read_seconds},
        {&r->fsize,   "fsize",   RLIMIT_FSIZE,   value_size  },
        {&r->memlock, "memlock", RLIMIT_MEMLOCK, value_size  },
        {&r->nofile,  "nofile",  RLIMIT_NOFILE,  read_number },
        {&r->nproc,   "nproc",   RLIMIT_NPROC,   read_number },
        {&r->stack,   "stack",   RLIMIT_STACK,   value_size  },
    };
    size_t n = 0;

    _Static_assert(ARRAY_LEN(all) == CONF_RLIMITS, "each setting");
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct conf_rlimit *limit = &out[n];

        *limit = (struct conf_rlimit){
            .text = all[i].text, .key = all[i].key, .resource = all[i].resource};
        n += read_limit(all[i].text->v, all[i].read, &limit->soft, &limit->hard);
    }
    return n;
}
