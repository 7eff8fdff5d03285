/* SPDX-License-Identifier: Apache-2.0 */
#include "silent_link.h"
#include "hook_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void on_opened(void *arg, uint64_t tag, int fd, int error)
{
    (void)arg, (void)tag, (void)fd, (void)error;
}

static void on_lost(void *arg, const struct err *err)
{
    (void)arg, (void)err;
}

struct helper_link *silent_link_create(struct loop *loop, int *far)
{
    static const struct helper_link_events events = {.on_opened = on_opened, .on_lost = on_lost};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *far = ends[1];
    return helper_link_create(loop, ends[0], &events, NULL);
}

uint64_t silent_link_take(int far, int *out)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(WIRE_RUN_FDS * sizeof(int))];
    } control;
    struct wire_request_image head;
    int fds[WIRE_RUN_FDS];
    struct iovec iov = {&head, sizeof(head)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};

    assert_int_equal(recvmsg(far, &msg, 0), sizeof(head));
    assert_int_equal(head.type, WIRE_RUN);
    memcpy(fds, CMSG_DATA(&control.head), sizeof(fds));
    close(fds[STDIN_FILENO]);
    close(fds[STDERR_FILENO]);
    *out = fds[STDOUT_FILENO];
    return head.id;
}

void silent_link_end(int far, uint64_t id, struct run_end end)
{
    const struct wire_reply reply = {.type = WIRE_EXITED, .id = id, .end = end};

    assert_int_equal(send(far, &reply, sizeof(reply), 0), sizeof(reply));
}

struct runner *silent_link_runner(const struct runner_params *params,
                                  const struct runner_events *events, void *arg)
{
    struct runner_params p = *params;

    p.hooks = &hook_rig.hooks;
    p.context = (struct payload_context){.node = "n", .instance = "i"};
    return runner_create(&p, events, arg);
}
