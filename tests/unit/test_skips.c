/* SPDX-License-Identifier: Apache-2.0 */
/* cache/skips, as the store keeps them: which objects are skipped, and until when. */
#include "cache/skips.h"

#include "objects.h"

#include "cache/store.h"

static struct store *store;
static struct buf
    told; /* skipped objects that came (+) and went (-), and deltas (!) since the last look */

static void on_delta(void *arg, const struct delta *d)
{
    (void)arg;
    buf_printf(&told, "!%s %.*s%s ", delta_type_name(d->type), STR_ARG(object_key(d->object)),
               d->final_state_unknown ? "?" : "");
}

static void on_skip(void *arg, const struct skip *s, bool gone)
{
    (void)arg;
    buf_printf(&told, "%c%.*s", gone ? '-' : '+', STR_ARG(s->name));
    if (s->times > 1)
        buf_printf(&told, "*%d", (int)s->times);
    buf_putc(&told, ' ');
}

static int set_up(void **state)
{
    (void)state;
    store = store_create(2, on_delta, NULL);
    store_on_skip(store, on_skip, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    store_destroy(&store);
    buf_free(&told);
    return 0;
}

static void tells(const char *want, uint64_t count)
{
    assert_string_equal(buf_cstr(&told), want);
    assert_int_equal(skips_count(store_skips(store)), count);
    buf_clear(&told);
}

static struct object *make(const char *name, const char *uid)
{
    return object_create(&(struct object_parts){.name = str_c(name),
                                                .uid = str_c(uid),
                                                .rv = str_c("1"),
                                                .body = str_c("{}"),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

enum act { APPLY, STAGE, PRESENT, LEAVE, STAGE_LEFT, REMOVE };

static void give(enum act act, const char *name, const char *uid)
{
    struct object *o = make(name, uid);

    switch (act) {
    case APPLY:
        store_apply(store, 0, o, (struct now){0});
        break;
    case STAGE:
        store_stage(store, 0, o);
        break;
    case LEAVE:
        store_leave(store, o, (struct now){0});
        break;
    case PRESENT:
        store_stage_present(store, 0, o);
        break;
    case STAGE_LEFT:
        store_stage_left(store, 0, o);
        break;
    case REMOVE:
        store_remove(store, o, (struct now){0});
        break;
    }
    object_unref(&o);
}

static struct unusable odd(const char *key, const char *uid)
{
    return (struct unusable){
        .key = str_c(key), .name = str_c(key), .uid = str_c(uid), .why = "it is odd"};
}

static void mark_odd(const char *key)
{
    struct unusable u = odd(key, "u");

    store_skip(store, 0, &u);
}

static void stage_skipped(const char *key)
{
    struct unusable u = odd(key, "u");

    store_stage_kept(store, 0, &u);
}

static void stage_unnamed(const char *uid)
{
    store_stage_kept(store, 0, &(struct unusable){.uid = str_c(uid), .why = "it has no name"});
}

static void commit(void)
{
    store_commit(store, 0, CAUSE_RELIST, (struct now){0});
}

static void test_an_object_is_skipped_until_a_usable_state_or_its_end(void **state)
{
    static const enum act acts[] = {APPLY, LEAVE, REMOVE};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        mark_odd("a");
        mark_odd("a");
        tells("+a ", 1);
        give(acts[i], "a", "u");
        tells(acts[i] == APPLY ? "-a !ADDED a " : acts[i] == LEAVE ? "-a !LEFT a " : "-a ", 0);
    }
}

/* Also a usable state that does not change the store. */
static void test_the_state_that_is_stored_is_a_usable_one(void **state)
{
    (void)state;
    give(APPLY, "a", "u");
    mark_odd("a");
    tells("!ADDED a +a ", 1);
    give(APPLY, "a", "u");
    tells("-a ", 0);
}

static void test_skipped_items_count_when_their_list_is_committed(void **state)
{
    (void)state;
    mark_odd("a");
    mark_odd("b");
    tells("+a +b ", 2);
    store_begin(store, 0);
    stage_skipped("b");
    stage_skipped("c");
    tells("", 2);
    store_abort(store, 0);
    tells("", 2);
    store_begin(store, 0);
    stage_skipped("b");
    stage_skipped("c");
    stage_skipped("d");
    give(STAGE, "d", "u"); /* named twice: the later item counts */
    commit();
    tells("-a +c !ADDED d ", 2);
    store_begin(store, 1);
    store_commit(store, 1, CAUSE_RELIST, (struct now){0});
    tells("", 2); /* that list was of another scope */
}

static void test_a_list_with_a_nameless_item_keeps_missing_objects_as_skipped(void **state)
{
    (void)state;
    give(APPLY, "a", "u1");
    give(APPLY, "b", "u2");
    give(APPLY, "c", "u3");
    buf_clear(&told);
    store_begin(store, 0);
    give(STAGE, "a", "u1");
    stage_unnamed("u9");
    give(STAGE_LEFT, "c", "u3");
    assert_int_equal(store_would_delete(store, 0), 0);
    commit();
    tells("!LEFT c + +b ", 2);
    store_begin(store, 0);
    give(STAGE, "a", "u1");
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    tells("!DELETED b? - -b ", 0);
}

static void test_items_without_anything_are_counted(void **state)
{
    (void)state;
    store_begin(store, 0);
    stage_unnamed("");
    stage_unnamed("");
    stage_unnamed("u1");
    stage_unnamed("u1");
    commit();
    tells("+*2 + ", 3);
    store_begin(store, 0);
    stage_unnamed("");
    commit();
    tells("+ - ", 1);
}

static void test_an_end_clears_a_skipped_object_without_a_key(void **state)
{
    const struct unusable slash = {
        .name = str_c("a/b"), .uid = str_c("u1"), .why = "its metadata.name is wrong"};
    const struct unusable unknown = {.why = "it has no name"};

    (void)state;
    store_skip(store, 0, &slash);
    tells("+a/b ", 1);
    store_remove_unusable(store, 0, &slash, (struct now){0});
    tells("-a/b ", 0);
    store_remove_unusable(store, 0, &slash, (struct now){0});
    tells("", 0);
    store_remove_unusable(store, 0, &unknown,
                          (struct now){0}); /* an object is gone: nobody knows which */
    tells("+ ", 1);
}

static void test_without_a_name_the_uid_identifies_the_object(void **state)
{
    const struct unusable unnamed = {.uid = str_c("u1"), .why = "it has no name"};

    (void)state;
    store_skip(store, 0, &unnamed);
    tells("+ ", 1);
    give(APPLY, "a", "u1");
    tells("- !ADDED a ", 0);
    store_skip(store, 0, &unnamed);
    tells("+a ", 1);
    store_remove_unusable(store, 0, &unnamed, (struct now){0});
    tells("-a !DELETED a? ", 0);
}

static void test_the_end_of_an_object_without_a_name_ends_its_record_with_a_key(void **state)
{
    const struct unusable unnamed = {.uid = str_c("u"), .why = "it has no name"};

    (void)state;
    mark_odd("a"); /* first with a name, then without */
    store_skip(store, 0, &unnamed);
    tells("+a +a ", 1);
    store_remove_unusable(store, 0, &unnamed, (struct now){0});
    tells("-a ", 0);
    store_skip(store, 0, &unnamed); /* the other way round */
    mark_odd("a");
    tells("+ +a ", 2);
    store_remove_unusable(store, 0, &unnamed, (struct now){0});
    assert_int_equal(skips_count(store_skips(store)), 0);
    buf_clear(&told);
    mark_odd("a"); /* the end of another object ends nothing */
    store_remove_unusable(store, 0, &(struct unusable){.uid = str_c("other"), .name = str_c("?")},
                          (struct now){0});
    tells("+a ", 1);
}

static void test_an_end_of_another_kind_needs_the_uid(void **state)
{
    struct unusable other = odd("a", "u8");
    struct unusable same = odd("a", "u1");

    (void)state;
    give(APPLY, "a", "u1");
    tells("!ADDED a ", 0);
    other.foreign = same.foreign = true;
    store_remove_unusable(store, 0, &other, (struct now){0});
    tells("", 0);
    store_remove_unusable(store, 0, &same, (struct now){0});
    tells("!DELETED a? ", 0);
    give(APPLY, "a", "u1");
    other.foreign = false; /* an incarnation without a usable state, as it was skipped */
    store_remove_unusable(store, 0, &other, (struct now){0});
    tells("!ADDED a !DELETED a? ", 0);
}

static void test_a_restored_skip_is_reported_when_it_changes(void **state)
{
    (void)state;
    store_load_skip(store, &(struct skip){.scope = 0,
                                          .id = str_c("a"),
                                          .name = str_c("a"),
                                          .why = str_c("it is odd"),
                                          .times = 1});
    tells("", 1);
    mark_odd("a");
    tells("", 1);
    give(APPLY, "a", "u");
    tells("-a !ADDED a ", 0);
    mark_odd("b");
    buf_clear(&told);
    store_unload(store, 0);
    tells("", 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

/* Only the watch brings the states of objects. A list cannot show that an object without a name is
 * gone. */
static void test_a_list_beside_a_watch_ends_only_skips_of_deleted_objects(void **state)
{
    struct unusable nameless = odd("", "");

    (void)state;
    mark_odd("gone");
    mark_odd("there");
    mark_odd("another"); /* another incarnation is there by now, which can be used */
    store_skip(store, 0, &nameless);
    buf_clear(&told);
    store_begin(store, 0);
    store_compare(store, 0);
    mark_odd("new"); /* the watch has shown it, and the list is older */
    give(PRESENT, "there", "u1");
    give(STAGE, "another", "u2");
    give(PRESENT, "another", "u2");
    tells("+new ", 5);
    commit();
    tells("-gone -another !ADDED another ", 3);
    store_begin(store, 0); /* any other list has all objects */
    give(STAGE, "there", "u1");
    give(STAGE, "new", "u1");
    commit();
    assert_int_equal(skips_count(store_skips(store)), 0);
}

/* A server may send names with "\u0000" in them: objects without a uid are told apart by all of the name. */
static void test_names_with_a_nul_are_two_objects(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        store_skip(store, 0,
                   &(struct unusable){.name = str_of(i == 0 ? "a\0b" : "a\0c", 3),
                                      .why = "its metadata.name is wrong"});
    tells("+a +a ", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_object_is_skipped_until_a_usable_state_or_its_end),
        TEST(test_the_state_that_is_stored_is_a_usable_one),
        TEST(test_a_list_beside_a_watch_ends_only_skips_of_deleted_objects),
        TEST(test_skipped_items_count_when_their_list_is_committed),
        TEST(test_a_list_with_a_nameless_item_keeps_missing_objects_as_skipped),
        TEST(test_items_without_anything_are_counted),
        TEST(test_an_end_clears_a_skipped_object_without_a_key),
        TEST(test_without_a_name_the_uid_identifies_the_object),
        TEST(test_the_end_of_an_object_without_a_name_ends_its_record_with_a_key),
        TEST(test_an_end_of_another_kind_needs_the_uid),
        TEST(test_a_restored_skip_is_reported_when_it_changes),
        TEST(test_names_with_a_nul_are_two_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
