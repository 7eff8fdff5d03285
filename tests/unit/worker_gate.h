/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_gate - keeps a worker thread of libuv busy, so that other work for it has to wait.
 */
#ifndef UNIT_WORKER_GATE_H
#define UNIT_WORKER_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <uv.h>

#include "io/loop.h"

/* Zero-initialised is open. Must not move while it is closed. */
struct worker_gate {
    uv_work_t work;
    pthread_mutex_t closed;
    bool is_closed;
};

/* The next free worker of the loop waits until the gate is opened. */
void worker_gate_close(struct worker_gate *g, struct loop *loop);

/* Lets the worker go on; may be open already. */
void worker_gate_open(struct worker_gate *g);

#endif
