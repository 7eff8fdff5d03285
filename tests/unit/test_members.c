/* SPDX-License-Identifier: Apache-2.0 */
/* The members of ConfigMaps and Secrets that become files. */
#include "objects.h"

#include <string.h>

#include "base/wire.h"
#include "hook/members.h"

static struct object *make(const char *kind, const char *body)
{
    return object_create(&(struct object_parts){.ns = str_c("n"),
                                                .name = str_c("a"),
                                                .uid = str_c("u"),
                                                .api_version = str_c("v1"),
                                                .kind = str_c(kind),
                                                .body = str_c(body),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

/* Appends "name=bytes;" for each member, and "-name;" for one that goes, as the helper reads them. */
static void put_input(const struct members *m, struct buf *out)
{
    const char *at = m->input.data;
    struct wire_member head;

    for (size_t i = 0; i < m->n; i++) {
        memcpy(&head, at, sizeof(head));
        at += sizeof(head);
        assert_int_equal(head.length, strlen(m->v[i].name));
        assert_memory_equal(at, m->v[i].name, head.length);
        assert_int_equal(head.goes, m->v[i].goes);
        at += head.length;
        if (head.goes == 0)
            assert_true(digest_eq(m->v[i].digest, digest_of(at, head.size)));
        buf_printf(out, "%s%s%s%.*s;", head.goes == 1 ? "-" : "", m->v[i].name,
                   head.goes == 1 ? "" : "=", (int)head.size, at);
        at += head.size;
    }
    assert_ptr_equal(at, m->input.data + m->input.len);
}

static void reads(const char *kind, const char *body, const char *want)
{
    struct object *o = make(kind, body);
    struct members *m = members_create();
    struct buf got = {0};
    struct err err;

    assert_int_equal(members_read(m, o, &err), ERR_OK);
    if (m->n > 0)
        put_input(m, &got);
    assert_string_equal(buf_cstr(&got), want);
    buf_free(&got);
    members_destroy(&m);
    object_unref(&o);
}

static void refuses(const char *kind, const char *body, const char *why)
{
    struct object *o = make(kind, body);
    struct members *m = members_create();
    struct err err;

    assert_int_equal(members_read(m, o, &err), ERR_CONFIG);
    assert_string_equal(err.text, why);
    members_destroy(&m);
    assert_null(m);
    object_unref(&o);
}

static void test_members_are_decoded(void **state)
{
    (void)state;
    reads("ConfigMap", "{\"data\":{\"a\":\"1\\n\",\"b\":\"\"},\"binaryData\":{\"c\":\"aGk=\"}}",
          "a=1\n;b=;c=hi;");
    reads("Secret", "{\"data\":{\"a\":\"aGk=\",\"b\":\"\"},\"type\":\"Opaque\"}", "a=hi;b=;");
    reads("ConfigMap", "{\"data\":{\"a\":\"aGk=\"},\"immutable\":true}", "a=aGk=;");
    reads("ConfigMap", "{\"data\":{\"a\":null}}", "a=;");
}

static void test_an_object_without_members(void **state)
{
    (void)state;
    reads("ConfigMap", "{}", "");
    reads("ConfigMap", "{\"data\":null,\"binaryData\":{}}", "");
    reads("Secret", "{\"metadata\":{\"data\":{\"a\":1}},\"spec\":{\"binaryData\":[]}}", "");
}

static void test_what_can_be_no_file_is_refused_without_its_bytes(void **state)
{
    (void)state;
    refuses("Secret", "{\"data\":{\"a\":\"aGk=\",\"b\":\"hush!\"}}", "data[\"b\"] is no base64");
    refuses("ConfigMap", "{\"binaryData\":{\"b\":\"hush!\"}}", "binaryData[\"b\"] is no base64");
    refuses("ConfigMap", "{\"data\":{\"a\":1}}", "data[\"a\"] is no string");
    refuses("ConfigMap", "{\"data\":{\"a\":{\"b\":\"c\"}}}", "data[\"a\"] is no string");
    refuses("ConfigMap", "{\"data\":[\"a\"]}", "data is no object");
    refuses("ConfigMap", "{\"binaryData\":\"a\"}", "binaryData is no object");
    refuses("ConfigMap", "{\"data\":{\"a\":\"1\"},\"binaryData\":{\"a\":\"aGk=\"}}",
            "the object has two members \"a\"");
    refuses("ConfigMap", "", "the contents of the object are not known");
}

static void test_too_many_members_are_refused(void **state)
{
    struct members *m = members_create();
    struct buf body = {0};
    struct err err;

    (void)state;
    buf_puts(&body, "{\"data\":{\"a\":\"\"");
    for (int i = 0; i < WIRE_MEMBERS_MAX; i++)
        buf_printf(&body, ",\"%d\":\"\"", i);
    buf_puts(&body, "}}");
    struct object *o = make("ConfigMap", buf_cstr(&body));
    assert_int_equal(members_read(m, o, &err), ERR_TOO_BIG);
    assert_string_equal(err.text, "the object has more than 4096 members, or more than 64 MiB");
    object_unref(&o);
    members_destroy(&m);
    buf_free(&body);
}

static void test_members_that_go_come_last(void **state)
{
    struct object *o = make("ConfigMap", "{\"data\":{\"a\":\"1\"}}");
    struct members *m = members_create();
    struct buf got = {0};

    (void)state;
    assert_int_equal(members_read(m, o, NULL), ERR_OK);
    assert_true(members_add_gone(m, str_c("b"), "/x/b"));
    assert_string_equal(m->v[1].path, "/x/b");
    put_input(m, &got);
    assert_string_equal(buf_cstr(&got), "a=1;-b;");
    members_drop_input(m);
    assert_int_equal(m->input.len, 0);
    buf_free(&got);
    members_destroy(&m);
    object_unref(&o);
}

/* The helper refuses a run with more. */
static void test_one_run_takes_only_so_many_files(void **state)
{
    struct members *m = members_create();

    (void)state;
    for (int i = 0; i < WIRE_FILES_MAX; i++)
        assert_true(members_add_gone(m, str_c("b"), "/x/b"));
    assert_false(members_add_gone(m, str_c("b"), "/x/b"));
    assert_int_equal(m->n, WIRE_FILES_MAX);
    members_destroy(&m);
}

static void test_the_input_of_a_run_stays_within_its_bounds(void **state)
{
    struct members *m = members_create();

    (void)state;
    buf_make_room(&m->input, WIRE_OUTPUT_MAX);
    memset(m->input.data, 0, WIRE_OUTPUT_MAX);
    m->input.len = WIRE_OUTPUT_MAX - sizeof(struct wire_member) - 1;
    assert_true(members_add_gone(m, str_c("b"), "/x/b"));
    assert_int_equal(m->input.len, WIRE_OUTPUT_MAX);
    assert_false(members_add_gone(m, str_c("b"), "/x/b"));
    members_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_decoded),
        cmocka_unit_test(test_an_object_without_members),
        cmocka_unit_test(test_what_can_be_no_file_is_refused_without_its_bytes),
        cmocka_unit_test(test_too_many_members_are_refused),
        cmocka_unit_test(test_members_that_go_come_last),
        cmocka_unit_test(test_one_run_takes_only_so_many_files),
        cmocka_unit_test(test_the_input_of_a_run_stays_within_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
