/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim - the daemon without io/ in virtual time: its watches against a simulated API server and a
 * network that fails in every way, its hooks as simulated programs. When all has become quiet the
 * caches must equal the server, and what the hooks made of it too.
 *
 *     sim [--seeds N] [--seed FIRST] [--verbose]
 *
 * A seed that fails is printed; --seed repeats it exactly.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "sim/handler.h"
#include "sim/stream.h"

enum {
    WATCHES = 2,
    FEEDS = 3,
    HOOKS = 5,
    MAX_UIDS = 10000,
    STORM_MS = 60000,   /* faults and changes */
    QUIET_MS = 1800000, /* at most so long until nothing is left to do */
};

enum { PLAIN, WHOLE, NARROW, ENDS, LATER }; /* the hooks */

struct sim {
    uint64_t seed;
    struct clock clock;
    struct api api;
    struct net net;
    struct watch *watches[WATCHES];
    struct stream streams[FEEDS];
    struct hooks hooks;
    struct handler handlers[HOOKS];
    struct alarm mutate;
    struct alarm wake;
};

/* A program at work. */
struct program {
    struct alarm alarm;
    struct sim *sim;
    struct run *run;
    bool ok;
    bool effect;
};

static uint64_t current_seed;
static uint64_t injected[FAULTS];
static uint64_t total_runs;
static uint64_t total_failures;

static void start_due(struct sim *sim);

static void on_program_end(struct alarm *a)
{
    struct program *p = container_of(a, struct program, alarm);
    struct sim *sim = p->sim;
    struct run_result result = {.ok = p->ok, .text = "simulated"};

    handler_end(&sim->handlers[p->run->hook->index], p->run, p->ok, p->effect);
    hooks_finish(&sim->hooks, p->run, &result, sim->clock.now_ms);
    free(p);
    start_due(sim);
}

static void start_due(struct sim *sim)
{
    struct run *run;

    while ((run = hooks_next(&sim->hooks, sim->clock.now_ms)) != NULL) {
        struct handler *h = &sim->handlers[run->hook->index];
        struct program *p = mem_zalloc(sizeof(*p));

        p->alarm.fn = on_program_end;
        p->sim = sim;
        p->run = run;
        handler_start(h, run);
        clock_set(&sim->clock, &p->alarm, handler_plan(h, &p->ok, &p->effect));
    }
    uint64_t due = hooks_wake_ms(&sim->hooks);
    if (due != NEVER_MS)
        clock_set(&sim->clock, &sim->wake, due > sim->clock.now_ms ? due - sim->clock.now_ms : 0);
}

static void on_wake(struct alarm *a)
{
    start_due(container_of(a, struct sim, wake));
}

static void on_progress(void *arg)
{
    start_due(arg);
}

static void on_mutate(struct alarm *a)
{
    struct sim *sim = container_of(a, struct sim, mutate);

    for (uint64_t n = clock_pick(&sim->clock, 1, 4); n > 0; n--)
        api_mutate(&sim->api);
    if (clock_percent(&sim->clock, 3))
        api_compact(&sim->api);
    clock_set(&sim->clock, &sim->mutate, clock_pick(&sim->clock, 1, 1500));
}

static void on_delta(void *arg, struct watch *w, const struct delta *d)
{
    struct sim *sim = arg;

    hooks_delta(&sim->hooks, w, d, sim->clock.now_ms);
}

static void build_watches(struct sim *sim)
{
    static const struct watch_events events = {on_delta};
    static const char *const all[] = {"*"};
    static const char *const spaces[] = {"east", "west"};
    struct watch_params p = {
        .cluster = "sim",
        .resource = "configmaps",
        .label_selector = "",
        .field_selector = "",
        .object_size = 1 << 20,
        .reflector = {.backoff = {.initial_ms = 80, .max_ms = 3000, .factor = 2, .jitter = 1},
                      .reset_after_ms = 20000,
                      .page_size = (unsigned)clock_pick(&sim->clock, 1, API_KEYS),
                      .page_always = clock_percent(&sim->clock, 50),
                      .watch_min_s = 5,
                      .watch_max_s = 30},
        .seed = sim->seed,
    };

    for (size_t i = 0; i < WATCHES; i++) {
        struct err err;

        p.name = i == 0 ? "everywhere" : "by-space";
        p.namespaces = i == 0 ? all : spaces;
        p.namespace_count = i == 0 ? 1 : API_SPACES;
        if (watch_create(&p, &events, sim, &sim->watches[i], &err) != ERR_OK)
            panic("%s", err.text);
    }
}

