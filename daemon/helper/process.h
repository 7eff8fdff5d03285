/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process - one process in /proc: its identity, a variable of its environment, and signals to it;
 * driver. The number of a process alone does not identify it, because another process may have the
 * number by now. So the start time belongs to the identity, and is compared before a signal is
 * sent.
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
    uint64_t start; /* ticks since boot; together with pid the identity of the process */
    char name[RUN_END_COMM_SIZE];
};

enum process_state {
    PROCESS_GONE,
    PROCESS_DEAD, /* a zombie: waits to be reaped */
    PROCESS_ALIVE,
    PROCESS_HIDDEN /* this process has no descriptor or no memory left to look at it */
};

/* The result of process_signal(). */
enum process_sent { PROCESS_WAS_GONE, PROCESS_SIGNALED, PROCESS_REFUSED };

/* The result of process_variable(). */
enum process_variable {
    PROCESS_VARIABLE_SET,
    /* The process has no such variable, is gone, or its environment may not be read (another
     * user's). */
    PROCESS_VARIABLE_NONE,
    /* Ask again: the process is in an exec, ends or is dead, or this process is out of descriptors
     * or memory. */
    PROCESS_VARIABLE_LATER
};

/* Looks at a process; proc is where procfs is mounted. Fills out if the process is DEAD or ALIVE;
 * characters of its name that are not printable become '?'. */
enum process_state process_look(const char *proc, pid_t pid, struct process *out) MUST_CHECK;

/* Is the process in p alive? Another process with its number does not count. */
bool process_is_alive(const char *proc, const struct process *p) MUST_CHECK;

/* Reads the first variable `name` of the environment that the process was started with. *value is
 * the caller's to free; NULL unless the result is SET. */
enum process_variable process_variable(const char *proc, pid_t pid, const char *name,
                                       char **value) MUST_CHECK;

/* Sends a signal if the process is alive and still the one in p. REFUSED: it is alive, and this
 * process has no right to signal it. */
enum process_sent process_signal(const char *proc, const struct process *p, int signal_number);

#endif
