/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch: when a watch becomes stale and fresh again, each reported once (docs/design.md
 * "Staleness"). */
#include "objects.h"

#include "base/log.h"
#include "identified.h"
#include "list_watch_script.h"

enum { STALE_AFTER = 30000 };

static struct watch *w;
static struct now now;
static struct buf told; /* "s" = became stale, "f" = became fresh */

static void on_stale(void *arg, struct source from, bool stale, struct now at)
{
    assert_ptr_equal(arg, &told);
    assert_ptr_equal(from.watch, w);
    assert_int_equal(at.wall_ns, now.wall_ns);
    buf_putc(&told, stale ? 's' : 'f');
}

static const struct subscriber events = {.on_stale = on_stale};

static void make(const char *const *namespaces, size_t n, unsigned relist_deletes)
{
    struct watch_params p = objects_watch_params();

    p.namespaces = namespaces;
    p.namespace_count = n;
    p.guard.relist_deletes = relist_deletes;
    p.stale_after_ms = STALE_AFTER;
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    watch_subscribe(w, &events, &told);
}

static int set_up(void **state)
{
    static const char *const two[] = {"a", "b"};

    (void)state;
    log_set_level(LOG_LVL_ERROR);
    now = (struct now){1000000, 7};
    make(two, 2, 50);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    watch_destroy(&w);
    buf_free(&told);
    return 0;
}

static void tells(const char *want, uint64_t next_ms)
{
    assert_int_equal(watch_tick(w, now), next_ms);
    assert_string_equal(buf_cstr(&told), want);
    assert_int_equal(watch_tick(w, now), next_ms); /* once */
    assert_string_equal(buf_cstr(&told), want);
    buf_clear(&told);
    now.wall_ns++;
}

static void head(size_t i)
{
    list_watch_head(watch_list_watch(w, i), &(struct http_head){.status = 200, .retry_after_s = -1},
                    now.ms);
}

