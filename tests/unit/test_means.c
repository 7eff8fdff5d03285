/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/means.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

static void test_what_is_short_and_what_is_the_hooks_own(void **state)
{
    static const struct {
        const char *stage;
        int error;
        enum means means;
    } cases[] = {
        {"receive",         EMFILE,       MEANS_DESCRIPTORS},
        {"pipe",            EMFILE,       MEANS_DESCRIPTORS},
        {"pipe",            ENFILE,       MEANS_DESCRIPTORS},
        {"pipe",            ENOMEM,       MEANS_MEMORY     },
        {"send",            ETOOMANYREFS, MEANS_DESCRIPTORS},
        {"send",            ENOBUFS,      MEANS_MEMORY     },
        {MEANS_MEMORY_FILE, EMFILE,       MEANS_DESCRIPTORS},
        {MEANS_MEMORY_FILE, ENFILE,       MEANS_DESCRIPTORS},
        {MEANS_MEMORY_FILE, ENOMEM,       MEANS_MEMORY     },
        {MEANS_MEMORY_FILE, ENOSPC,       MEANS_MEMORY     },
        {"fork",            EAGAIN,       MEANS_PROCESSES  },
        {"fork",            ENOMEM,       MEANS_MEMORY     },
        {"descriptors",     EMFILE,       MEANS_DESCRIPTORS},
        {"setgroups",       ENOMEM,       MEANS_MEMORY     },
        {"setuid",          EAGAIN,       MEANS_PROCESSES  },
        {"exec",            EAGAIN,       MEANS_PROCESSES  },
        {"exec",            ENOMEM,       MEANS_MEMORY     },
        {"exec",            ENFILE,       MEANS_DESCRIPTORS},
        {"exec",            ENOENT,       MEANS_ENOUGH     },
        {"exec",            EACCES,       MEANS_ENOUGH     },
        {"exec",            ENOEXEC,      MEANS_ENOUGH     },
        {"exec",            E2BIG,        MEANS_ENOUGH     },
        {"exec",            ETXTBSY,      MEANS_ENOUGH     },
        {"exec",            ELOOP,        MEANS_ENOUGH     },
        {"exec",            ENOTDIR,      MEANS_ENOUGH     },
        {"setuid",          EPERM,        MEANS_ENOUGH     },
        {"setgid",          EINVAL,       MEANS_ENOUGH     },
        {"setgroups",       EPERM,        MEANS_ENOUGH     },
        {"send",            E2BIG,        MEANS_ENOUGH     },
        {"environment",     EINVAL,       MEANS_ENOUGH     },
        {"pdeathsig",       ESRCH,        MEANS_ENOUGH     },
        {MEANS_MEMORY_FILE, EPERM,        MEANS_ENOUGH     },
        {MEANS_MEMORY_FILE, EFBIG,        MEANS_ENOUGH     },
        {"write",           ENOSPC,       MEANS_ENOUGH     }, /* of a file, not of a start */
        {"folder",          EMFILE,       MEANS_ENOUGH     },
        {"",                EAGAIN,       MEANS_ENOUGH     },
        {"exec",            0,            MEANS_ENOUGH     },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (means_lacking(cases[i].stage, cases[i].error) != cases[i].means)
            fail_msg("%s, %s: %d", cases[i].stage, strerrorname_np(cases[i].error),
                     means_lacking(cases[i].stage, cases[i].error));
}

static void test_each_kind_has_its_own_words(void **state)
{
    (void)state;
    assert_string_equal(means_name(MEANS_DESCRIPTORS), "descriptors");
    assert_string_equal(means_name(MEANS_PROCESSES), "processes");
    assert_string_equal(means_name(MEANS_MEMORY), "memory");
    assert_non_null(strstr(means_advice(MEANS_DESCRIPTORS), "LimitNOFILE"));
    assert_non_null(strstr(means_advice(MEANS_PROCESSES), "TasksMax"));
    assert_non_null(strstr(means_advice(MEANS_MEMORY), "memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_short_and_what_is_the_hooks_own),
        cmocka_unit_test(test_each_kind_has_its_own_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
