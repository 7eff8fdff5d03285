/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_schedule_oracle.h"

static bool is_keyed(const struct hook_schedule_oracle *w)
{
    return w->hook->rules.mode == HOOK_OBJECT;
}

static bool takes(const struct hook_schedule_oracle *w, enum delta_type type)
{
    return filter_takes(&w->hook->filter, type);
}

void hook_schedule_oracle_change(struct hook_schedule_oracle *w, size_t source, size_t key,
                                 bool begun_or_ended, bool end)
{
    struct hook_schedule_oracle_work_item *u =
        is_keyed(w) ? &w->work_items[source][key] : &w->whole;

    if (!w->open[source])
        return;
    u->news = true;
    u->another = u->another || begun_or_ended;
    if (end && !u->running) /* no run has had the object */
        u->existing = false;
}

/* ---- The gate. */

static bool enough_usable(const struct hook_schedule_oracle *w)
{
    const struct hook_rules *r = &w->hook->rules;
    size_t n = 0;

    for (size_t i = 0; i < w->hook->source_count; i++) {
        size_t s = w->source_of[i];
        bool stale = r->when_stale == HOOK_STALE_WAIT && w->cache->stale[s];

        n += w->cache->synced[s] && !stale;
    }
    return r->require == HOOK_REQUIRE_ANY ? n > 0 : n == w->hook->source_count;
}

static bool is_any_open(const struct hook_schedule_oracle *w)
{
    bool any = false;

    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        any = any || w->open[s];
    return any;
}

static void open_source(struct hook_schedule_oracle *w, size_t s, uint64_t now_ms)
{
    bool skip = w->hook->rules.existing == HOOK_EXISTING_SKIP;

    for (size_t k = 0; k <= ORACLE_KEYS; k++)
        w->work_items[s][k].whole_ms = now_ms;
    for (size_t k = 0; k < ORACLE_KEYS; k++)
        w->work_items[s][k].existing = w->cache->now[s][k] != 0 && !skip && takes(w, DELTA_ADDED);
    w->work_items[s][SCHEDULE_OUTAGE].existing = w->cache->stale[s] && takes(w, DELTA_STALE);
    w->open[s] = true;
    w->whole.news = w->whole.another = true;
    if (w->whole.whole_ms == 0)
        w->whole.whole_ms = now_ms;
}

void hook_schedule_oracle_gate(struct hook_schedule_oracle *w, const struct hooks *hooks,
                               uint64_t now_ms)
{
    const struct hook_rules *r = &w->hook->rules;
    bool comes = r->after_count == 0 || hook_first_ended(hooks_find(hooks, str_c(r->after[0])));
    bool open = is_any_open(w) || (enough_usable(w) && comes);

    assert_int_equal(w->hook->gate != GATE_CLOSED, open);
    for (size_t i = 0; i < w->hook->source_count; i++) {
        size_t s = w->source_of[i];

        assert_int_equal(w->hook->queue.sources[i].is_open, open && w->cache->synced[s]);
        if (!w->open[s] && open && w->cache->synced[s])
            open_source(w, s, now_ms);
    }
}

/* ---- Runs. */

void hook_schedule_oracle_ordered(struct hook_schedule_oracle *w, size_t key)
{
    w->whole.ordered = true;
    for (size_t s = 0; s < ORACLE_SOURCES; s++)
        for (size_t k = 0; k <= ORACLE_KEYS; k++)
            if (key > ORACLE_KEYS || key == k)
                w->work_items[s][k].ordered = w->work_items[s][k].ordered || w->open[s];
}

static struct hook_schedule_oracle_work_item *work_item_of(struct hook_schedule_oracle *w,
                                                           const struct run *run)
{
    if (!is_keyed(w))
        return &w->whole;
    const struct delivery *dl = run->events[0].delivery;
    size_t k = dl->key[0] == '\0' ? SCHEDULE_OUTAGE : oracle_key_index(run->events[0].ev.object);

    return &w->work_items[w->source_of[dl->source]][k];
}

static void check_slots(const struct hook_schedule_oracle *all, size_t n, const struct hooks *hooks)
{
    unsigned shared = 0;

    for (size_t i = 0; i < n; i++) {
        const struct hook_schedule_oracle *w = &all[i];

        assert_true(w->running <= (is_keyed(w) ? w->hook->work_queue.params.concurrency : 1));
        shared += w->running > 1 ? w->running - 1 : 0;
    }
    assert_true(shared <= hooks->scheduler.shared);
}

/* Is the run about the same incarnation, and about its end or not, as the last run of its work
 * item? Then the backoff goes on. */
static bool same_matter(const struct hook_schedule_oracle *w,
                        const struct hook_schedule_oracle_work_item *u, const struct run *run)
{
    if (!u->ran || !is_keyed(w))
        return u->ran;
    return u->end == delivery_is_end(run->events[0].ev.type) &&
           u->uid == oracle_number(object_uid(run->events[0].ev.object));
}

static void check_attempt(const struct hook_schedule_oracle *w,
                          struct hook_schedule_oracle_work_item *u, const struct run *run)
{
    bool snapshot = w->hook->rules.mode == HOOK_SNAPSHOT;

