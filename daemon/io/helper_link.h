/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper_link - main's end of the socket to the helper: asks for runs, kills, credential files and a
 * new configuration, and reports how they ended; driver.
 */
#ifndef IO_HELPER_LINK_H
#define IO_HELPER_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "base/str.h"
#include "base/wire.h"

struct helper_link;
struct helper_run;
struct loop;

enum { HELPER_LINK_ENV_MAX = WIRE_ENV_MAX /* bytes of the environment of one run */ };

/* How the helper has ended a run. Borrowed. Called from the loop, never inside a call of the
 * functions below; may begin the next run with the same struct, or dispose the link. */
typedef void helper_run_cb(struct helper_run *run, const struct run_end *end);

/* One program of the helper, or a clearing; embedded in the one that asks for it. Zero-initialised
 * but for on_exited, nothing is under way. */
struct helper_run {
    struct list link; /* in the link's runs, or in those that it refuses */
    uint64_t id;      /* drawn by the link; 0 = nothing is under way */
    struct run_end refused;
    helper_run_cb *on_exited;
};

/* All are called from the loop, never inside a call of the functions below. Each may dispose the
 * link. */
struct helper_link_events {
    /* Once for each helper_link_open(), unless the link is lost before: fd belongs to the receiver,
     * or is -1 and error is an errno. It is the file that had the number at the time of
     * helper_link_open(), also when helper_link_commit() was called since; so no tag is to be used
     * for two files. */
    void (*on_opened)(void *arg, uint64_t tag, int fd, int error);
    /* The content of a credential file may be another one; file is its number in helper_params. At
     * most once a second for each file, and only for files that were opened before. After
     * helper_link_commit() the number is a new one, and each file that was opened and stays is
     * reported once. */
    void (*on_changed)(void *arg, uint32_t file);
    /* The helper has ended, and its programs with it: no event follows. At most once. */
    void (*on_lost)(void *arg, const struct err *err);
    /* Once for each helper_link_reload(), unless another one, helper_link_drop() or the loss of the
     * link comes before. ok: the helper has a new configuration ready, fd is a sealed memory file with
     * the bundle that helper_build_cb has made, and helper_link_commit() or helper_link_drop() is to
     * follow. Not ok: nothing changes, and fd is a memory file with the problems as text; -1: main or
     * the helper has too few descriptors to pass it. fd belongs to the receiver. */
    void (*on_reloaded)(void *arg, bool ok, int fd);
};

/* Takes over fd (of helper_start()). events is borrowed until dispose. Never NULL; release with
 * helper_link_dispose(). */
struct helper_link *helper_link_create(struct loop *loop, int fd,
                                       const struct helper_link_events *events, void *arg);

/* Starts a program of a hook; hook is its number in helper_params, which must have that program.
 * Nothing else may be under way for run. env holds "NAME=VALUE\0" any number of times, borrowed;
 * each name must start with INFORMERD_ and no value may hold a NUL, or the run ends as refused
 * (EINVAL); so it does with more than HELPER_LINK_ENV_MAX bytes (E2BIG). fds are stdin, stdout,
 * stderr; they are taken over whatever happens. Never blocks. on_exited comes once, unless the link
 * is lost before. */
void helper_link_run(struct helper_link *l, struct helper_run *run, uint32_t hook,
                     enum run_program program, struct str env, const int fds[3]);

/* The same for a program of the helper that answers a question: question is its stdin, borrowed.
 * Returns our end of its stdout, which does not block and is the caller's to close; an answer that
 * fits into a pipe is complete when the program has ended. -1 with errno set: there are no
 * descriptors, and nothing was asked. */
int helper_link_ask(struct helper_link *l, struct helper_run *run, uint32_t hook,
                    enum run_program program, struct str question) MUST_CHECK;

/* Sends a signal (1-64) to the process group of a run. When the program then ends, everything that
 * is left of the run gets SIGKILL, in whatever process group or session it is. Nothing happens if
 * the program has ended. */
void helper_link_kill(struct helper_link *l, const struct helper_run *run, int signal_number);

/* Kills the processes that a run left behind after it ended well and they were spared. env is the
 * environment that the run was started with. Ends with on_exited as if a program had ended with 0,
 * when no process is left, or after 5 s. */
void helper_link_clear(struct helper_link *l, struct helper_run *run, struct str env);

/* on_exited will not come any more; a program that is under way goes on. To be called before the
 * memory of run goes. */
void helper_run_forget(struct helper_run *run);

/* Opens a credential file; file is its number in helper_params. tag comes back in on_opened. */
void helper_link_open(struct helper_link *l, uint32_t file, uint64_t tag);

/* Has the helper read and check its configuration anew; on_reloaded() follows. A configuration that
 * was ready for a commit is dropped, and an earlier call that is not answered yet gets no event. Until
 * helper_link_commit() requests mean the same as before. */
void helper_link_reload(struct helper_link *l);

/* Has the helper change over to the configuration that on_reloaded(ok) has reported: from the next
 * call on, the numbers of hooks and files are those of the new configuration, and on_changed() reports
 * these. Runs and openings that were asked for go on as they are. To be called only after
 * on_reloaded(ok), once; does nothing on a link that is lost. */
void helper_link_commit(struct helper_link *l);

/* Takes helper_link_reload() back, answered or not: no event follows. Does nothing if there is
 * nothing to take back. */
void helper_link_drop(struct helper_link *l);

/* Sets the level of the log lines that the helper writes. */
void helper_link_log_level(struct helper_link *l, enum log_level level);

/* The end: *l becomes NULL, and no event follows. For the helper the closed socket is the end of
 * main: it ends all programs, then itself. NULL is fine. */
void helper_link_dispose(struct helper_link **l);

#endif
