/* SPDX-License-Identifier: Apache-2.0 */
/* proto/json_cut: members that are named "x..." are cut out of objects, and the texts of "v" and "n",
 * however the object is divided into chunks. */
#include "proto/json_cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/json_in.h"

enum { DEPTH = 16 };

/* The user of the cut: it opens each object that is not in a cut member. */
struct scene {
    struct json_cut cut;
    unsigned depth;     /* of the cut member that the reader is in; 0 = in none */
    bool member[DEPTH]; /* a value at this depth is a member, not an element */
    char key[DEPTH][8];
    size_t v_at, n_at; /* where the texts were; SIZE_MAX = not cut */
    bool is_over;
};

static struct scene scene;

/* The value of a member at this depth has ended. */
static void on_value(struct scene *s, const struct json_token *t)
{
    const char *key = s->key[t->depth];

    if (s->depth == 0 && strcmp(key, "v") == 0 && t->type == JSON_STRING)
        s->v_at = json_cut_text(&s->cut, t->end, t->text, true);
    if (s->depth == 0 && strcmp(key, "n") == 0 && t->type == JSON_NUMBER)
        s->n_at = json_cut_text(&s->cut, t->end, t->text, false);
    if (s->depth != 0 && s->depth != t->depth)
        return;
    if (s->depth != 0)
        json_cut_drop_value(&s->cut, t->end);
    else
        json_cut_keep_value(&s->cut, t->end);
    s->depth = 0;
}

static void on_key(struct scene *s, const struct json_token *t)
{
    bool drop = t->text.n > 0 && t->text.p[0] == 'x';

    assert_true(t->text.n < sizeof(s->key[0]));
    memcpy(s->key[t->depth], t->text.p, t->text.n);
    s->key[t->depth][t->text.n] = '\0';
    if (!drop) {
        json_cut_keep_key(&s->cut, t->end);
        return;
    }
    json_cut_drop_key(&s->cut);
    s->depth = t->depth;
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct scene *s = arg;
    bool opens = t->type == JSON_OBJECT || t->type == JSON_ARRAY;

    assert_true(t->depth + 1 < DEPTH);
    if (opens)
        s->member[t->depth + 1] = t->type == JSON_OBJECT;
    if (t->depth == 0 && opens)
        json_cut_begin(&s->cut, t->end);
    if (t->type == JSON_OBJECT && s->depth == 0)
        json_cut_open(&s->cut, t->end);
    if (t->type == JSON_KEY && s->depth == 0)
        on_key(s, t);
    else if (!opens && t->type != JSON_KEY && t->depth > 0 && s->member[t->depth])
        on_value(s, t);
    if (t->depth == 0 && !opens) {
        json_cut_take(&s->cut, t->end);
        s->is_over = true;
    }
    return true;
}

/* Reads the text, which comes in pieces of this size; the first one has `first` bytes. */
static void feed(const char *text, size_t first, size_t piece, size_t limit)
{
    struct json_in *in = json_in_create(DEPTH, on_token, &scene);
    size_t n = strlen(text);
    struct err err;

    json_cut_fini(&scene.cut);
    scene = (struct scene){.cut.limit = limit, .v_at = SIZE_MAX, .n_at = SIZE_MAX};
    for (size_t at = 0, end = first; at < n; at = end, end += piece) {
        end = end < n ? end : n;
        /* A chunk of its own: a byte that is read later is not there any more. */
        char chunk[512];
        assert_true(end - at <= sizeof(chunk));
        memcpy(chunk, text + at, end - at);
        json_cut_lend(&scene.cut, at, chunk, end - at);
        assert_int_equal(json_in_feed(in, chunk, end - at, &err), ERR_OK);
        json_cut_save(&scene.cut, !scene.is_over);
        memset(chunk, '#', sizeof(chunk));
    }
    assert_true(scene.is_over);
    json_in_destroy(&in);
}

static void expect(const char *text, const char *want)
{
    for (size_t piece = 1; piece <= strlen(text); piece++)
        for (size_t first = 1; first <= piece; first++) {
            feed(text, first, piece, SIZE_MAX);
            assert_false(scene.cut.too_big);
            assert_string_equal(buf_cstr(&scene.cut.kept), want);
        }
}

static void test_what_is_kept_is_kept_as_it_is(void **state)
{
    (void)state;
    expect("{}", "{}");
    expect("{ }", "{ }");
    expect("{\"a\":1}", "{\"a\":1}");
    expect("{ \"a\" : [ 1 , {} ] ,\n\"b\":\"\\u0041,\" }",
           "{ \"a\" : [ 1 , {} ] ,\n\"b\":\"\\u0041,\" }");
}

static void test_one_comma_goes_with_a_member(void **state)
{
    (void)state;
    expect("{\"x\":1}", "{}");
    expect("{\"x\":1,\"x2\":2}", "{}");
    expect("{\"x\":1,\"b\":2}", "{\"b\":2}");
    expect("{\"a\":1,\"x\":2}", "{\"a\":1}");
    expect("{\"a\":1,\"x\":2,\"b\":3}", "{\"a\":1,\"b\":3}");
    expect("{\"x\":1,\"x2\":2,\"b\":3,\"x3\":4,\"c\":5}", "{\"b\":3,\"c\":5}");
    expect("{\"x\":\",\",\"b\":2}", "{\"b\":2}");
}

