/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - the messages between main and the helper as bytes; pure. In base because io and helper,
 * which talk by them, may not include each other (DESIGN 2.2). Integers are in the machine's order.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"

enum {
    WIRE_HEAD_SIZE = 16,       /* what every request starts with, and all of most */
    WIRE_ENV_MAX = 128 * 1024, /* fits a socket buffer of the kernel's default size */
    WIRE_REQUEST_MAX = WIRE_HEAD_SIZE + WIRE_ENV_MAX,
    WIRE_REPLY_SIZE = 72,
    WIRE_STAGE_SIZE = 16,
    WIRE_COMM_SIZE = 16, /* of a process, as the kernel cuts it */
    WIRE_RUN_FDS = 3     /* stdin, stdout, stderr */
};

enum wire_request_type { WIRE_RUN = 1, WIRE_KILL, WIRE_OPEN };
enum wire_reply_type { WIRE_EXITED = 1, WIRE_OPENED };
enum wire_how { WIRE_HOW_EXITED, WIRE_HOW_SIGNALED, WIRE_HOW_NOT_STARTED };

/* How every request begins; a RUN's environment follows. */
struct wire_request_image {
    uint32_t type;
    uint32_t number; /* hook, signal, file */
    uint64_t id;     /* run, tag */
};

/* The whole of a reply. */
struct wire_reply_image {
    uint32_t type;
    uint32_t how;
    uint64_t id;
    uint64_t cpu_us;
    int32_t value;
    uint32_t left;
    char stage[WIRE_STAGE_SIZE];
    char left_comm[WIRE_COMM_SIZE];
    int32_t left_pid;
    uint32_t unused;
};

_Static_assert(sizeof(struct wire_request_image) == WIRE_HEAD_SIZE, "no padding");
_Static_assert(sizeof(struct wire_reply_image) == WIRE_REPLY_SIZE, "no padding");

struct wire_request {
    enum wire_request_type type;
    uint32_t number; /* RUN: hook, KILL: signal, OPEN: file */
    uint64_t id;     /* RUN, KILL: run; OPEN: a tag that comes back */
    struct str env;  /* RUN: "NAME=VALUE\0" any number of times, unchecked */
};

struct wire_reply {
    enum wire_reply_type type;
    uint64_t id;
    enum wire_how how;           /* EXITED */
    int32_t value;               /* EXITED: code, signal or errno; OPENED: errno or 0 */
    char stage[WIRE_STAGE_SIZE]; /* EXITED and not started: what failed ("exec"); else empty */
    uint64_t cpu_us;  /* EXITED: user and system time of the program and what it awaited */
    uint32_t left;    /* EXITED: processes of the run that still live: a good end spares them, after
                      * a bad one they could not be killed */
    int32_t left_pid; /* one of them; 0 = none */
    char left_comm[WIRE_COMM_SIZE]; /* its name, printable; "" = none */
};

/* Decodes one message that came with fd_count descriptors (RUN: 3, others: none); req->env is
 * borrowed from message. Numbers are not checked against anything. ERR_PROTOCOL for what main
 * never sends. */
enum err_kind wire_request_decode(struct str message, size_t fd_count, struct wire_request *req,
                                  struct err *err) MUST_CHECK;

/* Counts the strings of a RUN's environment. False unless each is NAME=VALUE with a NUL behind
 * it and a name that starts with INFORMERD_: with LD_PRELOAD a broken main could become a
 * hook's user. */
bool wire_env_check(struct str env, size_t *count) MUST_CHECK;

/* Whether a string is NAME=... with a name that starts with INFORMERD_. */
bool wire_env_is_ours(const char *s) MUST_CHECK;

/* Encodes a reply. */
void wire_reply_encode(const struct wire_reply *reply, char out[WIRE_REPLY_SIZE]);

/* Decodes one reply. ERR_PROTOCOL for what the helper never sends. */
enum err_kind wire_reply_decode(struct str message, struct wire_reply *reply,
                                struct err *err) MUST_CHECK;

#endif
