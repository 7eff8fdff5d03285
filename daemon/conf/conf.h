/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf - the configuration as one immutable snapshot: every setting of DESIGN 1.2 that works in
 * this release, with its default and its place in the files; pure but for reading the files.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "conf/problems.h"
#include "conf/where.h"

struct conf_backoff {
    struct conf_ms initial;
    struct conf_num factor; /* >= 1 */
    struct conf_ms max;     /* >= initial */
    struct conf_num jitter; /* of each sleep d, drawn from [d, d * (1 + jitter)) */
    struct conf_ms reset_after;
};

struct conf_tuning {
    struct conf_ms connect_timeout;
    struct conf_ms tls_timeout;
    struct conf_ms response_timeout;
    struct conf_ms list_idle_timeout;
    struct conf_span watch_timeout;
    struct conf_int page_size;
    struct conf_int list_concurrency;
    struct conf_backoff backoff;
};

/* Either kubeconfig (and context) or servers and the settings behind it. Paths are absolute. */
struct conf_cluster {
    struct conf_str name;
    struct conf_str kubeconfig;
    struct conf_str context;  /* "" = the current one */
    struct conf_list servers; /* one URL in this release */
    struct conf_str ca_file;
    struct conf_str client_cert_file;
    struct conf_str client_key_file;
    struct conf_str token_file;
    struct conf_str tls_server_name;
    struct conf_tuning tuning;
};

struct conf_watch {
    struct conf_str name;
    struct conf_str cluster;        /* filled in when there is only one */
    struct conf_str resource;       /* not parsed: kube/resource.h */
    struct conf_list namespaces;    /* distinct; "*" stands alone */
    struct conf_list names;         /* distinct */
    struct conf_str label_selector; /* ${node_name} not yet replaced */
    struct conf_str field_selector; /* ${node_name} not yet replaced */
};

enum conf_mode { CONF_MODE_OBJECT, CONF_MODE_SNAPSHOT };
enum conf_existing { CONF_EXISTING_RUN, CONF_EXISTING_SKIP };

/* Bits of conf_hook.events. */
enum conf_event {
    CONF_EVENT_ADDED = 1,
    CONF_EVENT_MODIFIED = 2,
    CONF_EVENT_DELETED = 4,
    CONF_EVENT_LEFT = 8,
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

struct conf_log {
    struct conf_word level;  /* enum log_level */
    struct conf_word format; /* enum log_format */
};

struct conf_control {
    struct conf_str socket;
};

struct conf_limits {
    struct conf_size object_size;
    struct conf_int hook_concurrency;
    struct conf_ms stop_timeout;
    struct conf_ms ready_timeout;
};

struct conf {
    struct conf_list include; /* globs, relative to the main file */
    struct conf_str user;
    struct conf_str node_name; /* "" = to be found out */
    struct conf_log log;
    struct conf_control control;
    struct conf_limits limits;
    struct conf_cluster *clusters; /* in the order of the files, as the next two */
    size_t n_clusters;
    struct conf_watch *watches;
    size_t n_watches;
    struct conf_hook *hooks;
    size_t n_hooks;
    char **files; /* that were read, the main file first; the places of values point here */
    size_t n_files;
};

/* Reads the main file and what it includes, and checks all of it. NULL if there is any problem;
 * then p has them all. The caller releases it with conf_destroy(). */
struct conf *conf_read(const char *path, struct problems *p) MUST_CHECK;

/* Frees *c and sets it to NULL. NULL is fine. */
void conf_destroy(struct conf **c);

/* The cluster of that name, or NULL. */
const struct conf_cluster *conf_find_cluster(const struct conf *c, const char *name);

/* The watch of that name, or NULL. */
const struct conf_watch *conf_find_watch(const struct conf *c, const char *name);

/* A copy of text with every ${node_name} replaced; the caller frees it. */
char *conf_expand(const char *text, const char *node_name) MUST_CHECK;

#endif
