/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of sim/restart_oracle. */
#include <inttypes.h>
#include <limits.h>

#include "base/panic.h"
#include "proto/path_list.h"
#include "sim/answer.h"
#include "sim/restart_oracle.h"
#include "sim/view_oracle.h"

static const struct api_object none;

/* One event of a run, with its hook, key and incarnation. */
struct telling {
    struct restart_oracle *w;
    struct restart_oracle_hook *h;
    const struct run *run;
    const struct run_event *e;
    struct restart_oracle_key *k;
    struct restart_oracle_incarnation *incarnation;
    bool outage;
    bool ends;
    uint64_t uid;
    struct api_object state; /* only the uid is set for an end, or an outage */
};

static struct telling telling(struct restart_oracle *w, const struct run *run, size_t i)
{
    struct telling t = {.w = w, .h = &w->hooks[run->hook->index], .run = run, .e = &run->events[i]};
    size_t source = t.e->delivery->source;

    t.outage = t.e->ev.type == DELTA_STALE || t.e->ev.type == DELTA_FRESH;
    t.ends = rules_is_end(t.e->ev.type);
    t.uid = t.outage ? 1 : answer_uid(t.e->ev.object);
    t.k = &t.h->keys[source][t.outage ? RULES_OUTAGE : api_find(object_key(t.e->ev.object))];
    t.incarnation = &t.h->lives[source][t.uid];
    t.state = (struct api_object){.uid = t.uid};
    if (!t.ends && !t.outage)
        t.state = answer_read(t.e->ev.object);
    return t;
}

static void complain(const struct telling *t, const char *what)
{
    panic("%s, run %" PRIu64 ", source %u, key %s, %s of incarnation %" PRIu64 ": %s",
          t->h->rules->name, t->run->id, t->e->delivery->source, t->e->delivery->key,
          delta_type_name(t->e->ev.type), t->uid, what);
}

static void count(const struct telling *t, enum feature f)
{
    t->w->features[f]++;
}

static bool is_asked(const struct run *run)
{
    return run->reason == RUN_RERUN || run->reason == RUN_MANUAL;
}

static bool differs(const struct rules *r, const struct api_object *a, const struct api_object *b)
{
    unsigned paths = api_differences(a, b);

    return a->uid != b->uid || (r->narrow ? (paths & API_PATH_VALUE) != 0 : paths != 0);
}

/* Must the key still be parked? Not for hooks with fields or output: a key that could not get its
 * fields, or whose file another key had, is tried again by the next process. */
static bool was_parked(const struct telling *t)
{
    const struct rules *r = t->h->rules;

    return t->k->parked && !t->k->moved && r->mode == HOOK_OBJECT && !r->output && !r->fields;
}

/* ---- Ends. */

/* A DELETED must be of an object that was deleted. Three kinds of object may exist: those that have
 * left a label selector, Services that are ExternalNames by now, if an earlier process has not
 * delivered that they LEFT, and those that LEFT a match while the configuration did not have the hook. */
static void check_dead(const struct telling *t)
{
    size_t number = t->h->rules->sources[t->e->delivery->source];
    bool found = t->e->ev.cause == CAUSE_RESTART;
    bool left = number == VIEW_ORACLE || (number == MATCHED && t->h->was_absent);
    bool may_live = number == PICKED || (found && left);

    if (t->k->now.uid == t->uid)
        complain(t, "it is there");
    if (t->e->ev.type == DELTA_DELETED && !may_live && !t->w->api->was_deleted[t->uid])
        complain(t, "it lives");
}

/* Unless final_state_unknown says otherwise, the object of a DELETED is its final state. */
static void check_final(const struct telling *t)
{
    const struct delivery_event *ev = &t->e->ev;
    size_t number = t->h->rules->sources[t->e->delivery->source];

    if (ev->cause == CAUSE_RESTART && !ev->final_state_unknown)
        complain(t, "nobody can have seen its final state");
    if (ev->final_state_unknown || number == VIEW_ORACLE || number == PICKED || t->w->api->restored)
        return;
    const struct api_object is = answer_read(ev->object);
    if (api_differences(&is, &t->w->api->last[t->uid]) != 0)
        complain(t, "that is not its final state");
}

