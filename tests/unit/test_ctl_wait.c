/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl wait: its requests, its output and its exit codes. */
#include "scripted.h"

#include "ctl/wait.h"

#define HOLDS "{\"for\":\"idle\",\"done\":true,\"waits_for\":[]}\n"
#define LACKS \
    "{\"for\":\"idle\",\"done\":false,\"waits_for\":[\"hook h\\u001b: 3 pending\",\"watch w\"]}\n"

static void test_it_returns_when_the_daemon_says_so(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/wait/idle/follow", 200, HOLDS}), WORDS("wait", "--for", "idle"),
                   (struct scripted_wanted){EXIT_FINE, "idle\n", ""});
    scripted_check(SCRIPT({"GET /v1/wait/idle/follow", 200, HOLDS}),
                   WORDS("wait", "--for=idle", "-o", "json"),
                   (struct scripted_wanted){EXIT_FINE, HOLDS, ""});
}

static void test_at_the_timeout_it_says_what_is_missing(void **state)
{
    (void)state;
    scripted_check(
        SCRIPT({"GET /v1/wait/idle/follow", 200, SCRIPTED_SILENT},
               {"GET /v1/wait/idle", 200, LACKS}),
        WORDS("wait", "--for", "idle", "--timeout", "1ms"),
        (struct scripted_wanted){EXIT_NO, "",
                                 "not idle after 1ms:\n  hook h\\u001b: 3 pending\n  watch w\n"});
    scripted_check(SCRIPT({"GET /v1/wait/idle/follow", 200, SCRIPTED_SILENT},
                          {"GET /v1/wait/idle", 200, LACKS}),
                   WORDS("wait", "--for", "idle", "--timeout", "1ms", "-ojson"),
                   (struct scripted_wanted){EXIT_NO, LACKS, "not idle after 1ms"});
}

/* It became true between the two requests. */
static void test_a_condition_that_holds_at_the_last_moment_counts(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/wait/idle/follow", 200, SCRIPTED_SILENT},
                          {"GET /v1/wait/idle", 200, HOLDS}),
                   WORDS("wait", "--for", "idle", "--timeout", "1ms"),
                   (struct scripted_wanted){EXIT_FINE, "idle\n", ""});
}

static void test_refusals_and_other_programs(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"GET /v1/wait/idle/follow", 503, "{\"error\":\"too many streams\"}"}),
                   WORDS("wait", "--for", "idle"),
                   (struct scripted_wanted){EXIT_NO, "", "too many streams"});
    scripted_check(SCRIPT({"GET /v1/wait/ready/follow", 200, "no JSON\n"}),
                   WORDS("wait", "--for", "ready"),
                   (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd"});
    scripted_check(SCRIPT({"GET /v1/wait/ready/follow", 200, ""}), WORDS("wait", "--for", "ready"),
                   (struct scripted_wanted){EXIT_UNREACHABLE, "", "has ended"});
}

static void test_the_condition_is_required(void **state)
{
    (void)state;
    scripted_check(SCRIPT({0}), WORDS("wait"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl wait --for"});
    scripted_check(SCRIPT({0}), WORDS("hooks", "--for", "idle"),
                   (struct scripted_wanted){EXIT_USAGE, "", "hooks has no --for"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_returns_when_the_daemon_says_so),
        cmocka_unit_test(test_at_the_timeout_it_says_what_is_missing),
        cmocka_unit_test(test_a_condition_that_holds_at_the_last_moment_counts),
        cmocka_unit_test(test_refusals_and_other_programs),
        cmocka_unit_test(test_the_condition_is_required),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
