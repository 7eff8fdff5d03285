/* SPDX-License-Identifier: Apache-2.0 */
#include "silent_link.h"
#include "hook_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

static void on_exited(void *arg, const struct helper_link_exit *end)
{
    (void)arg, (void)end;
}

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
    static const struct helper_link_events events = {on_exited, on_opened, on_lost};
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *far = ends[1];
    return helper_link_create(loop, ends[0], &events, NULL);
}

struct runner *silent_link_runner(const struct runner_params *params,
                                  const struct runner_events *events, void *arg)
{
    struct runner_params p = *params;

    p.hooks = &hook_rig.hooks;
    p.context = (struct payload_context){.node = "n", .instance = "i"};
    return runner_create(&p, events, arg);
}
