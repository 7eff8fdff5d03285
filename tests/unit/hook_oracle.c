/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_outage.h"

/* In reported: the paths that an earlier process reported or started from are not known. */
#define ALL_PATHS 4U

unsigned oracle_number(struct str s)
{
    char text[16] = "";

    assert_true(s.n < sizeof(text));
    memcpy(text, s.p, s.n);
    return (unsigned)strtoul(text[0] == 'u' ? text + 1 : text, NULL, 10);
}

struct object *oracle_object(struct oracle_cache *cache, size_t source, size_t key,
                             const struct oracle_state *state)
{
    char k[48];
    char u[16];
    char rv[16];
    char data[32];

    assert_true(cache->state_count < ORACLE_STATES);
    cache->states[cache->state_count] = *state;
    snprintf(k, sizeof(k), "s%zu/k%zu", source, key);
    snprintf(u, sizeof(u), "u%u", state->uid);
    snprintf(rv, sizeof(rv), "%u", cache->state_count++);
    snprintf(data, sizeof(data), "\"a\":%u,\"b\":%u", state->a, state->b);
    return objects_make(k, u, rv, data);
}

size_t oracle_key_index(const struct object *o)
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

static struct oracle_incarnation *incarnation_of(struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->incarnation_count; i++)
        if (k->incarnations[i].uid == uid)
            return &k->incarnations[i];
    assert_true(k->incarnation_count < ORACLE_INCARNATIONS);
    k->incarnations[k->incarnation_count] =
        (struct oracle_incarnation){.uid = uid, .end = DELTA_DELETED};
    return &k->incarnations[k->incarnation_count++];
}

static unsigned uid_now(const struct oracle *o, size_t source, size_t key)
{
    return o->cache->states[o->cache->now[source][key]].uid;
}

bool oracle_differ(const struct oracle *o, unsigned x, unsigned y)
{
    const struct oracle_state *a = &o->cache->states[x];
    const struct oracle_state *b = &o->cache->states[y];

    return a->a != b->a || (!o->only_a && a->b != b->b);
}

static void take_effect(struct oracle_incarnation *inc, enum delta_type type, unsigned state)
{
    inc->in_world = !is_end(type);
    inc->world = state;
}

/* Does the hook get events of the next incarnation of a key before that incarnation ends? */
static bool gets_next_incarnation(const struct oracle *o)
{
    return takes(o, DELTA_ADDED) || takes(o, DELTA_MODIFIED);
}

static bool may_be_skipped(const struct oracle *o, const struct oracle_incarnation *inc)
{
    bool many = inc->parked || inc->failed >= ORACLE_DELETED_ATTEMPTS;
    bool failed = o->hook->rules.mode == HOOK_OBJECT && many && gets_next_incarnation(o);

    return !inc->delivered || !takes(o, inc->end) || failed;
}

/* Is the end of another incarnation of the key still due? */
static bool another_end_is_due(const struct oracle *o, const struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->incarnation_count; i++)
        if (k->incarnations[i].uid != uid && !may_be_skipped(o, &k->incarnations[i]))
            return true;
    return false;
}

static bool another_end_stays(struct oracle *o, struct oracle_key *k, unsigned uid)
{
    for (size_t i = 0; i < k->incarnation_count; i++) {
        struct oracle_incarnation *inc = &k->incarnations[i];

        if (inc->uid == uid)
            continue;
        if (!may_be_skipped(o, inc))
            return true;
        inc->excused = inc->excused || (inc->delivered && takes(o, inc->end));
        inc->delivered = false;
        inc->reported = 0;
    }
    return false;
}

static void accept(struct oracle *o, size_t source, size_t key)
{
    struct oracle_key *k = &o->keys[source][key];
    struct oracle_incarnation *inc = incarnation_of(k, uid_now(o, source, key));

    inc->delivered = inc->handled = true;
    inc->state = o->cache->now[source][key];
    inc->attempted = k->running > 0;
    if (!inc->attempted)
        inc->reported = 0;
    take_effect(inc, DELTA_ADDED, inc->state);
}

/* Asks the hook's own delivery: the oracle cannot tell whether the hook superseded an end that
 * failed, or will run for that end once more. */
static bool is_delivered(const struct oracle *o, size_t source, size_t key, unsigned uid)
{
    char name[16];

    snprintf(name, sizeof(name), "s%zu/k%zu", source, key);
    for (size_t i = 0; i < o->hook->source_count; i++) {
        const struct delivery *dl = delivery_queue_find(&o->hook->queue, i, str_c(name));

        if (dl != NULL)
            return known_is(&dl->delivered) && oracle_number(known_uid(&dl->delivered)) == uid;
    }
    return false;
}

