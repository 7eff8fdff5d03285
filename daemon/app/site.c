/* SPDX-License-Identifier: Apache-2.0 */
#include "app/site.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/apis.h"
#include "io/cluster.h"
#include "io/cred.h"
#include "io/deadline.h"
#include "io/follower.h"
#include "io/identifier.h"
#include "io/loop.h"
#include "io/vouch.h"

/* Servers of this version can stream lists without anybody having switched it on (PROTOCOL 1.4). */
enum { STREAM_MAJOR = 1, STREAM_MINOR = 34 };

/* A watch of the site. */
struct followed {
    struct watch *watch;
    uint64_t audit_ms;
    bool held_back;            /* until it is known which cluster this is */
    struct follower *follower; /* NULL until the credentials are there, or as long as held_back */
};

struct site {
    struct site_params params;
    struct cluster *cluster;
    struct cred *cred;
    struct apis *apis; /* NULL until the credentials are there */
    struct deadline *ask_version;
    struct identifier *identifier; /* NULL: nobody asks, or nobody does any more */
    site_judge_cb *judge;          /* NULL = nobody wants to know */
    void *judge_arg;
    int said; /* what the servers said last: a status; 0: nothing; -1: they were not asked */
    bool can_stream;
    bool stopped;
    struct followed *v;
    size_t n;
    const struct site_events *events;
    void *arg;
};

static struct backoff_params retry_params(const struct conf_backoff *b)
{
    return (struct backoff_params){.initial_ms = b->initial.v,
                                   .max_ms = b->max.v,
                                   .factor = b->factor.v,
                                   .jitter = b->jitter.v};
}

static void on_unauthorized(void *arg)
{
    struct site *s = arg;

    cred_renew(s->cred);
    s->events->on_progress(s->arg);
}

/* The server is there, and does not tell the uid: said once. */
static void tell_secret(struct site *s, const char *why, int status)
{
    if (s->said == status)
        return;
    s->said = status;
    log_emit(status == 0 ? LOG_LVL_WARN : LOG_LVL_INFO, why,
             LOG_FIELDS(KV_STR("cluster", s->params.conf->name.v),
                        status > 0 ? KV_INT("status", status) : (struct kv){.type = KV_TYPE_NONE}));
}

static void tell_answer(struct site *s, const struct cluster_answer *answer, int status)
{
    if (status == 0)
        tell_secret(s, "the server does not say which cluster it is: it is known by its CA at most",
                    status);
    else if (status == 404 || (status == 200 && answer->id.uid[0] == '\0'))
        tell_secret(s, "there is no namespace kube-system: the cluster is known by its CA at most",
                    status);
    else if (status != 200)
        tell_secret(
            s,
            "the server does not tell the uid of namespace kube-system: the cluster is known by "
            "its CA at most; informerd --print-rbac prints the right that is missing",
            status);
    else
        s->said = status;
}

static bool on_judge(void *arg, const struct cluster_answer *answer, int status, struct err *err)
{
    struct site *s = arg;
    struct cluster_id id = answer->id;

    tell_answer(s, answer, status);
    if (s->judge == NULL)
        return true;
    id.authorities = *cred_authorities(s->cred);
    bool good = s->judge(s->judge_arg, &id, err);
    log_debug("it is known which cluster this is", KV_STR("cluster", s->params.conf->name.v),
              KV_STR("uid", id.uid), KV_STR("revision", answer->revision));
    s->events->on_progress(s->arg);
    return good;
}

static struct cluster *make_cluster(struct site *s)
{
    const struct site_params *p = &s->params;
    const struct conf_tuning *t = &p->conf->tuning;
    const struct cluster_params params = {
        .name = p->conf->name.v,
        .url = &p->access->url,
        .tls_server_name = p->access->tls_server_name,
        .user_agent = p->user_agent,
        .connect_timeout_ms = t->connect_timeout.v,
        .tls_timeout_ms = t->tls_timeout.v,
        .response_timeout_ms = t->response_timeout.v,
        .list_idle_timeout_ms = t->list_idle_timeout.v,
        .list_concurrency = (unsigned)t->list_concurrency.v,
        .question_interval_ms = VOUCH_INTERVAL_MS,
        .judge = on_judge,
        .judge_arg = s,
    };

    return cluster_create(p->loop, &params);
}

static void on_answered(void *arg)
{
    struct site *s = arg;

    identifier_dispose(&s->identifier);
}

static bool any_held_back(const struct site *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].held_back)
            return true;
    return false;
}

static void identify(struct site *s, uint64_t jitter_ms)
{
    static const struct identifier_events events = {on_answered, on_unauthorized};
    const struct identifier_params p = {
        .loop = s->params.loop,
        .cluster = s->cluster,
        .retry = retry_params(&s->params.conf->tuning.backoff),
        .start_jitter_ms = jitter_ms,
        .seed = s->params.seed,
        .is_awaited = any_held_back(s),
    };

    s->identifier = identifier_create(&p, &events, s);
}

