/* SPDX-License-Identifier: Apache-2.0 */
/* cache/recording: the lines of a recording, and the objects of a folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cache/recording.h"

#define OBJECT                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":" \
    "\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"labels\":{\"x\":\"\\u00e4}\"}},\"data\":{" \
    "\"k\":\"v\"}}"
#define CHANGE(type, more)                                                                         \
    "{\"at\":\"2026-01-31T00:00:00.250Z\",\"type\":\"" type "\",\"cause\":\"relist\",\"cluster\":" \
    "\"c\",\"source\":\"cms\",\"api_version\":\"v1\",\"kind\":\"ConfigMap\",\"namespace\":\"n\","  \
    "\"name\":\"a\",\"uid\":\"u\",\"resource_version\":\"7\"," more "}"

/* The text in memory of exactly its size, so that a sanitizer sees a read behind it. */
static enum err_kind read_n(const char *text, size_t n, struct recording_line *out, struct err *err)
{
    char *exact = malloc(n > 0 ? n : 1);

    assert_non_null(exact);
    memcpy(exact, text, n);
    enum err_kind kind = recording_read(str_of(exact, n), out, err);
    free(exact);
    return kind;
}

static struct recording_line good(const char *text)
{
    struct recording_line l;
    struct err err = {0};

    if (read_n(text, strlen(text), &l, &err) != ERR_OK)
        fail_msg("%s: %s", text, err.text);
    return l;
}

static void bad(const char *text, enum err_kind kind, const char *words)
{
    struct recording_line l;
    struct err err = {0};

    if (read_n(text, strlen(text), &l, &err) != kind || strstr(err.text, words) == NULL)
        fail_msg("%s: %s", text, err.text);
    assert_null(l.source);
    assert_null(l.object);
}

static void assert_json(const struct object *o, const char *want)
{
    struct buf text = {0};

    object_put_json(&text, o);
    assert_string_equal(buf_cstr(&text), want);
    buf_free(&text);
}

static void test_a_change_has_its_object_and_how_it_was_found(void **state)
{
    (void)state;
    struct recording_line l =
        good(CHANGE("DELETED", "\"final_state_unknown\":true,\"object\":" OBJECT));

    assert_int_equal(l.what, RECORDING_CHANGE);
    assert_int_equal(l.type, DELTA_DELETED);
    assert_int_equal(l.cause, CAUSE_RELIST);
    assert_true(l.final_state_unknown);
    assert_int_equal(l.at_ms, INT64_C(1769817600250));
    assert_string_equal(l.source, "cms");
    assert_json(l.object, OBJECT);
    recording_line_fini(&l);
    assert_null(l.object);
}

static void test_each_type_of_a_stream_is_read(void **state)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "LEFT", "STALE", "FRESH"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct buf text = {0};

        buf_printf(&text, "{\"type\":\"%s\",\"source\":\"s\",\"object\":" OBJECT "}", types[i]);
        struct recording_line l = good(buf_cstr(&text));
        assert_int_equal(l.what, RECORDING_CHANGE);
        assert_int_equal(l.type, i);
        assert_int_equal(l.cause, CAUSE_WATCH); /* none is told */
        assert_false(l.final_state_unknown);
        assert_int_equal(l.object == NULL, i >= DELTA_STALE);
        recording_line_fini(&l);
        buf_free(&text);
    }
}

static void test_the_lines_around_the_changes(void **state)
{
    (void)state;
    struct recording_line l = good("{\"at\":\"2026-01-31T00:00:00Z\",\"recording\":1,\"x\":[2]}");
    assert_int_equal(l.what, RECORDING_HEAD);
    recording_line_fini(&l);
    l = good("{\"type\":\"WATCH\",\"source\":\"w\",\"cluster\":\"c\",\"resource\":\"pods\"}");
    assert_int_equal(l.what, RECORDING_WATCH);
    assert_string_equal(l.resource, "pods");
    assert_int_equal(l.at_ms, 0);
    recording_line_fini(&l);
    l = good("{\"type\":\"SYNCED\",\"source\":\"w\",\"objects\":3,\"stale\":false}");
    assert_int_equal(l.what, RECORDING_SYNCED);
    assert_false(l.stale);
    recording_line_fini(&l);
    l = good("{\"type\":\"SYNCED\",\"source\":\"w\",\"stale\":true}");
    assert_true(l.stale);
    recording_line_fini(&l);
    l = good("{\"type\":\"CUT\",\"source\":\"w\",\"why\":\"too slow\"}");
    assert_int_equal(l.what, RECORDING_CUT);
    assert_string_equal(l.why, "too slow");
    recording_line_fini(&l);
}

