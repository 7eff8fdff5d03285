/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/slices.h"

#include <inttypes.h>

#include "base/panic.h"

enum { NAMESPACES = 50, ENDPOINTS = 3 };

/* A chunk of a chunked body. */
static void put_chunk(struct buf *out, const struct buf *data)
{
    buf_printf(out, "%zx\r\n", data->len);
    buf_append_str(out, buf_str(data));
    buf_puts(out, "\r\n");
}

static void put_endpoint(struct buf *out, size_t key, unsigned spec, unsigned i)
{
    buf_printf(out,
               "%s{\"addresses\":[\"10.%zu.%u.%u\"],\"conditions\":{\"ready\":%s,\"serving\":true,"
               "\"terminating\":false},\"nodeName\":\"node-%zu\",\"targetRef\":{\"kind\":\"Pod\","
               "\"name\":\"service-%zu-0123456789-%05u\",\"namespace\":\"namespace-%zu\",\"uid\":"
               "\"0f3c2b8e-7a5f-4d6e-9c1d-%012zu\"},\"zone\":\"zone-%u\"}",
               i > 0 ? "," : "", key % 256, spec % 251, i, spec % 2 == 0 ? "true" : "false",
               key * 7 % 100, key, i, key % NAMESPACES, key, i);
}

/* An object as the API server writes it, without the brace at its begin. */
static void put_slice(const struct slices *s, struct buf *out, size_t key)
{
    const struct slice *o = &s->v[key];

    buf_printf(out,
               "\"metadata\":{\"name\":\"service-%zu-abcde\",\"generateName\":\"service-%zu-\","
               "\"namespace\":\"namespace-%zu\",\"uid\":\"6a3c2b8e-7a5f-4d6e-9c1d-%012" PRIu64
               "\",\"resourceVersion\":\"%" PRIu64 "\",\"generation\":%u,\"creationTimestamp\":"
               "\"2024-01-01T00:00:00Z\",\"labels\":{\"endpointslice.kubernetes.io/managed-by\":"
               "\"endpointslice-controller.k8s.io\",\"kubernetes.io/service-name\":\"service-%zu\"}"
               ",\"annotations\":{\"endpoints.kubernetes.io/last-change-trigger-time\":"
               "\"2024-01-01T00:%02u:%02uZ\"},",
               key, key, key % NAMESPACES, o->uid, o->rv, o->spec + 1, key, o->other / 60 % 60,
               o->other % 60);
    buf_puts(out, "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":"
                  "\"Update\",\"apiVersion\":\"discovery.k8s.io/v1\",\"time\":"
                  "\"2024-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
                  "\"f:addressType\":{},\"f:endpoints\":{},\"f:metadata\":{\"f:generateName\":{},"
                  "\"f:labels\":{\".\":{},\"f:kubernetes.io/service-name\":{}}},\"f:ports\":{}}}]},"
                  "\"addressType\":\"IPv4\",\"endpoints\":[");
    for (unsigned i = 0; i < ENDPOINTS; i++)
        put_endpoint(out, key, o->spec, i);
    buf_puts(out, "],\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]}");
}

void slices_fill(struct slices *s, size_t keys)
{
    ensure(keys <= SLICES_MAX);
    rng_seed(&s->rng, 1);
    s->keys = keys;
    s->rv = 100000;
    for (size_t key = 0; key < keys; key++)
        s->v[key] = (struct slice){.uid = ++s->rv, .rv = s->rv};
}

void slices_put_page(const struct slices *s, struct buf *out, size_t first, size_t count)
{
    struct buf body = {0};

    buf_printf(&body,
               "{\"kind\":\"EndpointSliceList\",\"apiVersion\":\"discovery.k8s.io/v1\","
               "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"",
               s->rv);
    if (first + count < s->keys)
        buf_printf(&body, ",\"continue\":\"token-%zu\",\"remainingItemCount\":%zu", first + count,
                   s->keys - first - count);
    buf_puts(&body, "},\"items\":[");
    for (size_t key = first; key < first + count; key++) {
        buf_puts(&body, key > first ? ",{" : "{");
        put_slice(s, &body, key);
    }
    buf_puts(&body, "]}\n");
    put_chunk(out, &body);
    buf_puts(out, "0\r\n\r\n");
    buf_free(&body);
}

static void put_event(struct slices *s, struct buf *out, const char *type, size_t key)
{
    struct buf event = {0};

    s->v[key].rv = ++s->rv;
    buf_printf(&event,
               "{\"type\":\"%s\",\"object\":{\"kind\":\"EndpointSlice\",\"apiVersion\":"
               "\"discovery.k8s.io/v1\",",
               type);
    put_slice(s, &event, key);
    buf_puts(&event, "}\n");
    put_chunk(out, &event);
    buf_free(&event);
}

void slices_put_event(struct slices *s, struct buf *out)
{
    size_t key = rng_between(&s->rng, 0, s->keys - 1);
    struct slice *o = &s->v[key];

    if (o->uid == 0) {
        *o = (struct slice){.uid = s->rv + 1};
        put_event(s, out, "ADDED", key);
    } else if (rng_between(&s->rng, 1, 20) == 1) {
        put_event(s, out, "DELETED", key);
        o->uid = 0;
    } else if (rng_between(&s->rng, 1, 3) == 1) {
        o->other++;
        put_event(s, out, "MODIFIED", key);
    } else {
        slices_put_change(s, out, key);
    }
}

void slices_put_change(struct slices *s, struct buf *out, size_t key)
{
    s->v[key].spec++;
    put_event(s, out, "MODIFIED", key);
}
