/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop - the libuv loop and the services that every driver needs: the time, calls that run on a
 * fresh stack in the next turn, signals of the process, the shared receive buffer, a report of
 * leaked handles; driver.
 */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/list.h"

struct loop;
struct uv_loop_s;

/* How long the turns of the loop took, without the time that it had nothing to do: so long an event
 * may have waited at most before anybody looked at it. */
struct loop_lag {
    struct histogram count; /* each rounded up to ms */
    uint64_t busy_ns;       /* all together */
};

/* A call to make later, embedded in the object that the call is about. */
struct loop_task {
    struct list link; /* on no list = not queued */
    void (*fn)(struct loop_task *task);
};

/* Bytes that a connection reads at once: the size of the one buffer that all connections share. */
#define LOOP_RECV_BYTES ((size_t)64 * 1024)

/* A loop with nothing to do. Panics if the system is out of memory or descriptors. Never NULL;
 * release with loop_destroy(). */
struct loop *loop_create(void);

/* Ends the loop and sets *l to NULL. Everything on the loop must have been disposed before, and no
 * task be queued. Waits for close callbacks and for worker threads that still work. If a handle was
 * not closed, logs the types of such handles and panics. NULL is fine. */
void loop_destroy(struct loop **l);

/* The same at the end of the process, without a wait for worker threads: a lookup of a name may take
 * minutes, and a disk may hang for ever. If a thread still works, returns false: the memory of the loop
 * stays, the caller leaves to the thread what it uses, and exit() will end the process at once: otherwise
 * it would wait for libuv's threads. */
bool loop_finish(struct loop **l);

/* Work was given to the worker threads: loop_finish() does not wait for it. */
void loop_work_began(struct loop *l);

/* The callback of such work runs. */
void loop_work_ended(struct loop *l);

/* Runs until nothing is left to wait for, or until loop_stop(). May be called again. */
void loop_run(struct loop *l);

/* The turns so far; borrowed. */
const struct loop_lag *loop_lag(const struct loop *l);

/* Makes loop_run() return after this turn. */
void loop_stop(struct loop *l);

/* libuv's own loop, for the drivers in io/. */
struct uv_loop_s *loop_uv(struct loop *l);

/* Starts four threads of libuv, whatever UV_THREADPOOL_SIZE says: name lookups and writes of the
 * state run there, and lookups that hang must not take all threads (io/resolver). To be called
 * while the process still is root, as root is under no limit of processes, and after the last fork,
 * as threads do not survive one. Without this call libuv starts the threads at the first such work,
 * and aborts the process if that fails
 * (docs/decisions.md "Worker threads start before root's rights are dropped"). */
void loop_start_workers(void);

/* The monotonic clock in milliseconds, as read at the beginning of this turn. */
uint64_t loop_now_ms(const struct loop *l);

/* Reads the monotonic clock again, for the middle of a long turn. */
void loop_update_now(struct loop *l);

/* Wall clock (CLOCK_REALTIME) in nanoseconds since 1970: for log lines and hooks, never for
 * deadlines. */
uint64_t loop_wall_ns(void);

/* Nanoseconds since the machine was booted (CLOCK_BOOTTIME, which goes on while the machine
 * sleeps): for times that a later process compares, if it runs in the same boot. */
uint64_t loop_boot_ns(void);

/* Initialises a task with the function that it calls; needed before the first loop_defer(). */
void loop_task_init(struct loop_task *task, void (*fn)(struct loop_task *task));

/* Runs task->fn once, in the next turn, on a fresh stack, in the order of the calls. Drivers use
 * this so that no callback runs inside the call that caused it (ARCHITECTURE.md "Lifetime").
 * Nothing changes if the task is queued already. The task may be freed from inside fn. */
void loop_defer(struct loop *l, struct loop_task *task);

/* Like loop_defer() for work of milliseconds (a TLS handshake step), and for tasks of which there may
 * be thousands at once (the end of a connection, when a server dies). They run in their order behind
 * the other tasks of a turn, for 2 ms per turn and at least one of them, so that many of them do not
 * stop the loop together. */
void loop_defer_slow(struct loop *l, struct loop_task *task);

/* Takes a task out of its queue. Returns false, and does nothing, if the task is not queued. */
bool loop_cancel(struct loop_task *task);

/* Called from the loop when a signal that it catches came. */
typedef void loop_signal_cb(void *arg, int number);

/* Catches the n > 0 signals (numbers, copied) from now on, once for each loop. loop_destroy() gives
 * them their default effect again. */
void loop_catch(struct loop *l, const int *numbers, size_t n, loop_signal_cb *cb, void *arg);

/* LOOP_RECV_BYTES bytes that the running callback may use until it returns to the loop. All
 * connections share this one buffer, which is safe because libuv asks for a buffer, reads into it
 * and hands it over without running anything else in between. */
char *loop_recv_buffer(struct loop *l);

#endif
