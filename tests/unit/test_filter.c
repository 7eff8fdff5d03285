/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <string.h>

#include "hook/filter.h"

enum { ALL = 0x3f };

static struct filter with_paths(const char *const *paths, size_t n)
{
    struct filter f;

    assert_int_equal(filter_init(&f, ALL, paths, n, NULL), ERR_OK);
    return f;
}

/* Would a change of data from a to b (both of one incarnation, with different versions) count? */
static bool changed(const struct filter *f, const char *a, const char *b)
{
    struct object *x = objects_make("ns/n", "u", "1", a);
    struct object *y = objects_make("ns/n", "u", "2", b);
    bool is = filter_changed(f, x, y);

    assert_int_equal(is, filter_changed(f, y, x));
    assert_false(filter_changed(f, x, x));
    object_unref(&x);
    object_unref(&y);
    return is;
}

static void test_every_subset_of_events_is_distinguished(void **state)
{
    (void)state;
    for (unsigned events = 0; events <= ALL; events++) {
        struct filter f;

        assert_int_equal(filter_init(&f, events, NULL, 0, NULL), ERR_OK);
        for (int type = DELTA_ADDED; type <= DELTA_FRESH; type++)
            assert_int_equal(filter_takes(&f, (enum delta_type)type), (events >> type) & 1);
        filter_fini(&f);
    }
}

static void test_without_paths_any_byte_but_the_version_counts(void **state)
{
    struct filter f = with_paths(NULL, 0);

    (void)state;
    assert_false(changed(&f, "\"a\":1", "\"a\":1"));
    assert_true(changed(&f, "\"a\":1", "\"a\":2"));
    assert_true(changed(&f, "\"a\":1", "\"a\":1,\"b\":1"));
    filter_fini(&f);
}

static void test_a_value_that_is_written_in_another_way_does_not_count(void **state)
{
    static const char *const paths[] = {"data.a", "data.list[*].p"};
    struct filter any = with_paths(NULL, 0);
    struct filter some = with_paths(paths, 2);

    (void)state;
    assert_false(changed(&any, "\"a\":\"<\",\"b\":[1,2]", "\"b\":[1, 2],\"a\":\"\\u003c\""));
    assert_false(changed(&any, "\"a\":{\"creationTimestamp\":null}", "\"a\":{}"));
    assert_true(changed(&any, "\"a\":[1,2]", "\"a\":[2,1]"));
    assert_false(changed(&some, "\"a\":{\"x\":1,\"y\":2},\"b\":1", "\"a\":{\"y\":2,\"x\":1}"));
    assert_false(
        changed(&some, "\"list\":[{\"p\":\"/\"}],\"b\":1", "\"list\":[ {\"q\":1,\"p\":\"\\/\"}]"));
    assert_false(changed(&some, "\"a\":{\"creationTimestamp\":null},\"b\":1", "\"a\":{}"));
    assert_true(changed(&some, "\"a\":{\"x\":1,\"y\":2},\"b\":1", "\"a\":{\"y\":1,\"x\":2}"));
    filter_fini(&any);
    filter_fini(&some);
}

static void test_with_paths_only_selected_values_count(void **state)
{
    static const char *const paths[] = {"data.a", "data.list[*].p"};
    struct filter f = with_paths(paths, 2);

    (void)state;
    assert_false(changed(&f, "\"a\":1,\"b\":1", "\"a\":1,\"b\":2"));
    assert_true(changed(&f, "\"a\":1,\"b\":1", "\"a\":2,\"b\":1"));
    assert_true(changed(&f, "\"a\":1", "\"b\":1")); /* the path has no value any more */
    assert_true(changed(&f, "\"a\":1", "\"a\":\"1\""));
    assert_false(changed(&f, "\"b\":1", "\"b\":2"));
    assert_false(changed(&f, "\"list\":[{\"p\":1,\"q\":1}]", "\"list\":[{\"p\":1,\"q\":2}]"));
    assert_true(changed(&f, "\"list\":[{\"p\":1},{\"p\":2}]", "\"list\":[{\"p\":2},{\"p\":1}]"));
    assert_true(changed(&f, "\"list\":[{\"p\":1}]", "\"list\":[{\"p\":1},{\"p\":1}]"));
    filter_fini(&f);
}

/* A value that one path selects is not taken for the value of another path. */
static void test_a_value_that_moves_between_paths_counts(void **state)
{
    static const char *const paths[] = {"data.a", "data.b"};
    struct filter f = with_paths(paths, 2);

    (void)state;
    assert_true(changed(&f, "\"a\":1", "\"b\":1"));
    assert_true(changed(&f, "\"a\":1,\"b\":2", "\"a\":2,\"b\":1"));
    assert_true(changed(&f, "\"a\":0,\"b\":1", "\"a\":1,\"b\":0"));
    filter_fini(&f);
}

/* tests/wire/SCENARIOS.md 40. */
static void test_a_path_that_is_missing_null_or_of_another_type_is_null(void **state)
{
    static const char *const paths[] = {"data.a.b[0].c"};
    static const char *const nothing[] = {
        "",
        "\"a\":null",
        "\"a\":1",
        "\"a\":\"b\"",
        "\"a\":[]",
        "\"a\":[{\"b\":[{\"c\":1}]}]",
        "\"a\":{}",
        "\"a\":{\"b\":null}",
        "\"a\":{\"b\":{\"0\":{\"c\":1}}}",
        "\"a\":{\"b\":[]}",
        "\"a\":{\"b\":[1]}",
        "\"a\":{\"b\":[{}]}",
        "\"a\":{\"b\":[{\"c\":null}]}",
        "\"a\":{\"b\":[{\"d\":1},{\"c\":1}]}",
    };
    struct filter f = with_paths(paths, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
        for (size_t k = 0; k < i; k++)
            assert_false(changed(&f, nothing[i], nothing[k]));
        assert_true(changed(&f, nothing[i], "\"a\":{\"b\":[{\"c\":false}]}"));
    }
    filter_fini(&f);
}

static void test_a_path_may_select_fields_kept_beside_the_body(void **state)
{
    static const char *const paths[] = {"metadata.resourceVersion"};
    static const char *const others[] = {"metadata.labels"};
    struct filter f = with_paths(paths, 1);
    struct filter g = with_paths(others, 1);

    (void)state;
    assert_true(changed(&f, "\"a\":1", "\"a\":2"));
    assert_false(changed(&g, "\"a\":1", "\"a\":2"));
    filter_fini(&f);
    filter_fini(&g);
}

static void test_a_bad_path_is_named(void **state)
{
    static const char *const paths[] = {"data.a", "data["};
    struct filter f;
    struct err err = {0};

    (void)state;
    assert_int_equal(filter_init(&f, ALL, paths, 2, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "changes_in: data["));
    assert_int_equal(f.path_count, 0);
    filter_fini(&f); /* is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_subset_of_events_is_distinguished),
        cmocka_unit_test(test_without_paths_any_byte_but_the_version_counts),
        cmocka_unit_test(test_a_value_that_is_written_in_another_way_does_not_count),
        cmocka_unit_test(test_with_paths_only_selected_values_count),
        cmocka_unit_test(test_a_value_that_moves_between_paths_counts),
        cmocka_unit_test(test_a_path_that_is_missing_null_or_of_another_type_is_null),
        cmocka_unit_test(test_a_path_may_select_fields_kept_beside_the_body),
        cmocka_unit_test(test_a_bad_path_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
