/* SPDX-License-Identifier: Apache-2.0 */
#include "app/watchdog.h"

#include <stdint.h>
#include <stdlib.h>

#include "app/notify.h"
#include "base/mem.h"
#include "io/deadline.h"

struct watchdog {
    struct deadline *timer; /* always pending */
    uint64_t every_ms;
};

/* Only a timer of the loop may say this: a thread or a signal handler would also say it for a loop that
 * hangs. */
static void feed(void *arg)
{
    struct watchdog *w = arg;

    notify_watchdog();
    deadline_start(w->timer, w->every_ms);
}

struct watchdog *watchdog_create(struct loop *loop)
{
    uint64_t usec = notify_watchdog_usec();

    if (usec == 0)
        return NULL;
    struct watchdog *w = MEM_NEW(struct watchdog, .every_ms = usec / 2 / 1000);
    w->timer = deadline_create(loop, feed, w);
    feed(w);
    return w;
}

void watchdog_dispose(struct watchdog **w)
{
    if (*w == NULL)
        return;
    deadline_dispose(&(*w)->timer);
    free(*w);
    *w = NULL;
}
