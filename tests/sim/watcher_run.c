/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: see watcher.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "sim/answer.h"
#include "sim/viewed.h"
#include "sim/watched.h"

static struct account *account_of(struct watched *h, const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;
    size_t key = outage ? ACCOUNT_OUTAGE : api_find(object_key(e->ev.object));

    ensure(e->entry->source < RULES_SOURCES);
    return &h->accounts[e->entry->source][key];
}

static struct pace *pace_of(struct watched *h, const struct account *a)
{
    size_t i = (size_t)(a - &h->accounts[0][0]);

    return watched_pace(h, i / ACCOUNT_KEYS, i % ACCOUNT_KEYS);
}

/* The account as it would be if the run under way had not started. */
static struct account *unstarted(struct watched *h, const struct account *a)
{
    return &h->unstarted[0][0] + (a - &h->accounts[0][0]);
}

static struct account_event told(const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;

    return (struct account_event){e->ev.type, outage ? 1 : answer_uid(e->ev.object)};
}

static void complain(const struct run_event *e, const char *what)
{
    panic("source %zu, key %s, %s: %s", e->entry->source, e->entry->key,
          delta_type_name(e->ev.type), what);
}

/* The list of paths for PATH_ bits. */
static void check_paths(const struct run_event *e, unsigned bits)
{
    char want[128];

    if (viewed_has_part(e->ev.object)) {
        if (viewed_paths(&e->changed) != bits)
            complain(e, "other paths are told as changed");
        return;
    }
    snprintf(want, sizeof(want), "%s%s%s%s", (bits & PATH_NOISE) != 0 ? "data.noise\n" : "",
             (bits & PATH_ON) != 0 ? "data.on\n" : "",
             (bits & PATH_VALUE) != 0 ? "data.value\n" : "",
             (bits & PATH_LABEL) != 0 ? "metadata.labels.app\n" : "");
    if (!str_is(buf_str(&e->changed), want))
        panic("key %s is told as changed: %.*s, not: %s", e->entry->key,
              STR_ARG(buf_str(&e->changed)), want);
}

static void check_cause(const struct account *a, const struct run_event *e, uint64_t uid)
{
    bool ends = account_is_end(e->ev.type);
    const struct account_gone *gone = account_gone(a, uid);

    if (e->ev.cause != (ends ? gone->cause : a->cause) ||
        (ends && e->ev.final_state_unknown != gone->state_unknown))
        complain(e, "not as it was told by the watch");
}

static void check_state(const struct watcher *w, const struct account *a, const struct run_event *e)
{
    bool modified = e->ev.type == DELTA_MODIFIED;
    bool based = modified && a->handled.uid != 0 && a->handled.uid == a->now.uid;

    if (a->outage)
        return;
    struct api_object is = answer_read(e->ev.object);
    if (!account_is_end(e->ev.type) && !api_same(&is, &a->now))
        complain(e, "not the newest state");
    if ((e->old != NULL) != based)
        complain(e, based ? "without the state that was handled" : "with a state from nowhere");
    check_paths(e, modified ? account_paths(a) : 0);
    if (!based)
        return;
    struct api_object old = answer_read(e->old);
    watched_count(w, FEATURE_OLD);
    if (old.uid != a->handled.uid || account_differences(&old, &a->handled) != 0)
        complain(e, "its old state is not what was handled");
    if (account_paths(a) != account_differences(&a->handled, &a->now))
        watched_count(w, FEATURE_MORE_PATHS);
}

/* What a run must tell of a key. */
static size_t due_of(const struct watched *h, const struct account *a, bool whole,
                     struct account_event out[2])
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct account_event due[2];
    size_t n = 0;

    if (a->due)
        for (size_t i = 0, k = account_events(a, h->rules, due); i < k; i++)
            if (by_key || rules_take(h->rules, due[i].type))
                out[n++] = due[i];
    if (a->due && by_key)
        return n > 0;
    if (!a->due && whole && account_repeats(a, h->rules, &out[0]))
        return 1;
    return n;
}

