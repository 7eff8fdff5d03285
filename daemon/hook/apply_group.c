/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/apply_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook/gate.h"
#include "hook/hook.h"

static struct hook *hook_at(struct list *link)
{
    return container_of(list_entry(link, struct apply, link), struct hook, apply);
}

/* ---- The members of a group */

static struct apply_group *find(const struct hooks *hs, const char *key)
{
    list_each (pos, tmp, &hs->apply_groups) {
        struct apply_group *g = list_entry(pos, struct apply_group, link);

        if (key != NULL && g->key != NULL && strcmp(g->key, key) == 0)
            return g;
    }
    return NULL;
}

void apply_group_join(struct hooks *hs, struct hook *h, const char *key)
{
    struct apply_group *g = find(hs, key);

    if (g == NULL) {
        g = MEM_NEW(struct apply_group, .key = mem_strdup(key));
        list_init(&g->link);
        list_init(&g->applies);
        list_append(&hs->apply_groups, &g->link);
    }
    list_append(&g->applies, &h->apply.link);
    g->n++;
    h->apply.group = g;
}

void apply_group_leave(struct hook *h)
{
    struct apply_group *g = h->apply.group;

    if (g == NULL)
        return;
    list_remove(&h->apply.link);
    h->apply.group = NULL;
    if (--g->n > 0)
        return;
    list_remove(&g->link);
    free(g->key);
    free(g);
}

const struct hook *apply_group_next(const struct hook *h, const struct hook *previous)
{
    const struct list *head = &h->apply.group->applies;
    struct list *next = previous != NULL ? previous->apply.link.next : head->next;

    if (next == &h->apply.link)
        next = next->next;
    return next != head ? hook_at(next) : NULL;
}

/* ---- When it runs. */

/* apply waits for the end of the first runs, but not for a command that fails, perhaps for good: then
 * files that an earlier process wrote are applied all the same. */
static bool has_first_runs(const struct hook *h)
{
    return h->gate < GATE_APPLY && !hook_first_ended(h);
}

/* Has the hook no part in any run now? */
static bool is_shut(const struct hook *h)
{
    return h->paused || h->stage != HOOK_SERVES || h->strays.due > 0 || has_first_runs(h);
}

static bool has_part(const struct hook *h)
{
    return apply_may_repeat(&h->apply) && !is_shut(h);
}

static bool is_running(const struct hook *h)
{
    return h->apply.work_item.state == WORK_ITEM_RUNNING;
}

/* A command under way, or about to start, or stray files: they may write or remove files that are to be
 * applied. */
static bool is_busy(const struct hook *h, uint64_t now_ms)
{
    return scheduler_is_busy(&h->work_queue, now_ms) || h->strays.due > 0;
}

/* Does a change of the hook settle, or do its written files? */
static bool settles(const struct hook *h, uint64_t now_ms)
{
    const struct work_item *u = &h->apply.work_item;

    return (h->work_queue.settling > 0 && !h->work_queue.blocked) ||
           (u->state == WORK_ITEM_SETTLING && now_ms < u->timer.due_ms && !is_shut(h));
}

/* Will the hook have first runs, or has it some? A hook behind another one of `after` may wait for
 * this very apply. */
static bool begins(const struct hooks *hs, const struct hook *h)
{
    return has_first_runs(h) && (h->gate != GATE_CLOSED || gate_before(hs, h) == NULL);
}

/* The needs of the hooks of a group, taken together. A hook that is paused, or retires, counts only for
 * its run that is under way. */
