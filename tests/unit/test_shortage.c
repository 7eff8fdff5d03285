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

/* Only the first program of a run counts: if it could not be started, there was no run. */
static void expect_shortage(enum run_stage stage, int error, enum shortage shortage)
{
    static const struct {
        enum run_program program;
        bool is_first;
    } programs[] = {
        {RUN_PROGRAM_COMMAND, true },
        {RUN_PROGRAM_REMOVE,  true },
        {RUN_PROGRAM_FILES,   true },
        {RUN_PROGRAM_APPLY,   true },
        {RUN_PROGRAM_OUTPUT,  false},
        {RUN_PROGRAM_CHECK,   false},
    };

    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct run_end end = run_end_refused(programs[i].program, stage, error);

        if (shortage_of(&end) != (programs[i].is_first ? shortage : SHORTAGE_NONE))
            fail_msg("program %d, %s, %s: %d", (int)programs[i].program, run_stage_name(stage),
                     strerrorname_np(error), (int)shortage_of(&end));
    }
}

static void test_which_errors_are_shortages(void **state)
{
    static const struct {
        enum run_stage stage;
        int error;
        enum shortage shortage;
    } cases[] = {
        {RUN_STAGE_RECEIVE,     EMFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_PIPE,        EMFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_PIPE,        ENFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_PIPE,        ENOMEM,       SHORTAGE_MEMORY     },
        {RUN_STAGE_SEND,        ETOOMANYREFS, SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_SEND,        ENOBUFS,      SHORTAGE_MEMORY     },
        {RUN_STAGE_MEMORY_FILE, EMFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_MEMORY_FILE, ENFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_MEMORY_FILE, ENOMEM,       SHORTAGE_MEMORY     },
        {RUN_STAGE_MEMORY_FILE, ENOSPC,       SHORTAGE_MEMORY     },
        {RUN_STAGE_FORK,        EAGAIN,       SHORTAGE_PROCESSES  },
        {RUN_STAGE_FORK,        ENOMEM,       SHORTAGE_MEMORY     },
        {RUN_STAGE_DESCRIPTORS, EMFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_SETGROUPS,   ENOMEM,       SHORTAGE_MEMORY     },
        {RUN_STAGE_SETUID,      EAGAIN,       SHORTAGE_PROCESSES  },
        {RUN_STAGE_EXEC,        EAGAIN,       SHORTAGE_PROCESSES  },
        {RUN_STAGE_EXEC,        ENOMEM,       SHORTAGE_MEMORY     },
        {RUN_STAGE_EXEC,        ENFILE,       SHORTAGE_DESCRIPTORS},
        {RUN_STAGE_EXEC,        ENOENT,       SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        EACCES,       SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        ENOEXEC,      SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        E2BIG,        SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        ETXTBSY,      SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        ELOOP,        SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        ENOTDIR,      SHORTAGE_NONE       },
        {RUN_STAGE_SETUID,      EPERM,        SHORTAGE_NONE       },
        {RUN_STAGE_SETGID,      EINVAL,       SHORTAGE_NONE       },
        {RUN_STAGE_SETGROUPS,   EPERM,        SHORTAGE_NONE       },
        {RUN_STAGE_SEND,        E2BIG,        SHORTAGE_NONE       },
        {RUN_STAGE_ENVIRONMENT, EINVAL,       SHORTAGE_NONE       },
        {RUN_STAGE_PDEATHSIG,   ESRCH,        SHORTAGE_NONE       },
        {RUN_STAGE_MEMORY_FILE, EPERM,        SHORTAGE_NONE       },
        {RUN_STAGE_MEMORY_FILE, EFBIG,        SHORTAGE_NONE       },
        {RUN_STAGE_WRITE,       ENOSPC,       SHORTAGE_NONE       }, /* the error is of a file, not of the start */
        {RUN_STAGE_FOLDER,      EMFILE,       SHORTAGE_NONE       },
        {RUN_STAGE_NONE,        EAGAIN,       SHORTAGE_NONE       },
        {RUN_STAGE_EXEC,        0,            SHORTAGE_NONE       },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_shortage(cases[i].stage, cases[i].error, cases[i].shortage);
    assert_int_equal(shortage_of(&(struct run_end){.value = EAGAIN}), SHORTAGE_NONE);
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