/* With persist = "digest" informerd knows of an object that is gone meanwhile only who it was. */
static void test_an_end_without_an_object_has_its_identity(void **state)
{
    (void)state;
    struct recording_line l = good(CHANGE("LEFT", "\"object\":null"));

    assert_json(l.object, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                          "\"a\",\"namespace\":\"n\",\"uid\":\"u\"}}");
    recording_line_fini(&l);
    bad(CHANGE("ADDED", "\"object\":null"), ERR_PROTOCOL, "object is missing");
}

static void test_garbage_is_refused(void **state)
{
    (void)state;
    bad("", ERR_PROTOCOL, "");
    bad("nonsense", ERR_PROTOCOL, "JSON");
    bad("[1]", ERR_PROTOCOL, "no JSON object");
    bad("{} {}", ERR_PROTOCOL, "");
    bad("{}", ERR_PROTOCOL, "names no source");
    bad("{\"recording\":2}", ERR_CONFIG, "version 2");
    bad("{\"recording\":\"1x\"}", ERR_CONFIG, "version 1x");
    bad("{\"recording\":\"1\x7f\"}", ERR_CONFIG, "version 1\\u007f");
    bad("{\"recording\":\"\\u001b[2J\"}", ERR_CONFIG, "version \\u001b[2J");
    bad("{\"source\":\"s\"}", ERR_PROTOCOL, "type");
    bad("{\"source\":\"s\",\"type\":\"BOOKMARK\"}", ERR_PROTOCOL, "type");
    bad("{\"source\":\"s\",\"type\":\"SYNCED\",\"at\":\"yesterday\"}", ERR_PROTOCOL, "at");
    bad("{\"source\":\"s\",\"type\":\"ADDED\",\"object\":{\"kind\":\"X\",\"apiVersion\":\"v1\"}}",
        ERR_PROTOCOL, "metadata.name");
    bad("{\"source\":\"s\",\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}",
        ERR_PROTOCOL, "no kind");
}

static void test_a_line_that_is_cut_anywhere_is_refused(void **state)
{
    static const char line[] = CHANGE("ADDED", "\"object\":" OBJECT);

    (void)state;
    for (size_t n = 0; n < sizeof(line) - 1; n++) {
        struct recording_line l;
        struct err err;

        assert_int_equal(read_n(line, n, &l, &err), ERR_PROTOCOL);
    }
}

/* ---- Objects */

static void collect(void *arg, struct object *o)
{
    struct buf *keys = arg;

    buf_append_str(keys, object_key(o));
    buf_putc(keys, ' ');
}

static void objects(const char *text, enum err_kind want, const char *keys, const char *words)
{
    struct buf got = {0};
    struct err err = {0};

    assert_int_equal(recording_read_objects(str_c(text), collect, &got, &err), want);
    assert_string_equal(got.len > 0 ? buf_cstr(&got) : "", keys);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s: %s", text, err.text);
    buf_free(&got);
}

#define LIST(items) "{\"kind\":\"List\",\"items\":[" items "],\"apiVersion\":\"v1\"}\n"

static void test_a_file_has_an_object_or_a_list(void **state)
{
    (void)state;
    objects(OBJECT "\n", ERR_OK, "n/a ", "");
    objects(LIST(OBJECT "," OBJECT), ERR_OK, "n/a n/a ", "");
    objects(LIST(""), ERR_OK, "", "");
}

static void test_a_file_of_anything_else_is_refused(void **state)
{
    (void)state;
    objects("", ERR_PROTOCOL, "", "");
    objects("[" OBJECT "]", ERR_PROTOCOL, "", "no JSON object");
    objects(OBJECT OBJECT, ERR_PROTOCOL, "", "");
    objects(LIST(OBJECT ",3"), ERR_PROTOCOL, "n/a ", "item 2");
    objects(LIST("[]"), ERR_PROTOCOL, "", "item 1");
    objects(LIST(OBJECT ",{}"), ERR_PROTOCOL, "n/a ", "item 2");
    objects("{\"kind\":\"X\"}", ERR_PROTOCOL, "", "apiVersion");
}

static void test_a_list_that_is_cut_anywhere_is_refused(void **state)
{
    static const char text[] = "{\"kind\":\"List\",\"items\":[" OBJECT "]}";

    (void)state;
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        struct buf got = {0};
        struct err err;
        char *exact = malloc(n > 0 ? n : 1);

        assert_non_null(exact);
        memcpy(exact, text, n);
        assert_int_equal(recording_read_objects(str_of(exact, n), collect, &got, &err),
                         ERR_PROTOCOL);
        buf_free(&got);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_has_its_object_and_how_it_was_found),
        cmocka_unit_test(test_each_type_of_a_stream_is_read),
        cmocka_unit_test(test_the_lines_around_the_changes),
        cmocka_unit_test(test_an_end_without_an_object_has_its_identity),
        cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_a_line_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(test_a_file_has_an_object_or_a_list),
        cmocka_unit_test(test_a_file_of_anything_else_is_refused),
        cmocka_unit_test(test_a_list_that_is_cut_anywhere_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
