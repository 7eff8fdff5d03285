/* SPDX-License-Identifier: Apache-2.0 */
/* A Service, a slice and an Endpoints out of any JSON: each value that the view reads stands in
 * that JSON. */
#include "base/panic.h"
#include "kube/backends.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str json = str_of((const char *)data, n);
    struct backends b;
    struct service s;

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
