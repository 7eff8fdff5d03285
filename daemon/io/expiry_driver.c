/* SPDX-License-Identifier: Apache-2.0 */
#include "io/expiry_driver.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"

#define NS_PER_S INT64_C(1000000000)
#define MS_PER_S INT64_C(1000)

/* The wall clock may be set at any time, which no timer sees. */
#define LOOK_AGAIN_S INT64_C(3600)

struct expiry_driver {
    struct loop *loop;
    const char *cluster;
    int64_t window_s;
    struct expiry expiry;
    struct expiry_said said[EXPIRY_ITEMS];
    struct deadline *timer; /* until a state changes by itself */
};

static void tell(const struct expiry_driver *d, enum expiry_item item,
                 const struct expiry_view *view)
{
    static const char *const messages[] = {
        [EXPIRY_SOON] = "credential expires soon",
        [EXPIRY_EARLY] = "credential is not valid yet",
        [EXPIRY_OVER] = "credential has expired",
    };
    struct buf text = {0};

    if (view->state == EXPIRY_NONE || view->state == EXPIRY_VALID) {
        log_info("credential was renewed", KV_STR("cluster", d->cluster));
        return;
    }
    expiry_put(&text, &d->expiry, item, view);
    log_emit(view->state == EXPIRY_SOON ? LOG_LVL_WARN : LOG_LVL_ERROR, messages[view->state],
             LOG_FIELDS(KV_STR("cluster", d->cluster), KV_STR("reason", buf_cstr(&text))));
    buf_free(&text);
}

static void look(struct expiry_driver *d)
{
    int64_t now_s = (int64_t)loop_wall_ns() / NS_PER_S;
    int64_t next_s = expiry_next_s(&d->expiry, now_s, d->window_s);

    for (enum expiry_item i = EXPIRY_CA; i < EXPIRY_ITEMS; i++) {
        struct expiry_view view = expiry_look(&d->expiry, i, now_s, d->window_s);

        if (expiry_is_news(&d->said[i], &view))
            tell(d, i, &view);
    }
    int64_t wait_s = next_s - now_s < LOOK_AGAIN_S ? next_s - now_s : LOOK_AGAIN_S;

    deadline_start(d->timer, (uint64_t)(wait_s * MS_PER_S));
}

static void on_timer(void *arg)
{
    look(arg);
}

struct expiry_driver *expiry_driver_create(struct loop *loop, const char *cluster,
                                           uint64_t window_ms)
{
    struct expiry_driver *d = MEM_NEW(struct expiry_driver, .loop = loop, .cluster = cluster,
                                      .window_s = (int64_t)window_ms / MS_PER_S);

    d->timer = deadline_create(loop, on_timer, d);
    return d;
}

void expiry_driver_set(struct expiry_driver *d, enum expiry_item item, struct str text,
                       const char *from)
{
    expiry_set(&d->expiry, item, text, from);
    look(d);
}

void expiry_driver_set_given(struct expiry_driver *d, enum expiry_item item, struct str text,
                             const char *from, int64_t till_s)
{
    expiry_set_given(&d->expiry, item, text, from, till_s);
    look(d);
}

const struct expiry *expiry_driver_expiry(const struct expiry_driver *d)
{
    return &d->expiry;
}

void expiry_driver_dispose(struct expiry_driver **dp)
{
    struct expiry_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    deadline_dispose(&d->timer);
    expiry_fini(&d->expiry);
    free(d);
}
