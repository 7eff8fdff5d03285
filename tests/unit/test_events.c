/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl events: how the daemon's journal is shown. */
#include "scripted.h"

#define REFUSED "{\"error\":\"only root may\"}\n"

static const char lines[] =
    "{\"time\":\"2024-05-01T10:20:30.5Z\",\"seq\":1,\"what\":\"change\",\"type\":\"ADDED\","
    "\"key\":\"n/a\\u001b\"}\n"
    "{\"time\":\"2024-05-01T10:20:31Z\",\"seq\":2,\"what\":\"run\",\"hook\":\"h\",\"ok\":true,"
    "\"took_ms\":7}\n";

static void test_events(void **state)
{
    (void)state;
    scripted_check(
        SCRIPT({"GET /v1/events", 200, lines}), WORDS("events"),
        (struct scripted_wanted){EXIT_FINE,
                                 "2024-05-01T10:20:30.5Z change type=ADDED key=n/a\\u001b\n"
                                 "2024-05-01T10:20:31Z run hook=h ok=yes took_ms=7\n",
                                 ""});
    scripted_check(SCRIPT({"GET /v1/events", 200, lines}), WORDS("events", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, lines, ""});
    scripted_check(SCRIPT({"GET /v1/events", 200, ""}), WORDS("events"),
                   (struct scripted_wanted){EXIT_FINE, "", ""});
}

static void test_a_line_that_is_no_json_stays_a_line(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/events", 200, "{\"a\r\n"}), WORDS("events"),
                   (struct scripted_wanted){EXIT_FINE, "{\"a\\u000d\n", ""});
    scripted_check(SCRIPT({"GET /v1/events", 200, "{\"a"}), WORDS("events"),
                   (struct scripted_wanted){EXIT_FINE, "{\"a\n", ""}); /* cut off */
}

static void test_streams_that_are_refused(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/sources/s%2F/stream", 404, "{\"error\":\"no watch\"}"}),
                   WORDS("stream", "s/"), (struct scripted_wanted){EXIT_NO, "", "no watch"});
    scripted_check(SCRIPT({"GET /v1/sources/s/stream", 403, REFUSED}), WORDS("stream", "s"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
    scripted_check(SCRIPT({"GET /v1/events/follow", 503, "{\"error\":\"too many\"}"}),
                   WORDS("events", "-f"), (struct scripted_wanted){EXIT_NO, "", "too many"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_a_line_that_is_no_json_stays_a_line),
        cmocka_unit_test(test_streams_that_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
