/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - the messages between main and the helper as bytes; pure. In base because io and helper,
 * which exchange them, may not include each other (ARCHITECTURE.md "Layers"). Integers are in the
 * byte order of the machine.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/run_end.h"
#include "base/str.h"

enum {
    WIRE_HEAD_SIZE = 24,       /* every request begins with this; most are no longer */
    WIRE_ENV_MAX = 128 * 1024, /* fits a socket buffer of the kernel's default size */
    WIRE_REQUEST_MAX = WIRE_HEAD_SIZE + WIRE_ENV_MAX,
    WIRE_OUTPUT_MAX = 64 * 1024 * 1024, /* bytes of an output file */
    WIRE_RUN_FDS = 3                    /* stdin, stdout, stderr */
};

/* CLEAR is for a run whose program has ended well, so that its other processes were spared, and
 * that failed all the same: it kills these processes. */
enum wire_request_type { WIRE_RUN = 1, WIRE_KILL, WIRE_OPEN, WIRE_CLEAR };
/* CHANGED answers no request: a file may have changed that main may open. */
enum wire_reply_type { WIRE_EXITED = 1, WIRE_OPENED, WIRE_CHANGED };

/* A stray file: an earlier process wrote it for the hook, and it is to be removed
 * (docs/design.md "Stray files"). */
struct wire_stray {
    uint64_t digest[2]; /* of the bytes that the file had: lo, hi */
    uint64_t length;    /* of the path that follows */
};

enum wire_swept {
    WIRE_SWEPT_REMOVED = 1,
    WIRE_SWEPT_GONE,    /* there is no such file */
    WIRE_SWEPT_CHANGED, /* somebody else has changed the file: it stays */
    /* It is in a folder that is not the hook's, or has another owner: it stays. */
    WIRE_SWEPT_FOREIGN,
    WIRE_SWEPT_FAILED
};
enum { WIRE_SWEEP_MAX = 1000 }; /* strays in one run, so that all answers fit into a pipe */

/* The head of every request. The environment of a RUN or CLEAR follows it. */
struct wire_request_image {
    uint32_t type;
    uint32_t number;  /* of a hook, a signal or a file */
    uint64_t id;      /* of a run, or a tag */
    uint32_t program; /* RUN; else 0 */
    uint32_t unused;  /* 0 */
};

_Static_assert(sizeof(struct wire_request_image) == WIRE_HEAD_SIZE, "no padding");

struct wire_request {
    enum wire_request_type type;
    uint32_t number;          /* RUN: hook, KILL: signal, OPEN: file */
    enum run_program program; /* RUN */
    uint64_t id;              /* RUN, KILL, CLEAR: run; OPEN: a tag that comes back */
    struct str env;           /* RUN, CLEAR: "NAME=VALUE\0" any number of times, unchecked */
};

/* A reply; its bytes are sent as they are. */
struct wire_reply {
    enum wire_reply_type type;
    int32_t error;      /* OPENED: errno or 0 */
    uint64_t id;        /* EXITED: run; OPENED: tag; CHANGED: number of the file */
    struct run_end end; /* EXITED */
};

_Static_assert(sizeof(struct wire_reply) == 16 + 56, "no padding");

/* Decodes one message that came with fd_count descriptors (WIRE_RUN_FDS with a RUN, none with
 * others); req->env is borrowed from message. Whether numbers belong to a hook, run or file is not
 * checked. ERR_PROTOCOL: main never sends such a message. */
enum err_kind wire_request_decode(struct str message, size_t fd_count, struct wire_request *req,
                                  struct err *err) MUST_CHECK;

/* Counts the strings of the environment of a RUN or CLEAR. Returns false unless each one is
 * NAME=VALUE with a NUL behind it, and its name starts with INFORMERD_: with LD_PRELOAD a main that
 * was broken into could become the user of a hook. */
bool wire_env_check(struct str env, size_t *count) MUST_CHECK;

/* Is this string NAME=... with a name that starts with INFORMERD_? */
bool wire_env_is_ours(const char *s) MUST_CHECK;

/* Decodes one reply. ERR_PROTOCOL: the helper never sends such a reply. */
enum err_kind wire_reply_decode(struct str message, struct wire_reply *reply,
                                struct err *err) MUST_CHECK;

#endif
