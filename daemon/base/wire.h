/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - the messages between main and the helper as bytes; pure. In base because io and helper,
 * which talk by them, may not include each other (ARCHITECTURE.md "Layers"). Integers are in the
 * machine's order.
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
    WIRE_HEAD_SIZE = 24,       /* what every request starts with, and all of most */
    WIRE_ENV_MAX = 128 * 1024, /* fits a socket buffer of the kernel's default size */
    WIRE_REQUEST_MAX = WIRE_HEAD_SIZE + WIRE_ENV_MAX,
    WIRE_REPLY_SIZE = 72,
    WIRE_OUTPUT_MAX = 64 * 1024 * 1024, /* bytes of a hook's file */
    WIRE_STAGE_SIZE = 16,
    WIRE_COMM_SIZE = 16, /* of a process, as the kernel cuts it */
    WIRE_RUN_FDS = 3     /* stdin, stdout, stderr */
};

/* CLEAR is for a run that has ended well, was spared, and failed all the same: kills what it left. */
enum wire_request_type { WIRE_RUN = 1, WIRE_KILL, WIRE_OPEN, WIRE_CLEAR };
enum wire_reply_type { WIRE_EXITED = 1, WIRE_OPENED };
enum wire_how { WIRE_HOW_EXITED, WIRE_HOW_SIGNALED, WIRE_HOW_NOT_STARTED };

/* Of a hook, which a RUN starts. OUTPUT and REMOVE are the helper's own: they write and remove the
 * hook's file, and answer with one of the stages below. FINGERPRINT, too: it writes the digest of the
 * hook's programs and files to stdout, as the bytes of a struct digest. */
enum wire_program {
    WIRE_PROGRAM_COMMAND,
    WIRE_PROGRAM_OUTPUT, /* stdin is a sealed memory file: what the hook's file is to hold */
    WIRE_PROGRAM_REMOVE,
    WIRE_PROGRAM_APPLY,
    WIRE_PROGRAM_FINGERPRINT,
    WIRE_PROGRAM_SWEEP /* stdin is a memory file: struct wire_stray, then the path, any number of times;
                        * stdout gets an enum wire_swept for each, as a byte */
};
enum { WIRE_PROGRAM_COUNT = WIRE_PROGRAM_SWEEP + 1 };

/* A file that an earlier process wrote for the hook, and that is to go. */
struct wire_stray {
    uint64_t digest[2]; /* lo and hi of its bytes */
    uint64_t length;    /* of the path behind it */
};

enum wire_swept {
    WIRE_SWEPT_REMOVED = 1,
    WIRE_SWEPT_GONE,    /* there is none */
    WIRE_SWEPT_CHANGED, /* other bytes: left */
    WIRE_SWEPT_FOREIGN, /* not in a folder that is the hook's, or of another owner: left */
    WIRE_SWEPT_FAILED
};
enum { WIRE_SWEEP_MAX = 1000 }; /* strays in one run: their answers fit a pipe */

/* Stages of OUTPUT and REMOVE that end with EXITED. Of CHECK value is the check's exit code, or with
 * SIGNALED its signal; of the others 0. With NOT_STARTED the stage is the step that failed. */
#define WIRE_SAME     "same" /* the file was as wanted, or there was none to remove */
#define WIRE_WRITTEN  "written"
#define WIRE_REMOVED  "removed"
#define WIRE_CHECK    "check"
/* NOT_STARTED: the names of the object make no path; trying again does not help. value is EINVAL or
 * ENAMETOOLONG. */
#define WIRE_TEMPLATE "template"

/* How every request begins; the environment of a RUN or CLEAR follows. */
struct wire_request_image {
    uint32_t type;
    uint32_t number;  /* hook, signal, file */
    uint64_t id;      /* run, tag */
    uint32_t program; /* RUN; else 0 */
    uint32_t unused;  /* 0 */
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
    uint32_t killed;
};

_Static_assert(sizeof(struct wire_request_image) == WIRE_HEAD_SIZE, "no padding");
_Static_assert(sizeof(struct wire_reply_image) == WIRE_REPLY_SIZE, "no padding");

struct wire_request {
    enum wire_request_type type;
    uint32_t number;           /* RUN: hook, KILL: signal, OPEN: file */
    enum wire_program program; /* RUN */
    uint64_t id;               /* RUN, KILL, CLEAR: run; OPEN: a tag that comes back */
    struct str env;            /* RUN, CLEAR: "NAME=VALUE\0" any number of times, unchecked */
};

struct wire_reply {
    enum wire_reply_type type;
    uint64_t id;
    enum wire_how how;           /* EXITED */
    int32_t value;               /* EXITED: code, signal or errno; OPENED: errno or 0 */
    char stage[WIRE_STAGE_SIZE]; /* EXITED and not started: what failed ("exec"); of OUTPUT and
                                  * REMOVE what came of it (WIRE_SAME, ...); else empty */
    uint64_t cpu_us;  /* EXITED: user and system time of the program and what it awaited */
    uint32_t left;    /* EXITED: processes of the run that still live: a good end spares them, after
                      * a bad one they could not be killed */
    int32_t left_pid; /* one of them; 0 = none */
    char left_comm[WIRE_COMM_SIZE]; /* its name, printable; "" = none */
    bool killed;                    /* EXITED: a KILL for it was carried out before its end */
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