/* The events of one key; returns how many. */
static size_t check_events(const struct watcher *w, struct watched *h, const struct run *run,
                           size_t at, bool whole)
{
    const struct run_event *e = &run->events[at];
    const struct account *a = account_of(h, e);
    struct account_event due[2];
    size_t n = due_of(h, a, whole, due);

    if (n == 0 || at + n > run->event_count)
        complain(e, "there is nothing to tell");
    for (size_t i = 0; i < n; i++) {
        struct account_event is = told(&e[i]);

        if (account_of(h, &e[i]) != a || is.type != due[i].type || is.uid != due[i].uid)
            complain(&e[i], "not what must be told");
        check_cause(a, &e[i], is.uid);
        check_state(w, a, &e[i]);
    }
    if (n == 2)
        watched_count(w, account_is_end(due[1].type) ? FEATURE_TWO_ENDS : FEATURE_NEXT_LIFE);
    if (a->outage)
        watched_count(w, FEATURE_OUTAGE);
    return n;
}

static size_t total_due(const struct watched *h, bool whole)
{
    struct account_event due[2];
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; h->is_open[s] && key < ACCOUNT_KEYS; key++)
            n += due_of(h, &h->accounts[s][key], whole, due);
    return n;
}

static void check_told(const struct watcher *w, struct watched *h, const struct run *run)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    bool asked = run->reason == RUN_MANUAL || run->reason == RUN_RERUN;
    bool whole = asked && h->rules->mode != HOOK_SNAPSHOT;

    for (size_t i = 0; i < run->event_count;) {
        ensure(h->is_open[run->events[i].entry->source]);
        i += check_events(w, h, run, i, whole);
    }
    if (by_key ? run->event_count != 1 : run->event_count != total_due(h, whole))
        panic("%s: told %zu events of %zu", h->rules->name, run->event_count, total_due(h, whole));
}

/* A batch is told of what has not changed with what has, once it is time, which splay leaves open. */
static bool is_overdue(const struct watcher *w, const struct watched *h, const struct pace *p,
                       const struct run *run)
{
    uint64_t now = w->clock->now_ms;

    return h->rules->mode == HOOK_BATCH && now >= p->rerun_earliest_ms &&
           (now >= p->rerun_latest_ms || run->reason == RUN_RERUN);
}

static enum run_reason reason(const struct watcher *w, const struct watched *h,
                              const struct account *a, const struct pace *p, const struct run *run)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (p->ordered_ms != NEVER_MS)
        return RUN_MANUAL;
    if (p->failures > 0)
        return RUN_RETRY;
    if (by_key ? a->existing : h->gate == GATE_FIRST)
        return RUN_EXISTING;
    return watched_due(h, a) && !is_overdue(w, h, p, run) ? RUN_CHANGE : RUN_RERUN;
}

static void check_allowed(const struct watcher *w, const struct watched *h)
{
    const char *why = NULL;

    if (h->gate == GATE_CLOSED)
        why = "before its sources are synced, or the hooks before it are done";
    else if (h->paused)
        why = "while it is paused";
    else if (watched_blocked(w, h))
        why = "while a source is stale";
    else if (w->clock->now_ms < h->free_ms)
        why = "before min_interval is over";
    else if (!watched_has_slot(w, h))
        why = "without a slot";
    if (why != NULL)
        panic("%s runs %s", h->rules->name, why);
}

static void check_work_item(const struct watcher *w, const struct watched *h,
                            const struct account *a, const struct pace *p, const struct run *run)
{
    enum run_reason want = reason(w, h, a, p, run);

    if (p->running)
        panic("%s: two runs of one unit", h->rules->name);
    if (!pace_may_run(p, watched_repeats(h, a), w->clock->now_ms))
        panic("%s, key %s: runs at %" PRIu64 ", and may from %" PRIu64 " on, again from %" PRIu64,
              h->rules->name, run_key(run), w->clock->now_ms, p->earliest_ms, p->rerun_earliest_ms);
    if (run->reason != want || run->attempt != p->failures + 1)
        panic("%s, key %s: reason %s, attempt %u, not %s, %u", h->rules->name, run_key(run),
              run_reason_name(run->reason), run->attempt, run_reason_name(want), p->failures + 1);
}

/* First come, first served. */
static void check_turn(struct watched *h, const struct pace *p)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++) {
            const struct account *a = &h->accounts[s][key];
            const struct pace *other = &h->paces[s][key];
            bool repeats = h->is_open[s] && watched_repeats(h, a);

            if (pace_waits(other) &&
                pace_deadline_ms(other, repeats, repeats || a->due) < pace_ready_ms(p))
                panic("%s: source %zu, key %zu has waited for longer", h->rules->name, s, key);
        }
}

/* Later than at first, and nothing was in the way. */
static bool is_between(const struct watched *h, uint64_t now_ms, uint64_t first_ms,
                       uint64_t last_ms)
{
    return now_ms > first_ms && now_ms <= last_ms && h->held_ms < first_ms && h->free_ms < first_ms;
}

