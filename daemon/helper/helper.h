/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper - the privileged process of docs/design.md "Two processes": it alone starts programs and
 * opens credential files. What it may start and open is in its parameters; main names entries by
 * number and adds INFORMERD_* values and descriptors. Forked before any library is initialised.
 */
#ifndef HELPER_HELPER_H
#define HELPER_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err.h"
#include "helper/path_trust.h"

/* The file that a hook's stdout becomes (docs/design.md "Output files"). */
struct helper_output {
    const char *path; /* a template: path_template.h */
    mode_t mode;
    bool set_owner; /* else a new file is the helper's */
    uid_t uid;      /* (uid_t)-1 leaves it; of set_owner */
    gid_t gid;      /* (gid_t)-1 leaves it; of set_owner */
};

struct helper_hook {
    const char *name;         /* for log lines */
    const char *const *argv;  /* ends with NULL; argv[0] is the path of the program */
    const char *const *check; /* like argv; ${file} in it is the new file's path; NULL = none */
    const char *const *apply; /* like argv; NULL = none */
    const struct helper_output *output; /* NULL = none */
    const char *const *files; /* whose content FINGERPRINT tells of; ends with NULL; NULL = none */
    const char *const
        *alone; /* must be root's alone whenever a program starts, as NULL-ended files */
    const char *const *env; /* NAME=VALUE, ends with NULL; INFORMERD_* in it is left out */
    const gid_t *groups;    /* all supplementary groups */
    size_t group_count;
    unsigned concurrency;   /* runs of argv at a time, >= 1 */
    uint64_t kill_grace_ms; /* at the end of main: from kill_signal to SIGKILL, at most 60 s */
    int kill_signal;
    mode_t umask;
    uid_t uid;
    gid_t gid;
    bool main_is_alike; /* main may do all that the helper may: its strays may be in any folder */
    bool change_user;   /* become uid, gid and groups; needs the capabilities for it */
};

/* A credential. */
struct helper_file {
    const char *path;
    struct path_trust path_trust;
};

struct helper_params {
    const struct helper_hook *hooks;
    size_t hook_count;
    const struct helper_file *files; /* that main may ask for by number */
    size_t file_count;
    rlim_t nofile_soft;   /* soft limit of open files for programs; 0 leaves it as it is */
    unsigned shared_runs; /* runs of argv at a time beyond the first one of each hook, together */
};

/* Creates the socket and forks the helper, which borrows its copy of params for ever. *fd is main's
 * end (close-on-exec, SOCK_SEQPACKET, for helper_link_create()), the caller's to close; *pid its
 * to reap. Descriptors 0, 1 and 2 must be open. ERR_IO if the system refuses. */
enum err_kind helper_start(const struct helper_params *params, int *fd, pid_t *pid,
                           struct err *err) MUST_CHECK;

#endif
