/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message of main, as the input of FILES and SWEEP, and as a reply of the helper: either the
 * reader refuses them, a message with a text, or the values are within their limits. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(struct str message, size_t fd_count)
{
    struct wire_request req;
    struct err err = {0};
    size_t count;

    if (wire_request_decode(message, fd_count, &req, &err) != ERR_OK) {
        ensure(err.kind == ERR_PROTOCOL && err.text[0] != '\0');
        return;
    }
    ensure((req.type == WIRE_RUN) == (fd_count == WIRE_RUN_FDS));
    ensure(req.env.n == 0 || req.type == WIRE_RUN || req.type == WIRE_CLEAR);
    ensure(req.env.n == message.n - WIRE_HEAD_SIZE && req.env.n <= WIRE_ENV_MAX);
    if (wire_env_check(req.env, &count))
        ensure(count <= req.env.n && (count > 0) == (req.env.n > 0));
}

static void read_reply(struct str message)
{
    struct wire_reply reply;
    struct err err = {0};

    if (wire_reply_decode(message, &reply, &err) != ERR_OK) {
        ensure(err.kind == ERR_PROTOCOL && err.text[0] != '\0');
        return;
    }
    ensure(reply.type != WIRE_CHANGED || reply.id <= UINT32_MAX);
    ensure(reply.type == WIRE_CHANGED || reply.generation == 0);
    if (reply.type != WIRE_EXITED)
        return;
    ensure(run_stage_name(reply.end.stage) != NULL);
    ensure(strnlen(reply.end.left_comm, RUN_END_COMM_SIZE) < RUN_END_COMM_SIZE);
    ensure((reply.end.left > 0) == (reply.end.left_pid > 0));
    ensure(!run_end_is_unfit(&reply.end) || reply.end.kind == RUN_END_REFUSED);
}

/* A wire_read_cb: the input is a string, which it never reads over. */
static bool read_string(void *arg, uint64_t at, void *out, size_t n)
{
    const struct str *input = arg;

    ensure(at <= input->n && n <= input->n - at);
    memcpy(out, input->p + at, n);
    return true;
}

/* Files to write come first, and the bytes of each file lie within the input. */
static void read_members(struct str input)
{
    char name[PATH_TEMPLATE_COMPONENT_MAX + 1];
    struct wire_members m = {.size = input.n};
    struct wire_member head;
    bool has_removal = false;
    uint64_t before = 0;

    while (wire_members_next(&m, read_string, &input, &head, name) == WIRE_NEXT) {
        has_removal |= head.goes == 1;
        ensure(head.goes == has_removal && (head.goes == 0 || head.size == 0));
        ensure(strlen(name) == head.length);
        ensure(m.at == before + sizeof(head) + head.length + head.size && m.at <= m.size);
        before = m.at;
    }
    ensure(m.count <= WIRE_FILES_MAX && m.writes <= m.count);
}

static void read_strays(struct str input)
{
    char path[PATH_TEMPLATE_PATH_MAX + 1];
    struct wire_stray head;
    struct str before = input;

    while (wire_strays_next(&input, &head, path)) {
        ensure(input.n == before.n - sizeof(head) - head.length);
        ensure(path[head.length] == '\0');
        before = input;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = mem_dup(data, size);
    struct str message = str_of(copy, size);

    read_request(message, 0);
    read_request(message, WIRE_RUN_FDS);
    read_members(message);
    read_strays(message);
    read_reply(message);
    free(copy);
    return 0;
}
