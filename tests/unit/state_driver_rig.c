/* SPDX-License-Identifier: Apache-2.0 */
#include "state_driver_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "loop_until.h"

/* A body on the heap whose holders are counted. */
struct body {
    struct state_driver_rig *rig;
    char text[];
};

static void release(void *hold)
{
    struct body *b = hold;

    b->rig->held--;
    free(b);
}

static void on_lost(void *arg)
{
    struct state_driver_rig *r = arg;

    r->losses++;
    state_driver_rig_delivery(r, "again", 1);
}

static void on_batch(void *arg)
{
    struct state_driver_rig *r = arg;

    r->batches++;
    if (r->completes)
        state_driver_rig_delivery(r, "completed", 1);
}

static void on_told(struct state_driver_wait *w, bool durable)
{
    struct state_driver_rig *r = container_of(w, struct state_driver_rig, wait);

    r->answers++;
    r->durable = durable;
    loop_stop(r->loop);
}

static void on_flushed(void *arg, bool all)
{
    struct state_driver_rig *r = arg;

    r->flushes++;
    r->all = all;
    loop_stop(r->loop);
}

static void create(struct state_driver_rig *r, const struct folder *folder, bool reset)
{
    static const struct state_driver_events events = {on_lost, on_batch};
    const struct state_driver_params params = {
        .loop = r->loop,
        .folder = folder,
        .reset = reset,
        .limit = STATE_RIG_LIMIT,
        .retry_ms = 20,
        .release = release,
    };

    r->state_driver = state_driver_create(&params, &events, r);
}

void state_driver_rig_start(struct state_driver_rig *r, bool reset)
{
    r->loop = loop_create();
    create(r, r->state.folder, reset);
}

void state_driver_rig_init(struct state_driver_rig *r, bool kept)
{
    memset(r, 0, sizeof(*r));
    state_rig_init(&r->state);
    state_driver_wait_init(&r->wait, on_told);
    r->loop = loop_create();
    create(r, kept ? r->state.folder : NULL, false);
}

void state_driver_rig_stop(struct state_driver_rig *r)
{
    state_driver_dispose(&r->state_driver);
    loop_destroy(&r->loop);
}

void state_driver_rig_fini(struct state_driver_rig *r)
{
    state_driver_rig_stop(r);
    assert_int_equal(r->held, 0);
    state_rig_fini(&r->state);
}

void state_driver_rig_delivery(struct state_driver_rig *r, const char *key, uint64_t told)
{
    const struct row_delivery m = {
        .source = 5,
        .key = str_c(key),
        .uid = str_c("u"),
        .is_delivered = true,
        .delivered = {.lo = told},
    };

    batch_delivery(state_driver_batch(r->state_driver, STATE_DRIVER_NOW), &m, NULL);
}

void state_driver_rig_object(struct state_driver_rig *r, const char *key, const char *body,
                             enum state_driver_haste haste)
{
    size_t n = strlen(body);
    struct body *b = mem_zalloc(sizeof(*b) + n + 1);

    b->rig = r;
    memcpy(b->text, body, n);
    const struct row_object o = {
        .key = str_c(key),
        .rv_at = ROW_NOWHERE,
        .generation_at = ROW_NOWHERE,
        .body = str_of(b->text, n),
        .whole = true,
    };
    r->held++;
    batch_object(state_driver_batch(r->state_driver, haste), 3, &o, b);
}

bool state_driver_rig_commit(struct state_driver_rig *r)
{
    int before = r->answers;

    state_driver_await(r->state_driver, &r->wait);
    assert_int_equal(r->answers, before); /* never inside the call */
    loop_run(r->loop);
    assert_int_equal(r->answers, before + 1);
    return r->durable;
}

void state_driver_rig_turn(struct state_driver_rig *r)
{
    loop_turns(r->loop, 0);
}

struct writable_as {
    struct state_driver_rig *rig;
    bool writable;
};

static bool is_as_expected(void *arg)
{
    const struct writable_as *w = arg;

    return state_driver_status(w->rig->state_driver).is_writable == w->writable;
}

void state_driver_rig_until(struct state_driver_rig *r, bool writable)
{
    loop_turns(r->loop, 1); /* at least one turn: callers repeat this to let a worker finish */
    loop_until(r->loop, is_as_expected, &(struct writable_as){r, writable});
}

bool state_driver_rig_flush(struct state_driver_rig *r, uint64_t timeout_ms)
{
    int before = r->flushes;

    state_driver_flush(r->state_driver, timeout_ms, on_flushed);
    assert_int_equal(r->flushes, before);
    loop_run(r->loop);
    assert_int_equal(r->flushes, before + 1);
    return r->all;
}
