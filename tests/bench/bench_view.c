/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_view - the cost of one change of a slice for the view: us of CPU, of 20 000 slices with 10
 * endpoints each, four to each of 5 000 Services (the aim: < 100 us). Not a test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/panic.h"
#include "cache/view_join.h"
#include "kube/event.h"

enum { SERVICES = 5000, SLICES = 20000, ENDPOINTS = 10, CHANGES = 20000, OBJECT_SIZE = 16 << 20 };

static size_t told;

static double cpu_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static struct object *read_object(const char *kind, const char *api_version, struct buf *frame)
{
    const struct object_rules rules = {kind, api_version, OBJECT_SIZE, NULL, false};
    struct event_reader *r = event_reader_create(&rules);

    ensure(event_reader_feed(r, frame->data, frame->len, NULL) == ERR_OK);
    const struct event *e = event_reader_next(r);
    ensure(e != NULL && e->type == EVENT_ADDED);
    struct object *o = object_ref(e->object);
    event_reader_destroy(&r);
    buf_clear(frame);
    return o;
}

static struct object *make_service(struct buf *frame, int i)
{
    buf_printf(
        frame,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"name\":\"service-%d\",\"namespace\":\"namespace-%d\",\"uid\":"
        "\"6a3c2b8e-7a5f-4d6e-9c1d-%012d\",\"resourceVersion\":\"%d\",\"generation\":1,"
        "\"creationTimestamp\":\"2024-01-01T00:00:00Z\",\"labels\":{\"app\":\"service-%d\"}},"
        "\"spec\":{\"ports\":[{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,"
        "\"targetPort\":8080,\"nodePort\":%d}],\"selector\":{\"app\":\"service-%d\"},"
        "\"clusterIP\":\"10.96.0.1\",\"clusterIPs\":[\"10.96.0.1\"],\"type\":\"NodePort\","
        "\"sessionAffinity\":\"None\",\"externalTrafficPolicy\":\"Cluster\",\"ipFamilies\":["
        "\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\",\"internalTrafficPolicy\":\"Cluster\"},"
        "\"status\":{\"loadBalancer\":{}}}}",
        i, i % 50, i, 100000 + i, i, 30000 + i % 2768, i);
    return read_object("Service", "v1", frame);
}

/* turn: which of its endpoints are ready. */
static struct object *make_slice(struct buf *frame, int i, int turn)
{
    int s = i % SERVICES;

    buf_printf(
        frame,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"EndpointSlice\",\"apiVersion\":"
        "\"discovery.k8s.io/v1\",\"metadata\":{\"name\":\"service-%d-%05d\",\"generateName\":"
        "\"service-%d-\",\"namespace\":\"namespace-%d\",\"uid\":\"6a3c2b8e-7a5f-4d6e-9c1d-"
        "%012d\",\"resourceVersion\":\"%d\",\"generation\":%d,\"labels\":{"
        "\"kubernetes.io/service-name\":\"service-%d\",\"endpointslice.kubernetes.io/"
        "managed-by\":\"endpointslice-controller.k8s.io\"}},\"addressType\":\"IPv4\","
        "\"endpoints\":[",
        s, i, s, s % 50, i, 100000 + i, turn + 1, s);
    for (int k = 0; k < ENDPOINTS; k++)
        buf_printf(
            frame,
            "%s{\"addresses\":[\"10.%d.%d.%d\"],\"conditions\":{\"ready\":%s,\"serving\":"
            "true,\"terminating\":false},\"targetRef\":{\"kind\":\"Pod\",\"namespace\":"
            "\"namespace-%d\",\"name\":\"service-%d-0123456789-%05d\",\"uid\":\"0f3c2b8e-7a5f"
            "-4d6e-9c1d-%012d\"},\"nodeName\":\"node-%d\",\"zone\":\"zone-%d\"}",
            k > 0 ? "," : "", i % 256, k, i / 256, (k + turn) % ENDPOINTS == 0 ? "false" : "true",
            s % 50, s, k, k, k * 7 % 100, k % 3);
    buf_puts(frame, "],\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]}}");
    return read_object("EndpointSlice", "discovery.k8s.io/v1", frame);
}

static void on_delta(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
    told++;
}

static struct delta change_of(struct object *o)
{
    return (struct delta){.type = DELTA_MODIFIED, .cause = CAUSE_WATCH, .object = o};
}

static void fill(struct view_join *j, struct buf *frame)
{
    for (int i = 0; i < SERVICES; i++) {
        struct object *o = make_service(frame, i);
        const struct delta d = change_of(o);

        view_join_service(j, &d);
        object_unref(&o);
    }
    for (int i = 0; i < SLICES; i++) {
        struct object *o = make_slice(frame, i, 0);
        const struct delta d = change_of(o);

        view_join_backends(j, &d);
        object_unref(&o);
    }
    double start = cpu_s();
    view_join_flush(j, (struct now){1, 1});
    ensure(told == SERVICES);
    printf("first join   %7.1f ms for %d Services, %.1f MB of objects\n", (cpu_s() - start) * 1e3,
           SERVICES, (double)store_bytes(view_join_store(j)) / 1e6);
}

static void change(struct view_join *j, struct buf *frame)
{
    struct object **slices = mem_array(CHANGES, sizeof(struct object *));

    for (int i = 0; i < CHANGES; i++)
        slices[i] = make_slice(frame, i * 7919 % SLICES, 1);
    told = 0;
    double start = cpu_s();
    for (int i = 0; i < CHANGES; i++) {
        const struct delta d = change_of(slices[i]);

        view_join_backends(j, &d);
        view_join_flush(j, (struct now){1, 1});
    }
    double took = cpu_s() - start;
    ensure(told == CHANGES);
    printf("slice change %7.1f us of CPU (%d changes, %d slices of %d endpoints, %d Services)\n",
           took * 1e6 / CHANGES, CHANGES, SLICES, ENDPOINTS, SERVICES);
    for (int i = 0; i < CHANGES; i++)
        object_unref(&slices[i]);
    free(slices);
}

int main(void)
{
    const struct view_join_params params = {.cluster = "prod", .node_name = "node-7"};
    struct view_join *j = view_join_create(&params, on_delta, NULL);
    struct buf frame = {0};

    fill(j, &frame);
    change(j, &frame);
    view_join_destroy(&j);
    buf_free(&frame);
    return 0;
}
