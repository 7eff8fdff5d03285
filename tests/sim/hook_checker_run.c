/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of sim/hook_checker. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/panic.h"
#include "hook/shortage.h"
#include "proto/path_list.h"
#include "sim/answer.h"
#include "sim/checked_hook.h"
#include "sim/view_oracle.h"

static struct delivery_model *delivery_model_of(struct checked_hook *h, const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;
    size_t key = outage ? RULES_OUTAGE : api_find(object_key(e->ev.object));

    ensure(e->delivery->source < RULES_SOURCES);
    return &h->delivery_models[e->delivery->source][key];
}

static struct run_timing *run_timing_of(struct checked_hook *h, const struct delivery_model *a)
{
    size_t i = (size_t)(a - &h->delivery_models[0][0]);

    return checked_hook_timing(h, i / RULES_KEYS, i % RULES_KEYS);
}

/* The model of a delivery as if the run under way had not started: a run that the system could not
 * start goes back to it. */
static struct delivery_model *unstarted(struct checked_hook *h, const struct delivery_model *a)
{
    return &h->unstarted[0][0] + (a - &h->delivery_models[0][0]);
}

static struct delivery_model_event told(const struct run_event *e)
{
    bool outage = e->ev.type == DELTA_STALE || e->ev.type == DELTA_FRESH;

    return (struct delivery_model_event){e->ev.type, outage ? 1 : answer_uid(e->ev.object)};
}

static void complain(const struct run_event *e, const char *what)
{
    panic("source %u, key %s, %s: %s", e->delivery->source, e->delivery->key,
          delta_type_name(e->ev.type), what);
}

/* The paths that an event tells as changed must be those of the PATH_ bits. */
static void check_paths(const struct run_event *e, unsigned bits)
{
    char want[128];

    if (view_oracle_has_part(e->ev.object)) {
        if (view_oracle_paths(&e->changed) != bits)
            complain(e, "other paths are told as changed");
        return;
    }
    snprintf(want, sizeof(want), "%s%s%s%s", (bits & API_PATH_NOISE) != 0 ? "data.noise\n" : "",
             (bits & API_PATH_ON) != 0 ? "data.on\n" : "",
             (bits & API_PATH_VALUE) != 0 ? "data.value\n" : "",
             (bits & API_PATH_LABEL) != 0 ? "metadata.labels.app\n" : "");
    if (!str_is(buf_str(&e->changed), want))
        panic("key %s is told as changed: %.*s, not: %s", e->delivery->key,
              STR_ARG(buf_str(&e->changed)), want);
}

static void check_cause(const struct delivery_model *a, const struct run_event *e, uint64_t uid)
{
    bool ends = rules_is_end(e->ev.type);
    const struct delivery_model_gone *gone = delivery_model_gone(a, uid);

    if (e->ev.cause != (ends ? gone->cause : a->cause) ||
        (ends && e->ev.final_state_unknown != gone->state_unknown))
        complain(e, "not as it was told by the watch");
}

static void check_state(const struct hook_checker *w, const struct delivery_model *a,
                        const struct run_event *e)
{
    bool modified = e->ev.type == DELTA_MODIFIED;
    bool based = modified && a->handled.uid != 0 && a->handled.uid == a->now.uid;

    if (a->outage)
        return;
    struct api_object is = answer_read(e->ev.object);
    if (!rules_is_end(e->ev.type) && !api_same(&is, &a->now))
        complain(e, "not the newest state");
    if ((e->old != NULL) != based)
        complain(e, based ? "without the state that was handled" : "with a state from nowhere");
    /* A run with the end of the object has failed and may have undone anything. */
    if (modified && !based && !str_is(buf_str(&e->changed), PATH_LIST_ALL))
        complain(e, "not all is told as changed after its end was told");
    if (!modified || based)
        check_paths(e, modified ? delivery_model_paths(a) : 0);
    if (!based)
        return;
    struct api_object old = answer_read(e->old);
    checked_hook_count(w, FEATURE_OLD);
    if (old.uid != a->handled.uid || api_differences(&old, &a->handled) != 0)
        complain(e, "its old state is not what was handled");
    if (delivery_model_paths(a) != api_differences(&a->handled, &a->now))
        checked_hook_count(w, FEATURE_MORE_PATHS);
}

