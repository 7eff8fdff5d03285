/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of informerctl about hooks: the requests, the output and the exit codes. */
#include "scripted.h"

#include "ctl/listing.h"

#define REFUSED "{\"error\":\"only root may\"}\n"

/* 2024-05-01T10:20:30Z */
enum { THEN_S = 1714558830 };

static const char runs[] =
    "[{\"run\":\"i-1\",\"hook\":\"h\",\"ended\":\"2024-05-01T10:20:30.000000001Z\",\"took_s\":0."
    "012,"
    "\"source\":\"services\",\"key\":\"n/a\",\"event\":\"ADDED\",\"events\":1,"
    "\"reason\":\"existing\",\"attempt\":2,\"outcome\":\"failed\",\"result\":\"exit status 3\","
    "\"cpu_s\":0.000512,\"memory_peak_bytes\":3145728,\"dropped_bytes\":2048,\"last_line\":"
    "\"oh\\u001bno\",\"stdout\":\"\","
    "\"stderr\":\"x\"},"
    "{\"run\":\"i-2\",\"hook\":\"s\",\"ended\":\"2024-05-01T10:20:31.5Z\",\"took_s\":3,"
    "\"source\":null,\"key\":null,\"event\":null,\"events\":7,\"reason\":\"change\","
    "\"attempt\":1,\"outcome\":\"ok\",\"result\":\"exit status "
    "0\",\"cpu_s\":0.000000,\"memory_peak_bytes\":null,"
    "\"dropped_bytes\":0,\"last_line\":null,\"stdout\":null,\"stderr\":null}]\n";

static void check_table(const struct listing *l, enum listing_rows rows, bool wide,
                        const char *json, const char *wanted)
{
    const struct listing_look look = {.rows = rows, .wide = wide, .now_s = THEN_S + 60};
    struct buf out = {0};
    struct err err = {0};

    assert_int_equal(listing_put_table(&out, l, &look, str_c(json), &err), ERR_OK);
    assert_string_equal(buf_cstr(&out), wanted);
    buf_free(&out);
}

static void test_runs(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/runs", 200, runs}), WORDS("runs", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, runs, ""});
    scripted_check(SCRIPT({"GET /v1/hooks/a%2Fb/runs", 200, runs}), WORDS("runs", "a/b", "-oname"),
                   (struct scripted_wanted){EXIT_FINE, "i-1\ni-2\n", ""});
    scripted_check(SCRIPT({"GET /v1/hooks/x/runs", 404, "{\"error\":\"there is no hook\"}"}),
                   WORDS("runs", "x"), (struct scripted_wanted){EXIT_NO, "", "there is no hook"});
    check_table(&listing_runs, LISTING_ARRAY, false, runs,
                "HOOK  ENDED  TOOK    KEY  EVENT  REASON    RESULT         OUTPUT\n"
                "h     60s    0.012s  n/a  ADDED  existing  exit status 3  oh\\u001bno\n"
                "s     59s    3s      -    -      change    exit status 0  -\n");
    check_table(&listing_runs, LISTING_ARRAY, true, runs,
                "RUN  HOOK  PROGRAM  ENDED  TOOK    CPU        MEMORY  SOURCE    KEY  EVENT  "
                "EVENTS  REASON    "
                "ATTEMPT  OUTCOME  RESULT         HOOKS  FILE  DROPPED  OUTPUT\n"
                "i-1  h     -        60s    0.012s  0.000512s  3.0MiB  services  n/a  ADDED  1     "
                "  existing  "
                "2        failed   exit status 3  -      -     2.0KiB   oh\\u001bno\n"
                "i-2  s     -        59s    3s      0.000000s  -       -         -    -      7     "
                "  change    "
                "1        ok       exit status 0  -      -     0B       -\n");
}

