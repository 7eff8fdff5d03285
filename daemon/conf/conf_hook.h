/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_hook - one hook as it is configured: what is run, when, and as whom; pure. The settings
 * behind it: hook_conf.
 */
#ifndef CONF_CONF_HOOK_H
#define CONF_CONF_HOOK_H

#include "conf/where.h"

enum conf_mode { CONF_MODE_OBJECT, CONF_MODE_SNAPSHOT };
enum conf_existing { CONF_EXISTING_RUN, CONF_EXISTING_SKIP };

/* Bits of conf_hook.events. */
enum conf_event {
    CONF_EVENT_ADDED = 1,
    CONF_EVENT_MODIFIED = 2,
    CONF_EVENT_DELETED = 4,
    CONF_EVENT_LEFT = 8,
    CONF_EVENT_STALE = 16, /* of a whole source, as FRESH */
    CONF_EVENT_FRESH = 32,
};

struct conf_retry {
    struct conf_ms initial;
    struct conf_num factor; /* >= 1 */
    struct conf_ms max;     /* >= initial */
};

struct conf_hook {
    struct conf_str name;
    struct conf_list sources;    /* names of watches; distinct, at least one */
    struct conf_word mode;       /* enum conf_mode */
    struct conf_list command;    /* argv with an absolute program, or empty and shell is set */
    struct conf_str shell;       /* one line for /bin/sh -c, or "" and command is set */
    struct conf_words events;    /* enum conf_event */
    struct conf_list changes_in; /* paths, not parsed: proto/json_path.h */
    struct conf_word existing;   /* enum conf_existing */
    struct conf_span settle;     /* quiet time, longest wait; the default depends on mode */
    struct conf_ms timeout;
    struct conf_int kill_signal; /* number */
    struct conf_ms kill_grace;   /* 0 = KILL at once */
    struct conf_retry retry;
    struct conf_int concurrency; /* 1 in mode snapshot */
    struct conf_str user;        /* "" = the daemon's */
    struct conf_str group;       /* "" = the user's */
    struct conf_int umask;
    struct conf_map environment; /* values: ${node_name} not yet replaced */
};

#endif
