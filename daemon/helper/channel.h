/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel - the helper's end of the socket to main: messages with descriptors in, replies out.
 * Never blocks: a reply that the socket does not take is queued.
 */
#ifndef HELPER_CHANNEL_H
#define HELPER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/list.h"
#include "base/wire.h"

struct channel {
    int fd;            /* -1 once closed */
    struct list queue; /* replies not sent yet, oldest first */
};

enum channel_got { CHANNEL_MESSAGE, CHANNEL_NOTHING, CHANNEL_END, CHANNEL_BROKEN };

/* One message; the descriptors are the receiver's to close. */
struct channel_message {
    char data[WIRE_REQUEST_MAX];
    size_t size;
    int fds[WIRE_RUN_FDS];
    size_t fd_count;
    bool fds_lost; /* some could not be received: this process has too many open files */
};

/* Takes over a connected SOCK_SEQPACKET socket. */
void channel_init(struct channel *c, int fd);

/* Closes the socket and drops what is queued; does nothing the second time. */
void channel_close(struct channel *c);

/* Receives one message. END: main is gone. BROKEN: not a message of main's (too long, empty, too
 * many descriptors); then and otherwise no descriptor is left in m. */
enum channel_got channel_receive(struct channel *c, struct channel_message *m) MUST_CHECK;

/* Closes the descriptors of a message. */
void channel_message_close(struct channel_message *m);

/* Sends a reply now or, behind others, later. Takes fd (-1 = none). Dropped once closed. */
void channel_reply(struct channel *c, const struct wire_reply *reply, int fd);

/* Sends what is queued, as far as the socket takes it. */
void channel_flush(struct channel *c);

/* Is a reply waiting for the socket? The helper reads no request meanwhile, so the queue stays
 * short. */
bool channel_is_waiting(const struct channel *c) MUST_CHECK;

#endif
