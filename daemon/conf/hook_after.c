/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/hook_after.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

enum { NONE = -1, SHOWN_MAX = 10 }; /* at most so many hooks of a cycle stand in a message */

/* Depth-first search: OPEN are the hooks on the way from the start to the current one, so an
 * element of `after` that leads to an OPEN hook closes a cycle. DONE hooks lead to no cycle that is
 * not reported yet. */
enum stop_state { STOP_NEW, STOP_OPEN, STOP_DONE };

/* A hook in the search, which goes from each hook to those that it waits for. It has no recursion:
 * a chain may be as long as the configuration, the stack is not. */
struct stop {
    enum stop_state state;
    size_t next;    /* index of the element of after to follow next */
    ptrdiff_t from; /* the hook that waits for this one; NONE = the search began here */
};

/* The index of the hook that element i of after names, or NONE. */
static ptrdiff_t target(const struct conf *c, const struct conf_hook *h, size_t i)
{
    const struct conf_hook *to = conf_find_hook(c, h->after.v[i].v);

    return to != NULL && to != h ? to - c->hooks : NONE;
}

/* The element of `after` that the hook last has just followed leads back to the hook first, which
 * is on the way to last. The message names the cycle in the order of the first runs. */
static void report(const struct conf *c, const struct stop *stops, ptrdiff_t last, ptrdiff_t first,
                   struct problems *p)
{
    const struct conf_hook *h = &c->hooks[last];
    size_t i = stops[last].next - 1;
    size_t shown = 0;
    struct buf chain = {0};

    for (ptrdiff_t at = last; at != stops[first].from; at = stops[at].from)
        if (shown++ < SHOWN_MAX)
            buf_printf(&chain, "%s before ", c->hooks[at].name.v);
    buf_printf(&chain, "%s%s", shown > SHOWN_MAX ? "... before " : "", h->name.v);
    problems_add(
        p, h->after.v[i].at,
        "hooks.%s.after[%zu]: \"%s\" closes a cycle (%s): leave it or another of these out",
        h->name.v, i, h->after.v[i].v, buf_cstr(&chain));
    buf_free(&chain);
}

/* Follows the next element of `after` of the hook at. Returns the hook where the search goes on:
 * the named one, or the same again, or the hook before it when all elements are done. */
static ptrdiff_t step(const struct conf *c, struct stop *stops, ptrdiff_t at, struct problems *p)
{
    const struct conf_hook *h = &c->hooks[at];

    if (stops[at].next == h->after.n) {
        stops[at].state = STOP_DONE;
        return stops[at].from;
    }
    ptrdiff_t to = target(c, h, stops[at].next++);
    if (to == NONE || stops[to].state == STOP_DONE)
        return at;
    if (stops[to].state == STOP_OPEN) {
        report(c, stops, at, to, p);
        return at;
    }
    stops[to] = (struct stop){.state = STOP_OPEN, .from = at};
    return to;
}

void hook_after_check(const struct conf *c, struct problems *p)
{
    struct stop *stops = mem_array(c->n_hooks + 1, sizeof(*stops));

    for (size_t i = 0; i < c->n_hooks; i++) {
        if (stops[i].state != STOP_NEW)
            continue;
        stops[i] = (struct stop){.state = STOP_OPEN, .from = NONE};
        for (ptrdiff_t at = (ptrdiff_t)i; at != NONE;)
            at = step(c, stops, at, p);
    }
    free(stops);
}
