/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_link - main's end of the socket to the helper: asks for runs, kills and credential files,
 * and reports how they ended; driver.
 */
#ifndef IO_HELPER_LINK_H
#define IO_HELPER_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"

struct helper_link;
struct loop;

enum {
    HELPER_LINK_ENV_MAX = WIRE_ENV_MAX, /* bytes of the environment of one run */
    HELPER_LINK_STAGE_SIZE = WIRE_STAGE_SIZE,
    HELPER_LINK_COMM_SIZE = WIRE_COMM_SIZE
};

/* How a run ended, and what helper_link_exit.value is then. */
enum helper_link_how {
    HELPER_LINK_EXITED,     /* its exit code */
    HELPER_LINK_SIGNALED,   /* the signal */
    HELPER_LINK_NOT_STARTED /* errno */
};

struct helper_link_exit {
    uint64_t run;
    enum helper_link_how how;
    int value;
    /* not started: the step that failed ("exec", "setuid"); OUTPUT and REMOVE: the result
     * (WIRE_SAME, ...); else "" */
    char stage[HELPER_LINK_STAGE_SIZE];
    /* user and system time of the program and of the processes that it waited for */
    uint64_t cpu_us;
    /* processes of the run that still live. After a success they are spared; after another end they
     * could not be killed within 5 s, or not at all */
    unsigned left;
    int32_t left_pid;                      /* one of these processes; 0 = none */
    char left_comm[HELPER_LINK_COMM_SIZE]; /* its name, printable */
    bool killed; /* helper_link_kill() took effect: the program had not ended by then */
};

/* All are called from the loop, never inside a call of the functions below. Each may dispose the
 * link. */
struct helper_link_events {
    /* Once for each helper_link_run() and helper_link_clear(), unless the link is lost before. */
    void (*on_exited)(void *arg, const struct helper_link_exit *end);
    /* Once for each helper_link_open(), unless the link is lost before: fd belongs to the receiver,
     * or is -1 and error is an errno. */
    void (*on_opened)(void *arg, uint64_t tag, int fd, int error);
    /* The helper has ended, and its programs with it: no event follows. At most once. */
    void (*on_lost)(void *arg, const struct err *err);
};

/* Takes over fd (of helper_start()). events is borrowed until dispose. Never NULL; release with
 * helper_link_dispose(). */
struct helper_link *helper_link_create(struct loop *loop, int fd,
                                       const struct helper_link_events *events, void *arg);

/* Starts a program of a hook; hook is its number in helper_params, which must have that program. No
 * running program may have the id `run`. env holds "NAME=VALUE\0" any number of times, borrowed;
 * each name must start with INFORMERD_ and no value may hold a NUL, or the run ends as not started
 * (EINVAL); so it does with more than HELPER_LINK_ENV_MAX bytes (E2BIG). fds are stdin, stdout,
 * stderr; they are taken over whatever happens. Never blocks. The run ends with on_exited, never
 * before this returns. */
void helper_link_run(struct helper_link *l, uint64_t run, uint32_t hook, enum wire_program program,
                     struct str env, const int fds[3]);

/* Sends a signal (1-64) to the process group of a run. When the program then ends, everything that
 * is left of the run gets SIGKILL, in whatever process group or session it is. Nothing happens if
 * the program has ended. */
void helper_link_kill(struct helper_link *l, uint64_t run, int signal_number);

/* Kills the processes that a run left behind after it ended well and they were spared. env is the
 * environment that the run was started with; no program with that id may be running. Ends with
 * on_exited as if a program had ended with 0, when no process is left, or after 5 s. */
void helper_link_clear(struct helper_link *l, uint64_t run, struct str env);

/* Opens a credential file; file is its number in helper_params. tag comes back in on_opened. */
void helper_link_open(struct helper_link *l, uint32_t file, uint64_t tag);

/* The end: *l becomes NULL, and no event follows. For the helper the closed socket is the end of
 * main: it ends all programs, then itself. NULL is fine. */
void helper_link_dispose(struct helper_link **l);

#endif
