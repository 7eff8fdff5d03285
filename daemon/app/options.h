/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options - the command line of informerd.
 */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/title.h"
#include "kube/rbac.h"

/* Exit codes, those of sysexits(3): docs/design.md "Exit codes". */
enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_FAILED = 1,
    EXIT_CODE_USAGE = 64,
    EXIT_CODE_UNAVAILABLE = 69,
    EXIT_CODE_NO_PERMISSION = 77,
    EXIT_CODE_CONFIG = 78,
};

/* The configuration without -c. */
#define OPTIONS_CONFIG "/etc/informerd/informerd.conf"

struct options {
    const char *config;
    bool check;          /* read the configuration, tell all errors, and end */
    const char *with;    /* of --check: "FILE" or "NAME=FILE" (conf/stand_in.h); NULL = none */
    bool no_files;       /* of --check: look at nothing of this machine but the configuration */
    bool check_access;   /* check the access to all servers, print the result, and end */
    bool print_config;   /* as check; if there is no error, print the configuration */
    bool print_rbac;     /* print the roles that the configuration needs */
    bool once;           /* sync, run the hooks that are due, and end */
    bool dry_run;        /* start no hook, log what would run */
    uint64_t timeout_ms; /* of --once, 0 = limits.ready_timeout; of --replay, 0 = none */
    const char *replay;  /* a recording, or a folder of objects, to play; NULL = none */
    const char *hook;    /* of --replay: play to this hook only; NULL = to all */
    double speed;        /* of --replay: how many times as fast; 0 = as fast as hooks run */
    bool has_speed;      /* --speed was given */
    struct rbac_subject subject; /* of --print-rbac; without a name: whom the credential names */
    int log_level;               /* index of log_level_words, or -1 = as configured */
    int log_format;              /* index of log_format_words, or -1 */
    struct title title;          /* for the helper; not set by options_parse() */
};

/* Reads argv into *o, whose strings are borrowed from argv. Returns -1 to go on, or the exit code:
 * after -h or -V, or after a usage error, which has been printed to stderr. */
int options_parse(struct options *o, int argc, char **argv);

#endif
