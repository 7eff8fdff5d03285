/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t program; /* the last one that was begun */

size_t campaign_size(size_t in_short, size_t in_long)
{
    const char *is_long = getenv("INFORMERD_LONG"); /* NOLINT(concurrency-mt-unsafe): never set */

    return is_long != NULL && strcmp(is_long, "1") == 0 ? in_long : in_short;
}

static void run_program(void (*run)(uint64_t seed), uint64_t seed)
{
    program = seed;
    run(seed);
}

void campaign_programs(void (*run)(uint64_t seed), size_t in_short, size_t in_long)
{
    const char *one = getenv("PROGRAM");   /* NOLINT(concurrency-mt-unsafe): never set */
    const char *many = getenv("PROGRAMS"); /* NOLINT(concurrency-mt-unsafe): never set */
    uint64_t n = many != NULL ? strtoull(many, NULL, 10) : campaign_size(in_short, in_long);

    if (one != NULL) {
        run_program(run, strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 0; seed < n; seed++)
        run_program(run, seed);
}

int campaign_verdict(int failed)
{
    if (failed > 0)
        print_error("the last one was PROGRAM=%llu\n", (unsigned long long)program);
    return failed;
}
