/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/flood.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "sim/clock.h"

/* Keys from STEADY on are also deleted and created again. */
enum { KEYS = 1000, STEADY = 900, STEP = 1000, FLOOD_HOOKS = 3, HUNG_MAX = 8, TAKES = 0xf };

/* Memory that may come and go beside that of the keys: buffers of streams, longer version
 * numbers. */
enum { SLACK_BYTES = 65536 };

struct flood {
    struct clock clock;
    struct watch *watch;
    struct hooks hooks;
    uint64_t rv;
    uint64_t uids[KEYS]; /* 0 = there is no such object */
    uint64_t next_uid;
    struct run *hung[HUNG_MAX];
    size_t hung_count;
    unsigned runs[KEYS]; /* by key in mode object, since the programs went on */
    uint64_t events[FLOOD_HOOKS];
    uint64_t totals[FLOOD_HOOKS]; /* runs of each hook */
};

static struct now now(const struct flood *x)
{
    return (struct now){.ms = x->clock.now_ms, .wall_ns = x->clock.now_ms * 1000000};
}

static void put_object(const struct flood *x, struct buf *out, size_t key)
{
    buf_printf(out,
               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"k%03zu\","
               "\"namespace\":\"ns\",\"uid\":\"u%" PRIu64 "\",\"resourceVersion\":\"%" PRIu64
               "\"},\"data\":{\"at\":\"%08" PRIu64 "\"}}",
               key, x->uids[key], x->rv, x->rv);
}

static void put_change(struct flood *x, struct buf *out)
{
    size_t key = clock_pick(&x->clock, 0, KEYS - 1);
    const char *type = "MODIFIED";
    uint64_t uid = x->uids[key];

    x->rv++;
    if (uid == 0) {
        type = "ADDED";
        x->uids[key] = ++x->next_uid;
    } else if (key >= STEADY && clock_percent(&x->clock, 50)) {
        type = "DELETED";
    }
    buf_printf(out, "{\"type\":\"%s\",\"object\":", type);
    put_object(x, out, key);
    buf_puts(out, "}\n");
    if (strcmp(type, "DELETED") == 0)
        x->uids[key] = 0;
}

static void add_watch(struct flood *x)
{
    static const char *const all[] = {"*"};
    struct watch_params p = {
        .name = "all",
        .cluster = "sim",
        .resource = "configmaps",
        .namespaces = all,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 1 << 20,
        .reflector = {.backoff = {.initial_ms = 80, .max_ms = 3000, .factor = 2},
                      .page_size = 5000,
                      .watch_min_s = 86400,
                      .watch_max_s = 86400},
        .guard = {.relist_deletes = GUARD_OFF                                      },
        .bookmark_timeout_ms = 1 << 30,
        .list_idle_timeout_ms = 60000,
        .stale_after_ms = 30000,
    };
    struct err err;

    if (watch_create(&p, &x->watch, &err) != ERR_OK)
        panic("%s", err.text);
    watch_subscribe(x->watch, &hooks_subscriber, &x->hooks);
}

static void add_hook(struct flood *x, enum hook_mode mode)
{
    static const char *const names[] = {"object", "batch", "snapshot"};
    const struct hook_source source = {.name = "all", .of.watch = x->watch};
    struct hook_params p = {
        .name = names[mode],
        .index = mode,
        .rules = {.mode = mode                                              },
        .sources = &source,
        .source_count = 1,
        .work_queue = { .concurrency = 2, .retry = {.initial_ms = 100, .max_ms = 1000, .factor = 2}},
    };
    struct err err;

    if (filter_init(&p.filter, TAKES, NULL, 0, &err) != ERR_OK)
        panic("%s", err.text);
    hooks_add(&x->hooks, &p);
}

static void answer(struct flood *x)
{
    const struct http_head head = {
        .status = 200, .content_type = str_c("application/json"), .retry_after_s = -1};

    list_watch_head(watch_list_watch(x->watch, 0), &head, x->clock.now_ms);
}

static void send(struct flood *x, struct buf *body)
{
    ensure(list_watch_body(watch_list_watch(x->watch, 0), body->data, body->len, now(x)));
    body->len = 0;
}

static void list_all(struct flood *x)
{
    struct list_watch *f = watch_list_watch(x->watch, 0);
    struct buf body = {0};

    ensure(list_watch_start(f, x->clock.now_ms).what == LW_LIST);
    answer(x);
    buf_printf(&body, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":"
                      "{\"resourceVersion\":\"1\"},\"items\":[");
    x->rv = 1;
    for (size_t key = 0; key < KEYS; key++) {
        x->uids[key] = ++x->next_uid;
        buf_puts(&body, key > 0 ? "," : "");
        put_object(x, &body, key);
    }
    buf_puts(&body, "]}");
    send(x, &body);
    ensure(list_watch_end(f, NULL, 0, now(x)).what == LW_WATCH);
    answer(x);
    buf_free(&body);
}

