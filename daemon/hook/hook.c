/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/hook.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

/* A DELETED that failed so often gives way to the next life of its key (DESIGN 1.4.2). */
#define DELETED_ATTEMPTS 5

void hooks_init(struct hooks *hs, unsigned shared_slots, uint64_t seed)
{
    *hs = (struct hooks){.next_id = 1};
    sched_init(&hs->sched, shared_slots, seed);
    list_init(&hs->runs);
}

static void free_run(struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++)
        object_unref(&run->events[i].ev.object);
    list_remove(&run->link);
    free(run->events);
    free(run);
}

static void free_hook(struct hook *h)
{
    queue_fini(&h->queue);
    filter_fini(&h->filter);
    free(h->sources);
    free(h->name);
    free(h);
}

void hooks_fini(struct hooks *hs)
{
    list_each (pos, tmp, &hs->runs)
        free_run(list_entry(pos, struct run, link));
    for (size_t i = 0; i < hs->n; i++)
        free_hook(hs->v[i]);
    free(hs->v);
    *hs = (struct hooks){0};
}

void hooks_add(struct hooks *hs, struct hook_params *p)
{
    struct hook *h = mem_zalloc(sizeof(*h));

    ensure(p->source_count > 0);
    h->name = mem_strdup(p->name);
    h->index = p->index;
    h->mode = p->mode;
    h->existing = p->existing;
    h->sources = hook_source_copy(p->sources, p->source_count);
    h->source_count = p->source_count;
    h->filter = p->filter;
    p->filter = (struct filter){0};
    list_init(&h->unit.ready);
    queue_init(&h->queue, &h->filter, h->source_count);
    sched_add(&hs->sched, &h->lane, &p->lane);
    hs->v = mem_realloc(hs->v, (hs->n + 1) * sizeof(struct hook *));
    hs->v[hs->n++] = h;
}

/* Is there something for the unit to do? */
static bool unit_due(const struct hook *h, const struct entry *e)
{
    if (h->mode == HOOK_OBJECT)
        return queue_due(e);
    return h->queue.pending_count > 0 || h->gate == GATE_FIRST || h->incomplete;
}

/* The entry changed: the schedule hears of it. e is NULL when nothing is left of it. Another life or
 * the end of one begins a new ladder (DESIGN 1.3). */
static void reschedule(struct hook *h, struct entry *e, uint64_t now_ms)
{
    if (h->mode == HOOK_OBJECT && e == NULL)
        return;
    struct unit *u = h->mode == HOOK_OBJECT ? &e->unit : &h->unit;
    bool failed = u->failures > 0 && u->state != UNIT_RUNNING;

    if (!unit_due(h, e))
        sched_drop(&h->lane, u);
    else if (failed && h->mode == HOOK_OBJECT && queue_new_matter(&h->queue, e))
        sched_hurry(&h->lane, u);
    else
        sched_touch(&h->lane, u, now_ms);
}

/* Has the end of a life failed so often, failures in all, that the next life is heard first? */
static bool gives_way(const struct hook *h, const struct entry *e, unsigned failures)
{
    return h->mode == HOOK_OBJECT && failures >= DELETED_ATTEMPTS && e->told_end &&
           filter_takes(&h->filter, DELTA_ADDED) && e->newest.object != NULL &&
           !queue_new_matter(&h->queue, e);
}

static void check_first(struct hook *h)
{
    if (h->gate == GATE_FIRST && h->mode == HOOK_OBJECT && h->queue.existing_left == 0)
        h->gate = GATE_OPEN;
}

static void take_delta(struct hook *h, size_t source, const struct delta *d, uint64_t now_ms)
{
    struct entry *e = queue_change(&h->queue, source, d, now_ms);

    if (h->gate == GATE_CLOSED)
        return;
    if (e != NULL && e->unit.state != UNIT_RUNNING && gives_way(h, e, e->unit.failures))
        queue_yield(&h->queue, e, now_ms);
    reschedule(h, e, now_ms);
    if (e != NULL)
        queue_release(&h->queue, e); /* its unit may have become idle */
    check_first(h);
}

/* The same watch may be several of its sources, under several names. */
static void take_from(struct hook *h, const struct watch *w, const struct delta *d, uint64_t now_ms)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (hook_source_is(&h->sources[i], w))
            take_delta(h, i, d, now_ms);
}

