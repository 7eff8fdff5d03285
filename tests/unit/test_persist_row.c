/* SPDX-License-Identifier: Apache-2.0 */
/* persist/row: a row can be read back as it was. */
#include "persist/row.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "objects.h"

enum { LONG = 500 };

/* The only operation of the batch. */
static struct batch_op only_op(const struct batch *b)
{
    struct batch_op op;
    struct batch_op none;
    size_t at = 0;

    assert_true(batch_next(b, &at, &op));
    assert_false(batch_next(b, &at, &none));
    return op;
}

/* The object after a way through a row; one reference. */
static struct object *there_and_back(struct object *o, enum persist_bytes how)
{
    struct batch b = {.release = persist_row_release};

    persist_row_put(&b, 7, o, how);
    struct batch_op op = only_op(&b);
    assert_int_equal(op.what, BATCH_OBJECT);
    assert_int_equal(op.id, 7);
    struct object *back = persist_row_object(&op.u.object);
    batch_fini(&b);
    return back;
}

static void test_an_object_comes_back_byte_for_byte(void **state)
{
    static const char *const keys[] = {"ns/n", "n", "system:node:a.b-c"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct object *o = objects_make(keys[i], "u1", "12", "\"a\":\"\\u0000\xf0\x9f\x98\x80\"");
        struct object *back = there_and_back(o, PERSIST_FULL);

        struct object_parts was = object_parts_of(o);
        struct object_parts is = object_parts_of(back);

        assert_true(str_eq(was.body, is.body) && was.body.n > 0);
        assert_true(was.rv_at == is.rv_at && was.generation_at == is.generation_at);
        assert_true(str_eq(was.kind, is.kind) && str_eq(was.api_version, is.api_version));
        assert_true(str_eq(object_key(o), object_key(back)));
        assert_true(str_eq(object_namespace(o), object_namespace(back)));
        assert_true(str_eq(object_uid(o), object_uid(back)));
        assert_true(str_eq(object_rv(o), object_rv(back)));
        assert_true(digest_eq(object_digest(o), object_digest(back)));
        object_unref(&back);
        object_unref(&o);
    }
}

/* Any names that a server may give its objects, and more. */
static void test_any_key_comes_back(void **state)
{
    char text[2 * LONG];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)i;
    memset(text, 'n', LONG); /* the namespace has no slash, nor is it empty */
    struct object *o = object_create(&(struct object_parts){.ns = str_of(text, LONG),
                                                            .name = str_of(text + LONG, LONG),
                                                            .uid = str_of(text, sizeof(text)),
                                                            .body = str_c("{}"),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});
    for (int how = PERSIST_FULL; how <= PERSIST_DIGEST; how++) {
        struct object *back = there_and_back(o, (enum persist_bytes)how);

        assert_true(str_eq(object_key(back), object_key(o)));
        assert_true(str_eq(object_namespace(back), object_namespace(o)));
        assert_true(str_eq(object_name(back), object_name(o)));
        assert_true(str_eq(object_uid(back), object_uid(o)));
        object_unref(&back);
    }
    object_unref(&o);
}

static void test_of_a_digest_only_the_name_comes_back(void **state)
{
    struct object *o = objects_make("ns/n", "u1", "12", "\"a\":1");
    struct object *back = there_and_back(o, PERSIST_DIGEST);

    (void)state;
    assert_true(object_is_bare(back));
    assert_true(str_is(object_key(back), "ns/n"));
    assert_true(str_is(object_uid(back), "u1"));
    assert_int_equal(object_rv(back).n, 0);
    /* a bare object has no more to keep */
    struct object *again = there_and_back(back, PERSIST_FULL);
    assert_true(object_is_bare(again));
    object_unref(&again);
    object_unref(&back);
    object_unref(&o);
}

/* A delivery record after a way through a row; the batch holds its strings. */
static struct delivery_record delivery_back(struct batch *b, const struct delivery_record *m,
                                            enum persist_bytes how)
{
    persist_row_put_delivery(b, 9, m, how);
    struct batch_op op = only_op(b);
    assert_int_equal(op.what, BATCH_DELIVERY);
    assert_int_equal(op.u.delivery.source, 9);
    return persist_row_delivery(&op.u.delivery);
}

static void check_delivery(const struct delivery_record *m, const struct delivery_record *back)
{
    assert_true(str_eq(m->key, back->key) && str_eq(m->uid, back->uid));
    assert_int_equal(m->is_handled, back->is_handled);
    assert_int_equal(m->is_delivered, back->is_delivered);
    assert_int_equal(m->attempted, back->attempted);
    assert_int_equal(m->is_ended, back->is_ended);
    assert_int_equal(m->note, back->note);
    assert_true(digest_eq(m->handled, back->handled) && digest_eq(m->delivered, back->delivered));
}