/* A hook that does not take ADDED counts an existing object as delivered without a run, once no end
 * of an earlier incarnation comes first. If it was told the end of this object and that run has failed,
 * it gets the object as MODIFIED instead. */
static void accept_untaken(struct oracle *o, size_t source, size_t key)
{
    struct oracle_key *k = &o->keys[source][key];
    unsigned uid = uid_now(o, source, key);

    if (!o->open[source] || takes(o, DELTA_ADDED) || uid == 0)
        return;
    if (incarnation_of(k, uid)->delivered &&
        (incarnation_of(k, uid)->handled || takes(o, DELTA_MODIFIED)))
        return;
    if (!is_delivered(o, source, key, uid))
        return;
    if (!another_end_stays(o, k, uid))
        accept(o, source, key);
}

void oracle_delta(struct oracle *o, size_t source, const struct delta *d)
{
    size_t key = oracle_key_index(d->object);
    struct oracle_incarnation *inc =
        incarnation_of(&o->keys[source][key], oracle_number(object_uid(d->object)));

    if (is_end(d->type))
        inc->end = d->type;
    if (is_end(d->type) && !takes(o, d->type)) {
        inc->delivered = inc->handled = inc->attempted = false;
        inc->reported = 0;
        inc->excused = true;
        return;
    }
    if (d->type == DELTA_ADDED) /* the incarnation is back */
        inc->superseded = inc->parked = false;
    if (d->type == DELTA_ADDED && o->keys[source][key].running == 0)
        inc->failed = 0;
    if (!is_end(d->type))
        accept_untaken(o, source, key);
}

/* A state that differs from the handled one only in paths that do not count is handled too. */
static void settle_incarnation(struct oracle *o, size_t source, size_t key)
{
    unsigned now = o->cache->now[source][key];
    struct oracle_incarnation *inc =
        incarnation_of(&o->keys[source][key], o->cache->states[now].uid);

    if (inc->handled && !inc->attempted && !oracle_differ(o, inc->state, now))
        inc->state = now;
}

void oracle_settled(struct oracle *o)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            if (o->open[s] && o->cache->now[s][k] != 0) {
                accept_untaken(o, s, k);
                settle_incarnation(o, s, k);
            }
}

void oracle_stale(struct oracle *o, size_t source)
{
    struct oracle_outage *f = &o->outages[source];

    oracle_accept_outage(o, source);
    if (!o->cache->stale[source] && !takes(o, DELTA_FRESH))
        f->delivered = f->handled = f->in_world = false;
}

/* ---- Sources are opened. */

static void open_source(struct oracle *o, size_t s)
{
    bool skip = o->hook->rules.existing == HOOK_EXISTING_SKIP && !o->seen[s];

    assert_true(o->cache->synced[s]);
    o->open[s] = o->opened = o->seen[s] = true;
    oracle_accept_outage(o, s);
    for (size_t k = 0; k < ORACLE_KEYS; k++) {
        if (o->cache->now[s][k] != 0 && skip)
            accept(o, s, k);
        accept_untaken(o, s, k);
    }
    if (!skip)
        return;
    memcpy(o->handled[s], o->cache->now[s], sizeof(o->handled[s]));
    /* a run under way counts as started with them, too */
    memcpy(o->started[s], o->cache->now[s], sizeof(o->started[s]));
}

void oracle_gate(struct oracle *o)
{
    for (size_t i = 0; i < o->hook->source_count; i++)
        if (o->hook->queue.sources[i].is_open && !o->open[o->source_of[i]])
            open_source(o, o->source_of[i]);
}

/* ---- Runs. */

