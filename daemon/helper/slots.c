/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/slots.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

enum slot_kind {
    WORK_QUEUE_COMMAND,
    WORK_QUEUE_APPLY,
    WORK_QUEUE_FINGERPRINT,
    WORK_QUEUE_SWEEP,
    WORK_QUEUES
};

/* The work queues of a hook. Freed when a reload has dropped the hook, and its last run is over. */
struct slots_hook {
    char *name; /* NULL = none: it is never recognised */
    enum helper_kind kind;
    bool is_dropped; /* has no number any more */
    unsigned concurrency;
    unsigned file_most; /* files that may be written at a time: see renew_concurrency() */
    unsigned running[WORK_QUEUES];
};

struct slot {
    uint64_t id;
    struct slots_hook *hook; /* NULL = a CLEAR */
    enum slot_kind wq;
};

/* A CLEAR follows a command that has ended. So there are never more of them than commands: one for each
 * hook, and the shared ones. */
static size_t clear_most(const struct helper_params *params)
{
    return params->hook_count + params->shared_runs;
}

static struct slots_hook *create_hook(const struct helper_hook *hook)
{
    return MEM_NEW(struct slots_hook, .name = mem_strdup(hook->name), .kind = hook->kind);
}

/* Frees the hook if it has neither a number nor a run. */
static void release_hook(struct slots_hook *h)
{
    for (size_t i = 0; i < WORK_QUEUES; i++)
        if (!h->is_dropped || h->running[i] > 0)
            return;
    free(h->name);
    free(h);
}

/* The hook of that kind and name that had a number before, and has none now; NULL = there is none. */
static struct slots_hook *find_dropped(struct slots_hook *const *hooks, size_t n,
                                       const struct helper_hook *hook)
{
    for (size_t i = 0; i < n; i++)
        if (hooks[i]->is_dropped && hook->name != NULL && hooks[i]->name != NULL &&
            strcmp(hooks[i]->name, hook->name) == 0 && hooks[i]->kind == hook->kind)
            return hooks[i];
    return NULL;
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* A run that writes its file after its command has no program between the two, and no slot. A reload that
 * allows fewer runs may find it there: files may be written as the configuration before allowed it, and as
 * those before it did, as long as there are runs. */
static void renew_concurrency(struct slots_hook *h, unsigned concurrency)
{
    unsigned before = h->running[WORK_QUEUE_COMMAND] > 0 ? h->file_most : h->concurrency;

    h->concurrency = concurrency;
    h->file_most = larger(before, concurrency);
}

/* A hook that is dropped, and comes back with a later reload while it has runs, begins anew: main
 * ends the runs of a hook before it drops it. */
void slots_renew(struct slots *s, const struct helper_params *params)
{
    struct slots_hook **before = s->hooks;
    size_t n = s->hook_count;

    for (size_t i = 0; i < n; i++)
        before[i]->is_dropped = true;
    s->hooks = mem_array(params->hook_count + 1, sizeof(struct slots_hook *));
    s->hook_count = params->hook_count;
    for (size_t i = 0; i < s->hook_count; i++) {
        struct slots_hook *h = find_dropped(before, n, &params->hooks[i]);

        s->hooks[i] = h != NULL ? h : create_hook(&params->hooks[i]);
        s->hooks[i]->is_dropped = false;
        renew_concurrency(s->hooks[i], params->hooks[i].concurrency);
    }
    for (size_t i = 0; i < n; i++)
        release_hook(before[i]);
    free(before);
    s->shared_file_most =
        larger(s->shared > 0 ? s->shared_file_most : s->shared_most, params->shared_runs);
    s->shared_most = params->shared_runs;
    s->clear_more = s->clear_most;
    s->clear_most = clear_most(params);
}

void slots_init(struct slots *s, const struct helper_params *params)
{
    *s = (struct slots){0};
    slots_renew(s, params);
}

void slots_fini(struct slots *s)
{
    while (s->count > 0)
        slots_free(s, s->all[0].id);
    for (size_t i = 0; i < s->hook_count; i++) {
        s->hooks[i]->is_dropped = true;
        release_hook(s->hooks[i]);
    }
    free(s->hooks);
    free(s->all);
    *s = (struct slots){0};
}

static void add(struct slots *s, struct slot slot)
{
    if (s->count == s->capacity) {
        s->capacity = 2 * s->capacity + 16;
        s->all = mem_realloc(s->all, s->capacity * sizeof(*s->all));
    }
    s->all[s->count++] = slot;
}

/* A run writes its file after its command has ended, and a removal takes the place of the command:
 * so both use the slot of the command. */
static enum slot_kind work_queue_of(enum run_program program)
{
    switch (program) {
    case RUN_PROGRAM_COMMAND:
    case RUN_PROGRAM_OUTPUT:
    case RUN_PROGRAM_REMOVE:
    case RUN_PROGRAM_FILES:
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

/* A reload kills the reading of a fingerprint that is under way, and main asks for the next one at
 * once: the helper may not have reaped the killed one yet. */
static unsigned most_of(const struct slots_hook *h, enum run_program program)
{
    switch (work_queue_of(program)) {
    case WORK_QUEUE_FINGERPRINT:
        return 2;
    case WORK_QUEUE_COMMAND:
        return program == RUN_PROGRAM_OUTPUT ? h->file_most : h->concurrency;
    case WORK_QUEUE_APPLY:
    case WORK_QUEUE_SWEEP:
    case WORK_QUEUES:
        break;
    }
    return 1;
}

/* Does a further run beside those of this work queue take a shared slot? The first command of a hook
 * has the hook's own slot, so a hook that hangs cannot keep another one from running
 * (docs/design.md "Slots"). Only hooks have shared slots. */
static bool shares(const struct slots_hook *h, enum slot_kind wq)
{
    return wq == WORK_QUEUE_COMMAND && h->kind == HELPER_HOOK && h->running[wq] > 0;
}

bool slots_take(struct slots *s, uint64_t id, uint32_t hook, enum run_program program)
{
    struct slots_hook *h = s->hooks[hook];
    enum slot_kind wq = work_queue_of(program);
    bool is_shared = shares(h, wq);
    unsigned shared_most = program == RUN_PROGRAM_OUTPUT ? s->shared_file_most : s->shared_most;

    if (h->running[wq] >= most_of(h, program) || (is_shared && s->shared >= shared_most))
        return false;
    s->shared += is_shared;
    h->running[wq]++;
    add(s, (struct slot){id, h, wq});
    return true;
}

bool slots_take_clear(struct slots *s, uint64_t id)
{
    if (s->clears >= s->clear_most + s->clear_more)
        return false;
    s->clears++;
    add(s, (struct slot){.id = id});
    return true;
}

void slots_free(struct slots *s, uint64_t id)
{
    size_t i = 0;

    while (i < s->count && s->all[i].id != id)
        i++;
    ensure(i < s->count);
    struct slot slot = s->all[i];
    s->all[i] = s->all[--s->count];
    if (slot.hook == NULL) {
        s->clears--;
        return;
    }
    slot.hook->running[slot.wq]--;
    /* As long as another command of the hook runs, a shared slot is freed: whichever command is
     * left over at the end has the hook's own slot. */
    s->shared -= shares(slot.hook, slot.wq);
    release_hook(slot.hook);
}
