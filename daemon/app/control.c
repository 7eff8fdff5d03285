/* SPDX-License-Identifier: Apache-2.0 */
#include "app/control.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/journal.h"
#include "admin/metrics.h"
#include "admin/restore_status.h"
#include "admin/status_line.h"
#include "admin/stream.h"
#include "app/inspection.h"
#include "app/persist_driver.h"
#include "app/process_stat.h"
#include "app/reloader.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/log_levels.h"
#include "base/mem.h"
#include "conf/conf_print.h"
#include "hook/payload.h"
#include "io/helper_link.h"
#include "io/listener.h"

/* The last things that the journal has said of a source. */
struct seen {
    size_t left; /* objects that an earlier process, or a reload, left of the watch */
    bool resumed;
    bool synced;
    bool held;
};

struct control {
    struct control_params params;
    struct payload_context context;
    enum log_level log_configured; /* of the configuration in use, or of the command line */
    uint64_t conf_digest;
    const char *textfile_trouble;
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

/* Sets the level, or ends it. The line about it is written under the more talkative one of the old
 * and the new level, so that it shows in the log. */
static void order_log_level(void *arg, enum log_subject subject, const char *name, int level)
{
    const struct control *c = arg;
    enum log_level wanted = level == ADMIN_LOG_DEFAULT ? c->log_configured : (enum log_level)level;
    struct log_levels *levels = log_levels();
    enum log_level before = levels->all;

    if (level == ADMIN_LOG_DEFAULT)
        log_levels_unset(levels, subject, name);
    if (level != ADMIN_LOG_DEFAULT || subject == LOG_SUBJECT_ALL)
        log_levels_set(levels, subject, name, wanted);
    if (subject == LOG_SUBJECT_ALL)
        helper_link_log_level(c->params.link, wanted);
    enum log_level after = levels->all;
    levels->all = after > before ? after : before;
    log_info("log level is changed",
             KV_STR("to", level == ADMIN_LOG_DEFAULT ? "default" : log_level_words[level]),
             subject == LOG_SUBJECT_ALL     ? (struct kv){.type = KV_TYPE_NONE}
             : subject == LOG_SUBJECT_WATCH ? KV_STR("of_watch", name)
                                            : KV_STR("of_hook", name));
    levels->all = after;
}

static bool order_forget(void *arg, struct gone_hook *gh, bool with_files)
{
    const struct control *c = arg;

    return persist_driver_forget(c->params.persist, gh, with_files);
}

static uint64_t order_reload(void *arg, bool dry_run, const char **refusal)
{
    const struct control *c = arg;

    return reloader_start(c->params.reloader, dry_run, refusal);
}

static void inspect(void *arg, finding_cb *cb, void *cb_arg)
{
    const struct control *c = arg;

    inspection_run(c->params.conf, sources_watches(c->params.sources), c->params.node, cb, cb_arg);
}

/* /proc is read for each scrape: nothing else needs these numbers. */
static void measure(void *arg, struct admin_process *out)
{
    const struct control *c = arg;
    const struct loop_lag *turns = loop_lag(c->params.loop);

    process_stat_read(out);
    out->turns = &turns->count;
    out->busy_ns = turns->busy_ns;
}

static uint64_t digest_of_conf(const struct conf *conf)
{
    struct buf text = {0};

    conf_print(conf, &text);
    uint64_t digest = digest_of(text.data, text.len).lo;
    buf_free(&text);
    return digest;
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
        .awaits = p->cluster_access->v[i].awaits,
        .is_insecure = cluster_access_is_insecure(&p->cluster_access->v[i]),
        .logins = logins,
        .login_count = n,
    };
}

/* Gives the model the clusters, as conf->clusters, or none in a replay; free_clusters() frees them. */
static struct admin_cluster *add_clusters(const struct control *c, struct admin_model *m)
{
    size_t n = c->params.clusters != NULL ? c->params.conf->n_clusters : 0;
    struct admin_cluster *clusters = mem_array(n + 1, sizeof(*clusters));

    for (size_t i = 0; i < n; i++)
        clusters[i] = cluster_of(c, i);
    m->clusters = clusters;
    m->cluster_count = n;
    return clusters;
}

static void free_clusters(struct admin_cluster *clusters, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(clusters[i].logins);
    free(clusters);
}

/* The model of the daemon without its clusters. It is made anew for each request: requests are rare,
 * and so nothing must be kept up to date for them. */
static struct admin_model model_of(struct control *c)
{
    static const struct admin_actions actions = {order_relist, order_verify, order_guard,
                                                 order_kick,   order_pause,  order_log_level,
                                                 order_forget, order_reload};
    const struct control_params *p = &c->params;
    struct admin_model m = {
        .version = INFORMERD_VERSION,
        .pid = (uint64_t)getpid(),
        .started_ns = p->started_ns,
        .started_ms = p->started_ms,
        .wall_ns = loop_wall_ns(),
        .state = state_of(c),
        .reload = reloader_status(p->reloader),
        .compares_programs = persist_driver_compares(p->persist),
        .ready = p->is_ready(p->arg),
        .stopping = p->is_stopping(p->arg),
        .watches = sources_watches(p->sources),
        .watch_count = p->conf->n_watches,
        .views = sources_views(p->sources),
        .view_count = p->conf->n_views,
        .actions = &actions,
        .inspect = inspect,
        .measure = measure,
        .textfile_trouble = c->textfile_trouble,
        .config_digest = c->conf_digest,
        .arg = c,
        .hooks = p->hooks,
        .pending_ms = p->conf->limits.pending.v,
        .credential_expiry_ms = p->conf->limits.credential_expiry.v,
        .memory_limit = p->conf->limits.memory.v,
        .context = &c->context,
        .journal = c->journal,
        .streams = c->streams,
        .log_levels = log_levels(),
        .log_configured = c->log_configured,
    };