static void test_deliveries_come_back(void **state)
{
    const struct delivery_record deliveries[] = {
        {.key = str_c("ns/n"),
         .uid = str_c("u1"),
         .is_delivered = true,
         .attempted = true,
         .delivered = {1, 2}                                                                     },
        {.key = str_c("n"),    .uid = str_c(""), .is_handled = true, .handled = {3, UINT64_MAX}},
        {.key = str_c(""),
         .uid = str_c("t"),
         .is_delivered = true,
         .is_ended = true,
         .note = 0xfff},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(deliveries); i++) {
        struct batch b = {.release = persist_row_release};
        struct delivery_record back = delivery_back(&b, &deliveries[i], PERSIST_FULL);

        check_delivery(&deliveries[i], &back);
        assert_null(back.last);
        batch_fini(&b);
    }
}

static void test_the_last_state_of_a_delivery_is_kept_as_persist_says(void **state)
{
    struct object *o = objects_make("ns/n", "u1", "12", "\"a\":1");
    const struct delivery_record m = {.key = str_c("ns/n"),
                                      .uid = str_c("u1"),
                                      .is_delivered = true,
                                      .is_ended = true,
                                      .last = o};

    (void)state;
    for (int how = PERSIST_FULL; how <= PERSIST_DIGEST; how++) {
        struct batch b = {.release = persist_row_release};
        struct delivery_record back = delivery_back(&b, &m, (enum persist_bytes)how);

        check_delivery(&m, &back);
        assert_non_null(back.last);
        assert_true(str_is(object_key(back.last), "ns/n"));
        assert_int_equal(object_is_bare(back.last), how != PERSIST_FULL);
        object_unref(&back.last);
        batch_fini(&b);
    }
    object_unref(&o);
}

/* The name is that of a server, which may send any: "\u0000" and "\n" in JSON, too. */
static void test_a_skip_comes_back(void **state)
{
    static const char *const reasons[] = {"it is odd", SKIPS_MISSING};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        const struct skip s = {.name = str_of("a\0b\n/c", 6), .why = str_c(reasons[i]), .times = 7};
        struct skip back = {0};
        struct buf text = {0};

        persist_row_put_skip(&text, &s);
        assert_true(persist_row_skip(buf_str(&text), &back));
        assert_true(str_eq(back.name, s.name) && str_eq(back.why, s.why));
        assert_int_equal(back.times, 7);
        assert_int_equal(back.missing, i == 1);
        buf_free(&text);
    }
}

static void test_a_version_comes_back(void **state)
{
    static const char *const texts[][2] = {
        {"12", "9"},
        {"",   "" },
        {"12", "" },
        {"",   "9"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const struct persist_version v = {
            .settings = {UINT64_MAX, i},
            .rv = str_c(texts[i][0]),
            .collection_rv = str_c(texts[i][1])
        };
        struct persist_version back;
        struct buf text = {0};

        persist_row_put_version(&text, &v);
        assert_true(persist_row_version(buf_str(&text), &back));
        assert_true(digest_eq(back.settings, v.settings));
        assert_true(str_is(back.rv, texts[i][0]) && str_is(back.collection_rv, texts[i][1]));
        buf_free(&text);
    }
}

static void test_texts_that_are_no_versions(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "12\n9",
                                        "0000000000000001000000000000000G\n1\n2",
                                        "000000000000000100000000000000\n1\n2",
                                        "0000000000000001000000000000000A\n1\n2"};
    struct persist_version v;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_false(persist_row_version(str_c(texts[i]), &v));
    assert_false(persist_row_version(str_of(NULL, 0), &v));
    assert_true(persist_row_version(str_c("00000000000000010000000000000002"), &v));
    assert_int_equal(v.rv.n + v.collection_rv.n, 0); /* in a row of an earlier release */
}

static void test_a_file_comes_back_whatever_its_key_is(void **state)
{
    static const char *const keys[] = {"", "ns/n", "a\nb/c d", "\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct files_seen seen = {
            .key = str_c(keys[i]), .digest = {i, 5}
        };
        struct files_seen back = {0};
        struct buf text = {0};
        struct str source;

        persist_row_put_file(&text, &seen, str_c("services"));
        assert_true(persist_row_file(buf_str(&text), &back, &source));
        assert_true(digest_eq(back.digest, seen.digest));
        assert_true(str_is(back.key, keys[i]));
        assert_true(str_is(source, "services"));
        buf_free(&text);
    }
}

static void test_a_digest_is_itself_only(void **state)
{
    const struct digest d = {.hi = 0x123, .lo = UINT64_MAX};
    struct digest back = {0};
    struct buf text = {0};

    (void)state;
    persist_row_put_digest(&text, d);
    assert_true(persist_row_digest(buf_str(&text), &back));
    assert_true(digest_eq(back, d));
    assert_false(persist_row_digest(str_of(NULL, 0), &back));
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_comes_back_byte_for_byte),
        cmocka_unit_test(test_any_key_comes_back),
        cmocka_unit_test(test_of_a_digest_only_the_name_comes_back),
        cmocka_unit_test(test_deliveries_come_back),
        cmocka_unit_test(test_the_last_state_of_a_delivery_is_kept_as_persist_says),
        cmocka_unit_test(test_a_skip_comes_back),
        cmocka_unit_test(test_a_version_comes_back),
        cmocka_unit_test(test_texts_that_are_no_versions),
        cmocka_unit_test(test_a_file_comes_back_whatever_its_key_is),
        cmocka_unit_test(test_a_digest_is_itself_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
