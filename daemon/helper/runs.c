/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/runs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "helper/clock.h"

enum {
    FIRST_CAPACITY = 16,
    MAX_GRACE_MS = 60 * 1000, /* helper.h: kill_grace_ms */
    LAST_WAIT_MS = 5 * 1000,  /* for a process that even SIGKILL does not end soon (hung disk) */
    RETRY_MS = 20,            /* to look again, as not each process of a run sends SIGCHLD here */
    MAX_WAIT_MS = 60 * 1000   /* keeps the result an int */
};

/* RUNNING goes to SIGNALED with the first signal, and to CLEARING when the program is reaped after
 * a bad end. KILLED and GIVEN_UP are states of runs_end_all() only. */
enum run_state {
    RUN_RUNNING,
    RUN_SIGNALED, /* a signal was sent: all of the run is killed when its program ends */
    RUN_KILLED,   /* SIGKILL was sent at the end of the helper */
    RUN_CLEARING, /* the program is reaped; the processes that it left are being killed */
    RUN_GIVEN_UP  /* even SIGKILL has not ended the program: it is not waited for */
};

struct run {
    uint64_t id;
    struct runs_stop stop; /* not used by a run of runs_clear() */
    struct child child;    /* from CLEARING on its number may be another process' */
    pid_t group; /* its process group; 0 = it has none, or that may be another run's by now */
    struct run_cgroup cgroup;
    enum run_state state;
    struct run_end end;   /* CLEARING: it waits until the processes are gone */
    uint64_t deadline_ms; /* CLEARING: the last look; in runs_end_all() the next escalation */
    uint64_t retry_ms;    /* CLEARING: the next look */
};

void runs_init(struct runs *r, struct run_cgroups *cgroups, runs_end_cb *on_end, void *arg)
{
    *r = (struct runs){.cgroups = cgroups, .on_end = on_end, .arg = arg};
}

static void drop_run(struct runs *r, struct run *run, bool is_spared)
{
    if (run->child.status_fd >= 0)
        close(run->child.status_fd);
    run_cgroup_leave(r->cgroups, &run->cgroup, is_spared);
}

void runs_fini(struct runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        drop_run(r, &r->all[i], false);
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

/* The run whose program has this number. A run in CLEARING does not count: its program is reaped,
 * and the number may belong to the program of another run. */
static struct run *find_pid(const struct runs *r, pid_t pid)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->all[i].child.pid == pid && r->all[i].state != RUN_CLEARING)
            return &r->all[i];
    return NULL;
}

bool runs_has(const struct runs *r, uint64_t id)
{
    return find(r, id) != NULL;
}

/* The number of a process group that is empty can be that of a new program: the run that had it is not
 * to wait for that one. */
static void forget_group(struct runs *r, pid_t pid)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->all[i].group == pid)
            r->all[i].group = 0;
}

void runs_add(struct runs *r, uint64_t id, struct runs_stop stop, struct child child,
              struct run_cgroup cgroup)
{
    forget_group(r, child.pid);
    if (r->count == r->capacity) {
        r->capacity = r->capacity > 0 ? r->capacity * 2 : FIRST_CAPACITY;
        r->all = mem_realloc(r->all, r->capacity * sizeof(*r->all));
    }
    r->all[r->count++] =
        (struct run){.id = id, .stop = stop, .child = child, .group = child.pid, .cgroup = cgroup};
}

/* ---- The processes of a run besides its program */

/* Without a cgroup the process group stands for the run: has it a member that is a child of the helper?
 * As long as it has one, no other process can get its number. One that is dead counts until
 * reap_one() has reaped it. */
