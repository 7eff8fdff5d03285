/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch with limits.memory: a watch that is stopped, its hook, and how it becomes complete again
 * (docs/design.md "Memory"). */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/meter.h"
#include "hook/hook.h"
#include "hook/why.h"
#include "identified.h"
#include "list_watch_script.h"

/* The data of one object, and a limit for some ninety of them. */
enum { DATA = 2000 };
#define MANY  ((size_t)400)
#define FEW   ((size_t)20)
#define LIMIT ((size_t)256 * 1024)

static struct rig {
    struct memory_limit memory;
    struct watch *w;
    struct list_watch *lw;
    struct hooks hooks;
    struct hook *hook;
    struct now now;
    size_t before; /* of the meter */
    uint64_t rv;
    uint64_t rvs[8 * MANY]; /* of each object that an event has shown; 0 = 1 */
} rig;

static void make_hook(void)
{
    const struct hook_source source = {.name = "w", .of.watch = rig.w};
    struct filter filter;

    hooks_init(&rig.hooks, 8, 1);
    assert_int_equal(filter_init(&filter, 0xf, NULL, 0, NULL), ERR_OK);
    hooks_add(&rig.hooks, &(struct hook_params){
                              .name = "h",
                              .sources = &source,
                              .source_count = 1,
                              .filter = filter,
                              .work_queue = {.concurrency = 1, .retry = {100, 100, 1, 0}}
    });
    rig.hook = rig.hooks.v[0];
    watch_subscribe(rig.w, &hooks_subscriber, &rig.hooks);
}

static void make(enum watch_list watch_list)
{
    struct watch_params p = objects_watch_params();

    p.reflector.watch_list = watch_list;
    p.reflector.page_size = 0;
    rig = (struct rig){
        .memory.bytes = LIMIT, .now = {1000000, 7},
             .before = meter_bytes(), .rv = 100
    };
    assert_int_equal(watch_create(&p, &rig.w, NULL), ERR_OK);
    watch_limit_memory(rig.w, &rig.memory);
    rig.lw = watch_list_watch(rig.w, 0);
    make_hook();
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    make(WATCH_LIST_OFF);
    return 0;
}

/* All that was counted was freed: the meter shows neither less nor more than before. */
static int clean_up(void **state)
{
    (void)state;
    hooks_fini(&rig.hooks);
    watch_destroy(&rig.w);
    assert_int_equal(meter_bytes(), rig.before);
    assert_int_equal(rig.memory.watches, 0);
    return 0;
}

static char *data_of(size_t n, char letter)
{
    struct buf text = {0};

    buf_puts(&text, "\"d\":\"");
    for (size_t i = 0; i < n; i++)
        buf_putc(&text, letter);
    buf_puts(&text, "\"");
    char *copy = mem_strdup(buf_cstr(&text));
    buf_free(&text);
    return copy;
}

static void put_item(struct buf *out, size_t i)
{
    char key[16];
    char uid[16];
    char rv[24];
    char *data = data_of(DATA, 'x');

    snprintf(key, sizeof(key), "ns/o%zu", i);
    snprintf(uid, sizeof(uid), "u%zu", i);
    snprintf(rv, sizeof(rv), "%llu", rig.rvs[i] > 0 ? (unsigned long long)rig.rvs[i] : 1);
    objects_put_item(out, key, uid, rv, data);
    free(data);
}

/* The objects from..to, without to. */
static void put_list(struct buf *out, size_t from, size_t to)
{
    buf_printf(out,
               "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
               "\"resourceVersion\":\"%llu\"},\"items\":[",
               (unsigned long long)++rig.rv);
    for (size_t i = from; i < to; i++) {
        buf_puts(out, i > from ? "," : "");
        put_item(out, i);
    }
    buf_puts(out, "]}");
}

static void head(void)
{
    list_watch_head(rig.lw,
                    &(struct http_head){.status = 200,
                                        .content_type = str_c("application/json"),
                                        .retry_after_s = -1},
                    rig.now.ms);
}

/* Feeds a body in pieces, as a connection does, until the list_watch has enough. No piece makes the
 * memory go over the limit by more than itself. */
static bool feed(const struct buf *body)
{
    enum { PIECE = 4096 };
    bool goes_on = true;
    size_t before = meter_bytes() - rig.before; /* a lowered limit takes nothing away */
    size_t most = (before > rig.memory.bytes ? before : rig.memory.bytes) + PIECE;

    for (size_t at = 0; goes_on && at < body->len; at += PIECE) {
        size_t n = body->len - at < PIECE ? body->len - at : PIECE;

        goes_on = list_watch_body(rig.lw, body->data + at, n, rig.now);
        assert_in_range(meter_bytes() - rig.before, 0, most);
    }
    return goes_on;
}