struct opinion {
    uint64_t since_ms; /* the first write, or manual run, that waits; NEVER_MS = none */
    uint64_t last_start_ms;
    uint64_t min_interval_ms; /* the longest of those that wait */
    uint64_t settle_max_ms;   /* the longest */
    uint64_t retry_ms;        /* when a change would have one tried again; NEVER_MS = none failed */
    unsigned waiting;         /* so many have something to apply */
    unsigned settling;        /* so many have something that settles */
    unsigned both;
    bool runs;
    bool busy;
    bool begins;
    bool opens;   /* one of those that wait has just ended its first runs */
    bool retries; /* the pause of one is over, or a person waits */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The program has failed for the hook, or could not be started: a change has it tried again, but not at
 * once (docs/design.md "Retry"). A change of another hook does so, too. */
static void hear_failed(struct opinion *o, const struct hook *h, uint64_t now_ms)
{
    const struct work_item *u = &h->apply.work_item;
    uint64_t pause_ms =
        u->not_started ? SCHEDULER_NOT_STARTED_MS : h->apply.work_queue.params.retry.initial_ms;
    bool pauses =
        u->state == WORK_ITEM_PARKED || (u->state == WORK_ITEM_BACKOFF && now_ms < u->timer.due_ms);

    if (!pauses)
        o->retries = true;
    else if (u->ended_ms + pause_ms < o->retry_ms)
        o->retry_ms = u->ended_ms + pause_ms;
}

/* The hook has something to apply. */
static void hear_waiting(struct opinion *o, const struct hook *h, uint64_t now_ms)
{
    const struct work_queue_params *p = &h->apply.work_queue.params;
    const struct work_item *u = &h->apply.work_item;

    o->waiting++;
    if (h->apply.touched_ms < o->since_ms)
        o->since_ms = h->apply.touched_ms;
    if (u->failures > 0 || u->not_started)
        hear_failed(o, h, now_ms);
    o->min_interval_ms = larger(o->min_interval_ms, p->min_interval_ms);
    o->opens = o->opens || h->gate == GATE_APPLY;
    o->retries = o->retries || u->manual_runs != 0;
}

static void hear(struct opinion *o, const struct hooks *hs, const struct hook *h, uint64_t now_ms)
{
    const struct work_queue *wq = &h->apply.work_queue;

    o->runs = o->runs || is_running(h);
    if (wq->last_start_ms != NEVER_MS)
        o->last_start_ms = larger(o->last_start_ms, wq->last_start_ms);
    if (h->paused || h->stage != HOOK_SERVES)
        return;
    o->settle_max_ms = larger(o->settle_max_ms, wq->params.settle_max_ms);
    o->busy = o->busy || is_busy(h, now_ms);
    o->settling += settles(h, now_ms);
    o->begins = o->begins || begins(hs, h);
    if (!has_part(h))
        return;
    o->both += settles(h, now_ms);
    hear_waiting(o, h, now_ms);
}

/* Does something of a hook settle for which another hook waits? No hook waits for its own changes. */
static bool waits_for_others(const struct opinion *o)
{
    bool own = o->waiting == 1 && o->settling == 1 && o->both == 1;

    return o->settling > 0 && !own;
}

/* Until when more files may be written that the same run could apply; 0 = none are to come. A change
 * settles for settle_max at most, so that a hook that never comes to rest delays the others by no more
 * than itself. */
static uint64_t gathers_until(const struct opinion *o, bool is_shared)
{
    bool waits = o->busy || (is_shared && o->opens && o->begins);
    uint64_t until_ms = 0;

    if (o->since_ms == NEVER_MS)
        return 0;
    if (waits)
        until_ms = o->since_ms + APPLY_HOLD_MS;
    if (is_shared && waits_for_others(o))
        until_ms = larger(until_ms, o->since_ms + o->settle_max_ms);
    return until_ms;
}

/* The first reason for which the group must wait, and its end. The scheduler knows the intervals and
 * pauses of each hook; here are those that follow from runs for another one. */
static enum apply_hold reason_of(const struct opinion *o, bool is_shared, uint64_t now_ms,
                                 uint64_t *until_ms)
{
    *until_ms = gathers_until(o, is_shared);
    if (now_ms < *until_ms)
        return APPLY_GATHERS;
    *until_ms = o->retry_ms;
    if (is_shared && !o->retries && o->retry_ms != NEVER_MS && now_ms < o->retry_ms)
        return APPLY_PAUSES;
    *until_ms = o->last_start_ms > 0 ? o->last_start_ms + o->min_interval_ms : 0;
    if (is_shared && now_ms < *until_ms)
        return APPLY_INTERVAL;
    *until_ms = NEVER_MS;
    return APPLY_FREE;
}

static void hold(const struct hooks *hs, struct apply_group *g, uint64_t now_ms)
{
    struct opinion o = {.since_ms = NEVER_MS, .retry_ms = NEVER_MS};

    list_each (pos, tmp, &g->applies) {
        apply_note_order(&hook_at(pos)->apply, now_ms);
        hear(&o, hs, hook_at(pos), now_ms);
    }
    uint64_t until_ms;
    enum apply_hold reason = reason_of(&o, g->n > 1, now_ms, &until_ms);
    list_each (pos, tmp, &g->applies) {
        struct hook *h = hook_at(pos);

        /* A hook that is shut has no time at which it opens, so there is nothing to wake up for. */
        if (is_shut(h))
            apply_set_hold(&h->apply, APPLY_SHUT, NEVER_MS);
        else if (o.runs && !is_running(h))
            apply_set_hold(&h->apply, APPLY_BESIDE, NEVER_MS);
        else
            apply_set_hold(&h->apply, reason, until_ms);
    }
}

static bool is_due(const struct apply_group *g)
{
    list_each (pos, tmp, &g->applies)
        if (apply_due(list_entry(pos, const struct apply, link)))
            return true;
    return false;
}

void apply_groups_hold(struct hooks *hs, uint64_t now_ms)
{
    list_each (pos, tmp, &hs->apply_groups) {
        struct apply_group *g = list_entry(pos, struct apply_group, link);

        if (is_due(g))
            hold(hs, g, now_ms);
    }
}

const struct hook *apply_group_awaited(const struct hook *h, uint64_t now_ms)
{
    const struct hook *found = NULL;

    list_each (pos, tmp, &h->apply.group->applies) {
        const struct hook *other = hook_at(pos);
        bool has_say = !other->paused && other->stage == HOOK_SERVES;

        if (other == h)
            continue;
        if (is_running(other))
            return other;
        if (found == NULL && has_say &&
            (is_busy(other, now_ms) || settles(other, now_ms) || has_first_runs(other)))
            found = other;
    }
    return found;
}

/* ---- The run. */

/* The hook with the longest timeout runs the program, so that no hook makes it fail for another one. Of
 * hooks with equal timeouts the first one of the configuration runs it, so that the choice does not
 * depend on the order of their changes. */
static struct hook *leading(struct hook *a, struct hook *b)
{
    if (a->apply.timeout_ms != b->apply.timeout_ms)
        return a->apply.timeout_ms > b->apply.timeout_ms ? a : b;
    return a->index < b->index ? a : b;
}

static struct hook *find_leader(struct hook *chosen)
{
    struct hook *leader = chosen;

    list_each (pos, tmp, &chosen->apply.group->applies) {
        struct hook *h = hook_at(pos);

        if (h != chosen && has_part(h))
            leader = leading(leader, h);
    }
    return leader;
}

struct run *apply_group_start(struct hook *chosen, uint64_t now_ms)
{
    struct apply_group *g = chosen->apply.group;
    struct run *run = run_of_apply(find_leader(chosen), now_ms);

    if (g->n > 1)
        run->others = mem_array(g->n, sizeof(*run->others));
    list_each (pos, tmp, &g->applies) {
        struct hook *h = hook_at(pos);

        if (h != chosen && !has_part(h))
            continue;
        if (h != run->hook)
            run_share(run, h);
        if (h != chosen)
            scheduler_join(&h->apply.work_queue, &h->apply.work_item);
        apply_started(&h->apply, now_ms);
    }
    return run;
}
