/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <stdio.h>
#include <string.h>

#include "campaign.h"

#if defined(__SANITIZE_ADDRESS__)
size_t __sanitizer_get_current_allocated_bytes(void); /* its header is not always installed */
#else
#include <malloc.h>
#endif

/* Memory of hooks that fail or hang: bounded by the number of keys, however much changes
 * (docs/design.md "Bounds"). */

enum {
    KEYS = 1000,
    BODY = 1024,
    STATES = 6, /* that a delivery may refer to: see struct delivery */
};

static size_t changes(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return campaign_size(50000, 100000);
#else
    return campaign_size(100000, 1000000);
#endif
}

static unsigned uids[KEYS];
static size_t at_start;

static size_t bytes_in_use(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return __sanitizer_get_current_allocated_bytes();
#else
    struct mallinfo2 m = mallinfo2();

    return m.uordblks + m.hblkhd;
#endif
}

/* Each change is at another path. */
static struct object *make(size_t key, size_t change)
{
    char name[16];
    char uid[16];
    char body[BODY + 1];
    int n = snprintf(body, sizeof(body), "{\"data\":{\"a\":%zu,\"p%zu\":\"", change, change % 977);

    memset(body + n, 'x', sizeof(body) - (size_t)n);
    memcpy(body + BODY - 3, "\"}}", 4);
    snprintf(name, sizeof(name), "n%zu", key);
    snprintf(uid, sizeof(uid), "u%u", uids[key]);
    return object_create(&(struct object_parts){.ns = str_c("ns"),
                                                .name = str_c(name),
                                                .uid = str_c(uid),
                                                .rv = str_c("1"),
                                                .kind = str_c("K"),
                                                .api_version = str_c("v1"),
                                                .body = str_of(body, BODY),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static void tell(enum delta_type type, size_t key, size_t change)
{
    struct object *o = make(key, change);

    hooks_subscriber.on_delta(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]},
                              &(struct delta){.type = type, .object = o, .now_ms = hook_rig.now});
    object_unref(&o);
}

/* Most changes are MODIFIED; incarnations end and begin, too. */
static void change(size_t i)
{
    size_t key = i % KEYS;

    hook_rig.now++;
    if (i / KEYS % 7 == 6) {
        tell(DELTA_DELETED, key, i);
        uids[key]++;
        tell(DELTA_ADDED, key, i);
    } else {
        tell(DELTA_MODIFIED, key, i);
    }
}

/* The bytes in use, which the number of keys bounds. */
static size_t check_bound(void)
{
    const size_t state = BODY + 512;                    /* of an object, with its overhead */
    const size_t entry = sizeof(struct delivery) + 512; /* with its map, key and reported paths */
    size_t used = bytes_in_use() - at_start;

    for (size_t i = 0; i < hook_rig.hooks.n; i++) {
        const struct delivery_queue *q = &hook_rig.hooks.v[i]->queue;

        assert_true(map_count(&q->sources[0].by_key) <= KEYS);
        assert_true(q->pending_count <= KEYS);
        assert_true(q->existing_left <= KEYS);
    }
    assert_true(used <= hook_rig.hooks.n * KEYS * (entry + STATES * state));
    return used;
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void add(enum hook_mode mode, int park_exit)
{
    hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode}, .park_exit = park_exit, .work_queue = {.concurrency = 1}});
}

/* Two hooks: one hangs, or fails whenever it runs; the other one is paused. */
static void check_mode(enum hook_mode mode, bool fails)
{
    const size_t all = changes();
    size_t peak[2] = {0};

    memset(uids, 0, sizeof(uids));
    at_start = bytes_in_use();
    add(mode, fails ? 75 : 0);
    add(mode, 0);
    hook_pause(hook_rig.hooks.v[1], true);
    for (size_t key = 0; key < KEYS; key++)
        tell(DELTA_ADDED, key, 0);
    hook_rig_sync(0);
    for (size_t i = 0; i < all; i++) {
        struct run *run = i % 100 == 0 ? hooks_next(&hook_rig.hooks, hook_rig.now) : NULL;
        size_t half = 2 * i / all;

        change(i);
        if (run != NULL && fails)
            hook_rig_end(run, i % 200 == 0 ? 75 : 1);
        if (i % (all / 40) == 0)
            peak[half] = max(peak[half], check_bound());
    }
    assert_true(peak[1] < peak[0] + peak[0] / 4); /* memory does not grow */
    assert_int_equal(hook_rig.hooks.v[0]->work_queue.running, fails ? 0 : 1);
    for (size_t key = 0; key < KEYS; key++)
        tell(DELTA_DELETED, key, 0);
    check_bound();
}

static void check_modes(void **state, bool fails)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        check_mode(modes[i], fails);
        hook_rig_clean_up(state);
        hook_rig_set_up(state);
    }
}

static void test_memory_per_key_is_bounded_when_hooks_hang_or_are_paused(void **state)
{
    check_modes(state, false);
}

static void test_memory_per_key_is_bounded_when_hooks_fail(void **state)
{
    check_modes(state, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_memory_per_key_is_bounded_when_hooks_hang_or_are_paused),
        TEST(test_memory_per_key_is_bounded_when_hooks_fail),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
