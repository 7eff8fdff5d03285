/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reload_wait.h"

#include <stdlib.h>

#include "app/generation.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"

enum reload_wait_state {
    RELOAD_WAIT_NONE,   /* no reload waits */
    RELOAD_WAIT_RUNS,   /* the runs of its hooks may end */
    RELOAD_WAIT_KILLED, /* stop_timeout is over: they are being killed */
};

struct reload_wait {
    const struct reload_parts *parts;
    const struct reload_wait_events *events;
    void *arg;
    enum reload_wait_state state;
    /* Unless NONE: */
    struct generation *generation;
    const struct reload_plan *plan;
    struct deadline *patience; /* RUNS: stop_timeout; KILLED: RUNNER_LAST_WAIT_MS and the grace */
};

void reload_wait_begin(struct reload_wait *w, struct generation *g, const struct reload_plan *plan,
                       uint64_t patience_ms)
{
    w->state = RELOAD_WAIT_RUNS;
    w->generation = g;
    w->plan = plan;
    reload_switch_retire(w->parts, plan);
    deadline_start(w->patience, patience_ms);
    const struct hook *hook = reload_switch_waits_for(w->parts, plan);
    if (hook != NULL)
        log_info("reload waits for runs of hooks that it changes", KV_STR("hook", hook->name),
                 KV_U64("running", reload_switch_running(w->parts, plan)));
}

/* No reload waits any more. The caller owns the generation that is returned. */
static struct generation *end(struct reload_wait *w)
{
    struct generation *g = w->generation;

    deadline_stop(w->patience);
    w->state = RELOAD_WAIT_NONE;
    w->generation = NULL;
    w->plan = NULL;
    return g;
}

void reload_wait_look(struct reload_wait *w)
{
    const struct reload_plan *plan = w->plan;

    if (w->state != RELOAD_WAIT_NONE && reload_switch_is_possible(w->parts, plan))
        w->events->on_retired(w->arg, end(w), plan);
}

static void give_up(struct reload_wait *w, const char *hook)
{
    char *why =
        mem_printf("hook %s: its processes have not ended although they were killed, so the "
                   "reload was given up: look at them, and reload again when they have "
                   "ended\n",
                   hook);

    reload_switch_give_up(w->parts, w->plan);
    struct generation *g = end(w);
    generation_destroy(&g);
    w->events->on_given_up(w->arg, why);
    free(why);
}

/* A process in an uninterruptible wait, as on a network file system that hangs, does not end by SIGKILL.
 * It must not block all reloads. */
static void on_patience(void *arg)
{
    struct reload_wait *w = arg;
    const struct hook *hook = reload_switch_waits_for(w->parts, w->plan);

    if (hook == NULL) /* everything else that the switch waits for has a limit of its own */
        return;
    if (w->state == RELOAD_WAIT_KILLED) {
        give_up(w, hook->name);
        return;
    }
    w->state = RELOAD_WAIT_KILLED;
    log_warn("stop_timeout has passed: running hooks that the reload changes are killed",
             KV_STR("hook", hook->name),
             KV_U64("running", reload_switch_running(w->parts, w->plan)));
    reload_switch_kill(w->parts, w->plan);
    deadline_start(w->patience, runner_longest_grace_ms(w->parts->runner) + RUNNER_LAST_WAIT_MS);
}

const struct reload_plan *reload_wait_plan(const struct reload_wait *w)
{
    return w->plan;
}

void reload_wait_stop(struct reload_wait *w)
{
    struct generation *g = end(w);

    generation_destroy(&g);
}

struct reload_wait *reload_wait_create(struct loop *loop, const struct reload_parts *parts,
                                       const struct reload_wait_events *events, void *arg)
{
    struct reload_wait *w =
        MEM_NEW(struct reload_wait, .parts = parts, .events = events, .arg = arg);

    w->patience = deadline_create(loop, on_patience, w);
    return w;
}

void reload_wait_dispose(struct reload_wait **w)
{
    if (*w == NULL)
        return;
    reload_wait_stop(*w);
    deadline_dispose(&(*w)->patience);
    free(*w);
    *w = NULL;
}
