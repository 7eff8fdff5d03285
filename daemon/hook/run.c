/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "hook/changes.h"
#include "hook/hook.h"
#include "hook/members.h"
#include "proto/path_list.h"

const char *run_reason_name(enum run_reason reason)
{
    static const char *const names[] = {"existing", "change", "retry", "rerun", "renew", "manual"};

    return names[reason];
}

const char *run_kind_name(enum run_kind kind)
{
    static const char *const names[] = {"command", "remove", "apply", "write"};

    return names[kind];
}

const struct run_event *run_keyed(const struct run *run)
{
    bool keyed = run->hook->rules.mode == HOOK_OBJECT && run->kind != RUN_APPLY;

    return keyed ? &run->events[0] : NULL;
}

const char *run_key(const struct run *run)
{
    const struct run_event *re = run_keyed(run);

    return re != NULL ? re->delivery->key : "";
}

/* `changed` of an event (docs/decisions.md "changed names all that a run must see to"): the paths that
 * differ from the last handled state, and those that runs since then got, as they may have had effects.
 * At all other paths the newest state is equal to the states that those runs saw. "*" if only an earlier
 * process knew the handled state, or if a run with the end of the object has failed since. */
static struct buf changed_paths(const struct delivery *dl, const struct delivery_event *ev)
{
    const struct object *base = delivery_base(dl, ev);
    bool known = known_has(&dl->handled, ev->object) || known_has(&dl->delivered, ev->object);
    struct buf lines = {0};

    if (base == NULL && ev->type == DELTA_MODIFIED && known)
        buf_puts(&lines, PATH_LIST_ALL);
    if (base == NULL)
        return lines;
    /* The union would be "*" again: no need to compare. */
    if (dl->delivered_paths != NULL && strcmp(dl->delivered_paths, PATH_LIST_ALL) == 0) {
        buf_puts(&lines, dl->delivered_paths);
        return lines;
    }
    lines = changes_between(base, ev->object);
    if (dl->delivered_paths != NULL)
        changes_unite(&lines, str_c(dl->delivered_paths));
    return lines;
}

static void add_event(struct run *run, struct delivery *dl, const struct delivery_event *ev)
{
    struct run_event *slot = &run->events[run->event_count++];
    struct object *base = delivery_base(dl, ev);

    *slot = (struct run_event){.ev = *ev, .delivery = dl, .changed = changed_paths(dl, ev)};
    slot->ev.object = object_ref(ev->object);
    slot->old = base != NULL ? object_ref(base) : NULL;
}

/* With output the end of a key starts no program: its file is removed. With files_from no event
 * does. */
static enum run_kind kind_of(const struct run *run)
{
    const struct run_event *re = run_keyed(run);
    bool ends = re != NULL && run->event_count > 0 && delivery_is_end(re->ev.type);

    if (ends && run->hook->files.template != NULL)
        return RUN_REMOVE;
    return run->hook->files.from_members ? RUN_WRITE : RUN_COMMAND;
}

/* Mode object: the event that is due first, or for a rerun the newest state. */
static void take_one(struct run *run, struct delivery *dl)
{
    const struct delivery_queue *q = &run->hook->queue;
    struct delivery_event due[2];

    run->events = mem_array(1, sizeof(*run->events));
    if ((delivery_is_due(dl) && delivery_events(q, dl, due) > 0) || delivery_repeat(q, dl, &due[0]))
        add_event(run, dl, &due[0]);
}

/* Modes batch and snapshot: all events that are due. With two ends in a run the incarnation that is
 * there now has no room in `changes`, though the snapshot shows it. */
static void take_due(struct run *run)
{
    struct delivery_queue *q = &run->hook->queue;

    list_each (pos, tmp, &q->pending) {
        struct delivery *dl = list_entry(pos, struct delivery, pending);
        struct delivery_event due[2];
        size_t n = delivery_events(q, dl, due);

        run->held_back =
            run->held_back || (n == 2 && delivery_is_end(due[1].type) && dl->newest.object != NULL);
        /* A state that the hook does not take is due only beside an end that it takes. */
        for (size_t i = 0; i < n; i++)
            if (filter_takes(q->filter, due[i].type))
                add_event(run, dl, &due[i]);
    }
}

static void repeat_delivery(void *arg, struct delivery *dl)
{
    struct run *run = arg;
    struct delivery_event ev;

    /* Keys with something due are in the run already. */
    if (!delivery_is_due(dl) && delivery_repeat(&run->hook->queue, dl, &ev))
        add_event(run, dl, &ev);
}

/* Mode batch: a rerun or a manual run delivers every object. */
static void repeat_all(struct run *run)
{
    for (size_t i = 0; i < run->hook->source_count; i++)
        delivery_queue_each(&run->hook->queue, i, repeat_delivery, run);
}

static size_t known_keys(const struct delivery_queue *q)
{
    size_t n = 0;

    for (size_t i = 0; i < q->source_count; i++)
        n += map_count(&q->sources[i].by_key);
    return n;
}

