/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/view_make.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cache/view_object.h"

/* The object as far as it is made. */
struct making {
    const struct view_make *in;
    struct view_use *uses; /* the uses of all ports, for counting */
    size_t use_count;
    struct buf text; /* the uses of each port as JSON, one port after the other */
    size_t *ends;    /* the end of each port's text in text */
    bool held;
};

static void add_uses(struct making *m, const struct view_use *uses, size_t n)
{
    if (n == 0)
        return;
    m->uses = mem_realloc(m->uses, (m->use_count + n) * sizeof(*uses));
    memcpy(m->uses + m->use_count, uses, n * sizeof(*uses));
    m->use_count += n;
}

/* False: the Service has more than VIEW_PICK_MAX addresses times ports. */
static bool make_port(struct making *m, size_t i)
{
    const struct view_make *in = m->in;
    const struct service_port *port = &in->read->ports[i];
    size_t start = m->text.len;
    struct view_use *uses;
    size_t n = view_pick_port(&in->pick, port, VIEW_PICK_MAX - m->use_count, &uses);

    if (n == VIEW_PICK_TOO_MANY) {
        free(uses);
        return false;
    }
    view_object_put_uses(&m->text, uses, n);
    add_uses(m, uses, n);
    free(uses);
    struct view_hold_use use = {str_of(m->text.data + start, m->text.len - start), n == 0};
    if (view_hold_look(in->hold, port, &use, in->hold_ms, in->now_ms)) {
        m->held = true;
        /* Replaces the empty list by the held one. Held endpoints do not count as ready, as nobody
         * knows whether they still are: uses does not get them. */
        m->text.len = start;
        buf_append_str(&m->text, use.text);
    }
    m->ends[i] = m->text.len;
    return true;
}

/* text does not grow any more, so pointers into it stay valid. */
static struct object *finish(struct making *m)
{
    const struct view_make *in = m->in;
    size_t n = in->read->port_count;
    struct view_object_port *ports = mem_array(n + 1, sizeof(*ports));
    size_t start = 0;

    for (size_t i = 0; i < n; i++) {
        ports[i].port = &in->read->ports[i];
        ports[i].uses = str_of(m->text.data + start, m->ends[i] - start);
        start = m->ends[i];
    }
    struct object *o = view_object_create(&(struct view_object){
        .cluster = in->cluster,
        .service = in->service,
        .count = view_pick_count(m->uses, m->use_count),
        .held = m->held,
        .ports = ports,
        .port_count = n,
    });
    free(ports);
    return o;
}

struct object *view_make_object(const struct view_make *in, uint64_t *due_ms)
{
    struct making m = {.in = in, .ends = mem_array(in->read->port_count + 1, sizeof(*m.ends))};
    bool fits = true;

    view_hold_begin(in->hold);
    for (size_t i = 0; i < in->read->port_count && fits; i++)
        fits = make_port(&m, i);
    /* After a failure, too: the time of the next hold is needed in any case. */
    *due_ms = view_hold_end(in->hold);
    struct object *o = fits ? finish(&m) : NULL;
    free(m.uses);
    free(m.ends);
    buf_free(&m.text);
    return o;
}