void hooks_delta(struct hooks *hs, const struct watch *w, const struct delta *d, uint64_t now_ms)
{
    for (size_t i = 0; i < hs->n; i++)
        take_from(hs->v[i], w, d, now_ms);
}

/* In the queue the outage of a source is the life of an object without bytes: what holds for keys
 * holds for it. */
void hooks_stale(struct hooks *hs, const struct watch *w, bool stale, uint64_t wall_ns,
                 uint64_t now_ms)
{
    struct object *outage =
        object_create(&(struct object_parts){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX});
    const struct delta d = {.type = stale ? DELTA_STALE : DELTA_FRESH,
                            .cause = CAUSE_WATCH,
                            .object = outage,
                            .received_ns = wall_ns};

    for (size_t i = 0; i < hs->n; i++) {
        const struct filter *f = &hs->v[i]->filter;

        if (filter_takes(f, DELTA_STALE) || filter_takes(f, DELTA_FRESH))
            take_from(hs->v[i], w, &d, now_ms);
    }
    object_unref(&outage);
}

static bool sources_synced(const struct hook *h)
{
    for (size_t i = 0; i < h->source_count; i++)
        if (!hook_source_synced(&h->sources[i]))
            return false;
    return true;
}

/* The first runs are not delayed by settle: what is there has been quiet. */
static void open_gate(struct hook *h)
{
    bool skip = h->existing == HOOK_EXISTING_SKIP;

    h->gate = skip ? GATE_OPEN : GATE_FIRST;
    queue_open(&h->queue, skip);
    if (h->mode == HOOK_SNAPSHOT && unit_due(h, NULL))
        sched_hurry(&h->lane, &h->unit);
    if (h->mode == HOOK_OBJECT)
        list_each (pos, tmp, &h->queue.pending)
            sched_hurry(&h->lane, &list_entry(pos, struct entry, pending)->unit);
    check_first(h);
}

static struct hook *hook_of(struct lane *lane)
{
    return container_of(lane, struct hook, lane);
}

static void add_event(struct run *run, struct entry *e, const struct queue_event *ev)
{
    struct run_event *slot = &run->events[run->event_count++];

    *slot = (struct run_event){.ev = *ev, .entry = e};
    slot->ev.object = object_ref(ev->object);
    queue_started(e, ev);
}

static void take_one(struct run *run, struct entry *e)
{
    struct queue_event due[2];
    size_t n = queue_events(&run->hook->queue, e, due);

    ensure(n > 0);
    run->events = mem_array(1, sizeof(*run->events));
    add_event(run, e, &due[0]);
}

static void take_all(struct run *run)
{
    struct queue *q = &run->hook->queue;

    run->events = mem_array(q->pending_count * 2 + 1, sizeof(*run->events));
    list_each (pos, tmp, &q->pending) {
        struct entry *e = list_entry(pos, struct entry, pending);
        struct queue_event due[2];
        size_t n = queue_events(q, e, due);

        run->held_back =
            run->held_back || (n == 2 && queue_is_end(due[1].type) && e->newest.object != NULL);
        for (size_t i = 0; i < n; i++)
            if (filter_takes(q->filter, due[i].type))
                add_event(run, e, &due[i]);
    }
}

/* e is NULL in mode snapshot. */
static enum run_reason reason_of(const struct hook *h, const struct unit *u, const struct entry *e)
{
    bool existing = e != NULL ? e->existing : h->gate == GATE_FIRST;

    if (u->failures > 0)
        return RUN_RETRY;
    return existing ? RUN_EXISTING : RUN_CHANGE;
}

static struct run *start_run(struct hooks *hs, struct hook *h, struct unit *u, uint64_t now_ms)
{
    struct entry *e = h->mode == HOOK_OBJECT ? container_of(u, struct entry, unit) : NULL;
    struct run *run =
        MEM_NEW(struct run, .id = hs->next_id++, .hook = h, .unit = u, .reason = reason_of(h, u, e),
                .attempt = u->failures + 1, .started_ms = now_ms);

    list_init(&run->link);
    list_append(&hs->runs, &run->link);
    if (e != NULL)
        take_one(run, e);
    else
        take_all(run);
    return run;
}

