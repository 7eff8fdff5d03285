/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel - the helper's end of the socket to main: receives requests with their descriptors, and
 * sends replies in their order (base/wire has the format); driver.
 */
#ifndef HELPER_CHANNEL_H
#define HELPER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/list.h"
#include "base/wire.h"

/* main's socket. It never blocks: a reply that it does not take is queued. */
struct channel {
    int fd;            /* -1 once closed */
    struct list queue; /* replies not sent yet, oldest first */
};

/* END: main has closed its end. BROKEN: main never sends such a message (too long, empty, too many
 * descriptors). */
enum channel_got { CHANNEL_MESSAGE, CHANNEL_NOTHING, CHANNEL_END, CHANNEL_BROKEN };

/* One message of main; the receiver closes its descriptors. */
struct channel_message {
    char data[WIRE_REQUEST_MAX];
    size_t size;
    int fds[WIRE_RUN_FDS];
    size_t fd_count;
    bool fds_lost; /* descriptors were lost: this process has too many open files */
};

/* Begins with nothing queued; takes fd over. */
void channel_init(struct channel *c, int fd);

/* Closes the socket and drops the queued replies. */
void channel_close(struct channel *c);

/* Receives one message; m has no descriptors unless the result is MESSAGE. */
enum channel_got channel_receive(struct channel *c, struct channel_message *m);

/* Closes the descriptors that are left in m. */
void channel_message_close(struct channel_message *m);

/* Sends a reply, or queues it behind the replies that wait. Takes over fd, which goes with the reply
 * (-1 = none). A closed channel drops the reply. */
void channel_reply(struct channel *c, const struct wire_reply *reply, int fd);

/* Do replies wait for the socket? */
bool channel_is_waiting(const struct channel *c) MUST_CHECK;

/* Sends the queued replies that the socket takes now. */
void channel_flush(struct channel *c);

#endif