static void add_hook(struct sim *sim, const char *name, struct hook_params p, unsigned events,
                     const char *path)
{
    struct err err;

    p.name = name;
    p.index = sim->hooks.n;
    p.sources = sim->watches;
    p.source_count = WATCHES;
    p.lane.retry = (struct backoff_params){.initial_ms = 100, .max_ms = 5000, .factor = 2};
    if (p.lane.concurrency == 0)
        p.lane.concurrency = 1;
    if (filter_init(&p.filter, events, &path, path != NULL ? 1 : 0, &err) != ERR_OK)
        panic("%s", err.text);
    hooks_add(&sim->hooks, &p);
    sim->handlers[p.index] =
        (struct handler){.name = name,
                         .clock = &sim->clock,
                         .skips = p.existing == HOOK_EXISTING_SKIP,
                         .percent = (unsigned)clock_pick(&sim->clock, 0, 50),
                         .handled_deletes = mem_zalloc((size_t)MAX_UIDS * HANDLER_SOURCES)};
}

static void build_hooks(struct sim *sim)
{
    hooks_init(&sim->hooks, 2, sim->seed);
    add_hook(sim, "plain", (struct hook_params){.lane = {.concurrency = 3}}, 0xf, NULL);
    add_hook(sim, "whole",
             (struct hook_params){
                 .mode = HOOK_SNAPSHOT, .lane = {.settle_ms = 200, .settle_max_ms = 2000}
    },
             0xf, NULL);
    add_hook(sim, "narrow",
             (struct hook_params){
                 .lane = {.settle_ms = 50, .settle_max_ms = 400}
    },
             0xf, "data.value");
    add_hook(sim, "ends", (struct hook_params){0}, 1U << DELTA_ADDED | 1U << DELTA_DELETED, NULL);
    add_hook(sim, "later", (struct hook_params){.existing = HOOK_EXISTING_SKIP}, 0xf, NULL);
}

static void build_streams(struct sim *sim)
{
    for (size_t i = 0; i < FEEDS; i++) {
        sim->streams[i] = (struct stream){
            .net = &sim->net,
            .feed = i == 0 ? watch_feed(sim->watches[0], 0) : watch_feed(sim->watches[1], i - 1),
            .space = i == 0 ? API_SPACES : i - 1,
            .on_progress = on_progress,
            .arg = sim,
        };
        stream_start(&sim->streams[i]);
    }
}

static bool is_quiet(const struct sim *sim)
{
    for (size_t i = 0; i < FEEDS; i++)
        if (!stream_is_current(&sim->streams[i]))
            return false;
    for (size_t i = 0; i < sim->hooks.n; i++)
        if (hook_pending(sim->hooks.v[i]) > 0 || sim->hooks.v[i]->lane.running > 0)
            return false;
    return true;
}

static void check_cache(const struct sim *sim)
{
    for (size_t w = 0; w < WATCHES; w++) {
        const struct store *store = watch_store(sim->watches[w]);
        size_t count = 0;

        for (size_t key = 0; key < API_KEYS; key++) {
            const struct api_object *want = &sim->api.now[key];
            struct object *have = store_get(store, str_c(api_key(key)));

            if ((have != NULL) != (want->uid != 0))
                panic("cache %zu: %s is %s", w, api_key(key), have != NULL ? "extra" : "missing");
            if (have == NULL)
                continue;
            struct api_object got = handler_read(have);
            if (memcmp(&got, want, sizeof(got)) != 0)
                panic("cache %zu: %s differs", w, api_key(key));
            count++;
        }
        ensure(count == store_count(store));
    }
}

static void check_effect(const struct handler *h, size_t which, size_t key, const struct effect *f,
                         const struct api_object *now)
{
    if (which == LATER && f->uid == 0 && !f->applied)
        return; /* was there before, and has not changed since */
    if (f->uid != now->uid)
        panic("hook %s: %s is life %" PRIu64 " for it, %" PRIu64 " on the server", h->name,
              api_key(key), f->uid, now->uid);
    if (now->uid == 0 || which == ENDS)
        return;
    if (!f->sure || f->value != now->value || (which != NARROW && f->noise != now->noise))
        panic("hook %s: %s is value %u, noise %u for it, %u, %u on the server", h->name,
              api_key(key), f->value, f->noise, now->value, now->noise);
}

