/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/account.h"

#include "base/panic.h"

/* A DELETED that failed so often gives way (DESIGN 1.4.2). */
enum { PATIENCE = 5 };

static const struct api_object none;

bool account_is_end(enum delta_type type)
{
    return type == DELTA_DELETED || type == DELTA_LEFT || type == DELTA_FRESH;
}

unsigned account_differences(const struct api_object *a, const struct api_object *b)
{
    return (a->noise != b->noise ? PATH_NOISE : 0U) | (a->shown != b->shown ? PATH_ON : 0U) |
           (a->value != b->value ? PATH_VALUE : 0U) |
           (a->labelled != b->labelled ? PATH_LABEL : 0U) | (a->uses != b->uses ? PATH_USES : 0U);
}

static bool is_over(const struct account *a, uint64_t life)
{
    return life != 0 && life != a->now.uid;
}

static bool counts(const struct rules *r, const struct api_object *a, const struct api_object *b)
{
    unsigned differs = account_differences(a, b);

    return r->narrow ? (differs & PATH_VALUE) != 0 : differs != 0;
}

static enum delta_type again(const struct rules *r)
{
    return rules_take(r, DELTA_MODIFIED) ? DELTA_MODIFIED : DELTA_ADDED;
}

static struct account_event life(const struct account *a, enum delta_type type)
{
    return (struct account_event){a->outage ? DELTA_STALE : type, a->now.uid};
}

size_t account_events(const struct account *a, const struct rules *r, struct account_event out[2])
{
    size_t n = 0;

    if (is_over(a, a->announced) && (!a->yields || a->now.uid == 0))
        out[n++] = (struct account_event){a->gone.type, a->announced};
    if (is_over(a, a->heir))
        out[n++] = (struct account_event){a->heir_gone.type, a->heir};
    if (a->now.uid == 0 || n == 2)
        return n;
    if (a->handled.uid != a->now.uid)
        out[n++] = life(a, DELTA_ADDED);
    else if (a->open)
        out[n++] = life(a, again(r));
    else if (counts(r, &a->handled, &a->now))
        out[n++] = life(a, DELTA_MODIFIED);
    return n;
}

static bool is_quiet(const struct account *a, const struct rules *r)
{
    struct account_event due[2];
    size_t n = account_events(a, r, due);

    return n == 0 || (n == 1 && !account_is_end(due[0].type) && !rules_take(r, due[0].type));
}

static void accept(struct account *a)
{
    a->handled = a->now;
    a->announced = a->now.uid;
    a->open = a->running > 0;
    a->paths = a->open ? a->paths : 0;
}

static void forget(struct account *a)
{
    a->handled = none;
    a->announced = a->heir;
    a->gone = a->heir_gone;
    a->heir = 0;
    a->open = a->announced != 0;
    a->yields = false;
    a->paths = 0;
}

/* What the hook does not take is done with. */
static void settle(struct account *a, const struct rules *r)
{
    while (is_over(a, a->announced) && !rules_take(r, a->gone.type))
        forget(a);
    if (is_over(a, a->heir) && !rules_take(r, a->heir_gone.type))
        a->heir = 0;
    if (a->now.uid != 0 && is_quiet(a, r))
        accept(a);
    a->due = !is_quiet(a, r);
    a->existing = a->existing && a->due;
}

void account_prepare(struct account *a, const struct account_change *c)
{
    a->now = account_is_end(c->type) ? none : c->is;
    a->cause = c->cause;
}

bool account_see(struct account *a, const struct rules *r)
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

static void note_end(struct account *a, const struct account_change *c)
{
    const struct account_gone gone = {c->type, c->cause, c->state_unknown};

    if (a->announced == c->is.uid)
        a->gone = gone;
    else if (a->heir == c->is.uid)
        a->heir_gone = gone;
}

const struct account_gone *account_gone(const struct account *a, uint64_t uid)
{
    return uid == a->heir ? &a->heir_gone : &a->gone;
}

bool account_change(struct account *a, const struct rules *r, const struct account_change *c)
{
    const struct api_object was = a->now;

    if (account_is_end(c->type))
        note_end(a, c);
    account_prepare(a, c);
    if (a->now.uid != 0 && a->announced == a->now.uid)
        a->yields = false;
    settle(a, r);
    return a->due && (a->now.uid != was.uid || counts(r, &was, &a->now));
}

bool account_repeats(const struct account *a, const struct rules *r, struct account_event *out)
{
    if (a->now.uid == 0 || a->outage || !rules_take(r, again(r)))
        return false;
    *out = life(a, again(r));
    return true;
}

bool account_new_matter(const struct account *a, const struct rules *r)
{
    struct account_event due[2];

    return account_events(a, r, due) > 0 &&
           (a->announced == 0 || due[0].uid != a->last.uid ||
            account_is_end(due[0].type) != account_is_end(a->last.type));
}

bool account_must_yield(const struct account *a, const struct rules *r, unsigned failures,
                        bool parked)
{
    return (parked || failures >= PATIENCE) && account_is_end(a->last.type) && a->last.uid != 0 &&
           (rules_take(r, DELTA_ADDED) || rules_take(r, DELTA_MODIFIED)) && a->now.uid != 0 &&
           !account_new_matter(a, r);
}

void account_yield(struct account *a, const struct rules *r)
{
    if (rules_take(r, DELTA_ADDED))
        a->yields = true;
    else
        forget(a);
    settle(a, r);
}

unsigned account_paths(const struct account *a)
{
    if (a->handled.uid != a->now.uid || a->now.uid == 0)
        return 0;
    return account_differences(&a->handled, &a->now) | a->paths;
}

void account_begin(struct account *a, const struct account_event *ev)
{
    bool ends = account_is_end(ev->type);

    if (!ends && a->yields)
        forget(a);
    if (ev->type == DELTA_MODIFIED)
        a->paths = account_paths(a);
    if (ends)
        a->handled = none;
    else if (a->announced == 0 || a->announced == ev->uid)
        a->announced = ev->uid;
    else
        a->heir = ev->uid;
    a->open = true;
    a->last = *ev;
    a->running++;
}

void account_over(struct account *a)
{
    ensure(a->running > 0);
    a->running--;
    a->existing = false;
}

static void end_handled(struct account *a, uint64_t uid)
{
    if (a->heir == uid)
        a->heir = 0;
    else if (a->announced == uid)
        forget(a);
}

static void life_handled(struct account *a, const struct account_event *ev,
                         const struct api_object *told)
{
    if (a->announced == 0 && a->now.uid == ev->uid)
        a->announced = ev->uid;
    if (a->announced != ev->uid)
        return;
    a->handled = *told;
    a->open = false;
    a->paths = 0;
}

void account_end(struct account *a, const struct rules *r, const struct account_event *ev,
                 const struct api_object *told, bool ok)
{
    if (ok && account_is_end(ev->type))
        end_handled(a, ev->uid);
    else if (ok)
        life_handled(a, ev, told);
    settle(a, r);
}
