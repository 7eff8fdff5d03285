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

static void test_replies(void **state)
{
    struct wire_reply reply = {.type = WIRE_EXITED,
                               .id = 0x1122334455667788,
                               .how = WIRE_HOW_NOT_STARTED,
                               .value = -2,
                               .cpu_us = 99,
                               .left = 3,
                               .left_pid = 77};
    char out[WIRE_REPLY_SIZE];
    uint32_t u32;
    uint64_t u64;
    int32_t i32;

    (void)state;
    memset(reply.stage, 'x', sizeof(reply.stage)); /* not ended: the encoder ends it */
    memset(reply.left_comm, 'y', sizeof(reply.left_comm));
    wire_reply_encode(&reply, out);
    memcpy(&u32, out, sizeof(u32));
    assert_int_equal(u32, WIRE_EXITED);
    memcpy(&u32, out + 4, sizeof(u32));
    assert_int_equal(u32, WIRE_HOW_NOT_STARTED);
    memcpy(&u64, out + 8, sizeof(u64));
    assert_true(u64 == reply.id);
    memcpy(&u64, out + 16, sizeof(u64));
    assert_true(u64 == 99);
    memcpy(&i32, out + 24, sizeof(i32));
    assert_int_equal(i32, -2);
    memcpy(&u32, out + 28, sizeof(u32));
    assert_int_equal(u32, 3);
    assert_int_equal(strnlen(out + 32, WIRE_STAGE_SIZE), WIRE_STAGE_SIZE - 1);
    assert_int_equal(strnlen(out + 48, WIRE_COMM_SIZE), WIRE_COMM_SIZE - 1);
    memcpy(&i32, out + 64, sizeof(i32));
    assert_int_equal(i32, 77);
}

static enum err_kind decode_reply(const char *bytes, size_t n, struct wire_reply *reply)
{
    char *copy = mem_dup(bytes, n); /* exactly so many */
    struct err err = {0};
    enum err_kind kind = wire_reply_decode(str_of(copy, n), reply, &err);

    free(copy);
    assert_true(kind == ERR_OK || (kind == ERR_PROTOCOL && err.text[0] != '\0'));
    return kind;
}

static void test_replies_come_back(void **state)
{
    static const struct wire_reply replies[] = {
        {.type = WIRE_OPENED,       .id = UINT64_MAX,            .value = 2},
        {.type = WIRE_EXITED,                         .id = 3,                                  .how = WIRE_HOW_SIGNALED, .value = 9, .cpu_us = UINT64_MAX},
        {.type = WIRE_EXITED, .how = WIRE_HOW_NOT_STARTED,.value = 2, .stage = "exec"},
        {.type = WIRE_EXITED,                         .left = 2,                                  .left_pid = INT32_MAX, .left_comm = "a b"},
        {.type = WIRE_EXITED,               .left = UINT32_MAX,                                           .left_pid = 1},
        {.type = WIRE_EXITED,       .killed = true},
    };
    char bytes[WIRE_REPLY_SIZE];
    struct wire_reply back;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        const struct wire_reply *r = &replies[i];

        wire_reply_encode(r, bytes);
        assert_int_equal(decode_reply(bytes, sizeof(bytes), &back), ERR_OK);
        assert_true(back.type == r->type && back.id == r->id && back.how == r->how);
        assert_true(back.value == r->value && back.cpu_us == r->cpu_us && back.left == r->left);
        assert_int_equal(back.left_pid, r->left_pid);
        assert_true(back.killed == r->killed);
        assert_string_equal(back.stage, r->stage);
        assert_string_equal(back.left_comm, r->left_comm);
        for (size_t cut = 0; cut < sizeof(bytes); cut++)
            assert_int_equal(decode_reply(bytes, cut, &back), ERR_PROTOCOL);
    }
}

static void test_replies_that_the_helper_never_sends(void **state)
{
    static const struct wire_reply bad[] = {
        {.type = WIRE_EXITED, .how = WIRE_HOW_NOT_STARTED + 1},
        {.type = WIRE_EXITED,                   .stage = "a\nb"},
        {.type = WIRE_EXITED,.left = 1}, /* no process id */
        {.type = WIRE_EXITED, .left = 1, .left_pid = -1},
        {.type = WIRE_EXITED,                   .left_pid = 1}, /* none is left */
        {.type = WIRE_EXITED,          .left_comm = "sh"},
        {.type = WIRE_EXITED,                   .left = 1, .left_pid = 1, .left_comm = "\033[2J"},
        {.type = WIRE_OPENED + 1},
        {.id = 1},
    };
    char bytes[WIRE_REPLY_SIZE];
    struct wire_reply back;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        wire_reply_encode(&bad[i], bytes);
        assert_int_equal(decode_reply(bytes, sizeof(bytes), &back), ERR_PROTOCOL);
    }
    wire_reply_encode(&(struct wire_reply){.type = WIRE_EXITED}, bytes);
    memcpy(bytes + 68, &(uint32_t){2}, sizeof(uint32_t)); /* killed: yes or no */
    assert_int_equal(decode_reply(bytes, sizeof(bytes), &back), ERR_PROTOCOL);
    wire_reply_encode(&(struct wire_reply){.type = WIRE_EXITED, .left = 1, .left_pid = 1}, bytes);
    assert_int_equal(decode_reply(bytes, sizeof(bytes), &back), ERR_OK);
    memset(bytes + 48, 'x', WIRE_COMM_SIZE); /* no end */
    assert_int_equal(decode_reply(bytes, sizeof(bytes), &back), ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_replies_come_back),
        cmocka_unit_test(test_replies_that_the_helper_never_sends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
