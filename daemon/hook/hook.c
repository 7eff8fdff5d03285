/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_work_item.h"

void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed)
{
    *hs = (struct hooks){.next_id = 1};
    scheduler_init(&hs->scheduler, shared_slots, seed);
    list_init(&hs->runs);
}

static void free_hook(struct hook *h)
{
    delivery_queue_fini(&h->queue);
    files_fini(&h->files);
    strays_fini(&h->strays);
    filter_fini(&h->filter);
    history_fini(&h->history);
    hook_rules_fini(&h->rules);
    free(h->sources);
    free(h->name);
    free(h);
}

/* Runs go first: they hold references to deliveries, which go with their hook. */
void hooks_fini(struct hooks *hs)
{
    list_each (pos, tmp, &hs->runs)
        run_free(list_entry(pos, struct run, link));
    for (size_t i = 0; i < hs->n; i++)
        free_hook(hs->v[i]);
    free(hs->v);
    *hs = (struct hooks){0};
}

void hook_rules_fini(struct hook_rules *r)
{
    for (size_t i = 0; i < r->field_count; i++) {
        free(r->fields[i].name);
        json_path_destroy(&r->fields[i].path);
    }
    free(r->fields);
    free(r->after);
    free(r->park_exit);
    *r = (struct hook_rules){0};
}

void hooks_add(struct hooks *hs, struct hook_params *p)
{
    struct hook *h = mem_zalloc(sizeof(*h));

    ensure(p->source_count > 0);
    h->name = mem_strdup(p->name);
    h->index = p->index;
    /* Ownership passes to the hook: what the caller gave is empty afterwards. */
    h->rules = p->rules;
    p->rules = (struct hook_rules){0};
    h->sources = hook_source_copy(p->sources, p->source_count);
    h->source_count = p->source_count;
    h->filter = p->filter;
    p->filter = (struct filter){0};
    h->trim_ms = NEVER_MS;
    delivery_queue_init(&h->queue, &h->filter, h->source_count, h->rules.mode == HOOK_OBJECT);
    scheduler_add(&hs->scheduler, &h->work_queue, &p->work_queue);
    files_init(&h->files, p->output);
    strays_init(&h->strays);
    apply_init(&h->apply, &hs->scheduler, p->applies ? &p->apply : NULL);
    hs->v = mem_realloc(hs->v, (hs->n + 1) * sizeof(struct hook *));
    hs->v[hs->n++] = h;
}

struct hook *hooks_find(const struct hooks *hs, struct str name)
{
    for (size_t i = 0; i < hs->n; i++)
        if (str_is(name, hs->v[i]->name))
            return hs->v[i];
    return NULL;
}

uint64_t hooks_wake_ms(const struct hooks *hs)
{
    uint64_t soonest = scheduler_wake_ms(&hs->scheduler);

    for (size_t i = 0; i < hs->n; i++) {
        if (apply_wake_ms(&hs->v[i]->apply) < soonest)
            soonest = apply_wake_ms(&hs->v[i]->apply);
        if (hook_parked_wake_ms(hs->v[i]) < soonest)
            soonest = hook_parked_wake_ms(hs->v[i]);
    }
    return soonest;
}

void hook_pause(struct hook *h, bool paused)
{
    h->paused = paused;
    gate_block(h);
}

/* In modes batch and snapshot one failed run is the end of the first runs, well or not. In mode
 * object the gate opens when each existing key has had one. */
bool hook_first_ended(const struct hook *h)
{
    bool tried = h->rules.mode != HOOK_OBJECT && h->runs_failed > 0;

    return h->gate == GATE_OPEN || (h->gate == GATE_FIRST && tried);
}

/* Recursive, as a hook may wait for a hook that waits for a paused one. The configuration refuses
 * cycles in `after`. */
bool hook_waits_for_people(const struct hooks *hs, const struct hook *h)
{
    bool behind = false;

    for (size_t i = 0; i < h->rules.after_count && h->gate == GATE_CLOSED; i++) {
        const struct hook *before = hs->v[h->rules.after[i]];

        behind = behind || (!hook_first_ended(before) && hook_waits_for_people(hs, before));
    }
    return h->paused || behind;
}

bool hooks_ready(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++)
        if (!hook_first_ended(hs->v[i]) && !hook_waits_for_people(hs, hs->v[i]))
            return false;
    return true;
}

/* The delivery that has waited for the longest time and is not parked, or NULL. The list is in the
 * order in which the keys became due. */
static const struct delivery *oldest_pending(const struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);
        const struct work_item *u = h->rules.mode == HOOK_OBJECT ? dl->work_item : &h->work_item;

        if (u->state != WORK_ITEM_PARKED)
            return dl;
    }
    return NULL;
}

/* Has the hook nothing to do? A rerun may be ready to start: --once does not wait for it, as there
 * is always a next one. */
static bool is_quiet(const struct hook *h)
{
    if (h->gate == GATE_CLOSED || h->work_queue.running > 0 || manual_runs_wait(&h->manual_runs) ||
        apply_waits(&h->apply) || strays_are_busy(h))
        return false;
    if (h->rules.mode == HOOK_OBJECT)
        return oldest_pending(h) == NULL;
    return h->work_item.state == WORK_ITEM_PARKED || !hook_work_item_due(h, &h->work_item, NULL);
}

bool hooks_quiet(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++) {
        const struct hook *h = hs->v[i];

        /* The run of a hook that was paused meanwhile still has to end. */
        if (!is_quiet(h) && (h->work_queue.running > 0 || !hook_waits_for_people(hs, h)))
            return false;
    }
    return true;
}

static size_t pending_keys(const struct hook *h)
{
    size_t others = 0;

    if (h->rules.mode != HOOK_OBJECT)
        return h->work_item.state == WORK_ITEM_PARKED ? 0 : h->queue.pending_count;
    list_each (pos, tmp, &h->queue.pending) {
        const struct delivery *dl = list_entry(pos, struct delivery, pending);

        others += dl->pins > 0 || dl->work_item->state == WORK_ITEM_PARKED;
    }
    return h->queue.pending_count - others;
}

size_t hook_pending(const struct hook *h)
{
    bool runs = h->apply.work_item.state == WORK_ITEM_RUNNING;

    return pending_keys(h) + (apply_waits(&h->apply) && !runs);
}

size_t hook_parked(const struct hook *h)
{
    return h->work_queue.parked + h->apply.work_queue.parked;
}

unsigned hook_running(const struct hook *h)
{
    return h->work_queue.running + h->apply.work_queue.running;
}

size_t hook_not_started(const struct hook *h)
{
    return h->work_queue.not_started + h->apply.work_queue.not_started;
}

const char *hook_last_error(const struct hook *h)
{
    const char *text = h->last_error[0] != '\0' ? h->last_error : h->apply.last_error;

    return text[0] != '\0' ? text : NULL;
}

uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms)
{
    const struct delivery *dl = oldest_pending(h);
    uint64_t key_ms = dl != NULL ? now_ms - dl->pending_since_ms : 0;
    uint64_t apply_ms = apply_age_ms(&h->apply, now_ms);

    return apply_ms > key_ms ? apply_ms : key_ms;
}