static void finish(struct flood *x, struct run *run)
{
    const struct run_result ok = {.text = "simulated", .wall_ns = 1};

    hooks_finish(&x->hooks, run, &ok, x->clock.now_ms);
}

static size_t key_of(const struct run *run)
{
    size_t key = strtoul(run_key(run) + strlen("ns/k"), NULL, 10);

    ensure(key < KEYS);
    return key;
}

/* Starts and ends runs until nothing is left to do. */
static void drain(struct flood *x)
{
    struct run *run;

    while ((run = hooks_next(&x->hooks, x->clock.now_ms)) != NULL) {
        if (run->hook->rules.mode == HOOK_OBJECT)
            x->runs[key_of(run)]++;
        x->events[run->hook->index] += run->event_count;
        x->totals[run->hook->index]++;
        finish(x, run);
    }
    ensure(hooks_quiet(&x->hooks));
}

static void change(struct flood *x, uint64_t n)
{
    struct buf body = {0};

    for (uint64_t i = 1; i <= n; i++) {
        put_change(x, &body);
        if (i % STEP == 0 || i == n) {
            x->clock.now_ms += 10;
            send(x, &body);
        }
    }
    buf_free(&body);
}

/* Starts programs that do not end. */
static void hang(struct flood *x)
{
    struct run *run;

    while ((run = hooks_next(&x->hooks, x->clock.now_ms)) != NULL) {
        ensure(x->hung_count < HUNG_MAX);
        x->hung[x->hung_count++] = run;
    }
    ensure(x->hung_count == FLOOD_HOOKS + 1); /* one of the shared slots is enough */
}

/* 0 under a sanitizer, whose allocator does not say; then its leak check and the counts of
 * deliveries must do. */
static size_t bytes_in_use(void)
{
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
}

static void check_entries(const struct flood *x)
{
    for (size_t i = 0; i < FLOOD_HOOKS; i++) {
        const struct delivery_queue *q = &x->hooks.v[i]->queue;

        ensure(map_count(&q->sources[0].by_key) <= KEYS);
        ensure(q->pending_count <= KEYS);
    }
}

static void flood(struct flood *x, uint64_t changes)
{
    size_t before = 0;

    for (uint64_t i = 0; i < 10; i++) {
        change(x, changes / 10);
        ensure(hooks_next(&x->hooks, x->clock.now_ms) == NULL);
        check_entries(x);
        if (i == 0)
            before = bytes_in_use();
    }
    size_t after = bytes_in_use();
    printf("%" PRIu64 " changes of %d keys: %zu KiB after the first tenth, %zu KiB after all\n",
           changes, KEYS, before / 1024, after / 1024);
    if (after > before + SLACK_BYTES)
        panic("memory grows with changes");
}

/* Each key has one run, and one more if it is another incarnation now. */
static void check_runs(const struct flood *x)
{
    for (size_t key = 0; key < KEYS; key++)
        if (x->runs[key] > (key < STEADY ? 1 : 2))
            panic("key %zu has %u runs", key, x->runs[key]);
    for (size_t mode = HOOK_BATCH; mode <= HOOK_SNAPSHOT; mode++) {
        if (x->totals[mode] != 1)
            panic("%s: %" PRIu64 " runs", x->hooks.v[mode]->name, x->totals[mode]);
        ensure(x->events[mode] <= KEYS + (KEYS - STEADY));
    }
    printf("and then %" PRIu64 " runs in mode object, one of %" PRIu64 " events in mode batch\n",
           x->totals[HOOK_OBJECT], x->events[HOOK_BATCH]);
}

void flood_run(uint64_t changes, uint64_t seed)
{
    struct flood *x = MEM_NEW(struct flood, .rv = 1);

    clock_init(&x->clock, seed, false);
    add_watch(x);
    hooks_init(&x->hooks, 1, seed);
    for (int mode = HOOK_OBJECT; mode <= HOOK_SNAPSHOT; mode++)
        add_hook(x, (enum hook_mode)mode);
    list_all(x);
    drain(x);
    change(x, KEYS);
    hang(x);
    flood(x, changes);
    memset(x->runs, 0, sizeof(x->runs));
    memset(x->totals, 0, sizeof(x->totals));
    memset(x->events, 0, sizeof(x->events));
    for (size_t i = 0; i < x->hung_count; i++)
        finish(x, x->hung[i]);
    drain(x);
    check_runs(x);
    hooks_fini(&x->hooks);
    watch_destroy(&x->watch);
    free(x);
}
