/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/orders.h"

#include "base/panic.h"

uint32_t orders_begin(struct orders *o)
{
    struct order *place = NULL;

    for (size_t i = 0; i < ORDERS_MAX; i++)
        if (o->v[i].left == 0 && (place == NULL || o->v[i].number < place->number))
            place = &o->v[i];
    if (place == NULL)
        return 0;
    *place = (struct order){.number = ++o->last};
    return UINT32_C(1) << (place - o->v);
}

void orders_want(struct orders *o, uint32_t *unit, uint32_t set)
{
    for (size_t i = 0; i < ORDERS_MAX; i++) {
        bool is_new = (set & ~*unit & UINT32_C(1) << i) != 0;

        o->v[i].total += is_new;
        o->v[i].left += is_new;
    }
    *unit |= set;
}

void orders_ended(struct orders *o, uint32_t set, bool ok)
{
    for (size_t i = 0; set != 0 && i < ORDERS_MAX; i++) {
        if ((set & UINT32_C(1) << i) == 0)
            continue;
        ensure(o->v[i].left > 0);
        o->v[i].left--;
        o->v[i].failed += !ok;
    }
}

bool orders_wait(const struct orders *o)
{
    for (size_t i = 0; o->last > 0 && i < ORDERS_MAX; i++)
        if (o->v[i].left > 0)
            return true;
    return false;
}

const struct order *orders_find(const struct orders *o, uint64_t number)
{
    for (size_t i = 0; number > 0 && i < ORDERS_MAX; i++)
        if (o->v[i].number == number)
            return &o->v[i];
    return NULL;
}
