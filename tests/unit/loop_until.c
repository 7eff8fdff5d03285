/* SPDX-License-Identifier: Apache-2.0 */
#include "loop_until.h"

#include <unistd.h>

#include "base/compiler.h"

/* In real time: servers and workers do not use the play clock. */
enum { LOOK_EVERY_US = 1000 };

struct look {
    struct loop_task task;
    struct loop *loop;
    bool (*is_true)(void *arg);
    void *arg;
};

static void on_look(struct loop_task *task)
{
    struct look *look = container_of(task, struct look, task);

    if (look->is_true(look->arg)) {
        loop_stop(look->loop);
        return;
    }
    usleep(LOOK_EVERY_US);
    loop_defer(look->loop, task);
}

void loop_until(struct loop *loop, bool (*is_true)(void *arg), void *arg)
{
    struct look look = {.loop = loop, .is_true = is_true, .arg = arg};

    loop_task_init(&look.task, on_look);
    loop_defer(loop, &look.task);
    loop_run(loop);
    loop_cancel(&look.task);
}

static bool was_last(void *arg)
{
    unsigned *left = arg;

    return (*left)-- == 0;
}

void loop_turns(struct loop *loop, unsigned turns)
{
    loop_until(loop, was_last, &turns);
}
