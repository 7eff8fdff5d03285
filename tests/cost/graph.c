/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/graph.h"

#include <stdlib.h>

#include "admin/journal.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch.h"
#include "hook/files.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "proto/http_in.h"

/* START: the clocks begin there, the later one at some time in 2024. HEAD: a limit. */
enum { START_MS = 100000, START_S = 1704067200, HEAD_BYTES = 65536, SLOTS = 4, TAKES = 0xf };

struct graph {
    struct watch *watch;
    struct hooks hooks;
    struct journal *journal;
    struct http_in *response;
    uint64_t now_ms;
    size_t object_runs;
};

static struct now now(const struct graph *g)
{
    return (struct now){.ms = g->now_ms,
                        .wall_ns = START_S * UINT64_C(1000000000) + g->now_ms * 1000000};
}

/* ---- The watch */

struct graph *graph_create(void)
{
    static const char *const all[] = {"*"};
    static const char *const drop[] = {"metadata.managedFields"};
    static const struct watch_params params = {
        .name = "slices",
        .cluster = "main",
        .resource = "endpointslices",
        .namespaces = all,
        .namespace_count = ARRAY_LEN(all),
        .label_selector = "",
        .field_selector = "",
        .shape = {.drop = drop,         .drop_count = ARRAY_LEN(drop)},
        .object_size = 1 << 20,
        .reflector = { .backoff = {.initial_ms = 800, .max_ms = 30000, .factor = 2},
                  .page_size = 500,
                  .watch_min_s = 300,
                  .watch_max_s = 300},
        .guard = {                                    .relist_deletes = 50, .at_least = 10,                .hold_ms = 60000},
        .bookmark_timeout_ms = 150000,
        .list_idle_timeout_ms = 60000,
        .stale_after_ms = 30000,
        .seed = 1,
    };
    struct graph *g = MEM_NEW(struct graph, .now_ms = START_MS);
    struct err err;

    log_set_level(LOG_LVL_ERROR);
    if (watch_create(&params, &g->watch, &err) != ERR_OK)
        panic("%s", err.text);
    hooks_init(&g->hooks, SLOTS, 1);
    g->journal = journal_create();
    watch_subscribe(g->watch, &journal_subscriber, g->journal);
    watch_subscribe(g->watch, &hooks_subscriber, &g->hooks);
    ensure(list_watch_start(watch_list_watch(g->watch, 0), g->now_ms).what == LW_LIST);
    return g;
}

void graph_destroy(struct graph **gp)
{
    struct graph *g = *gp;

    *gp = NULL;
    http_in_destroy(&g->response);
    hooks_fini(&g->hooks);
    watch_destroy(&g->watch);
    journal_destroy(&g->journal);
    free(g);
}

size_t graph_count(const struct graph *g)
{
    return store_count(watch_store(g->watch));
}

/* ---- Responses */

void graph_begin(struct graph *g)
{
    static const struct http_limits limits = {.head_bytes = HEAD_BYTES};
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";

    http_in_destroy(&g->response);
    g->response = http_in_create(HTTP_IN_RESPONSE, &limits);
    graph_read(g, head, sizeof(head) - 1);
}

void graph_read(struct graph *g, const char *data, size_t n)
{
    struct list_watch *lw = watch_list_watch(g->watch, 0);
    struct str left = str_of(data, n);
    enum http_in_part part;
    struct str piece;
    struct err err;

    g->now_ms++;
    while ((part = http_in_read(g->response, &left, &piece, &err)) == HTTP_IN_HEAD ||
           part == HTTP_IN_BODY) {
        if (part == HTTP_IN_HEAD)
            list_watch_head(lw, http_in_head(g->response), g->now_ms);
        else
            ensure(list_watch_body(lw, piece.p, piece.n, now(g)));
    }
    if (part == HTTP_IN_FAILED)
        panic("%s", err.text);
}

void graph_end(struct graph *g, bool list_follows)
{
    struct list_watch_action next;

    ensure(http_in_reusable(g->response)); /* it has ended */
    next = list_watch_end(watch_list_watch(g->watch, 0), NULL, 0, now(g));
    ensure(next.what == (list_follows ? LW_LIST : LW_WATCH));
}

/* ---- Hooks */

void graph_add_hook(struct graph *g, enum hook_mode mode)
{
    static const char *const names[] = {"object", "batch", "snapshot"};
    static const char *const paths[] = {"endpoints[*].addresses", "endpoints[*].conditions"};
    const struct hook_source source = {.name = "slices", .of.watch = g->watch};
    struct hook_params p = {
        .name = names[mode],
        .index = g->hooks.n,
        .rules = {.mode = mode,     .parked_deletes = 1000                    },
        .sources = &source,
        .source_count = 1,
        .work_queue = {.concurrency = 1,
                  .retry = {.initial_ms = 1000, .max_ms = 300000, .factor = 2}},
    };
    struct err err;

    if (filter_init(&p.filter, TAKES, paths, mode == HOOK_OBJECT ? ARRAY_LEN(paths) : 0, &err) !=
        ERR_OK)
        panic("%s", err.text);
    hooks_add(&g->hooks, &p);
}

void graph_hang(struct graph *g)
{
    while (hooks_next(&g->hooks, g->now_ms) != NULL)
        continue;
    (void)hooks_wake_ms(&g->hooks);
}

/* The input of a run, as its job makes it. */
static void make_input(const struct graph *g, struct run *run)
{
    static const struct payload_context context = {.node = "node-1", .instance = "instance-1"};
    struct buf env = {0};
    struct buf json = {0};
    struct err err;

    if (files_claim(run, &err) != ERR_OK || payload_put_env(&env, &context, run, &err) != ERR_OK)
        panic("%s", err.text);
    payload_put_json(&json, &context, run, g->now_ms, NULL);
    buf_free(&env);
    buf_free(&json);
}

static void end_run(struct graph *g, struct run *run, bool good)
{
    const struct run_result result = {.end.value = good ? 0 : 1,
                                      .text = good ? "exit status 0" : "exit status 1",
                                      .wall_ns = now(g).wall_ns,
                                      .out = str_c("the addresses of this service are in use\n")};

    hooks_finish(&g->hooks, run, &result, g->now_ms);
}

size_t graph_run_all(struct graph *g, size_t fail_every)
{
    size_t runs = 0;
    uint64_t due_ms;

    do {
        struct run *run;

        while ((run = hooks_next(&g->hooks, g->now_ms)) != NULL) {
            bool keyed = run->hook->rules.mode == HOOK_OBJECT;

            runs++;
            g->object_runs += keyed;
            hooks_began(run, g->now_ms);
            make_input(g, run);
            g->now_ms += 2;
            end_run(g, run, !keyed || fail_every == 0 || g->object_runs % fail_every != 0);
        }
        due_ms = hooks_wake_ms(&g->hooks);
        if (due_ms != NEVER_MS && due_ms > g->now_ms)
            g->now_ms = due_ms;
    } while (due_ms != NEVER_MS);
    ensure(hooks_quiet(&g->hooks));
    return runs;
}
