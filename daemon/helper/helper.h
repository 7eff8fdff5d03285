/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper - the privileged process of docs/design.md "Two processes": it alone starts programs,
 * opens credential files and writes output files; driver. Its parameters list all programs and
 * files. main names them by number, and adds INFORMERD_* values and descriptors. The helper is
 * forked before any library is initialised.
 */
#ifndef HELPER_HELPER_H
#define HELPER_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "helper/cgroup_tree.h"
#include "helper/path_trust.h"
#include "helper/run_cgroup.h"

/* The file that a hook's stdout becomes (docs/design.md "Output files"). */
struct helper_output {
    const char *path; /* a template: base/path_template.h */
    mode_t mode;
    bool set_owner; /* false: a new file belongs to the user of the helper */
    uid_t uid;      /* with set_owner; (uid_t)-1 leaves the user */
    gid_t gid;      /* with set_owner; (gid_t)-1 leaves the group */
};

/* A file whose content tells whether the hook has changed (base/digest.h). */
struct helper_content {
    const char *path;
    bool counts;  /* it is part of digest_forms.now */
    bool counted; /* it is part of digest_forms.former */
};

/* The kinds of struct helper_hook. Two of different kinds may have the same name. */
enum helper_kind {
    HELPER_HOOK,
    HELPER_PLUGIN,   /* an exec plugin; its name is that of its cluster */
    HELPER_GONE,     /* all hooks that are not configured any more: only SWEEP can be asked for */
    HELPER_TEXTFILE, /* metrics.textfile: an output, of which main has no stray files removed */
};

/* A limit of resources of the programs of a hook: setrlimit(2). */
struct helper_rlimit {
    int resource;
    rlim_t soft;
    rlim_t hard;
};

struct helper_hook {
    enum helper_kind kind;
    const char *name; /* for log lines */
    /* Ends with NULL. argv[0] is the path of the program, or its name: then the program is looked up
     * in the folders of PATH of env, whenever it starts. NULL: there is none (a HOOK with files_from,
     * GONE, TEXTFILE). */
    const char *const *argv;
    const char *const *check; /* like argv; ${file} in it is the new file's path; NULL = none */
    const char *const *apply; /* like argv; NULL = none */
    const struct helper_output *output;    /* NULL = none */
    const struct helper_content *contents; /* of FINGERPRINT; ends with path NULL; NULL = none */
    /* Files that only root may be able to change, checked whenever a program starts; a name without
     * a slash is the program that was found in PATH. Ends with NULL; NULL = none. */
    const char *const *alone;
    const char *const *env; /* NAME=VALUE, ends with NULL; INFORMERD_* in it is left out */
    const gid_t *groups;    /* all supplementary groups */
    size_t group_count;
    const struct helper_rlimit
        *rlimits; /* of the programs; those of the helper hold for the rest */
    size_t rlimit_count;
    /* The programs start with these capabilities and no others (base/capability.h); 0: with those
     * that their user has by itself. */
    uint64_t capabilities;
    unsigned concurrency;   /* runs of argv at a time, >= 1 */
    uint64_t kill_grace_ms; /* at the end of main: from kill_signal to SIGKILL, at most 60 s */
    int kill_signal;
    bool kills_left; /* a good run's processes are killed with its end: leave = "kill" */
    struct run_limits limits;
    mode_t umask;
    uid_t uid;
    gid_t gid;
    bool main_is_alike;     /* main has all rights of the helper: strays may be in any folder */
    bool change_user;       /* become uid, gid and groups, which needs the capabilities for that */
    bool no_new_privileges; /* no program that they start has more rights than they have */
};

/* A credential file that main may ask for. */
struct helper_file {
    const char *path;
    struct path_trust path_trust;
};

struct helper_params {
    const struct helper_hook *hooks;
    size_t hook_count;
    const struct helper_file *files; /* main names them by number */
    size_t file_count;
    const struct cgroup_tree *cgroups; /* where runs have their cgroups; NULL = nowhere */
    rlim_t nofile_soft;   /* soft limit of open files for programs; 0 leaves it as it is */
    char *title;          /* where ps finds the command line of the process; NULL = not known */
    size_t title_size;    /* bytes that the helper may overwrite there */
    unsigned shared_runs; /* further runs at a time besides one of each hook, of all together */
};

/* Reads and checks the configuration anew. It runs in a child of the helper, with the rights of the
 * helper, so it may take long, hang or crash. The working folder is /, nothing may be written to
 * stdout, and memory need not be freed. True: *params has the new parameters (its nofile_soft is
 * ignored), and bundle has the bytes from which main makes the same configuration. False: problems
 * has the text for people. Both buffers are empty before. */
typedef bool helper_build_cb(void *arg, struct helper_params *params, struct buf *bundle,
                             struct buf *problems);

/* How to reload. */
struct helper_reload {
    helper_build_cb *build;
    void *arg;
};

/* Creates the socket and forks the helper, which uses its own copy of the memory of params and
 * reload until it ends. With reload = NULL the helper refuses to reload. The caller owns *fd, main's
 * end of the socket (close-on-exec, SOCK_SEQPACKET, for helper_link_create()), and reaps *pid.
 * Descriptors 0, 1 and 2 must be open. The helper ends when main closes its end: each run gets its
 * kill_signal first, and SIGKILL after its grace. ERR_IO: the system refused. */
enum err_kind helper_start(const struct helper_params *params, const struct helper_reload *reload,
                           int *fd, pid_t *pid, struct err *err) MUST_CHECK;

#endif
