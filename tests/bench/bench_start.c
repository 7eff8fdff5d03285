/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_start - for how long starting a hook stops the loop of a daemon that holds much.
 *
 *     bench_start [MEGABYTES [RUNS]]
 *
 * Fills a cache (default 500 MB), then changes one object after the other and times the work of main for
 * each run: choosing it, the input file, the pipes, the message to the helper.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/store.h"
#include "cache/watch.h"
#include "helper/helper.h"
#include "hook/hook.h"
#include "io/helper_link.h"
#include "io/job.h"
#include "io/loop.h"

#define OBJECT_BYTES 5000

struct bench {
    struct loop *loop;
    struct helper_link *link;
    struct hooks hooks;
    struct job *job;
    struct runner_params params;
    /* wall clock: the time as the loop sees it, also when the kernel lets another process go first */
    uint64_t *took_ns;
    uint64_t *cpu_ns; /* CPU time of this thread in it */
    size_t runs;
    size_t done;
    struct watch *watch;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static struct object *make_object(size_t number, unsigned version)
{
    static char body[OBJECT_BYTES];
    char name[32];
    char rv[32];

    memset(body, 'x', sizeof(body));
    snprintf(name, sizeof(name), "o%zu", number);
    snprintf(rv, sizeof(rv), "%u", version);
    int n = snprintf(body, sizeof(body), "{\"v\":%u,\"fill\":\"", version);
    body[n] = 'x';
    body[sizeof(body) - 2] = '"';
    body[sizeof(body) - 1] = '}';
    return object_create(&(struct object_parts){.ns = str_c("bench"),
                                                .name = str_c(name),
                                                .uid = str_c(name),
                                                .rv = str_c(rv),
                                                .api_version = str_c("v1"),
                                                .kind = str_c("Service"),
                                                .body = str_of(body, sizeof(body)),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static void start_next(struct bench *b);

static void on_over(void *arg, struct run *run, struct run_result *result)
{
    struct bench *b = arg;

    if (!run_end_is_good(&result->end))
        panic("hook: %s", result->text);
    hooks_finish(&b->hooks, run, result, loop_now_ms(b->loop));
}

static void on_gone(void *arg, struct job *job)
{
    struct bench *b = arg;

    job_dispose(&job);
    b->job = NULL;
    if (++b->done < b->runs) {
        start_next(b);
        return;
    }
    helper_link_dispose(&b->link);
}

/* The work of the daemon between "this object has changed" and "the helper knows". */
static void start_next(struct bench *b)
{
    static const struct job_events events = {on_over, on_gone};
    struct object *o = make_object(b->done, (unsigned)b->done + 2);
    struct delta d = {.type = DELTA_ADDED, .object = o, .now_ms = loop_now_ms(b->loop)};
    struct err err;
    uint64_t cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t before = clock_ns(CLOCK_MONOTONIC);

    hooks_subscriber.on_delta(&b->hooks, (struct source){.watch = b->watch}, &d);
    struct run *run = hooks_next(&b->hooks, loop_now_ms(b->loop));
    ensure(run != NULL);
    if (job_create(&b->params, run, &events, b, &b->job, &err) != ERR_OK)
        panic("%s", err.text);
    job_start(b->job);
    b->took_ns[b->done] = clock_ns(CLOCK_MONOTONIC) - before;
    b->cpu_ns[b->done] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    object_unref(&o);
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    (void)arg;
    (void)tag;
    (void)error;
    close(fd);
}

static void on_lost(void *arg, const struct err *err)
{
    (void)arg;
    panic("helper lost: %s", err->text);
}

static void no_delta(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void print_spread(const char *what, uint64_t *ns, size_t n)
{
    size_t p50 = n / 2;
    size_t p99 = n * 99 / 100;

    qsort(ns, n, sizeof(*ns), by_size);
    printf("    %-12s p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", what, (double)ns[p50] / 1e6,
           (double)ns[p99] / 1e6, (double)ns[n - 1] / 1e6);
}

static void open_gate(struct bench *b)
{
    static const char *const namespaces[] = {"*"};
    static const char list[] = "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\","
                               "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";
    struct watch_params p = {
        .name = "services",
        .cluster = "bench",
        .resource = "services",
        .namespaces = namespaces,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 1 << 20,
        .reflector = {.watch_min_s = 300, .watch_max_s = 600}
    };
    struct err err;

    if (watch_create(&p, &b->watch, &err) != ERR_OK)
        panic("%s", err.text);
    struct list_watch *f = watch_list_watch(b->watch, 0);
    list_watch_start(f, 1);
    list_watch_head(f, &(struct http_head){.status = 200, .retry_after_s = -1}, 1);
    ensure(list_watch_body(f, list, sizeof(list) - 1, (struct now){.ms = 1}));
    list_watch_end(f, NULL, 0, (struct now){.ms = 1});
}

static void build(struct bench *b, int fd)
{
    static const struct helper_link_events events = {.on_opened = on_opened, .on_lost = on_lost};
    static const struct runner_hook hook = {
        .program = "/bin/true", .timeout_ms = 30000, .kill_signal = SIGTERM, .kill_grace_ms = 1000};
    struct hook_source source = {.name = "services"};
    struct hook_params p = {
        .name = "true",
        .sources = &source,
        .source_count = 1,
        .work_queue = {.concurrency = 1, .retry = {.initial_ms = 1, .max_ms = 1}}
    };

    b->loop = loop_create();
    b->link = helper_link_create(b->loop, fd, &events, b);
    open_gate(b);
    source.of.watch = b->watch;
    hooks_init(&b->hooks, 8, 1);
    if (filter_init(&p.filter, 0xf, NULL, 0, NULL) != ERR_OK)
        panic("filter");
    hooks_add(&b->hooks, &p);
    b->params = (struct runner_params){
        .loop = b->loop,
        .link = b->link,
        .hooks = &b->hooks,
        .by_index = &hook,
        .context = {.node = "node", .instance = "bench"},
    };
    b->took_ns = mem_array(b->runs, sizeof(uint64_t));
    b->cpu_ns = mem_array(b->runs, sizeof(uint64_t));
    ensure(hooks_next(&b->hooks, 1) == NULL);
}

static struct store *fill(size_t megabytes)
{
    struct store *store = store_create(1, no_delta, NULL);

    for (size_t i = 0; store_bytes(store) < megabytes * 1000000; i++) {
        struct object *o = make_object(i, 1);

        store_apply(store, 0, o, (struct now){0});
        object_unref(&o);
    }
    return store;
}

int main(int argc, char **argv)
{
    static const char *const hook_argv[] = {"/bin/true", NULL};
    static const char *const hook_env[] = {NULL};
    struct helper_hook hook = {.name = "true",
                               .argv = hook_argv,
                               .env = hook_env,
                               .concurrency = 1000,
                               .kill_signal = SIGTERM};
    struct bench b = {.runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000};
    size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 500;
    struct err err;
    pid_t pid;
    int fd;

    if (helper_start(&(struct helper_params){.hooks = &hook, .hook_count = 1, .shared_runs = 1000},
                     NULL, &fd, &pid, &err) != ERR_OK)
        panic("%s", err.text);
    signal(SIGPIPE, SIG_IGN);
    struct store *store = fill(megabytes);
    build(&b, fd);
    start_next(&b);
    loop_run(b.loop);
    printf("starting a hook with %zu MB in %zu objects cached, %zu runs: the loop stops for\n",
           megabytes, store_count(store), b.runs);
    print_spread("wall clock", b.took_ns, b.runs);
    print_spread("its own CPU", b.cpu_ns, b.runs);
    loop_destroy(&b.loop);
    hooks_fini(&b.hooks);
    watch_destroy(&b.watch);
    store_destroy(&store);
    free(b.took_ns);
    free(b.cpu_ns);
    waitpid(pid, NULL, 0);
    return 0;
}
