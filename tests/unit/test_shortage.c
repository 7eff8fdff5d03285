/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/shortage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

static void test_which_errors_are_shortages(void **state)
{
    static const struct {
        const char *stage;
        int error;
        enum shortage shortage;
    } cases[] = {
        {"receive",            EMFILE,       SHORTAGE_DESCRIPTORS},
        {"pipe",               EMFILE,       SHORTAGE_DESCRIPTORS},
        {"pipe",               ENFILE,       SHORTAGE_DESCRIPTORS},
        {"pipe",               ENOMEM,       SHORTAGE_MEMORY     },
        {"send",               ETOOMANYREFS, SHORTAGE_DESCRIPTORS},
        {"send",               ENOBUFS,      SHORTAGE_MEMORY     },
        {SHORTAGE_MEMORY_FILE, EMFILE,       SHORTAGE_DESCRIPTORS},
        {SHORTAGE_MEMORY_FILE, ENFILE,       SHORTAGE_DESCRIPTORS},
        {SHORTAGE_MEMORY_FILE, ENOMEM,       SHORTAGE_MEMORY     },
        {SHORTAGE_MEMORY_FILE, ENOSPC,       SHORTAGE_MEMORY     },
        {"fork",               EAGAIN,       SHORTAGE_PROCESSES  },
        {"fork",               ENOMEM,       SHORTAGE_MEMORY     },
        {"descriptors",        EMFILE,       SHORTAGE_DESCRIPTORS},
        {"setgroups",          ENOMEM,       SHORTAGE_MEMORY     },
        {"setuid",             EAGAIN,       SHORTAGE_PROCESSES  },
        {"exec",               EAGAIN,       SHORTAGE_PROCESSES  },
        {"exec",               ENOMEM,       SHORTAGE_MEMORY     },
        {"exec",               ENFILE,       SHORTAGE_DESCRIPTORS},
        {"exec",               ENOENT,       SHORTAGE_NONE       },
        {"exec",               EACCES,       SHORTAGE_NONE       },
        {"exec",               ENOEXEC,      SHORTAGE_NONE       },
        {"exec",               E2BIG,        SHORTAGE_NONE       },
        {"exec",               ETXTBSY,      SHORTAGE_NONE       },
        {"exec",               ELOOP,        SHORTAGE_NONE       },
        {"exec",               ENOTDIR,      SHORTAGE_NONE       },
        {"setuid",             EPERM,        SHORTAGE_NONE       },
        {"setgid",             EINVAL,       SHORTAGE_NONE       },
        {"setgroups",          EPERM,        SHORTAGE_NONE       },
        {"send",               E2BIG,        SHORTAGE_NONE       },
        {"environment",        EINVAL,       SHORTAGE_NONE       },
        {"pdeathsig",          ESRCH,        SHORTAGE_NONE       },
        {SHORTAGE_MEMORY_FILE, EPERM,        SHORTAGE_NONE       },
        {SHORTAGE_MEMORY_FILE, EFBIG,        SHORTAGE_NONE       },
        {"write",              ENOSPC,       SHORTAGE_NONE       }, /* the error is of a file, not of the start */
        {"folder",             EMFILE,       SHORTAGE_NONE       },
        {"",                   EAGAIN,       SHORTAGE_NONE       },
        {"exec",               0,            SHORTAGE_NONE       },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (shortage_lacking(cases[i].stage, cases[i].error) != cases[i].shortage)
            fail_msg("%s, %s: %d", cases[i].stage, strerrorname_np(cases[i].error),
                     shortage_lacking(cases[i].stage, cases[i].error));
}

static void test_each_kind_has_its_own_words(void **state)
{
    (void)state;
    assert_string_equal(shortage_name(SHORTAGE_DESCRIPTORS), "descriptors");
    assert_string_equal(shortage_name(SHORTAGE_PROCESSES), "processes");
    assert_string_equal(shortage_name(SHORTAGE_MEMORY), "memory");
    assert_non_null(strstr(shortage_advice(SHORTAGE_DESCRIPTORS), "LimitNOFILE"));
    assert_non_null(strstr(shortage_advice(SHORTAGE_PROCESSES), "TasksMax"));
    assert_non_null(strstr(shortage_advice(SHORTAGE_MEMORY), "memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_errors_are_shortages),
        cmocka_unit_test(test_each_kind_has_its_own_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