static struct list_watch_action answer_list(size_t from, size_t to)
{
    struct buf body = {0};

    put_list(&body, from, to);
    head();
    feed(&body);
    buf_free(&body);
    return list_watch_end_identified(rig.lw, NULL, rig.now);
}

/* The first list, and the watch behind it. */
static void sync_with(size_t n)
{
    assert_int_equal(list_watch_start(rig.lw, rig.now.ms).what, LW_LIST);
    assert_int_equal(answer_list(0, n).what, LW_WATCH);
    head();
    assert_true(watch_synced(rig.w));
}

static bool event_of(const char *type, size_t i, size_t data_n)
{
    struct buf body = {0};
    char key[16];
    char uid[16];
    char rv[24];
    char *data = data_of(data_n, 'x');

    rig.rvs[i] = ++rig.rv;
    snprintf(key, sizeof(key), "ns/o%zu", i);
    snprintf(uid, sizeof(uid), "u%zu", i);
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)rig.rv);
    objects_put_event(&body, type, key, uid, rv, data);
    bool goes_on = feed(&body);
    buf_free(&body);
    free(data);
    return goes_on;
}

/* ADDED events from object `from` on, until one is refused. Returns the number of that object. */
static size_t fill(size_t from)
{
    size_t i = from;

    while (i < from + MANY && event_of("ADDED", i, DATA))
        i++;
    return i;
}

static struct list_watch_action end(void)
{
    return list_watch_end_identified(rig.lw, NULL, rig.now);
}

static bool has(size_t i)
{
    char key[16];

    snprintf(key, sizeof(key), "ns/o%zu", i);
    return store_get(watch_store(rig.w), str_c(key)) != NULL;
}

/* Ends all runs that may start; returns how many. */
static size_t run_all(void)
{
    const struct run_result ok = {.text = "exit status 0", .wall_ns = 7};
    size_t n = 0;

    for (struct run *run; (run = hooks_next(&rig.hooks, rig.now.ms)) != NULL; n++)
        hooks_finish(&rig.hooks, run, &ok, rig.now.ms);
    return n;
}

/* Waits as the list_watch wants to, until it asks for something; returns that. *looks counts. */
static struct list_watch_action wait_on(struct list_watch_action a, size_t *looks)
{
    for (*looks = 0; a.what == LW_WAIT; (*looks)++) {
        assert_in_range(a.wait_ms, 1, 30000);
        rig.now.ms += a.wait_ms;
        a = list_watch_timer(rig.lw, rig.now.ms);
    }
    return a;
}

static void is_incomplete(bool is)
{
    const struct watch_status s = watch_status(rig.w, rig.now.ms);

    assert_true(s.incomplete == is);
    assert_true(watch_incomplete(rig.w) == is);
    assert_true((s.state == WATCH_INCOMPLETE) == is);
    assert_true(watch_source_status(rig.w, rig.now.ms).incomplete == is);
}

static void test_a_list_that_does_not_fit_is_dropped_and_starts_no_hook(void **state)
{
    (void)state;
    assert_int_equal(list_watch_start(rig.lw, rig.now.ms).what, LW_LIST);
    assert_int_equal(answer_list(0, MANY).what, LW_WAIT);
    assert_int_equal(store_count(watch_store(rig.w)), 0);
    assert_int_equal(store_staged_bytes(watch_store(rig.w)), 0);
    assert_int_equal(meter_bytes(), rig.before);
    assert_false(watch_synced(rig.w));
    is_incomplete(true);
    assert_int_equal(run_all(), 0);
}

static void test_a_list_that_fits_later_completes_the_watch(void **state)
{
    size_t looks;

    (void)state;
    list_watch_start(rig.lw, rig.now.ms);
    assert_int_equal(wait_on(answer_list(0, MANY), &looks).what, LW_LIST);
    is_incomplete(true);
    assert_int_equal(answer_list(0, FEW).what, LW_WATCH);
    is_incomplete(false);
    assert_int_equal(run_all(), FEW);
}

/* The objects on the server do not become fewer: informerd asks for them seldom, and by itself. */
static void test_a_list_that_never_fits_is_asked_for_less_and_less_often(void **state)
{
    size_t lists = 0;
    size_t looks;

    (void)state;
    struct list_watch_action a = list_watch_start(rig.lw, rig.now.ms);
    uint64_t end_ms = rig.now.ms + 3600000;

    for (; rig.now.ms < end_ms; lists++)
        a = wait_on(answer_list(0, MANY), &looks);
    assert_int_equal(a.what, LW_LIST);
    assert_in_range(lists, 6, 12);
}

