/* SPDX-License-Identifier: Apache-2.0 */
/* kube/unusable: the same object is skipped, alone and for the same reason, as an item of a list
 * and in an event. */
#include "kube/unusable.h"

#include "json_ref.h"

#include <string.h>

#include "kube/event.h"
#include "kube/list.h"
#include "kube/shape.h"

static struct object_rules rules;
static struct shape *shape; /* of the rules */
static struct buf said;     /* the result for the object that is tried */
static bool listed_next;

static int set_up(void **state)
{
    (void)state;
    rules = (struct object_rules){
        .kind = "W", .api_version = "g/v1", .object_size = 1 << 20, .shape = NULL};
    return 0;
}

static int clear(void **state)
{
    (void)state;
    buf_free(&said);
    return 0;
}

static void take(const struct object *o, bool selected)
{
    if (str_is(object_name(o), "next"))
        listed_next = true;
    else
        buf_printf(&said, "%s%.*s", selected ? "" : "left out: ", STR_ARG(object_key(o)));
}

static void take_unusable(const struct unusable *u)
{
    buf_printf(&said, "%s: key %.*s, name %.*s, uid %.*s, rv %.*s%s", u->why, STR_ARG(u->key),
               STR_ARG(u->name), STR_ARG(u->uid), STR_ARG(u->rv), u->foreign ? ", foreign" : "");
}

static void on_item(void *arg, struct object *o, bool selected)
{
    (void)arg;
    take(o, selected);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    (void)arg;
    take_unusable(u);
}

static void take_events(struct event_reader *r)
{
    const struct event *e;

    while ((e = event_reader_next(r)) != NULL) {
        if (e->type == EVENT_UNUSABLE)
            take_unusable(e->unusable);
        else
            take(e->object, e->selected);
    }
}

#define NEXT                                                                   \
    "{\"kind\":\"W\",\"apiVersion\":\"g/v1\",\"metadata\":{\"name\":\"next\"," \
    "\"uid\":\"n\",\"resourceVersion\":\"99\"}}"

static void listed(const char *object, size_t piece)
{
    static const struct list_events events = {on_item, on_unusable};
    struct list_reader *r = list_reader_create(&rules, &events, NULL);
    char *body = mem_printf("{\"kind\":\"WList\",\"apiVersion\":\"g/v1\",\"metadata\":{"
                            "\"resourceVersion\":\"100\"},\"items\":[%s," NEXT "]}",
                            object);
    size_t n = strlen(body);
    struct list_page page;
    struct err err;

    for (size_t i = 0; i < n; i += piece)
        assert_int_equal(list_reader_feed(r, body + i, n - i < piece ? n - i : piece, &err),
                         ERR_OK);
    assert_int_equal(list_reader_end(r, &page, &err), ERR_OK);
    assert_int_equal(page.items + page.skipped, 2);
    list_reader_destroy(&r);
    free(body);
}

/* The type of the event stands before its object, or behind it. */
static void streamed(const char *object, size_t piece, const char *type, bool behind)
{
    struct event_reader *r = event_reader_create(&rules);
    char *first = mem_printf("\"type\":\"%s\"", type);
    char *second = mem_printf("\"object\":%s", object);
    char *body = mem_printf("{%s,%s}\n{\"type\":\"ADDED\",\"object\":" NEXT "}",
                            behind ? second : first, behind ? first : second);
    size_t n = strlen(body);
    struct err err;

    for (size_t i = 0; i < n; i += piece) {
        assert_int_equal(event_reader_feed(r, body + i, n - i < piece ? n - i : piece, &err),
                         ERR_OK);
        take_events(r);
    }
    event_reader_destroy(&r);
    free(first);
    free(second);
    free(body);
}

static void check(const char *want)
{
    assert_string_equal(buf_cstr(&said), want);
    assert_true(listed_next);
    buf_clear(&said);
    listed_next = false;
}

