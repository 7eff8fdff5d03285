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

#include "base/mem.h"
#include "helper/clock.h"

enum {
    FIRST_CAPACITY = 16,
    MAX_GRACE_MS = 60 * 1000, /* helper.h: kill_grace_ms */
    LAST_WAIT_MS = 5 * 1000,  /* for a process that even SIGKILL does not end soon (hung disk) */
    RETRY_MS = 20, /* to look again for escaped processes, as not each one sends SIGCHLD here */
    MAX_WAIT_MS = 60 * 1000, /* keeps the result an int */
    FREEZE_ROUNDS = 16       /* for processes that fork while they are stopped */
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
    char *name;            /* INFORMERD_RUN; NULL = not set */
    enum run_state state;
    /* Descendants that were seen when the run was signaled, or later. They may have lost their
     * parent since, and lack the name in their environment. */
    struct descent_set witnessed;
    struct run_end end;   /* CLEARING: it waits until the processes are gone */
    uint64_t deadline_ms; /* CLEARING: the last look; in runs_end_all() the next escalation */
    uint64_t retry_ms;    /* CLEARING: the next look */
};

void runs_init(struct runs *r, runs_end_cb *on_end, void *arg)
{
    *r = (struct runs){.on_end = on_end, .arg = arg};
    orphans_init(&r->orphans, "/proc", getpid());
}

static void drop_run(struct run *run)
{
    if (run->child.status_fd >= 0)
        close(run->child.status_fd);
    descent_set_free(&run->witnessed);
    free(run->name);
}

void runs_fini(struct runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        drop_run(&r->all[i]);
    free(r->all);
    r->all = NULL;
    r->count = 0;
    orphans_fini(&r->orphans);
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

void runs_add(struct runs *r, uint64_t id, struct runs_stop stop, struct child child,
              const char *name)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity > 0 ? r->capacity * 2 : FIRST_CAPACITY;
        r->all = mem_realloc(r->all, r->capacity * sizeof(*r->all));
    }
    r->all[r->count++] =
        (struct run){.id = id, .stop = stop, .child = child, .name = mem_strdup(name)};
}

/* ---- The processes of a run besides its group */

/* An orphans_is_program_cb. */
static bool is_program(const void *arg, pid_t pid)
{
    return find_pid(arg, pid) != NULL;
}

static bool update_orphans(struct runs *r)
{
    return orphans_update(&r->orphans, r->count - r->clearing, is_program, r);
}

/* Notes the descendants of the program before a signal is sent to it: the signal may end a parent,
 * and then nothing shows any more where a child without INFORMERD_RUN came from. */
static void witness(const struct runs *r, struct run *run)
{
    struct descent_set found = {0};
    struct process program;

    if (process_look(r->orphans.descent.proc, run->child.pid, &program) != PROCESS_ALIVE)
        return;
    descent_add(&found, &program);
    descent_extend(&r->orphans.descent, &found);
    for (size_t i = 1; i < found.count; i++) /* without the program itself */
        descent_add(&run->witnessed, &found.all[i]);
    descent_set_free(&found);
}

/* Adds the witnessed processes that are alive to out, and forgets the others. */
static void collect_witnessed(const struct runs *r, struct run *run, struct descent_set *out)
{
    struct descent_set *w = &run->witnessed;
    size_t before = w->count;

    w->count = 0;
    for (size_t i = 0; i < before; i++)
        if (process_is_alive(r->orphans.descent.proc, &w->all[i])) {
            descent_add(out, &w->all[i]);
            w->all[w->count++] = w->all[i];
        }
}

/* Fills out with the living processes of the run: witnessed ones, orphans with its name, and the
 * descendants of both. The group is not asked for, as SIGKILL went to it already. The witnessed
 * come before the orphans: if a witnessed process is dead by then, its children are orphans by now.
 * False: some orphans were dead, or their run is not known yet, so the caller must look again. */
static bool collect(struct runs *r, struct run *run, struct descent_set *out)
{
    collect_witnessed(r, run, out);
    bool is_known = update_orphans(r);
    size_t dead = orphans_collect(&r->orphans, run->name, 0, out);
    descent_extend(&r->orphans.descent, out);
    return is_known && dead == 0;
}

/* Notes the processes that are left: their number, and one of them by name; NULL = no process is
 * left. */
static void tell_left(struct run *run, size_t count, const struct process *one)
{
    static const struct process nobody;
    const struct process *p = one != NULL ? one : &nobody;

    run->end.left = (uint32_t)count;
    run->end.left_pid = p->pid;
    memcpy(run->end.left_comm, p->name, sizeof(run->end.left_comm));
}

/* After a good end: counts the processes that are spared. Here the group counts: its leader is not
 * reaped, so the number of the group is still its own. */
static void count_left(struct runs *r, struct run *run)
{
    struct descent_set left = {0};

    update_orphans(r);
    /* The program is dead, so each process that it left descends from an orphan. */
    if (r->orphans.count == 0)
        return;
    orphans_collect(&r->orphans, run->name, run->child.pid, &left);
    descent_extend(&r->orphans.descent, &left);
    tell_left(run, left.count, left.count > 0 ? &left.all[0] : NULL);
    descent_set_free(&left);
}