static void test_white_space_before_a_cut_member_goes_along(void **state)
{
    (void)state;
    expect("{ \"x\" : 1 , \"b\" : 2 }", "{ \"b\" : 2 }");
    expect("{ \"a\" : 1 , \"x\" : 2 }", "{ \"a\" : 1 }");
    expect("{ \"x\" : 1 }", "{ }");
}

static void test_a_cut_member_goes_with_all_that_is_in_it(void **state)
{
    (void)state;
    expect("{\"x\":{\"a\":{\"x\":1},\"b\":[{\"c\":2}]},\"d\":3}", "{\"d\":3}");
    expect("{\"a\":1,\"x\":[[{\"x\":1}],2],\"d\":3}", "{\"a\":1,\"d\":3}");
}

/* The commas of an object do not depend on members that were cut in an object inside of it. */
static void test_members_of_objects_inside_are_cut(void **state)
{
    (void)state;
    expect("{\"a\":{\"x\":1,\"b\":2},\"c\":3}", "{\"a\":{\"b\":2},\"c\":3}");
    expect("{\"a\":{\"x\":1},\"c\":3}", "{\"a\":{},\"c\":3}");
    expect("{\"x\":0,\"a\":{\"x\":1,\"b\":2},\"x2\":3}", "{\"a\":{\"b\":2}}");
    expect("{\"a\":[{\"x\":1,\"b\":2},{\"x\":3},{\"b\":4,\"x\":5}],\"x\":6}",
           "{\"a\":[{\"b\":2},{},{\"b\":4}]}");
}

static void test_the_text_of_a_scalar_is_cut_out(void **state)
{
    (void)state;
    expect("{\"v\":\"12\",\"n\":34,\"b\":5}", "{\"v\":\"\",\"n\":,\"b\":5}");
    assert_int_equal(scene.v_at, strlen("{\"v\":\""));
    assert_int_equal(scene.n_at, strlen("{\"v\":\"\",\"n\":"));
    expect("{\"x\":1,\"v\":\"12\"}", "{\"v\":\"\"}");
    assert_int_equal(scene.v_at, strlen("{\"v\":\""));
    expect("{\"v\":\"\"}", "{\"v\":\"\"}");
    assert_int_equal(scene.v_at, strlen("{\"v\":\""));
}

static void test_a_text_that_is_not_there_as_it_is_stays(void **state)
{
    (void)state;
    expect("{\"v\":\"1\\u0032\"}", "{\"v\":\"1\\u0032\"}");
    assert_int_equal(scene.v_at, SIZE_MAX);
    expect("{\"x\":{\"v\":\"12\"}}", "{}");
    assert_int_equal(scene.v_at, SIZE_MAX);
}

/* The bytes of members that are cut count, too: they have to be read. */
static void test_too_many_bytes(void **state)
{
    static const char text[] = "{\"x\":[1,2,3],\"b\":2}";

    (void)state;
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        feed(text, piece, piece, strlen(text));
        assert_false(scene.cut.too_big);
        assert_string_equal(buf_cstr(&scene.cut.kept), "{\"b\":2}");
        feed(text, piece, piece, strlen(text) - 1);
        assert_true(scene.cut.too_big);
    }
}

static void test_members_are_put_in_front(void **state)
{
    (void)state;
    feed("{ \"x\":1,\"b\":2}", 4, 4, SIZE_MAX);
    json_cut_put_front(&scene.cut, str_c("\"k\":1,\"l\":2,"));
    assert_string_equal(buf_cstr(&scene.cut.kept), "{\"k\":1,\"l\":2,\"b\":2}");
}

static void test_memory_of_a_large_object_is_released(void **state)
{
    (void)state;
    feed("{}", 1, 1, SIZE_MAX);
    json_cut_done(&scene.cut);
    assert_true(scene.cut.kept.cap > 0);
    assert_non_null(buf_reserve(&scene.cut.kept, 1 << 20));
    json_cut_done(&scene.cut);
    assert_int_equal(scene.cut.kept.cap, 0);
}

static int clean_up(void **state)
{
    (void)state;
    json_cut_fini(&scene.cut);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_is_kept_as_it_is),
        cmocka_unit_test(test_one_comma_goes_with_a_member),
        cmocka_unit_test(test_white_space_before_a_cut_member_goes_along),
        cmocka_unit_test(test_a_cut_member_goes_with_all_that_is_in_it),
        cmocka_unit_test(test_members_of_objects_inside_are_cut),
        cmocka_unit_test(test_the_text_of_a_scalar_is_cut_out),
        cmocka_unit_test(test_a_text_that_is_not_there_as_it_is_stays),
        cmocka_unit_test(test_too_many_bytes),
        cmocka_unit_test(test_members_are_put_in_front),
        cmocka_unit_test(test_memory_of_a_large_object_is_released),
    };

    return cmocka_run_group_tests(tests, NULL, clean_up);
}
