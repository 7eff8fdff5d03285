/* SPDX-License-Identifier: Apache-2.0 */
/* Late runs, and the status that hooks give of themselves. */
#include <inttypes.h>

#include "base/panic.h"
#include "sim/checked_hook.h"

/* A manual run that has nothing to tell ends without starting a program. A rerun ends in the same way,
 * and is due again later. */
static void end_void(const struct hook_checker *w, struct checked_hook *h,
                     const struct delivery_model *a, struct run_timing *p)
{
    uint64_t now = w->clock->now_ms;

    if (p->running || now < (p->ordered_ms == NEVER_MS ? p->rerun_earliest_ms : p->ordered_ms))
        return;
    if (checked_hook_repeats(h, a) || checked_hook_due(h, a))
        return;
    if (p->ordered_ms != NEVER_MS) {
        checked_hook_count(w, FEATURE_ORDER_VOID);
        p->ordered_ms = NEVER_MS;
        run_timing_drop(p);
        if (h->rules->mode != HOOK_OBJECT)
            run_timing_rest(p, &h->rules->work_queue, now);
    } else {
        p->rerun_latest_ms = now + h->rules->work_queue.rerun_ms + h->rules->work_queue.splay_ms;
    }
}

static void look_at_work_item(const struct hook_checker *w, struct checked_hook *h, size_t source,
                              size_t key, uint64_t by_ms)
{
    const struct delivery_model *a = &h->delivery_models[source][key];
    struct run_timing *p = checked_hook_timing(h, source, key);

    if (!run_timing_waits(p))
        return;
    bool seen = h->is_open[source] || h->rules->mode != HOOK_OBJECT;
    bool repeats = seen && checked_hook_repeats(h, a);
    uint64_t due_ms = run_timing_deadline_ms(p, repeats, repeats || checked_hook_due(h, a));

    if (due_ms > by_ms)
        return;
    if (!checked_hook_has_slot(w, h))
        p->had_no_slot = true;
    else if (h->free_ms > by_ms)
        p->had_to_wait = true;
    else
        panic("%s, source %zu, key %zu: should have run at %" PRIu64 ", it is %" PRIu64
              " (free from %" PRIu64 ", %u failures)",
              h->rules->name, source, key, due_ms, w->clock->now_ms, h->free_ms, p->failures);
}

static void look_at_hook(const struct hook_checker *w, struct checked_hook *h, uint64_t by_ms)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    bool free = checked_hook_has_slot(w, h) && h->free_ms <= w->clock->now_ms;

    if (!free)
        h->held_ms = w->clock->now_ms;
    for (size_t s = 0; s < (by_key ? RULES_SOURCES : 1); s++)
        for (size_t key = 0; key < (by_key ? RULES_KEYS : 1); key++) {
            look_at_work_item(w, h, s, key, by_ms);
            if (free)
                end_void(w, h, &h->delivery_models[s][key], checked_hook_timing(h, s, key));
        }
}

static void look(struct hook_checker *w, uint64_t by_ms)
{
    for (size_t i = 0; i < HOOKS; i++) {
        if (w->hooks[i].as != CHECKED_FULLY)
            continue;
        if (checked_hook_blocked(w, &w->hooks[i]))
            w->hooks[i].held_ms = w->clock->now_ms;
        else
            look_at_hook(w, &w->hooks[i], by_ms);
    }
}

/* Looks once at each moment only: later events of the same moment may have let a run start. */
void hook_checker_before(struct hook_checker *w)
{
    if (w->looked_ms != w->clock->now_ms)
        look(w, w->clock->now_ms - 1);
    w->looked_ms = w->clock->now_ms;
}

void hook_checker_after(struct hook_checker *w)
{
    look(w, w->clock->now_ms);
}

/* The number of keys that wait for a run, as hook_pending() counts them. */
static size_t pending(const struct checked_hook *h)
{
    bool by_key = h->rules->mode == HOOK_OBJECT;
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++) {
            const struct run_timing *p = by_key ? &h->timings[s][key] : &h->timings[0][0];

            n += h->delivery_models[s][key].due && !p->parked && !(by_key && p->running);
        }
    return n + (output_files_due(h->output_files) && !h->output_files->parked &&
                !h->output_files->running);
}

static size_t parked(const struct checked_hook *h)
{
    size_t n = 0;

    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            n += h->timings[s][key].parked;
    return n + h->output_files->parked;
}

static void same(const struct checked_hook *h, const char *what, size_t is, size_t should_be)
{
    if (is != should_be)
        panic("%s: %s is %zu, not %zu", h->rules->name, what, is, should_be);
}

void hook_checker_compare(const struct hook_checker *w, const struct hooks *hooks)
{
    for (size_t i = 0; i < HOOKS; i++) {
        const struct checked_hook *h = &w->hooks[i];
        const struct hook *is = rules_find(hooks, i);

        if (h->as != CHECKED_FULLY)
            continue;
        same(h, "gate", is->gate, h->gate);
        same(h, "running", is->work_queue.running, h->running);
        same(h, "parked", hook_parked(is), parked(h));
        same(h, "pending", hook_pending(is), pending(h));
        same(h, "first_ended", hook_first_ended(is), checked_hook_first_ended(h));
    }
}

static void check_work_item(const struct checked_hook *h, size_t source, size_t key)
{
    const struct run_timing *p = &h->timings[source][key];

    if (p->running || p->ordered_ms != NEVER_MS || (p->due && !p->parked))
        panic("%s, source %zu, key %zu: it is quiet, but not done", h->rules->name, source, key);
    if (!p->parked && h->rules->mode == HOOK_OBJECT && h->delivery_models[source][key].due)
        panic("%s, source %zu, key %zu: due, and it is quiet", h->rules->name, source, key);
}

static size_t known_keys(const struct checked_hook *h, size_t source)
{
    size_t n = 0;

    for (size_t key = 0; key < RULES_KEYS; key++) {
        const struct delivery_model *a = &h->delivery_models[source][key];

        n += a->now.uid != 0 || a->delivered != 0;
    }
    return n;
}

void hook_checker_check_quiet(const struct hook_checker *w, const struct hooks *hooks)
{
    for (size_t i = 0; i < HOOKS; i++) {
        const struct checked_hook *h = &w->hooks[i];
        const struct hook *is = rules_find(hooks, i);

        if (h->as != CHECKED_FULLY)
            continue;
        for (size_t s = 0; s < RULES_SOURCES; s++) {
            for (size_t key = 0; key < RULES_KEYS; key++)
                check_work_item(h, s, key);
            same(h, "entries", map_count(&is->queue.sources[s].by_key), known_keys(h, s));
        }
        same(h, "left of orders", manual_runs_wait(&is->manual_runs), 0);
        output_files_check_quiet(h->output_files);
        if (h->rules->mode != HOOK_OBJECT && checked_hook_due(h, NULL) && !h->timings[0][0].parked)
            panic("%s: due, and it is quiet", h->rules->name);
    }
}

bool hook_checker_is_parked(const struct hook_checker *w, size_t hook, size_t source, size_t key)
{
    const struct checked_hook *h = &w->hooks[hook];

    return h->rules->mode == HOOK_OBJECT ? h->timings[source][key].parked : h->timings[0][0].parked;
}
