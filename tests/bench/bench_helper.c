/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_helper - the costs of a run through the helper: main's part (input file, two pipes, message),
 * the helper's, and how many runs of /bin/true a second come back.
 *
 *     bench_helper [RUNS [AT_ONCE [DOCUMENT_BYTES]]]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/memfile.h"
#include "base/panic.h"
#include "helper/helper.h"
#include "io/helper_link.h"
#include "io/loop.h"

struct bench {
    struct loop *loop;
    struct helper_link *link;
    struct str document;
    uint64_t *took_ns; /* CPU time of main, per run */
    uint64_t cpu_us;   /* CPU time of the programs */
    size_t runs, at_once, started, ended;
};

static const char env[] = "INFORMERD_HOOK=bench\0INFORMERD_RUN=1\0INFORMERD_EVENT=MODIFIED";

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A run under way; freed when it has ended. */
struct asked {
    struct helper_run run;
    struct bench *b;
};

static void on_exited(struct helper_run *run, const struct run_end *end);

static void start_one(struct bench *b)
{
    struct asked *a = MEM_NEW(struct asked, .run.on_exited = on_exited, .b = b);
    uint64_t begin = now_ns();
    int out[2];
    int err[2];
    int doc;

    ensure(memfile_create("bench", b->document, &doc, NULL) == ERR_OK);
    ensure(pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0);
    helper_link_run(b->link, &a->run, 0, RUN_PROGRAM_COMMAND, str_of(env, sizeof(env)),
                    (int[]){doc, out[1], err[1]});
    b->took_ns[b->started++] = now_ns() - begin;
    close(out[0]);
    close(err[0]);
}

static void start_more(struct bench *b)
{
    while (b->started < b->runs && b->started - b->ended < b->at_once)
        start_one(b);
}

static void on_exited(struct helper_run *run, const struct run_end *end)
{
    struct asked *a = container_of(run, struct asked, run);
    struct bench *b = a->b;

    ensure(run_end_is_good(end));
    b->cpu_us += end->cpu_us;
    b->ended++;
    free(a);
    start_more(b);
    if (b->ended == b->runs)
        loop_stop(b->loop);
}

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    (void)arg;
    panic("file %" PRIu64 ", %d, %d: never asked for", tag, fd, error);
}

static void on_lost(void *arg, const struct err *err)
{
    (void)arg;
    panic("%s", err->text);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void report(struct bench *b, uint64_t wall_ns)
{
    double runs = (double)b->runs;

    qsort(b->took_ns, b->runs, sizeof(*b->took_ns), compare);
    printf("%zu runs of /bin/true, %zu at once, document of %zu bytes\n", b->runs, b->at_once,
           b->document.n);
    uint64_t median = b->took_ns[b->runs / 2];
    uint64_t p99 = b->took_ns[b->runs * 99 / 100];
    printf("main per run: median %.1f us, p99 %.1f us\n", (double)median / 1e3, (double)p99 / 1e3);
    printf("throughput: %.0f runs/s; CPU of a program: %.0f us\n", runs / ((double)wall_ns / 1e9),
           (double)b->cpu_us / runs);
}

/* The memory that the helper holds, shared and of its own. */
static void report_memory(pid_t helper, const char *when)
{
    char *path = mem_printf("/proc/%d/smaps_rollup", (int)helper);
    FILE *f = fopen(path, "re");
    char line[128];

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "Rss:", 4) == 0 || strncmp(line, "Private_Dirty:", 14) == 0)
            printf("helper %s: %s", when, line);
    if (f != NULL)
        fclose(f);
    free(path);
}

/* The CPU time of the helper so far, forks included. */
static uint64_t helper_ns(pid_t helper)
{
    char *path = mem_printf("/proc/%d/schedstat", (int)helper);
    FILE *f = fopen(path, "re");
    char line[128] = "";

    if (f != NULL && fgets(line, sizeof(line), f) == NULL)
        line[0] = '\0';
    if (f != NULL)
        fclose(f);
    free(path);
    return strtoull(line, NULL, 10);
}

static size_t argument(int argc, char **argv, int i, size_t otherwise)
{
    return i < argc ? strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    static const struct helper_link_events events = {.on_opened = on_opened, .on_lost = on_lost};
    static const char *const program[] = {"/bin/true", NULL};
    static const char *const fixed[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    const struct helper_hook hook = {
        .argv = program, .env = fixed, .concurrency = 1000, .umask = 022};
    const struct helper_params params = {.hooks = &hook, .hook_count = 1, .shared_runs = 1000};
    struct bench b = {.runs = argument(argc, argv, 1, 5000), .at_once = argument(argc, argv, 2, 8)};
    size_t bytes = argument(argc, argv, 3, 5000);
    pid_t helper;
    int fd;

    ensure(b.runs > 0 && b.at_once > 0);
    ensure(helper_start(&params, NULL, &fd, &helper, NULL) == ERR_OK);
    char *document = mem_zalloc(bytes);
    b.document = str_of(document, bytes);
    b.took_ns = mem_array(b.runs, sizeof(*b.took_ns));
    b.loop = loop_create();
    b.link = helper_link_create(b.loop, fd, &events, &b);
    uint64_t begin = now_ns();
    uint64_t computed = helper_ns(helper);
    start_more(&b);
    while (b.ended < b.runs)
        loop_run(b.loop);
    report(&b, now_ns() - begin);
    printf("helper per run: %.1f us\n",
           (double)(helper_ns(helper) - computed) / 1e3 / (double)b.runs);
    report_memory(helper, "at the end");
    helper_link_dispose(&b.link);
    loop_destroy(&b.loop);
    waitpid(helper, NULL, 0);
    free(b.took_ns);
    free(document);
    return 0;
}
