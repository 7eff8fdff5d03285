/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sync - the cost of the first list of a namespace for a watch of many namespaces: us of CPU, for
 * 250 to 4 000 namespaces with 10 objects each. The time does not grow with their number, nor from the
 * first quarter of them to the last. Not a test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/watch.h"

enum { OBJECTS = 10, OBJECT_SIZE = 1 << 20 };

static double cpu_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    size_t *told = arg;

    (void)from;
    ensure(d->type == DELTA_ADDED);
    (*told)++;
}

static void put_list(struct buf *out, size_t ns)
{
    buf_puts(out, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"resourceVersion\":\"100000\"},\"items\":[");
    for (int i = 0; i < OBJECTS; i++)
        buf_printf(out,
                   "%s{\"metadata\":{\"name\":\"map-%d\",\"namespace\":\"namespace-%zu\",\"uid\":"
                   "\"6a3c2b8e-%04zu-4d6e-9c1d-%012d\",\"resourceVersion\":\"%d\"},\"data\":{"
                   "\"key\":\"value\"}}",
                   i > 0 ? "," : "", i, ns, ns, i, i + 1);
    buf_puts(out, "]}\n");
}

static void answer(struct watch *w, size_t ns, const struct buf *body)
{
    struct list_watch *f = watch_list_watch(w, ns);
    const struct http_head head = {.status = 200, .content_type = str_c("application/json")};
    const struct now now = {1000, 1};

    list_watch_head(f, &head, now.ms);
    ensure(list_watch_body(f, body->data, body->len, now));
    ensure(list_watch_end(f, NULL, 0, now).what == LW_WATCH);
}

/* Returns the seconds that the answers in this range took. */
static double answer_all(struct watch *w, size_t from, size_t to)
{
    struct buf body = {0};
    double took = 0;

    for (size_t ns = from; ns < to; ns++) {
        buf_clear(&body);
        put_list(&body, ns);
        double start = cpu_s();
        answer(w, ns, &body);
        took += cpu_s() - start;
    }
    buf_free(&body);
    return took;
}

static struct watch *watch_of(size_t count, const char *const *namespaces, size_t *told)
{
    static const struct subscriber events = {.on_delta = on_delta};
    const struct watch_params params = {
        .name = "maps",
        .cluster = "prod",
        .resource = "configmaps",
        .namespaces = namespaces,
        .namespace_count = count,
        .label_selector = "",
        .field_selector = "",
        .object_size = OBJECT_SIZE,
        .reflector = {.page_size = 500,     .watch_min_s = 300, .watch_max_s = 300},
        .guard = {.relist_deletes = 50, .at_least = 10,     .hold_ms = 60000  },
        .seed = 1,
    };
    struct watch *w;

    if (watch_create(&params, &w, NULL) != ERR_OK)
        panic("the watch cannot be made");
    watch_subscribe(w, &events, told);
    for (size_t i = 0; i < count; i++)
        ensure(list_watch_start(watch_list_watch(w, i), 1).what == LW_LIST);
    return w;
}

static void measure(size_t count)
{
    char **namespaces = mem_array(count, sizeof(char *));
    size_t quarter = count / 4;
    size_t told = 0;

    for (size_t i = 0; i < count; i++)
        namespaces[i] = mem_printf("namespace-%zu", i);
    struct watch *w = watch_of(count, (const char *const *)namespaces, &told);
    double first = answer_all(w, 0, quarter);
    double middle = answer_all(w, quarter, count - quarter);
    double last = answer_all(w, count - quarter, count);
    ensure(told == count * OBJECTS && watch_synced(w));
    printf("%5zu namespaces: %6.1f us each, %6.1f of the first quarter, %6.1f of the last\n", count,
           (first + middle + last) * 1e6 / (double)count, first * 1e6 / (double)quarter,
           last * 1e6 / (double)quarter);
    watch_destroy(&w);
    for (size_t i = 0; i < count; i++)
        free(namespaces[i]);
    free(namespaces);
}

int main(void)
{
    static const size_t counts[] = {250, 500, 1000, 2000, 4000};

    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        measure(counts[i]);
    return 0;
}
