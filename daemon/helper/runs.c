/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/runs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum {
    FIRST_CAPACITY = 16,
    MAX_GRACE_MS = 60 * 1000,
    LAST_WAIT_MS = 5 * 1000 /* for a process that even SIGKILL does not end soon */
};

enum run_state { RUN_RUNNING, RUN_SIGNALED, RUN_KILLED, RUN_GIVEN_UP };

struct run {
    uint64_t id;
    const struct helper_hook *hook;
    struct child child;
    enum run_state state; /* from SIGNALED on its group is killed when it ends */
    uint64_t deadline_ms; /* of runs_end_all() */
};

void runs_init(struct runs *r, runs_end_cb *on_end, void *arg)
{
    *r = (struct runs){.on_end = on_end, .arg = arg};
}

void runs_fini(struct runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        close(r->all[i].child.status_fd);
    free(r->all);
    r->all = NULL;
    r->count = 0;
}

static struct run *find(const struct runs *r, uint64_t id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->all[i].id == id)
            return &r->all[i];
    return NULL;
}

static struct run *find_pid(const struct runs *r, pid_t pid)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->all[i].child.pid == pid)
            return &r->all[i];
    return NULL;
}

bool runs_has(const struct runs *r, uint64_t id)
{
    return find(r, id) != NULL;
}

void runs_add(struct runs *r, uint64_t id, const struct helper_hook *hook, struct child child)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity > 0 ? r->capacity * 2 : FIRST_CAPACITY;
        r->all = mem_realloc(r->all, r->capacity * sizeof(*r->all));
    }
    r->all[r->count++] = (struct run){.id = id, .hook = hook, .child = child};
}

static void signal_group(struct run *run, int signal_number)
{
    if (run->state == RUN_RUNNING)
        run->state = RUN_SIGNALED;
    kill(-run->child.pid, signal_number);
}

void runs_kill(struct runs *r, uint64_t id, int signal_number)
{
    struct run *run = find(r, id);

    if (run != NULL)
        signal_group(run, signal_number);
}

static uint64_t cpu_us(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* The child is a zombie here. */
static void end_run(struct runs *r, struct run *run, const siginfo_t *info)
{
    struct wire_reply reply = {
        .type = WIRE_EXITED,
        .id = run->id,
        .how = info->si_code == CLD_EXITED ? WIRE_HOW_EXITED : WIRE_HOW_SIGNALED,
        .value = info->si_status,
    };
    bool is_good = reply.how == WIRE_HOW_EXITED && reply.value == 0;
    struct child_failure why;
    struct rusage usage = {0};

    if (!is_good || run->state != RUN_RUNNING)
        kill(-run->child.pid, SIGKILL);
    wait4(run->child.pid, NULL, 0, &usage);
    reply.cpu_us = cpu_us(&usage);
    if (child_failed(&run->child, &why)) {
        reply.how = WIRE_HOW_NOT_STARTED;
        reply.value = why.error;
        memcpy(reply.stage, why.stage, sizeof(reply.stage));
    }
    *run = r->all[--r->count];
    r->on_end(r->arg, &reply);
}

/* Takes one child that has ended; false when there is none. */
static bool reap_one(struct runs *r)
{
    siginfo_t info = {0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return false;
    struct run *run = find_pid(r, info.si_pid);
    if (run != NULL)
        end_run(r, run, &info);
    else
        waitpid(info.si_pid, NULL, 0); /* not one of ours */
    return true;
}

void runs_reap(struct runs *r)
{
    while (reap_one(r))
        continue;
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void start_end(struct run *run, uint64_t now)
{
    uint64_t grace = run->hook->kill_grace_ms;

    run->deadline_ms = now + (grace < MAX_GRACE_MS ? grace : MAX_GRACE_MS);
    signal_group(run, run->hook->kill_signal);
}

static void escalate(struct run *run, uint64_t now)
{
    if (run->state == RUN_GIVEN_UP || now < run->deadline_ms)
        return;
    if (run->state == RUN_KILLED) {
        run->state = RUN_GIVEN_UP;
        return;
    }
    signal_group(run, SIGKILL);
    run->state = RUN_KILLED;
    run->deadline_ms = now + LAST_WAIT_MS;
}

/* Milliseconds until something is due, at most a minute; -1 = nothing is waited for. */
static int next_wait(const struct runs *r, uint64_t now)
{
    int wait = -1;

    for (const struct run *run = r->all; run < r->all + r->count; run++) {
        int left = run->deadline_ms > now ? (int)(run->deadline_ms - now) : 0;

        if (run->state != RUN_GIVEN_UP && (wait < 0 || left < wait))
            wait = left;
    }
    return wait;
}

void runs_end_all(struct runs *r, int signal_fd)
{
    struct signalfd_siginfo info;
    uint64_t now = now_ms();
    int wait;

    runs_reap(r);
    for (size_t i = 0; i < r->count; i++)
        start_end(&r->all[i], now);
    while ((wait = next_wait(r, now)) >= 0) {
        struct pollfd p = {.fd = signal_fd, .events = POLLIN};

        if (poll(&p, 1, wait) == 1 && read(signal_fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
            return;
        runs_reap(r);
        now = now_ms();
        for (size_t i = 0; i < r->count; i++)
            escalate(&r->all[i], now);
    }
}
