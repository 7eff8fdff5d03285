/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_oracle.h"

#include <stdlib.h>
#include <string.h>

static unsigned number(struct str s)
{
    char text[16] = "";

    assert_true(s.n < sizeof(text));
    memcpy(text, s.p, s.n);
    return (unsigned)strtoul(text[0] == 'u' ? text + 1 : text, NULL, 10);
}

static size_t key_index(const struct object *o)
{
    size_t i = (size_t)(object_name(o).p[1] - '0');

    assert_true(i < ORACLE_KEYS);
    return i;
}

static bool takes(const struct oracle *o, enum delta_type type)
{
    return filter_takes(&o->hook->filter, type);
}

static bool is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT;
}

static bool is_outage(const struct run_event *e)
{
    return e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;
}

static struct oracle_life *life_of(struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->life_count; i++)
        if (k->lives[i].uid == uid)
            return &k->lives[i];
    assert_true(k->life_count < ORACLE_LIVES);
    k->lives[k->life_count] = (struct oracle_life){.uid = uid, .end = DELTA_DELETED};
    return &k->lives[k->life_count++];
}

static unsigned uid_now(const struct oracle *o, size_t source, size_t key)
{
    return o->cache->states[o->cache->now[source][key]].uid;
}

/* Do two states of one life differ in what the hook looks at? */
static bool differ(const struct oracle *o, unsigned x, unsigned y)
{
    const struct oracle_state *a = &o->cache->states[x];
    const struct oracle_state *b = &o->cache->states[y];

    return a->a != b->a || (!o->only_a && a->b != b->b);
}

static void take_effect(struct oracle_life *life, enum delta_type type, unsigned state)
{
    life->in_world = !is_end(type);
    life->world = state;
}

static bool may_be_skipped(const struct oracle *o, const struct oracle_life *life)
{
    bool failed = o->hook->mode == HOOK_OBJECT && life->failed >= ORACLE_DELETED_ATTEMPTS;

    return !life->told || !takes(o, life->end) || (failed && takes(o, DELTA_ADDED));
}

/* Is the end of another life of the key still to be told? */
static bool another_is_owed(const struct oracle *o, const struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->life_count; i++)
        if (k->lives[i].uid != uid && !may_be_skipped(o, &k->lives[i]))
            return true;
    return false;
}

static bool another_is_told(struct oracle *o, struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->life_count; i++) {
        struct oracle_life *life = &k->lives[i];

        if (life->uid == uid)
            continue;
        if (!may_be_skipped(o, life))
            return true;
        life->excused = life->excused || (life->told && takes(o, life->end));
        life->told = false;
    }
    return false;
}

static void accept(struct oracle *o, size_t source, size_t key)
{
    struct oracle_key *k = &o->keys[source][key];
    struct oracle_life *life = life_of(k, uid_now(o, source, key));

    life->told = life->handled = true;
    life->state = o->cache->now[source][key];
    life->open = k->running > 0;
    take_effect(life, DELTA_ADDED, life->state);
}

/* A hook that does not take ADDED counts what is there as announced, when its turn has come. */
static void accept_untaken(struct oracle *o, size_t source, size_t key)
{
    struct oracle_key *k = &o->keys[source][key];
    unsigned uid = uid_now(o, source, key);

    if (!o->gate_open || takes(o, DELTA_ADDED) || uid == 0)
        return;
    if (life_of(k, uid)->told && life_of(k, uid)->handled)
        return;
    if (!another_is_told(o, k, uid))
        accept(o, source, key);
}

void oracle_delta(struct oracle *o, size_t source, const struct delta *d)
{
    size_t key = key_index(d->object);
    struct oracle_life *life = life_of(&o->keys[source][key], number(object_uid(d->object)));

    if (d->type != DELTA_MODIFIED)
        o->keys[source][key].another = true;
    if (is_end(d->type))
        life->end = d->type;
    if (is_end(d->type) && !takes(o, d->type)) {
        life->told = life->handled = life->open = false;
        life->excused = true;
        return;
    }
    if (d->type == DELTA_ADDED && o->keys[source][key].running == 0)
        life->failed = 0; /* it is back */
    if (!is_end(d->type))
        accept_untaken(o, source, key);
}

/* When nothing is due any more, the failure is forgotten. */
void oracle_settled(struct oracle *o)
{
    if (o->hook->queue.pending_count == 0)
        o->last_failed = false;
}

/* ---- Outages: what is promised for the life of a key, in words of their own. */

/* A hook that does not take STALE is owed the end of what it was not told. */
static void accept_outage(struct oracle *o, size_t source)
{
    struct oracle_outage *f = &o->outages[source];

    if (o->gate_open && o->cache->stale[source] && !takes(o, DELTA_STALE))
        f->told = f->handled = f->in_world = true;
}

void oracle_stale(struct oracle *o, size_t source)
{
    struct oracle_outage *f = &o->outages[source];

    f->another = true;
    accept_outage(o, source);
    if (!o->cache->stale[source] && !takes(o, DELTA_FRESH))
        f->told = f->handled = f->in_world = false;
}