/* Both scopes are watched; the first one has two objects. */
static void sync_both(void)
{
    static const char *const pages[] = {
        PAGE("10", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")), PAGE("10", "", "")};

    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        list_watch_start(watch_list_watch(w, i), now.ms);
        assert_int_equal(objects_answer(watch_list_watch(w, i), pages[i], now).what, LW_WATCH);
        head(i);
    }
}

/* A list that deletes nothing, as one of its items has no name: the scopes that it left open are
 * listed again. */
static void test_scopes_that_a_list_left_open_are_listed_again(void **state)
{
    static const char page[] = PAGE("12", "", "{}," ITEM("a", "u1", "3", ""));
    static const char clean[] = PAGE("13", "", ITEM("a", "u1", "3", ""));
    uint64_t due_ms;

    (void)state;
    sync_both();
    watch_relist(w, RELIST_MANUAL);
    assert_int_equal(list_watch_restart(watch_list_watch(w, 0), now).what, LW_LIST);
    assert_int_equal(objects_answer(watch_list_watch(w, 0), page, now).what, LW_WATCH);
    head(0);
    assert_int_equal(list_watch_restart(watch_list_watch(w, 1), now).what, LW_LIST);
    assert_int_equal(objects_answer(watch_list_watch(w, 1), PAGE("12", "", ""), now).what,
                     LW_WATCH);
    head(1);
    assert_int_equal(store_count(watch_store(w)), 2);
    due_ms = watch_tick(w, now);
    assert_in_range(due_ms - now.ms, 60000, 120000);
    for (int i = 0; i < 2; i++) {
        now.ms = due_ms - 1;
        assert_int_equal(watch_tick(w, now), due_ms);
        assert_false(list_watch_is_ordered(watch_list_watch(w, 0)));
        now.ms++;
        assert_true(watch_tick(w, now) >= due_ms + (i + 1) * UINT64_C(120000));
        assert_true(list_watch_is_ordered(watch_list_watch(w, 0)));
        assert_false(list_watch_is_ordered(watch_list_watch(w, 1)));
        assert_int_equal(list_watch_restart(watch_list_watch(w, 0), now).what, LW_LIST);
        assert_int_equal(objects_answer(watch_list_watch(w, 0), i == 0 ? page : clean, now).what,
                         LW_WATCH);
        head(0);
        due_ms = watch_tick(w, now);
    }
    assert_int_equal(due_ms, UINT64_MAX);
    assert_int_equal(store_count(watch_store(w)), 1);
    assert_int_equal(watch_status(w, now.ms).relists_by[RELIST_UNNAMED], 2);
    buf_clear(&told);
}

static void lose(size_t i)
{
    assert_int_equal(
        list_watch_end_identified(watch_list_watch(w, i), &(struct err){.kind = ERR_CLOSED}, now)
            .what,
        LW_WATCH);
    assert_int_equal(
        list_watch_end_identified(watch_list_watch(w, i), &(struct err){.kind = ERR_REFUSED}, now)
            .what,
        LW_WAIT);
}

static void come_back(size_t i)
{
    assert_int_equal(list_watch_timer(watch_list_watch(w, i), now.ms).what, LW_WATCH);
    head(i);
}

static void test_scopes_that_are_watched_are_fresh_for_ever(void **state)
{
    (void)state;
    sync_both();
    tells("", UINT64_MAX);
    now.ms += (uint64_t)10 * STALE_AFTER;
    tells("", UINT64_MAX);
}

static void test_one_lost_scope_makes_the_watch_stale_and_its_return_fresh(void **state)
{
    (void)state;
    sync_both();
    now.ms += 5000;
    lose(1);
    tells("", now.ms + STALE_AFTER);
    now.ms += STALE_AFTER - 1;
    tells("", now.ms + 1);
    assert_false(watch_status(w, now.ms).stale);
    now.ms += 1;
    tells("s", UINT64_MAX);
    assert_true(watch_status(w, now.ms).stale);
    now.ms += 100000;
    tells("", UINT64_MAX);
    come_back(1);
    tells("f", UINT64_MAX);
    assert_false(watch_status(w, now.ms).stale);
}

static void test_the_first_of_lost_scopes_counts_and_all_must_return(void **state)
{
    (void)state;
    sync_both();
    now.ms += 5000;
    lose(0);
    uint64_t from_ms = now.ms + STALE_AFTER;
    now.ms += 5000;
    lose(1);
    tells("", from_ms);
    now.ms = from_ms;
    tells("s", UINT64_MAX);
    come_back(0);
    now.ms += 5000;
    tells("", UINT64_MAX);
    come_back(1);
    tells("f", UINT64_MAX);
}

static void test_nothing_is_stale_before_all_is_synced(void **state)
{
    (void)state;
    list_watch_start(watch_list_watch(w, 0), now.ms);
    list_watch_start(watch_list_watch(w, 1), now.ms);
    assert_int_equal(objects_answer(watch_list_watch(w, 0), PAGE("10", "", ""), now).what,
                     LW_WATCH);
    assert_int_equal(
        list_watch_end_identified(watch_list_watch(w, 0), &(struct err){.kind = ERR_REFUSED}, now)
            .what,
        LW_WAIT);
    now.ms += (uint64_t)10 * STALE_AFTER;
    tells("", UINT64_MAX);
    assert_false(watch_status(w, now.ms).stale);
    assert_int_equal(objects_answer(watch_list_watch(w, 1), PAGE("10", "", ""), now).what,
                     LW_WATCH);
    tells("s", UINT64_MAX);
}

static struct list_watch_action hold_a_list(void)
{
    static const char broken[] = ERROR_EVENT("500", "InternalError", "x");
    struct list_watch *f = watch_list_watch(w, 0);

    now.ms += 5000;
    assert_false(list_watch_body(f, broken, sizeof(broken) - 1, now));
    assert_int_equal(list_watch_end_identified(f, NULL, now).what, LW_WAIT);
    assert_int_equal(list_watch_timer(f, now.ms).what, LW_LIST);
    return objects_answer(f, PAGE("20", "", ""), now);
}

/* The hold is longer than stale_after: waiting and asking again are no loss of contact. */
static void test_a_held_list_makes_nothing_stale(void **state)
{
    struct list_watch *f = watch_list_watch(w, 0);

    (void)state;
    sync_both();
    struct list_watch_action a = hold_a_list();
    assert_int_equal(a.what, LW_WAIT);
    assert_int_equal(watch_status(w, now.ms).held, GUARD_DELETES);
    assert_int_equal(watch_status(w, now.ms).held_deletes, 2);
    assert_int_equal(watch_status(w, now.ms).state, WATCH_WAITING);
    tells("", UINT64_MAX);
    now.ms += a.wait_ms;
    tells("", UINT64_MAX);
    assert_int_equal(list_watch_timer(f, now.ms).what, LW_LIST);
    tells("", now.ms + STALE_AFTER);
    now.ms += STALE_AFTER; /* now it is stale */
    tells("s", UINT64_MAX);
}

static void test_accepting_a_held_list_makes_nothing_stale(void **state)
{
    struct list_watch *f = watch_list_watch(w, 0);

    (void)state;
    sync_both();
    hold_a_list();
    now.ms += STALE_AFTER + 5000;
    assert_true(watch_guard(w, true));
    assert_true(list_watch_is_ordered(f));
    assert_false(list_watch_is_ordered(watch_list_watch(w, 1)));
    assert_int_equal(list_watch_restart(f, now).what, LW_LIST);
    tells("", now.ms + STALE_AFTER);
    assert_int_equal(objects_answer(f, PAGE("20", "", ""), now).what, LW_WATCH);
    assert_int_equal(watch_status(w, now.ms).held, GUARD_NOTHING);
    assert_false(watch_guard(w, true));
}

static void test_overdue_by_bookmarks_and_lost_is_stale(void **state)
{
    static const char bookmark[] = BOOKMARK("11");
    struct list_watch *f = watch_list_watch(w, 0);

    (void)state;
    sync_both();
    assert_true(list_watch_body(f, bookmark, sizeof(bookmark) - 1, now));
    now.ms += 150000;
    assert_true(list_watch_overdue(f, now.ms));
    assert_int_equal(list_watch_end_identified(f, NULL, now).what, LW_WATCH);
    tells("", now.ms + STALE_AFTER);
    now.ms += STALE_AFTER;
    tells("s", UINT64_MAX);
}

static void test_an_ordered_relist_goes_to_all_scopes(void **state)
{
    (void)state;
    sync_both();
    watch_relist(w, RELIST_MANUAL);
    for (size_t i = 0; i < 2; i++) {
        assert_true(list_watch_is_ordered(watch_list_watch(w, i)));
        list_watch_restart(watch_list_watch(w, i), now);
    }
    assert_int_equal(watch_status(w, now.ms).relists, 2);
    assert_int_equal(watch_status(w, now.ms).relists_by[RELIST_MANUAL], 2);
    assert_int_equal(watch_status(w, now.ms).state, WATCH_LISTING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_scopes_that_a_list_left_open_are_listed_again),
        TEST(test_scopes_that_are_watched_are_fresh_for_ever),
        TEST(test_one_lost_scope_makes_the_watch_stale_and_its_return_fresh),
        TEST(test_the_first_of_lost_scopes_counts_and_all_must_return),
        TEST(test_nothing_is_stale_before_all_is_synced),
        TEST(test_a_held_list_makes_nothing_stale),
        TEST(test_accepting_a_held_list_makes_nothing_stale),
        TEST(test_overdue_by_bookmarks_and_lost_is_stale),
        TEST(test_an_ordered_relist_goes_to_all_scopes),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
