/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_quiet() and oracle_renewed() of hook_oracle.h. */
#include "hook_oracle.h"

#include <string.h>

#include "oracle_outage.h"

static bool takes(const struct oracle *o, enum delta_type type)
{
    return filter_takes(&o->hook->filter, type);
}

static unsigned uid_now(const struct oracle *o, size_t source, size_t key)
{
    return o->cache->states[o->cache->now[source][key]].uid;
}

static void check_incarnation(const struct oracle *o, size_t source, size_t key,
                              const struct oracle_incarnation *inc)
{
    unsigned state = o->cache->now[source][key];

    if (inc->uid == uid_now(o, source, key)) {
        assert_true(inc->in_world || (o->hook->filter.events & 3) == 0);
        assert_true(!takes(o, DELTA_MODIFIED) || !oracle_differ(o, inc->world, state));
    } else if (takes(o, inc->end) && !inc->excused) {
        assert_false(inc->delivered);
        assert_false(inc->in_world);
    }
}

/* The objects of the last good snapshot are as they are now. */
static void check_snapshot(const struct oracle *o, size_t source, size_t key)
{
    unsigned then = o->handled[source][key];
    unsigned state = o->cache->now[source][key];

    assert_int_equal(o->cache->states[then].uid, o->cache->states[state].uid);
    assert_false(oracle_differ(o, then, state));
}

void oracle_quiet(struct oracle *o)
{
    const struct hook *h = o->hook;
    bool first = h->rules.existing == HOOK_EXISTING_RUN;

    assert_int_equal(o->running, 0);
    assert_int_equal(h->gate, GATE_OPEN);
    assert_int_equal(h->queue.pending_count, 0);
    assert_int_equal(hook_pending(h), 0);
    if (h->rules.mode == HOOK_SNAPSHOT && first)
        assert_true(o->any_good_run);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        if ((o->sources & 1U << s) == 0)
            continue;
        assert_true(o->open[s]);
        oracle_check_outage(o, s);
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            for (size_t i = 0; i < o->keys[s][k].incarnation_count; i++)
                check_incarnation(o, s, k, &o->keys[s][k].incarnations[i]);
            if (h->rules.mode == HOOK_SNAPSHOT && (h->filter.events & 0xf) == 0xf)
                check_snapshot(o, s, k);
        }
    }
}

/* A hook that does not take ADDED gets no run for an existing object, now as at first. */
static void renew_key(const struct oracle *o, struct oracle_key *k)
{
    for (size_t i = 0; i < k->incarnation_count; i++) {
        struct oracle_incarnation *inc = &k->incarnations[i];

        if (!takes(o, DELTA_ADDED) || !inc->delivered)
            continue;
        inc->handled = inc->in_world = false;
        inc->reported = 0;
    }
}

void oracle_renewed(struct oracle *o)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            renew_key(o, &o->keys[s][k]);
        if (takes(o, DELTA_STALE) && o->outages[s].delivered)
            o->outages[s].handled = o->outages[s].in_world = false;
    }
    o->any_good_run = false;
    o->opened = true;
    memset(o->handled, 0, sizeof(o->handled));
}
