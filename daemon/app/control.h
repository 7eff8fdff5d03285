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
struct helper_link;
struct persist_driver;
struct reloader;
struct reloader_end;

/* Everything is borrowed and must outlive the object. */
struct control_params {
    struct loop *loop;
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    struct cluster_runtime *const *clusters; /* as conf->clusters; NULL = a replay has none */
    struct sources *sources;
    struct hooks *hooks;
    struct persist_driver *persist;
    struct helper_link *link;
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
    struct reloader *reloader;
    void *arg;
};

/* Call it when the watches have loaded their objects of the earlier process, as it counts these.
 * Never NULL; release with control_destroy(). Nobody can ask before control_listen(). */
struct control *control_create(const struct control_params *params);

/* Answers a request, as admin_handle(). To those that came over TCP no object is named, unless
 * metrics.page_keys allows it. */
void control_answer(struct control *c, const struct admin_request *req, struct admin_response *out);

/* Appends the sentence for `systemctl status` (status_line_put()). */
void control_put_status_line(struct control *c, struct buf *out);

/* Appends the metrics for a file (metrics_put()). */
void control_put_metrics(struct control *c, struct buf *out);

/* metrics.textfile cannot be written because of this, which is borrowed until the next call; NULL = it
 * can. */
void control_set_textfile_trouble(struct control *c, const char *trouble);

/* Starts to answer on fd (of listener_bind()), which it takes. */
void control_listen(struct control *c, int fd);

/* Something came from a server, runs have ended, or informerd has become ready: starts streams whose
 * source has synced meanwhile, and ends those whose condition of `informerctl wait` holds. */
void control_progress(struct control *c);

/* Answers those that wait for this read of the configuration, and writes its result into the journal. */
void control_reloaded(struct control *c, const struct reloader_end *end);

/* Writes the end of a run into the journal. */
void control_result(struct control *c, const struct hook *hook, const struct history_run *ended);

/* Writes into the journal which watches have begun with objects of an earlier process, which
 * watches and views have synced, and which watches the guard holds or has released, since the last
 * call. It looks at every source, so call it now and then, not for each event. */
void control_look(struct control *c);

/* A reload switches over to another configuration: conf, its clusters, and the watches and views that
 * change, of which those that leave live until the end of the call. */
void control_change(struct control *c, const struct conf *conf,
                    const struct cluster_access_list *cluster_access,
                    struct cluster_runtime *const *clusters, const struct sources_moves *moves);

/* The level of the log follows log.level of the new configuration, if it is another one than before. */
void control_log_level(struct control *c, const struct conf *was, const struct conf *conf);

/* Closes the socket and cuts off all clients. Before the end of the loop. */
void control_close(struct control *c);

/* Frees the rest and sets *c to NULL. After the end of the loop. NULL is fine. */
void control_destroy(struct control **c);

#endif