/* Mode batch: is the rerun due, though changes are due as well? Such a run delivers all objects:
 * otherwise a batch that keeps changing would never deliver those that do not change. */
static bool is_overdue(const struct hook *h, const struct work_item *u, uint64_t now_ms)
{
    return h->rules.mode == HOOK_BATCH && u->rerun_at_ms > 0 && now_ms >= u->rerun_at_ms;
}

/* Why the run happens; dl is NULL in modes batch and snapshot. The first reason that applies is
 * given: a manual run explains more than a failure before it, and a failure more than a renewal.
 * Objects that an earlier process has delivered are not existing ones but have changed. */
static enum run_reason reason_of(const struct hook *h, const struct work_item *u,
                                 const struct delivery *dl, uint64_t now_ms)
{
    bool renew = dl != NULL ? dl->renew : h->renew;
    bool existing =
        dl != NULL ? dl->existing && !dl->restored : h->gate == GATE_FIRST && !h->restored;
    bool due = dl != NULL ? delivery_is_due(dl) : h->queue.pending_count > 0 || h->snapshot_due;

    if (u->manual_runs != 0)
        return RUN_MANUAL;
    if (u->failures > 0)
        return RUN_RETRY;
    if (renew && due)
        return RUN_RENEW;
    if (existing)
        return RUN_EXISTING;
    return due && !is_overdue(h, u, now_ms) ? RUN_CHANGE : RUN_RERUN;
}

bool run_tells_all(const struct run *run)
{
    return run->hook->rules.mode != HOOK_BATCH || run->reason == RUN_MANUAL ||
           run->reason == RUN_RERUN;
}

struct run *run_preview(struct hook *h, struct delivery *dl, uint64_t now_ms)
{
    struct work_item *u = dl != NULL ? dl->work_item : &h->work_item;
    struct run *run =
        MEM_NEW(struct run, .hook = h, .work_item = u, .reason = reason_of(h, u, dl, now_ms),
                .attempt = u->failures + 1, .started_ms = now_ms);
    list_init(&run->link);
    if (dl != NULL) {
        take_one(run, dl);
    } else {
        bool whole = h->rules.mode == HOOK_BATCH && run_tells_all(run);
        size_t room = whole ? known_keys(&h->queue) : h->queue.pending_count;

        /* A key has at most two events. */
        run->events = mem_array(room * 2 + 1, sizeof(*run->events));
        take_due(run);
        if (whole)
            repeat_all(run);
    }
    run->kind = kind_of(run);
    /* A snapshot says enough without any change. */
    if (run->event_count > 0 || h->rules.mode == HOOK_SNAPSHOT)
        return run;
    run_free(run);
    return NULL;
}

static enum run_reason reason_of_apply(const struct hook *h, const struct work_item *u)
{
    bool again = u->failures > 0;

    if (u->manual_runs != 0)
        return RUN_MANUAL;
    if (again)
        return RUN_RETRY;
    return h->gate == GATE_OPEN ? RUN_CHANGE : RUN_EXISTING;
}

struct run *run_of_apply(struct hook *h, uint64_t now_ms)
{
    struct work_item *u = &h->apply.work_item;
    struct run *run =
        MEM_NEW(struct run, .hook = h, .work_item = u, .kind = RUN_APPLY,
                .reason = reason_of_apply(h, u), .attempt = u->failures + 1, .started_ms = now_ms);

    list_init(&run->link);
    return run;
}

/* People see the reason that explains most: a manual run, else a failure, else a change. */
void run_share(struct run *run, struct hook *h)
{
    struct work_item *u = &h->apply.work_item;
    enum run_reason reason = reason_of_apply(h, u);

    if (reason > run->reason)
        run->reason = reason;
    if (u->failures + 1 > run->attempt)
        run->attempt = u->failures + 1;
    run->others[run->other_count++] = (struct run_other){h, u->manual_runs};
    u->manual_runs = 0;
}

/* Of two events of one delivery, the snapshot for the second one is taken when the first has
 * started: they are undone in reverse order (note_events() in hook_end.c). */
void run_deliver(struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        struct run_event *re = &run->events[i];

        re->was = delivery_snapshot_of(re->delivery);
        delivery_started(&run->hook->queue, re->delivery, &re->ev);
        if (re->ev.type == DELTA_MODIFIED)
            delivery_set_paths(re->delivery, buf_str(&re->changed));
    }
}

void run_free(struct run *run)
{
    for (size_t i = 0; i < run->event_count; i++) {
        object_unref(&run->events[i].ev.object);
        object_unref(&run->events[i].old);
        buf_free(&run->events[i].changed);
        delivery_snapshot_fini(&run->events[i].was);
    }
    list_remove(&run->link);
    free(run->events);
    free(run->others);
    free(run->file);
    if (run->members != NULL)
        members_destroy(&run->members);
    free(run);
}
