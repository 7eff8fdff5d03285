/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

/* A write and its bytes, which libuv needs until on_written(). */
struct outgoing {
    uv_write_t req;
    char data[];
};

int tcp_tune(const uv_tcp_t *tcp)
{
    /* Both limits are 40 s: 25 + 3 * 5 s for the probes, and TCP_USER_TIMEOUT, in ms. */
    static const int options[][3] = {
        {IPPROTO_TCP, TCP_NODELAY,      1    },
        {SOL_SOCKET,  SO_KEEPALIVE,     1    },
        {IPPROTO_TCP, TCP_KEEPIDLE,     25   },
        {IPPROTO_TCP, TCP_KEEPINTVL,    5    },
        {IPPROTO_TCP, TCP_KEEPCNT,      3    },
        {IPPROTO_TCP, TCP_USER_TIMEOUT, 40000},
    };
    uv_os_fd_t fd;
    int e = uv_fileno((const uv_handle_t *)tcp, &fd);

    for (size_t i = 0; e == 0 && i < ARRAY_LEN(options); i++)
        if (setsockopt(fd, options[i][0], options[i][1], &options[i][2], sizeof(int)) != 0)
            e = uv_translate_sys_error(errno);
    return e;
}

/* A write that failed is found by the read side (tcp.h). */
static void on_written(uv_write_t *req, int status)
{
    (void)status;
    free(container_of(req, struct outgoing, req));
}

int tcp_send(uv_tcp_t *tcp, const char *data, size_t n)
{
    struct outgoing *o = mem_alloc(sizeof(*o) + n);
    uv_buf_t bytes = uv_buf_init(o->data, (unsigned)n);

    memcpy(o->data, data, n);
    int e = uv_write(&o->req, (uv_stream_t *)tcp, &bytes, 1, on_written);

    if (e != 0)
        free(o);
    return e;
}