static void test_an_event_that_does_not_fit_stops_the_watch_before_it(void **state)
{
    struct list_watch_action a;

    (void)state;
    sync_with(FEW);
    assert_int_equal(run_all(), FEW);
    size_t refused = fill(FEW);
    assert_in_range(refused, 2 * FEW, MANY);
    assert_false(has(refused));
    assert_true(has(refused - 1));
    a = end();
    assert_int_equal(a.what, LW_WAIT);
    is_incomplete(true);
    assert_int_equal(watch_status(rig.w, rig.now.ms).relists_by[RELIST_MEMORY], 1);
    /* The keys stay due, and wait. */
    assert_int_equal(run_all(), 0);
    assert_true(hook_pending(rig.hook) > 0);
    struct why why = why_hook(&rig.hooks, rig.hook, rig.now.ms);
    assert_int_equal(why.reason, WHY_INCOMPLETE);
    assert_string_equal(why.of, "w");
}

/* A restart would go on there: nothing of the refused event is noted. */
static void test_the_version_of_a_refused_event_is_not_noted(void **state)
{
    const char *rv;
    const char *collection_rv;
    char want[24];

    (void)state;
    sync_with(FEW);
    fill(FEW);
    snprintf(want, sizeof(want), "%llu", (unsigned long long)rig.rv - 1);
    end();
    assert_true(watch_version(rig.w, 0, &rv, &collection_rv));
    assert_string_equal(rv, want);
}

static void test_a_raised_limit_completes_the_watch_by_a_list(void **state)
{
    size_t looks;

    (void)state;
    sync_with(FEW);
    assert_int_equal(run_all(), FEW);
    size_t refused = fill(FEW);
    struct list_watch_action a = end();

    rig.memory.bytes = 4 * LIMIT;
    assert_int_equal(wait_on(a, &looks).what, LW_LIST);
    assert_int_equal(looks, 1);
    assert_int_equal(run_all(), 0);
    /* Object 0 was deleted meanwhile, and one more than the refused one was added. */
    assert_int_equal(answer_list(1, refused + 2).what, LW_WATCH);
    is_incomplete(false);
    assert_false(has(0));
    assert_true(has(refused) && has(refused + 1));
    /* Each object since, and one DELETED. */
    assert_int_equal(run_all(), refused + 2 - FEW + 1);
}

/* The objects of the watch itself fill the memory. No look finds room, and a list must show that objects
 * were deleted. */
static void test_deletes_on_the_server_complete_a_watch_that_fills_the_memory_itself(void **state)
{
    size_t looks;

    (void)state;
    sync_with(FEW);
    run_all();
    size_t refused = fill(FEW);
    assert_int_equal(wait_on(end(), &looks).what, LW_LIST);
    assert_int_equal(looks, 20);
    assert_int_equal(answer_list(refused - FEW, refused + 2).what, LW_WATCH);
    is_incomplete(false);
    run_all();
    assert_int_equal(store_count(watch_store(rig.w)), FEW + 2);
    head();
    assert_true(event_of("ADDED", 0, DATA));
}

static void test_events_that_make_nothing_larger_are_taken_in_any_case(void **state)
{
    (void)state;
    sync_with(FEW);
    rig.memory.bytes = 4 * LIMIT;
    while (meter_bytes() - rig.before < LIMIT)
        assert_true(event_of("ADDED", MANY + rig.rv, DATA));
    rig.memory.bytes = LIMIT;
    assert_true(event_of("MODIFIED", 0, DATA - 100));
    assert_true(event_of("DELETED", 1, DATA));
    assert_false(has(1));
    is_incomplete(false);
    assert_false(event_of("MODIFIED", 2, DATA + 100));
    end();
    is_incomplete(true);
}

static void test_a_list_without_news_is_taken_in_any_case(void **state)
{
    size_t looks;

    (void)state;
    sync_with(3 * FEW);
    rig.memory.bytes = LIMIT / 4;
    assert_false(event_of("ADDED", MANY, DATA));
    assert_int_equal(wait_on(end(), &looks).what, LW_LIST);
    assert_int_equal(answer_list(0, 3 * FEW).what, LW_WATCH);
    is_incomplete(false);
}

static void test_a_streaming_list_that_does_not_fit_is_dropped(void **state)
{
    size_t refused;

    clean_up(state);
    make(WATCH_LIST_ON);
    assert_int_equal(list_watch_start(rig.lw, rig.now.ms).what, LW_STREAM);
    head();
    refused = fill(0);
    assert_in_range(refused, FEW, MANY - 1);
    assert_int_equal(end().what, LW_WAIT);
    assert_int_equal(store_count(watch_store(rig.w)), 0);
    assert_int_equal(meter_bytes(), rig.before);
    is_incomplete(true);
    assert_int_equal(run_all(), 0);
}