/* The events that a run must tell of a key. whole: also of a key that has not changed. */
static size_t due_of(const struct checked_hook *h, const struct delivery_model *a, bool whole,
                     struct delivery_model_event out[2])
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct delivery_model_event due[2];
    size_t n = 0;

    if (a->due)
        for (size_t i = 0, k = delivery_model_events(a, h->rules, due); i < k; i++)
            if (by_key || rules_take(h->rules, due[i].type))
                out[n++] = due[i];
    if (a->due && by_key)
        return n > 0;
    if (!a->due && whole && delivery_model_repeats(a, h->rules, &out[0]))
        return 1;
    return n;
}

/* Checks the events of one key from run->events[at] on; returns how many there are. */
static size_t check_events(const struct hook_checker *w, struct checked_hook *h,
                           const struct run *run, size_t at, bool whole)
{
    const struct run_event *e = &run->events[at];
    const struct delivery_model *a = delivery_model_of(h, e);
    struct delivery_model_event due[2];
    size_t n = due_of(h, a, whole, due);

    if (n == 0 || at + n > run->event_count)
        complain(e, "there is nothing to tell");
    for (size_t i = 0; i < n; i++) {
        struct delivery_model_event is = told(&e[i]);

        if (delivery_model_of(h, &e[i]) != a || is.type != due[i].type || is.uid != due[i].uid)
            complain(&e[i], "not what must be told");
        check_cause(a, &e[i], is.uid);
        check_state(w, a, &e[i]);
    }
    if (n == 2)
        checked_hook_count(w, rules_is_end(due[1].type) ? FEATURE_TWO_ENDS : FEATURE_NEXT_LIFE);
    if (a->outage)
        checked_hook_count(w, FEATURE_OUTAGE);
    return n;
}

static size_t total_due(const struct checked_hook *h, bool whole)
{
    struct delivery_model_event due[2];
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; h->is_open[s] && key < RULES_KEYS; key++)
            n += due_of(h, &h->delivery_models[s][key], whole, due);
    return n;
}

static void check_told(const struct hook_checker *w, struct checked_hook *h, const struct run *run)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    bool asked = run->reason == RUN_MANUAL || run->reason == RUN_RERUN;
    bool whole = asked && h->rules->mode != HOOK_SNAPSHOT;

    for (size_t i = 0; i < run->event_count;) {
        ensure(h->is_open[run->events[i].delivery->source]);
        i += check_events(w, h, run, i, whole);
    }
    if (by_key ? run->event_count != 1 : run->event_count != total_due(h, whole))
        panic("%s: told %zu events of %zu", h->rules->name, run->event_count, total_due(h, whole));
}

/* Is the rerun of a batch due, so that this run tells the unchanged keys together with the changed
 * ones? Within splay both answers are right, and the reason of the run decides. */
static bool is_overdue(const struct hook_checker *w, const struct checked_hook *h,
                       const struct run_timing *p, const struct run *run)
{
    uint64_t now = w->clock->now_ms;

    return h->rules->mode == HOOK_BATCH && now >= p->rerun_earliest_ms &&
           (now >= p->rerun_latest_ms || run->reason == RUN_RERUN);
}

static enum run_reason reason(const struct hook_checker *w, const struct checked_hook *h,
                              const struct delivery_model *a, const struct run_timing *p,
                              const struct run *run)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;

    if (p->ordered_ms != NEVER_MS)
        return RUN_MANUAL;
    if (p->failures > 0)
        return RUN_RETRY;
    if (by_key ? a->existing : h->gate == GATE_FIRST)
        return RUN_EXISTING;
    return checked_hook_due(h, a) && !is_overdue(w, h, p, run) ? RUN_CHANGE : RUN_RERUN;
}

static void check_allowed(const struct hook_checker *w, const struct checked_hook *h)
{
    const char *why = NULL;

    if (h->gate == GATE_CLOSED)
        why = "before its sources are synced, or the hooks before it are done";
    else if (h->paused)
        why = "while it is paused";
    else if (checked_hook_blocked(w, h))
        why = "while a source is stale or incomplete";
    else if (w->clock->now_ms < h->free_ms)
        why = "before min_interval is over";
    else if (!checked_hook_has_slot(w, h))
        why = "without a slot";
    if (why != NULL)
        panic("%s runs %s", h->rules->name, why);
}

