/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost - fixed pieces of work for tests/cost/compare.py to count: the same instructions each time.
 *
 *   drain watch events: from the bytes behind TLS to the events that are due for hooks sync a list in
 *   pages, and what is due for a hook then storm runs without their processes: input, end, the next try
 *   memory bytes on the heap for an object and for a delivery
 *
 * Only measured() counts. The program prints how many units of work that was.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "cost/graph.h"
#include "cost/slices.h"

/* RECORD: the most that one TLS record has, and so one read. */
enum {
    RECORD = 16384,
    PAGE = 500,
    DRAIN_KEYS = 1000,
    EVENTS = 10000,
    STORM_KEYS = 2500,
    ROUNDS = 2
};

/* The counting library of tests/cost/count.c, if it is loaded. */
void count_calls(bool on) __attribute__((weak));

/* tests/cost/compare.py tells callgrind to count inside of this function. */
NOINLINE void measured(void (*work)(void *arg), void *arg);

void measured(void (*work)(void *arg), void *arg)
{
    if (count_calls != NULL)
        count_calls(true);
    work(arg);
    if (count_calls != NULL)
        count_calls(false);
}

/* The objects that all pieces of work need. */
struct cost {
    struct slices slices;
    struct graph *graph;
    struct buf pages[SLICES_MAX / PAGE];
    struct buf events;       /* chunks, each of one watch event */
    size_t ends[EVENTS + 1]; /* where event i ends in events */
    size_t event_count;
    size_t runs;
};

static void read_records(struct graph *g, struct str bytes)
{
    for (size_t at = 0; at < bytes.n; at += RECORD)
        graph_read(g, bytes.p + at, bytes.n - at < RECORD ? bytes.n - at : RECORD);
}

static void make_pages(struct cost *c)
{
    for (size_t i = 0; i * PAGE < c->slices.keys; i++)
        slices_put_page(&c->slices, &c->pages[i], i * PAGE, PAGE);
}

static void list_all(void *arg)
{
    struct cost *c = arg;

    for (size_t i = 0; i * PAGE < c->slices.keys; i++) {
        graph_begin(c->graph);
        read_records(c->graph, buf_str(&c->pages[i]));
        graph_end(c->graph, (i + 1) * PAGE < c->slices.keys);
    }
    ensure(graph_count(c->graph) == c->slices.keys);
}

/* All objects are listed, hooks have handled them, and the watch has begun. */
static void begin(struct cost *c, size_t keys)
{
    slices_fill(&c->slices, keys);
    make_pages(c);
    c->graph = graph_create();
    graph_add_hook(c->graph, HOOK_OBJECT);
    graph_add_hook(c->graph, HOOK_BATCH);
    graph_add_hook(c->graph, HOOK_SNAPSHOT);
    list_all(c);
    graph_run_all(c->graph, 0);
    graph_begin(c->graph);
}

static void end(struct cost *c)
{
    graph_destroy(&c->graph);
    for (size_t i = 0; i < ARRAY_LEN(c->pages); i++)
        buf_free(&c->pages[i]);
    buf_free(&c->events);
}

/* A quiet cluster gives each event as a record of its own; a busy one fills the records. Half of the
 * events come in each way. */
static void read_events(void *arg)
{
    struct cost *c = arg;
    size_t at = 0;

    for (size_t i = 0; i < EVENTS / 2; i++) {
        graph_read(c->graph, c->events.data + at, c->ends[i] - at);
        graph_hang(c->graph);
        at = c->ends[i];
    }
    for (size_t n; at < c->events.len; at += n) {
        n = c->events.len - at < RECORD ? c->events.len - at : RECORD;
        graph_read(c->graph, c->events.data + at, n);
        graph_hang(c->graph);
    }
}

static size_t drain(struct cost *c)
{
    begin(c, DRAIN_KEYS);
    for (size_t i = 0; i < EVENTS; i++) {
        slices_put_event(&c->slices, &c->events);
        c->ends[i] = c->events.len;
    }
    measured(read_events, c);
    end(c);
    return EVENTS;
}

static size_t sync_all(struct cost *c)
{
    slices_fill(&c->slices, SLICES_MAX);
    make_pages(c);
    c->graph = graph_create();
    graph_add_hook(c->graph, HOOK_OBJECT);
    measured(list_all, c);
    end(c);
    return SLICES_MAX;
}

static void run_all(void *arg)
{
    struct cost *c = arg;

    c->runs += graph_run_all(c->graph, 10);
}

static size_t storm(struct cost *c)
{
    begin(c, STORM_KEYS);
    for (int round = 0; round < ROUNDS; round++) {
        buf_clear(&c->events);
        for (size_t key = 0; key < STORM_KEYS; key++)
            slices_put_change(&c->slices, &c->events, key);
        read_records(c->graph, buf_str(&c->events));
        measured(run_all, c);
    }
    end(c);
    return c->runs;
}

/* ---- Memory */

static size_t bytes_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

/* The bytes of a graph in which every object is handled. */
static size_t weigh(struct cost *c, bool hook, enum hook_mode mode)
{
    size_t before = bytes_in_use();

    c->graph = graph_create();
    if (hook)
        graph_add_hook(c->graph, mode);
    list_all(c);
    graph_run_all(c->graph, 0);
    size_t bytes = bytes_in_use() - before;
    graph_destroy(&c->graph);
    return bytes;
}

static void memory(struct cost *c)
{
    slices_fill(&c->slices, SLICES_MAX);
    make_pages(c);
    size_t bare = weigh(c, false, HOOK_OBJECT);
    size_t object = weigh(c, true, HOOK_OBJECT);
    size_t snapshot = weigh(c, true, HOOK_SNAPSHOT);
    printf("object %zu\n", bare / SLICES_MAX);
    printf("delivery_object %zu\n", (object - bare) / SLICES_MAX);
    printf("delivery_snapshot %zu\n", (snapshot - bare) / SLICES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(c->pages); i++)
        buf_free(&c->pages[i]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        size_t (*run)(struct cost *c);
    } pieces[] = {
        {"drain", drain   },
        {"sync",  sync_all},
        {"storm", storm   },
    };
    static struct cost c;

    if (argc == 2 && strcmp(argv[1], "memory") == 0) {
        memory(&c);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        if (argc == 2 && strcmp(argv[1], pieces[i].name) == 0) {
            printf("units %zu\n", pieces[i].run(&c));
            return 0;
        }
    fprintf(stderr, "usage: cost drain|sync|storm|memory\n");
    return 64;
}
