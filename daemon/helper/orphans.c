/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/orphans.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "helper/clock.h"

/* An exec or the end of a process takes far less than a second. A process whose environment cannot
 * be read for longer than that would hold up the end of every run that is being cleared. */
enum { FIRST_CAPACITY = 16, PATIENCE_MS = 1000 };

enum orphan_state { ORPHAN_UNREAD, ORPHAN_READ };

struct orphan {
    pid_t pid;
    enum orphan_state state;
    uint64_t until_ms; /* UNREAD: from then on it counts as an orphan of no run */
    char *run;         /* its INFORMERD_RUN; NULL = not set, or not read yet */
};

void orphans_init(struct orphans *o, const char *proc, pid_t self)
{
    *o = (struct orphans){0};
    descent_open(&o->descent, proc, self);
}

void orphans_fini(struct orphans *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->all[i].run);
    free(o->all);
    descent_pids_free(&o->children);
    descent_close(&o->descent);
    *o = (struct orphans){.descent = o->descent};
}

/* The index of pid among the sorted orphans, or the index at which it belongs. */
static size_t place(const struct orphans *o, pid_t pid)
{
    size_t low = 0;
    size_t high = o->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (o->all[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct orphans *o, size_t at, pid_t pid)
{
    return at < o->count && o->all[at].pid == pid;
}

static void insert(struct orphans *o, size_t at, pid_t pid)
{
    if (o->count == o->capacity) {
        o->capacity = o->capacity > 0 ? o->capacity * 2 : FIRST_CAPACITY;
        o->all = mem_realloc(o->all, o->capacity * sizeof(*o->all));
    }
    memmove(&o->all[at + 1], &o->all[at], (o->count - at) * sizeof(*o->all));
    o->all[at] = (struct orphan){.pid = pid, .until_ms = clock_now_ms() + PATIENCE_MS};
    o->count++;
    o->unread++;
}

void orphans_forget(struct orphans *o, pid_t pid)
{
    size_t at = place(o, pid);

    if (!is_at(o, at, pid))
        return;
    if (o->all[at].state == ORPHAN_UNREAD)
        o->unread--;
    free(o->all[at].run);
    o->count--;
    memmove(&o->all[at], &o->all[at + 1], (o->count - at) * sizeof(*o->all));
}

/* Adds the children that are neither programs of the helper nor known orphans. */
static void take_new(struct orphans *o, orphans_is_program_cb *is_program, const void *arg)
{
    for (size_t i = 0; i < o->children.count; i++) {
        pid_t pid = o->children.all[i];
        size_t at = place(o, pid);

        if (!is_at(o, at, pid) && !is_program(arg, pid))
            insert(o, at, pid);
    }
}

/* Tries to read each environment that was not read yet. The kernel keeps the environment that a
 * process was started with, so one successful read is enough, until the process execs: then the new
 * environment is not looked at. */
static void read_environments(struct orphans *o)
{
    uint64_t now = clock_now_ms();

    for (struct orphan *p = o->all; o->unread > 0 && p < o->all + o->count; p++) {
        if (p->state == ORPHAN_READ)
            continue;
        if (process_variable(o->descent.proc, p->pid, "INFORMERD_RUN", &p->run) ==
                PROCESS_VARIABLE_LATER &&
            now < p->until_ms)
            continue;
        p->state = ORPHAN_READ;
        o->unread--;
    }
}

bool orphans_update(struct orphans *o, size_t programs, orphans_is_program_cb *is_program,
                    const void *arg)
{
    descent_children(&o->descent, &o->children);
    /* A child stays in the list until the helper reaps it, and orphans_forget() follows. So equal
     * counts mean that there is no new child. */
    if (o->children.count != programs + o->count)
        take_new(o, is_program, arg);
    if (o->unread > 0)
        read_environments(o);
    return o->unread == 0;
}

/* Does the orphan belong to the run: by INFORMERD_RUN, or by its process group now? */
static bool is_of(const struct orphan *p, const char *run, pid_t group)
{
    if (p->run != NULL && run != NULL && strcmp(p->run, run) == 0)
        return true;
    return group > 0 && getpgid(p->pid) == group;
}

size_t orphans_collect(const struct orphans *o, const char *run, pid_t group,
                       struct descent_set *set)
{
    struct process found;
    size_t dead = 0;

    for (size_t i = 0; i < o->count; i++) {
        if (!is_of(&o->all[i], run, group))
            continue;
        if (process_look(o->descent.proc, o->all[i].pid, &found) == PROCESS_ALIVE)
            descent_add(set, &found);
        else
            dead++;
    }
    return dead;
}
