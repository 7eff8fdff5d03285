/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

static void wait_at_gate(uv_work_t *work)
{
    struct worker_gate *g = container_of(work, struct worker_gate, work);

    pthread_mutex_lock(&g->closed);
    pthread_mutex_unlock(&g->closed);
}

static void after_gate(uv_work_t *work, int status)
{
    (void)work, (void)status;
}

void worker_gate_close(struct worker_gate *g, struct loop *loop)
{
    pthread_mutex_init(&g->closed, NULL);
    pthread_mutex_lock(&g->closed);
    g->is_closed = true;
    assert_int_equal(uv_queue_work(loop_uv(loop), &g->work, wait_at_gate, after_gate), 0);
}

void worker_gate_open(struct worker_gate *g)
{
    if (g->is_closed)
        pthread_mutex_unlock(&g->closed);
    g->is_closed = false;
}
