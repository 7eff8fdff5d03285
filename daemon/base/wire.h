/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - the messages between main and the helper as bytes; pure. It is in base/ because io/ and
 * helper/, which exchange them, may not include each other (ARCHITECTURE.md "Layers"). Integers are in
 * the byte order of the machine.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/path_template.h"
#include "base/run_end.h"
#include "base/str.h"

enum {
    WIRE_HEAD_SIZE = 24,       /* every request begins with this; most are no longer */
    WIRE_ENV_MAX = 128 * 1024, /* fits a socket buffer of the kernel's default size */
    WIRE_REQUEST_MAX = WIRE_HEAD_SIZE + WIRE_ENV_MAX,
    WIRE_OUTPUT_MAX = 64 * 1024 * 1024, /* bytes of an output file */
    WIRE_RUN_FDS = 3                    /* stdin, stdout, stderr */
};

/* CLEAR kills the processes that a run has left behind. main asks for it when the program has ended
 * well, so that the helper has spared these processes, and the run failed all the same.
 * RELOAD has the helper read the configuration and answer with RELOADED. The new configuration waits
 * for COMMIT or DROP; another RELOAD drops it. The numbers of hooks and files in requests behind a
 * COMMIT are those of the new configuration. LOG_LEVEL sets the level of the helper's log lines. */
enum wire_request_type {
    WIRE_RUN = 1,
    WIRE_KILL,
    WIRE_OPEN,
    WIRE_CLEAR,
    WIRE_RELOAD,
    WIRE_COMMIT,
    WIRE_DROP,
    WIRE_LOG_LEVEL
};
/* CHANGED answers no request: a credential file that main may open may have changed. */
enum wire_reply_type { WIRE_EXITED = 1, WIRE_OPENED, WIRE_CHANGED, WIRE_RELOADED };

/* How a RELOAD ended. */
enum wire_reloaded {
    WIRE_RELOADED_READY,   /* waits for COMMIT or DROP; the descriptor is a file with the bundle */
    WIRE_RELOADED_REFUSED, /* nothing changes; the descriptor is a file with a text that says why */
    WIRE_RELOADED_DROPPED  /* another RELOAD or a DROP came before the end; no descriptor */
};

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
/* Strays in one run at most: all answers fit into a pipe. */
enum { WIRE_SWEEP_MAX = 1000 };

/* The head of one file in the input of FILES. Its name follows, and then its bytes, if it is to be
 * written. */
struct wire_member {
    uint64_t size;   /* of the bytes; 0 if the file goes */
    uint32_t length; /* of the name: ${key} in the path of the file */
    uint32_t goes;   /* 1: the file is to be removed; 0: it is to be written */
};

_Static_assert(sizeof(struct wire_member) == 16, "no padding");
/* Files that one run writes at most, and those that it writes and removes. It may remove more than one
 * object has, when the runs of several states of the object have failed. */
enum { WIRE_MEMBERS_MAX = 4096, WIRE_FILES_MAX = 16 * WIRE_MEMBERS_MAX };

/* The head of every request. The environment of a RUN or CLEAR follows it. */
struct wire_request_image {
    uint32_t type;
    uint32_t number;  /* of a hook, a signal, a file or a level */
    uint64_t id;      /* of a run, or a tag; COMMIT, DROP: the tag of the RELOAD; LOG_LEVEL: 0 */
    uint32_t program; /* RUN; else 0 */
    uint32_t unused;  /* 0 */
};

_Static_assert(sizeof(struct wire_request_image) == WIRE_HEAD_SIZE, "no padding");

struct wire_request {
    enum wire_request_type type;
    /* RUN: hook, KILL: signal, OPEN: file, LOG_LEVEL: enum log_level; RELOAD, COMMIT, DROP: 0 */
    uint32_t number;
    enum run_program program; /* RUN */
    uint64_t id;              /* RUN, KILL, CLEAR: run; OPEN, RELOAD: a tag that comes back */
    struct str env;           /* RUN, CLEAR: "NAME=VALUE\0" any number of times, unchecked */
};

/* A reply; its bytes are sent as they are. */
struct wire_reply {
    enum wire_reply_type type;
    int32_t error;      /* OPENED: errno or 0; RELOADED: enum wire_reloaded */
    uint64_t id;        /* EXITED: run; OPENED, RELOADED: tag; CHANGED: number of the file */
    struct run_end end; /* EXITED */
    /* CHANGED: how many COMMITs the helper had got: it tells main which configuration the number of
     * the file is of. Else 0. */
    uint64_t generation;
};

_Static_assert(sizeof(struct wire_reply) == 16 + 80 + 8, "no padding");

/* Decodes one message that came with fd_count descriptors (WIRE_RUN_FDS with a RUN, none with
 * others); req->env is borrowed from message. Whether numbers belong to a hook, run or file is not
 * checked. ERR_PROTOCOL: main never sends such a message. */
enum err_kind wire_request_decode(struct str message, size_t fd_count, struct wire_request *req,
                                  struct err *err) MUST_CHECK;

/* Counts the strings of the environment of a RUN or CLEAR. Returns false unless each one is
 * NAME=VALUE with a NUL behind it, and its name starts with INFORMERD_. With other names, such as
 * LD_PRELOAD, a main that was broken into could become the user of a hook. */
bool wire_env_check(struct str env, size_t *count) MUST_CHECK;

/* Is this string NAME=... with a name that starts with INFORMERD_? */
bool wire_env_is_ours(const char *s) MUST_CHECK;

/* Reads n bytes of the input of a run, from byte `at` on. False: they cannot be read. */
typedef bool wire_read_cb(void *arg, uint64_t at, void *out, size_t n);

/* How far the input of FILES is read: begins with its size, all else is zero. */
struct wire_members {
    uint64_t size;
    uint64_t at;
    size_t count;  /* of files so far */
    size_t writes; /* of those, the ones to be written: they come first */
};

enum wire_next { WIRE_NEXT, WIRE_END, WIRE_BAD };

/* Takes the next file off the input: its head, and its name with a NUL. Its bytes are the last head->size of
 * those before m->at. BAD: main never sends such an input. */
enum wire_next wire_members_next(struct wire_members *m, wire_read_cb *read, void *arg,
                                 struct wire_member *head,
                                 char name[PATH_TEMPLATE_COMPONENT_MAX + 1]) MUST_CHECK;

/* Takes the next stray file off the front of the input of SWEEP, with its path and a NUL. False: there is no
 * whole one. */
bool wire_strays_next(struct str *input, struct wire_stray *head,
                      char path[PATH_TEMPLATE_PATH_MAX + 1]) MUST_CHECK;

/* Decodes one reply. ERR_PROTOCOL: the helper never sends such a reply. */
enum err_kind wire_reply_decode(struct str message, struct wire_reply *reply,
                                struct err *err) MUST_CHECK;

#endif