struct run *hooks_next(struct hooks *hs, uint64_t now_ms)
{
    struct lane *lane;

    for (size_t i = 0; i < hs->n; i++)
        if (hs->v[i]->gate == GATE_CLOSED && sources_synced(hs->v[i]))
            open_gate(hs->v[i]);
    struct unit *u = sched_next(&hs->sched, now_ms, &lane);
    return u != NULL ? start_run(hs, hook_of(lane), u, now_ms) : NULL;
}

static void note_result(const struct run *run, const struct run_result *r, uint64_t now_ms)
{
    struct hook *h = run->hook;

    if (!r->ok) {
        h->runs_failed++;
        snprintf(h->last_error, sizeof(h->last_error), "%s", r->text);
        return;
    }
    h->runs_ok++;
    h->success_ms = now_ms;
    h->incomplete = run->held_back;
    h->last_error[0] = '\0';
    if (h->mode == HOOK_SNAPSHOT && h->gate == GATE_FIRST)
        h->gate = GATE_OPEN;
}

/* After a failure: is what is due now another matter, so that it need not wait for the ladder? */
static bool another_matter(struct hook *h, const struct run_event *was, uint64_t now_ms)
{
    struct queue_event due[2];
    struct entry *e = was->entry;

    if (gives_way(h, e, e->unit.failures + 1))
        queue_yield(&h->queue, e, now_ms);
    if (!queue_due(e))
        return false;
    queue_events(&h->queue, e, due);
    return queue_new_matter(&h->queue, e) ||
           !str_eq(object_uid(due[0].object), object_uid(was->ev.object));
}

static enum sched_result outcome(struct hook *h, struct run *run, bool ok, uint64_t now_ms)
{
    if (!ok && h->mode == HOOK_OBJECT && another_matter(h, &run->events[0], now_ms))
        return SCHED_AGAIN;
    if (!unit_due(h, h->mode == HOOK_OBJECT ? run->events[0].entry : NULL))
        return SCHED_DONE;
    return ok ? SCHED_AGAIN : SCHED_FAILED;
}

/* The two events of one entry stand side by side. */
static void release_entries(const struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct entry *e = run->events[i].entry;
        bool again = i + 1 < run->event_count && run->events[i + 1].entry == e;

        if (!again)
            queue_release(&run->hook->queue, e);
    }
}

uint64_t hooks_finish(struct hooks *hs, struct run *run, const struct run_result *result,
                      uint64_t now_ms)
{
    struct hook *h = run->hook;
    uint64_t retry_ms = NEVER_MS;

    note_result(run, result, now_ms);
    for (size_t i = 0; i < run->event_count; i++)
        queue_ended(&h->queue, run->events[i].entry);
    for (size_t i = 0; result->ok && i < run->event_count; i++)
        queue_handled(&h->queue, run->events[i].entry, &run->events[i].ev, now_ms);
    sched_done(&hs->sched, &h->lane, run->unit, outcome(h, run, result->ok, now_ms), now_ms);
    if (run->unit->state == UNIT_BACKOFF)
        retry_ms = run->unit->timer.due_ms - now_ms;
    release_entries(run);
    check_first(h);
    free_run(run);
    return retry_ms;
}

uint64_t hooks_wake_ms(const struct hooks *hs)
{
    return sched_wake_ms(&hs->sched);
}

bool hooks_ready(const struct hooks *hs)
{
    for (size_t i = 0; i < hs->n; i++) {
        const struct hook *h = hs->v[i];
        bool tried = h->mode == HOOK_SNAPSHOT && h->runs_failed > 0;

        if (h->gate == GATE_CLOSED || (h->gate == GATE_FIRST && !tried))
            return false;
    }
    return true;
}

size_t hook_pending(const struct hook *h)
{
    size_t running = 0;

    if (h->mode == HOOK_SNAPSHOT)
        return h->queue.pending_count;
    list_each (pos, tmp, &h->queue.pending)
        running += list_entry(pos, struct entry, pending)->pins > 0;
    return h->queue.pending_count - running;
}

uint64_t hook_oldest_pending_ms(const struct hook *h, uint64_t now_ms)
{
    struct list *first = list_first(&h->queue.pending);

    return first != NULL ? now_ms - list_entry(first, struct entry, pending)->pending_since_ms : 0;
}
