/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rlimits_conf - the limits of resources of a hook's programs as they are configured, in systemd's
 * form: "SOFT", "SOFT:HARD" or "infinity"; with the table of these settings; pure.
 */
#ifndef CONF_RLIMITS_CONF_H
#define CONF_RLIMITS_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "conf/setting.h"
#include "conf/where.h"

/* "" = the limit that a hook without this setting has. */
struct conf_rlimits {
    struct conf_str as;      /* a size */
    struct conf_str core;    /* a size */
    struct conf_str cpu;     /* a duration in whole seconds */
    struct conf_str fsize;   /* a size */
    struct conf_str memlock; /* a size */
    struct conf_str nofile;  /* a number */
    struct conf_str nproc;   /* a number */
    struct conf_str stack;   /* a size */
};

enum { CONF_RLIMITS = 8 };
#define CONF_RLIMIT_INFINITY UINT64_MAX

struct conf_rlimit {
    const struct conf_str *text; /* as it is written */
    const char *key;             /* "nofile" */
    int resource;                /* RLIMIT_NOFILE */
    uint64_t soft;               /* bytes, seconds or a number; at most hard */
    uint64_t hard;
};

extern const struct setting rlimits_conf_settings[];

/* Lists the limits that are set, and returns how many there are. The texts are borrowed. */
size_t rlimits_conf_list(const struct conf_rlimits *r,
                         struct conf_rlimit out[CONF_RLIMITS]) MUST_CHECK;

#endif
