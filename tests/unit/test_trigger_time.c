/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "base/rfc3339.h"
#include "hook/trigger_time.h"

#define NAME "\"endpoints.kubernetes.io/last-change-trigger-time\""

/* 2024-05-01T10:20:30.5Z */
enum { AT_S = 1714558830 };
#define AT_MS (INT64_C(1000) * AT_S + 500)

static struct object *make(const char *kind, const char *body)
{
    return object_create(&(struct object_parts){.name = str_c("a"),
                                                .uid = str_c("u"),
                                                .kind = str_c(kind),
                                                .body = str_c(body),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static bool read(const char *kind, const char *body, int64_t *ms)
{
    struct object *o = make(kind, body);
    bool found = rfc3339_read(trigger_time_new(o, NULL), ms);

    object_unref(&o);
    return found;
}

static void test_the_annotation_is_read(void **state)
{
    static const char *const bodies[] = {
        "{\"metadata\":{\"annotations\":{" NAME ":\"2024-05-01T10:20:30.5Z\"}},\"endpoints\":[]}",
        "{\"metadata\": {\"annotations\": {\"a\": \"b\",\n" NAME
        " :\t\"2024-05-01T12:20:30.500+02:00\", \"c\": \"d\"}}}",
        /* in the text of another annotation it does not count */
        "{\"metadata\":{\"annotations\":{\"x\":\"{\\\"endpoints.kubernetes.io/"
        "last-change-trigger-time\\\":\\\"2020-01-01T00:00:00Z\\\"}\"," NAME
        ":\"2024-05-01T10:20:30.5Z\"}}}",
    };
    static const char *const kinds[] = {"EndpointSlice", "Endpoints"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            int64_t ms = 0;

            assert_true(read(kinds[k], bodies[i], &ms));
            assert_int_equal(ms, AT_MS);
        }
    }
}

static void test_other_objects_have_none(void **state)
{
    static const char good[] =
        "{\"metadata\":{\"annotations\":{" NAME ":\"2024-05-01T10:20:30.5Z\"}}}";
    static const char *const bodies[] = {
        "",
        "{}",
        "{\"metadata\":{\"annotations\":{}}}",
        "{\"metadata\":{\"annotations\":{" NAME ":null}}}",
        "{\"metadata\":{\"annotations\":{" NAME ":7}}}",
        "{\"metadata\":{\"annotations\":{" NAME ":\"yesterday\"}}}",
        "{\"metadata\":{\"annotations\":{" NAME ":\"\"}}}",
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        assert_false(read("EndpointSlice", bodies[i], &ms));
    assert_false(read("Service", good, &ms));
    assert_false(read("EndpointSliceX", good, &ms));
}

/* Only the first 4 KiB are looked at, as an EndpointSlice may have many endpoints. */
static void test_the_annotation_must_stand_near_the_beginning(void **state)
{
    static const char time[] = NAME ":\"2024-05-01T10:20:30.5Z\"";
    enum { LOOKED_AT = 4096 };
    char body[2 * LOOKED_AT];
    int64_t ms = 0;

    (void)state;
    for (size_t last = LOOKED_AT; last <= LOOKED_AT + 1; last++) {
        size_t spaces = last - 1 - strlen(time);

        (void)snprintf(body, sizeof(body), "{%*s%s}", (int)spaces, "", time);
        assert_int_equal(read("EndpointSlice", body, &ms), last == LOOKED_AT);
    }
    assert_int_equal(ms, AT_MS);
}

/* A body that ends anywhere, as in no object of a server, is read to its end and no further. */
static void test_every_cut(void **state)
{
    static const char good[] = "{\"a\":{" NAME ":\"2024-05-01T10:20:30.5Z\"}}";

    (void)state;
    for (size_t n = 0; n < strlen(good); n++) {
        char *cut = test_malloc(n + 1);
        int64_t ms;

        memcpy(cut, good, n);
        cut[n] = '\0';
        if (read("Endpoints", cut, &ms))
            assert_int_equal(ms, AT_MS);
        test_free(cut);
    }
}

#define THEN "\"2024-05-01T10:20:30Z\""

static bool is_new(const char *body, const char *body_before)
{
    struct object *o = make("EndpointSlice", body);
    struct object *before = make("EndpointSlice", body_before);
    bool is = trigger_time_new(o, before).n > 0;

    object_unref(&o);
    object_unref(&before);
    return is;
}

static void test_the_time_of_the_state_before_is_not_new(void **state)
{
    static const char body[] = "{\"a\":{" NAME ":" THEN "},\"endpoints\":[]}";

    (void)state;
    assert_false(is_new(body, body));
    assert_false(is_new(body, "{\"a\":{\"b\":\"c\"," NAME ": " THEN "}}")); /* in another place */
    assert_true(is_new(body, "{\"a\":{" NAME ":\"2024-05-01T10:20:31Z\"}}"));
    assert_true(is_new(body, "{\"a\":{" NAME ":\"2024-05-01T10:20:30Z0\"}}"));
    assert_true(is_new(body, "{\"a\":{" NAME)); /* ends within it */
    assert_true(is_new(body, "{}"));
    assert_true(is_new(body, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_annotation_is_read),
        cmocka_unit_test(test_other_objects_have_none),
        cmocka_unit_test(test_the_annotation_must_stand_near_the_beginning),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_the_time_of_the_state_before_is_not_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
