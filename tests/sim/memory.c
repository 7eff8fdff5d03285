/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory.h"

void memory_init(struct memory *m, struct clock *clock, const struct api *api,
                 const struct rules *rules, struct handler *handlers, uint64_t *features)
{
    m->clock = clock;
    m->handlers = handlers;
    restore_init(&m->restore, clock);
    marks_init(&m->marks, &m->restore, features);
    witness_init(&m->witness, clock, api, rules, &m->restore, features);
    for (size_t i = 0; i < HOOKS; i++)
        m->outputs[i] = (struct outputs){.rules = &rules[i],
                                         .shelf = &handlers[i].shelf,
                                         .restore = &m->restore,
                                         .features = features};
}

void memory_fini(struct memory *m)
{
    restore_fini(&m->restore);
    marks_fini(&m->marks);
}

void persist_end_incarnation(struct memory *m, bool orderly)
{
    if (orderly)
        restore_sync(&m->restore);
    else
        restore_crash(&m->restore);
    witness_crash(&m->witness);
    for (size_t i = 0; i < HOOKS; i++)
        outputs_crash(&m->outputs[i]);
}

static void renew(struct memory *m, size_t hook)
{
    clock_trace(m->clock, "hook-%zu is another one", hook);
    m->marks.settings[hook]++;
    outputs_renew(&m->outputs[hook]);
    witness_renew(&m->witness, hook);
    handler_undo(&m->handlers[hook]);
}

void persist_renew_some(struct memory *m, unsigned percent)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (marks_known(&m->marks) && clock_percent(m->clock, percent))
            renew(m, i);
}
