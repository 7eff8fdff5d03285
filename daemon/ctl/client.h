/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - sends one request on one connection to the control socket; driver. It blocks, with a
 * timeout, which only answers without end (client_follow()) do not have.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct client_reply {
    int status;
    struct buf body; /* the caller frees it */
};

/* Sends a request without a body to the daemon at the socket `path`, and waits for the answer. *out
 * is overwritten; it is empty after an error. ERR_NOT_FOUND, ERR_REFUSED: no daemon is there.
 * ERR_FORBIDDEN: the user may not open the socket. ERR_CONFIG: path is too long for a socket.
 * ERR_TIMEOUT: nothing came for 30 s, or the daemon has too many clients. ERR_IO, ERR_CLOSED,
 * ERR_PROTOCOL, ERR_TOO_BIG: as for any HTTP answer. The text names the socket and what to do. */
enum err_kind client_ask(const char *path, const char *method, const char *target,
                         struct client_reply *out, struct err *err) MUST_CHECK;

/* The same with another timeout, in seconds. */
enum err_kind client_ask_within(const char *path, unsigned timeout_s, const char *method,
                                const char *target, struct client_reply *out,
                                struct err *err) MUST_CHECK;

/* A longer line ends the answer with an error: no object that informerd accepts makes a line as
 * long as this. */
#define CLIENT_LINE_BYTES ((size_t)64 * 1024 * 1024)

/* The receiver of the lines of an answer without end. */
struct client_lines {
    /* Gets one line as it has come, with its newline, borrowed. False: no more lines are wanted. */
    bool (*on_line)(void *arg, struct str line);
    void *arg;
    int out_fd; /* a pipe or socket that on_line writes to: a reader that goes ends it; -1 = none */
    const char *method; /* NULL = GET */
    uint64_t until_ms;  /* when no more lines are wanted (clock_ms()); 0 = never */
};

/* Sends a request (lines->method) whose answer has no end, and calls on_line for each line that comes,
 * however long the daemon is quiet. *refused is overwritten. ERR_OK with status 200: on_line has
 * returned false, the reader of out_fd is gone, or it is until_ms. ERR_OK with another status: the
 * daemon has refused, and refused->body, which the caller frees, says why. ERR_CLOSED: informerd has
 * ended the answer. ERR_TOO_BIG: a line is too long. Other errors are those of client_ask(). */
enum err_kind client_follow(const char *path, const char *target, const struct client_lines *lines,
                            struct client_reply *refused, struct err *err) MUST_CHECK;

/* One of several answers without end that are read side by side. */
struct client_stream;

/* Sends a request (lines->method) whose answer has no end, and waits for its head. ERR_OK with *out NULL: the
 * daemon has refused, as with client_follow(). lines is copied; its out_fd and until_ms do not count. Errors
 * are those of client_ask(). Release with client_stream_close(). */
enum err_kind client_stream_open(const char *path, const char *target,
                                 const struct client_lines *lines, struct client_stream **out,
                                 struct client_reply *refused, struct err *err) MUST_CHECK;

/* The socket, for poll(). */
int client_stream_fd(const struct client_stream *s);

/* Calls on_line for each whole line that has come. receives: first takes the bytes that the socket has;
 * else only the bytes that came with the head are left. ERR_OK also if on_line has returned false.
 * ERR_CLOSED, ERR_TOO_BIG and others: as client_follow(). */
enum err_kind client_stream_read(struct client_stream *s, bool receives,
                                 struct err *err) MUST_CHECK;

/* Closes the connection, and sets *s to NULL. NULL is fine. */
void client_stream_close(struct client_stream **s);

#endif
