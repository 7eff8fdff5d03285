/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - the control socket of the daemon: what people see of it and can have done
 * (docs/design.md "Status and control"). It keeps the journal and the streams of `informerctl
 * events` and `informerctl stream`.
 */
#ifndef APP_CONTROL_H
#define APP_CONTROL_H

#include <stdint.h>
#include <sys/types.h>

#include "admin/admin.h"
#include "app/cluster_access.h"
#include "app/cluster_runtime.h"
#include "app/sources.h"
#include "conf/conf.h"
#include "hook/hook.h"
#include "io/loop.h"

struct control;
struct persist;

/* Everything is borrowed and must outlive it. */
struct control_params {
    struct loop *loop;
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    struct cluster_runtime *const *clusters; /* as conf->clusters */
    const struct sources *sources;
    struct hooks *hooks;
    const struct persist *persist; /* NULL = nothing is kept over restarts */
    const char *node;
    const char *instance; /* part of the ids of runs */
    uint64_t started_ns;  /* wall clock, and the same moment on the loop's */
    uint64_t started_ms;
    uid_t started_uid;
    /* What the daemon knows. */
    bool (*is_ready)(void *arg);
    bool (*is_stopping)(void *arg);
    /* Runs may be due. */
    void (*kick)(void *arg);
    void *arg;
};

/* Once the watches have loaded what was left of them. Never NULL. Nobody can ask before
 * control_listen(). */
struct control *control_create(const struct control_params *params);

/* Starts to answer on fd (of listener_bind()), which is taken. */
void control_listen(struct control *c, int fd);

/* What happens, for those who follow it. A delta, inside sources_events; a source became stale or
 * fresh; something came from a server; a run has ended. */
void control_delta(struct control *c, struct source from, const struct delta *d);
/* See above. */
void control_stale(struct control *c, struct source from, bool stale, uint64_t wall_ns);
/* See above. */
void control_progress(struct control *c);
/* See above. */
void control_result(struct control *c, const struct hook *hook, const struct history_run *ended);

/* Writes into the journal which watches have begun with what an earlier process has left, which
 * watches and views have synced, and which watches are held or no longer, since the last look: for
 * every now and then. */
void control_look(struct control *c);

/* The end of the socket: everybody is cut off. */
void control_close(struct control *c);

/* Frees it and sets *c to NULL; once the loop is gone. NULL is fine. */
void control_destroy(struct control **c);

#endif
