/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log_journal.h"

static void test_an_entry_has_the_fields_that_people_select(void **state)
{
    static const struct err err = {.kind = ERR_IO, .text = "no"};
    const struct kv fields[] = {KV_STR("cluster", "prod"),  KV_STR("watch", "pods"),
                                KV_STR("view", "backends"), KV_STR("hook", "haproxy"),
                                KV_U64("run", 7),           KV_STR("key", "a/b"),
                                KV_STR("line", "HOOK=x"),   KV_ERR(&err),
                                {.type = KV_TYPE_END}};
    struct buf out = {0};

    (void)state;
    log_journal_put(&out, 4, str_c("hook failed hook=\"haproxy\""), fields);
    assert_string_equal(buf_cstr(&out),
                        "MESSAGE=hook failed hook=\"haproxy\"\nPRIORITY=4\n"
                        "SYSLOG_IDENTIFIER=informerd\nCLUSTER=prod\nWATCH=pods\nVIEW=backends\n"
                        "HOOK=haproxy\nRUN=7\nKEY=a/b\n");
    buf_free(&out);
}

static void test_fields_without_a_value_are_left_out(void **state)
{
    const struct kv fields[] = {
        KV_STR("hook", NULL),
        KV_STR("key", ""),
        {.type = KV_TYPE_NONE, .key = "watch"},
        {.type = KV_TYPE_END                   }
    };
    struct buf out = {0};

    (void)state;
    log_journal_put(&out, 6, str_c("x"), fields);
    assert_string_equal(buf_cstr(&out), "MESSAGE=x\nPRIORITY=6\nSYSLOG_IDENTIFIER=informerd\n");
    buf_free(&out);
}

static void test_a_value_cannot_begin_another_field(void **state)
{
    static const char expected[] = "MESSAGE\n\x0c\0\0\0\0\0\0\0x\nPRIORITY=0\n"
                                   "PRIORITY=6\nSYSLOG_IDENTIFIER=informerd\n"
                                   "KEY=a\\nPRIORITY=0\\u200b\n";
    const struct kv fields[] = {KV_STR("key", "a\nPRIORITY=0\xe2\x80\x8b"), {.type = KV_TYPE_END}};
    struct buf out = {0};

    (void)state;
    log_journal_put(&out, 6, str_c("x\nPRIORITY=0"), fields);
    assert_int_equal(out.len, sizeof(expected) - 1);
    assert_memory_equal(out.data, expected, out.len);
    buf_free(&out);
}

static void set_stream(const char *text)
{
    setenv("JOURNAL_STREAM", text, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
}

static void test_a_redirected_stderr_is_not_the_journal(void **state)
{
    struct stat st;
    char text[64];

    (void)state;
    unsetenv("JOURNAL_STREAM"); /* NOLINT(concurrency-mt-unsafe) */
    assert_false(log_journal_has_stderr());
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    set_stream(text);
    assert_true(log_journal_has_stderr());
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
    set_stream(text);
    assert_false(log_journal_has_stderr());
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev + 1, (uintmax_t)st.st_ino);
    set_stream(text);
    assert_false(log_journal_has_stderr());
    set_stream("");
    assert_false(log_journal_has_stderr());
    set_stream("x");
    assert_false(log_journal_has_stderr());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_has_the_fields_that_people_select),
        cmocka_unit_test(test_fields_without_a_value_are_left_out),
        cmocka_unit_test(test_a_value_cannot_begin_another_field),
        cmocka_unit_test(test_a_redirected_stderr_is_not_the_journal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