static void count_delays(const struct watcher *w, const struct watched *h, const struct pace *p,
                         const struct run *run)
{
    uint64_t now = w->clock->now_ms;

    if (p->had_no_slot)
        watched_count(w, FEATURE_NO_SLOT);
    if (p->had_to_wait)
        watched_count(w, FEATURE_MIN_INTERVAL);
    if (p->had_no_slot || p->had_to_wait)
        return;
    if (run->reason == RUN_RERUN && p->news_ms < p->rerun_earliest_ms &&
        is_between(h, now, p->rerun_earliest_ms, p->rerun_latest_ms))
        watched_count(w, FEATURE_SPLAY_RERUN);
    else if (run->reason == RUN_CHANGE && is_between(h, now, p->earliest_ms, p->latest_ms))
        watched_count(w, FEATURE_SPLAY);
}

static void count_run(const struct watcher *w, const struct watched *h, const struct pace *p,
                      const struct run *run)
{
    static const enum feature reasons[] = {
        [RUN_EXISTING] = FEATURE_EXISTING, [RUN_CHANGE] = FEATURE_CHANGE,
        [RUN_RETRY] = FEATURE_RETRY,       [RUN_RERUN] = FEATURE_RERUN,
        [RUN_MANUAL] = FEATURE_MANUAL,
    };
    static const enum feature modes[] = {FEATURE_OBJECT, FEATURE_BATCH, FEATURE_SNAPSHOT};

    ensure(run->reason != RUN_RENEW);
    watched_count(w, reasons[run->reason]);
    watched_count(w, modes[h->rules->mode]);
    if (h->running > 0)
        watched_count(w, FEATURE_SHARED);
    count_delays(w, h, p, run);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        if (!w->synced[h->rules->sources[s]]) {
            watched_count(w, FEATURE_BEHIND_ANY);
            ensure(h->rules->require == HOOK_REQUIRE_ANY);
        }
}

/* Does an end share the room of the key's two events with another one, so that the snapshot shows
 * more than they say? */
static bool holds_back(const struct watched *h)
{
    struct account_event due[2];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < ACCOUNT_KEYS; key++) {
            const struct account *a = &h->accounts[s][key];

            if (a->due && a->now.uid != 0 && account_events(a, h->rules, due) == 2 &&
                account_is_end(due[1].type))
                return true;
        }
    return false;
}

void watcher_begin(struct watcher *w, const struct run *run)
{
    struct watched *h = &w->hooks[run->hook->index];
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct account *a = by_key ? account_of(h, &run->events[0]) : NULL;
    struct pace *p = by_key ? pace_of(h, a) : &h->paces[0][0];

    check_allowed(w, h);
    check_work_item(w, h, a, p, run);
    if (by_key)
        check_turn(h, p);
    check_told(w, h, run);
    count_run(w, h, p, run);
    h->running++;
    h->free_ms = w->clock->now_ms + h->rules->work_queue.min_interval_ms;
    h->held_back = h->rules->mode == HOOK_SNAPSHOT && holds_back(h);
    h->whole_due = false;
    for (size_t i = 0; i < run->event_count; i++) {
        const struct account_event ev = told(&run->events[i]);
        struct account *of = account_of(h, &run->events[i]);

        if (of->running == 0)
            *unstarted(h, of) = *of;
        account_begin(of, &ev);
    }
    pace_begin(p, w->clock->now_ms);
}

bool watcher_parks(const struct rules *r, const struct run_result *result)
{
    return result->end == RUN_UNFIT ||
           (result->end == RUN_EXITED && (r->park_exit & 1U << result->status) != 0);
}

/* rerun: one that was none. */
static void note_result(struct watched *h, bool ok, bool not_started, bool rerun)
{
    bool snapshot = h->rules->mode == HOOK_SNAPSHOT;

    h->tried = h->tried || (!ok && !not_started);
    h->whole_due = snapshot && (h->whole_due || (!ok && !rerun) || h->held_back);
    if (ok && h->gate == GATE_FIRST && h->rules->mode != HOOK_OBJECT)
        watched_end_first(h);
}

static void forget_events(struct watched *h, const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct account *a = account_of(h, &run->events[i]);

        *a = *unstarted(h, a);
    }
}

