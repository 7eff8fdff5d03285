/* SPDX-License-Identifier: Apache-2.0 */
/* A Service, a slice and an Endpoints out of any JSON: each value that the view reads stands in that JSON. So does
 * the time of the last change in the annotation of a slice, which a hook reads after its run. */
#include "base/panic.h"
#include "base/rfc3339.h"
#include "hook/trigger_time.h"
#include "kube/backends.h"
#include "kube/object.h"
#include "kube/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t look(const struct backends *b)
{
    size_t seen = backends_str(b, b->service).n;

    for (unsigned i = 0; i < b->n_groups; i++) {
        const struct backend_group *g = &b->groups[i];

        ensure(g->first_port + g->port_count <= b->n_ports);
        ensure(g->first_backend + g->backend_count <= b->n);
    }
    for (unsigned i = 0; i < b->n_ports; i++)
        seen += backends_str(b, b->ports[i].name).n + backends_str(b, b->ports[i].protocol).n;
    for (unsigned i = 0; i < b->n; i++) {
        seen += backends_str(b, b->v[i].node).n + backends_str(b, b->v[i].zone).n;
        seen += backends_str(b, b->v[i].pod).n;
        ensure(b->v[i].first_hint + b->v[i].hint_count <= b->n_hints);
    }
    for (unsigned i = 0; i < b->n_hints; i++)
        seen += backends_str(b, b->hints[i]).n;
    return seen;
}

static void read_trigger_time(struct str json)
{
    const struct object_parts parts = {.name = str_c("a"),
                                       .kind = str_c("EndpointSlice"),
                                       .body = json,
                                       .rv_at = SIZE_MAX,
                                       .generation_at = SIZE_MAX};
    struct object *o = object_create(&parts);
    int64_t ms;

    (void)!rfc3339_read(trigger_time_new(o, NULL), &ms);
    object_unref(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str json = str_of((const char *)data, n);
    struct backends b;
    struct service s;

    read_trigger_time(json);
    if (backends_read_slice(json, &b, NULL) == ERR_OK)
        ensure(look(&b) <= b.text.len);
    backends_fini(&b);
    if (backends_read_endpoints(json, &b, NULL) == ERR_OK)
        ensure(look(&b) <= b.text.len);
    backends_fini(&b);
    if (service_read(json, &s, NULL) == ERR_OK)
        ensure(s.port_count == 0 || s.ports != NULL);
    service_fini(&s);
    return 0;
}
