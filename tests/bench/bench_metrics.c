/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_metrics - the time that one scrape takes from the loop: ms of CPU to make /metrics for 1 000
 * watches that have failed and were listed again, and 100 hooks (the aim: < 5 ms). Not a test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin/admin.h"
#include "admin/metrics.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch.h"
#include "hook/hook.h"

enum { WATCHES = 1000, HOOKS = 100, SCRAPES = 200 };

static double cpu_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static const char list[] =
    "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"42\"},"
    "\"items\":[{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"u\","
    "\"resourceVersion\":\"1\"}}]}";

static const char refusal[] =
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":500,\"message\":\"no\"}";

static void answer(struct list_watch *lw, int status, const char *body)
{
    const struct http_head head = {
        .status = status, .content_type = str_c("application/json"), .retry_after_s = -1};
    const struct now now = {1000, 1000};

    list_watch_head(lw, &head, now.ms);
    ensure(list_watch_body(lw, body, strlen(body), now));
    struct list_watch_action a = list_watch_end(lw, NULL, 0, now);
    if (a.what == LW_IDENTIFY)
        list_watch_identified(lw, NULL, 0, now);
}

static struct watch *new_watch(int i)
{
    char name[32];
    static const char *const everywhere[] = {"*"};
    struct watch_params p = {
        .name = name,
        .cluster = "production",
        .resource = "services",
        .namespaces = everywhere,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 1 << 20,
        .stale_after_ms = 30000,
        .reflector = {.backoff = {1000, 30000, 2, 0},
                      .watch_min_s = 240,
                      .watch_max_s = 300,
                      .watch_list = WATCH_LIST_OFF}
    };
    struct watch *w = NULL;
    struct err err = {0};

    snprintf(name, sizeof(name), "services-of-team-%d", i);
    if (watch_create(&p, &w, &err) != ERR_OK)
        panic("%s", err.text);
    struct list_watch *lw = watch_list_watch(w, 0);
    list_watch_start(lw, 1);
    answer(lw, 200, list);
    answer(lw, 500, refusal);
    watch_relist(w, RELIST_MANUAL);
    list_watch_restart(lw, (struct now){1000, 1000});
    answer(lw, 200, list);
    return w;
}

static void add_hook(struct hooks *hooks, int i, struct watch *w)
{
    char name[32];
    struct hook_source source = {.name = watch_name(w), .of.watch = w};
    struct hook_params p = {
        .name = name,
        .index = hooks->n,
        .sources = &source,
        .source_count = 1,
        .work_queue = {.concurrency = 1, .retry = {1000, 60000, 2, 0}}
    };

    snprintf(name, sizeof(name), "reload-of-service-%d", i);
    ensure(filter_init(&p.filter, 0xf, NULL, 0, NULL) == ERR_OK);
    hooks_add(hooks, &p);
    struct hook *h = hooks->v[hooks->n - 1];
    for (uint64_t ms = 1; ms < 1000000; ms *= 3) {
        histogram_add(&h->figures.durations, ms);
        histogram_add(&h->figures.since_trigger, ms);
        histogram_add(latency_window(&h->figures.latency, 1000), ms);
    }
}

int main(void)
{
    struct admin_watch *watches = mem_array(WATCHES, sizeof(*watches));
    struct hooks hooks;
    struct admin_model m = {
        .version = "1", .watches = watches, .watch_count = WATCHES, .hooks = &hooks};
    size_t bytes = 0;
    size_t lines = 0;

    hooks_init(&hooks, 8, 1);
    for (int i = 0; i < WATCHES; i++) {
        struct watch *w = new_watch(i);

        watches[i] = (struct admin_watch){watch_name(w), w};
    }
    for (int i = 0; i < HOOKS; i++)
        add_hook(&hooks, i, watches[i].watch);
    double begin = cpu_ms();
    for (int i = 0; i < SCRAPES; i++) {
        struct buf text = {0};

        metrics_put(&text, &m, 2000);
        bytes = text.len;
        for (const char *p = i == 0 ? buf_cstr(&text) : ""; (p = strchr(p, '\n')) != NULL; p++)
            lines++;
        buf_free(&text);
    }
    printf("%d watches, %d hooks: %zu lines, %zu KiB, %.2f ms a scrape\n", WATCHES, HOOKS, lines,
           bytes / 1024, (cpu_ms() - begin) / SCRAPES);
    hooks_fini(&hooks);
    for (size_t i = 0; i < WATCHES; i++)
        watch_destroy(&watches[i].watch);
    free(watches);
    return 0;
}