/* Objects that cannot be used have records, which are memory, too. */
static void test_an_endless_list_of_objects_that_cannot_be_used_is_dropped(void **state)
{
    struct buf body = {0};

    (void)state;
    list_watch_start(rig.lw, rig.now.ms);
    buf_puts(&body, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                    "\"resourceVersion\":\"5\"},\"items\":[{}");
    for (int i = 0; i < 4000; i++)
        buf_printf(&body, ",{\"metadata\":{\"name\":\"/%d\",\"namespace\":\"b\",\"uid\":\"u%d\"}}",
                   i, i);
    head();
    assert_false(feed(&body));
    buf_free(&body);
    assert_int_equal(end().what, LW_WAIT);
    assert_int_equal(skips_count(store_skips(watch_store(rig.w))), 0);
    assert_int_equal(meter_bytes(), rig.before);
}

/* The objects of the large watch leave no room, and still the small one lists and follows. */
static void test_a_large_watch_does_not_stop_a_small_one(void **state)
{
    struct watch *small = objects_watch("small", NULL, NULL);
    struct buf item = {0};

    (void)state;
    watch_limit_memory(small, &rig.memory);
    sync_with(FEW);
    fill(FEW);
    end();
    put_item(&item, 0);
    objects_sync(small, buf_cstr(&item), "7", rig.now);
    assert_true(watch_synced(small));
    assert_false(watch_incomplete(small));
    is_incomplete(true);
    buf_free(&item);
    watch_destroy(&small);
}

/* Deleted objects that a hook has to be told of count as any other: a server that creates and deletes
 * objects all the time, while the hook fails, does not fill the memory. */
static void test_objects_that_only_hooks_hold_count(void **state)
{
    const struct run_result failed = {.end.cut = RUN_CUT_TIMEOUT, .text = "failed", .wall_ns = 7};
    size_t i = FEW;

    (void)state;
    sync_with(FEW);
    run_all();
    for (; i < 4 * MANY && event_of("ADDED", i, DATA); i++) {
        struct run *run = hooks_next(&rig.hooks, rig.now.ms);

        if (run != NULL)
            hooks_finish(&rig.hooks, run, &failed, rig.now.ms);
        assert_true(event_of("DELETED", i, DATA));
    }
    assert_in_range(i, 2 * FEW, 2 * MANY);
    assert_int_equal(store_count(watch_store(rig.w)), FEW);
    end();
    is_incomplete(true);
}

static void test_a_person_may_order_a_list_at_any_time(void **state)
{
    (void)state;
    sync_with(FEW);
    fill(FEW);
    end();
    rig.memory.bytes = 4 * LIMIT;
    watch_relist(rig.w, RELIST_MANUAL);
    assert_true(list_watch_is_ordered(rig.lw));
    assert_int_equal(list_watch_restart(rig.lw, rig.now).what, LW_LIST);
    is_incomplete(true);
    assert_int_equal(answer_list(0, FEW).what, LW_WATCH);
    is_incomplete(false);
}

static void test_another_cluster_ends_the_incompleteness(void **state)
{
    (void)state;
    sync_with(FEW);
    fill(FEW);
    end();
    watch_forget(rig.w);
    is_incomplete(false);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_list_that_does_not_fit_is_dropped_and_starts_no_hook),
        TEST(test_a_list_that_fits_later_completes_the_watch),
        TEST(test_a_list_that_never_fits_is_asked_for_less_and_less_often),
        TEST(test_an_event_that_does_not_fit_stops_the_watch_before_it),
        TEST(test_the_version_of_a_refused_event_is_not_noted),
        TEST(test_a_raised_limit_completes_the_watch_by_a_list),
        TEST(test_deletes_on_the_server_complete_a_watch_that_fills_the_memory_itself),
        TEST(test_events_that_make_nothing_larger_are_taken_in_any_case),
        TEST(test_a_list_without_news_is_taken_in_any_case),
        TEST(test_a_streaming_list_that_does_not_fit_is_dropped),
        TEST(test_an_endless_list_of_objects_that_cannot_be_used_is_dropped),
        TEST(test_a_large_watch_does_not_stop_a_small_one),
        TEST(test_objects_that_only_hooks_hold_count),
        TEST(test_a_person_may_order_a_list_at_any_time),
        TEST(test_another_cluster_ends_the_incompleteness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
