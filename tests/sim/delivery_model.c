/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/delivery_model.h"

#include "base/panic.h"

/* A DELETED that failed so often is superseded (docs/design.md "Superseded deletes"). */
enum { PATIENCE = 5 };

static const struct api_object none;

static bool is_over(const struct delivery_model *a, uint64_t incarnation)
{
    return incarnation != 0 && incarnation != a->now.uid;
}

static bool counts(const struct rules *r, const struct api_object *a, const struct api_object *b)
{
    unsigned differs = api_differences(a, b);

    return r->narrow ? (differs & API_PATH_VALUE) != 0 : differs != 0;
}

static enum delta_type again(const struct rules *r)
{
    return rules_take(r, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

static struct delivery_model_event incarnation(const struct delivery_model *a, enum delta_type type)
{
    return (struct delivery_model_event){a->outage ? DELTA_STALE : type, a->now.uid};
}

/* Has a run with the end of the incarnation failed, and is the incarnation back for a hook that never
 * gets ADDED? */
static bool is_back(const struct delivery_model *a, const struct rules *r)
{
    return a->open && a->delivered == a->now.uid && !rules_take(r, DELTA_ADDED);
}

size_t delivery_model_events(const struct delivery_model *a, const struct rules *r,
                             struct delivery_model_event out[2])
{
    size_t n = 0;

    if (is_over(a, a->delivered) && (!a->superseded || a->now.uid == 0))
        out[n++] = (struct delivery_model_event){a->gone.type, a->delivered};
    if (is_over(a, a->successor))
        out[n++] = (struct delivery_model_event){a->successor_gone.type, a->successor};
    if (a->now.uid == 0 || n == 2)
        return n;
    if (a->handled.uid != a->now.uid)
        out[n++] = incarnation(a, is_back(a, r) ? again(r) : DELTA_ADDED);
    else if (a->open)
        out[n++] = incarnation(a, again(r));
    else if (counts(r, &a->handled, &a->now))
        out[n++] = incarnation(a, DELTA_MODIFIED);
    return n;
}

bool delivery_model_is_due(const struct delivery_model *a, const struct rules *r, uint64_t uid)
{
    struct delivery_model_event due[2];

    for (size_t i = 0, n = a->due ? delivery_model_events(a, r, due) : 0; i < n; i++)
        if (due[i].uid == uid)
            return true;
    return false;
}

static bool is_quiet(const struct delivery_model *a, const struct rules *r)
{
    struct delivery_model_event due[2];
    size_t n = delivery_model_events(a, r, due);

    return n == 0 || (n == 1 && !rules_is_end(due[0].type) && !rules_take(r, due[0].type));
}

static void accept(struct delivery_model *a)
{
    a->handled = a->now;
    a->delivered = a->now.uid;
    a->open = a->running > 0;
    a->paths = a->open ? a->paths : 0;
}

static void forget(struct delivery_model *a)
{
    a->handled = none;
    a->delivered = a->successor;
    a->gone = a->successor_gone;
    a->successor = 0;
    a->open = a->delivered != 0;
    a->superseded = false;
    a->paths = 0;
}

/* Events that the hook does not take are settled at once, as if handled. */
static void settle(struct delivery_model *a, const struct rules *r)
{
    while (is_over(a, a->delivered) && !rules_take(r, a->gone.type))
        forget(a);
    if (is_over(a, a->successor) && !rules_take(r, a->successor_gone.type))
        a->successor = 0;
    if (a->now.uid != 0 && is_quiet(a, r))
        accept(a);
    a->due = !is_quiet(a, r);
    a->existing = a->existing && a->due;
}

void delivery_model_prepare(struct delivery_model *a, const struct delivery_model_change *c)
{
    a->now = rules_is_end(c->type) ? none : c->is;
    a->cause = c->cause;
}

bool delivery_model_see(struct delivery_model *a, const struct rules *r)
{
    bool skips = r->existing == HOOK_EXISTING_SKIP && a->now.uid != 0 && !a->outage;

    if (skips) {
        accept(a);
        a->skipped = a->now.uid;
    }
    settle(a, r);
    a->existing = a->due;
    return skips;
}

static void note_end(struct delivery_model *a, const struct delivery_model_change *c)
{
    const struct delivery_model_gone gone = {c->type, c->cause, c->state_unknown};

    if (a->delivered == c->is.uid)
        a->gone = gone;
    else if (a->successor == c->is.uid)
        a->successor_gone = gone;
}

const struct delivery_model_gone *delivery_model_gone(const struct delivery_model *a, uint64_t uid)
{
    return uid == a->successor ? &a->successor_gone : &a->gone;
}

bool delivery_model_change(struct delivery_model *a, const struct rules *r,
                           const struct delivery_model_change *c)
{
    const struct api_object was = a->now;

    if (rules_is_end(c->type))
        note_end(a, c);
    delivery_model_prepare(a, c);
    if (a->now.uid != 0 && a->delivered == a->now.uid)
        a->superseded = false;
    settle(a, r);
    return a->due && (a->now.uid != was.uid || counts(r, &was, &a->now));
}

bool delivery_model_repeats(const struct delivery_model *a, const struct rules *r,
                            struct delivery_model_event *out)
{
    if (a->now.uid == 0 || a->outage || !rules_take(r, again(r)))
        return false;
    *out = incarnation(a, again(r));
    return true;
}

bool delivery_model_new_matter(const struct delivery_model *a, const struct rules *r)
{
    struct delivery_model_event due[2];

    return delivery_model_events(a, r, due) > 0 &&
           (a->delivered == 0 || due[0].uid != a->last.uid ||
            rules_is_end(due[0].type) != rules_is_end(a->last.type));
}

bool delivery_model_must_yield(const struct delivery_model *a, const struct rules *r,
                               unsigned failures, bool parked)
{
    return (parked || failures >= PATIENCE) && rules_is_end(a->last.type) && a->last.uid != 0 &&
           (rules_take(r, DELTA_ADDED) || rules_take(r, DELTA_MODIFIED)) && a->now.uid != 0 &&
           !delivery_model_new_matter(a, r);
}

void delivery_model_yield(struct delivery_model *a, const struct rules *r)
{
    if (rules_take(r, DELTA_ADDED))
        a->superseded = true;
    else
        forget(a);
    settle(a, r);
}

unsigned delivery_model_paths(const struct delivery_model *a)
{
    if (a->handled.uid != a->now.uid || a->now.uid == 0)
        return 0;
    return api_differences(&a->handled, &a->now) | a->paths;
}

void delivery_model_begin(struct delivery_model *a, const struct delivery_model_event *ev)
{
    bool ends = rules_is_end(ev->type);

    if (!ends && a->superseded)
        forget(a);
    if (ev->type == DELTA_MODIFIED)
        a->paths = delivery_model_paths(a);
    if (ends)
        a->handled = none;
    else if (a->delivered == 0 || a->delivered == ev->uid)
        a->delivered = ev->uid;
    else
        a->successor = ev->uid;
    a->open = true;
    a->last = *ev;
    a->running++;
}

void delivery_model_over(struct delivery_model *a)
{
    ensure(a->running > 0);
    a->running--;
    a->existing = false;
}

static void end_handled(struct delivery_model *a, uint64_t uid)
{
    if (a->successor == uid)
        a->successor = 0;
    else if (a->delivered == uid)
        forget(a);
}

static void incarnation_handled(struct delivery_model *a, const struct delivery_model_event *ev,
                                const struct api_object *told)
{
    if (a->delivered == 0 && a->now.uid == ev->uid)
        a->delivered = ev->uid;
    if (a->delivered != ev->uid)
        return;
    a->handled = *told;
    a->open = false;
    a->paths = 0;
}

void delivery_model_end(struct delivery_model *a, const struct rules *r,
                        const struct delivery_model_event *ev, const struct api_object *told,
                        bool ok)
{
    if (ok && rules_is_end(ev->type))
        end_handled(a, ev->uid);
    else if (ok)
        incarnation_handled(a, ev, told);
    settle(a, r);
}
