/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sharing.h"

#include "base/panic.h"

/* apply waits for commands for so long at most (docs/design.md "Apply"). */
enum { HOLD_MS = 10000 };

static struct output_files *files_of(const struct sim_hooks *c, size_t hook)
{
    return &c->params.handlers[hook].output_files;
}

static bool shares(const struct sim_hooks *c, size_t hook)
{
    return c->params.rules[hook].shares && rules_find(&c->hooks, hook) != NULL;
}

void sharing_each(const struct run *run, void (*fn)(struct sim_hooks *c, size_t hook, void *arg),
                  struct sim_hooks *c, void *arg)
{
    fn(c, run->hook->index, arg);
    for (size_t i = 0; i < run->other_count; i++)
        fn(c, run->others[i].hook->index, arg);
}

/* May a command of the hook run, now or later, without a change from outside? */
static bool is_awake(const struct sim_hooks *c, size_t hook)
{
    const struct checked_hook *h = &c->hook_checker.hooks[hook];

    if (h->running > 0 || h->gate < GATE_APPLY)
        return true;
    for (size_t s = 0; s < RULES_SOURCES; s++)
        for (size_t key = 0; key < RULES_KEYS; key++)
            if (run_timing_waits(&h->timings[s][key]))
                return true;
    return false;
}

/* Nothing is known of a hook that hook_checker does not check. */
static bool holds_back(const struct sim_hooks *c, size_t other)
{
    if (!sim_hooks_watches(c, other) || files_of(c, other)->running)
        return true;
    /* The other hook may wait for a change that settles here. */
    return !c->hook_checker.hooks[other].paused && is_awake(c, other);
}

/* The time counts even if a hook begins to hold the other back now: until now, it was the reason. */
bool sharing_waits(const struct sim_hooks *c, size_t hook, uint64_t *until_ms)
{
    bool waits = false;

    *until_ms = 0;
    for (size_t i = 0; i < HOOKS && shares(c, hook); i++) {
        if (i == hook || !shares(c, i))
            continue;
        uint64_t ms = output_files_delays_ms(files_of(c, i), files_of(c, hook));

        waits = waits || is_awake(c, hook) || holds_back(c, i);
        *until_ms = ms > *until_ms ? ms : *until_ms;
    }
    return waits;
}

/* The needs of the hooks of a run. */
struct hearing {
    const char *waits; /* of the last one; NULL = one of them does not have to wait */
    size_t hooks;
    uint64_t since_ms; /* the first touch that waits */
};

static void hear(struct sim_hooks *c, size_t hook, void *arg)
{
    struct hearing *a = arg;
    const struct output_files *s = files_of(c, hook);

    if (!sim_hooks_watches(c, hook)) {
        a->waits = NULL;
        a->hooks = HOOKS; /* it may be the cause */
        return;
    }
    const char *refuses = output_files_refuses(s);
    if (refuses != NULL)
        panic("%s: is applied %s", s->rules->name, refuses);
    const char *waits = output_files_waits(s, a->since_ms);
    a->waits = a->hooks == 0 || a->waits != NULL ? waits : NULL;
    a->hooks++;
}

/* For all hooks of the run together, as the first write of any of them limits how long commands hold
 * it back. Comes before hear(). */
static void look_since(struct sim_hooks *c, size_t hook, void *arg)
{
    struct hearing *a = arg;

    if (sim_hooks_watches(c, hook) && files_of(c, hook)->touched_ms < a->since_ms)
        a->since_ms = files_of(c, hook)->touched_ms;
}

static void begin(struct sim_hooks *c, size_t hook, void *arg)
{
    const struct run *const *run = arg;

    if (sim_hooks_watches(c, hook))
        output_files_begin_apply(files_of(c, hook), *run);
}

/* The program runs once at a time, and, as long as HOLD_MS is not over, beside no command of the
 * hooks. */
static void check_others(const struct sim_hooks *c, const struct hearing *a)
{
    for (size_t i = 0; i < HOOKS; i++) {
        if (!shares(c, i) || !sim_hooks_watches(c, i))
            continue;
        if (files_of(c, i)->running)
            panic("%s: its apply runs twice at a time", c->params.rules[i].name);
        if (files_of(c, i)->busy && !c->hook_checker.hooks[i].paused && a->since_ms != NEVER_MS &&
            c->params.clock->now_ms < a->since_ms + HOLD_MS)
            panic("%s: its apply runs while more may come", c->params.rules[i].name);
    }
}

void sharing_check_start(struct sim_hooks *c, const struct run *run)
{
    struct hearing a = {.since_ms = NEVER_MS};

    sharing_each(run, look_since, c, &a);
    sharing_each(run, hear, c, &a);
    if (a.waits != NULL)
        panic("%s: is applied %s", run->hook->name, a.waits);
    if (c->params.rules[run->hook->index].shares && a.hooks < HOOKS)
        check_others(c, &a);
    sharing_each(run, begin, c, &run);
    c->params.features[FEATURE_APPLY_SHARED] += run->other_count > 0;
}