static void test_a_shared_run_names_its_hooks(void **state)
{
    (void)state;
    check_table(&listing_runs, LISTING_ARRAY, false,
                "[{\"run\":\"i-3\",\"hook\":\"a\",\"program\":\"apply\",\"ended\":null,"
                "\"took_s\":1,\"key\":\"\",\"reason\":\"change\","
                "\"result\":\"apply: exit status 0\",\"hooks\":[\"a\",\"b\"]}]",
                "HOOK  ENDED  TOOK  KEY  REASON  RESULT                HOOKS\n"
                "a     -      1s    -    change  apply: exit status 0  a b\n");
}

static const char why[] =
    "{\"hook\":\"h\",\"units\":[{\"source\":null,\"key\":null,\"reason\":\"guard\","
    "\"of\":\"services\",\"text\":\"guard of source services\",\"until\":null,\"failures\":0,"
    "\"event\":null,\"digest\":null,\"last_run\":null},"
    "{\"source\":\"services\",\"key\":\"n/a\",\"reason\":\"backoff\",\"of\":null,"
    "\"text\":\"backoff\",\"until\":\"2024-05-01T10:21:33.5Z\",\"failures\":4,"
    "\"event\":{\"type\":\"MODIFIED\",\"cause\":\"watch\","
    "\"received\":\"2024-05-01T10:21:00.000000000Z\"},\"digest\":\"0a1b\","
    "\"last_run\":{\"run\":\"i-9\",\"ended\":\"2024-05-01T10:21:20Z\","
    "\"result\":\"exit status 3\"}}],\"left_out\":7}\n";

static void test_why(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/hooks/h/why", 200, why}), WORDS("why", "h", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, why, ""});
    scripted_check(SCRIPT({"GET /v1/hooks/h/why/n%2Fa", 200, why}),
                   WORDS("why", "h", "n/a", "-oname"),
                   (struct scripted_wanted){EXIT_FINE, "n/a\n", ""});
    scripted_check(SCRIPT({"GET /v1/hooks/h/why/n%2Fb", 404, "{\"error\":\"nothing\"}"}),
                   WORDS("why", "h", "n/b"), (struct scripted_wanted){EXIT_NO, "", "nothing"});
    check_table(&listing_explain, LISTING_GROUP, false, why,
                "KEY  SOURCE    WHY                       UNTIL  FAILURES  EVENT     RESULT\n"
                "-    -         guard of source services  -      0         -         -\n"
                "n/a  services  backoff                   in 3s  4         MODIFIED  exit status "
                "3\n");
    check_table(&listing_explain, LISTING_GROUP, true, why,
                "KEY  SOURCE    WHY                       UNTIL  FAILURES  EVENT     CAUSE  "
                "RECEIVED  DIGEST  RUN  ENDED  RESULT\n"
                "-    -         guard of source services  -      0         -         -      "
                "-         -       -    -      -\n"
                "n/a  services  backoff                   in 3s  4         MODIFIED  watch  "
                "30s       0a1b    i-9  10s    exit status 3\n");
}

static void test_why_says_once_what_to_do(void **state)
{
    static const char units[] =
        "{\"units\":[{\"key\":\"a\",\"advice\":\"informerctl \\u001b resume\"},"
        "{\"key\":\"b\",\"advice\":\"informerctl \\u001b resume\"},"
        "{\"key\":\"c\",\"advice\":null},{\"key\":\"d\",\"advice\":\"wait\"}],"
        "\"left_out\":1}";

    (void)state;
    scripted_check(SCRIPT({"GET /v1/hooks/h/why", 200, units}), WORDS("why", "h", "-o", "name"),
                   (struct scripted_wanted){EXIT_FINE, "a\nb\nc\nd\n", ""});
    scripted_check_end(SCRIPT({"GET /v1/hooks/h/why", 200, units}), WORDS("why", "h"),
                       "\n\ninformerctl \\u001b resume\nwait\n\nand 1 more keys\n");
}

