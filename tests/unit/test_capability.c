/* SPDX-License-Identifier: Apache-2.0 */
/* The names of capabilities. */
#include "base/capability.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static unsigned number_of(const char *name)
{
    unsigned number = 99;

    assert_true(capability_find(name, &number));
    return number;
}

static void test_names_have_the_numbers_of_the_kernel(void **state)
{
    (void)state;
    assert_int_equal(number_of("CAP_CHOWN"), CAP_CHOWN);
    assert_int_equal(number_of("CAP_NET_ADMIN"), CAP_NET_ADMIN);
    assert_int_equal(number_of("CAP_SYS_PTRACE"), CAP_SYS_PTRACE);
    assert_int_equal(number_of("CAP_SYS_RESOURCE"), CAP_SYS_RESOURCE);
    assert_int_equal(number_of("CAP_SETFCAP"), CAP_SETFCAP);
    assert_int_equal(number_of("CAP_AUDIT_READ"), CAP_AUDIT_READ);
    assert_int_equal(number_of("CAP_CHECKPOINT_RESTORE"), 40);
}

static void test_other_names_are_refused(void **state)
{
    static const char *const wrong[] = {"", "NET_ADMIN", "cap_net_admin", "CAP_NET_ADMIN ", "12"};
    unsigned number = 99;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(capability_find(wrong[i], &number));
    assert_int_equal(number, 99);
}

static void expect_text(uint64_t set, const char *text)
{
    struct buf out = {0};

    capability_put(&out, set);
    assert_string_equal(buf_cstr(&out), text);
    buf_free(&out);
}

static void test_a_set_as_text(void **state)
{
    (void)state;
    expect_text(0, "");
    expect_text(CAPABILITY_BIT(CAP_CHOWN) | CAPABILITY_BIT(CAP_NET_ADMIN),
                "CAP_CHOWN CAP_NET_ADMIN");
    expect_text(CAPABILITY_BIT(40) | CAPABILITY_BIT(63), "CAP_CHECKPOINT_RESTORE 63");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_have_the_numbers_of_the_kernel),
        cmocka_unit_test(test_other_names_are_refused),
        cmocka_unit_test(test_a_set_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
