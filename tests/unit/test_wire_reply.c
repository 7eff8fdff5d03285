/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the helper, as bytes. */
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static enum err_kind decode(const struct wire_reply *reply, size_t n, struct wire_reply *back)
{
    char *copy = mem_dup(reply, n); /* exactly so many */
    struct err err = {0};
    enum err_kind kind = wire_reply_decode(str_of(copy, n), back, &err);

    free(copy);
    assert_true(kind == ERR_OK || (kind == ERR_PROTOCOL && err.text[0] != '\0'));
    return kind;
}

static void test_replies_come_back(void **state)
{
    static const struct wire_reply replies[] = {
        {.type = WIRE_OPENED,                                             .id = UINT64_MAX, .error = 2                                                                                      },
        {.type = WIRE_CHANGED,                                            .id = UINT32_MAX},
        {WIRE_EXITED,                                                              0,                3,                                                                                                 {.kind = RUN_END_SIGNALED, .value = 9, .cpu_us = UINT64_MAX}, 0},
        {WIRE_EXITED,                                                               0,                                                                     0,{.kind = RUN_END_REFUSED, .value = 2, .stage = RUN_STAGE_EXEC}, 0},
        {WIRE_EXITED, 0,                0,                                                                                                      {.kind = RUN_END_REFUSED, .stage = RUN_STAGES - 1}, 0},
        {WIRE_EXITED,                                                              0,                                                              0,                                                                                                                                                                            {.program = RUN_PROGRAM_OUTPUT, .stage = RUN_STAGE_WRITTEN}, 0},
        {WIRE_EXITED,                                                               0,                                                                     0,       {.program = RUN_PROGRAM_CHECK, .value = 1}, 0},
        {WIRE_EXITED,    0,                   0,                                                                                                       {.left = 2, .left_pid = INT32_MAX, .left_comm = "a b"}, 0},
        {WIRE_EXITED,0,0,{.left = UINT32_MAX, .left_pid = 1}, 0},
        {WIRE_EXITED,                                                               0,                                                                     0,{.killed = 1}, 0},
        {.type = WIRE_CHANGED,         .generation = UINT64_MAX                       },
        {.type = WIRE_RELOADED,                                                               .id = 7,                                                                                                                                    .error = WIRE_RELOADED_DROPPED                                                                                                                                                                },
    };
    struct wire_reply back;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        assert_int_equal(decode(&replies[i], sizeof(replies[i]), &back), ERR_OK);
        assert_memory_equal(&back, &replies[i], sizeof(back));
        for (size_t cut = 0; cut < sizeof(back); cut++)
            assert_int_equal(decode(&replies[i], cut, &back), ERR_PROTOCOL);
    }
}

static void test_replies_that_the_helper_never_sends(void **state)
{
    static const struct run_end bad[] = {
        {.program = RUN_PROGRAM_CHECK + 1},
        {.kind = RUN_END_REFUSED + 1     },
        {.kind = RUN_END_REFUSED         }, /* no step */
        {.kind = RUN_END_REFUSED,          .stage = RUN_STAGE_WRITTEN},
        {.kind = RUN_END_REFUSED,                                .stage = RUN_STAGES},
        {.stage = RUN_STAGE_EXEC},
        {.stage = RUN_STAGE_SAME,          .value = 1}, /* not well */
        {.kind = RUN_END_SIGNALED,          .stage = RUN_STAGE_SAME},
        {.cut = RUN_CUT_TIMEOUT                               },
        {.left = 1}, /* no process id */
        {.limit = RUN_LIMIT_PIDS + 1          },
        {.left = 1,                        .left_pid = -1},
        {.left_pid = 1     }, /* none is left */
        {.left_comm = "sh"                       },
        {.left = 1,                                .left_pid = 1, .left_comm = "\033[2J"},
        {.killed = 2                          }, /* yes or no */
    };
    struct wire_reply reply = {.type = WIRE_RELOADED + 1};
    struct wire_reply back;

    (void)state;
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply.type = 0;
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply = (struct wire_reply){.type = WIRE_CHANGED, .id = (uint64_t)UINT32_MAX + 1};
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply = (struct wire_reply){.type = WIRE_RELOADED, .error = WIRE_RELOADED_DROPPED + 1};
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply.error = -1;
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply = (struct wire_reply){.type = WIRE_OPENED, .generation = 1};
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    reply = (struct wire_reply){.type = WIRE_EXITED};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        reply.end = bad[i];
        assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
    }
    reply.end = (struct run_end){.left = 1, .left_pid = 1};
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_OK);
    memset(reply.end.left_comm, 'x', sizeof(reply.end.left_comm)); /* no end */
    assert_int_equal(decode(&reply, sizeof(reply), &back), ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_come_back),
        cmocka_unit_test(test_replies_that_the_helper_never_sends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