static void start_outage(struct oracle *o, const struct run_event *e, uint64_t now_ms)
{
    size_t source = o->source_of[e->entry->source];
    struct oracle_outage *f = &o->outages[source];
    bool stale = e->ev.type == DELTA_STALE;

    assert_true(takes(o, e->ev.type));
    assert_false(f->running);
    assert_int_equal(stale, o->cache->stale[source]); /* newest state wins */
    assert_true(stale ? !f->handled : f->told);
    if (o->hook->mode == HOOK_OBJECT && f->last_failed && !f->another)
        assert_true(now_ms >= f->last_ms + o->initial_ms);
    f->told = true;
    f->handled = false;
    f->another = false;
    f->running = true;
}

static void end_outage(struct oracle *o, const struct run_event *e, bool ok, uint64_t now_ms)
{
    size_t source = o->source_of[e->entry->source];
    struct oracle_outage *f = &o->outages[source];
    bool stale = e->ev.type == DELTA_STALE;

    f->running = false;
    f->last_failed = !ok;
    f->last_ms = now_ms;
    if (ok || rng_between(o->rng, 0, 1) == 0)
        f->in_world = stale;
    if (!ok)
        return;
    f->told = f->handled = stale && (o->cache->stale[source] || takes(o, DELTA_FRESH));
    accept_outage(o, source);
}

static void check_outage(const struct oracle *o, size_t source)
{
    const struct oracle_outage *f = &o->outages[source];

    assert_false(f->running);
    if (o->cache->stale[source])
        assert_true(!takes(o, DELTA_STALE) || (f->told && f->handled && f->in_world));
    else
        assert_true(!takes(o, DELTA_FRESH) || (!f->told && !f->in_world));
}

void oracle_gate(struct oracle *o)
{
    if (o->gate_open || o->hook->gate == GATE_CLOSED)
        return;
    o->gate_open = true;
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        if ((o->sources & 1U << s) == 0)
            continue;
        assert_true(o->cache->synced[s]);
        accept_outage(o, s);
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            if (o->cache->now[s][k] != 0 && o->hook->existing == HOOK_EXISTING_SKIP)
                accept(o, s, k);
            accept_untaken(o, s, k);
        }
    }
    if (o->hook->existing == HOOK_EXISTING_SKIP)
        memcpy(o->handled, o->cache->now, sizeof(o->handled));
}

static void check_end(struct oracle *o, size_t source, size_t key, const struct queue_event *ev)
{
    struct oracle_life *life = life_of(&o->keys[source][key], number(object_uid(ev->object)));

    assert_int_equal(ev->type, life->end);
    assert_true(life->told);
    assert_int_not_equal(uid_now(o, source, key), life->uid);
    life->handled = false;
}

/* earlier = a life whose end the same run tells before, 0 = none. */
static void check_state(struct oracle *o, size_t source, size_t key, const struct queue_event *ev,
                        unsigned earlier)
{
    struct oracle_key *k = &o->keys[source][key];
    unsigned state = number(object_rv(ev->object));
    struct oracle_life *life = life_of(k, number(object_uid(ev->object)));

    assert_int_equal(state, o->cache->now[source][key]); /* newest state wins */
    if (ev->type == DELTA_ADDED) {
        assert_false(life->handled);
    } else {
        assert_true(life->handled);
        assert_true(life->open || differ(o, life->state, state));
    }
    for (size_t i = 0; i < k->life_count; i++)
        if (k->lives[i].uid != earlier && k->lives[i].uid != life->uid)
            assert_true(may_be_skipped(o, &k->lives[i]));
    if (earlier == 0)
        another_is_told(o, k, life->uid); /* whose end failed too often: it gives way */
    life->told = life->open = true;
    life->excused = false;
}

static void check_retry(const struct oracle *o, struct oracle_key *k, const struct queue_event *ev,
                        uint64_t now_ms)
{
    bool end = is_end(ev->type);
    unsigned uid = number(object_uid(ev->object));

    if (o->hook->mode == HOOK_OBJECT && k->last_failed && !k->another && k->last_end == end &&
        k->last_uid == uid)
        assert_true(now_ms >= k->last_ms + o->initial_ms);
    k->another = false;
    k->last_end = end;
    k->last_uid = uid;
}

static void start_event(struct oracle *o, const struct run *run, size_t i, uint64_t now_ms)
{
    const struct queue_event *ev = &run->events[i].ev;
    size_t source = o->source_of[run->events[i].entry->source];
    size_t key = key_index(ev->object);
    struct oracle_key *k = &o->keys[source][key];
    bool second = i > 0 && run->events[i - 1].entry == run->events[i].entry;
    const struct queue_event *before = second ? &run->events[i - 1].ev : NULL;

    assert_true(takes(o, ev->type));
    assert_int_equal(k->running, second ? 1 : 0);
    assert_true(before == NULL || is_end(before->type));
    check_retry(o, k, ev, now_ms);
    if (second && is_end(ev->type) && uid_now(o, source, key) != 0)
        o->held_now = true;
    if (is_end(ev->type))
        check_end(o, source, key, ev);
    else
        check_state(o, source, key, ev, before != NULL ? number(object_uid(before->object)) : 0);
    k->running++;
}

