/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_object - how fast watch events and lists become objects: MB/s and us an object, for
 * EndpointSlices of about 4.7 KB (10 endpoints) in chunks of 16 KiB. Not a test.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/panic.h"
#include "kube/event.h"
#include "kube/list.h"
#include "kube/shape.h"
#include "proto/json_path.h"
#include "proto/json_value.h"

enum { OBJECTS = 2000, ROUNDS = 10, CHUNK = 16384, OBJECT_SIZE = 16 << 20 };

static size_t seen;
static struct object_rules rules = {"EndpointSlice", "discovery.k8s.io/v1", OBJECT_SIZE, NULL,
                                    false};

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void put_slice(struct buf *out, int i)
{
    buf_printf(out,
               "\"metadata\":{\"name\":\"service-%d-abcde\",\"generateName\":\"service-%d-\","
               "\"namespace\":\"namespace-%d\",\"uid\":\"6a3c2b8e-7a5f-4d6e-9c1d-%012d\","
               "\"resourceVersion\":\"%d\",\"generation\":%d,\"creationTimestamp\":"
               "\"2024-01-01T00:00:00Z\",\"labels\":{\"kubernetes.io/service-name\":"
               "\"service-%d\",\"endpointslice.kubernetes.io/managed-by\":"
               "\"endpointslice-controller.k8s.io\"},\"managedFields\":[{\"manager\":"
               "\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":"
               "\"discovery.k8s.io/v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{",
               i, i, i % 50, i, 100000 + i, i % 9 + 1, i);
    for (int k = 0; k < 20; k++)
        buf_printf(out, "%s\"f:member-%d\":{\".\":{},\"f:x\":{}}", k > 0 ? "," : "", k);
    buf_puts(out, "}}]},\"addressType\":\"IPv4\",\"endpoints\":[");
    for (int k = 0; k < 10; k++)
        buf_printf(out,
                   "%s{\"addresses\":[\"10.%d.%d.%d\"],\"conditions\":{\"ready\":true,"
                   "\"serving\":true,\"terminating\":false},\"targetRef\":{\"kind\":\"Pod\","
                   "\"namespace\":\"namespace-%d\",\"name\":\"service-%d-0123456789-%05d\","
                   "\"uid\":\"0f3c2b8e-7a5f-4d6e-9c1d-%012d\"},\"nodeName\":\"node-%d\","
                   "\"zone\":\"zone-%d\"}",
                   k > 0 ? "," : "", i % 256, k, i % 251, i % 50, i, k, k, k * 7 % 100, k % 3);
    buf_puts(out, "],\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]}");
}

static void on_item(void *arg, struct object *o, bool selected)
{
    (void)arg;
    (void)o;
    (void)selected;
    seen++;
}

static void on_unusable(void *arg, const struct unusable *u)
{
    (void)arg;
    (void)u;
    panic("too big");
}

static void read_events(const struct buf *body)
{
    struct event_reader *r = event_reader_create(&rules);
    const struct event *e;

    for (size_t i = 0; i < body->len; i += CHUNK) {
        size_t n = body->len - i < CHUNK ? body->len - i : CHUNK;

        ensure(event_reader_feed(r, body->data + i, n, NULL) == ERR_OK);
        while ((e = event_reader_next(r)) != NULL)
            seen += e->type == EVENT_ADDED;
    }
    event_reader_destroy(&r);
}

static void read_list(const struct buf *body)
{
    static const struct list_events events = {on_item, on_unusable};
    struct list_reader *r = list_reader_create(&rules, &events, NULL);
    struct list_page page;

    for (size_t i = 0; i < body->len; i += CHUNK) {
        size_t n = body->len - i < CHUNK ? body->len - i : CHUNK;

        ensure(list_reader_feed(r, body->data + i, n, NULL) == ERR_OK);
    }
    ensure(list_reader_end(r, &page, NULL) == ERR_OK);
    list_reader_destroy(&r);
}

/* The cost of changes_in for one object. */
static void select_paths(const struct buf *body)
{
    static const char *const texts[] = {"endpoints[*].addresses", "ports[*].port"};
    struct json_path *paths[ARRAY_LEN(texts)];
    struct buf out = {0};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ensure(json_path_parse(texts[i], &paths[i], NULL) == ERR_OK);
    for (int i = 0; i < OBJECTS; i++, seen++) {
        buf_clear(&out);
        ensure(json_path_select((const struct json_path *const *)paths, ARRAY_LEN(paths),
                                buf_str(body), &out, NULL) == ERR_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        json_path_destroy(&paths[i]);
    buf_free(&out);
}

/* The cost of a state whose bytes differ from the state that a hook has handled. */
static void digest_values(const struct buf *body)
{
    uint64_t sum = 0;

    for (int i = 0; i < OBJECTS; i++, seen++)
        sum += json_value_digest(buf_str(body)) + (uint64_t)i;
    ensure(sum != 0);
}

static void measure(const char *what, void (*run)(const struct buf *), const struct buf *body,
                    double bytes)
{
    double best = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now_s();

        seen = 0;
        run(body);
        ensure(seen == OBJECTS);
        double took = now_s() - start;
        best = took < best ? took : best;
    }
    printf("%-12s %6.0f MB/s %7.2f us/object (best of %d, objects of %.0f bytes)\n", what,
           bytes / best / 1e6, best * 1e6 / OBJECTS, ROUNDS, bytes / OBJECTS);
}

/* The shape of a hook that looks at addresses: parts that are cut are not copied. */
static void read_shaped(const struct buf *events, const struct buf *list)
{
    static const char *const keep[] = {"metadata.labels", "endpoints[*].addresses",
                                       "endpoints[*].conditions", "ports"};
    static const char *const match[] = {"addressType=IPv4"};
    const struct shape_params params = {.keep = keep,
                                        .keep_count = ARRAY_LEN(keep),
                                        .match = match,
                                        .match_count = ARRAY_LEN(match)};
    struct shape *shape;

    ensure(shape_create(&params, &shape, NULL) == ERR_OK);
    rules.shape = shape;
    measure("events, keep", read_events, events, (double)events->len);
    measure("list, keep", read_list, list, (double)list->len);
    rules.shape = NULL;
    shape_destroy(&shape);
}

int main(void)
{
    struct buf events = {0};
    struct buf list = {0};
    struct buf one = {0};

    buf_puts(&list, "{\"kind\":\"EndpointSliceList\",\"apiVersion\":\"discovery.k8s.io/v1\","
                    "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (int i = 0; i < OBJECTS; i++) {
        buf_puts(&events, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"EndpointSlice\","
                          "\"apiVersion\":\"discovery.k8s.io/v1\",");
        put_slice(&events, i);
        buf_puts(&events, "}\n");
        buf_puts(&list, i > 0 ? ",{" : "{");
        put_slice(&list, i);
    }
    buf_puts(&list, "]}\n");
    buf_puts(&one, "{");
    put_slice(&one, 1);
    measure("events", read_events, &events, (double)events.len);
    measure("list", read_list, &list, (double)list.len);
    read_shaped(&events, &list);
    measure("json_path", select_paths, &one, (double)one.len * OBJECTS);
    measure("json_value", digest_values, &one, (double)one.len * OBJECTS);
    buf_free(&events);
    buf_free(&list);
    buf_free(&one);
    return 0;
}
