/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/slots.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

enum slot_kind {
    WORK_QUEUE_COMMAND,
    WORK_QUEUE_APPLY,
    WORK_QUEUE_FINGERPRINT,
    WORK_QUEUE_SWEEP,
    WORK_QUEUES
};

struct slot {
    uint64_t id;
    size_t wq;
};

/* The work queues of hook n are n * WORK_QUEUES and following; the one work queue for the CLEARs of
 * all hooks comes behind them. */
static size_t clear_work_queue(const struct slots *s)
{
    return s->params->hook_count * WORK_QUEUES;
}

/* A CLEAR follows a command that has ended: at a time there are as many as commands at most, which
 * is one of each hook and the shared ones. */
static size_t clear_most(const struct slots *s)
{
    return s->params->hook_count + s->params->shared_runs;
}

void slots_init(struct slots *s, const struct helper_params *params)
{
    *s = (struct slots){.params = params};
    size_t most = clear_work_queue(s) + params->shared_runs + clear_most(s);

    s->all = mem_array(most + 1, sizeof(*s->all));
    s->running = mem_array(clear_work_queue(s) + 1, sizeof(*s->running));
}

void slots_fini(struct slots *s)
{
    free(s->all);
    free(s->running);
    *s = (struct slots){0};
}

/* Only the work queues of commands have more than one slot, and use shared ones. */
static bool is_command(const struct slots *s, size_t wq)
{
    return wq != clear_work_queue(s) && wq % WORK_QUEUES == WORK_QUEUE_COMMAND;
}

/* The most runs of this work queue at a time. */
static size_t most(const struct slots *s, size_t wq)
{
    if (wq == clear_work_queue(s))
        return clear_most(s);
    return is_command(s, wq) ? s->params->hooks[wq / WORK_QUEUES].concurrency : 1;
}

/* The first command of a hook has the hook's own slot, so a hook that hangs cannot keep another one
 * from running (docs/design.md "Slots"). */
static bool take(struct slots *s, uint64_t id, size_t wq)
{
    bool shares = is_command(s, wq) && s->running[wq] > 0;

    if (s->running[wq] >= most(s, wq) || (shares && s->shared >= s->params->shared_runs))
        return false;
    s->shared += shares;
    s->running[wq]++;
    s->all[s->count++] = (struct slot){id, wq};
    return true;
}

/* A run writes its file after its command has ended, and a removal takes the place of the command:
 * so both use the slot of the command. */
static enum slot_kind work_queue_of(enum run_program program)
{
    switch (program) {
    case RUN_PROGRAM_COMMAND:
    case RUN_PROGRAM_OUTPUT:
    case RUN_PROGRAM_REMOVE:
    case RUN_PROGRAM_CHECK: /* main cannot ask for it */
        break;
    case RUN_PROGRAM_APPLY:
        return WORK_QUEUE_APPLY;
    case RUN_PROGRAM_FINGERPRINT:
        return WORK_QUEUE_FINGERPRINT;
    case RUN_PROGRAM_SWEEP:
        return WORK_QUEUE_SWEEP;
    }
    return WORK_QUEUE_COMMAND;
}

bool slots_take(struct slots *s, uint64_t id, uint32_t hook, enum run_program program)
{
    return take(s, id, (size_t)hook * WORK_QUEUES + work_queue_of(program));
}

bool slots_take_clear(struct slots *s, uint64_t id)
{
    return take(s, id, clear_work_queue(s));
}

void slots_free(struct slots *s, uint64_t id)
{
    size_t i = 0;

    while (i < s->count && s->all[i].id != id)
        i++;
    ensure(i < s->count);
    size_t wq = s->all[i].wq;
    s->all[i] = s->all[--s->count];
    s->running[wq]--;
    /* As long as another command of the hook runs, a shared slot is freed: whichever command is
     * left over at the end has the hook's own slot. */
    s->shared -= is_command(s, wq) && s->running[wq] > 0;
}
