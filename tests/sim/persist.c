/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/persist.h"

void persist_init(struct persist *m, struct clock *clock, const struct api *api,
                  const struct rules *rules, struct handler *handlers, uint64_t *features)
{
    m->clock = clock;
    m->handlers = handlers;
    disk_init(&m->disk, clock);
    disk_hooks_init(&m->disk_hooks, &m->disk, features);
    restart_oracle_init(&m->restart_oracle, clock, api, rules, &m->disk, features);
    for (size_t i = 0; i < HOOKS; i++)
        m->outputs[i] = (struct outputs){.rules = &rules[i],
                                         .output_files = &handlers[i].output_files,
                                         .disk = &m->disk,
                                         .features = features};
}

void persist_fini(struct persist *m)
{
    disk_fini(&m->disk);
    disk_hooks_fini(&m->disk_hooks);
    restart_oracle_fini(&m->restart_oracle);
}

void persist_end_incarnation(struct persist *m, bool orderly)
{
    if (orderly)
        disk_sync(&m->disk);
    else
        disk_crash(&m->disk);
    restart_oracle_crash(&m->restart_oracle);
    for (size_t i = 0; i < HOOKS; i++) {
        outputs_crash(&m->outputs[i]);
        if (m->renewals[i] || disk_hooks_is_other(&m->disk_hooks, i))
            persist_renew(m, i);
    }
}

void persist_renew(struct persist *m, size_t hook)
{
    m->renewals[hook] = false;
    clock_trace(m->clock, "hook-%zu is another one", hook);
    m->disk_hooks.settings[hook]++;
    outputs_renew(&m->outputs[hook]);
    restart_oracle_renew(&m->restart_oracle, hook);
    handler_undo(&m->handlers[hook]);
}

void persist_renew_some(struct persist *m, unsigned percent)
{
    for (size_t i = 0; i < HOOKS; i++)
        if (disk_hooks_known(&m->disk_hooks) && clock_percent(m->clock, percent))
            persist_renew(m, i);
}
