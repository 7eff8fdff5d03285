/* SPDX-License-Identifier: Apache-2.0 */
/* A reload puts a watch with other settings in the place of one that runs. */
#include "objects.h"

#include <string.h>

#include "cache/watch.h"
#include "identified.h"

static struct watch *old;
static struct watch *next;
static const struct now now = {.ms = 200000, .wall_ns = UINT64_C(900000) * 1000000};

static struct watch *make(const struct watch_params *p)
{
    struct watch *w;
    struct err err;

    if (watch_create(p, &w, &err) != ERR_OK)
        fail_msg("%s", err.text);
    return w;
}

static int set_up(void **state)
{
    (void)state;
    old = next = NULL;
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    watch_destroy(&old);
    watch_destroy(&next);
    return 0;
}

static void list(const char *key)
{
    struct buf items = {0};

    objects_put_item(&items, key, "u1", "5", NULL);
    objects_sync(old, buf_cstr(&items), "7", (struct now){.ms = 100000, .wall_ns = 1});
    buf_free(&items);
}

/* The kind of resume point of the first scope of a watch with these settings after one with the
 * default settings was listed. */
static enum resume_kind kind_with(const struct watch_params *p)
{
    struct watch_params was = objects_watch_params();

    old = make(&was);
    list("ns/a");
    next = make(p);
    watch_inherit(next, old, now);
    assert_int_equal(store_count(watch_store(next)), 1);
    return watch_resume_left(next, 0);
}

static void test_equal_settings_go_on_from_the_version(void **state)
{
    struct watch_params p = objects_watch_params();
    const char *rv;
    const char *collection_rv;
    (void)state;

    p.stale_after_ms += 1000;
    assert_int_equal(kind_with(&p), RESUME_WHOLE);
    assert_true(watch_version(next, 0, &rv, &collection_rv));
    assert_string_equal(rv, "7");
    assert_int_equal(watch_resume_contact_ns(next), UINT64_C(800000) * 1000000);
}

static void test_other_parts_of_objects_are_listed(void **state)
{
    static const char *const drop[] = {"metadata.managedFields"};
    struct watch_params p = objects_watch_params();
    (void)state;

    p.shape.drop = drop;
    p.shape.drop_count = 1;
    assert_int_equal(kind_with(&p), RESUME_RESHAPED);
}

static void test_with_other_selectors_objects_may_have_left(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    p.label_selector = "app=x";
    assert_int_equal(kind_with(&p), RESUME_EDITED);
}

static void test_objects_of_a_namespace_that_is_gone_may_have_left(void **state)
{
    static const char *const other[] = {"other"};
    struct watch_params p = objects_watch_params();
    (void)state;

    p.namespaces = other;
    p.namespace_count = 1;
    assert_int_equal(kind_with(&p), RESUME_EDITED);
}

static void test_a_first_list_that_has_not_come_leaves_nothing(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    old = make(&p);
    next = make(&p);
    watch_inherit(next, old, now);
    assert_int_equal(watch_resume_left(next, 0), RESUME_NONE);
}

/* The list that was to show which objects an edit changes has not come: the watch after the next needs
 * it, too. */
static void test_an_edit_lasts_until_its_list_has_come(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    p.label_selector = "app=x";
    assert_int_equal(kind_with(&p), RESUME_EDITED);
    watch_destroy(&old);
    old = next;
    p.object_size++;
    next = make(&p);
    watch_inherit(next, old, now);
    assert_int_equal(watch_resume_left(next, 0), RESUME_EDITED);
}

static void count(void *arg, struct object *o)
{
    size_t *n = arg;

    (void)o;
    ++*n;
}

/* ---- The server is lost, or is lost before it has answered the new watch. */

enum { STALE_AFTER = 30000, SHORTER = 20000, LISTED_MS = 100000, LOST_MS = 200000 };

/* The watch loses its stream, which was established LISTED_MS, at LOST_MS. */
static void lose(void)
{
    const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct list_watch *lw = watch_list_watch(old, 0);

    list_watch_head(lw, &head, LISTED_MS);
    (void)list_watch_end_identified(lw, &(struct err){.kind = ERR_CLOSED},
                                    (struct now){.ms = LOST_MS, .wall_ns = 1});
}

/* Puts another watch in the place of one that was lost; at: ms after that. */
static void replace_lost(const struct watch_params *p, uint64_t at)
{
    struct watch_params was = objects_watch_params();

    old = make(&was);
    list("ns/a");
    lose();
    (void)watch_tick(old, (struct now){.ms = LOST_MS + at, .wall_ns = 1});
    next = make(p);
    watch_inherit(next, old, (struct now){.ms = LOST_MS + at, .wall_ns = 1});
}

static uint64_t look(uint64_t at)
{
    return watch_tick(next, (struct now){.ms = LOST_MS + at, .wall_ns = 1});
}

static void expect_stale(bool stale)
{
    assert_true(watch_synced(next) == stale);
    assert_true(watch_stale(next) == stale);
}

static void test_a_stale_watch_is_replaced_by_a_stale_one(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    replace_lost(&p, STALE_AFTER + 5);
    assert_true(watch_stale(old));
    assert_int_equal(look(STALE_AFTER + 5), UINT64_MAX);
    expect_stale(true);
    assert_int_equal(watch_status(next, LOST_MS + STALE_AFTER + 10).contact_age_ms,
                     LOST_MS - LISTED_MS + STALE_AFTER + 10);
}