static void assert_read(const char *object, const char *want)
{
    size_t pieces[] = {1, 7, 1000, SIZE_MAX / 2};

    for (size_t i = strlen(object) > 5000 ? 1 : 0; i < ARRAY_LEN(pieces); i++) {
        listed(object, pieces[i]);
        check(want);
        streamed(object, pieces[i], "MODIFIED", false);
        check(want);
        streamed(object, pieces[i], "MODIFIED", true);
        check(want);
    }
}

#define TYPE "\"kind\":\"W\",\"apiVersion\":\"g/v1\""
#define META(name) \
    "\"metadata\":{\"namespace\":\"n\"," name "\"uid\":\"u\",\"resourceVersion\":\"5\"}"
#define A META("\"name\":\"a\",")

static void test_names_that_are_none(void **state)
{
    char *longest = mem_printf("{" TYPE "," META("\"name\":\"%0253d\",") "}", 7);
    char *longer = mem_printf("{" TYPE "," META("\"name\":\"%0254d\",") "}", 7);
    char *key = mem_printf("n/%0253d", 7);
    char *want = mem_printf("its metadata.name is wrong: key , name n/%0254d, uid u, rv 5", 7);

    (void)state;
    assert_read(longest, key);
    assert_read(longer, want);
    assert_read("{" TYPE "," META("\"name\":\"a/b\",") "}",
                "its metadata.name is wrong: key , name n/a/b, uid u, rv 5");
    assert_read("{" TYPE "," META("") "}", "it has no metadata.name: key , name , uid u, rv 5");
    assert_read("{" TYPE "," META("\"name\":7,") "}",
                "its metadata.name is wrong: key , name , uid u, rv 5");
    assert_read("{" TYPE "," META("\"name\":\"a\",\"name\":\"b\",") "}",
                "its metadata has a member twice: key , name , uid u, rv 5");
    assert_read("{" TYPE "," A "," A "}",
                "its metadata has a member twice: key , name , uid , rv ");
    assert_read("{" TYPE "}", "it has no metadata.name: key , name , uid , rv ");
    listed("[{\"a\":[]}]", 3); /* such an event would end the watch */
    check("it is no JSON object: key , name , uid , rv ");
    listed("null", 3);
    check("it is no JSON object: key , name , uid , rv ");
    free(longest);
    free(longer);
    free(key);
    free(want);
}

static void test_faults_that_do_not_hide_the_name(void **state)
{
    (void)state;
    assert_read("{\"kind\":\"V\"," A "}",
                "its kind is not that of the watch: key n/a, name n/a, uid u, rv 5, foreign");
    assert_read("{\"kind\":\"W\",\"apiVersion\":\"g/v2\"," A "}",
                "its apiVersion is not that of the watch: key n/a, name n/a, uid u, rv 5, foreign");
    assert_read("{" TYPE ",\"metadata\":{\"name\":\"a\",\"uid\":7,\"resourceVersion\":\"5\"}}",
                "its metadata.uid is wrong: key a, name a, uid , rv 5");
    assert_read("{" TYPE ",\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":7}}",
                "its metadata.resourceVersion is wrong: key a, name a, uid u, rv ");
    assert_read("{" TYPE ",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", "a");
}

/* depth containers in each other, the object's braces and those of "spec" included. */
static char *nested(const char *member, size_t depth)
{
    struct buf b = {0};

    buf_printf(&b, "{" TYPE "," A ",\"spec\":{\"%s\":", member);
    for (size_t i = 2; i < depth; i++)
        buf_putc(&b, '[');
    for (size_t i = 2; i < depth; i++)
        buf_putc(&b, ']');
    buf_puts(&b, "}}");
    char *text = mem_strdup(buf_cstr(&b));
    buf_free(&b);
    return text;
}

static void test_depth_has_a_limit(void **state)
{
    char *texts[] = {nested("x", 512), nested("x", 513), nested("x", 5000)};

    (void)state;
    assert_read(texts[0], "n/a");
    assert_read(texts[1], "it is nested too deep: key n/a, name n/a, uid u, rv 5");
    assert_read(texts[2], "it is nested too deep: key n/a, name n/a, uid u, rv 5");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(texts[i]);
}