static void check_work_item(const struct hook_checker *w, const struct checked_hook *h,
                            const struct delivery_model *a, const struct run_timing *p,
                            const struct run *run)
{
    enum run_reason want = reason(w, h, a, p, run);

    if (p->running)
        panic("%s: two runs of one work item", h->rules->name);
    if (!run_timing_may_run(p, checked_hook_repeats(h, a), w->clock->now_ms))
        panic("%s, key %s: runs at %" PRIu64 ", and may from %" PRIu64 " on, again from %" PRIu64,
              h->rules->name, run_key(run), w->clock->now_ms, p->earliest_ms, p->rerun_earliest_ms);
    if (run->reason != want || run->attempt != p->failures + 1)
        panic("%s, key %s: reason %s, attempt %u, not %s, %u", h->rules->name, run_key(run),
              run_reason_name(run->reason), run->attempt, run_reason_name(want), p->failures + 1);
}

/* No other key of the hook has waited for longer. */
static void check_turn(struct checked_hook *h, const struct run_timing *p)
{
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++) {
            const struct delivery_model *a = &h->delivery_models[s][key];
            const struct run_timing *other = &h->timings[s][key];
            bool repeats = h->is_open[s] && checked_hook_repeats(h, a);

            if (run_timing_waits(other) &&
                run_timing_deadline_ms(other, repeats, repeats || a->due) < run_timing_ready_ms(p))
                panic("%s: source %zu, key %zu has waited for longer", h->rules->name, s, key);
        }
}

/* Did the run start later than the first time possible, although nothing was in its way? */
static bool is_between(const struct checked_hook *h, uint64_t now_ms, uint64_t first_ms,
                       uint64_t last_ms)
{
    return now_ms > first_ms && now_ms <= last_ms && h->held_ms < first_ms && h->free_ms < first_ms;
}

static void count_delays(const struct hook_checker *w, const struct checked_hook *h,
                         const struct run_timing *p, const struct run *run)
{
    uint64_t now = w->clock->now_ms;

    if (p->had_no_slot)
        checked_hook_count(w, FEATURE_NO_SLOT);
    if (p->had_to_wait)
        checked_hook_count(w, FEATURE_MIN_INTERVAL);
    if (p->had_no_slot || p->had_to_wait)
        return;
    if (run->reason == RUN_RERUN && p->news_ms < p->rerun_earliest_ms &&
        is_between(h, now, p->rerun_earliest_ms, p->rerun_latest_ms))
        checked_hook_count(w, FEATURE_SPLAY_RERUN);
    else if (run->reason == RUN_CHANGE && is_between(h, now, p->earliest_ms, p->latest_ms))
        checked_hook_count(w, FEATURE_SPLAY);
}

static void count_run(const struct hook_checker *w, const struct checked_hook *h,
                      const struct run_timing *p, const struct run *run)
{
    static const enum feature reasons[] = {
        [RUN_EXISTING] = FEATURE_EXISTING, [RUN_CHANGE] = FEATURE_CHANGE,
        [RUN_RETRY] = FEATURE_RETRY,       [RUN_RERUN] = FEATURE_RERUN,
        [RUN_MANUAL] = FEATURE_MANUAL,
    };
    static const enum feature modes[] = {FEATURE_OBJECT, FEATURE_BATCH, FEATURE_SNAPSHOT};

    ensure(run->reason != RUN_RENEW);
    checked_hook_count(w, reasons[run->reason]);
    checked_hook_count(w, modes[h->rules->mode]);
    if (h->running > 0)
        checked_hook_count(w, FEATURE_SHARED);
    count_delays(w, h, p, run);
    for (size_t s = 0; s < RULES_SOURCES; s++)
        if (!w->synced[h->rules->sources[s]]) {
            checked_hook_count(w, FEATURE_BEHIND_ANY);
            ensure(h->rules->require == HOOK_REQUIRE_ANY || h->was_any);
        }
}

