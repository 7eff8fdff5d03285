/* SPDX-License-Identifier: Apache-2.0 */
#include "persist_rig.h"

#include <stdio.h>

struct persist_rig persist_rig;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    (void)from;
    persist_watch_delta(arg, d, &persist_rig.state.batch);
}

static void make_watches(struct persist_watch_params *watches)
{
    const char *clusters[HOOK_RIG_WATCHES];

    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        clusters[i] = persist_rig.names[persist_rig.cluster_of[i]];
    hook_rig_init(4, &hooks_subscriber, clusters);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        watches[i] = (struct persist_watch_params){
            .watch = hook_rig.watches[i],
            .name = watch_name(hook_rig.watches[i]),
            .settings = {.hi = 1, .lo = 1},
            .bytes = persist_rig.bytes,
            .cluster = persist_rig.cluster_of[i]
        };
    if (persist_rig.merge == PERSIST_RIG_APART)
        return;
    struct persist_watch_params w2 = watches[2];

    watches[2] = watches[0];
    w2.watch = watches[0].watch;
    watches[persist_rig.merge == PERSIST_RIG_W0_W2 ? 2 : 0] = w2;
}

static struct watch *watch_of_hook(size_t i)
{
    return persist_rig.merge == PERSIST_RIG_APART ? hook_rig.watches[2 * i] : hook_rig.watches[0];
}

static void make_hooks(struct persist_hook_params *by_hook)
{
    for (size_t i = 0; i < persist_rig.hook_count; i++) {
        const struct hook_source of = {.name = i == 0 ? "w0" : "w2", .of.watch = watch_of_hook(i)};

        by_hook[i] = (struct persist_hook_params){
            .hook = hook_rig_add(&(struct hook_rig_hook){.of = &of,        .sources = 1       }
               ),
            .settings = {.now = {.lo = 1}, .former = {.hi = 1}}
        };
    }
}

struct persist *persist_rig_create(const struct persist_params *params, struct state_rig *state,
                                   struct persist_now now)
{
    struct restore r;
    struct err err;

    (void)restore_read(&r, state->folder, &err);
    struct persist *p = persist_create(params, &r, now, &state->batch);
    restore_fini(&r);
    return p;
}

/* Like a kill: the batch is lost. */
static void die(void)
{
    if (persist_rig.p == NULL)
        return;
    batch_clear(&persist_rig.state.batch);
    persist_destroy(&persist_rig.p);
    hook_rig_clean_up(NULL);
}

void persist_rig_commit(void)
{
    persist_put_versions(persist_rig.p, persist_rig.now, &persist_rig.state.batch);
    (void)persist_put_hooks(persist_rig.p, &persist_rig.state.batch);
    state_rig_apply(&persist_rig.state);
}

void persist_rig_begin(void)
{
    static const struct subscriber subscriber = {.on_delta = on_delta};
    struct persist_hook_params by_hook[2];
    struct persist_watch_params watches[HOOK_RIG_WATCHES];
    struct persist_cluster_params clusters[2];

    die();
    make_watches(watches);
    make_hooks(by_hook);
    for (size_t i = 0; i < 2; i++)
        clusters[i] = (struct persist_cluster_params){
            persist_rig.names[i], persist_rig.stale_after_ms, PERSIST_RIG_MAX_AGE_MS};
    const struct persist_params params = {.clusters = clusters,
                                          .cluster_count = 2,
                                          .watches = watches,
                                          .watch_count = HOOK_RIG_WATCHES,
                                          .hooks = &hook_rig.hooks,
                                          .by_hook = by_hook};
    persist_rig.p = persist_rig_create(&params, &persist_rig.state, persist_rig.now);
    for (size_t i = 0; i < persist_rig.p->watch_count; i++) {
        struct persist_watch *mw = persist_rig.p->watches[i];

        watch_subscribe(mw->watch, &subscriber, mw);
    }
    persist_rig_commit();
}

int persist_rig_set_up(void **state)
{
    (void)state;
    persist_rig = (struct persist_rig){
        .names = {"c",                                     "d"          },
        .cluster_of = { 0,                                      0,             1},
        .stale_after_ms = PERSIST_RIG_AFTER_MS,
        .hook_count = 2,
        .now = { .ms = 100000, .wall_ns = 100 * PERSIST_RIG_MINUTE_NS, .boot_id = ""}
    };
    state_rig_init(&persist_rig.state);
    return 0;
}

int persist_rig_clean_up(void **state)
{
    (void)state;
    die();
    state_rig_fini(&persist_rig.state);
    return 0;
}

void persist_rig_lists(size_t watch, const char *uid)
{
    struct buf items = {0};

    objects_put_item(&items, "ns/n", uid, "3", "\"a\":1");
    objects_sync(hook_rig.watches[watch], buf_cstr(&items), "7",
                 (struct now){.ms = persist_rig.now.ms, .wall_ns = persist_rig.now.wall_ns});
    buf_free(&items);
}

void persist_rig_lists_all(void)
{
    persist_rig_lists(0, "u0");
    persist_rig_lists(1, "u1");
    persist_rig_lists(2, "u2");
}

enum persist_verdict persist_rig_answers(size_t cluster, const char *uid)
{
    struct cluster_identity id = {0};

    snprintf(id.uid, sizeof(id.uid), "%s", uid);
    return persist_judge(persist_rig.p, cluster, &id, persist_rig.now, &persist_rig.state.batch,
                         &persist_rig.err);
}

void persist_rig_expect_good(size_t cluster, const char *uid)
{
    assert_int_equal(persist_rig_answers(cluster, uid), PERSIST_VERDICT_GOOD);
}

void persist_rig_knows(const char *x, const char *y)
{
    persist_rig_begin();
    persist_rig_lists_all();
    persist_rig_expect_good(0, x);
    persist_rig_expect_good(1, y);
    hook_rig_pass(DELTA_ADDED, "u0");
    hook_rig_pass(DELTA_ADDED, "u2");
    persist_rig_commit();
}

size_t persist_rig_objects(size_t watch)
{
    return store_count(watch_store(hook_rig.watches[watch]));
}

bool persist_rig_has(const char *part)
{
    return state_rig_has(&persist_rig.state, part);
}
