/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conf - the configuration as one immutable snapshot: every setting that works in this release,
 * with its default and its place in the files; pure.
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include "base/file_set.h"
#include "conf/cluster_conf.h"
#include "conf/hook_conf.h"
#include "conf/problems.h"
#include "conf/view_conf.h"
#include "conf/watch_conf.h"
#include "conf/where.h"

struct conf_log {
    struct conf_word level;    /* enum log_level */
    struct conf_word format;   /* enum log_format */
    struct conf_int max_lines; /* of each level, in 30 s */
};

struct conf_control {
    struct conf_str socket;
    struct conf_str group; /* may read; "" = the main group of `user` */
};

struct conf_limits {
    struct conf_size object_size;
    struct conf_size memory; /* of the caches; 0 = "none" */
    struct conf_size state;  /* of state.db */
    struct conf_int hook_concurrency;
    struct conf_ms stop_timeout;
    struct conf_ms ready_timeout;
    struct conf_ms pending; /* a key that waits longer for a good run: health is degraded */
    struct conf_ms credential_expiry; /* one that expires sooner is reported */
};

/* The addresses that serve health, metrics and the status page over TCP besides the control socket, and the
 * file that metrics are written to (docs/design.md "Metrics"). */
struct conf_metrics {
    struct conf_list listen;    /* "127.0.0.1:9916", "[::1]:9916"; empty = nowhere */
    struct conf_str textfile;   /* absolute, or "none" */
    struct conf_bool page_keys; /* answers there may name objects */
};

/* When hooks begin with the remembered objects because no server answers at the start
 * (docs/design.md "Stale start"). */
struct conf_start_stale {
    struct conf_ms after;   /* 0 = off: hooks wait for a server */
    struct conf_ms max_age; /* of the last contact with a server; longer than after */
};

/* A file that was read. */
struct conf_file {
    char *path;
    char *shown;    /* as messages name it; struct where borrows it */
    bool stands_in; /* the text that was read is that of another file (file_set_put()) */
};

/* Does main give up rights that it does not need (app/sandbox.h)? */
enum conf_sandbox { SANDBOX_ON, SANDBOX_OFF };

struct conf {
    struct conf_list include; /* globs, relative to the main file's folder */
    struct conf_str user;
    struct conf_str node_name; /* "" = found out at the start (app/cluster_access.h) */
    struct conf_str state_dir; /* absolute, or "none": nothing is kept over restarts */
    struct conf_word sandbox;  /* enum conf_sandbox */
    struct conf_log log;
    struct conf_control control;
    struct conf_limits limits;
    struct conf_metrics metrics;
    struct conf_start_stale start_stale;
    struct conf_cluster *clusters; /* in the order of the files, as the next three arrays */
    size_t n_clusters;
    struct conf_watch *watches;
    size_t n_watches;
    struct conf_view *views; /* no view has the name of a watch */
    size_t n_views;
    struct conf_hook *hooks;
    size_t n_hooks;
    struct conf_file *files; /* the main file first */
    size_t n_files;
};

/* Reads the main file and the files that it includes, all out of a set, and checks them. Returns NULL if
 * there is any problem; then p has all problems. The caller releases the result with conf_destroy(); it
 * needs the set no longer. */
struct conf *conf_read(struct file_set *files, const char *path, struct problems *p) MUST_CHECK;

/* Frees *c and sets it to NULL. NULL is fine. */
void conf_destroy(struct conf **c);

/* The cluster of that name, or NULL. */
const struct conf_cluster *conf_find_cluster(const struct conf *c, const char *name);

/* The watch of that name, or NULL. */
const struct conf_watch *conf_find_watch(const struct conf *c, const char *name);

/* The view of that name, or NULL. */
const struct conf_view *conf_find_view(const struct conf *c, const char *name);

/* The hook of that name, or NULL. */
const struct conf_hook *conf_find_hook(const struct conf *c, const char *name);

/* Is this text one of the list? */
bool conf_list_has(const struct conf_list *l, const char *text);

/* Are two watches of one conf equal except for their names? Then one struct watch, with one set of
 * connections, serves both. Lists are equal only if they have the same order. */
bool conf_watch_equal(const struct conf_watch *a, const struct conf_watch *b);

/* Gives c the settings of `running` that only a restart can change, but for node_name, which is not
 * read from conf after the start. The places of the values stay those of c. */
void conf_keep(struct conf *c, const struct conf *running);

/* The file that metrics are written to, or NULL: there is none. */
const char *conf_textfile(const struct conf *c);

/* The folder of the state, or NULL: informerd keeps nothing over restarts. */
const char *conf_state_folder(const struct conf *c);

/* A copy of text with every ${node_name} replaced; the caller frees it. */
char *conf_expand(const char *text, const char *node_name) MUST_CHECK;

#endif
