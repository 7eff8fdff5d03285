/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_hold.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

/* A remembered port: it used endpoints when it was looked at last, or it is held. */
struct view_hold_port {
    char *name;
    char *protocol;
    struct buf last;
    uint64_t until_ms; /* when the hold ends; UINT64_MAX = the port is in use */
    bool seen;
};

/* The last port takes the place of the removed one, as their order has no meaning. */
static void forget(struct view_hold *h, size_t i)
{
    struct view_hold_port *p = &h->v[i];

    free(p->name);
    free(p->protocol);
    buf_free(&p->last);
    *p = h->v[--h->n];
}

void view_hold_clear(struct view_hold *h)
{
    while (h->n > 0)
        forget(h, 0);
    free(h->v);
    *h = (struct view_hold){0};
}

void view_hold_begin(struct view_hold *h)
{
    for (size_t i = 0; i < h->n; i++)
        h->v[i].seen = false;
}

static struct view_hold_port *find(struct view_hold *h, const struct service_port *port)
{
    for (size_t i = 0; i < h->n; i++)
        if (str_is(port->name, h->v[i].name) && str_is(port->protocol, h->v[i].protocol))
            return &h->v[i];
    return NULL;
}

static struct view_hold_port *add(struct view_hold *h, const struct service_port *port)
{
    struct view_hold_port *p;

    h->v = mem_realloc(h->v, (h->n + 1) * sizeof(*h->v));
    p = &h->v[h->n++];
    *p = (struct view_hold_port){
        .name = mem_strndup(port->name.p, port->name.n),
        .protocol = mem_strndup(port->protocol.p, port->protocol.n),
    };
    return p;
}

/* Remembers the endpoints that a port uses now. */
static void remember(struct view_hold *h, const struct service_port *port, struct str text)
{
    struct view_hold_port *p = find(h, port);

    if (p == NULL)
        p = add(h, port);
    buf_clear(&p->last);
    buf_append_str(&p->last, text);
    p->until_ms = UINT64_MAX;
    p->seen = true;
}

bool view_hold_look(struct view_hold *h, const struct service_port *port, struct view_hold_use *use,
                    uint64_t hold_ms, uint64_t now_ms)
{
    struct view_hold_port *p;

    if (!use->empty) {
        /* Without hold_empty the copies would cost memory for nothing. */
        if (hold_ms > 0)
            remember(h, port, use->text);
        return false;
    }
    p = find(h, port);
    if (p == NULL)
        return false;
    /* The hold begins when the port runs empty and is not prolonged by later looks. */
    if (p->until_ms == UINT64_MAX)
        p->until_ms = now_ms + hold_ms;
    p->seen = now_ms < p->until_ms;
    if (p->seen)
        use->text = buf_str(&p->last);
    return p->seen;
}

uint64_t view_hold_end(struct view_hold *h)
{
    uint64_t first = UINT64_MAX;

    /* Backwards, because forget() moves the last port into the gap. */
    for (size_t i = h->n; i > 0; i--) {
        struct view_hold_port *p = &h->v[i - 1];

        if (!p->seen)
            forget(h, i - 1);
        else if (p->until_ms < first)
            first = p->until_ms;
    }
    return first;
}
