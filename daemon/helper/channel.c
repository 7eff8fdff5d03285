/* SPDX-License-Identifier: Apache-2.0 */
#include "helper/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

/* A reply that the socket did not take. */
struct queued {
    struct list link;
    int fd; /* -1 = none */
    struct wire_reply reply;
};

/* The buffer of a control message, aligned for its head. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(WIRE_RUN_FDS * sizeof(int))];
};

static void drop_queued(struct queued *q)
{
    if (q->fd >= 0)
        close(q->fd);
    list_remove(&q->link);
    free(q);
}

void channel_close(struct channel *c)
{
    list_each (pos, tmp, &c->queue)
        drop_queued(list_entry(pos, struct queued, link));
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

void channel_message_close(struct channel_message *m)
{
    for (size_t i = 0; i < m->fd_count; i++)
        close(m->fds[i]);
    m->fd_count = 0;
}

/* Moves the descriptors that came with a message to m. The kernel never delivers more than the
 * buffer has room for, so they fit into m->fds. */
static void take_fds(struct msghdr *msg, struct channel_message *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        m->fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(m->fds, CMSG_DATA(c), m->fd_count * sizeof(int));
    }
}

/* recvmsg() returns 0 for an empty message as well as for the end: only poll() tells them apart. */
static bool is_over(const struct channel *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0;
}

enum channel_got channel_receive(struct channel *c, struct channel_message *m)
{
    union control control;
    struct iovec iov = {m->data, sizeof(m->data)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        /* Not CMSG_SPACE: its padding has room for a fourth descriptor. */
        .msg_controllen = CMSG_LEN(WIRE_RUN_FDS * sizeof(int)),
    };
    ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    m->size = 0;
    m->fd_count = 0;
    m->fds_lost = false;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? CHANNEL_NOTHING : CHANNEL_END;
    take_fds(&msg, m);
    /* A truncated control message has two reasons. With fewer descriptors than there is room for,
     * this process is at its limit of open files: the message is good, and the run can be refused
     * as a shortage. With all three, main has sent a fourth, which it never does. */
    m->fds_lost = (msg.msg_flags & MSG_CTRUNC) != 0 && m->fd_count < WIRE_RUN_FDS;
    if (n > 0 && ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 || m->fds_lost)) {
        m->size = (size_t)n;
        return CHANNEL_MESSAGE;
    }
    channel_message_close(m);
    return n == 0 && is_over(c) ? CHANNEL_END : CHANNEL_BROKEN;
}

/* False: the socket does not take the reply now; try again when it is writable. True: the reply is
 * sent, or can never be sent. */
static bool send_now(const struct channel *c, struct queued *q)
{
    union control control = {0};
    struct iovec iov = {&q->reply, sizeof(q->reply)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (q->fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int)); /* for one; the buffer has room for three */
        control.align = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.align), &q->fd, sizeof(int));
    }
    while (sendmsg(c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS)
            return false;
        if (errno != EINTR)
            return true; /* main is gone: the next channel_receive() returns END */
    }
    return true;
}

void channel_flush(struct channel *c)
{
    list_each (pos, tmp, &c->queue) {
        struct queued *q = list_entry(pos, struct queued, link);

        if (!send_now(c, q))
            return;
        drop_queued(q);
    }
}

void channel_reply(struct channel *c, const struct wire_reply *reply, int fd)
{
    struct queued *q = mem_zalloc(sizeof(*q));

    q->fd = fd;
    list_init(&q->link);
    q->reply = *reply;
    /* A reply is sent at once only if no other waits: replies keep their order. */
    if (c->fd < 0 || (list_is_empty(&c->queue) && send_now(c, q)))
        drop_queued(q);
    else
        list_append(&c->queue, &q->link);
}

void channel_init(struct channel *c, int fd)
{
    c->fd = fd;
    list_init(&c->queue);
}

bool channel_is_waiting(const struct channel *c)
{
    return !list_is_empty(&c->queue);
}
