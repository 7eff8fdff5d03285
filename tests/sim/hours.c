/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/hours.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"

/* A short world has as many storms as are needed for a comparison. */
enum { STORMS = 8, HOUR_MS = 3600000 };

/* Memory that may come and go with the objects that exist, their skipped versions, and the buffers
 * of streams. A leak of one byte for each change of a day would be more. */
enum { SLACK_BYTES = 65536, SLACK_BATCHES = 50 };

void hours_init(struct hours *h, uint64_t hours)
{
    uint64_t storms = hours > STORMS ? hours : STORMS;

    *h = (struct hours){.storms = storms, .storm_ms = hours * HOUR_MS / storms};
    h->samples = mem_zalloc(storms * sizeof(*h->samples));
}

void hours_fini(struct hours *h)
{
    free(h->samples);
}

void hours_count_exactly(char **argv)
{
    static const char *const name = "GLIBC_TUNABLES";

    if (getenv(name) != NULL || setenv(name, "glibc.malloc.tcache_count=0", 1) != 0)
        return;
    execv("/proc/self/exe", argv);
    panic("cannot start again");
}

size_t hours_heap_bytes(size_t books)
{
    struct mallinfo2 m = mallinfo2();
    size_t all = m.uordblks + m.hblkhd;

    return all > books ? all - books : 0; /* 0 under a sanitizer, which looks for leaks itself */
}

void hours_note(struct hours *h, const struct hours_sample *s)
{
    ensure(h->n < h->storms);
    h->samples[h->n++] = *s;
}

/* XX(member, title): the columns of the table. */
#define COLUMNS(XX)           \
    XX(changes, "changes")    \
    XX(runs, "runs")          \
    XX(faults, "faults")      \
    XX(lists, "lists")        \
    XX(watches, "watches")    \
    XX(starts, "starts")      \
    XX(incomplete, "stopped") \
    XX(pending, "pending")    \
    XX(batches, "batches")    \
    XX(state_rows, "rows")    \
    XX(state_bytes, "state")  \
    XX(heap_bytes, "heap")

static void print(const struct hours *h)
{
#define PRINT_TITLE(member, title) printf(" %9s", title);
#define PRINT_VALUE(member, title) printf(" %9" PRIu64, (uint64_t)s->member);
    printf("%6s", "hours");
    COLUMNS(PRINT_TITLE)
    printf("\n");
    for (size_t i = 0; i < h->n; i++) {
        const struct hours_sample *s = &h->samples[i];

        printf("%6.2f", (double)s->virtual_ms / HOUR_MS);
        COLUMNS(PRINT_VALUE)
        printf("\n");
    }
#undef PRINT_TITLE
#undef PRINT_VALUE
}

/* The most of one figure in the samples from `from` on. */
static size_t most(const struct hours *h, size_t from, size_t n, size_t member)
{
    size_t most = 0;

    for (size_t i = from; i < from + n; i++) {
        size_t value = *(const size_t *)((const char *)&h->samples[i] + member);

        most = value > most ? value : most;
    }
    return most;
}

static void check(const struct hours *h, const char *what, size_t member, size_t slack)
{
    size_t quarter = h->n / 4;
    size_t first = most(h, 0, quarter, member);
    size_t last = most(h, h->n - quarter, quarter, member);

    printf("%s: %zu at most in the first quarter, %zu in the last one\n", what, first, last);
    fflush(stdout);
    if (last > first + slack)
        panic("%s: grows from %zu to %zu", what, first, last);
}

void hours_check(const struct hours *h, uint64_t seed)
{
    printf("seed %" PRIu64 ":\n", seed);
    print(h);
    printf("caches and hooks were compared with the server %zu times: 0 lost\n", h->n);
    check(h, "heap bytes", offsetof(struct hours_sample, heap_bytes), SLACK_BYTES);
    check(h, "batches on their way to disk", offsetof(struct hours_sample, batches), SLACK_BATCHES);
}
