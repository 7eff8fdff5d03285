/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_conf - one hook as it is configured: which program runs, when, and as which user; with the
 * table of its settings; pure.
 */
#ifndef CONF_HOOK_CONF_H
#define CONF_HOOK_CONF_H

#include "conf/problems.h"
#include "conf/rlimits_conf.h"
#include "conf/setting.h"
#include "conf/where.h"

struct conf;

enum conf_mode { CONF_MODE_OBJECT, CONF_MODE_BATCH, CONF_MODE_SNAPSHOT };
enum conf_existing { CONF_EXISTING_RUN, CONF_EXISTING_SKIP };

/* How many sources must be usable before the hook runs for the first time (docs/design.md "First
 * runs"). */
enum conf_require { CONF_REQUIRE_ALL, CONF_REQUIRE_ANY };

/* WAIT: a stale source does not count as usable. */
enum conf_when_stale { CONF_WHEN_STALE_RUN, CONF_WHEN_STALE_WAIT };

/* Are processes that a good run has left behind spared or killed? */
enum conf_leave { CONF_LEAVE_KEEP, CONF_LEAVE_KILL };

/* How long the effects of a run last: on disk, until the next boot, or until informerd ends
 * (docs/design.md "Renewal"). */
enum conf_effect { CONF_EFFECT_DISK, CONF_EFFECT_BOOT, CONF_EFFECT_PROCESS };

/* Bits of conf_hook.events, in the order of the words in hook_conf.c. */
enum conf_event {
    CONF_EVENT_ADDED = 1,
    CONF_EVENT_MODIFIED = 2,
    CONF_EVENT_DELETED = 4,
    CONF_EVENT_LEFT = 8,
    CONF_EVENT_STALE = 16, /* of a whole source, as is FRESH */
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
    struct conf_list sources;    /* names of watches and views; distinct, at least one name */
    struct conf_word mode;       /* enum conf_mode */
    struct conf_list command;    /* argv with an absolute program; empty: shell is set */
    struct conf_str shell;       /* one line for /bin/sh -c; "": command is set */
    struct conf_words events;    /* enum conf_event */
    struct conf_list changes_in; /* paths, not parsed: proto/json_path.h */
    struct conf_map fields;      /* paths, not parsed; empty except in mode object */
    struct conf_word existing;   /* enum conf_existing */
    struct conf_word effect;     /* enum conf_effect */
    struct conf_list files;      /* absolute; distinct; a change of a file renews the hook */
    struct conf_word require;    /* enum conf_require */
    struct conf_word when_stale; /* enum conf_when_stale; RUN if events has STALE */
    struct conf_list after;      /* names of hooks; distinct, without cycles */
    struct conf_span settle;     /* quiet time and longest wait; the default depends on mode */
    struct conf_ms min_interval; /* from one start to the next; 0 = none */
    struct conf_ms splay;        /* 0 = none */
    struct conf_ms rerun_every;  /* 0 = off */
    struct conf_ms timeout;
    struct conf_int kill_signal; /* the number of a signal */
    struct conf_ms kill_grace;   /* 0 = KILL at once */
    struct conf_word leave;      /* enum conf_leave */
    struct conf_size memory_max; /* bytes; 0 = no limit, as for the next two */
    struct conf_int pids_max;
    struct conf_int cpu_max; /* percent of one CPU */
    struct conf_int cpu_weight;
    struct conf_retry retry;
    struct conf_ints park_exit; /* 1 to 255 */
    struct conf_int parked_deletes;
    struct conf_ms parked_age;
    struct conf_int concurrency; /* 1 except in mode object */
    struct conf_str user;        /* "" = the daemon's */
    struct conf_str group;       /* "" = the user's */
    struct conf_int umask;
    struct conf_list capabilities; /* names; distinct */
    struct conf_bool no_new_privileges;
    struct conf_rlimits rlimits;
    struct conf_map environment;  /* values: ${node_name} not yet replaced */
    struct conf_bool include_old; /* false in mode snapshot */
    struct conf_size log_limit;   /* bytes of stdout, and of stderr, that one run may log */
    struct conf_bool
        log_secrets; /* with Secrets among the sources: output is logged all the same */
    struct conf_int input_version; /* 1 */
    struct conf_str output;        /* base/path_template.h; "" = none: the rest is unset too */
    struct conf_int output_mode;
    struct conf_str output_owner; /* "USER", "USER:GROUP", ":GROUP", or "" */
    struct conf_str files_from;   /* "data", without command; or "" */
    struct conf_list check; /* argv with an absolute program, or empty; has ${file} as written */
    struct conf_list apply; /* the same; no ${file} in mode object */
};

/* The table that fills a struct conf_hook. */
extern const struct setting hook_conf_settings[];

/* Checks all hooks of c. Fills in the default of settle, which depends on mode. Reports references to
 * watches, views and hooks that do not exist, problems that only several settings together show, and
 * cycles in `after`. */
void hook_conf_check(struct conf *c, struct problems *p);

/* Is a Secret among the input of the hook? Views are not made of Secrets. */
bool hook_conf_has_secrets(const struct conf *c, const struct conf_hook *h);

/* The name of one of `fields` that takes data of a Secret, or NULL: the data lands in the environment
 * of the program, where it stays for as long as the program lives. */
const char *hook_conf_secret_field(const struct conf *c, const struct conf_hook *h);

/* Why that is a fault, behind the name. */
#define HOOK_CONF_SECRET_FIELD                                               \
    "takes data of a Secret, which lands in the environment of the program " \
    "(/proc/PID/environ) and of its children"

#endif