    if (!same_matter(w, u, run))
        assert_int_equal(run->attempt, 1);
    else if (!u->another || snapshot)
        assert_int_equal(run->attempt, u->failures + 1);
    else
        assert_true(run->attempt == 1 || run->attempt == u->failures + 1);
    u->failures = run->attempt - 1;
}

static void check_reason(const struct hook_schedule_oracle *w,
                         const struct hook_schedule_oracle_work_item *u, const struct run *run)
{
    bool snapshot = w->hook->rules.mode == HOOK_SNAPSHOT;
    bool first = !w->good && w->hook->rules.existing == HOOK_EXISTING_RUN;

    assert_int_equal(run->manual_runs != 0, run->reason == RUN_MANUAL);
    assert_true(run->reason != RUN_MANUAL || u->ordered);
    if (run->reason == RUN_MANUAL)
        return;
    assert_true(!u->ordered || (u->another && !snapshot)); /* the manual run has become void */
    assert_int_equal(run->reason == RUN_RETRY, run->attempt > 1);
    if (run->reason == RUN_RETRY)
        return;
    if (is_keyed(w))
        assert_int_equal(run->reason == RUN_EXISTING, u->existing);
    else if (snapshot)
        assert_true(!first || run->reason == RUN_EXISTING);
    assert_true(run->reason != RUN_EXISTING || is_keyed(w) || !w->good);
}

/* The step of the backoff after so many failures. */
static uint64_t step_ms(const struct backoff_params *p, unsigned failures)
{
    double ms = (double)p->initial_ms;

    while (--failures > 0 && ms < (double)p->max_ms)
        ms *= p->factor;
    return ms < (double)p->max_ms ? (uint64_t)ms : p->max_ms;
}

static void check_time(const struct hook_schedule_oracle *w,
                       const struct hook_schedule_oracle_work_item *u, const struct run *run,
                       uint64_t now_ms)
{
    const struct work_queue_params *p = &w->hook->work_queue.params;
    bool same = same_matter(w, u, run) && !(u->another && is_keyed(w));

    assert_true(w->last_start_ms == 0 || now_ms >= w->last_start_ms + p->min_interval_ms);
    if (run->reason == RUN_RERUN)
        assert_true(p->rerun_ms > 0 && now_ms >= u->whole_ms + p->rerun_ms);
    if (run->reason == RUN_MANUAL || !same)
        return;
    assert_true(!u->parked || u->news);
    if (u->failures == 0)
        return;
    assert_true(now_ms >= u->ended_ms + p->retry.initial_ms);
    assert_true(u->news || now_ms >= u->ended_ms + step_ms(&p->retry, u->failures));
}

void hook_schedule_oracle_started(struct hook_schedule_oracle *all, size_t n,
                                  const struct hooks *hooks, const struct run *run, uint64_t now_ms)
{
    struct hook_schedule_oracle *w = &all[run->hook->index];
    struct hook_schedule_oracle_work_item *u = work_item_of(w, run);

    assert_false(w->paused);
    assert_true(enough_usable(w) || w->hook->rules.when_stale == HOOK_STALE_RUN);
    for (size_t i = 0; i < run->event_count; i++)
        assert_true(w->open[w->source_of[run->events[i].delivery->source]]);
    assert_true(is_any_open(w));
    assert_false(u->running);
    w->running++;
    check_slots(all, n, hooks);
    check_attempt(w, u, run);
    check_reason(w, u, run);
    check_time(w, u, run, now_ms);
    u->news = u->another = u->ordered = u->parked = false;
    u->running = true;
    w->last_start_ms = now_ms;
    if (w->hook->rules.mode != HOOK_BATCH || run->reason == RUN_MANUAL || run->reason == RUN_RERUN)
        u->whole_ms = now_ms;
}

bool hook_schedule_oracle_parks(const struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result)
{
    unsigned attempts = w->hook->work_queue.params.attempts;
    const struct run_end *end = &result->end;
    bool exited = end->kind == RUN_END_EXITED && end->cut == RUN_CUT_NONE;

    if (exited && end->value == 0)
        return false;
    return run_end_is_unfit(end) || (exited && end->value == SCHEDULE_PARK) ||
           (attempts > 0 && run->attempt >= attempts);
}

void hook_schedule_oracle_ended(struct hook_schedule_oracle *w, const struct run *run,
                                const struct run_result *result, uint64_t now_ms)
{
    struct hook_schedule_oracle_work_item *u = work_item_of(w, run);
    bool ok = run_end_is_good(&result->end);

    w->running--;
    u->running = false;
    w->good = w->good || ok;
    u->ran = true;
    u->existing = false;
    u->failures = ok ? 0 : run->attempt;
    u->parked = hook_schedule_oracle_parks(w, run, result);
    u->ended_ms = now_ms;
    if (!is_keyed(w))
        return;
    u->end = delivery_is_end(run->events[0].ev.type);
    u->uid = oracle_number(object_uid(run->events[0].ev.object));
}

void hook_schedule_oracle_quiet(const struct hook_schedule_oracle *w)
{
    assert_int_equal(w->running, 0);
    assert_false(manual_runs_wait(&w->hook->manual_runs));
    assert_int_equal(hook_parked(w->hook), 0);
    assert_int_equal(w->hook->work_queue.running, 0);
    assert_true(hook_first_ended(w->hook));
}
