/* SPDX-License-Identifier: Apache-2.0 */
#include "app/control.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/journal.h"
#include "admin/restore_status.h"
#include "admin/stream.h"
#include "app/persist_driver.h"
#include "base/log.h"
#include "base/mem.h"
#include "hook/payload.h"
#include "io/listener.h"

/* The last things that the journal has said of a source. */
struct seen {
    size_t left; /* objects that an earlier process left of the watch */
    bool resumed;
    bool synced;
    bool held;
};

struct control {
    struct control_params params;
    struct journal *journal;
    struct admin_streams *streams;
    struct listener *listener;
    struct seen *seen; /* as conf->watches, then as conf->views */
};

/* Has the cluster of a watch carry out what was ordered of the watch. */
static void poke(const struct control *c, struct watch *w)
{
    for (size_t i = 0; i < c->params.conf->n_clusters; i++)
        if (cluster_runtime_poke(c->params.clusters[i], w))
            return;
}

static void order_relist(void *arg, struct watch *w)
{
    watch_relist(w, RELIST_MANUAL);
    poke(arg, w);
}

static void order_verify(void *arg, struct watch *w)
{
    const struct control *c = arg;

    for (size_t i = 0; i < c->params.conf->n_clusters; i++)
        if (cluster_runtime_verify(c->params.clusters[i], w))
            return;
}

/* If the cluster of the watch is held, the person decides about the cluster; else about the lists
 * that the guard holds. */
static bool order_guard(void *arg, struct watch *w, bool accept)
{
    const struct control *c = arg;

    if (persist_driver_guard(c->params.persist, w, accept))
        return true;
    if (!watch_guard(w, accept))
        return false;
    poke(arg, w);
    return true;
}

static void order_kick(void *arg)
{
    const struct control *c = arg;

    c->params.kick(c->params.arg);
}

static void order_pause(void *arg, struct hook *h, bool paused)
{
    const struct control *c = arg;

    hook_pause(h, paused);
    log_info(paused ? "hook is paused" : "hook is resumed", KV_STR("hook", h->name));
    journal_hook(c->journal, loop_wall_ns(), h->name, str_c(""), paused ? "paused" : "resumed");
    order_kick(arg);
}

static struct admin_state state_of(const struct control *c)
{
    struct state_driver_status s = state_driver_status(persist_driver_state(c->params.persist));

    return (struct admin_state){.dir = conf_state_folder(c->params.conf),
                                .kept = s.is_kept,
                                .trouble = s.is_writable ? NULL : s.reason,
                                .failing_ms = s.failing_ms,
                                .waiting = s.waiting,
                                .commits = s.commits};
}

/* The caller frees the logins. */
static struct admin_cluster cluster_of(const struct control *c, size_t i)
{
    const struct control_params *p = &c->params;
    size_t n = cluster_runtime_login_count(p->clusters[i]);
    struct admin_login *logins = mem_array(n, sizeof(*logins));

    for (size_t k = 0; k < n; k++)
        logins[k] =
            (struct admin_login){.trouble = cluster_runtime_credential_trouble(p->clusters[i], k),
                                 .expiry = cluster_runtime_expiry(p->clusters[i], k)};
    return (struct admin_cluster){
        .name = p->conf->clusters[i].name.v,
        .servers = cluster_runtime_servers(p->clusters[i]),
        .contact_ms = cluster_runtime_contact_ms(p->clusters[i]),
        .trouble = persist_driver_trouble(p->persist, i),
        .is_insecure = cluster_access_is_insecure(&p->cluster_access->v[i]),
        .logins = logins,
        .login_count = n,
    };
}

/* Answers one request. The model of the daemon is made anew for each: requests are rare, and so
 * nothing must be kept up to date for them. */
static void answer(void *arg, const struct admin_request *req, struct admin_response *out)
{
    static const struct admin_actions actions = {order_relist, order_verify, order_guard,
                                                 order_kick, order_pause};
    const struct control *c = arg;
    const struct control_params *p = &c->params;
    const struct payload_context context = {.node = p->node, .instance = p->instance};
    struct admin_cluster *clusters = mem_array(p->conf->n_clusters + 1, sizeof(*clusters));

    for (size_t i = 0; i < p->conf->n_clusters; i++)
        clusters[i] = cluster_of(c, i);
    struct admin_model m = {
        .version = INFORMERD_VERSION,
        .pid = (uint64_t)getpid(),
        .started_ns = p->started_ns,
        .started_ms = p->started_ms,
        .wall_ns = loop_wall_ns(),
        .state = state_of(c),
        .ready = p->is_ready(p->arg),
        .stopping = p->is_stopping(p->arg),
        .clusters = clusters,
        .cluster_count = p->conf->n_clusters,
        .watches = sources_watches(p->sources),
        .watch_count = p->conf->n_watches,
        .views = sources_views(p->sources),
        .view_count = p->conf->n_views,
        .actions = &actions,
        .arg = arg,
        .hooks = p->hooks,
        .pending_ms = p->conf->limits.pending.v,
        .credential_expiry_ms = p->conf->limits.credential_expiry.v,
        .context = &context,
        .journal = c->journal,
        .streams = c->streams,
    };

    m.gone = persist_driver_left(p->persist, &m.gone_count);
    admin_handle(&m, req, loop_now_ms(p->loop), out);
    for (size_t i = 0; i < p->conf->n_clusters; i++)
        free(clusters[i].logins);
    free(clusters);
}

