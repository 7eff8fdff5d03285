/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - one process as /proc tells it: who it is, a variable of its environment, its end;
 * driver. A number alone is nobody: it may be another process' by now, so who sends a
 * signal asks for the start time too.
 */
#ifndef HELPER_PROCESS_H
#define HELPER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/wire.h"

struct process {
    pid_t pid;
    pid_t parent;
    uint64_t start; /* ticks since boot; with pid: who it is */
    char name[WIRE_COMM_SIZE];
};

enum process_state {
    PROCESS_GONE,
    PROCESS_DEAD, /* only waits to be reaped */
    PROCESS_ALIVE,
    PROCESS_HIDDEN /* no descriptor or no memory to look at it */
};

/* What became of process_signal(). */
enum process_sent { PROCESS_WAS_GONE, PROCESS_SIGNALED, PROCESS_REFUSED };

/* Whether a variable could be read. */
enum process_variable {
    PROCESS_VARIABLE_SET,
    PROCESS_VARIABLE_NONE, /* or it may not be read: another user's */
    PROCESS_VARIABLE_LATER /* it is being replaced (exec), ends or is dead, or there was no descriptor */
};

/* Looks at a process; proc is where procfs is mounted. out is filled if it is dead or alive; what
 * is not printable in its name is '?'. */
enum process_state process_look(const char *proc, pid_t pid, struct process *out) MUST_CHECK;

/* Does this very process live, not another with its number? */
bool process_is_alive(const char *proc, const struct process *p) MUST_CHECK;

/* The first variable of that name in the environment that the process was started with; *value is
 * the caller's to free, NULL unless SET. */
enum process_variable process_variable(const char *proc, pid_t pid, const char *name,
                                       char **value) MUST_CHECK;

/* Sends a signal if the process lives and is still the one in p. REFUSED: it lives, and may not be
 * signaled. */
enum process_sent process_signal(const char *proc, const struct process *p, int signal_number);

#endif
