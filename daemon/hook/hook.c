/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/gate.h"
#include "hook/hook_parked.h"
#include "hook/hook_unit.h"

void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed)
{
    *hs = (struct hooks){.next_id = 1};
    sched_init(&hs->sched, shared_slots, seed);
    list_init(&hs->runs);
}

static void free_hook(struct hook *h)
{
    queue_fini(&h->queue);
    files_fini(&h->files);
    strays_fini(&h->strays);
    filter_fini(&h->filter);
    history_fini(&h->history);
    hook_rules_fini(&h->rules);
    free(h->sources);
    free(h->name);
    free(h);
}

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
    h->rules = p->rules;
    p->rules = (struct hook_rules){0};
    h->sources = hook_source_copy(p->sources, p->source_count);
    h->source_count = p->source_count;
    h->filter = p->filter;
    p->filter = (struct filter){0};
    h->trim_ms = NEVER_MS;
    list_init(&h->unit.ready);
    queue_init(&h->queue, &h->filter, h->source_count);
    sched_add(&hs->sched, &h->lane, &p->lane);
    files_init(&h->files, p->output);
    strays_init(&h->strays);
    apply_init(&h->apply, &hs->sched, p->applies ? &p->apply : NULL);
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
    uint64_t soonest = sched_wake_ms(&hs->sched);

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

bool hook_first_ended(const struct hook *h)
{
    bool tried = h->rules.mode != HOOK_OBJECT && h->runs_failed > 0;

    return h->gate == GATE_OPEN || (h->gate == GATE_FIRST && tried);
}

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

/* The entry that is neither handled nor parked for the longest time, or NULL. */
static const struct entry *oldest_pending(const struct hook *h)
{
    list_each (pos, tmp, &h->queue.pending) {
        const struct entry *e = list_entry(pos, struct entry, pending);
        const struct unit *u = h->rules.mode == HOOK_OBJECT ? &e->unit : &h->unit;

        if (u->state != UNIT_PARKED)
            return e;
    }
    return NULL;
}

/* A rerun may be ready to start; nobody waits for it. */
static bool is_quiet(const struct hook *h)
{
    if (h->gate == GATE_CLOSED || h->lane.running > 0 || orders_wait(&h->orders) ||
        apply_waits(&h->apply) || strays_are_busy(h))
        return false;
    if (h->rules.mode == HOOK_OBJECT)
        return oldest_pending(h) == NULL;
    return h->unit.state == UNIT_PARKED || !hook_unit_due(h, &h->unit, NULL);
}

bool hooks_quiet(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++) {
        const struct hook *h = hs->v[i];

        if (!is_quiet(h) && (h->lane.running > 0 || !hook_waits_for_people(hs, h)))
            return false;
    }
    return true;
}

static size_t pending_keys(const struct hook *h)
{
    size_t others = 0;

    if (h->rules.mode != HOOK_OBJECT)
        return h->unit.state == UNIT_PARKED ? 0 : h->queue.pending_count;
    list_each (pos, tmp, &h->queue.pending) {
        const struct entry *e = list_entry(pos, struct entry, pending);

        others += e->pins > 0 || e->unit.state == UNIT_PARKED;
    }
    return h->queue.pending_count - others;
}

size_t hook_pending(const struct hook *h)
{
    bool runs = h->apply.unit.state == UNIT_RUNNING;

    return pending_keys(h) + (apply_waits(&h->apply) && !runs);
}

size_t hook_parked(const struct hook *h)
{
    return h->lane.parked + h->apply.lane.parked;
}

unsigned hook_running(const struct hook *h)
{
    return h->lane.running + h->apply.lane.running;
}

size_t hook_denied(const struct hook *h)
{
    return h->lane.denied + h->apply.lane.denied;
}

const char *hook_last_error(const struct hook *h)
{
    const char *text = h->last_error[0] != '\0' ? h->last_error : h->apply.last_error;

    return text[0] != '\0' ? text : NULL;
}

uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms)
{
    const struct entry *e = oldest_pending(h);
    uint64_t key_ms = e != NULL ? now_ms - e->pending_since_ms : 0;
    uint64_t apply_ms = apply_age_ms(&h->apply, now_ms);

    return apply_ms > key_ms ? apply_ms : key_ms;
}
