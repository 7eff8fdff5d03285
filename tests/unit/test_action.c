/* SPDX-License-Identifier: Apache-2.0 */
/* informerctl run and verify, which wait for what they start: the requests, the output and the exit
 * codes, against a socket that answers from a script. */
#include "scripted.h"

#define REFUSED "{\"error\":\"only root may\"}\n"

#define ORDER_3 "{\"order\":3,\"units\":2}\n"
#define LEFT(order, left, failed) \
    "{\"order\":" order ",\"units\":2,\"left\":" left ",\"failed\":" failed "}\n"
#define RUN  "POST /v1/hooks/h/run"
#define POLL "GET /v1/hooks/h/order/3"

static void test_run_without_waiting(void **state)
{
    (void)state;
    scripted_check(SCRIPT({RUN, 202, ORDER_3}), WORDS("run", "h"),
                   (struct scripted_wanted){EXIT_FINE, "h: 2 runs ordered\n", ""});
    scripted_check(SCRIPT({RUN "/n%2Fa", 202, "{\"order\":1,\"units\":1}"}),
                   WORDS("run", "h", "n/a"),
                   (struct scripted_wanted){EXIT_FINE, "h: 1 run ordered\n", ""});
    scripted_check(SCRIPT({RUN, 202, ORDER_3}), WORDS("run", "h", "-ojson"),
                   (struct scripted_wanted){EXIT_FINE, ORDER_3, ""});
    scripted_check(SCRIPT({RUN, 409, "{\"error\":\"hook h is paused\"}"}), WORDS("run", "h"),
                   (struct scripted_wanted){EXIT_NO, "", "hook h is paused"});
    scripted_check(SCRIPT({RUN, 403, REFUSED}), WORDS("run", "h", "--wait"),
                   (struct scripted_wanted){EXIT_NOT_ALLOWED, "", "only root may"});
    scripted_check(SCRIPT({RUN, 202, "{}"}), WORDS("run", "h"),
                   (struct scripted_wanted){EXIT_UNREACHABLE, "", "is it informerd"});
}

static void test_run_waits_until_nothing_is_left(void **state)
{
    (void)state;
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 200, LEFT("3", "2", "0")},
                          {POLL, 200, LEFT("3", "1", "0")}, {POLL, 200, LEFT("3", "0", "0")}),
                   WORDS("run", "h", "--wait"),
                   (struct scripted_wanted){EXIT_FINE, "h: 2 runs succeeded\n", ""});
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 200, LEFT("3", "1", "1")},
                          {POLL, 200, LEFT("3", "0", "1")}),
                   WORDS("run", "h", "--wait"),
                   (struct scripted_wanted){
                       EXIT_NO, "", "h: 1 of 2 runs failed: informerctl runs h tells why\n"});
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 200, LEFT("3", "0", "1")}),
                   WORDS("run", "h", "--wait", "-ojson"),
                   (struct scripted_wanted){EXIT_NO, LEFT("3", "0", "1"), "1 of 2 runs failed"});
}

static void test_run_that_is_lost(void **state)
{
    (void)state;
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 404, "{\"error\":\"started anew\"}"}),
                   WORDS("run", "h", "--wait"),
                   (struct scripted_wanted){EXIT_NO, "", "started anew"});
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 200, LEFT("3", "1", "0")}),
                   WORDS("run", "h", "--wait", "--timeout", "0s"),
                   (struct scripted_wanted){EXIT_NO, "", "have not ended yet"});
    scripted_check(SCRIPT({RUN, 202, ORDER_3}, {POLL, 200, LEFT("3", "0", "0")}),
                   WORDS("run", "h", "--wait", "--timeout", "0s"),
                   (struct scripted_wanted){EXIT_FINE, "h: 2 runs succeeded\n", ""});
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
                                 "KEY        WHAT\n"
                                 "n/a        missing\n"
                                 "n/b\\u0007  different\n"
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
        WORDS("verify", "w", "-oname"), (struct scripted_wanted){EXIT_NO, "n/a\nn/b\\u0007\n", ""});
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
        cmocka_unit_test(test_run_without_waiting),
        cmocka_unit_test(test_run_waits_until_nothing_is_left),
        cmocka_unit_test(test_run_that_is_lost),
        cmocka_unit_test(test_verify_waits_for_its_own_result),
        cmocka_unit_test(test_verify_shows_what_differs),
        cmocka_unit_test(test_verify_that_cannot_be_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