/* Are the two events that a run may have of a key both ends, so that the snapshot shows an object
 * whose ADDED must wait for another run? */
static bool holds_back(const struct checked_hook *h)
{
    struct delivery_model_event due[2];

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++) {
            const struct delivery_model *a = &h->delivery_models[s][key];

            if (a->due && a->now.uid != 0 && delivery_model_events(a, h->rules, due) == 2 &&
                rules_is_end(due[1].type))
                return true;
        }
    return false;
}

void hook_checker_begin(struct hook_checker *w, const struct run *run)
{
    struct checked_hook *h = &w->hooks[run->hook->index];

    if (h->as != CHECKED_FULLY) {
        h->running++;
        return;
    }
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct delivery_model *a = by_key ? delivery_model_of(h, &run->events[0]) : NULL;
    struct run_timing *p = by_key ? run_timing_of(h, a) : &h->timings[0][0];

    check_allowed(w, h);
    check_work_item(w, h, a, p, run);
    if (by_key)
        check_turn(h, p);
    check_told(w, h, run);
    count_run(w, h, p, run);
    h->running++;
    h->last_start_ms = w->clock->now_ms;
    h->free_ms = w->clock->now_ms + h->rules->work_queue.min_interval_ms;
    h->held_back = h->rules->mode == HOOK_SNAPSHOT && holds_back(h);
    h->whole_due = false;
    for (size_t i = 0; i < run->event_count; i++) {
        const struct delivery_model_event ev = told(&run->events[i]);
        struct delivery_model *of = delivery_model_of(h, &run->events[i]);

        if (of->running == 0)
            *unstarted(h, of) = *of;
        delivery_model_begin(of, &ev);
    }
    run_timing_begin(p, w->clock->now_ms);
}

bool hook_checker_parks(const struct rules *r, const struct run_result *result)
{
    const struct run_end *end = &result->end;
    bool exited = end->kind == RUN_END_EXITED && end->cut == RUN_CUT_NONE;

    return run_end_is_unfit(end) || (exited && (r->park_exit & 1U << end->value) != 0);
}

/* rerun: a rerun that the system could not start. */
static void note_result(struct checked_hook *h, bool ok, bool not_started, bool rerun)
{
    bool snapshot = h->rules->mode == HOOK_SNAPSHOT;

    h->tried = h->tried || (h->gate == GATE_FIRST && !ok && !not_started);
    h->whole_due = snapshot && (h->whole_due || (!ok && !rerun) || h->held_back);
    if (ok && h->gate == GATE_FIRST && h->rules->mode != HOOK_OBJECT)
        checked_hook_end_first(h);
}

/* The run could not be started, and leaves no trace. But whether a first run is left is judged here and
 * not while the run was under way: it is left if the incarnation that it was for is still due. */
static void forget_events(struct checked_hook *h, const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct delivery_model *a = delivery_model_of(h, &run->events[i]);
        bool existing = a->existing;

        *a = *unstarted(h, a);
        a->existing = existing && delivery_model_is_due(a, h->rules, told(&run->events[i]).uid);
    }
}

static void note_events(struct checked_hook *h, const struct run *run, bool ok)
{
    for (size_t i = 0; i < run->event_count; i++)
        delivery_model_over(delivery_model_of(h, &run->events[i]));
    for (size_t i = 0; i < run->event_count; i++) {
        const struct run_event *e = &run->events[i];
        const struct delivery_model_event ev = told(e);
        struct api_object state = {.uid = 1};

        if (ev.type != DELTA_STALE && ev.type != DELTA_FRESH)
            state = answer_read(e->ev.object);
        delivery_model_end(delivery_model_of(h, e), h->rules, &ev, &state, ok);
    }
}

static void count_failure(const struct hook_checker *w, const struct run_timing *p,
                          const struct run_timing_end *end, const struct run_result *result)
{
    if (end->not_started) {
        checked_hook_count(w, p->ordered_ms != NEVER_MS ? FEATURE_NOT_STARTED_ORDER
                                                        : FEATURE_NOT_STARTED);
        return;
    }
    if (run_end_is_unfit(&result->end))
        checked_hook_count(w, FEATURE_UNFIT);
    if (p->changed)
        checked_hook_count(w, FEATURE_CHANGED_RUNNING);
    if (end->another)
        checked_hook_count(w, FEATURE_NEW_BACKOFF);
}