static void on_progress(void *arg)
{
    struct site *s = arg;

    s->events->on_progress(s->arg);
}

static void follow(struct site *s, struct followed *f)
{
    static const struct follower_events events = {on_progress, on_unauthorized};
    const struct follower_params p = {
        .loop = s->params.loop,
        .cluster = s->cluster,
        .apis = s->apis,
        .watch = f->watch,
        .audit_ms = f->audit_ms,
        .page_size = (unsigned)s->params.conf->tuning.page_size.v,
        .seed = s->params.seed + (uint64_t)(f - s->v),
    };

    f->held_back = false;
    f->follower = follower_create(&p, &events, s);
    follower_can_stream(f->follower, s->can_stream);
}

static void on_version(void *arg, const struct version *v)
{
    struct site *s = arg;
    bool can = v != NULL &&
               (v->major > STREAM_MAJOR || (v->major == STREAM_MAJOR && v->minor >= STREAM_MINOR));

    if (v == NULL)
        deadline_start(s->ask_version, s->params.conf->tuning.backoff.reset_after.v);
    s->can_stream = can;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].follower != NULL)
            follower_can_stream(s->v[i].follower, can);
}

/* The version is of use to later lists alone: it is asked for when the first ones are long done. */
static void on_ask_version(void *arg)
{
    struct site *s = arg;

    apis_version(s->apis, on_version, s);
}

/* The credentials are there: the watches may begin. */
static void on_cred_ready(void *arg)
{
    struct site *s = arg;

    if (s->stopped)
        return;
    s->apis = apis_create(&(struct apis_params){
        .loop = s->params.loop,
        .cluster = s->cluster,
        .retry = retry_params(&s->params.conf->tuning.backoff),
        .seed = s->params.seed,
    });
    if (any_held_back(s))
        identify(s, s->params.conf->tuning.start_jitter.v);
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].held_back)
            follow(s, &s->v[i]);
    if (s->params.conf->tuning.watch_list.v == CONF_WATCH_LIST_AUTO && s->n > 0)
        deadline_start(s->ask_version, s->params.conf->tuning.backoff.reset_after.v);
}

struct site *site_create(const struct site_params *params, const struct site_events *events,
                         void *arg)
{
    struct site *s = MEM_NEW(struct site, .params = *params, .events = events, .arg = arg);
    struct cred_params cp = {
        .loop = params->loop,
        .link = params->link,
        .tls = params->access->url.tls,
        .retry = retry_params(&params->conf->tuning.backoff),
        .seed = params->seed,
        .tag = params->tag,
    };

    s->said = -1;
    s->cluster = make_cluster(s);
    s->ask_version = deadline_create(params->loop, on_ask_version, s);
    cp.cluster = s->cluster;
    memcpy(cp.items, params->access->items, sizeof(cp.items));
    s->cred = cred_create(&cp, on_cred_ready, s);
    return s;
}

void site_add(struct site *s, struct watch *w, uint64_t audit_ms)
{
    s->v = mem_realloc(s->v, (s->n + 1) * sizeof(*s->v));
    s->v[s->n++] = (struct followed){.watch = w, .audit_ms = audit_ms};
}

void site_identify(struct site *s, site_judge_cb *judge, void *arg)
{
    s->judge = judge;
    s->judge_arg = arg;
}

void site_identify_again(struct site *s)
{
    ensure(s->judge != NULL && (s->apis != NULL || s->stopped));
    if (s->identifier == NULL && !s->stopped)
        identify(s, 0);
}

const char *site_identity_trouble(const struct site *s)
{
    return s->identifier != NULL ? identifier_trouble(s->identifier) : NULL;
}

void site_opened(struct site *s, uint64_t tag, int fd, int error)
{
    cred_opened(s->cred, tag, fd, error);
}

static struct followed *find(struct site *s, const struct watch *w)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch == w)
            return &s->v[i];
    return NULL;
}

void site_hold_back(struct site *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->judge != NULL);
    f->held_back = true;
}

void site_follow(struct site *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->apis != NULL);
    if (f->held_back && !s->stopped)
        follow(s, f);
}

bool site_poke(struct site *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->follower != NULL)
        follower_poke(f->follower);
    return f != NULL;
}

void site_retry(struct site *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].follower != NULL)
            follower_retry(s->v[i].follower);
}

bool site_verify(struct site *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->follower != NULL)
        follower_verify(f->follower);
    return f != NULL;
}

uint64_t site_contact_ms(const struct site *s)
{
    return cluster_last_contact_ms(s->cluster);
}

void site_stop(struct site *s)
{
    s->stopped = true;
    deadline_dispose(&s->ask_version);
    identifier_dispose(&s->identifier);
    for (size_t i = 0; i < s->n; i++)
        follower_dispose(&s->v[i].follower);
    apis_dispose(&s->apis);
}

void site_dispose(struct site **sp)
{
    struct site *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    site_stop(s);
    cred_dispose(&s->cred);
    cluster_dispose(&s->cluster);
    free(s->v);
    free(s);
}
