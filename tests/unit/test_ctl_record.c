/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl record: its lines, and the sources that it refuses to record. */
#include "scripted.h"

#include <string.h>

#include "ctl/record.h"

#define AT    UINT64_C(1769817600250000000)
#define AT_JS "{\"at\":\"2026-01-31T00:00:00.250000000Z\","

#define WATCHES                                                                                   \
    "{\"watches\":{\"w\":{\"cluster\":\"c\",\"resource\":\"services\"},\"x\":{\"cluster\":\"c\"," \
    "\"resource\":\"secrets\"}},\"views\":{\"v\":{\"cluster\":\"c\"}}}\n"
#define LISTS_WATCHES                   \
    {                                   \
        "GET /v1/watches", 200, WATCHES \
    }

static bool put(const char *line, const char *want, const char *want_why)
{
    struct buf out = {0};
    struct buf why = {0};
    bool goes_on = record_put_line(&out, str_c(line), AT, "w", &why);

    assert_string_equal(buf_cstr(&out), want);
    assert_string_equal(buf_cstr(&why), want_why);
    buf_free(&out);
    buf_free(&why);
    return goes_on;
}

static void test_a_line_of_a_stream_gets_the_time_in_front(void **state)
{
    (void)state;
    assert_true(put("{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n",
                    AT_JS "\"type\":\"ADDED\",\"object\":{\"a\":1}}\n", ""));
}

static void test_the_last_line_of_a_stream_that_is_cut_off_tells_the_watch(void **state)
{
    (void)state;
    assert_false(put("{\"type\":\"ERROR\",\"error\":\"too\\u001bslow\"}\n",
                     AT_JS "\"type\":\"CUT\",\"source\":\"w\",\"why\":\"too\\\\u001bslow\"}\n",
                     "too\\u001bslow"));
    assert_false(put("{\"type\":\"ERROR\",oops\n",
                     AT_JS "\"type\":\"CUT\",\"source\":\"w\",\"why\":\"informerd has cut the "
                           "stream off\"}\n",
                     "informerd has cut the stream off"));
}

static void test_what_cannot_be_recorded(void **state)
{
    (void)state;
    scripted_check(SCRIPT(LISTS_WATCHES), WORDS("record", "w", "nope"),
                   (struct scripted_wanted){EXIT_NO, "", "there is no watch nope"});
    scripted_check(SCRIPT(LISTS_WATCHES), WORDS("record", "v"),
                   (struct scripted_wanted){EXIT_NO, "", "v is a view"});
    scripted_check(SCRIPT(LISTS_WATCHES), WORDS("record", "w", "x"),
                   (struct scripted_wanted){EXIT_NO, "", "x: its objects are Secrets: --with"});
    scripted_check(SCRIPT(LISTS_WATCHES), WORDS("record", "w", "w"),
                   (struct scripted_wanted){EXIT_USAGE, "", "named twice"});
    scripted_check(SCRIPT({"GET /v1/watches", 200, "nonsense"}), WORDS("record", "w"),
                   (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd"});
}

static void test_streams_that_are_refused(void **state)
{
    (void)state;
    scripted_check(SCRIPT(LISTS_WATCHES,
                          {"GET /v1/sources/x/stream", 403, "{\"error\":\"objects of Secrets\"}"}),
                   WORDS("record", "--with-secrets", "x"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "objects of Secrets"});
    scripted_check(
        SCRIPT(LISTS_WATCHES, {"GET /v1/sources/w/stream", 503, "{\"error\":\"too many\"}"}),
        WORDS("record", "w"), (struct scripted_wanted){EXIT_NO, "", "too many"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_of_a_stream_gets_the_time_in_front),
        cmocka_unit_test(test_the_last_line_of_a_stream_that_is_cut_off_tells_the_watch),
        cmocka_unit_test(test_what_cannot_be_recorded),
        cmocka_unit_test(test_streams_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
