/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a message of main and as a reply of the helper: either the reader refuses them with
 * a text, or the values are within their limits. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = mem_dup(data, size);
    struct str message = str_of(copy, size);

    read_request(message, 0);
    read_request(message, WIRE_RUN_FDS);
    read_reply(message);
    free(copy);
    return 0;
}
