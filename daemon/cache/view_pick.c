/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_pick.h"

#include <stdlib.h>

#include "base/mem.h"

/* The endpoints that were found for one port so far. */
struct found {
    struct view_use *v;
    size_t n;
    size_t room; /* the most that n may become */
    bool too_many;
};

static int cmp_text(const struct view_use *a, struct backends_text ta, const struct view_use *b,
                    struct backends_text tb)
{
    return str_cmp(backends_str(a->from, ta), backends_str(b->from, tb));
}

static int cmp_hints(const struct view_use *a, const struct view_use *b)
{
    const struct backend *x = a->backend;
    const struct backend *y = b->backend;

    for (unsigned i = 0; i < x->hint_count && i < y->hint_count; i++) {
        int d =
            cmp_text(a, a->from->hints[x->first_hint + i], b, b->from->hints[y->first_hint + i]);

        if (d != 0)
            return d;
    }
    return (int)x->hint_count - (int)y->hint_count;
}

/* Of two endpoints with the same address and port: the order in which slices come must not decide
 * which one counts. A ready endpoint goes before a draining one, one of this node before those of
 * others. The rest only makes the order total. */
static int cmp_worth(const struct view_use *a, const struct view_use *b)
{
    const struct backend *x = a->backend;
    const struct backend *y = b->backend;
    int d = (int)x->state - (int)y->state;

    if (d == 0)
        d = (int)b->local - (int)a->local;
    if (d == 0)
        d = cmp_text(a, x->node, b, y->node);
    if (d == 0)
        d = cmp_text(a, x->zone, b, y->zone);
    if (d == 0)
        d = cmp_text(a, x->pod, b, y->pod);
    return d != 0 ? d : cmp_hints(a, b);
}

static int cmp_place(const struct view_use *a, const struct view_use *b)
{
    int d = address_cmp(&a->backend->address, &b->backend->address);

    return d != 0 ? d : (int)a->port - (int)b->port;
}

static int by_place_and_worth(const void *a, const void *b)
{
    int d = cmp_place(a, b);

    return d != 0 ? d : cmp_worth(a, b);
}

static bool is_ready(const struct view_use *u)
{
    return u->backend->state != BACKEND_DRAINING;
}

/* Stops at room: an Endpoints of 1 MB could make arrays of gigabytes. */
static void add(struct found *f, struct view_use use)
{
    f->too_many = f->too_many || f->n == f->room;
    if (f->too_many)
        return;
    f->v = mem_grow(f->v, f->n, sizeof(*f->v));
    f->v[f->n++] = use;
}

/* local_only applies before ready and draining are told apart, so that the fallback to draining
 * endpoints is of this node alone (docs/design.md "Endpoints"). */
static void add_group(struct found *f, const struct view_pick *all, const struct backends *b,
                      const struct backend_group *g, unsigned port)
{
    for (unsigned i = 0; i < g->backend_count && !f->too_many; i++) {
        const struct backend *e = &b->v[g->first_backend + i];
        bool local = all->node.n > 0 && str_eq(backends_str(b, e->node), all->node);

        if (local || !all->local_only)
            add(f, (struct view_use){b, e, port, local});
    }
}

/* A port of a Service and one of a slice belong together by name and protocol. */
static void add_backends(struct found *f, const struct view_pick *all, const struct backends *b,
                         const struct service_port *want)
{
    for (unsigned i = 0; i < b->n_groups; i++) {
        const struct backend_group *g = &b->groups[i];

        for (unsigned k = 0; k < g->port_count; k++) {
            const struct backend_port *p = &b->ports[g->first_port + k];

            if (str_eq(backends_str(b, p->name), want->name) &&
                str_eq(backends_str(b, p->protocol), want->protocol))
                add_group(f, all, b, g, p->number);
        }
    }
}

/* v is sorted. Keeps the first use of each address and port, which is the best one, and of these
 * the ready ones if there are any, else the draining ones. Returns how many stay. */
static size_t choose(struct view_use *v, size_t n)
{
    size_t distinct = 0;
    bool ready = false;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (distinct > 0 && cmp_place(&v[distinct - 1], &v[i]) == 0)
            continue;
        v[distinct++] = v[i];
        ready = ready || is_ready(&v[distinct - 1]);
    }
    for (size_t i = 0; i < distinct; i++)
        if (is_ready(&v[i]) == ready)
            v[kept++] = v[i];
    return kept;
}

size_t view_pick_port(const struct view_pick *all, const struct service_port *port, size_t room,
                      struct view_use **out)
{
    struct found f = {.room = room};

    for (size_t i = 0; i < all->count; i++)
        add_backends(&f, all, all->from[i], port);
    if (f.n > 1 && !f.too_many)
        qsort(f.v, f.n, sizeof(*f.v), by_place_and_worth);
    *out = f.v;
    return f.too_many ? VIEW_PICK_TOO_MANY : choose(f.v, f.n);
}

/* A local use first, so that view_pick_count() sees it as the one that stands for its address. */
static int by_address(const void *a, const void *b)
{
    const struct view_use *x = a;
    const struct view_use *y = b;
    int d = address_cmp(&x->backend->address, &y->backend->address);

    return d != 0 ? d : (int)y->local - (int)x->local;
}

struct view_pick_count view_pick_count(struct view_use *uses, size_t n)
{
    struct view_pick_count count = {0};
    const struct view_use *last = NULL;

    if (n > 1)
        qsort(uses, n, sizeof(*uses), by_address);
    for (size_t i = 0; i < n; i++) {
        const struct view_use *u = &uses[i];

        if (!is_ready(u) ||
            (last != NULL && address_cmp(&last->backend->address, &u->backend->address) == 0))
            continue;
        count.ready++;
        count.local_ready += u->local;
        last = u;
    }
    return count;
}
