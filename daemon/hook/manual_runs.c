/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/manual_runs.h"

#include "base/panic.h"
#include "hook/gate.h"
#include "hook/hook_work_item.h"

/* Begins a manual run. Returns its bit; 0 = all places are of manual runs that are not over. It takes
 * the place of the oldest one that is over: each is kept as long as possible, so that informerctl can
 * still ask for its result. */
static uint32_t begin(struct manual_runs *o)
{
    struct manual_run *place = NULL;

    for (size_t i = 0; i < MANUAL_RUNS_MAX; i++)
        if (o->v[i].left == 0 && (place == NULL || o->v[i].number < place->number))
            place = &o->v[i];
    if (place == NULL)
        return 0;
    *place = (struct manual_run){.number = ++o->last};
    return UINT32_C(1) << (place - o->v);
}

void manual_runs_want(struct manual_runs *o, uint32_t *work_item, uint32_t set)
{
    for (size_t i = 0; i < MANUAL_RUNS_MAX; i++) {
        /* A work item counts once for a manual run, however often it is wanted. */
        bool is_new = (set & ~*work_item & UINT32_C(1) << i) != 0;

        o->v[i].total += is_new;
        o->v[i].left += is_new;
    }
    *work_item |= set;
}

void manual_runs_ended(struct manual_runs *o, uint32_t set, bool ok)
{
    for (size_t i = 0; set != 0 && i < MANUAL_RUNS_MAX; i++) {
        if ((set & UINT32_C(1) << i) == 0)
            continue;
        ensure(o->v[i].left > 0);
        o->v[i].left--;
        o->v[i].failed += !ok;
    }
}

bool manual_runs_wait(const struct manual_runs *o)
{
    for (size_t i = 0; o->last > 0 && i < MANUAL_RUNS_MAX; i++)
        if (o->v[i].left > 0)
            return true;
    return false;
}

const struct manual_run *manual_runs_find(const struct manual_runs *o, uint64_t number)
{
    for (size_t i = 0; number > 0 && i < MANUAL_RUNS_MAX; i++)
        if (o->v[i].number == number)
            return &o->v[i];
    return NULL;
}

/* ---- hook_run_manually() of hook/hook.h. */

/* Refuses a manual run that would only wait, and names the reason: the person is told at once instead
 * of looking at a command that hangs. */
static enum err_kind check_ready(const struct hook *h, struct str key, struct err *err)
{
    const struct hook_source *incomplete = gate_incomplete(h);
    const struct hook_source *stale = gate_stale(h);

    if (key.p != NULL && h->rules.mode != HOOK_OBJECT)
        return err_set(err, ERR_CONFIG, 0, "hook %s runs for all keys at once: leave the key out",
                       h->name);
    if (h->stage == HOOK_RETIRES)
        return err_set(err, ERR_BUSY, 0, "hook %s waits for its runs to end: a reload changes it",
                       h->name);
    if (h->stage == HOOK_STARTS)
        return err_set(err, ERR_BUSY, 0, "hook %s waits until its programs were read: try again",
                       h->name);
    if (h->paused)
        return err_set(err, ERR_BUSY, 0, "hook %s is paused: informerctl resume %s", h->name,
                       h->name);
    if (incomplete != NULL)
        return err_set(err, ERR_BUSY, 0,
                       "hook %s waits: its source %s is incomplete, as limits.memory is reached",
                       h->name, incomplete->name);
    if (h->gate == GATE_CLOSED)
        return err_set(err, ERR_BUSY, 0,
                       "hook %s waits for its first run: informerctl why %s shows the reason",
                       h->name, h->name);
    if (stale != NULL)
        return err_set(err, ERR_BUSY, 0,
                       "hook %s has when_stale = \"wait\" and its source %s is stale", h->name,
                       stale->name);
    return ERR_OK;
}

/* The manual run that is being ordered: its hook and its bit. */
struct giving {
    struct hook *hook;
    uint32_t bit;
};

static void want_work_item(const struct giving *g, struct work_item *u)
{
    manual_runs_want(&g->hook->manual_runs, &u->manual_runs, g->bit);
    scheduler_now(&g->hook->work_queue, u);
}

/* Orders a run for a delivery, if a run can deliver anything. In mode batch all deliveries share
 * the hook's one work item, which counts once. */
static void want_delivery(void *arg, struct delivery *dl)
{
    const struct giving *g = arg;
    struct hook *h = g->hook;

    if (!hook_delivery_over(h, dl))
        want_work_item(g, h->rules.mode == HOOK_OBJECT ? dl->work_item : &h->work_item);
}

/* Orders runs for one key, which several sources may have, or for all keys. */
static void want_deliveries(struct giving *g, struct str key)
{
    struct hook *h = g->hook;

    for (size_t i = 0; i < h->source_count; i++) {
        struct delivery *dl = key.p != NULL ? delivery_queue_find(&h->queue, i, key) : NULL;

        if (key.p == NULL)
            delivery_queue_each(&h->queue, i, want_delivery, g);
        else if (dl != NULL)
            want_delivery(g, dl);
    }
}

enum err_kind hook_run_manually(struct hook *h, struct str key, struct err *err)
{
    const struct manual_runs before = h->manual_runs;

    if (check_ready(h, key, err) != ERR_OK)
        return err->kind;
    struct giving g = {h, begin(&h->manual_runs)};
    if (g.bit == 0)
        return err_set(err, ERR_BUSY, 0, "%d manual runs wait for hook %s already", MANUAL_RUNS_MAX,
                       h->name);
    if (h->rules.mode == HOOK_SNAPSHOT)
        want_work_item(&g, &h->work_item);
    else
        want_deliveries(&g, key);
    /* apply that failed, or waits, is part of a manual run of the whole hook. */
    if (key.p == NULL && apply_may_repeat(&h->apply))
        hook_want_apply(h, g.bit);
    if (manual_runs_find(&h->manual_runs, h->manual_runs.last)->total > 0)
        return ERR_OK;
    h->manual_runs = before; /* No run was found: the place and the number are given back. */
    return err_set(err, ERR_NOT_FOUND, 0, "hook %s has nothing to run for%s%.*s", h->name,
                   key.p != NULL ? " under the key " : "", (int)key.n, key.p != NULL ? key.p : "");
}