static void test_why_says_what_is_left_out(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/hooks/h/why", 200, "{\"units\":[],\"left_out\":7}"}),
                   WORDS("why", "h"),
                   (struct scripted_wanted){EXIT_FINE, "KEY  WHY\n\nand 7 more keys\n", ""});
    scripted_check(SCRIPT({"GET /v1/hooks/h/why", 200, "<html>"}), WORDS("why", "h"),
                   (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd"});
}

static void test_input_is_printed_as_it_is(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/hooks/h/input/n%2Fa", 200, "{\"version\":1 }"}),
                   WORDS("input", "h", "n/a"),
                   (struct scripted_wanted){EXIT_FINE, "{\"version\":1 }\n", ""});
    scripted_check(SCRIPT({"GET /v1/hooks/h/input", 200, "{\"a\":1}\n{\"b\":2}\n"}),
                   WORDS("input", "h", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, "{\"a\":1}\n{\"b\":2}\n", ""});
    scripted_check(SCRIPT({"GET /v1/hooks/h/input", 403, REFUSED}), WORDS("input", "h"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
}

#define PAUSED_BUT(kept) \
    "{\"hooks\":{\"h\":{\"paused\":true,\"changed\":false,\"running\":2}},\"kept\":" kept "}\n"
#define PAUSED PAUSED_BUT("true")
#define UNKEPT PAUSED_BUT("false")

static void test_pause_and_resume(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"POST /v1/hooks/h/pause", 200, PAUSED}), WORDS("pause", "h"),
                   (struct scripted_wanted){EXIT_FINE,
                                            "HOOK  PAUSED  CHANGED  RUNNING\n"
                                            "h     yes     no       2\n",
                                            ""});
    scripted_check(
        SCRIPT({"POST /v1/hooks/h/pause", 200, UNKEPT}), WORDS("pause", "h"),
        (struct scripted_wanted){EXIT_FINE,
                                 "HOOK  PAUSED  CHANGED  RUNNING\n"
                                 "h     yes     no       2\n\n"
                                 "a restart of informerd ends the pause: the state is not saved\n",
                                 ""});
    scripted_check(SCRIPT({"POST /v1/hooks/h/pause", 200, UNKEPT}), WORDS("pause", "h", "-oname"),
                   (struct scripted_wanted){EXIT_FINE, "h\n", ""});
    scripted_check(SCRIPT({"POST /v1/hooks/h/resume", 200, UNKEPT}), WORDS("resume", "h"),
                   (struct scripted_wanted){EXIT_FINE,
                                            "HOOK  PAUSED  CHANGED  RUNNING\n"
                                            "h     yes     no       2\n",
                                            ""});
    scripted_check(SCRIPT({"POST /v1/pause", 200, PAUSED}), WORDS("pause", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, PAUSED, ""});
    scripted_check(SCRIPT({"POST /v1/hooks/h/resume", 200, PAUSED}), WORDS("resume", "h", "-oname"),
                   (struct scripted_wanted){EXIT_FINE, "h\n", ""});
    scripted_check(SCRIPT({"POST /v1/resume", 403, REFUSED}), WORDS("resume"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
}

static void test_usage(void **state)
{
    static const struct scripted_exchange none[] = {{0}};

    (void)state;
    scripted_check(none, WORDS("runs", "a", "b"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl runs [HOOK]"});
    scripted_check(none, WORDS("why"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl why HOOK [KEY]"});
    scripted_check(none, WORDS("input", "h", "-oname"),
                   (struct scripted_wanted){EXIT_USAGE, "", "input has no -o name"});
    scripted_check(none, WORDS("run", "h", "--timeout=1s"),
                   (struct scripted_wanted){EXIT_USAGE, "", "informerctl run HOOK [KEY] [--wait]"});
    scripted_check(none, WORDS("run", "h", "-f"),
                   (struct scripted_wanted){EXIT_USAGE, "", "run has no -f"});
    scripted_check(none, WORDS("pause", "h", "--wait"),
                   (struct scripted_wanted){EXIT_USAGE, "", "pause has no --wait"});
    scripted_check(none, WORDS("events", "h"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl events [-f]"});
    scripted_check(none, WORDS("stream"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl stream SOURCE"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_a_shared_run_names_its_hooks),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_why_says_once_what_to_do),
        cmocka_unit_test(test_why_says_what_is_left_out),
        cmocka_unit_test(test_input_is_printed_as_it_is),
        cmocka_unit_test(test_pause_and_resume),
        cmocka_unit_test(test_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
