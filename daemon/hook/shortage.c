/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/shortage.h"

#include <errno.h>

/* Bits 1 << enum shortage: the resources that a step of a start can be short of. */
enum {
    FDS = 1 << SHORTAGE_DESCRIPTORS,
    PROCS = 1 << SHORTAGE_PROCESSES,
    MEMORY = 1 << SHORTAGE_MEMORY
};

/* The resources that a step of a start can be short of, in main, and in the helper and its child.
 * An errno counts only at a step that can be short of that: EAGAIN means a limit of processes at
 * fork, setuid and exec, and something else at the other steps. */
static const unsigned needs[RUN_STAGES] = {
    [RUN_STAGE_MEMORY_FILE] = FDS | MEMORY,
    [RUN_STAGE_SEND] = FDS | MEMORY,
    [RUN_STAGE_RECEIVE] = FDS,
    [RUN_STAGE_PIPE] = FDS | MEMORY,
    [RUN_STAGE_FORK] = PROCS | MEMORY,
    [RUN_STAGE_CGROUP] = FDS | PROCS | MEMORY, /* EAGAIN: cgroup.max.descendants */
    [RUN_STAGE_DESCRIPTORS] = FDS | MEMORY,
    [RUN_STAGE_SETGROUPS] = MEMORY,
    [RUN_STAGE_SETGID] = MEMORY,
    [RUN_STAGE_SETUID] = PROCS | MEMORY,     /* RLIMIT_NPROC of the hook's user */
    [RUN_STAGE_EXEC] = FDS | PROCS | MEMORY, /* newer kernels look at RLIMIT_NPROC here */
};

static enum shortage kind_of(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ETOOMANYREFS: /* too many descriptors are on their way through sockets */
        return SHORTAGE_DESCRIPTORS;
    case EAGAIN:
        return SHORTAGE_PROCESSES;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC: /* of the file system that memory files live in */
        return SHORTAGE_MEMORY;
    default:
        return SHORTAGE_NONE;
    }
}

enum shortage shortage_of(const struct run_end *end)
{
    bool follows = end->program == RUN_PROGRAM_OUTPUT || end->program == RUN_PROGRAM_CHECK;

    if (end->kind != RUN_END_REFUSED || follows)
        return SHORTAGE_NONE;
    enum shortage kind = kind_of(end->value);
    return (needs[end->stage] & 1U << kind) != 0 ? kind : SHORTAGE_NONE;
}

const char *shortage_name(enum shortage shortage)
{
    static const char *const names[SHORTAGE_KINDS] = {"", "descriptors", "processes", "memory"};

    return names[shortage];
}

const char *shortage_advice(enum shortage shortage)
{
    static const char *const advice[SHORTAGE_KINDS] = {
        "",
        "raise LimitNOFILE= of the unit (ulimit -n) or fs.file-max",
        "raise TasksMax= or LimitNPROC= of the unit (ulimit -u), or end processes of the user",
        "free memory, or raise MemoryMax= of the unit",
    };

    return advice[shortage];
}
