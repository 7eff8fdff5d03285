/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of informerctl that make the daemon act: the requests, the output and the exit codes,
 * against a socket that answers from a script. */
#include "scripted.h"

#define STARTED "{\"started\":true}\n"
#define NOTHING "{\"error\":\"the guard holds no list of this watch\"}\n"
#define REFUSED "{\"error\":\"only root may\\u001b\"}\n"

static void test_relist_is_posted(void **state)
{
    (void)state;
    scripted_check(SCRIPT({"POST /v1/watches/a%2Fb/relist", 202, STARTED}), WORDS("relist", "a/b"),
                   (struct scripted_wanted){EXIT_FINE, "a/b: is listed again\n", ""});
    scripted_check(SCRIPT({"POST /v1/watches/w/relist", 202, STARTED}),
                   WORDS("relist", "w", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, STARTED, ""});
    scripted_check(SCRIPT({"POST /v1/watches/w/relist", 404, "{\"error\":\"there is no watch\"}"}),
                   WORDS("relist", "w"),
                   (struct scripted_wanted){EXIT_NO, "", "there is no watch\n"});
    scripted_check(SCRIPT({"POST /v1/watches/w/relist", 403, REFUSED}), WORDS("relist", "w"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may\\u001b\n"});
}

static void test_guard_is_accepted_or_rejected(void **state)
{
    (void)state;
    scripted_check(
        SCRIPT({"POST /v1/watches/w/guard/accept", 202, STARTED}), WORDS("guard", "accept", "w"),
        (struct scripted_wanted){EXIT_FINE, "w: the next list is applied, whatever it says\n", ""});
    scripted_check(SCRIPT({"POST /v1/watches/w/guard/reject", 202, STARTED}),
                   WORDS("guard", "reject", "w"),
                   (struct scripted_wanted){
                       EXIT_FINE, "w: only a list that the guard would not hold is applied\n", ""});
    scripted_check(SCRIPT({"POST /v1/watches/w/guard/accept", 202, STARTED}),
                   WORDS("guard", "accept", "w", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, STARTED, ""});
    scripted_check(SCRIPT({"POST /v1/watches/w/guard/reject", 409, NOTHING}),
                   WORDS("guard", "reject", "w"),
                   (struct scripted_wanted){EXIT_NO, "", "holds no list"});
    scripted_check(SCRIPT({"POST /v1/watches/w/guard/accept", 403, REFUSED}),
                   WORDS("guard", "accept", "w"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
}

#define LEVELS \
    "{\"level\":\"debug\",\"configured\":\"info\",\"watches\":{\"w\":\"trace\"},\"hooks\":{}}\n"

static void test_log_level_is_shown_set_and_ended(void **state)
{
    const char *shown = "debug (configured: info)\nwatch w: trace\n";

    (void)state;
    scripted_check(SCRIPT({"GET /v1/log-level", 200, LEVELS}), WORDS("log-level"),
                   (struct scripted_wanted){EXIT_FINE, shown, ""});
    scripted_check(SCRIPT({"POST /v1/log-level/debug", 200, LEVELS}), WORDS("log-level", "debug"),
                   (struct scripted_wanted){EXIT_FINE, shown, ""});
    scripted_check(SCRIPT({"POST /v1/log-level/trace/watch/a%2Fb", 200, LEVELS}),
                   WORDS("log-level", "trace", "--watch", "a/b", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, LEVELS, ""});
    scripted_check(SCRIPT({"POST /v1/log-level/default/hook/h", 200, LEVELS}),
                   WORDS("log-level", "--hook", "h", "default"),
                   (struct scripted_wanted){EXIT_FINE, shown, ""});
    scripted_check(
        SCRIPT({"POST /v1/log-level/loud", 404, "{\"error\":\"there is no such level\"}"}),
        WORDS("log-level", "loud"), (struct scripted_wanted){EXIT_NO, "", "no such level"});
    scripted_check(
        SCRIPT({"GET /v1/log-level", 200,
                "{\"level\":\"info\",\"configured\":\"info\",\"watches\":{},\"hooks\":{}}"}),
        WORDS("log-level"), (struct scripted_wanted){EXIT_FINE, "info\n", ""});
}

static void test_log_level_takes_one_name_and_needs_the_level_then(void **state)
{
    (void)state;
    scripted_check(SCRIPT({0}), WORDS("log-level", "--watch", "w"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl log-level"});
    scripted_check(SCRIPT({0}), WORDS("log-level", "debug", "--watch", "w", "--hook", "h"),
                   (struct scripted_wanted){EXIT_USAGE, "", "usage: informerctl log-level"});
    scripted_check(SCRIPT({0}), WORDS("hooks", "--hook", "h"),
                   (struct scripted_wanted){EXIT_USAGE, "", "hooks has no --hook"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relist_is_posted),
        cmocka_unit_test(test_guard_is_accepted_or_rejected),
        cmocka_unit_test(test_log_level_is_shown_set_and_ended),
        cmocka_unit_test(test_log_level_takes_one_name_and_needs_the_level_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
