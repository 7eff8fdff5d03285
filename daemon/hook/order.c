/* SPDX-License-Identifier: Apache-2.0 */
/* What a person wants run: hook_order() of hook/hook.h. */
#include "hook/gate.h"
#include "hook/hook_unit.h"

static enum err_kind check_ready(const struct hook *h, struct str key, struct err *err)
{
    const struct hook_source *stale = gate_stale(h);

    if (key.p != NULL && h->rules.mode != HOOK_OBJECT)
        return err_set(err, ERR_CONFIG, 0, "hook %s runs for all keys at once: leave the key out",
                       h->name);
    if (h->paused)
        return err_set(err, ERR_BUSY, 0, "hook %s is paused: informerctl resume %s", h->name,
                       h->name);
    if (h->gate == GATE_CLOSED)
        return err_set(err, ERR_BUSY, 0,
                       "hook %s waits for its first run: informerctl why %s tells for what",
                       h->name, h->name);
    if (stale != NULL)
        return err_set(err, ERR_BUSY, 0,
                       "hook %s has when_stale = \"wait\" and its source %s is stale", h->name,
                       stale->name);
    return ERR_OK;
}

/* An order that is being given. */
struct giving {
    struct hook *hook;
    uint32_t bit;
};

static void want_unit(const struct giving *g, struct unit *u)
{
    orders_want(&g->hook->orders, &u->orders, g->bit);
    sched_now(&g->hook->lane, u);
}

/* A batch is one unit, whatever there is to tell of. */
static void want_entry(void *arg, struct entry *e)
{
    const struct giving *g = arg;
    struct hook *h = g->hook;

    if (!hook_entry_over(h, e))
        want_unit(g, h->rules.mode == HOOK_OBJECT ? &e->unit : &h->unit);
}

static void want_entries(struct giving *g, struct str key)
{
    struct hook *h = g->hook;

    for (size_t i = 0; i < h->source_count; i++) {
        struct entry *e = key.p != NULL ? queue_find(&h->queue, i, key) : NULL;

        if (key.p == NULL)
            queue_each(&h->queue, i, want_entry, g);
        else if (e != NULL)
            want_entry(g, e);
    }
}

enum err_kind hook_order(struct hook *h, struct str key, struct err *err)
{
    const struct orders before = h->orders;

    if (check_ready(h, key, err) != ERR_OK)
        return err->kind;
    struct giving g = {h, orders_begin(&h->orders)};
    if (g.bit == 0)
        return err_set(err, ERR_BUSY, 0, "%d orders wait for hook %s already", ORDERS_MAX, h->name);
    if (h->rules.mode == HOOK_SNAPSHOT)
        want_unit(&g, &h->unit);
    else
        want_entries(&g, key);
    if (key.p == NULL && apply_may_repeat(&h->apply))
        hook_want_apply(h, g.bit);
    if (orders_find(&h->orders, h->orders.last)->total > 0)
        return ERR_OK;
    h->orders = before; /* nobody runs for this one */
    return err_set(err, ERR_NOT_FOUND, 0, "hook %s knows of nothing%s%.*s to run for", h->name,
                   key.p != NULL ? " under the key " : "", (int)key.n, key.p != NULL ? key.p : "");
}
