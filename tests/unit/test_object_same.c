/* SPDX-License-Identifier: Apache-2.0 */
/* kube/object: two states with the same values are the same, however they are written. */
#include "objects.h"

#include <string.h>

#include "hook/changes.h"
#include "kube/event.h"
#include "proto/json_diff.h"

static struct object *read_object(const char *text)
{
    const struct object_rules rules = {"Deployment", "apps/v1", 1 << 20, NULL, false};
    struct buf frame = {0};
    struct event_reader *r = event_reader_create(&rules);

    buf_printf(&frame, "{\"type\":\"ADDED\",\"object\":%s}\n", text);
    assert_int_equal(event_reader_feed(r, frame.data, frame.len, NULL), ERR_OK);
    const struct event *e = event_reader_next(r);
    assert_non_null(e);
    struct object *o = object_ref(e->object);
    event_reader_destroy(&r);
    buf_free(&frame);
    return o;
}

#define HEAD "\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\","
#define META "\"name\":\"n\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":"
#define SPEC "\"spec\":{\"note\":\"a < b\",\"of\":[1,{\"c\":2}],\"template\":{\"metadata\":"

static const char *const same[] = {
    "{" HEAD "\"metadata\":{" META "\"1\"}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"2\"}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{\"generation\":1," META "\"3\"}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"3\",\"generation\":22}," SPEC "{}}}}",
    "{" HEAD
    "\"metadata\":{\"name\":\"n\" , \"generation\" : 3 , \"namespace\":\"ns\",\"uid\":\"u\""
    ",\"resourceVersion\":\"4\"}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"4\" ,\n\t\"gen\\u0065ration\" : 5\n}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"5\",\"creationTimestamp\":null}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"6\"}," SPEC "{\"creationTimestamp\":null}}}}",
    "{" HEAD "\"metadata\":{" META "\"7\",\"managedFields\":[{}],\"generation\":1}," SPEC
    "{\"creationTimestamp\": null }}}}",
    "{\"spec\":{\"template\":{\"metadata\":{}},\"of\":[1 , {\"c\":2}],\"note\":\"a \\u003c b\"},"
    "\"metadata\":{" META "\"8\"},\"apiVersion\":\"apps\\/v1\",\"kind\":\"Deployment\"}",
    "{ " HEAD "\"metadata\":{" META "\"9\"},\r\n\"spec\":{\"\\u006eote\":\"\\u0061 < b\",\"of\":[1,"
    "{\"c\":2}],\"template\":{\"metadata\":{ \"creationTimestamp\" : null}}}}",
};

static const char *const others[] = {
    "{" HEAD "\"metadata\":{" META "\"1\"},\"spec\":{}}",
    "{" HEAD "\"metadata\":{" META "\"1\",\"labels\":{}}," SPEC "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\",\"creationTimestamp\":\"2024-01-01T00:00:00Z\"}," SPEC
    "{}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"}," SPEC "null}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"}," SPEC "{\"deletionTimestamp\":null}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"}," SPEC "{\"generation\":1}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"}," SPEC "{\"generation\":null}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"},\"spec\":{\"note\":\"b < a\",\"of\":[1,{\"c\":2}],"
    "\"template\":{\"metadata\":{}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"},\"spec\":{\"note\":\"a  < b\",\"of\":[1,{\"c\":2}],"
    "\"template\":{\"metadata\":{}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"},\"spec\":{\"note\":\"a < b\",\"of\":[2,{\"c\":1}],"
    "\"template\":{\"metadata\":{}}}}",
    "{" HEAD "\"metadata\":{" META "\"1\"},\"spec\":{\"note\":\"a < b\",\"of\":[{\"c\":2},1],"
    "\"template\":{\"metadata\":{}}}}",
};

/* The two states are the same, or not, and so are their digests; the changed paths agree. */
static void compare(const char *one, const char *other, bool want)
{
    struct object *a = read_object(one);
    struct object *b = read_object(other);
    struct buf lines = {0};
    struct buf was = {0};
    struct buf is = {0};

    object_put_unversioned(&was, a);
    object_put_unversioned(&is, b);
    assert_int_equal(json_diff(buf_str(&was), buf_str(&is), 100, &lines, NULL), ERR_OK);
    assert_int_equal(lines.len == 0, want);
    assert_int_equal(object_same(a, b), want);
    assert_int_equal(digest_either(object_digest(a), object_digest(b)), want);
    buf_free(&lines);
    lines = changes_between(a, b);
    assert_int_equal(lines.len == 0, want);
    buf_free(&lines);
    buf_free(&was);
    buf_free(&is);
    object_unref(&a);
    object_unref(&b);
}

static void test_another_way_to_write_a_state_is_the_same_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        for (size_t k = 0; k < ARRAY_LEN(same); k++)
            compare(same[i], same[k], true);
}

static void test_another_value_is_another_state(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        for (size_t k = 0; k < i; k++)
            compare(others[i], others[k], false);
        for (size_t k = 0; k < ARRAY_LEN(same); k++)
            compare(others[i], same[k], false);
    }
}

/* The resourceVersion and the generation are written where they stood; without versions there is no
 * generation. */
static void test_an_object_is_written_as_it_was_read(void **state)
{
    struct buf json = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct object *o = read_object(same[i]);

        buf_clear(&json);
        object_put_json(&json, o);
        if (strstr(same[i], "managedFields") == NULL)
            assert_string_equal(buf_cstr(&json), same[i]);
        buf_clear(&json);
        object_put_unversioned(&json, o);
        assert_null(strstr(buf_cstr(&json), "eration"));
        object_unref(&o);
    }
    buf_free(&json);
}

static void test_only_paths_that_differ_are_among_the_changes(void **state)
{
    struct object *was = read_object("{" HEAD "\"metadata\":{" META "\"1\"}," SPEC
                                     "{\"creationTimestamp\":null}}}}");
    struct object *is = read_object("{" HEAD "\"metadata\":{\"labels\":{\"a\":\"1\"}," META
                                    "\"2\",\"generation\":1}," SPEC "{}}}}");
    struct buf lines = changes_between(was, is);

    (void)state;
    assert_string_equal(buf_cstr(&lines), "metadata.labels\n");
    buf_free(&lines);
    object_unref(&was);
    object_unref(&is);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_way_to_write_a_state_is_the_same_state),
        cmocka_unit_test(test_another_value_is_another_state),
        cmocka_unit_test(test_an_object_is_written_as_it_was_read),
        cmocka_unit_test(test_only_paths_that_differ_are_among_the_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