/* Mode object: a run has failed. Is another event due now? Supersedes an end if it must be. */
static bool is_another(const struct hook_checker *w, const struct checked_hook *h,
                       struct delivery_model *a, const struct run_timing *p,
                       const struct run_timing_end *end)
{
    bool spent = run_timing_is_spent(p, &h->rules->work_queue, end->parks);

    bool yields = delivery_model_must_yield(a, h->rules, p->failures + 1, spent);

    if (yields) {
        checked_hook_count(w, FEATURE_GAVE_WAY);
        delivery_model_yield(a, h->rules);
    }
    return a->due ? delivery_model_new_matter(a, h->rules) : yields;
}

/* A person wanted one more run, and it has nothing left to tell. */
static void void_order(const struct hook_checker *w, struct run_timing *p)
{
    if (p->ordered_ms != NEVER_MS)
        checked_hook_count(w, FEATURE_ORDER_VOID);
    p->ordered_ms = NEVER_MS;
}

/* The system could not start the run: min_interval does not count from it, and a manual run stays
 * wanted. */
static void take_back(const struct hook_checker *w, struct checked_hook *h, struct run_timing *p,
                      const struct run *run)
{
    if (h->last_start_ms == run->started_ms) {
        h->last_start_ms = NEVER_MS;
        h->free_ms = run->started_ms;
    }
    if (run->manual_runs != 0 && p->ordered_ms == NEVER_MS)
        p->ordered_ms = w->clock->now_ms;
}

/* Sets the time of the next rerun after the end of a run. */
static void rest(const struct checked_hook *h, const struct run *run, struct run_timing *p,
                 const struct run_timing_end *end, bool repeats)
{
    const struct work_queue_params *l = &h->rules->work_queue;
    bool some =
        h->rules->mode == HOOK_BATCH && run->reason != RUN_RERUN && run->reason != RUN_MANUAL;

    if (!repeats)
        run_timing_rest(p, l, NEVER_MS);
    else if (end->not_started || some)
        run_timing_keep(p, l, p->started_ms, end->not_started ? p->not_started_ms : 0);
    else
        run_timing_rest(p, l, p->started_ms);
}

const struct run_timing *hook_checker_end(struct hook_checker *w, const struct run *run,
                                          const struct run_result *result)
{
    struct checked_hook *h = &w->hooks[run->hook->index];

    if (h->as != CHECKED_FULLY) {
        h->running--;
        return NULL;
    }
    bool by_key = h->rules->mode == HOOK_OBJECT;
    struct delivery_model *a = by_key ? delivery_model_of(h, &run->events[0]) : NULL;
    struct run_timing *p = by_key ? run_timing_of(h, a) : &h->timings[0][0];
    struct run_timing_end end = {.ok = run_end_is_good(&result->end),
                                 .not_started = shortage_of(&result->end) != SHORTAGE_NONE};

    h->running--;
    note_result(h, end.ok, end.not_started, end.not_started && run->reason == RUN_RERUN);
    if (end.not_started)
        forget_events(h, run);
    else
        note_events(h, run, end.ok);
    if (end.not_started)
        take_back(w, h, p, run);
    end.parks = hook_checker_parks(h->rules, result);
    end.another = by_key && !end.ok && !end.not_started && is_another(w, h, a, p, &end);
    end.due = checked_hook_due(h, a);
    end.rerun = run->reason == RUN_RERUN && h->rules->work_queue.rerun_ms > 0 &&
                (!by_key || checked_hook_repeats(h, a));
    if (by_key && !end.due && !checked_hook_repeats(h, a))
        void_order(w, p);
    if (!end.ok)
        count_failure(w, p, &end, result);
    run_timing_end(p, &h->rules->work_queue, &end, w->clock->now_ms);
    if (p->parked)
        checked_hook_count(w, end.parks ? FEATURE_PARK_EXIT : FEATURE_PARK_ATTEMPTS);
    rest(h, run, p, &end, !by_key || checked_hook_repeats(h, a));
    checked_hook_check_first(h);
    return p;
}