static void assert_number(const char *member, size_t digits, const char *want)
{
    struct buf b = {0};

    buf_printf(&b, "{" TYPE "," A ",\"spec\":{\"%s\":[1", member);
    while (digits-- > 1)
        buf_putc(&b, '0');
    buf_puts(&b, ",2]}}");
    assert_read(buf_cstr(&b), want);
    buf_free(&b);
}

static void test_numbers_have_a_limit(void **state)
{
    static const char *const want =
        "it has a number of more than 1024 bytes: key n/a, name n/a, uid u, rv 5";

    (void)state;
    assert_number("x", 1024, "n/a");
    assert_number("x", 1025, want);
    assert_number("x", 70000, want);
}

static void with_shape(const char *drop, const char *match)
{
    struct shape_params p = {.drop = &drop, .drop_count = drop != NULL ? 1 : 0};

    p.match = &match;
    p.match_count = match != NULL ? 1 : 0;
    assert_int_equal(shape_create(&p, &shape, NULL), ERR_OK);
    rules.shape = shape;
}

static void without_shape(void)
{
    shape_destroy(&shape);
    rules.shape = NULL;
}

static void test_a_fault_in_a_part_that_is_not_kept_is_no_reason(void **state)
{
    char *deep = nested("x", 5000);
    char *other = nested("y", 5000);

    (void)state;
    with_shape("spec.x", NULL);
    assert_read(deep, "n/a");
    assert_read(other, "it is nested too deep: key n/a, name n/a, uid u, rv 5");
    assert_number("x", 70000, "n/a");
    without_shape();
    free(deep);
    free(other);
}

/* Of an object that match does not select, only the name must be known. */
static void test_an_object_that_is_not_selected_is_left_out_however_it_is(void **state)
{
    char *deep = nested("x", 5000);

    (void)state;
    with_shape(NULL, "spec.y=1");
    assert_read(deep, "left out: n/a");
    without_shape();
    with_shape(NULL, "spec.x");
    assert_read(deep, "it is nested too deep: key n/a, name n/a, uid u, rv 5");
    without_shape();
    with_shape(NULL, "kind=V");
    assert_read(deep, "left out: n/a");
    without_shape();
    free(deep);
}

static void test_too_large(void **state)
{
    char *big = mem_printf("{" TYPE ",\"spec\":\"%02000d\"," A "}", 0);

    (void)state;
    rules.object_size = 1000;
    assert_read(big, "it is larger than limits.object_size: key n/a, name n/a, uid u, rv 5");
    with_shape(NULL, "spec.y=1");
    assert_read(big, "left out: n/a");
    without_shape();
    free(big);
}

static void assert_gone(const char *object, const char *want)
{
    streamed(object, 5, "DELETED", false);
    check(want);
    with_shape(NULL, "spec.y"); /* not selected: a stored state of it may be */
    streamed(object, 5, "DELETED", true);
    check(want);
    without_shape();
}

static void test_of_an_end_the_key_is_known(void **state)
{
    char *deep = nested("x", 600);
    char *big = mem_printf("{" TYPE ",\"spec\":\"%02000d\"," A "}", 0);

    (void)state;
    assert_gone(deep, "it is nested too deep: key n/a, name n/a, uid u, rv 5");
    rules.object_size = 1000;
    assert_gone(big, "it is larger than limits.object_size: key n/a, name n/a, uid u, rv 5");
    free(deep);
    free(big);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_that_are_none),
        TEST(test_faults_that_do_not_hide_the_name),
        TEST(test_depth_has_a_limit),
        TEST(test_numbers_have_a_limit),
        TEST(test_a_fault_in_a_part_that_is_not_kept_is_no_reason),
        TEST(test_an_object_that_is_not_selected_is_left_out_however_it_is),
        TEST(test_too_large),
        TEST(test_of_an_end_the_key_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
