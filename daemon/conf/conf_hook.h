/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf_hook - one hook as it is configured: what is run, when, and as whom; pure. The settings
 * behind it: hook_conf.
 */
#ifndef CONF_CONF_HOOK_H
#define CONF_CONF_HOOK_H

#include "conf/where.h"

enum conf_mode { CONF_MODE_OBJECT, CONF_MODE_BATCH, CONF_MODE_SNAPSHOT };
enum conf_existing { CONF_EXISTING_RUN, CONF_EXISTING_SKIP };

/* How many sources must be usable before the hook runs for the first time. */
enum conf_require { CONF_REQUIRE_ALL, CONF_REQUIRE_ANY };

/* WAIT: a stale source is not usable. */
enum conf_when_stale { CONF_WHEN_STALE_RUN, CONF_WHEN_STALE_WAIT };

/* How long what a run did lasts. */
enum conf_effect { CONF_EFFECT_DISK, CONF_EFFECT_BOOT, CONF_EFFECT_PROCESS };

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
    struct conf_num factor;   /* >= 1 */
    struct conf_ms max;       /* >= initial */
    struct conf_int attempts; /* failed runs in a row; 0 = forever */
};

struct conf_hook {
    struct conf_str name;
    struct conf_list sources;    /* names of watches and views; distinct, at least one */
    struct conf_word mode;       /* enum conf_mode */
    struct conf_list command;    /* argv with an absolute program, or empty and shell is set */
    struct conf_str shell;       /* one line for /bin/sh -c, or "" and command is set */
    struct conf_words events;    /* enum conf_event */
    struct conf_list changes_in; /* paths, not parsed: proto/json_path.h */
    struct conf_map fields;      /* paths, not parsed; empty but in mode object */
    struct conf_word existing;   /* enum conf_existing */
    struct conf_word effect;     /* enum conf_effect */
    struct conf_list files;      /* absolute; distinct; their content belongs to the hook */
    struct conf_word require;    /* enum conf_require */
    struct conf_word when_stale; /* enum conf_when_stale; RUN if events have STALE */
    struct conf_list after;      /* names of hooks; distinct, without cycles */
    struct conf_span settle;     /* quiet time, longest wait; the default depends on mode */
    struct conf_ms min_interval; /* from start to start; 0 = none */
    struct conf_ms splay;        /* 0 = none */
    struct conf_ms rerun_every;  /* 0 = off */
    struct conf_ms timeout;
    struct conf_int kill_signal; /* number */
    struct conf_ms kill_grace;   /* 0 = KILL at once */
    struct conf_retry retry;
    struct conf_ints park_exit; /* 1 to 255 */
    struct conf_int parked_deletes;
    struct conf_ms parked_age;
    struct conf_int concurrency; /* 1 but in mode object */
    struct conf_str user;        /* "" = the daemon's */
    struct conf_str group;       /* "" = the user's */
    struct conf_int umask;
    struct conf_map environment;   /* values: ${node_name} not yet replaced */
    struct conf_bool include_old;  /* false in mode snapshot */
    struct conf_size log_limit;    /* of each stream of one run */
    struct conf_int input_version; /* 1 */
    struct conf_str output;        /* base/path_template.h; "" = none, then none of the rest */
    struct conf_int output_mode;
    struct conf_str output_owner; /* "USER", "USER:GROUP", ":GROUP", or "" */
    struct conf_list check;       /* argv with an absolute program, or empty; ${file} as it is */
    struct conf_list apply;       /* as check; no ${file} in mode object */
};

#endif