/* Versions alone are no change. */
static bool same_state(const struct api_object *a, const struct api_object *b)
{
    for (size_t key = 0; key < API_KEYS; key++)
        if (a[key].uid != b[key].uid || a[key].value != b[key].value ||
            a[key].noise != b[key].noise)
            return false;
    return true;
}

static void check_hooks(const struct sim *sim)
{
    for (size_t i = 0; i < HOOKS; i++) {
        const struct handler *h = &sim->handlers[i];

        for (size_t s = 0; s < HANDLER_SOURCES; s++) {
            for (size_t key = 0; key < API_KEYS && i != WHOLE; key++)
                check_effect(h, i, key, &h->effects[s][key], &sim->api.now[key]);
            if (i == WHOLE && (!h->snapshot_seen || !same_state(h->snapshot[s], sim->api.now)))
                panic("hook %s: its last snapshot is not the server's state", h->name);
        }
    }
}

static void check_memory(const struct sim *sim)
{
    for (size_t i = 0; i < sim->hooks.n; i++)
        for (size_t s = 0; s < WATCHES; s++)
            ensure(map_count(&sim->hooks.v[i]->queue.by_key[s]) ==
                   store_count(watch_store(sim->watches[s])));
}

static void storm(struct sim *sim)
{
    sim->net.percent = (unsigned)clock_pick(&sim->clock, 0, 20);
    for (uint64_t n = clock_pick(&sim->clock, 0, 20); n > 0; n--)
        api_mutate(&sim->api);
    build_streams(sim);
    clock_set(&sim->clock, &sim->mutate, 1);
    while (clock_step(&sim->clock, 1000 + STORM_MS))
        continue;
    clock_clear(&sim->clock, &sim->mutate);
}

static void calm(struct sim *sim)
{
    sim->net.percent = 0;
    for (size_t i = 0; i < HOOKS; i++)
        sim->handlers[i].percent = 0;
    api_mutate(&sim->api); /* something to be seen by a stream that lost its bytes */
    while (!is_quiet(sim) && clock_step(&sim->clock, STORM_MS + QUIET_MS))
        continue;
    if (!is_quiet(sim))
        panic("it never becomes quiet");
}

static void tear_down(struct sim *sim)
{
    for (size_t i = 0; i < FEEDS; i++)
        stream_fini(&sim->streams[i]);
    for (size_t i = 0; i < HOOKS; i++) {
        total_runs += sim->handlers[i].runs;
        total_failures += sim->handlers[i].failures;
        free(sim->handlers[i].handled_deletes);
    }
    for (size_t i = 0; i < FAULTS; i++)
        injected[i] += sim->net.injected[i];
    hooks_fini(&sim->hooks);
    for (size_t i = 0; i < WATCHES; i++)
        watch_destroy(&sim->watches[i]);
    api_fini(&sim->api);
}

static void run_seed(uint64_t seed)
{
    struct sim sim = {.seed = seed, .mutate.fn = on_mutate, .wake.fn = on_wake};

    clock_init(&sim.clock, seed);
    api_init(&sim.api, &sim.clock);
    sim.net = (struct net){.clock = &sim.clock, .api = &sim.api};
    build_watches(&sim);
    build_hooks(&sim);
    storm(&sim);
    calm(&sim);
    check_cache(&sim);
    check_hooks(&sim);
    check_memory(&sim);
    tear_down(&sim);
}

/* A broken promise panics wherever it is found: say how to see it again. */
static void on_abort(int number)
{
    (void)number;
    fprintf(stderr, "failed; again with: sim --seeds 1 --seed %" PRIu64 "\n", current_seed);
}

static void summary(uint64_t seeds)
{
#define FAULT_TEXT(id, text) text,
    static const char *const names[] = {FAULT_MAP(FAULT_TEXT)};
#undef FAULT_TEXT

    printf("%" PRIu64 " seeds passed; %" PRIu64 " runs of hooks, %" PRIu64
           " of them failed; faults:\n",
           seeds, total_runs, total_failures);
    for (size_t i = 0; i < FAULTS; i++)
        printf("    %8" PRIu64 "  %s\n", injected[i], names[i]);
}

int main(int argc, char **argv)
{
    uint64_t seeds = 200;
    uint64_t first = 1;

    log_set_level(LOG_LVL_ERROR);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc)
            seeds = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            first = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            log_set_level(LOG_LVL_TRACE);
        else
            panic("usage: sim [--seeds N] [--seed FIRST] [--verbose]");
    }
    signal(SIGABRT, on_abort);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        current_seed = seed;
        run_seed(seed);
    }
    summary(seeds);
    return 0;
}
