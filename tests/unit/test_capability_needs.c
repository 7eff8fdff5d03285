/* SPDX-License-Identifier: Apache-2.0 */
/* Which capabilities the helper keeps for which parameters. */
#include "helper/capability_needs.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/capability.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define BIT(name) CAPABILITY_BIT(CAP_##name)

static const struct helper_output plain = {.path = "/f"};
static const struct helper_output owned = {.path = "/f", .set_owner = true};
static const uint64_t programs = BIT(KILL) | BIT(SYS_PTRACE) | BIT(DAC_READ_SEARCH);
static const uint64_t users = BIT(SETUID) | BIT(SETGID) | BIT(FOWNER);
static const uint64_t files = BIT(DAC_READ_SEARCH) | BIT(DAC_OVERRIDE) | BIT(FOWNER);

static uint64_t needs_of(struct helper_hook hook)
{
    return capability_needs(&(struct helper_params){.hooks = &hook, .hook_count = 1},
                            CAPABILITY_ALL);
}

static void test_nothing_needs_nothing(void **state)
{
    (void)state;
    assert_int_equal(capability_needs(&(struct helper_params){0}, CAPABILITY_ALL), 0);
    assert_int_equal(needs_of((struct helper_hook){.kind = HELPER_GONE, .change_user = true}), 0);
}

static void test_each_part_of_a_hook_has_its_needs(void **state)
{
    const struct helper_content content = {0};

    (void)state;
    assert_int_equal(needs_of((struct helper_hook){.argv = ARGV("p")}), programs);
    assert_int_equal(needs_of((struct helper_hook){.argv = ARGV("p"), .change_user = true}),
                     programs | users);
    assert_int_equal(needs_of((struct helper_hook){.argv = ARGV("p"), .rlimit_count = 1}),
                     programs | BIT(SYS_RESOURCE));
    assert_int_equal(needs_of((struct helper_hook){.contents = &content}), BIT(DAC_READ_SEARCH));
    assert_int_equal(needs_of((struct helper_hook){.output = &plain, .change_user = true}), files);
    assert_int_equal(needs_of((struct helper_hook){.output = &owned}), files | BIT(CHOWN));
    assert_int_equal(needs_of((struct helper_hook){.output = &plain, .apply = ARGV("a")}),
                     files | programs);
    assert_int_equal(
        needs_of((struct helper_hook){.output = &plain, .check = ARGV("c"), .change_user = true}),
        files | programs | users);
}

/* They get them by exec, from the permitted set. */
static void test_capabilities_of_programs_are_none_of_the_helper(void **state)
{
    (void)state;
    assert_int_equal(
        needs_of((struct helper_hook){.argv = ARGV("p"), .capabilities = BIT(NET_ADMIN)}),
        programs);
}

static void test_the_needs_of_all_hooks_and_files_unite(void **state)
{
    const struct helper_hook hooks[] = {{.argv = ARGV("p")}, {.output = &owned}};
    const struct helper_file file = {.path = "/token"};

    (void)state;
    assert_int_equal(
        capability_needs(&(struct helper_params){.hooks = hooks, .hook_count = 2}, CAPABILITY_ALL),
        programs | files | BIT(CHOWN));
    assert_int_equal(
        capability_needs(&(struct helper_params){.files = &file, .file_count = 1}, CAPABILITY_ALL),
        BIT(DAC_READ_SEARCH));
}

static void test_what_is_not_permitted_is_not_asked_for(void **state)
{
    const struct helper_file file = {.path = "/token"};
    const struct helper_params p = {.files = &file, .file_count = 1};

    (void)state;
    assert_int_equal(capability_needs(&p, 0), 0);
    assert_int_equal(capability_needs(&p, BIT(KILL)), 0);
    /* docs/sandbox.md: strict.conf has DAC_OVERRIDE only. */
    assert_int_equal(capability_needs(&p, BIT(DAC_OVERRIDE) | BIT(KILL)), BIT(DAC_OVERRIDE));
    assert_int_equal(capability_needs(&p, BIT(DAC_OVERRIDE) | BIT(DAC_READ_SEARCH)),
                     BIT(DAC_READ_SEARCH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_needs_nothing),
        cmocka_unit_test(test_each_part_of_a_hook_has_its_needs),
        cmocka_unit_test(test_capabilities_of_programs_are_none_of_the_helper),
        cmocka_unit_test(test_the_needs_of_all_hooks_and_files_unite),
        cmocka_unit_test(test_what_is_not_permitted_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