static void check_end(const struct telling *t)
{
    if (t->incarnation->ended && !t->k->excused)
        complain(t, "that was handled");
    if (!t->incarnation->announced &&
        rules_take(t->h->rules, t->outage ? DELTA_STALE : DELTA_ADDED) &&
        t->h->rules->existing == HOOK_EXISTING_RUN)
        complain(t, "nobody was told that it was there");
    if (!t->outage && was_parked(t) && t->k->told_end && t->k->told.uid == t->uid &&
        !is_asked(t->run) && !t->k->excused)
        complain(t, "that is parked");
    if (t->outage)
        return;
    check_dead(t);
    if (t->e->ev.type == DELTA_DELETED)
        check_final(t);
    if (t->e->was.inherited)
        count(t, t->e->ev.cause == CAUSE_RESTART ? FEATURE_KEPT_GONE : FEATURE_KEPT_END);
}

/* ---- States. */

/* The paths that a MODIFIED must name because a run without success was told them: it may have had
 * effects. */
static unsigned must_name(const struct telling *t)
{
    const struct restart_oracle_key *k = t->k;

    if (k->done || k->told_end || k->told.uid != t->uid || k->handled.uid != t->uid)
        return 0;
    return api_differences(&k->told, &k->handled) &
           (t->h->rules->narrow ? API_PATH_VALUE : API_PATH_VALUE | API_PATH_NOISE | API_PATH_ON);
}

static void check_base(const struct telling *t)
{
    const struct run_event *e = t->e;
    bool all = str_is(buf_str(&e->changed), PATH_LIST_ALL);
    unsigned named = all ? UINT_MAX : view_oracle_paths(&e->changed);

    if (e->ev.type != DELTA_MODIFIED)
        return;
    if (e->old == NULL) {
        if (!all)
            complain(t, "from a state that is not known, and not all may have changed");
        if (t->k->whole && t->k->done && !t->k->excused)
            complain(t, "without the state that was handled, and that was there");
        count(t, FEATURE_KEPT_TRACE);
        return;
    }
    struct api_object old = answer_read(e->old);
    if (t->k->handled.uid == t->uid && !t->k->excused && differs(t->h->rules, &old, &t->k->handled))
        complain(t, "its old state is not what was handled");
    if (api_differences(&old, &t->state) != 0 && e->changed.len == 0)
        complain(t, "nothing is told as changed");
    if ((must_name(t) & ~named) != 0)
        complain(t, "not all is told as changed that may have been told");
    if (t->e->was.inherited)
        count(t, FEATURE_KEPT_OLD);
}

static bool was_handled(const struct telling *t)
{
    const struct restart_oracle_key *k = t->k;

    return k->done && !k->told_end && !differs(t->h->rules, &k->told, &t->state);
}

static void check_news(const struct telling *t)
{
    const struct restart_oracle_key *k = t->k;
    bool same = !k->told_end && !differs(t->h->rules, &k->told, &t->state);

    if (is_asked(t->run) || k->excused || k->renewed)
        return;
    if (was_handled(t))
        complain(t, "that was handled");
    if (same && was_parked(t))
        complain(t, "that is parked");
    if (k->told.uid < t->uid && k->skipped.uid == t->uid &&
        !differs(t->h->rules, &k->skipped, &t->state))
        complain(t, "that was skipped");
}

static void count_state(const struct telling *t)
{
    const struct restart_oracle_key *k = t->k;

    if (!t->e->was.inherited || is_asked(t->run))
        return;
    if (was_handled(t))
        count(t, k->renewed ? FEATURE_KEPT_RENEW : FEATURE_KEPT_AGAIN);
    else if (k->done && k->told.uid == t->uid)
        count(t, FEATURE_KEPT_CHANGE);
    else if (k->told.uid == t->uid && !differs(t->h->rules, &k->handled, &t->state))
        count(t, FEATURE_KEPT_BACK);
}

/* The reason `renew` stays until a run succeeds, in whichever process that is. */
static void check_renewal(const struct telling *t)
{
    const struct restart_oracle_key *k = t->k;
    bool due = k->renewed_uid == t->uid && (t->h->renewing || t->h->rules->mode == HOOK_OBJECT);

    if (due && (t->run->reason == RUN_CHANGE || t->run->reason == RUN_EXISTING))
        complain(t, "what was done for it is gone, and that is not told");
    if (due && t->run->reason == RUN_RENEW && t->h->begun > 1)
        count(t, FEATURE_KEPT_RENEWAL);
}

