/* SPDX-License-Identifier: Apache-2.0 */
#include "app/site.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "io/apis.h"
#include "io/cluster.h"
#include "io/cred.h"
#include "io/deadline.h"
#include "io/follower.h"
#include "io/identifier.h"
#include "io/loop.h"

/* Servers of this version can stream lists without anybody having switched it on (PROTOCOL 1.4). */
enum { STREAM_MAJOR = 1, STREAM_MINOR = 34 };

/* Nobody waits for longer for a server that is there and does not say which cluster it is. */
#define IDENTITY_PATIENCE_MS 5000

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
    struct identifier *identifier;  /* NULL: nobody asks, or nobody does any more */
    site_identified_cb *identified; /* NULL = nobody wants to know */
    void *identified_arg;
    bool identity_due; /* it is to be asked for once something has synced */
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

static struct cluster *make_cluster(const struct site_params *p)
{
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
    };

    return cluster_create(p->loop, &params);
}

static void on_unauthorized(void *arg)
{
    struct site *s = arg;

    cred_renew(s->cred);
    s->events->on_progress(s->arg);
}

static void on_identified(void *arg, const struct cluster_id *answer)
{
    struct site *s = arg;
    struct cluster_id id = *answer;

    id.authorities = *cred_authorities(s->cred);
    identifier_dispose(&s->identifier);
    s->identified(s->identified_arg, &id);
    s->events->on_progress(s->arg);
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
    static const struct identifier_events events = {on_identified, on_unauthorized};
    const struct identifier_params p = {
        .loop = s->params.loop,
        .cluster = s->cluster,
        .retry = retry_params(&s->params.conf->tuning.backoff),
        .start_jitter_ms = jitter_ms,
        .patience_ms = IDENTITY_PATIENCE_MS,
        .seed = s->params.seed,
        .is_awaited = any_held_back(s),
    };

    s->identifier = identifier_create(&p, &events, s);
}

static bool any_synced(const struct site *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (watch_synced(s->v[i].watch))
            return true;
    return false;
}

/* If nothing waits for the answer, first lists come first. */
static void on_progress(void *arg)
{
    struct site *s = arg;

    if (s->identity_due && any_synced(s)) {
        s->identity_due = false;
        identify(s, 0);
    }
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
    s->identity_due = s->identified != NULL && !any_held_back(s);
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

    s->cluster = make_cluster(params);
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

void site_identify(struct site *s, site_identified_cb *cb, void *arg)
{
    s->identified = cb;
    s->identified_arg = arg;
}

void site_identify_again(struct site *s)
{
    ensure(s->identified != NULL && (s->apis != NULL || s->stopped));
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

    ensure(f != NULL && s->identified != NULL);
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
    s->identity_due = false;
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