void oracle_started(struct oracle *o, const struct run *run, uint64_t now_ms)
{
    assert_true(o->gate_open);
    if (o->hook->mode == HOOK_OBJECT) {
        assert_int_equal(run->event_count, 1);
    } else {
        assert_int_equal(o->running, 0);
        assert_true(!o->last_failed || now_ms >= o->last_ms + o->initial_ms);
        assert_true(run->event_count > 0 || run->reason != RUN_CHANGE || o->held);
        o->held_now = false;
        memcpy(o->started, o->cache->now, sizeof(o->started));
    }
    for (size_t i = 0; i < run->event_count; i++) {
        if (is_outage(&run->events[i]))
            start_outage(o, &run->events[i], now_ms);
        else
            start_event(o, run, i, now_ms);
    }
    o->running++;
}

static void end_event(struct oracle *o, const struct run_event *e, bool ok, uint64_t now_ms)
{
    size_t source = o->source_of[e->entry->source];
    size_t key = key_index(e->ev.object);
    struct oracle_key *k = &o->keys[source][key];
    struct oracle_life *life = life_of(k, number(object_uid(e->ev.object)));
    bool end = is_end(e->ev.type);

    k->running--;
    k->last_failed = !ok;
    k->last_ms = now_ms;
    if (ok || rng_between(o->rng, 0, 1) == 0) /* a failed run may have had its effect */
        take_effect(life, e->ev.type, number(object_rv(e->ev.object)));
    if (end)
        life->failed = ok || life->uid == uid_now(o, source, key) ? 0 : life->failed + 1;
    if (ok && end)
        life->told = life->handled = false;
    bool again = life->uid == uid_now(o, source, key) && !another_is_owed(o, k, life->uid);

    if (!ok || end || (!life->told && !again))
        return;
    life->told = life->handled = true; /* told again, if its end was not taken meanwhile */
    life->excused = false;
    life->state = number(object_rv(e->ev.object));
    life->open = false;
}

void oracle_ended(struct oracle *o, const struct run *run, bool ok, uint64_t now_ms)
{
    for (size_t i = 0; i < run->event_count; i++) {
        if (is_outage(&run->events[i]))
            end_outage(o, &run->events[i], ok, now_ms);
        else
            end_event(o, &run->events[i], ok, now_ms);
    }
    for (size_t i = 0; i < run->event_count; i++) {
        size_t source = o->source_of[run->events[i].entry->source];

        if (is_outage(&run->events[i]))
            continue;
        accept_untaken(o, source, key_index(run->events[i].ev.object));
    }
    o->running--;
    o->last_failed = !ok;
    o->last_ms = now_ms;
    if (!ok)
        return;
    o->any_good_run = true;
    o->held = o->held_now;
    memcpy(o->handled, o->started, sizeof(o->handled));
}

static void check_life(const struct oracle *o, size_t source, size_t key,
                       const struct oracle_life *life)
{
    unsigned state = o->cache->now[source][key];

    if (life->uid == uid_now(o, source, key)) {
        assert_true(life->in_world || (o->hook->filter.events & 3) == 0);
        assert_true(!takes(o, DELTA_MODIFIED) || !differ(o, life->world, state));
    } else if (takes(o, life->end) && !life->excused) {
        assert_false(life->told);
        assert_false(life->in_world);
    }
}

/* All of the last good snapshot is as it is now. */
static void check_snapshot(const struct oracle *o, size_t source, size_t key)
{
    unsigned then = o->handled[source][key];
    unsigned state = o->cache->now[source][key];

    assert_int_equal(o->cache->states[then].uid, o->cache->states[state].uid);
    assert_false(differ(o, then, state));
}

void oracle_quiet(struct oracle *o)
{
    const struct hook *h = o->hook;
    bool first = h->existing == HOOK_EXISTING_RUN;

    assert_int_equal(o->running, 0);
    assert_true(o->gate_open);
    assert_int_equal(h->gate, GATE_OPEN);
    assert_int_equal(h->queue.pending_count, 0);
    assert_int_equal(hook_pending(h), 0);
    if (h->mode == HOOK_SNAPSHOT && first)
        assert_true(o->any_good_run);
    for (size_t s = 0; s < ORACLE_SOURCES; s++) {
        if ((o->sources & 1U << s) == 0)
            continue;
        check_outage(o, s);
        for (size_t k = 0; k < ORACLE_KEYS; k++) {
            for (size_t i = 0; i < o->keys[s][k].life_count; i++)
                check_life(o, s, k, &o->keys[s][k].lives[i]);
            if (h->mode == HOOK_SNAPSHOT && (h->filter.events & 0xf) == 0xf)
                check_snapshot(o, s, k);
        }
    }
}