static bool has_group(const struct run *run)
{
    siginfo_t info;

    return waitid(P_PGID, (id_t)run->group, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Kills the processes that are left of the run. True: there are none any more. */
static bool clear(struct run *run)
{
    if (run->cgroup.fd < 0)
        return run->group <= 0 || !has_group(run);
    if (!run_cgroup_is_populated(&run->cgroup))
        return true;
    run_cgroup_kill(&run->cgroup);
    return false;
}

/* Sends a signal to the group, and to the program itself if it has left the group. The program is
 * not reaped, so both numbers are its own. No signal comes twice, except SIGKILL, where it does not
 * matter: the program might leave the group right after the first one. */
static void send_signal(const struct run *run, int signal_number)
{
    pid_t pid = run->child.pid;

    kill(-pid, signal_number);
    if (getpgid(pid) != pid || signal_number == SIGKILL)
        kill(pid, signal_number);
}

static void signal_run(struct run *run, int signal_number)
{
    if (run->state == RUN_CLEARING)
        return;
    if (run->state == RUN_RUNNING)
        run->state = RUN_SIGNALED;
    send_signal(run, signal_number);
    if (signal_number == SIGKILL)
        run_cgroup_kill(&run->cgroup);
}

void runs_kill(struct runs *r, uint64_t id, int signal_number)
{
    struct run *run = find(r, id);

    if (run != NULL)
        signal_run(run, signal_number);
}

/* ---- Ends */

/* The run is over. The last run moves to its place, so its end is copied before. */
static void forget(struct runs *r, struct run *run)
{
    struct run_end end = run->end;
    uint64_t id = run->id;

    if (run->state == RUN_CLEARING)
        r->clearing--;
    drop_run(r, run, run->state == RUN_RUNNING); /* only a good end comes in this state */
    *run = r->all[--r->count];
    r->on_end(r->arg, id, &end);
}

static uint64_t cpu_us(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Looks once more for processes of the run. The run is over when no process is left, or after
 * LAST_WAIT_MS. */
static void go_on_clearing(struct runs *r, struct run *run, uint64_t now)
{
    bool is_clear = clear(run);

    run->retry_ms = now + RETRY_MS;
    if (!is_clear && now < run->deadline_ms)
        return;
    run_cgroup_tell_left(&run->cgroup, &run->end);
    forget(r, run);
}

static void start_clearing(struct runs *r, struct run *run)
{
    uint64_t now = clock_now_ms();

    run->state = RUN_CLEARING;
    run->deadline_ms = now + LAST_WAIT_MS;
    r->clearing++;
    go_on_clearing(r, run, now);
}

void runs_clear(struct runs *r, uint64_t id, const char *name)
{
    struct run_cgroup cgroup;

    if (!run_cgroup_find(r->cgroups, name, &cgroup))
        log_debug("helper: there is no cgroup of the run to clear", KV_STR("run", name));
    runs_add(r, id, (struct runs_stop){0}, (struct child){.status_fd = -1}, cgroup);
    start_clearing(r, &r->all[r->count - 1]);
}

/* The program has ended and is a zombie: its number, which is that of the group, is still its own until
 * wait4(). So the group is killed before. A run that was signaled is killed even if its program has
 * ended with 0. A good run with leave = "kill" ends well, but not before its processes are gone. */
static void end_run(struct runs *r, struct run *run, const siginfo_t *info)
{
    struct rusage usage = {0};

    run->end = child_end(&run->child, info);
    run->end.killed = run->state != RUN_RUNNING;
    bool is_good = run_end_is_good(&run->end) && run->state == RUN_RUNNING;
    bool is_spared = is_good && !run->stop.kills_left;
    if (is_good)
        run_cgroup_tell_left(&run->cgroup, &run->end);
    if (!is_spared)
        kill(-run->child.pid, SIGKILL);
    wait4(run->child.pid, NULL, 0, &usage);
    run->end.cpu_us = cpu_us(&usage);
    run_cgroup_tell_usage(&run->cgroup, &run->end);
    if (is_good && run->stop.kills_left)
        run->end.cleared = run->end.left;
    if (is_spared)
        forget(r, run);
    else
        start_clearing(r, run);
}

/* Handles one child that has ended; false: there is none. WNOWAIT leaves it a zombie for
 * end_run(). */
static bool reap_one(struct runs *r)
{
    siginfo_t info = {0};

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return false;
    struct run *run = find_pid(r, info.si_pid);
    if (run != NULL) {
        end_run(r, run, &info);
        return true;
    }
    waitpid(info.si_pid, NULL, 0);
    r->is_one_reaped = true;
    return true;
}

void runs_reap(struct runs *r)
{
    while (reap_one(r))
        continue;
    uint64_t now = r->clearing > 0 ? clock_now_ms() : 0;
    /* From the end, because forget() fills a gap from there. */
    for (size_t i = r->count; i-- > 0 && r->clearing > 0;)
        if (r->all[i].state == RUN_CLEARING && (r->is_one_reaped || r->all[i].retry_ms <= now))
            go_on_clearing(r, &r->all[i], now);
    r->is_one_reaped = false;
}

/* When the next step for a run is due. */
static uint64_t due_ms(const struct run *run)
{
    return run->state == RUN_CLEARING ? run->retry_ms : run->deadline_ms;
}

static int shorter(int wait, uint64_t due, uint64_t now)
{
    uint64_t left = due > now ? due - now : 0;
    int ms = left < MAX_WAIT_MS ? (int)left : MAX_WAIT_MS;

    return wait < 0 || ms < wait ? ms : wait;
}

int runs_wait_ms(const struct runs *r)
{
    int wait = -1;

    if (r->clearing == 0)
        return wait;
    uint64_t now = clock_now_ms();
    for (const struct run *run = r->all; run < r->all + r->count; run++)
        if (run->state == RUN_CLEARING)
            wait = shorter(wait, due_ms(run), now);
    return wait;
}

/* ---- The end of all runs */

/* Sends kill_signal. A run in CLEARING has no program any more, and keeps its deadline. */
static void start_end(struct run *run, uint64_t now)
{
    if (run->state == RUN_CLEARING)
        return;
    uint64_t grace = run->stop.grace_ms;
    run->deadline_ms = now + (grace < MAX_GRACE_MS ? grace : MAX_GRACE_MS);
    signal_run(run, run->stop.signal_number);
}

/* RUNNING or SIGNALED: SIGKILL after the grace. KILLED: given up after LAST_WAIT_MS. */
static void escalate(struct run *run, uint64_t now)
{
    if (run->state == RUN_GIVEN_UP || run->state == RUN_CLEARING || now < run->deadline_ms)
        return;
    if (run->state == RUN_KILLED) {
        run->state = RUN_GIVEN_UP; /* it hangs in the kernel: the helper does not wait for it */
        return;
    }
    signal_run(run, SIGKILL);
    run->state = RUN_KILLED;
    run->deadline_ms = now + LAST_WAIT_MS;
}

/* Milliseconds until the next step of any run is due, at most a minute; -1 = no run is waited
 * for. */
static int next_wait(const struct runs *r, uint64_t now)
{
    int wait = -1;

    for (const struct run *run = r->all; run < r->all + r->count; run++)
        if (run->state != RUN_GIVEN_UP)
            wait = shorter(wait, due_ms(run), now);
    return wait;
}

void runs_end_all(struct runs *r, int signal_fd)
{
    struct signalfd_siginfo info;
    uint64_t now = clock_now_ms();
    int wait;

    runs_reap(r); /* a program that has ended by itself before is not taken for killed */
    for (size_t i = 0; i < r->count; i++)
        start_end(&r->all[i], now);
    while ((wait = next_wait(r, now)) >= 0) {
        struct pollfd p = {.fd = signal_fd, .events = POLLIN};

        if (poll(&p, 1, wait) == 1 && read(signal_fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
            return;
        runs_reap(r);
        now = clock_now_ms();
        for (size_t i = 0; i < r->count; i++)
            escalate(&r->all[i], now);
    }
}
