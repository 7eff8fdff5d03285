/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "look.h"

/* A body on the heap that knows who counts it. */
struct body {
    struct keeper_rig *rig;
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
    struct keeper_rig *r = arg;

    r->losses++;
    keeper_rig_mark(r, "again", 1);
}

static void on_told(struct keeper_wait *w, bool durable)
{
    struct keeper_rig *r = container_of(w, struct keeper_rig, wait);

    r->told++;
    r->durable = durable;
    loop_stop(r->loop);
}

static void on_flushed(void *arg, bool all)
{
    struct keeper_rig *r = arg;

    r->flushes++;
    r->all = all;
    loop_stop(r->loop);
}

static void create(struct keeper_rig *r, const struct folder *folder, bool reset)
{
    static const struct keeper_events events = {on_lost};
    const struct keeper_params params = {
        .loop = r->loop,
        .folder = folder,
        .reset = reset,
        .limit = STATE_RIG_LIMIT,
        .retry_ms = 20,
        .release = release,
    };

    r->keeper = keeper_create(&params, &events, r);
}

void keeper_rig_start(struct keeper_rig *r, bool reset)
{
    r->loop = loop_create();
    create(r, r->state.folder, reset);
}

void keeper_rig_init(struct keeper_rig *r, bool kept)
{
    memset(r, 0, sizeof(*r));
    state_rig_init(&r->state);
    keeper_wait_init(&r->wait, on_told);
    r->loop = loop_create();
    create(r, kept ? r->state.folder : NULL, false);
}

void keeper_rig_stop(struct keeper_rig *r)
{
    keeper_dispose(&r->keeper);
    loop_destroy(&r->loop);
}

void keeper_rig_fini(struct keeper_rig *r)
{
    keeper_rig_stop(r);
    assert_int_equal(r->held, 0);
    state_rig_fini(&r->state);
}

void keeper_rig_mark(struct keeper_rig *r, const char *key, uint64_t told)
{
    const struct row_mark m = {
        .source = 5,
        .key = str_c(key),
        .uid = str_c("u"),
        .is_told = true,
        .told = {.lo = told},
    };

    batch_mark(keeper_batch(r->keeper, KEEPER_NOW), &m, NULL);
}

void keeper_rig_object(struct keeper_rig *r, const char *key, const char *body,
                       enum keeper_haste haste)
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
    batch_object(keeper_batch(r->keeper, haste), 3, &o, b);
}

bool keeper_rig_commit(struct keeper_rig *r)
{
    int before = r->told;

    keeper_await(r->keeper, &r->wait);
    assert_int_equal(r->told, before); /* never inside the call */
    loop_run(r->loop);
    assert_int_equal(r->told, before + 1);
    return r->durable;
}

void keeper_rig_turn(struct keeper_rig *r)
{
    look_turns(r->loop, 0);
}

struct writable_as {
    struct keeper_rig *rig;
    bool writable;
};

static bool is_as_expected(void *arg)
{
    const struct writable_as *w = arg;

    return keeper_status(w->rig->keeper).is_writable == w->writable;
}

void keeper_rig_until(struct keeper_rig *r, bool writable)
{
    look_turns(r->loop, 1); /* at least one turn: callers repeat this to let a worker finish */
    look_until(r->loop, is_as_expected, &(struct writable_as){r, writable});
}

bool keeper_rig_flush(struct keeper_rig *r, uint64_t timeout_ms)
{
    int before = r->flushes;

    keeper_flush(r->keeper, timeout_ms, on_flushed);
    assert_int_equal(r->flushes, before);
    loop_run(r->loop);
    assert_int_equal(r->flushes, before + 1);
    return r->all;
}