/* The event that a rerun or a manual run has for an object that the hook knows. */
static enum delta_type repeat_type(const struct oracle *o)
{
    return takes(o, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

static bool repeats(const struct run *run)
{
    return run->reason == RUN_RERUN || run->reason == RUN_MANUAL;
}

static void check_end(struct oracle *o, size_t source, size_t key, const struct delivery_event *ev)
{
    struct oracle_incarnation *inc =
        incarnation_of(&o->keys[source][key], oracle_number(object_uid(ev->object)));

    assert_int_equal(ev->type, inc->end);
    assert_true(inc->delivered);
    assert_int_not_equal(uid_now(o, source, key), inc->uid);
    assert_false(inc->superseded && uid_now(o, source, key) != 0);
    inc->handled = false;
}

/* The bits of a list of paths. */
static unsigned path_bits(struct str lines)
{
    static const char *const lists[] = {"", "data.a\n", "data.b\n", "data.a\ndata.b\n", "*\n"};

    for (unsigned i = 0; i < ARRAY_LEN(lists); i++)
        if (str_is(lines, lists[i]))
            return i;
    fail_msg("changed: %.*s", STR_ARG(lines));
    return 0;
}

static void check_changed(const struct oracle *o, struct oracle_incarnation *inc,
                          const struct run_event *e)
{
    unsigned old = e->old != NULL ? oracle_number(object_rv(e->old)) : inc->state;
    const struct oracle_state *was = &o->cache->states[old];
    const struct oracle_state *is = &o->cache->states[oracle_number(object_rv(e->ev.object))];
    unsigned differs = (was->a != is->a ? 1U : 0U) | (was->b != is->b ? 2U : 0U);

    if (e->ev.type != DELTA_MODIFIED) {
        assert_int_equal(e->changed.len, 0);
        assert_null(e->old);
        return;
    }
    if (!inc->handled) { /* a run for its end has failed */
        assert_null(e->old);
        assert_int_equal(path_bits(buf_str(&e->changed)), ALL_PATHS);
        return;
    }
    assert_true(o->restarted ? !oracle_differ(o, inc->state, old) : old == inc->state);
    inc->reported |= e->old != NULL ? differs : ALL_PATHS;
    assert_int_equal(path_bits(buf_str(&e->changed)),
                     inc->reported < ALL_PATHS ? inc->reported : ALL_PATHS);
    assert_true(o->restarted || (e->old != NULL && inc->reported < ALL_PATHS));
    inc->state = old;
}

/* A run has an event for a handled state if it is a rerun or a manual run, if a run since then may
 * have had effects, or if the state changed. */
static void check_type(const struct oracle *o, const struct oracle_incarnation *inc,
                       const struct run *run, const struct delivery_event *ev)
{
    unsigned state = oracle_number(object_rv(ev->object));
    bool due = inc->attempted || oracle_differ(o, inc->state, state);

    if (!inc->handled) {
        assert_int_equal(ev->type, takes(o, DELTA_ADDED) ? DELTA_ADDED : DELTA_MODIFIED);
        assert_true(ev->type == DELTA_ADDED || inc->delivered);
        assert_true(run->reason != RUN_RERUN || o->hook->rules.mode == HOOK_BATCH);
        return;
    }
    assert_int_equal(ev->type, repeat_type(o));
    assert_true(repeats(run) || inc->attempted || (due && takes(o, DELTA_MODIFIED)));
    if (o->hook->rules.mode == HOOK_OBJECT && takes(o, DELTA_MODIFIED) && due)
        assert_int_not_equal(run->reason, RUN_RERUN);
}

/* earlier = an incarnation whose end comes before in the same run, 0 = none. */
static void check_state(struct oracle *o, size_t source, size_t key, const struct run *run,
                        const struct run_event *e, unsigned earlier)
{
    struct oracle_key *k = &o->keys[source][key];
    struct oracle_incarnation *inc = incarnation_of(k, oracle_number(object_uid(e->ev.object)));

    assert_int_equal(oracle_number(object_rv(e->ev.object)),
                     o->cache->now[source][key]); /* newest state wins */
    check_type(o, inc, run, &e->ev);
    check_changed(o, inc, e);
    for (size_t i = 0; i < k->incarnation_count; i++)
        if (k->incarnations[i].uid != earlier && k->incarnations[i].uid != inc->uid)
            assert_true(may_be_skipped(o, &k->incarnations[i]));
    if (earlier == 0)
        another_end_stays(
            o, k, inc->uid); /* the end of another incarnation was given up: it is superseded */
    inc->delivered = inc->attempted = true;
    inc->excused = false;
}

static void start_event(struct oracle *o, const struct run *run, size_t i)
{
    const struct run_event *e = &run->events[i];
    size_t source = o->source_of[e->delivery->source];
    size_t key = oracle_key_index(e->ev.object);
    struct oracle_key *k = &o->keys[source][key];
    bool second = i > 0 && run->events[i - 1].delivery == e->delivery;
    const struct delivery_event *before = second ? &run->events[i - 1].ev : NULL;

    assert_true(takes(o, e->ev.type));
    assert_int_equal(k->running, second ? 1 : 0);
    assert_true(before == NULL || is_end(before->type));
    if (second && is_end(e->ev.type) && uid_now(o, source, key) != 0)
        o->held_now = true;
    if (is_end(e->ev.type))
        check_end(o, source, key, &e->ev);
    else
        check_state(o, source, key, run, e,
                    before != NULL ? oracle_number(object_uid(before->object)) : 0);
    k->running++;
}

/* A rerun or a manual run of a batch has an event for each object that exists. */
static void check_whole(const struct oracle *o, const struct run *run)
{
    size_t there = 0;
    size_t delivered = 0;

    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            there += o->open[s] && o->cache->now[s][k] != 0;
    for (size_t i = 0; i < run->event_count; i++) {
        bool second = i > 0 && run->events[i - 1].delivery == run->events[i].delivery;

        if (!second && !is_outage(&run->events[i]))
            delivered += uid_now(o, o->source_of[run->events[i].delivery->source],
                                 oracle_key_index(run->events[i].ev.object)) != 0;
    }
    assert_int_equal(delivered, takes(o, repeat_type(o)) ? there : delivered);
}

static void start_whole(struct oracle *o, const struct run *run)
{
    bool batch = o->hook->rules.mode == HOOK_BATCH;

    assert_int_equal(o->running, 0);
    assert_true(run->event_count > 0 || !batch);
    assert_true(run->event_count > 0 || run->reason != RUN_CHANGE || o->held || o->opened);
    if (batch && repeats(run))
        check_whole(o, run);
    o->held_now = o->opened = false;
    memcpy(o->started, o->cache->now, sizeof(o->started));
}

void oracle_started(struct oracle *o, const struct run *run)
{
    if (o->hook->rules.mode == HOOK_OBJECT)
        assert_int_equal(run->event_count, 1);
    else
        start_whole(o, run);
    for (size_t i = 0; i < run->event_count; i++) {
        if (is_outage(&run->events[i]))
            oracle_start_outage(o, &run->events[i]);
        else
            start_event(o, run, i);
    }
    o->running++;
}

/* The run for the end of an incarnation has ended; next: another incarnation exists. */
static void end_incarnation(const struct oracle *o, struct oracle_incarnation *inc, bool next,
                            bool ok, bool parks)
{
    bool may = o->hook->rules.mode == HOOK_OBJECT && gets_next_incarnation(o);

    inc->reported = ok ? 0 : inc->reported;
    inc->failed = ok ? 0 : inc->failed + 1;
    inc->parked = !ok && (inc->parked || parks);
    inc->superseded = may && !ok && next && (parks || inc->failed >= ORACLE_DELETED_ATTEMPTS);
    if (ok)
        inc->delivered = inc->handled = false;
}

static void end_event(struct oracle *o, const struct run_event *e, bool ok, bool parks)
{
    size_t source = o->source_of[e->delivery->source];
    size_t key = oracle_key_index(e->ev.object);
    struct oracle_key *k = &o->keys[source][key];
    struct oracle_incarnation *inc = incarnation_of(k, oracle_number(object_uid(e->ev.object)));
    bool end = is_end(e->ev.type);
    bool back = inc->uid == uid_now(o, source, key);

    k->running--;
    if (ok || rng_between(o->rng, 0, 1) == 0) /* a failed run may have had its effect */
        take_effect(inc, e->ev.type, oracle_number(object_rv(e->ev.object)));
    if (end)
        end_incarnation(o, inc, !back && uid_now(o, source, key) != 0, ok, parks && !back);
    if (end && back)
        inc->failed = 0;
    bool again = back && !another_end_is_due(o, k, inc->uid);

    if (!ok || end || (!inc->delivered && !again))
        return;
    inc->delivered = inc->handled =
        true; /* delivered again, if the hook did not take the end in between */
    inc->excused = false;
    inc->state = oracle_number(object_rv(e->ev.object));
    inc->attempted = false;
    inc->reported = 0;
}

void oracle_ended(struct oracle *o, const struct run *run, bool ok, bool parks)
{
    for (size_t i = 0; i < run->event_count; i++) {
        if (is_outage(&run->events[i]))
            oracle_end_outage(o, &run->events[i], ok);
        else
            end_event(o, &run->events[i], ok, parks);
    }
    o->running--;
    if (!ok)
        return;
    o->any_good_run = true;
    o->held = o->held_now;
    memcpy(o->handled, o->started, sizeof(o->handled));
}

/* The next process does not know how often a run for the end of an incarnation has failed, nor
 * which paths were reported as changed. */
static void forget_counts(struct oracle_incarnation *inc)
{
    inc->failed = 0;
    if (inc->handled && inc->attempted)
        inc->reported = ALL_PATHS;
}

void oracle_restarted(struct oracle *o, struct run *const *runs, size_t n, struct hook *hook)
{
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            for (size_t i = 0; i < o->keys[s][k].incarnation_count; i++)
                forget_counts(&o->keys[s][k].incarnations[i]);
    for (size_t i = 0; i < n; i++)
        if (runs[i]->hook == o->hook)
            oracle_ended(o, runs[i], false, false);
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k < ORACLE_KEYS; k++)
            for (size_t i = 0; i < o->keys[s][k].incarnation_count; i++)
                forget_counts(&o->keys[s][k].incarnations[i]);
    memset(o->open, 0, sizeof(o->open));
    o->hook = hook;
    o->restarted = true;
}
