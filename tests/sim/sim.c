/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim - the daemon without io/ in virtual time: its watches against simulated API servers and a
 * network that fails in every way, its hooks with simulated programs. The daemon is killed and
 * started again. When all has become quiet, the caches and the effects of the hooks must equal the
 * cluster; and no cache may ever be old for long without saying so.
 *
 *     sim [--seeds N] [--seed FIRST] [--jobs N] [--restarts] [--verbose]
 *     sim --hours N [--seeds N] [--seed FIRST] [--restarts]
 *     sim --flood CHANGES [--seed N]
 *
 * In every other simulation, in all of them with --restarts, the daemon dies often and keeps
 * delivery records. A seed that fails is printed; --seed repeats it exactly. With --hours there is one
 * world (--seeds N: so many), which lives for so many hours of storm. Its daemon does not die, or
 * dies often with --restarts. After each hour all becomes quiet for the comparison, and in the end
 * nothing may have grown.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/panic.h"
#include "sim/chaos.h"
#include "sim/flood.h"
#include "sim/hours.h"

struct options {
    uint64_t seeds;
    uint64_t first;
    uint64_t jobs;
    uint64_t flood; /* changes; 0 = run simulations */
    struct chaos_options chaos;
};

/* A seed takes milliseconds, and an hour of virtual time takes seconds; a simulation that does not end
 * stands still in virtual time. */
enum { SEED_S = 60 };

static char again[128];
static size_t again_len;

/* A broken promise panics wherever it is found. Prints how to see it again. */
static void on_signal(int number)
{
    if (write(STDERR_FILENO, again, again_len) < 0 || number == SIGALRM)
        _exit(1);
}

static void note_seed(const struct options *o, uint64_t seed)
{
    char hours[32] = "";

    if (o->chaos.hours > 0)
        snprintf(hours, sizeof(hours), " --hours %" PRIu64, o->chaos.hours);
    int n = snprintf(again, sizeof(again),
                     "failed; again with: sim --seeds 1 --seed %" PRIu64 "%s%s --verbose\n", seed,
                     o->chaos.remembers ? " --restarts" : "", hours);

    again_len = (size_t)n;
    alarm(SEED_S * (unsigned)(1 + o->chaos.hours));
}

/* Runs every jobs-th seed, beginning with the first one of this job. */
static void run_job(const struct options *o, uint64_t job, struct totals *totals)
{
    for (uint64_t i = job; i < o->seeds; i += o->jobs) {
        note_seed(o, o->first + i);
        chaos_run(o->first + i, &o->chaos, totals);
    }
}

static void raise_to(uint64_t *to, uint64_t value)
{
    *to = value > *to ? value : *to;
}

