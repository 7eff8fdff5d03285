/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/manual_runs.h"

#include "base/panic.h"

/* One that is over is kept as long as possible, so that informerctl can still ask for its
 * result. */
uint32_t manual_runs_begin(struct manual_runs *o)
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