    m.gone = persist_driver_gone(p->persist);
    return m;
}

void control_answer(struct control *c, const struct admin_request *req, struct admin_response *out)
{
    struct admin_model m = model_of(c);
    struct admin_cluster *clusters = add_clusters(c, &m);

    m.hides_keys = req->anonymous && !c->params.conf->metrics.page_keys.v;
    admin_handle(&m, req, loop_now_ms(c->params.loop), out);
    free_clusters(clusters, m.cluster_count);
}

void control_put_metrics(struct control *c, struct buf *out)
{
    struct admin_model m = model_of(c);
    struct admin_cluster *clusters = add_clusters(c, &m);

    metrics_put(out, &m, loop_now_ms(c->params.loop));
    free_clusters(clusters, m.cluster_count);
}

void control_put_status_line(struct control *c, struct buf *out)
{
    struct admin_model m = model_of(c);
    struct admin_cluster *clusters = add_clusters(c, &m);

    m.hides_keys = true; /* any user may call systemctl status */
    status_line_put(&m, loop_now_ms(c->params.loop), out);
    free_clusters(clusters, m.cluster_count);
}

void control_set_textfile_trouble(struct control *c, const char *trouble)
{
    c->textfile_trouble = trouble;
}

static void answer(void *arg, const struct admin_request *req, struct admin_response *out)
{
    control_answer(arg, req, out);
}

struct control *control_create(const struct control_params *params)
{
    struct control *c = MEM_NEW(struct control, .params = *params, .journal = journal_create());

    c->context = (struct payload_context){.node = params->node, .instance = params->instance};

    c->log_configured = log_levels()->all;
    c->conf_digest = digest_of_conf(params->conf);
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
    if (!admin_streams_waits(c->streams))
        return;
    struct admin_model m = model_of(c);
    admin_streams_look(c->streams, &m, loop_now_ms(c->params.loop));
}

void control_result(struct control *c, const struct hook *hook, const struct history_run *ended)
{
    struct buf id = {0};

    payload_put_run_id(&id, &c->context, ended->id);
    journal_run(c->journal, hook->name, buf_str(&id), ended);
    if (ended->outcome == HISTORY_PARKED)
        journal_hook(c->journal, ended->ended_ns, hook->name, str_c(ended->key), "parked");
    buf_free(&id);
}

void control_reloaded(struct control *c, const struct reloader_end *end)
{
    struct admin_reload status = reloader_status(c->params.reloader);
    struct buf line = {0};

    if (!end->dry_run)
        journal_reload(c->journal, status.ended_ns, status.result,
                       str_of(end->problems, strcspn(end->problems, "\n")));
    reloader_put_answer(end, &line);
    admin_streams_answer(c->streams, end->number, buf_str(&line));
    buf_free(&line);
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

/* Looks at each watch once: a watch with several names is in the array several times, and only its first
 * name is looked at. */
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

/* ---- A reload. */

/* The place of a watch or view of that name in c->seen; NULL = the configuration does not have it. */
static struct seen *seen_of(struct seen *seen, const struct conf *conf, const char *name)
{
    const struct conf_watch *w = conf_find_watch(conf, name);
    const struct conf_view *v = conf_find_view(conf, name);

    if (w != NULL)
        return &seen[w - conf->watches];
    return v != NULL ? &seen[conf->n_watches + (size_t)(v - conf->views)] : NULL;
}

static void carry_seen(struct control *c, const struct conf *was, struct seen *old,
                       const char *name)
{
    const struct seen *before = seen_of(old, was, name);

    if (before != NULL)
        *seen_of(c->seen, c->params.conf, name) = *before;
}

void control_change(struct control *c, const struct conf *conf,
                    const struct cluster_access_list *cluster_access,
                    struct cluster_runtime *const *clusters, const struct sources_moves *moves)
{
    const struct conf *was = c->params.conf;
    struct seen *old = c->seen;

    c->params.conf = conf;
    c->conf_digest = digest_of_conf(conf);
    c->params.cluster_access = cluster_access;
    c->params.clusters = clusters;
    c->seen = mem_array(conf->n_watches + conf->n_views + 1, sizeof(*c->seen));
    for (size_t i = 0; i < conf->n_watches; i++)
        carry_seen(c, was, old, conf->watches[i].name.v);
    for (size_t i = 0; i < conf->n_views; i++)
        carry_seen(c, was, old, conf->views[i].name.v);
    free(old);
    for (size_t i = 0; i < moves->n; i++) {
        const struct sources_move *m = &moves->v[i];

        if (m->to != NULL)
            c->seen[m->now] = (struct seen){.left = store_count(watch_store(m->to))};
    }
    for (size_t i = 0; i < moves->n; i++)
        if (moves->v[i].leaves)
            admin_streams_leave(c->streams, (struct source){.watch = moves->v[i].from});
    for (size_t i = 0; i < moves->view_count; i++)
        admin_streams_leave(c->streams, (struct source){.view = moves->views[i]});
}

void control_log_level(struct control *c, const struct conf *was, const struct conf *conf)
{
    if (conf->log.level.v == was->log.level.v)
        return;
    c->log_configured = (enum log_level)conf->log.level.v;
    order_log_level(c, LOG_SUBJECT_ALL, NULL, (int)c->log_configured);
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