static void add_all(uint64_t *to, const uint64_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void add(struct totals *sum, const struct totals *t)
{
    sum->seeds += t->seeds;
    sum->virtual_ms += t->virtual_ms;
    sum->changes += t->changes;
    sum->runs += t->runs;
    sum->failures += t->failures;
    sum->starts += t->starts;
    raise_to(&sum->worst_ms, t->worst_ms);
    for (size_t i = 0; i < BEHINDS; i++)
        raise_to(&sum->worst_by[i], t->worst_by[i]);
    raise_to(&sum->worst_percent, t->worst_percent);
    raise_to(&sum->busiest, t->busiest);
    add_all(sum->injected, t->injected, FAULTS);
    add_all(sum->requests, t->requests, REQUESTS);
    add_all(sum->relists, t->relists, RELIST_REASONS);
    add_all(sum->features, t->features, FEATURES);
}

/* Runs a job in a process of its own. Its sums come through the pipe; a job that failed sends no
 * sums. */
static int spawn(const struct options *o, uint64_t job)
{
    struct totals totals = {0};
    int pipes[2];

    ensure(pipe(pipes) == 0);
    pid_t pid = fork();
    ensure(pid >= 0);
    if (pid > 0) {
        close(pipes[1]);
        return pipes[0];
    }
    run_job(o, job, &totals);
    ensure(write(pipes[1], &totals, sizeof(totals)) == sizeof(totals));
    _exit(0);
}

/* Runs all seeds and adds their sums; false: a seed failed. */
static bool run_all(const struct options *o, struct totals *sum)
{
    int fds[64];
    bool good = true;

    for (uint64_t i = 0; i < o->jobs; i++)
        fds[i] = spawn(o, i);
    for (uint64_t i = 0; i < o->jobs; i++) {
        struct totals t;

        if (read(fds[i], &t, sizeof(t)) == sizeof(t))
            add(sum, &t);
        else
            good = false;
        close(fds[i]);
    }
    while (wait(NULL) > 0)
        continue;
    return good;
}

static void print_row(uint64_t number, const char *text)
{
    printf("    %10" PRIu64 "  %s\n", number, text);
}

static void print_totals(const struct totals *t)
{
    printf("%" PRIu64 " seeds passed: %" PRIu64 " h of virtual time, %" PRIu64 " changes, %" PRIu64
           " runs of hooks, %" PRIu64 " of them failed, %" PRIu64 " starts of the daemon;\n%" PRIu64
           " s (%" PRIu64
           " %% of what may be) the longest time for which a cache was stale and did not say so;\n"
           "%" PRIu64 " requests of one stream in 10 s at most\n",
           t->seeds, t->virtual_ms / 3600000, t->changes, t->runs, t->failures, t->starts,
           t->worst_ms / 1000, t->worst_percent, t->busiest);
    printf("wrong and silent, at most (s), by what it was due to:\n");
    for (size_t i = 0; i < BEHINDS; i++)
        print_row(t->worst_by[i] / 1000, oracle_behind_text((enum behind)i));
    printf("faults:\n");
    for (size_t i = 0; i < FAULTS; i++)
        print_row(t->injected[i], net_fault_text((enum fault)i));
    printf("requests:\n");
    for (size_t i = 0; i < REQUESTS; i++)
        print_row(t->requests[i], net_request_text((enum request)i));
    printf("relists by reason:\n");
    for (size_t i = 0; i < RELIST_REASONS; i++)
        print_row(t->relists[i], relist_reason_name((enum relist_reason)i));
    printf("hooks:\n");
    for (size_t i = 0; i < FEATURES; i++)
        print_row(t->features[i], feature_text((enum feature)i));
}

/* The short form has 100 seeds of each kind. They must show every feature that is not rare; 300
 * seeds must show all features. */
enum { ENOUGH_SEEDS = 100, ENOUGH_FOR_RARE = 300, ENOUGH_OF_SHORT = 3000 };

/* A feature or fault that never came up was not tested. Fewer seeds prove nothing. Daemons that die
 * soon show little of the features that take time. */
static bool has_all(const struct totals *t, bool restarts)
{
    bool all = true;

    for (size_t i = restarts ? FEATURE_RESUMED : 0; i < FEATURES; i++) {
        enum feature feature = (enum feature)i;

        if (t->features[i] > 0 ||
            t->seeds < (feature_is_rare(feature) ? ENOUGH_FOR_RARE : ENOUGH_SEEDS))
            continue;
        printf("never happened: %s\n", feature_text(feature));
        all = false;
    }
    for (size_t i = 0; i < FAULTS; i++) {
        if (t->injected[i] > 0 || t->seeds < (restarts ? ENOUGH_OF_SHORT : ENOUGH_FOR_RARE))
            continue;
        printf("never happened: %s\n", net_fault_text((enum fault)i));
        all = false;
    }
    return all;
}

static uint64_t take_number(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc)
        panic("%s needs a number", argv[*i]);
    return strtoull(argv[++*i], NULL, 10);
}

static struct options parse(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct options o = {.first = 1, .jobs = cores > 1 ? (uint64_t)cores : 1};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0)
            o.seeds = take_number(argc, argv, &i);
        else if (strcmp(argv[i], "--seed") == 0)
            o.first = take_number(argc, argv, &i);
        else if (strcmp(argv[i], "--jobs") == 0)
            o.jobs = take_number(argc, argv, &i);
        else if (strcmp(argv[i], "--flood") == 0)
            o.flood = take_number(argc, argv, &i);
        else if (strcmp(argv[i], "--verbose") == 0 || strcmp(argv[i], "-v") == 0)
            o.chaos.verbose = true;
        else if (strcmp(argv[i], "--restarts") == 0)
            o.chaos.remembers = true;
        else if (strcmp(argv[i], "--hours") == 0)
            o.chaos.hours = take_number(argc, argv, &i);
        else
            panic("usage: sim [--seeds N] [--seed FIRST] [--jobs N] [--restarts] [--hours N] "
                  "[--verbose], or sim --flood CHANGES [--seed N]");
    }
    if (o.seeds == 0)
        o.seeds = o.chaos.hours > 0 ? 1 : 200;
    o.jobs = o.jobs > 64 ? 64 : o.jobs;
    o.jobs = o.jobs > o.seeds ? o.seeds : o.jobs;
    return o;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    struct totals totals = {0};

    if (o.chaos.hours > 0)
        hours_count_exactly(argv);
    log_set_level(o.chaos.verbose ? LOG_LVL_TRACE : LOG_LVL_ERROR);
    if (o.flood > 0) {
        flood_run(o.flood, o.first);
        return 0;
    }
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    fflush(stdout);
    if (o.jobs > 1) {
        if (!run_all(&o, &totals))
            return 1;
    } else {
        run_job(&o, 0, &totals);
    }
    print_totals(&totals);
    return has_all(&totals, o.chaos.remembers) ? 0 : 1;
}