/* Stops all processes of the set before one is killed, and the children that they fork meanwhile. A
 * process that is killed in a fork leaves a child which may show nothing of where it came from; a
 * stopped one forks no more. */
static void freeze(const struct runs *r, struct descent_set *set)
{
    size_t n = 0;

    for (int round = 0; n < set->count && round < FREEZE_ROUNDS; round++) {
        for (; n < set->count; n++)
            process_signal(r->orphans.descent.proc, &set->all[n], SIGSTOP);
        descent_extend(&r->orphans.descent, set);
    }
}

/* Kills the processes of the run that it finds. True: no process is left, except processes that may
 * not be killed (of another user, when the helper is not root); run->end has their number. */
static bool clear(struct runs *r, struct run *run)
{
    struct descent_set left = {0};
    bool is_clear = collect(r, run, &left);

    freeze(r, &left);
    tell_left(run, 0, NULL);
    for (size_t i = 0; i < left.count; i++) {
        enum process_sent sent = process_signal(r->orphans.descent.proc, &left.all[i], SIGKILL);

        /* It is found again, even if the parent that it was found by ends first. */
        descent_add(&run->witnessed, &left.all[i]);
        if (sent != PROCESS_REFUSED)
            is_clear = false; /* it is about to end, or its children may be orphans by now */
        if (sent != PROCESS_WAS_GONE)
            tell_left(run, run->end.left + 1, &left.all[i]);
    }
    descent_set_free(&left);
    return is_clear;
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

static void signal_run(const struct runs *r, struct run *run, int signal_number)
{
    if (run->state == RUN_CLEARING)
        return;
    if (run->state == RUN_RUNNING)
        run->state = RUN_SIGNALED;
    witness(r, run);
    send_signal(run, signal_number);
}

void runs_kill(struct runs *r, uint64_t id, int signal_number)
{
    struct run *run = find(r, id);

    if (run != NULL)
        signal_run(r, run, signal_number);
}

/* ---- Ends */

/* The run is over. The last run moves to its place, so its end is copied before. */
static void forget(struct runs *r, struct run *run)
{
    struct run_end end = run->end;
    uint64_t id = run->id;

    if (run->state == RUN_CLEARING)
        r->clearing--;
    drop_run(run);
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
    run->retry_ms = now + RETRY_MS;
    if (clear(r, run) || now >= run->deadline_ms)
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
    runs_add(r, id, (struct runs_stop){0}, (struct child){.status_fd = -1}, name);
    start_clearing(r, &r->all[r->count - 1]);
}

/* The program has ended and is a zombie: its children are the helper's by now, and its number,
 * which is that of the group, is still its own until wait4(). So the group is counted or killed
 * before. A run that was signaled is killed even if its program has ended with 0. */
static void end_run(struct runs *r, struct run *run, const siginfo_t *info)
{
    struct rusage usage = {0};

    run->end = child_end(&run->child, info);
    run->end.killed = run->state != RUN_RUNNING;
    bool is_spared = run_end_is_good(&run->end) && run->state == RUN_RUNNING;
    if (is_spared)
        count_left(r, run);
    else
        kill(-run->child.pid, SIGKILL);
    wait4(run->child.pid, NULL, 0, &usage);
    run->end.cpu_us = cpu_us(&usage);
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
    orphans_forget(&r->orphans, info.si_pid);
    r->is_one_reaped = true;
    return true;
}

void runs_reap(struct runs *r)
{
    while (reap_one(r))
        continue;
    if (r->clearing == 0)
        return;
    uint64_t now = clock_now_ms();
    /* From the end, because forget() fills a gap from there. */
    for (size_t i = r->count; i-- > 0;)
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
static void start_end(const struct runs *r, struct run *run, uint64_t now)
{
    if (run->state == RUN_CLEARING)
        return;
    uint64_t grace = run->stop.grace_ms;
    run->deadline_ms = now + (grace < MAX_GRACE_MS ? grace : MAX_GRACE_MS);
    signal_run(r, run, run->stop.signal_number);
}

/* Even SIGKILL does not end the program of the run (it hangs in the kernel): the helper does not
 * wait for it. The processes that escaped from its group are killed at least. */
static void give_up(struct runs *r, struct run *run)
{
    run->state = RUN_GIVEN_UP;
    clear(r, run);
}

/* RUNNING or SIGNALED: SIGKILL after the grace. KILLED: given up after LAST_WAIT_MS. */
static void escalate(struct runs *r, struct run *run, uint64_t now)
{
    if (run->state == RUN_GIVEN_UP || run->state == RUN_CLEARING || now < run->deadline_ms)
        return;
    if (run->state == RUN_KILLED) {
        give_up(r, run);
        return;
    }
    signal_run(r, run, SIGKILL);
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
        start_end(r, &r->all[i], now);
    while ((wait = next_wait(r, now)) >= 0) {
        struct pollfd p = {.fd = signal_fd, .events = POLLIN};

        if (poll(&p, 1, wait) == 1 && read(signal_fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
            return;
        runs_reap(r);
        now = clock_now_ms();
        for (size_t i = 0; i < r->count; i++)
            escalate(r, &r->all[i], now);
    }
}
