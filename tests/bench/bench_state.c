/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_state - the costs of the state on disk: loading 1 000, 10 000 and 100 000 objects (aim: 10 000
 * in < 20 ms), writing them, and the commit of one delivery record (aim: < 100 us), alone and while log
 * and file are being synced beside it. Not a test.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/panic.h"
#include "state/loader.h"
#include "state/syncer.h"
#include "state/writer.h"

enum { BODY = 1500, DELIVERIES = 5000, DELIVERY_KEYS = 1000 };

#define LIMIT ((uint64_t)4 << 30)

struct beside {
    const struct folder *folder;
    atomic_bool over;
    unsigned rounds;
    bool checkpoint;
};

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static struct row_object object(char *key, size_t size, const char *body, int i)
{
    int n = snprintf(key, size, "namespace-%d/service-%d-abcde", i % 50, i);

    return (struct row_object){
        .key = str_of(key, (size_t)n),
        .uid = str_c("6a3c2b8e-7a5f-4d6e-9c1d-000000000000"),
        .rv = str_c("1234567890"),
        .generation = str_c("12"),
        .api_version = str_c("discovery.k8s.io/v1"),
        .kind = str_c("EndpointSlice"),
        .rv_at = 200,
        .generation_at = 100,
        .body = str_of(body, BODY),
        .whole = true,
    };
}

static void apply(struct writer *w, struct batch *b)
{
    struct writer_report report;
    struct err err;

    if (writer_apply(w, b, &report, &err) != ERR_OK)
        panic("%s", err.text);
    batch_clear(b);
}

static void on_item(void *arg, const struct row_item *item)
{
    (void)arg;
    (void)item;
}

static void on_fact(void *arg, const struct row_fact *fact)
{
    (void)arg;
    (void)fact;
}

/* As the cache does: a copy of each object. */
static void on_object(void *arg, uint64_t stream, const struct row_object *o)
{
    unsigned *n = arg;

    (void)stream;
    free(mem_dup(o->body.p, o->body.n));
    (*n)++;
}

static void on_delivery(void *arg, const struct row_delivery *m)
{
    (void)arg;
    (void)m;
}

static void load(const struct folder *f, unsigned n)
{
    static const struct loader_sink sink = {on_item, on_fact, on_object, on_delivery};
    unsigned seen = 0;
    struct err err;
    double begin = now_us();

    ensure(loader_read(f, &sink, &seen, &err) == LOADER_STATE && seen == n);
    printf("  load, checked          %9.1f ms\n", (now_us() - begin) / 1e3);
}

static void *run_beside(void *arg)
{
    struct beside *b = arg;
    struct err err;

    while (!atomic_load(&b->over)) {
        if (syncer_run(b->folder, b->checkpoint, &err) != ERR_OK)
            panic("%s", err.text);
        b->rounds++;
    }
    return NULL;
}

static void commit_deliveries(struct writer *w, const char *what)
{
    static double took[DELIVERIES];
    struct batch b = {0};

    for (int i = 0; i < DELIVERIES; i++) {
        char key[64];
        int n = snprintf(key, sizeof(key), "namespace-%d/service-%d", i % 50, i % DELIVERY_KEYS);
        const struct row_delivery m = {
            .source = 9,
            .key = str_of(key, (size_t)n),
            .uid = str_c("6a3c2b8e-7a5f-4d6e-9c1d-000000000000"),
            .is_delivered = true,
            .delivered = {.lo = (uint64_t)i}, /* equal rows cost nothing */
            .attempted = true,
        };
        double begin = now_us();

        batch_delivery(&b, &m, NULL);
        apply(w, &b);
        took[i] = now_us() - begin;
    }
    qsort(took, DELIVERIES, sizeof(*took), by_size);
    printf("  commit of a mark, %-22s p50 %7.1f  p99 %7.1f  max %9.1f us\n", what,
           took[DELIVERIES / 2], took[DELIVERIES * 99 / 100], took[DELIVERIES - 1]);
    batch_fini(&b);
}

static void commit_beside(struct writer *w, const struct folder *f, bool checkpoint)
{
    struct beside beside = {.folder = f, .checkpoint = checkpoint};
    pthread_t thread;

    ensure(pthread_create(&thread, NULL, run_beside, &beside) == 0);
    commit_deliveries(w, checkpoint ? "checkpoints beside it" : "syncs beside it");
    atomic_store(&beside.over, true);
    pthread_join(thread, NULL);
    printf("    %u of them\n", beside.rounds);
}

static void remove_all(const char *path)
{
    DIR *dir = opendir(path);

    ensure(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static void fill(struct writer *w, const char *body, int n)
{
    struct batch b = {0};
    double begin = now_us();

    for (int i = 0; i < n; i++) {
        char key[64];
        struct row_object o = object(key, sizeof(key), body, i);

        batch_object(&b, 3, &o, NULL);
    }
    double gathered = now_us();
    apply(w, &b);
    printf("  gather %9.1f ms (loop), write %9.1f ms (worker)\n", (gathered - begin) / 1e3,
           (now_us() - gathered) / 1e3);
    batch_fini(&b);
}

static void measure(int n)
{
    char path[] = "bench-state-XXXXXX";
    char *body = mem_zalloc(BODY);
    struct folder *f;
    struct err err;

    ensure(mkdtemp(path) != NULL);
    if (folder_open(path, &f, &err) != ERR_OK)
        panic("%s", err.text);
    struct writer *w = writer_create(f, LIMIT);
    printf("%d objects of %d bytes\n", n, BODY);
    fill(w, body, n);
    writer_destroy(&w); /* like after a kill: the log is not in the file yet */
    load(f, (unsigned)n);
    w = writer_create(f, LIMIT);
    commit_deliveries(w, "alone");
    commit_beside(w, f, false);
    commit_beside(w, f, true);
    double begin = now_us();
    writer_close(w);
    printf("  orderly end            %9.1f ms\n", (now_us() - begin) / 1e3);
    load(f, (unsigned)n);
    load(f, (unsigned)n);
    writer_destroy(&w);
    folder_close(&f);
    remove_all(path);
    free(body);
}

int main(void)
{
    measure(1000);
    measure(10000);
    measure(100000);
    return EXIT_SUCCESS;
}
