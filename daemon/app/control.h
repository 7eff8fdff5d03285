/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - the control socket of the daemon: people see the daemon and give it orders through it
 * (docs/design.md "Control socket"). It keeps the journal and the streams of `informerctl events`
 * and `informerctl stream`.
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
struct persist_driver;

/* Everything is borrowed and must outlive the object. */
struct control_params {
    struct loop *loop;
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    struct cluster_runtime *const *clusters; /* as conf->clusters */
    struct sources *sources;
    struct hooks *hooks;
    struct persist_driver *persist;
    const char *node;
    const char *instance; /* part of the ids of runs */
    uint64_t started_ns;  /* wall clock, and the same moment on the loop's */
    uint64_t started_ms;
    uid_t started_uid;
    /* The state of the daemon. */
    bool (*is_ready)(void *arg);
    bool (*is_stopping)(void *arg);
    /* Runs may be due: look at the schedule soon. */
    void (*kick)(void *arg);
    void *arg;
};

/* Call it when the watches have loaded their objects of the earlier process, as it counts these.
 * Never NULL; release with control_destroy(). Nobody can ask before control_listen(). */
struct control *control_create(const struct control_params *params);

/* Starts to answer on fd (of listener_bind()), which it takes. */
void control_listen(struct control *c, int fd);

/* Something came from a server: starts streams whose source has synced meanwhile. */
void control_progress(struct control *c);
/* Writes the end of a run into the journal. */
void control_result(struct control *c, const struct hook *hook, const struct history_run *ended);

/* Writes into the journal which watches have begun with objects of an earlier process, which
 * watches and views have synced, and which watches the guard holds or has released, since the last
 * call. It looks at every source, so call it now and then, not for each event. */
void control_look(struct control *c);

/* Closes the socket and cuts off all clients. Before the end of the loop. */
void control_close(struct control *c);

/* Frees the rest and sets *c to NULL. After the end of the loop. NULL is fine. */
void control_destroy(struct control **c);

#endif
