/* SPDX-License-Identifier: Apache-2.0 */
/* How long ago a contact was, by clocks that may have been set back. */
#include "persist/contact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define S       UINT64_C(1000000000)
#define UNKNOWN UINT64_MAX

/* UNKNOWN: the clock was set back. */
static void expect(const char *then, uint64_t wall_s, uint64_t boot_s, const char *boot_id,
                   uint64_t age_s)
{
    const struct contact now = {wall_s * S, boot_s * S, str_c(boot_id)};
    const struct contact was = contact_read(str_c(then));
    uint64_t ms = UNKNOWN;

    assert_int_equal(contact_age(&was, &now, &ms),
                     age_s == UNKNOWN ? CONTACT_CLOCK_BACK : CONTACT_KNOWN);
    assert_int_equal(ms, age_s == UNKNOWN ? UNKNOWN : age_s * 1000);
}

static void test_in_the_same_boot_the_wall_clock_does_not_matter(void **state)
{
    (void)state;
    expect("5000000000000 100000000000 boot-1", 5010, 110, "boot-1", 10);
    expect("5000000000000 100000000000 boot-1", 1000, 110, "boot-1", 10);
    expect("5000000000000 100000000000 boot-1", 9000, 110, "boot-1", 10);
    expect("5000000000000 100000000000 boot-1", 1000, 86500, "boot-1", 86400);
    expect("5000000000000 100000000000 boot-1", 1000, 100, "boot-1", 0);
}

static void test_after_a_boot_a_clock_that_went_back_proves_nothing(void **state)
{
    (void)state;
    expect("5000000000000 100000000000 boot-1", 4999, 110, "boot-2", UNKNOWN);
    expect("5000000000000 100000000000 boot-1", 0, 5, "boot-2", UNKNOWN);
    expect("5000000000000 100000000000 boot-1", 4999, 110, "", UNKNOWN);
    expect("5000000000000", 4999, 110, "boot-1", UNKNOWN);
    expect("5000000000000 100000000000 boot-1", 4999, 99, "boot-1",
           UNKNOWN); /* a contact of another clock does not count */
}

static void test_after_a_boot_the_wall_clock_counts_and_the_boot_at_least(void **state)
{
    (void)state;
    expect("5000000000000 100000000000 boot-1", 5300, 30, "boot-2", 300);
    expect("5000000000000 100000000000 boot-1", 5001, 30, "boot-2", 30);
    expect("5000000000000", 5001, 30, "boot-2", 1);
    expect("5000000000000", 5001, 30, "", 1);
}

static void test_a_contact_that_was_never_noted_has_no_age(void **state)
{
    const struct contact now = {1, 1, str_c("b")};
    static const char *const texts[] = {"", "0", "x", "0 5 b"};
    uint64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct contact was = contact_read(str_c(texts[i]));

        assert_int_equal(contact_age(&was, &now, &ms), CONTACT_NEVER);
    }
}

static void test_a_contact_is_read_as_it_was_put(void **state)
{
    const struct contact c = {7, 8, str_c("0f3a-b")};
    const struct contact bare = {.wall_ns = 9};
    struct buf out = {0};

    (void)state;
    contact_put(&out, &c);
    assert_string_equal(buf_cstr(&out), "7 8 0f3a-b");
    struct contact read = contact_read(buf_str(&out));
    assert_true(read.wall_ns == 7 && read.boot_ns == 8 && str_is(read.boot_id, "0f3a-b"));
    buf_clear(&out);
    contact_put(&out, &bare);
    assert_string_equal(buf_cstr(&out), "9");
    read = contact_read(buf_str(&out));
    assert_true(read.wall_ns == 9 && read.boot_id.n == 0);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_the_same_boot_the_wall_clock_does_not_matter),
        cmocka_unit_test(test_after_a_boot_a_clock_that_went_back_proves_nothing),
        cmocka_unit_test(test_after_a_boot_the_wall_clock_counts_and_the_boot_at_least),
        cmocka_unit_test(test_a_contact_that_was_never_noted_has_no_age),
        cmocka_unit_test(test_a_contact_is_read_as_it_was_put),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
