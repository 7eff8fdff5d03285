/* SPDX-License-Identifier: Apache-2.0 */
#include "io/signals.h"

#include <stdlib.h>
#include <uv.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/loop.h"

/* libuv has one handle per signal number. */
struct one {
    uv_signal_t handle;
    struct signals *owner;
};

struct signals {
    struct one *v;
    size_t n;
    size_t held;    /* handles that libuv has not closed yet */
    signals_cb *cb; /* NULL once disposed */
    void *arg;
};

static void on_signal(uv_signal_t *handle, int number)
{
    struct signals *s = container_of(handle, struct one, handle)->owner;

    if (s->cb != NULL)
        s->cb(s->arg, number);
}

struct signals *signals_create(struct loop *loop, const int *numbers, size_t n, signals_cb *cb,
                               void *arg)
{
    struct signals *s = MEM_NEW(struct signals, .n = n, .held = n, .cb = cb, .arg = arg);

    ensure(n > 0);
    s->v = mem_array(n, sizeof(*s->v));
    for (size_t i = 0; i < n; i++) {
        s->v[i].owner = s;
        uv_signal_init(loop_uv(loop), &s->v[i].handle);
        uv_signal_start(&s->v[i].handle, on_signal, numbers[i]);
    }
    return s;
}

/* All handles are in one array: the last close callback frees it. */
static void on_closed(uv_handle_t *handle)
{
    struct signals *s = container_of(handle, struct one, handle)->owner;

    if (--s->held > 0)
        return;
    free(s->v);
    free(s);
}

void signals_dispose(struct signals **sp)
{
    struct signals *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    s->cb = NULL;
    for (size_t i = 0; i < s->n; i++)
        uv_close((uv_handle_t *)&s->v[i].handle, on_closed);
}