static void note_events(struct watched *h, const struct run *run, bool ok)
{
    for (size_t i = 0; i < run->event_count; i++)
        account_over(account_of(h, &run->events[i]));
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *e = &run->events[i];
        const struct account_event ev = told(e);
        struct api_object state = {.uid = 1};

        if (ev.type != DELTA_STALE && ev.type != DELTA_FRESH)
            state = answer_read(e->ev.object);
        account_end(account_of(h, e), h->rules, &ev, &state, ok);
    }
}

static void count_failure(const struct watcher *w, const struct pace *p, const struct pace_end *end,
                          const struct run_result *result)
{
    if (end->not_started) {
        watched_count(w,
                      p->ordered_ms != NEVER_MS ? FEATURE_NOT_STARTED_ORDER : FEATURE_NOT_STARTED);
        return;
    }
    if (result->end == RUN_UNFIT)
        watched_count(w, FEATURE_UNFIT);
    if (p->changed)
        watched_count(w, FEATURE_CHANGED_RUNNING);
    if (end->another)
        watched_count(w, FEATURE_NEW_BACKOFF);
}

/* Mode object: the run has failed. */
static bool is_another(const struct watcher *w, const struct watched *h, struct account *a,
                       const struct pace *p, const struct pace_end *end)
{
    bool spent = pace_is_spent(p, &h->rules->work_queue, end->parks);

    bool yields = account_must_yield(a, h->rules, p->failures + 1, spent);

    if (yields) {
        watched_count(w, FEATURE_GAVE_WAY);
        account_yield(a, h->rules);
    }
    return a->due ? account_new_matter(a, h->rules) : yields;
}

/* A person wanted it run once more, and there is nothing left to tell. */
static void void_order(const struct watcher *w, struct pace *p)
{
    if (p->ordered_ms != NEVER_MS)
        watched_count(w, FEATURE_ORDER_VOID);
    p->ordered_ms = NEVER_MS;
}

/* It was none: min_interval does not count from it, and who wanted it waits on. */
static void take_back(const struct watcher *w, struct watched *h, struct pace *p,
                      const struct run *run)
{
    if (h->free_ms == run->started_ms + h->rules->work_queue.min_interval_ms)
        h->free_ms = run->started_ms;
    if (run->manual_runs != 0 && p->ordered_ms == NEVER_MS)
        p->ordered_ms = w->clock->now_ms;
}

/* When it is told of what has not changed. */
static void rest(const struct watched *h, const struct run *run, struct pace *p,
                 const struct pace_end *end, bool repeats)
{
    const struct work_queue_params *l = &h->rules->work_queue;
    bool some =
        h->rules->mode == HOOK_BATCH && run->reason != RUN_RERUN && run->reason != RUN_MANUAL;

    if (!repeats)
        pace_rest(p, l, NEVER_MS);
    else if (end->not_started || some)
        pace_keep(p, l, p->started_ms, end->not_started ? p->not_started_ms : 0);
    else
        pace_rest(p, l, p->started_ms);
}

const struct pace *watcher_end(struct watcher *w, const struct run *run,
                               const struct run_result *result)
{
    struct watched *h = &w->hooks[run->hook->index];
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct account *a = by_key ? account_of(h, &run->events[0]) : NULL;
    struct pace *p = by_key ? pace_of(h, a) : &h->paces[0][0];
    struct pace_end end = {.ok = result->end == RUN_EXITED && result->status == 0,
                           .not_started = result->end == RUN_NOT_STARTED};

    h->running--;
    note_result(h, end.ok, end.not_started, end.not_started && run->reason == RUN_RERUN);
    if (end.not_started)
        forget_events(h, run);
    else
        note_events(h, run, end.ok);
    if (end.not_started)
        take_back(w, h, p, run);
    end.parks = watcher_parks(h->rules, result);
    end.another = by_key && !end.ok && !end.not_started && is_another(w, h, a, p, &end);
    end.due = watched_due(h, a);
    end.rerun = run->reason == RUN_RERUN && (!by_key || watched_repeats(h, a));
    if (by_key && !end.due && !watched_repeats(h, a))
        void_order(w, p);
    if (!end.ok)
        count_failure(w, p, &end, result);
    pace_end(p, &h->rules->work_queue, &end, w->clock->now_ms);
    if (p->parked)
        watched_count(w, end.parks ? FEATURE_PARK_EXIT : FEATURE_PARK_ATTEMPTS);
    rest(h, run, p, &end, !by_key || watched_repeats(h, a));
    watched_check_first(h);
    return p;
}
