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
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may\\x1b\n"});
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

#define VERIFY   "/v1/watches/w/verify"
#define NUMBER_3 "{\"started\":true,\"number\":3}\n"
#define AT(number, state, rest) \
    "{\"number\":" number ",\"state\":\"" state "\",\"done_age_s\":0.1,\"compared\":7," rest "}\n"
#define SAME "\"applied\":false,\"differences\":0,\"keys\":[],\"error\":null"
#define TWO                                          \
    "\"applied\":false,\"differences\":2,\"keys\":[" \
    "{\"key\":\"n/a\",\"what\":\"missing\"},"        \
    "{\"key\":\"n/b\\u0007\",\"what\":\"different\"}],\"error\":null"

static void test_verify_waits_for_its_own_result(void **state)
{
    (void)state;
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("2", "listing", TWO)},
               {"GET " VERIFY, 200, AT("2", "grace", TWO)},
               {"GET " VERIFY, 200, AT("3", "idle", SAME)}),
        WORDS("verify", "w"),
        (struct scripted_wanted){EXIT_FINE, "no differences (7 objects compared)\n", ""});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("5", "listing", SAME)}),
        WORDS("verify", "w", "-ojson"),
        (struct scripted_wanted){EXIT_FINE, AT("5", "listing", SAME), ""});
}

static void test_verify_shows_what_differs(void **state)
{
    static const char many[] = AT("3", "idle",
                                  "\"applied\":true,\"differences\":101,\"keys\":["
                                  "{\"key\":\"n/a\",\"what\":\"extra\"}],\"error\":null");
    static const char one[] = AT("3", "idle",
                                 "\"applied\":false,\"differences\":1,\"keys\":["
                                 "{\"key\":\"n/a\",\"what\":\"extra\"}],\"error\":null");

    (void)state;
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
        WORDS("verify", "w"),
        (struct scripted_wanted){EXIT_NO,
                                 "KEY      WHAT\n"
                                 "n/a      missing\n"
                                 "n/b\\x07  different\n"
                                 "\n2 differences (7 objects compared)\n",
                                 ""});
    scripted_check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, many}),
                   WORDS("verify", "w"),
                   (struct scripted_wanted){
                       EXIT_NO,
                       "KEY  WHAT\n"
                       "n/a  extra\n"
                       "\n101 differences, 1 of them shown, which a relist repairs (7 objects "
                       "compared)\n",
                       ""});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, one}), WORDS("verify", "w"),
        (struct scripted_wanted){
            EXIT_NO, "KEY  WHAT\nn/a  extra\n\n1 difference (7 objects compared)\n", ""});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
        WORDS("verify", "w", "-oname"), (struct scripted_wanted){EXIT_NO, "n/a\nn/b\\x07\n", ""});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("3", "idle", TWO)}),
        WORDS("verify", "w", "-ojson"),
        (struct scripted_wanted){EXIT_NO, AT("3", "idle", TWO), ""});
}

static void test_verify_that_cannot_be_done(void **state)
{
    static const char failed[] = AT("3", "idle",
                                    "\"applied\":false,\"differences\":0,\"keys\":[],"
                                    "\"error\":\"connection refused\"");

    (void)state;
    scripted_check(SCRIPT({"POST " VERIFY, 403, REFUSED}), WORDS("verify", "w"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
    scripted_check(SCRIPT({"POST " VERIFY, 409, "{\"error\":\"not synced\"}"}),
                   WORDS("verify", "w"), (struct scripted_wanted){EXIT_NO, "", "not synced"});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, failed}), WORDS("verify", "w"),
        (struct scripted_wanted){EXIT_NO, "", "w cannot be compared: connection refused\n"});
    scripted_check(SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, failed}),
                   WORDS("verify", "w", "-ojson"), (struct scripted_wanted){EXIT_NO, failed, ""});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("0", "idle", SAME)}),
        WORDS("verify", "w"), (struct scripted_wanted){EXIT_NO, "", "informerd was restarted"});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, NUMBER_3}, {"GET " VERIFY, 200, AT("2", "grace", TWO)}),
        WORDS("verify", "w", "--timeout", "0s"),
        (struct scripted_wanted){EXIT_NO, "", "has not ended yet"});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, "{}"}), WORDS("verify", "w"),
        (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd that answers there?"});
    scripted_check(
        SCRIPT({"POST " VERIFY, 202, "<html>"}), WORDS("verify", "w"),
        (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd that answers there?"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relist_is_posted),
        cmocka_unit_test(test_guard_is_accepted_or_rejected),
        cmocka_unit_test(test_verify_waits_for_its_own_result),
        cmocka_unit_test(test_verify_shows_what_differs),
        cmocka_unit_test(test_verify_that_cannot_be_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
