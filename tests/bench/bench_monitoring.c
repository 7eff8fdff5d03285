/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_monitoring - how much time of the loop an answer takes that anybody may ask for over TCP: ms of CPU
 * for /metrics, /healthz and the status page with 1 000 watches, 100 hooks and 1 000 open descriptors, where
 * a third of the watches has a fault. Exits with 1 if one of them takes 5 ms or more (docs/design.md
 * "Metrics").
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "admin/admin.h"
#include "app/process_stat.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "kube/servers.h"

enum { WATCHES = 1000, HOOKS = 100, CLUSTERS = 10, DESCRIPTORS = 1000, TIMES = 100 };
#define LIMIT_MS 5.0

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

/* Every third watch has failed its first list, so it is a fault with a text. The others have failed once and
 * were listed again. */
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
    if (i % 3 == 0) {
        answer(lw, 500, refusal);
        return w;
    }
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

static void open_descriptors(void)
{
    struct rlimit limit;

    ensure(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    ensure(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < DESCRIPTORS; i++)
        ensure(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
}

/* As app/control does. */
static void read_process(void *arg, struct admin_process *out)
{
    (void)arg;
    process_stat_read(out);
}

/* Returns whether the answer is quick enough. */
static bool measure(const char *target, const struct admin_model *m)
{
    const struct admin_request req = {
        .method = str_c("GET"), .target = str_c(target), .anonymous = true};
    double begin = cpu_ms();
    size_t bytes = 0;

    for (int i = 0; i < TIMES; i++) {
        struct admin_response out;

        admin_handle(m, &req, 2000, &out);
        bytes = out.body.len;
        buf_free(&out.body);
    }
    double ms = (cpu_ms() - begin) / TIMES;
    printf("%d watches, %d hooks: %-10s %4zu KiB, %.2f ms\n", WATCHES, HOOKS, target, bytes / 1024,
           ms);
    return ms < LIMIT_MS;
}

static bool measure_all(const struct admin_model *m)
{
    static const char *const targets[] = {"/metrics", "/healthz", "/", "/page.json"};
    bool all = true;

    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        all = measure(targets[i], m) && all;
    if (!all)
        fprintf(stderr, "an answer takes %.0f ms of the loop, or more\n", LIMIT_MS);
    return all;
}

int main(void)
{
    struct admin_watch *watches = mem_array(WATCHES, sizeof(*watches));
    struct admin_cluster clusters[CLUSTERS];
    struct servers servers;
    struct hooks hooks;
    const struct payload_context context = {.node = "node-1"};
    struct admin_model m = {.version = "1",
                            .watches = watches,
                            .watch_count = WATCHES,
                            .clusters = clusters,
                            .cluster_count = CLUSTERS,
                            .hooks = &hooks,
                            .context = &context,
                            .measure = read_process,
                            .hides_keys = true};

    servers_init(&servers, &(struct servers_entry){"https://10.0.0.1:6443", 1}, 1, 1);
    for (int i = 0; i < CLUSTERS; i++)
        clusters[i] = (struct admin_cluster){.name = "production", .servers = &servers};
    hooks_init(&hooks, 8, 1);
    for (int i = 0; i < WATCHES; i++) {
        struct watch *w = new_watch(i);

        watches[i] = (struct admin_watch){watch_name(w), w};
    }
    for (int i = 0; i < HOOKS; i++)
        add_hook(&hooks, i, watches[i].watch);
    open_descriptors();
    bool all = measure_all(&m);
    hooks_fini(&hooks);
    servers_fini(&servers);
    for (size_t i = 0; i < WATCHES; i++)
        watch_destroy(&watches[i].watch);
    free(watches);
    return all ? 0 : 1;
}
