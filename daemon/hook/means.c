/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/means.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

/* Bits 1 << enum means: what a step can lack. */
enum { FDS = 1 << MEANS_DESCRIPTORS, PROCS = 1 << MEANS_PROCESSES, MEMORY = 1 << MEANS_MEMORY };

static const struct {
    const char *stage;
    unsigned needs;
} stages[] = {
    {MEANS_MEMORY_FILE, FDS | MEMORY        },
    {"send",            FDS | MEMORY        },
    {"receive",         FDS                 },
    {"pipe",            FDS | MEMORY        },
    {"fork",            PROCS | MEMORY      },
    {"descriptors",     FDS | MEMORY        },
    {"setgroups",       MEMORY              },
    {"setgid",          MEMORY              },
    {"setuid",          PROCS | MEMORY      }, /* RLIMIT_NPROC of the hook's user ... */
    {"exec",            FDS | PROCS | MEMORY}, /* ... which newer kernels look at here */
};

static enum means kind_of(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ETOOMANYREFS: /* too many descriptors are on their way through sockets */
        return MEANS_DESCRIPTORS;
    case EAGAIN:
        return MEANS_PROCESSES;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC: /* of the file system that memory files live in */
        return MEANS_MEMORY;
    default:
        return MEANS_ENOUGH;
    }
}

enum means means_lacking(const char *stage, int error)
{
    enum means kind = kind_of(error);

    for (size_t i = 0; i < ARRAY_LEN(stages); i++)
        if (strcmp(stage, stages[i].stage) == 0)
            return (stages[i].needs & 1U << kind) != 0 ? kind : MEANS_ENOUGH;
    return MEANS_ENOUGH;
}

const char *means_name(enum means means)
{
    static const char *const names[MEANS_KINDS] = {"", "descriptors", "processes", "memory"};

    return names[means];
}

const char *means_advice(enum means means)
{
    static const char *const advice[MEANS_KINDS] = {
        "",
        "raise LimitNOFILE= of the unit (ulimit -n) or fs.file-max",
        "raise TasksMax= or LimitNPROC= of the unit (ulimit -u), or end processes of the user",
        "free memory, or raise MemoryMax= of the unit",
    };

    return advice[means];
}