static void check_state(const struct telling *t)
{
    if (t->outage)
        return;
    if (t->state.uid != t->k->now.uid || api_differences(&t->state, &t->k->now) != 0)
        complain(t, "not the newest state");
    check_base(t);
    check_news(t);
    check_renewal(t);
    count_state(t);
    if (t->run->reason == RUN_RENEW && !t->h->renewed)
        complain(t, "nothing of it is gone");
}

/* ---- Runs. */

/* If a snapshot lacks a source that was seen before, one more is due when the source comes. */
static void note_lacked(struct restart_oracle_hook *h)
{
    h->lacks = false;
    for (size_t s = 0; s < RULES_SOURCES; s++)
        h->lacks = h->lacks || (h->was_seen[s] && !h->open[s]);
}

/* A snapshot without changes needs a cause. */
static void check_whole(const struct restart_oracle *w, struct restart_oracle_hook *h,
                        const struct run *run)
{
    if (h->rules->mode != HOOK_SNAPSHOT)
        return;
    if (run->event_count == 0 && !is_asked(run) && !h->owed)
        panic("%s, run %" PRIu64 ": a snapshot, and nothing has changed", h->rules->name, run->id);
    if (run->event_count == 0 && h->owed && run->hook->restored && !is_asked(run))
        w->features[FEATURE_KEPT_SNAPSHOT]++;
    h->cut_off = h->cut_off || (run->event_count == 0 && !is_asked(run));
    h->owed = false;
    h->number = disk_number(w->disk);
    note_lacked(h);
}

void restart_oracle_begin_run(struct restart_oracle *w, const struct run *run)
{
    struct restart_oracle_hook *h = &w->hooks[run->hook->index];

    if (h->paused)
        panic("%s: runs, and is paused", h->rules->name);
    check_whole(w, h, run);
    for (size_t i = 0; i < run->event_count; i++) {
        const struct telling t = telling(w, run, i);

        ensure(h->open[t.e->delivery->source]);
        if (t.ends)
            check_end(&t);
        else
            check_state(&t);
    }
    restart_oracle_park_whole(w, h, false);
    for (size_t i = 0; i < run->event_count; i++) {
        const struct telling t = telling(w, run, i);

        t.incarnation->announced = true;
        restart_oracle_set_parked(w, t.k, false);
        t.k->number = disk_number(w->disk);
    }
}

void restart_oracle_tell(struct restart_oracle *w, const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        const struct telling t = telling(w, run, i);

        t.k->told = t.state;
        t.k->told_end = t.ends;
        t.k->done = false;
        if (t.ends)
            t.k->handled = none;
    }
}

static void handle(const struct telling *t)
{
    t->k->done = true;
    /* The object may have ended meanwhile. */
    t->k->excused = t->k->excused && t->k->now.uid != t->uid;
    t->k->renewed = false;
    t->k->renewed_uid = 0;
    if (t->ends && t->k->skipped.uid == t->uid)
        t->k->skipped = none;
    if (t->ends)
        t->incarnation->ended = t->k->now.uid != t->uid; /* the object may be back */
    else
        t->k->handled = t->state;
}

void restart_oracle_end(struct restart_oracle *w, const struct run *run,
                        const struct run_result *result)
{
    struct restart_oracle_hook *h = &w->hooks[run->hook->index];
    bool ok = run_end_is_good(&result->end);

    h->owed = h->owed || !ok || run->held_back;
    h->cut_off = h->cut_off && !ok;
    h->renewing = h->renewing && !ok;
    h->number = disk_number(w->disk);
    for (size_t i = 0; i < run->event_count; i++) {
        const struct telling t = telling(w, run, i);

        t.k->number = disk_number(w->disk);
        if (ok)
            handle(&t);
    }
}

void restart_oracle_verdict(struct restart_oracle *w, size_t hook, size_t source, size_t key,
                            bool parked)
{
    struct restart_oracle_hook *h = &w->hooks[hook];

    if (h->rules->mode == HOOK_OBJECT)
        restart_oracle_set_parked(w, &h->keys[source][key], parked);
    else
        restart_oracle_park_whole(w, h, parked);
}

void restart_oracle_cut(struct restart_oracle *w, const struct run *run, bool started)
{
    w->features[started ? FEATURE_KILLED : FEATURE_KILLED_OPENING]++;
    w->hooks[run->hook->index].owed = true;
    for (size_t i = 0; i < run->event_count; i++)
        telling(w, run, i).k->excused = true;
}
