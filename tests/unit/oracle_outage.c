/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle_outage.h"

static bool takes(const struct oracle *o, enum delta_type type)
{
    return filter_takes(&o->hook->filter, type);
}

void oracle_accept_outage(struct oracle *o, size_t source)
{
    struct oracle_outage *f = &o->outages[source];

    if (o->open[source] && o->cache->stale[source] && !takes(o, DELTA_STALE))
        f->delivered = f->handled = f->in_world = true;
}

void oracle_start_outage(struct oracle *o, const struct run_event *e)
{
    size_t source = o->source_of[e->delivery->source];
    struct oracle_outage *f = &o->outages[source];
    bool stale = e->ev.type == DELTA_STALE;

    assert_true(takes(o, e->ev.type));
    assert_false(f->running);
    assert_int_equal(stale, o->cache->stale[source]); /* newest state wins */
    assert_true(stale ? !f->handled : f->delivered);
    f->delivered = true;
    f->handled = false;
    f->running = true;
}

void oracle_end_outage(struct oracle *o, const struct run_event *e, bool ok)
{
    size_t source = o->source_of[e->delivery->source];
    struct oracle_outage *f = &o->outages[source];
    bool stale = e->ev.type == DELTA_STALE;

    f->running = false;
    if (ok || rng_between(o->rng, 0, 1) == 0)
        f->in_world = stale;
    if (!ok)
        return;
    f->delivered = f->handled = stale && (o->cache->stale[source] || takes(o, DELTA_FRESH));
    oracle_accept_outage(o, source);
}

void oracle_check_outage(const struct oracle *o, size_t source)
{
    const struct oracle_outage *f = &o->outages[source];

    assert_false(f->running);
    if (o->cache->stale[source])
        assert_true(!takes(o, DELTA_STALE) || (f->delivered && f->handled && f->in_world));
    else
        assert_true(!takes(o, DELTA_FRESH) || (!f->delivered && !f->in_world));
}
