/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/changes.h"

#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct buf list;

static int clear(void **state)
{
    (void)state;
    buf_free(&list);
    return 0;
}

/* The changes from data a at RV 1 to data b at RV 2. */
static const char *between(const char *a, const char *b)
{
    struct object *was = objects_make("ns/n", "u", "1", a);
    struct object *is = objects_make("ns/n", "u", "2", b);

    buf_free(&list);
    list = changes_between(was, is);
    object_unref(&was);
    object_unref(&is);
    return buf_cstr(&list);
}

static void test_paths_where_two_states_differ(void **state)
{
    (void)state;
    assert_string_equal(between("\"a\":1,\"b\":[1,2]", "\"a\":2,\"b\":[1]"), "data.a\ndata.b[1]\n");
    assert_string_equal(between(NULL, "\"a\":1"), "data\n");
    assert_string_equal(between("\"a\":\"x\",\"b/c\":1", "\"a\":\"x\""), "data['b/c']\n");
}

static struct object *object_of(const char *metadata)
{
    char *body =
        mem_printf("{\"metadata\":{%s\"resourceVersion\":\"\",\"generation\":},\"a\":1}", metadata);
    const char *rv = strstr(body, "\"resourceVersion\":\"");
    struct object *o = object_create(&(struct object_parts){
        .name = str_c("n"),
        .rv = str_c(metadata[0] == '\0' ? "9" : "10"),
        .generation = str_c(metadata[0] == '\0' ? "1" : "200"),
        .body = str_c(body),
        .rv_at = (size_t)(rv - body) + strlen("\"resourceVersion\":\""),
        .generation_at =
            (size_t)(strstr(body, "\"generation\":") - body) + strlen("\"generation\":"),
    });

    free(body);
    return o;
}

static void test_versions_do_not_count(void **state)
{
    struct object *was = object_of("");
    struct object *is = object_of("\"labels\":{},");

    (void)state;
    assert_string_equal(between("\"a\":1", "\"a\":1"), "");
    buf_free(&list);
    list = changes_between(was, is);
    assert_string_equal(buf_cstr(&list), "metadata.labels\n");
    buf_clear(&list);
    object_put_json(&list, is);
    assert_string_equal(buf_cstr(&list), "{\"metadata\":{\"labels\":{},\"resourceVersion\":\"10\","
                                         "\"generation\":200},\"a\":1}");
    buf_clear(&list);
    object_put_unversioned(&list, is);
    assert_string_equal(buf_cstr(&list), "{\"metadata\":{\"labels\":{},\"resourceVersion\":\"\"},"
                                         "\"a\":1}");
    object_unref(&was);
    object_unref(&is);
}

static void test_without_a_state_there_is_no_change(void **state)
{
    struct object *o = objects_make("ns/n", "u", "1", "\"a\":1");

    (void)state;
    list = changes_between(NULL, o);
    assert_int_equal(list.len, 0);
    list = changes_between(o, NULL);
    assert_int_equal(list.len, 0);
    list = changes_between(o, o);
    assert_int_equal(list.len, 0);
    object_unref(&o);
}

/* n members "PREFIX0":VALUE, ... */
static char *members(const char *prefix, int n, int value)
{
    struct buf text = {0};

    for (int i = 0; i < n; i++)
        buf_printf(&text, "%s\"%s%d\":%d", i > 0 ? "," : "", prefix, i, value);
    char *copy = mem_strdup(buf_cstr(&text));
    buf_free(&text);
    return copy;
}

static size_t count_lines(const struct buf *lines)
{
    size_t n = 0;

    for (size_t i = 0; i < lines->len; i++)
        n += lines->data[i] == '\n';
    return n;
}

static void test_more_than_the_most_are_cut(void **state)
{
    for (int n = CHANGES_MAX; n <= CHANGES_MAX + 1; n++) {
        char *a = members("x", n, 1);
        char *b = members("x", n, 2);

        between(a, b);
        assert_int_equal(count_lines(&list), n == CHANGES_MAX ? CHANGES_MAX : 1);
        free(a);
        free(b);
    }
    (void)state;
    assert_string_equal(buf_cstr(&list), "data\n");
}

static void unite(const char *more)
{
    changes_unite(&list, str_c(more));
}

static void test_united_lists_are_one_list(void **state)
{
    struct buf more = {0};

    (void)state;
    unite("");
    assert_int_equal(list.len, 0);
    unite("b\nd.e\n");
    unite("a\nb\nd\n");
    unite("");
    assert_string_equal(buf_cstr(&list), "a\nb\nd\nd.e\n");
    for (int i = 0; i < CHANGES_MAX; i++)
        buf_printf(&more, "d.x%d\n", i);
    changes_unite(&list, buf_str(&more));
    assert_string_equal(buf_cstr(&list), "a\nb\nd\n");
    buf_clear(&more);
    for (int i = 0; i < CHANGES_MAX; i++)
        buf_printf(&more, "x%d\n", i);
    changes_unite(&list, buf_str(&more));
    assert_string_equal(buf_cstr(&list), "*\n");
    buf_free(&more);
}

/* Somewhere in an object with too many values to compare, a value has changed. */
static void test_an_object_too_large_to_compare_has_changed(void **state)
{
    struct buf body = {0};

    (void)state;
    buf_puts(&body, "{\"a\":[");
    for (int i = 0; i < 1000000; i++)
        buf_puts(&body, i > 0 ? ",1" : "1");
    buf_puts(&body, "]}");
    struct object_parts parts = {
        .name = str_c("n"), .body = buf_str(&body), .rv_at = SIZE_MAX, .generation_at = SIZE_MAX};
    struct object *was = object_create(&parts);
    parts.body = str_c("{}");
    struct object *is = object_create(&parts);
    list = changes_between(was, is);
    assert_string_equal(buf_cstr(&list), "*\n");
    object_unref(&was);
    object_unref(&is);
    buf_free(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_paths_where_two_states_differ, clear),
        cmocka_unit_test_teardown(test_versions_do_not_count, clear),
        cmocka_unit_test_teardown(test_without_a_state_there_is_no_change, clear),
        cmocka_unit_test_teardown(test_more_than_the_most_are_cut, clear),
        cmocka_unit_test_teardown(test_united_lists_are_one_list, clear),
        cmocka_unit_test_teardown(test_an_object_too_large_to_compare_has_changed, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
