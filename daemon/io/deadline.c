/* SPDX-License-Identifier: Apache-2.0 */
#include "io/deadline.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/loop.h"

struct deadline {
    uv_timer_t timer; /* active if and only if cb is still to come */
    deadline_cb *cb;
    void *arg;
};

struct deadline *deadline_create(struct loop *loop, deadline_cb *cb, void *arg)
{
    struct deadline *d = MEM_NEW(struct deadline, .cb = cb, .arg = arg);

    ensure(cb != NULL);
    uv_timer_init(loop_uv(loop), &d->timer);
    return d;
}

static void on_timer(uv_timer_t *timer)
{
    struct deadline *d = container_of(timer, struct deadline, timer);

    d->cb(d->arg);
}

void deadline_start(struct deadline *d, uint64_t delay_ms)
{
    /* With 0 a callback that starts its own timer again would never leave the turn (libuv 1.44). */
    uv_timer_start(&d->timer, on_timer, delay_ms > 0 ? delay_ms : 1, 0);
}

void deadline_stop(struct deadline *d)
{
    uv_timer_stop(&d->timer);
}

void deadline_start_at(struct deadline *d, uint64_t due_ms)
{
    uint64_t now_ms = uv_now(d->timer.loop);

    if (due_ms == UINT64_MAX)
        deadline_stop(d);
    else
        deadline_start(d, due_ms > now_ms ? due_ms - now_ms : 0);
}

bool deadline_pending(const struct deadline *d)
{
    return uv_is_active((const uv_handle_t *)&d->timer) != 0;
}

uint64_t deadline_left_ms(const struct deadline *d)
{
    return deadline_pending(d) ? uv_timer_get_due_in(&d->timer) : UINT64_MAX;
}

/* libuv knows the handle until here, so the memory cannot go earlier. */
static void on_timer_closed(uv_handle_t *timer)
{
    free(container_of(timer, struct deadline, timer));
}

void deadline_dispose(struct deadline **dp)
{
    struct deadline *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