struct control *control_create(const struct control_params *params)
{
    struct control *c = MEM_NEW(struct control, .params = *params, .journal = journal_create());

    c->streams = admin_streams_create(c->journal);
    sources_subscribe(params->sources, &journal_subscriber, c->journal);
    sources_subscribe(params->sources, &admin_streams_subscriber, c->streams);
    c->seen = mem_array(params->conf->n_watches + params->conf->n_views + 1, sizeof(*c->seen));
    for (size_t i = 0; i < params->conf->n_watches; i++)
        /* Counted now, as lists will change the store. */
        c->seen[i].left = store_count(watch_store(sources_watches(params->sources)[i].watch));
    return c;
}

void control_listen(struct control *c, int fd)
{
    const struct listener_params p = {
        .fd = fd,
        .path = c->params.conf->control.socket.v,
        .started_uid = c->params.started_uid,
        .handle = answer,
        .arg = c,
    };

    c->listener = listener_create(c->params.loop, &p);
}

void control_progress(struct control *c)
{
    admin_streams_synced(c->streams);
}

void control_result(struct control *c, const struct hook *hook, const struct history_run *ended)
{
    const struct payload_context ctx = {.node = c->params.node, .instance = c->params.instance};
    struct buf id = {0};

    payload_put_run_id(&id, &ctx, ended->id);
    journal_run(c->journal, hook->name, buf_str(&id), ended);
    if (ended->outcome == HISTORY_PARKED)
        journal_hook(c->journal, ended->ended_ns, hook->name, str_c(ended->key), "parked");
    buf_free(&id);
}

/* Has the watch begun with objects of an earlier process? Not before its cluster has said which one
 * it is: until then the watch may have to forget them. */
static bool has_resumed(const struct control *c, struct source source)
{
    const struct watch *w = source.watch;

    return w != NULL && restore_status_began(w) != RESUME_NONE &&
           (watch_synced(w) || watch_status(w, loop_now_ms(c->params.loop)).state != WATCH_WAITING);
}

static void look_at(struct control *c, struct seen *seen, struct source source)
{
    struct source_status s = source_status(source, loop_now_ms(c->params.loop));
    struct seen is = {.left = seen->left,
                      .resumed = seen->resumed || has_resumed(c, source),
                      .synced = s.synced,
                      .held = s.held && source.watch != NULL};

    if (is.resumed && !seen->resumed)
        journal_resumed(c->journal, loop_wall_ns(), source, seen->left);
    if (is.synced && !seen->synced)
        journal_source(c->journal, loop_wall_ns(), source, "synced");
    if (is.held != seen->held)
        journal_source(c->journal, loop_wall_ns(), source, is.held ? "held" : "released");
    *seen = is;
}

/* Looks at each watch once: a watch with several names is in the array several times, and its first
 * name speaks. */
void control_look(struct control *c)
{
    const struct admin_watch *watches = sources_watches(c->params.sources);
    struct seen *seen = c->seen;

    for (size_t i = 0; i < c->params.conf->n_watches; i++, seen++)
        if (strcmp(watch_name(watches[i].watch), watches[i].name) == 0)
            look_at(c, seen, (struct source){.watch = watches[i].watch});
    for (size_t i = 0; i < c->params.conf->n_views; i++, seen++)
        look_at(c, seen, (struct source){.view = sources_views(c->params.sources)[i]});
}

void control_close(struct control *c)
{
    listener_dispose(&c->listener);
}

/* listener_dispose() frees clients in a later turn of the loop, and their streams belong to
 * c->streams: so this comes after the loop. */
void control_destroy(struct control **cp)
{
    struct control *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    admin_streams_destroy(&c->streams);
    journal_destroy(&c->journal);
    free(c->seen);
    free(c);
}