static void test_a_lost_watch_is_replaced_by_one_that_becomes_stale_in_its_time(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    p.stale_after_ms = SHORTER;
    replace_lost(&p, 5);
    assert_int_equal(look(5), LOST_MS + SHORTER);
    assert_int_equal(look(SHORTER - 1), LOST_MS + SHORTER);
    expect_stale(false);
    assert_int_equal(look(SHORTER), UINT64_MAX);
    expect_stale(true);
}

static void test_a_watch_whose_server_is_lost_after_the_reload_becomes_stale(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    old = make(&p);
    list("ns/a");
    list_watch_head(watch_list_watch(old, 0),
                    &(struct http_head){.status = 200, .retry_after_s = -1}, LOST_MS);
    next = make(&p);
    watch_inherit(next, old, (struct now){.ms = LOST_MS, .wall_ns = 1});
    assert_int_equal(look(0), LOST_MS + STALE_AFTER);
    assert_int_equal(look(STALE_AFTER), UINT64_MAX);
    expect_stale(true);
}

static void test_a_new_watch_that_its_server_answers_does_not_begin_stale(void **state)
{
    static const char bookmark[] =
        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\","
        "\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"}}}\n";
    const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct watch_params p = objects_watch_params();
    const struct now then = {.ms = LOST_MS + 6, .wall_ns = 1};
    (void)state;

    replace_lost(&p, 5);
    struct list_watch *lw = watch_list_watch(next, 0);
    assert_int_equal(list_watch_start(lw, then.ms).what, LW_WATCH);
    list_watch_head(lw, &head, then.ms);
    assert_true(list_watch_body(lw, bookmark, strlen(bookmark), then));
    assert_int_equal(look(STALE_AFTER), UINT64_MAX);
    assert_true(watch_synced(next));
    assert_false(watch_stale(next));
}

/* The cache is of other settings, so hooks wait for its list, as after a restart. */
static void test_an_edited_watch_does_not_begin_stale(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    p.label_selector = "app=x";
    replace_lost(&p, STALE_AFTER);
    assert_int_equal(look(STALE_AFTER), UINT64_MAX);
    expect_stale(false);
}

static void test_objects_that_nobody_has_seen_stay_hidden(void **state)
{
    struct watch_params p = objects_watch_params();
    struct object *o = objects_make("ns/a", "u1", "1", NULL);
    size_t n = 0;
    (void)state;

    old = make(&p);
    watch_load(old, o);
    object_unref(&o);
    next = make(&p);
    watch_inherit(next, old, now);
    watch_each(next, count, &n);
    assert_int_equal(n, 0);
    watch_restore(next, now);
    watch_each(next, count, &n);
    assert_int_equal(n, 1);
}

/* DELETED waits for its confirmation, so hooks still have the state before it. */
static void test_a_delete_that_nobody_has_heard_of_leaves_the_state_before_it(void **state)
{
    struct watch_params p = objects_watch_params();
    const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct buf event = {0};
    (void)state;

    p.confirm_deletes = true;
    old = make(&p);
    list("ns/a");
    struct list_watch *lw = watch_list_watch(old, 0);
    objects_put_event(&event, "DELETED", "ns/a", "u1", "9", NULL);
    list_watch_head(lw, &head, now.ms);
    assert_true(list_watch_body(lw, event.data, event.len, now));
    buf_free(&event);
    assert_int_equal(store_count(watch_store(old)), 0);
    next = make(&p);
    watch_inherit(next, old, now);
    const struct object *o = store_get(watch_store(next), str_c("ns/a"));
    assert_non_null(o);
    assert_true(str_is(object_rv(o), "5"));
    assert_int_equal(watch_resume_left(next, 0), RESUME_PARTIAL);
}

static void test_skipped_objects_stay_skipped(void **state)
{
    struct watch_params p = objects_watch_params();
    (void)state;

    old = make(&p);
    watch_load_skip(old, &(struct skip){.scope = 0,
                                        .id = str_c("ns/odd"),
                                        .name = str_c("ns/odd"),
                                        .why = str_c("it is too large"),
                                        .times = 1});
    next = make(&p);
    watch_inherit(next, old, now);
    assert_true(skips_has(store_skips(watch_store(next)), str_c("ns/odd")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_equal_settings_go_on_from_the_version),
        TEST(test_other_parts_of_objects_are_listed),
        TEST(test_with_other_selectors_objects_may_have_left),
        TEST(test_objects_of_a_namespace_that_is_gone_may_have_left),
        TEST(test_a_first_list_that_has_not_come_leaves_nothing),
        TEST(test_an_edit_lasts_until_its_list_has_come),
        TEST(test_a_stale_watch_is_replaced_by_a_stale_one),
        TEST(test_a_lost_watch_is_replaced_by_one_that_becomes_stale_in_its_time),
        TEST(test_a_watch_whose_server_is_lost_after_the_reload_becomes_stale),
        TEST(test_a_new_watch_that_its_server_answers_does_not_begin_stale),
        TEST(test_an_edited_watch_does_not_begin_stale),
        TEST(test_objects_that_nobody_has_seen_stay_hidden),
        TEST(test_a_delete_that_nobody_has_heard_of_leaves_the_state_before_it),
        TEST(test_skipped_objects_stay_skipped),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
