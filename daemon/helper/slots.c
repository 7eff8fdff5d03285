/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/slots.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/panic.h"

enum lane { LANE_COMMAND, LANE_APPLY, LANE_FINGERPRINT, LANE_SWEEP, LANES };

struct slot {
    uint64_t id;
    size_t lane;
};

/* Behind the lanes of all hooks. */
static size_t clear_lane(const struct slots *s)
{
    return s->params->hook_count * LANES;
}

static size_t clear_most(const struct slots *s)
{
    return s->params->hook_count + s->params->shared_runs;
}

void slots_init(struct slots *s, const struct helper_params *params)
{
    *s = (struct slots){.params = params};
    size_t most = clear_lane(s) + params->shared_runs + clear_most(s);

    s->all = mem_array(most + 1, sizeof(*s->all));
    s->running = mem_array(clear_lane(s) + 1, sizeof(*s->running));
}

void slots_fini(struct slots *s)
{
    free(s->all);
    free(s->running);
    *s = (struct slots){0};
}

static bool is_command(const struct slots *s, size_t lane)
{
    return lane != clear_lane(s) && lane % LANES == LANE_COMMAND;
}

static size_t most(const struct slots *s, size_t lane)
{
    if (lane == clear_lane(s))
        return clear_most(s);
    return is_command(s, lane) ? s->params->hooks[lane / LANES].concurrency : 1;
}

static bool take(struct slots *s, uint64_t id, size_t lane)
{
    bool shares = is_command(s, lane) && s->running[lane] > 0;

    if (s->running[lane] >= most(s, lane) || (shares && s->shared >= s->params->shared_runs))
        return false;
    s->shared += shares;
    s->running[lane]++;
    s->all[s->count++] = (struct slot){id, lane};
    return true;
}

static enum lane lane_of(enum wire_program program)
{
    switch (program) {
    case WIRE_PROGRAM_COMMAND:
    case WIRE_PROGRAM_OUTPUT:
    case WIRE_PROGRAM_REMOVE:
        break;
    case WIRE_PROGRAM_APPLY:
        return LANE_APPLY;
    case WIRE_PROGRAM_FINGERPRINT:
        return LANE_FINGERPRINT;
    case WIRE_PROGRAM_SWEEP:
        return LANE_SWEEP;
    }
    return LANE_COMMAND;
}

bool slots_take(struct slots *s, uint64_t id, uint32_t hook, enum wire_program program)
{
    return take(s, id, (size_t)hook * LANES + lane_of(program));
}

bool slots_take_clear(struct slots *s, uint64_t id)
{
    return take(s, id, clear_lane(s));
}

void slots_free(struct slots *s, uint64_t id)
{
    size_t i = 0;

    while (i < s->count && s->all[i].id != id)
        i++;
    ensure(i < s->count);
    size_t lane = s->all[i].lane;
    s->all[i] = s->all[--s->count];
    s->running[lane]--;
    s->shared -= is_command(s, lane) && s->running[lane] > 0;
}
