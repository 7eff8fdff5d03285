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

static void want_unit(struct hook *h, struct unit *u)
{
    u->order = h->order.number;
    h->order.total++;
    h->order.left++;
    sched_now(&h->lane, u);
}

/* What is to be applied, or could not be: once more behind what the command may write now. One
 * that is under way has what was written before. */
static void want_apply(struct hook *h)
{
    if (h->apply.unit.state == UNIT_RUNNING)
        return;
    h->apply.unit.order = h->order.number;
    h->order.total++;
    h->order.left++;
    sched_now(&h->apply.lane, &h->apply.unit);
}

/* A batch is one unit, whatever there is to tell of. */
static void want_entry(void *arg, struct entry *e)
{
    struct hook *h = arg;

    if (hook_entry_over(h, e))
        return;
    if (h->rules.mode == HOOK_OBJECT)
        want_unit(h, &e->unit);
    else if (h->order.total == 0)
        want_unit(h, &h->unit);
}

static void want_entries(struct hook *h, struct str key)
{
    for (size_t i = 0; i < h->source_count; i++) {
        struct entry *e = key.p != NULL ? queue_find(&h->queue, i, key) : NULL;

        if (key.p == NULL)
            queue_each(&h->queue, i, want_entry, h);
        else if (e != NULL)
            want_entry(h, e);
    }
}

enum err_kind hook_order(struct hook *h, struct str key, struct err *err)
{
    const struct hook_order last = h->order;

    if (check_ready(h, key, err) != ERR_OK)
        return err->kind;
    h->order = (struct hook_order){.number = last.number + 1};
    if (h->rules.mode == HOOK_SNAPSHOT)
        want_unit(h, &h->unit);
    else
        want_entries(h, key);
    if (key.p == NULL && apply_due(&h->apply))
        want_apply(h);
    if (h->order.total > 0)
        return ERR_OK;
    h->order = last; /* nobody runs for this one */
    return err_set(err, ERR_NOT_FOUND, 0, "hook %s knows of nothing%s%.*s to run for", h->name,
                   key.p != NULL ? " under the key " : "", (int)key.n, key.p != NULL ? key.p : "");
}
