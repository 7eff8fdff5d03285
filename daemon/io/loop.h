/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop - the libuv loop with what every driver needs of it: the time, calls that run on a fresh
 * stack in the next turn, the shared receive buffer, a report of leaked handles; driver.
 */
#ifndef IO_LOOP_H
#define IO_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct loop;
struct uv_loop_s;

/* A call to make later; embedded in the object it is about. */
struct loop_task {
    struct list link; /* on no list: not queued */
    void (*fn)(struct loop_task *task);
};

/* Bytes that a stream reads at once: the size of the one buffer that all streams share. */
#define LOOP_RECV_BYTES ((size_t)64 * 1024)

/* A loop with nothing to do. Never NULL; release with loop_destroy(). */
struct loop *loop_create(void);

/* Ends the loop and sets *l to NULL. Everything on it must have been disposed; waits for close
 * callbacks and for name lookups that still run. Panics with the names of handles that leaked. */
void loop_destroy(struct loop **l);

/* Runs until nothing is left to wait for, or until loop_stop(). May be called again. */
void loop_run(struct loop *l);

/* Makes loop_run() return after this turn. */
void loop_stop(struct loop *l);

/* libuv's loop, for drivers in io/. */
struct uv_loop_s *loop_uv(struct loop *l);

/* Starts the threads that name lookups and writes of the state run on: as root, whom no limit of
 * processes stops, and behind the last fork. libuv would start them at the first such work, and end
 * the process if it cannot. */
void loop_start_workers(void);

/* Monotonic milliseconds, as of the begin of this turn. */
uint64_t loop_now_ms(const struct loop *l);

/* Reads the clock again, for the middle of a long turn. */
void loop_update_now(struct loop *l);

/* Wall clock (CLOCK_REALTIME) in nanoseconds since 1970: for log lines and hooks, never for
 * deadlines. */
uint64_t loop_wall_ns(void);

/* Nanoseconds since the machine was booted (CLOCK_BOOTTIME, which counts while it sleeps): for what
 * a later process compares, if it lives in the same boot. */
uint64_t loop_boot_ns(void);

/* Before the first loop_defer() of a task. */
void loop_task_init(struct loop_task *task, void (*fn)(struct loop_task *task));

/* Runs task->fn once, in the next turn, on a fresh stack, in the order of the calls: so no callback
 * runs inside the call that caused it (ARCHITECTURE.md "Lifetime"). Nothing changes if it is queued
 * already. The task may be freed from inside fn. */
void loop_defer(struct loop *l, struct loop_task *task);

/* Like loop_defer() for work of milliseconds (a TLS handshake step): only one such task runs per
 * turn, so that many of them do not stop the loop together. */
void loop_defer_slow(struct loop *l, struct loop_task *task);

/* Takes a task out of the queue if it is in it. */
void loop_cancel(struct loop_task *task);

/* LOOP_RECV_BYTES bytes that the running callback may use until it returns to the loop. All streams
 * share them: libuv asks for the buffer and hands over what it read without a turn in between. */
char *loop_recv_buffer(struct loop *l);

#endif
