/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/shortage.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* Bits 1 << enum shortage: of what a step of a start can be short. */
enum {
    FDS = 1 << SHORTAGE_DESCRIPTORS,
    PROCS = 1 << SHORTAGE_PROCESSES,
    MEMORY = 1 << SHORTAGE_MEMORY
};

/* The steps of a start in main, and in the helper and its child (helper/child.c). An errno counts
 * only at a step that can be short of that: EAGAIN means a limit of processes at fork, setuid and
 * exec, and something else at the other steps. */
static const struct {
    const char *stage;
    unsigned needs;
} stages[] = {
    {SHORTAGE_MEMORY_FILE, FDS | MEMORY        },
    {"send",               FDS | MEMORY        },
    {"receive",            FDS                 },
    {"pipe",               FDS | MEMORY        },
    {"fork",               PROCS | MEMORY      },
    {"descriptors",        FDS | MEMORY        },
    {"setgroups",          MEMORY              },
    {"setgid",             MEMORY              },
    {"setuid",             PROCS | MEMORY      }, /* RLIMIT_NPROC of the hook's user ... */
    {"exec",               FDS | PROCS | MEMORY}, /* ... which newer kernels look at here */
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

enum shortage shortage_lacking(const char *stage, int error)
{
    enum shortage kind = kind_of(error);

    for (size_t i = 0; i < ARRAY_LEN(stages); i++)
        if (strcmp(stage, stages[i].stage) == 0)
            return (stages[i].needs & 1U << kind) != 0 ? kind : SHORTAGE_NONE;
    return SHORTAGE_NONE;
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
