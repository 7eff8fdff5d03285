/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_link - main's end of the socket to the helper: asks for runs, kills and credential files,
 * reports what came of them; driver.
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
    HELPER_LINK_ENV_MAX = WIRE_ENV_MAX, /* bytes of one run's environment */
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
    char stage[HELPER_LINK_STAGE_SIZE]; /* not started: what failed ("exec", "setuid"); of OUTPUT
                                         * and REMOVE what came of it (WIRE_SAME, ...); else "" */
    uint64_t cpu_us;                    /* user and system time of it and what it waited for */
    unsigned left; /* processes of the run that still live: a success spares them; after another end
                    * they could not be killed (within 5 s, or not at all) */
    int32_t left_pid;                      /* one of them; 0 = none */
    char left_comm[HELPER_LINK_COMM_SIZE]; /* the name of that one, printable */
    bool killed; /* helper_link_kill() had an effect: it had not ended by then */
};

/* All are called from the loop. Each may dispose the link. */
struct helper_link_events {
    /* Once for each helper_link_run() and helper_link_clear(), unless the link is lost before. */
    void (*on_exited)(void *arg, const struct helper_link_exit *end);
    /* Once for each helper_link_open(): fd is the receiver's, or -1 and error is an errno. */
    void (*on_opened)(void *arg, uint64_t tag, int fd, int error);
    /* The helper is gone, and its programs with it: nothing more will come. At most once. */
    void (*on_lost)(void *arg, const struct err *err);
};

/* Takes over fd (of helper_start()). events is borrowed until dispose. Never NULL. */
struct helper_link *helper_link_create(struct loop *loop, int fd,
                                       const struct helper_link_events *events, void *arg);

/* Starts a program of a hook, by its number in helper_params, which must have it. run is an id that
 * no running one has. env holds "NAME=VALUE\0" any number of times, borrowed; each name must start
 * with INFORMERD_ and no value hold a NUL, or the run ends as not started (EINVAL), above
 * HELPER_LINK_ENV_MAX too (E2BIG). fds are stdin, stdout, stderr; taken, whatever happens. Never
 * blocks; ends in on_exited, never before it returns. */
void helper_link_run(struct helper_link *l, uint64_t run, uint32_t hook, enum wire_program program,
                     struct str env, const int fds[3]);

/* Sends a signal (1-64) to the process group of a run; after that, what is left of the run when
 * the program ends gets SIGKILL, in whatever group or session it is. Nothing happens if it has
 * ended. */
void helper_link_kill(struct helper_link *l, uint64_t run, int signal_number);

/* Kills what a run has left, which ended well and was spared: env is that which it was started with,
 * and no program of that id runs. Ends in on_exited, as if a program had ended with 0, once nothing
 * is left, or after 5 s. */
void helper_link_clear(struct helper_link *l, uint64_t run, struct str env);

/* Opens a credential file by its number in helper_params; tag comes back in on_opened. */
void helper_link_open(struct helper_link *l, uint32_t file, uint64_t tag);

/* The end: *l becomes NULL, no event comes any more. The helper takes the closed socket as the end
 * of main: it ends all programs, then itself. NULL is fine. */
void helper_link_dispose(struct helper_link **l);

#endif
